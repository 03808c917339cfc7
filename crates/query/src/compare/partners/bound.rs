//! How much of a question is in memory at once.

use resemble_relate::parallel::threads;

use super::PartnerQuestion;

/// At most so many subjects are looked up in one scan.
const BATCH: usize = 1 << 16;

/// And at least so many where memory is bounded: for each batch all contents go by once.
const LEAST_BATCH: usize = 1 << 8;

/// Bytes that a subject takes while it is looked up, with what others have in common with it.
const SUBJECT: u64 = 16 << 10;

/// A content that was read takes so many times its bytes.
const READ: u64 = 4;

impl PartnerQuestion<'_> {
    /// How many subjects are looked up in one scan. They take a half of the memory.
    pub(super) fn batch(&self) -> usize {
        let fitting = |memory: u64| (memory / 2 / SUBJECT) as usize;
        let bound = self.options.memory.map(fitting);
        bound.map_or(BATCH, |bound| bound.clamp(LEAST_BATCH, BATCH))
    }

    /// Bytes of the contents that a thread keeps ready. Those of all threads take a quarter of the
    /// memory if they were read.
    pub(super) fn ready_room(&self) -> u64 {
        let room = |memory: u64| memory / 4 / READ / threads() as u64;
        self.options.memory.map_or(u64::MAX, room)
    }
}
