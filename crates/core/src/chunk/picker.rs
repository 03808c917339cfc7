//! Chooses cut points among hash matches: the serial part of TTTD.

use crate::params::ChunkParams;

/// Chooses cut points among the positions whose window hash matches D' (a *hit*). A hit is *main*
/// if its hash matches D, too. Hits arrive in ascending order.
///
/// A position is the number of bytes before it; the window of a hit ends there. Cuts are positions
/// in ascending order. Each is reported once, as soon as it is certain.
///
/// Invariant: `start` is the last cut, and `backup` is the last hit from Tmin to Tmax after it.
/// After a cut at the backup no position up to Tmax has to be examined again. A later hit would
/// itself be the backup (D') or would have cut already (D).
#[derive(Clone, Copy, Debug)]
pub struct Picker {
    min: u64,
    max: u64,
    start: u64,
    backup: Option<u64>,
}

impl Picker {
    /// Makes a picker at the start of a file.
    pub fn new(params: &ChunkParams) -> Self {
        Self {
            min: u64::from(params.min),
            max: u64::from(params.max),
            start: 0,
            backup: None,
        }
    }

    /// Returns the start of the current chunk: the last cut.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Returns the last hit that may still become a cut.
    pub(super) const fn backup(&self) -> Option<u64> {
        self.backup
    }

    /// Continues within a file, in a chunk that starts at `start` and has this backup.
    pub(super) const fn go_on(&mut self, start: u64, backup: Option<u64>) {
        self.start = start;
        self.backup = backup;
    }

    /// Returns whether a cut at Tmax would be at a backup.
    pub(super) const fn has_backup(&self) -> bool {
        self.backup.is_some()
    }

    /// Takes the next hit. `main` is true if it matches D, too.
    #[inline]
    pub fn hit(&mut self, at: u64, main: bool, cuts: &mut impl FnMut(u64)) {
        self.advance(at - 1, cuts);
        if at - self.start < self.min {
            return;
        }
        if main {
            self.cut(at, cuts);
        } else {
            self.backup = Some(at);
        }
    }

    /// Declares that all hits up to and including position `to` have arrived.
    #[inline]
    pub fn advance(&mut self, to: u64, cuts: &mut impl FnMut(u64)) {
        while to.saturating_sub(self.start) >= self.max {
            let at = self.backup.unwrap_or(self.start + self.max);
            self.cut(at, cuts);
        }
    }

    fn cut(&mut self, at: u64, cuts: &mut impl FnMut(u64)) {
        self.start = at;
        self.backup = None;
        cuts(at);
    }

    /// Moves the start of the current chunk by `bytes`. The caller knows the cuts in these bytes
    /// and reports them itself. This is valid only right after a cut.
    pub(super) fn skip(&mut self, bytes: u64) {
        debug_assert!(self.backup.is_none(), "skipping inside a chunk");
        self.start += bytes;
    }
}
