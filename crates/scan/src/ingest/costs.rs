//! Remembers how long large files take to read, so that a file that changes often is not read again
//! and again.

use std::time::Duration;

use resemble_core::recent::Recent;

use crate::walk::Stat;

/// A time shorter than this is remembered only if a time of the same file is already remembered.
const LEAST: Duration = Duration::from_millis(100);

/// The approximate maximum number of files that are remembered.
const MOST: usize = 4096;

/// A file, by device and inode.
type Inode = (u64, u64);

/// The time that the last complete read of each large file took.
#[derive(Debug)]
pub(super) struct Costs {
    last: Recent<Inode, Duration>,
    /// The time that incomplete reads have taken so far, by file.
    under_way: Recent<Inode, Duration>,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            last: Recent::new(MOST),
            under_way: Recent::new(MOST),
        }
    }
}

impl Costs {
    /// Adds the time of one turn of reading a file. `paused` is true if the file is not yet read
    /// completely.
    pub(super) fn count(&mut self, file: &Stat, took: Duration, paused: bool) {
        let inode = (file.dev, file.ino);
        let before = self.under_way.get(&inode).unwrap_or_default();
        let all = before + took;
        if paused {
            self.under_way.put(inode, all, 1);
            return;
        }
        if !before.is_zero() {
            self.under_way.put(inode, Duration::ZERO, 1);
        }
        if all >= LEAST || self.last.get(&inode).is_some() {
            self.last.put(inode, all, 1);
        }
    }

    /// Returns how long the last complete read of a file took. Returns zero if that time is
    /// negligible.
    pub(super) fn of(&mut self, file: Inode) -> Duration {
        self.last.get(&file).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::Anchor;

    #[test]
    fn turns_add_up_and_a_cheap_reading_is_no_cost() {
        let dir = tempfile::tempdir().unwrap();
        let file = *Anchor::open(dir.path()).unwrap().stat();
        let inode = (file.dev, file.ino);
        let mut costs = Costs::default();
        costs.count(&file, Duration::from_millis(5), false);
        assert_eq!(costs.of(inode), Duration::ZERO);
        costs.count(&file, Duration::from_secs(1), true);
        costs.count(&file, Duration::from_secs(1), true);
        assert_eq!(costs.of(inode), Duration::ZERO);
        costs.count(&file, Duration::from_millis(500), false);
        assert_eq!(costs.of(inode), Duration::from_millis(2500));
        // The file has grown, and only its new bytes were read. The time of this read replaces the
        // old time.
        costs.count(&file, Duration::from_millis(3), false);
        assert_eq!(costs.of(inode), Duration::from_millis(3));
    }
}
