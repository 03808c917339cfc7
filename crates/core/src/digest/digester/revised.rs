//! What a large content was before it changed, and how far its stretches were passed.

use std::sync::Arc;

use super::stretches::Stretches;
use crate::hash::content::{BLOCK, BlockRun};
use crate::ids::ContentDigest;

/// The content that changed.
#[derive(Clone, Debug)]
pub(super) struct Revised {
    pub(super) known: Arc<Stretches>,
    pub(super) content: ContentDigest,
    /// The known stretch that may come next, and where it was.
    pub(super) at: usize,
    was_at: u64,
    /// So much farther behind it is now, if it is there: what is put in makes that more than 0.
    shift: i64,
    /// The shift behind the first stretch that differs, if that is likely to be another one.
    pub(super) shift_ahead: Option<i64>,
    /// The digester has what stands before the stretch under way; else that is as it was.
    pub(super) is_there: bool,
    /// The blocks of the stretch under way, which are others.
    pub(super) blocks: Option<Vec<BlockRun>>,
}

impl Revised {
    /// `shift`: how much farther behind its end is likely to be.
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

    /// Where the known stretch that may come next is now.
    pub(super) const fn next_is_at(&self) -> u64 {
        self.was_at.saturating_add_signed(self.shift)
    }

    pub(super) fn pass(&mut self) {
        if let Some(stretch) = self.known.all.get(self.at) {
            self.was_at += stretch.len;
            self.at += 1;
        }
    }

    /// Passes the known stretches that would end before `position`, or there.
    pub(super) fn pass_to(&mut self, position: u64) {
        while let Some(stretch) = self.known.all.get(self.at)
            && self.next_is_at() + stretch.len <= position
        {
            self.pass();
        }
    }

    /// The stretch that begins at `from` differs, and what is behind it is likely to stand
    /// elsewhere: the next known one is the first that is far enough behind, for what is digested
    /// until there may be the beginning, which tells what the content is.
    pub(super) fn pass_shifted(&mut self, from: u64, shift: i64) {
        self.shift = shift;
        self.pass();
        while self.at < self.known.all.len() && self.next_is_at() < from + BLOCK {
            self.pass();
        }
    }
}
