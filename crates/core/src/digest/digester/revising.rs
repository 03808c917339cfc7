//! Decides which stretches of a large content are digested again after the content has changed.

use std::ops::Range;
use std::sync::Arc;

use super::Digester;
use super::recording::{MOST, Recorder};
use super::revised::Revised;
use super::stretches::{Piece, Stretches};
use crate::hash::content::{BLOCK, ContentHasher};
use crate::ids::ContentDigest;

/// The hashes of a stretch that is compared with a known one.
#[derive(Debug)]
pub struct ComparedStretch {
    blocks: ContentHasher,
    /// The hash of the content up to the end of the stretch. `None` if the blocks of the stretches
    /// are those of the content, so that no second hash is needed.
    content: Option<ContentHasher>,
}

impl ComparedStretch {
    /// Takes the next bytes of the stretch.
    pub fn update(&mut self, bytes: &[u8]) {
        self.blocks.update(bytes);
        if let Some(content) = &mut self.content {
            content.update(bytes);
        }
    }

    /// Takes the next `count` bytes of the stretch, all zero.
    pub fn update_zeros(&mut self, count: u64) {
        self.blocks.update_zeros(count);
        if let Some(content) = &mut self.content {
            content.update_zeros(count);
        }
    }
}

/// The next step for a content that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStretch {
    /// These bytes may be unchanged, so they must be hashed and compared.
    Compare(Range<u64>),
    /// These bytes must be digested.
    Digest(Range<u64>),
    /// The content is complete.
    None,
}

impl Digester {
    /// Begins the new content of a file whose earlier content had the stretches `known`. The last
    /// bytes have probably moved by `shift` bytes towards the end without a change. If this guess
    /// is wrong, it only costs time.
    pub fn revise(&mut self, known: Arc<Stretches>, content: ContentDigest, shift: i64) {
        self.reset();
        let revised = Revised::new(known, content, shift);
        let length = revised.known.length;
        let mut recorder = Recorder::new(Some(revised), length, MOST);
        recorder.hashes_twice = recorder
            .revised
            .as_ref()
            .is_some_and(|of| !of.known.are_blocks());
        self.recorder = Some(Box::new(recorder));
    }

    /// Returns the number of bytes of the changed content that are done.
    pub fn revised_to(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.from)
    }

    /// Returns the next step for a changed content of `size` bytes.
    pub fn next_stretch(&self, size: u64) -> NextStretch {
        let Some((recorder, revised)) = self.revised() else {
            return NextStretch::None;
        };
        let from = recorder.from;
        if from >= size {
            return NextStretch::None;
        }
        let length = recorder.length;
        let next = revised.next_is_at();
        if from < next {
            // Many inserted bytes are digested in stretches of the usual length.
            let end = if next - from > 2 * length {
                from + length
            } else {
                next
            };
            return NextStretch::Digest(from..size.min(end));
        }
        let known = revised.known.all.get(revised.at).filter(|_| from == next);
        // The old content may have ended with the known stretch. Then the stretch is unchanged only
        // if nothing follows it here, either.
        let goes_on = revised.at + 1 < revised.known.all.len() || !revised.known.are_whole;
        let end = known.map(|stretch| from + stretch.len);
        match end.filter(|&end| end == size || end < size && goes_on) {
            Some(end) if revised.is_there || revised.blocks.is_some() => {
                NextStretch::Digest(from..end)
            }
            Some(end) => NextStretch::Compare(from..end),
            None => NextStretch::Digest(from..size.min(from + length)),
        }
    }

    /// Returns whether a content of `size` bytes is unchanged.
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

    /// Begins to hash the next stretch that must be compared. The caller then passes the bytes of
    /// the stretch to the result.
    pub fn begin_comparing(&self) -> ComparedStretch {
        let recorder = self.recorder.as_deref();
        let twice = recorder.filter(|recorder| recorder.hashes_twice);
        ComparedStretch {
            blocks: ContentHasher::keeping_blocks(),
            content: twice.map(|recorder| recorder.content.clone()),
        }
    }

    /// Keeps the known stretch if the compared bytes are equal to it. Otherwise they must be
    /// digested.
    pub fn compare(&mut self, stretch: ComparedStretch) {
        let Some(mut recorder) = self.recorder.take() else {
            return;
        };
        if let Some(revised) = &mut recorder.revised {
            let at = revised.at;
            let blocks = stretch.blocks.blocks();
            match revised.known.all.get(at).map(Arc::clone) {
                Some(known) if known.blocks == blocks => {
                    let beginning = &revised.known.beginning;
                    recorder
                        .beginning
                        .get_or_insert_with(|| Arc::clone(beginning));
                    revised.pass();
                    match stretch.content {
                        Some(content) => recorder.content = content,
                        None => recorder.content.extend(stretch.blocks),
                    }
                    recorder.push_known(known, at);
                }
                _ => match revised.shift_ahead.take() {
                    Some(shift) => {
                        revised.pass_shifted(recorder.from, shift);
                        recorder.hashes_twice |= !shift.unsigned_abs().is_multiple_of(BLOCK);
                    }
                    None => revised.blocks = Some(blocks),
                },
            }
        }
        self.recorder = Some(recorder);
    }

    /// Prepares the digester for the bytes of the next stretch that must be digested.
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

    /// Ends the digested stretches. Returns `false` if their bytes changed since they were
    /// compared, or if the content is now of another kind. The content must then be digested from
    /// its start.
    #[must_use]
    pub fn end_revised(&mut self) -> bool {
        if self.position() > self.revised_to() {
            self.end_stretch();
        }
        let Some(mut recorder) = self.recorder.take() else {
            return false;
        };
        let Some(revised) = &mut recorder.revised else {
            return false;
        };
        revised.pass_to(recorder.from);
        let as_compared = match (revised.blocks.take(), recorder.stretches.last()) {
            (Some(blocks), Some(stretch)) => blocks == stretch.blocks,
            _ => true,
        };
        // If the state equals the state at the end of a known stretch, the bytes from here on may
        // be unchanged.
        let known = revised.at.checked_sub(1);
        let known = known.and_then(|last| revised.known.all.get(last));
        let is_at_end = recorder.from == revised.next_is_at();
        let stands_alike = match (known, recorder.stretches.last()) {
            (Some(known), Some(new)) => is_at_end && known.end == new.end,
            _ => false,
        };
        revised.is_there = !stands_alike;
        self.recorder = Some(recorder);
        as_compared
    }
}
