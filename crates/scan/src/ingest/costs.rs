//! Records the costs of reading large files, so that they are not read all the time.

use std::time::Duration;

use resemble_core::recent::Recent;

use crate::walk::Stat;

/// Readings that took less are not recorded.
const LEAST: Duration = Duration::from_millis(100);

/// The approximate number of recorded files.
const MOST: usize = 4096;

/// A file, by device and inode.
type Inode = (u64, u64);

/// The durations of complete readings of large files.
#[derive(Debug)]
pub(super) struct Costs {
    last: Recent<Inode, Duration>,
    /// The time of the finished turns of incomplete readings.
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
    /// Records the duration of one turn of a file. `paused` is true if more turns follow.
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

    /// Returns the duration of the last reading of a file; zero if it is negligible.
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
        // The file has grown, and only the new bytes were read.
        costs.count(&file, Duration::from_millis(3), false);
        assert_eq!(costs.of(inode), Duration::from_millis(3));
    }
}
