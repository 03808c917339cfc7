//! The digest of a large content, composed from the results of its stretches.

use super::recording::Recorder;
use super::revised::Revised;
use super::stretches::{Piece, RunSpan, Stretches, levels, thin};
use super::{Checkpoint, Digester};
use crate::digest::{ChunkList, ChunkRun, Digest, EditedDigest};
use crate::ids::ContentDigest;
use crate::words::WordSums;

/// The digest of a large content, and the state from which its next version is digested.
#[derive(Debug)]
pub struct LargeDigest {
    /// The digest.
    pub made: ComposedDigest,
    /// The state at the end of the content, if it was requested.
    pub checkpoint: Option<Checkpoint>,
    /// The stretches of the content, if they were recorded and contents of its kind have stretches.
    pub stretches: Option<Stretches>,
}

/// A digest, either with all chunks or without the chunks that another content has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComposedDigest {
    /// The digest has all chunks.
    Whole(Box<Digest>),
    /// The digest has no chunks. Instead it has the edits that turn the old content's chunks into
    /// those of the new content.
    Edited(Box<EditedDigest>),
}

impl ComposedDigest {
    /// Returns the digest. The digest of an edited content has no chunks.
    pub fn digest(&self) -> &Digest {
        match self {
            Self::Whole(digest) => digest,
            Self::Edited(edited) => &edited.digest,
        }
    }
}

impl Digester {
    /// Returns the digest, and the state to store for the next version. `base` is the old content,
    /// if the digester resumed at the end of that content. `keep_end` requests a checkpoint.
    /// Returns `None` if the content must be digested again from its start. In any case the
    /// digester is then at the start of another content.
    pub fn finish_large(
        &mut self,
        base: Option<ContentDigest>,
        keep_end: bool,
    ) -> Option<LargeDigest> {
        if let Some(recorder) = &self.recorder
            && self.position() > recorder.from
        {
            self.end_stretch();
        }
        if let Some(recorder) = self.recorder.take() {
            if !recorder.stretches.is_empty() {
                return self.compose(*recorder, keep_end);
            }
            self.sample_as_before();
        }
        let checkpoint = keep_end.then(|| self.checkpoint());
        let made = match base {
            Some(base) => ComposedDigest::Edited(Box::new(self.finish_grown(base))),
            None => ComposedDigest::Whole(Box::new(self.finish())),
        };
        Some(LargeDigest {
            made,
            checkpoint,
            stretches: None,
        })
    }

    fn compose(&mut self, mut recorder: Recorder, keep_end: bool) -> Option<LargeDigest> {
        if recorder.stretches.len() >= recorder.most {
            recorder.join_in_pairs();
        }
        let Recorder {
            stretches: mut all,
            mut pieces,
            revised,
            beginning,
            ..
        } = recorder;
        thin(&mut all);
        let (beginning, levels) = (beginning?, levels(&all));
        let is_there = revised.as_ref().is_none_or(|revised| revised.is_there);
        if !is_there {
            self.stand(&beginning, &all.last()?.end, (recorder.from, levels));
        }
        self.sample_as_usual(Some((&beginning, levels)));
        let is_text = beginning.kind.is_text(false);
        let samplers = if is_text {
            [Some(&mut self.texts), Some(&mut self.more)]
        } else {
            [Some(&mut self.sampler), None]
        };
        let mut is_known = true;
        for (k, sampler) in samplers.into_iter().enumerate() {
            let Some(sampler) = sampler else { continue };
            let mut pushed = 0;
            for sample in all.iter().map(|stretch| &stretch.samples[k]) {
                pushed += sample.pushed;
                let complete = sample.iter().filter(|sample| sample.level() >= levels[k]);
                complete.for_each(|sample| sampler.push(sample));
            }
            sampler.set_pushed(pushed);
            sampler.keep_waiting();
            // The stretches of the old content are sampled at levels that suit the old content. If
            // the level did not rise above those levels, samples of a lower level may be missing.
            let is_least = levels[k] <= sampler.least_level();
            is_known &= revised.is_none() || is_least || sampler.level() > levels[k];
        }
        if !is_known {
            self.reset();
            return None;
        }
        if is_text {
            let sums = all.iter().map(|stretch| &stretch.words);
            let sums = sums.fold(WordSums::default(), WordSums::and);
            self.shingler.put_sums(&sums);
        }
        self.content = recorder.content;
        let span = all.iter().map(|stretch| stretch.runs);
        let span = span.fold(None, RunSpan::of_both);
        self.chunks = ChunkList(span.map(|span| span.last).into_iter().collect());
        self.runs_before = span.map_or(0, |span| span.count - 1);
        let checkpoint = keep_end.then(|| self.checkpoint());
        let has_last = self.chunker.start() < self.position();
        let mut digest = Box::new(self.finish());
        let last_chunk = digest.chunks.0.last().filter(|_| has_last);
        let last_chunk = last_chunk.map(|&run| ChunkRun { count: 1, ..run });
        let ends_as_before = match (pieces.last(), &revised) {
            (Some(Piece::Kept(kept)), Some(Revised { known, .. })) => {
                known.are_whole && kept.end == known.all.len()
            }
            _ => false,
        };
        if !ends_as_before {
            let mut last_chunk = ChunkList(last_chunk.into_iter().collect());
            match pieces.last_mut() {
                Some(Piece::New(chunks)) => chunks.append(&mut last_chunk),
                _ => pieces.push(Piece::New(last_chunk)),
            }
        }
        let stretches = Stretches {
            length: recorder.length,
            all,
            beginning,
            last_chunk,
            are_whole: true,
        };
        digest.chunks = ChunkList::default();
        let made = if let Some(Revised { known, content, .. }) = revised {
            ComposedDigest::Edited(Box::new(EditedDigest {
                base: content,
                edits: known.edits(pieces),
                fingerprints: None,
                digest,
            }))
        } else {
            for piece in &mut pieces {
                if let Piece::New(chunks) = piece {
                    digest.chunks.append(chunks);
                }
            }
            ComposedDigest::Whole(digest)
        };
        Some(LargeDigest {
            made,
            checkpoint,
            stretches: Some(stretches),
        })
    }
}
