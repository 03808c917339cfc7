//! The state of a large content before it changed, and the progress through its stretches.

use std::sync::Arc;

use super::stretches::Stretches;
use crate::hash::content::{BLOCK, BlockRun};
use crate::ids::ContentDigest;

/// The content that changed.
#[derive(Clone, Debug)]
pub(super) struct Revised {
    pub(super) known: Arc<Stretches>,
    pub(super) content: ContentDigest,
    /// The number of the known stretch that may be next. `was_at` is the old position of that
    /// stretch.
    pub(super) at: usize,
    was_at: u64,
    /// The distance by which the known stretch has moved towards the end of the content, if it
    /// still exists. It is positive after an insertion.
    shift: i64,
    /// The probable shift of the bytes after the first stretch that differs. `None` if this shift
    /// is 0, or if `shift` already has this value.
    pub(super) shift_ahead: Option<i64>,
    /// True if the digester has digested the bytes before the current stretch. Otherwise those
    /// bytes are unchanged, and the state after them must be restored.
    pub(super) is_there: bool,
    /// The blocks of the current stretch, if they were compared and differ from the known ones.
    pub(super) blocks: Option<Vec<BlockRun>>,
}

impl Revised {
    /// Begins at the first known stretch. `shift` is the distance by which the last bytes have
    /// probably moved towards the end.
    pub(super) fn new(known: Arc<Stretches>, content: ContentDigest, shift: i64) -> Self {
        Self {
            known,
            content,
            at: 0,
            was_at: 0,
            shift: 0,
            shift_ahead: (shift != 0).then_some(shift),
            is_there: false,
            blocks: None,
        }
    }

    /// Returns the new position of the known stretch that may be next.
    pub(super) const fn next_is_at(&self) -> u64 {
        self.was_at.saturating_add_signed(self.shift)
    }

    pub(super) fn pass(&mut self) {
        if let Some(stretch) = self.known.all.get(self.at) {
            self.was_at += stretch.len;
            self.at += 1;
        }
    }

    /// Skips the known stretches that would end at or before `position`.
    pub(super) fn pass_to(&mut self, position: u64) {
        while let Some(stretch) = self.known.all.get(self.at)
            && self.next_is_at() + stretch.len <= position
        {
            self.pass();
        }
    }

    /// Skips the stretch at `from`, which differs. The bytes after this stretch have probably moved
    /// by `shift`. The next known stretch is at least one block later. The bytes before that
    /// stretch may be the beginning of the content, and must then suffice to decide its kind.
    pub(super) fn pass_shifted(&mut self, from: u64, shift: i64) {
        self.shift = shift;
        self.pass();
        while self.at < self.known.all.len() && self.next_is_at() < from + BLOCK {
            self.pass();
        }
    }
}
