//! A large content that has changed: which of its stretches are digested.

use std::ops::Range;
use std::sync::Arc;

use super::Digester;
use super::recording::{MOST, Recorder};
use crate::digest::stretches::{Piece, Stretches};
use crate::hash::content::{BlockRun, ContentHasher};
use crate::ids::ContentDigest;

/// The content that changed.
#[derive(Clone, Debug)]
pub(super) struct Revised {
    pub(super) known: Arc<Stretches>,
    pub(super) content: ContentDigest,
    /// The digester has what stands before the stretch under way; else that is as it was.
    pub(super) is_there: bool,
    /// The blocks of the stretch under way, which are others.
    pub(super) blocks: Option<Vec<BlockRun>>,
}

/// What is to be done with the next stretch of a content that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStretch {
    /// These bytes may be as they were: they are to be hashed and compared.
    Compare(Range<u64>),
    /// These are to be digested.
    Digest(Range<u64>),
    /// There is none.
    None,
}

impl Digester {
    /// Begins a content of a file that had this one before, with these stretches.
    pub fn revise(&mut self, known: Arc<Stretches>, content: ContentDigest) {
        self.reset();
        let revised = Revised {
            known,
            content,
            is_there: false,
            blocks: None,
        };
        let length = revised.known.length;
        self.recorder = Some(Box::new(Recorder::new(Some(revised), length, MOST)));
    }

    /// Bytes of a content that changed which were dealt with.
    pub fn revised_to(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.from)
    }

    /// What is to be done next with a content of `size` bytes that has changed.
    pub fn next_stretch(&self, size: u64) -> NextStretch {
        let Some((recorder, revised)) = self.revised() else {
            return NextStretch::None;
        };
        let from = recorder.from;
        if from >= size {
            return NextStretch::None;
        }
        let at = recorder.stretches.len();
        let known = revised.known.all.get(at);
        // The last one is as it was only if nothing comes behind it.
        let goes_on = at + 1 < revised.known.all.len() || !revised.known.are_whole;
        let end = known.map(|stretch| from + stretch.len);
        match end.filter(|&end| end == size || end < size && goes_on) {
            Some(end) if revised.is_there || revised.blocks.is_some() => {
                NextStretch::Digest(from..end)
            }
            Some(end) => NextStretch::Compare(from..end),
            None => NextStretch::Digest(from..size.min(from + recorder.length)),
        }
    }

    /// Whether a content of `size` bytes is what it was.
    pub fn is_as_it_was(&self, size: u64) -> bool {
        self.revised().is_some_and(|(recorder, revised)| {
            let all = 0..revised.known.all.len();
            let is_kept = |piece: &Piece| matches!(piece, Piece::Kept(kept) if *kept == all);
            revised.known.are_whole && recorder.from == size && recorder.pieces.iter().all(is_kept)
        })
    }

    fn revised(&self) -> Option<(&Recorder, &Revised)> {
        let recorder = self.recorder.as_deref()?;
        Some((recorder, recorder.revised.as_ref()?))
    }

    /// A hasher for a stretch that is to be compared.
    pub fn hasher_to_compare() -> ContentHasher {
        ContentHasher::keeping_blocks()
    }

    /// Takes the stretch whose bytes these were as it was before, if they are the same. If not, it
    /// is to be digested.
    pub fn compare(&mut self, stretch: ContentHasher) {
        let Some(mut recorder) = self.recorder.take() else {
            return;
        };
        if let Some(revised) = &mut recorder.revised {
            let at = recorder.stretches.len();
            let blocks = stretch.blocks();
            match revised.known.all.get(at).map(Arc::clone) {
                Some(known) if known.blocks == blocks => {
                    let beginning = &revised.known.beginning;
                    recorder
                        .beginning
                        .get_or_insert_with(|| Arc::clone(beginning));
                    recorder.content.extend(stretch);
                    recorder.push(known, Piece::Kept(at..at + 1));
                }
                _ => revised.blocks = Some(blocks),
            }
        }
        self.recorder = Some(recorder);
    }

    /// Stands at the beginning of the stretch that is to be digested next.
    pub fn begin_stretch(&mut self, range: &Range<u64>) {
        let Some(mut recorder) = self.recorder.take() else {
            return;
        };
        recorder.until = range.end;
        let is_there = recorder
            .revised
            .as_ref()
            .is_some_and(|revised| revised.is_there);
        match (recorder.stretches.last(), &recorder.beginning) {
            (Some(before), Some(beginning)) if !is_there => {
                let levels = recorder.levels();
                self.stand(beginning, &before.end, (recorder.from, levels));
            }
            (None, _) => self.begin_first(),
            _ => {}
        }
        if let Some(revised) = &mut recorder.revised {
            revised.is_there = true;
        }
        self.recorder = Some(recorder);
    }

    /// Ends what was to be digested: `false` if its bytes are no more what they were when they
    /// were compared, or of another kind, and the content is to be digested anew.
    #[must_use]
    pub fn end_revised(&mut self) -> bool {
        if self.position() > self.revised_to() {
            self.end_stretch();
        }
        let Some(mut recorder) = self.recorder.take() else {
            return false;
        };
        let at = recorder.stretches.len();
        let Some(revised) = &mut recorder.revised else {
            return false;
        };
        let as_compared = match (revised.blocks.take(), recorder.stretches.last()) {
            (Some(blocks), Some(stretch)) => blocks == stretch.blocks,
            _ => true,
        };
        // From here on all may be as it was.
        let known = at
            .checked_sub(1)
            .and_then(|last| revised.known.all.get(last));
        let stands_alike = match (known, recorder.stretches.last()) {
            (Some(known), Some(new)) => known.len == new.len && known.end == new.end,
            _ => false,
        };
        revised.is_there = !stands_alike;
        self.recorder = Some(recorder);
        as_compared
    }
}
