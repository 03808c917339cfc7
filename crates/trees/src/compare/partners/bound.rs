//! Bounds the memory that a comparison takes.

use resemble_relate::parallel::threads;

use super::PartnerQuestion;

/// The maximum number of subjects that are looked up in one scan.
const BATCH: usize = 1 << 16;

/// The minimum number of subjects that are looked up in one scan, even if memory is bounded. A
/// smaller batch is not worth a scan of all contents.
const LEAST_BATCH: usize = 1 << 8;

/// The memory that a subject takes during its look-up, in bytes. This includes pieces that it
/// shares with other subjects.
const SUBJECT: u64 = 16 << 10;

/// The memory that a content takes once it is read, as a multiple of its bytes.
const READ: u64 = 4;

impl PartnerQuestion<'_> {
    /// Returns the number of subjects that are looked up in one scan. They take half of the memory.
    pub(super) fn batch(&self) -> usize {
        let fitting = |memory: u64| (memory / 2 / SUBJECT) as usize;
        let bound = self.options.memory.map(fitting);
        bound.map_or(BATCH, |bound| bound.clamp(LEAST_BATCH, BATCH))
    }

    /// Returns the number of bytes of read contents that one thread may keep. All threads together
    /// take a quarter of the memory.
    pub(super) fn ready_room(&self) -> u64 {
        let room = |memory: u64| memory / 4 / READ / threads() as u64;
        self.options.memory.map_or(u64::MAX, room)
    }
}
