//! From hash matches to cut points: the part of TTTD that is serial.

use crate::params::ChunkParams;

/// Chooses cut points among the positions whose window hash matches D' (a *hit*; *main* if it
/// matches D too), handed over in rising order.
///
/// A position is the number of bytes before it; the window of a hit ends there. Cuts come out as
/// positions, in rising order, each exactly once and as soon as it is certain.
///
/// Invariant: `start` is the last cut, `backup` the last hit at least Tmin and at most Tmax after
/// it. A cut at the backup never needs the bytes after it looked at again: no hit lies between
/// the backup and the place where Tmax was reached, or it would be the backup (D') or have cut (D).
#[derive(Clone, Copy, Debug)]
pub struct Picker {
    min: u64,
    max: u64,
    start: u64,
    backup: Option<u64>,
}

impl Picker {
    /// A picker at the start of a file.
    pub fn new(params: &ChunkParams) -> Self {
        Self {
            min: u64::from(params.min),
            max: u64::from(params.max),
            start: 0,
            backup: None,
        }
    }

    /// Where the chunk under way starts: the last cut.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The last hit that may become a cut.
    pub(super) const fn backup(&self) -> Option<u64> {
        self.backup
    }

    /// Starts again within a file, in the chunk that starts here.
    pub(super) const fn go_on(&mut self, start: u64, backup: Option<u64>) {
        self.start = start;
        self.backup = backup;
    }

    /// Whether a cut at Tmax would be at a backup.
    pub(super) const fn has_backup(&self) -> bool {
        self.backup.is_some()
    }

    /// Takes the next hit. `main`: it matches D, not only D'.
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

    /// Says that all hits up to and including position `to` have been handed over.
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

    /// Moves the start of the chunk under way on by `bytes` without a look: for the caller who
    /// knows that cuts fall there. Only valid right after a cut.
    pub(super) fn skip(&mut self, bytes: u64) {
        debug_assert!(self.backup.is_none(), "skipping inside a chunk");
        self.start += bytes;
    }
}
