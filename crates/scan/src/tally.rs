//! Counts all files and their bytes before a walk has found them.
//!
//! A walk finds directories and reads files at the same time, so it does not know how much is left.
//! For a display of progress, a separate thread counts all files. The count is approximate. It
//! includes files that are left out, can miss changes, and ignores directories that cannot be
//! accessed. A given path that cannot be accessed is counted as one empty file.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::ingest::Amount;
use crate::walk::{Anchor, Kind, Stat};

/// A count of files and bytes. Another thread makes it.
#[derive(Debug, Default)]
pub struct Tally {
    files: AtomicU64,
    bytes: AtomicU64,
    is_complete: AtomicBool,
    is_stopped: AtomicBool,
}

impl Tally {
    /// Counts the regular files at and below these absolute paths. Does not follow links or enter
    /// other file systems.
    pub fn count(&self, paths: &[PathBuf]) {
        for path in paths {
            match Anchor::open(path) {
                Ok(anchor) => self.count_below(&anchor),
                // The path is not a directory. It is a file, or nothing is there.
                Err(_) => self.add(std::fs::symlink_metadata(path).map_or(0, |meta| meta.len())),
            }
        }
        let is_stopped = self.is_stopped.load(Ordering::Relaxed);
        self.is_complete.store(!is_stopped, Ordering::Release);
    }

    fn count_below(&self, anchor: &Anchor) {
        let mut left = vec![anchor.path().to_owned()];
        while let Some(dir) = left.pop() {
            if self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            let listed = anchor.dir(&dir).and_then(|dir| dir.list(&|_| false));
            for found in listed.unwrap_or_default() {
                match found.stat {
                    Ok(Stat {
                        kind: Kind::File,
                        size,
                        ..
                    }) => self.add(size),
                    Ok(Stat {
                        kind: Kind::Dir,
                        dev,
                        ..
                    }) if dev == anchor.stat().dev => {
                        left.push(dir.join(found.name));
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }

    fn add(&self, size: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(size, Ordering::Relaxed);
    }

    /// Stops counting.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns the count. Returns `None` as long as it is not complete.
    pub fn total(&self) -> Option<Amount> {
        self.is_complete.load(Ordering::Acquire).then(|| Amount {
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use resemble_testutil::TempTree;

    use super::*;

    #[test]
    fn files_are_counted_and_links_are_not() {
        let tree = TempTree::with_folders(&["a/b", "c"]);
        for (name, size) in [("x", 10), ("a/y", 20), ("a/b/z", 30), ("c/w", 1000)] {
            std::fs::write(tree.path(name), vec![0; size]).unwrap();
        }
        std::os::unix::fs::symlink(tree.path("c"), tree.path("a/link")).unwrap();
        let tally = Tally::default();
        assert_eq!(tally.total(), None);
        tally.count(&[tree.path("a"), tree.path("x"), tree.path("none")]);
        // A path that does not exist is counted as one empty file.
        assert_eq!(
            tally.total(),
            Some(Amount {
                files: 4,
                bytes: 60
            })
        );
        let stopped = Tally::default();
        stopped.stop();
        stopped.count(&[tree.path("a")]);
        assert_eq!(stopped.total(), None);
    }
}
