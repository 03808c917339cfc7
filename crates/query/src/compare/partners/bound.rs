//! Bounds on the memory of a question.

use resemble_relate::parallel::threads;

use super::PartnerQuestion;

/// The maximum number of subjects looked up in one scan.
const BATCH: usize = 1 << 16;

/// The minimum number of subjects looked up in one scan, even if memory is bounded, because each
/// batch scans all contents.
const LEAST_BATCH: usize = 1 << 8;

/// Bytes of memory for a subject during its lookup, including its pieces that others share.
const SUBJECT: u64 = 16 << 10;

/// Memory of a read content as a multiple of its bytes.
const READ: u64 = 4;

impl PartnerQuestion<'_> {
    /// Returns the number of subjects in one scan. They take half of the memory.
    pub(super) fn batch(&self) -> usize {
        let fitting = |memory: u64| (memory / 2 / SUBJECT) as usize;
        let bound = self.options.memory.map(fitting);
        bound.map_or(BATCH, |bound| bound.clamp(LEAST_BATCH, BATCH))
    }

    /// Returns the bytes of read contents that a thread may cache. All threads take a quarter of
    /// the memory.
    pub(super) fn ready_room(&self) -> u64 {
        let room = |memory: u64| memory / 4 / READ / threads() as u64;
        self.options.memory.map_or(u64::MAX, room)
    }
}
