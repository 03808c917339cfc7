//! Turns hints and time into jobs: a pure state machine without clock, tree or thread.
//!
//! A file may be written in many pieces. Reading it between two pieces costs a read and yields a
//! content that nobody meant to make. Waiting too long makes answers stale. So:
//!
//! 1. A changed file is read [`Timing::settle`] after its last write or close, at the latest
//!    [`Timing::cap`] after the first. So a log that grows without pause is still read. A file that
//!    takes long to read waits longer, in proportion: a busy disk image of 100 GB is not read all
//!    the time.
//! 2. What needs no reading does not wait. A new directory is listed at once: its watch is made
//!    with the listing, and earlier changes are found only by the listing. A vanished name is
//!    removed at once; links, pipes and devices do not wait, either.
//! 3. A rename does not wait, and both its ends are passed on together. A waiting file is read with
//!    its rename, because a program renames a finished file. So a save ("write a temporary file,
//!    rename it over the old one") is one read of one file. Files below a renamed directory go on
//!    waiting at their new paths.
//! 4. A change of attributes alone does not wait, and is passed on as such.
//! 5. After an overflow all waiting paths are dropped: the rescan checks everything.
//!
//! [`Coalescer::drain_all`] is for barriers: it makes every waiting path due.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use resemble_scan::ingest::Cause;

use crate::watch::renames::{LastRenames, swap_below, take_below};
use crate::watch::{Hint, Marks, Rename};

/// Waiting times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time from the last write or close of a file to its reading.
    pub settle: Duration,
    /// Longest time from the first write or close of a file to its reading.
    pub cap: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            settle: Duration::from_millis(500),
            cap: Duration::from_secs(10),
        }
    }
}

/// The result of `lstat` for a hinted path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is there.
    Absent,
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// Anything else: a link, a pipe, a socket, a device.
    Other,
}

/// The work to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    /// True if everything is to be scanned. Then there are no other jobs.
    pub rescan: bool,
    /// Renames in order, and whether each entry was written before. All below an entry moves with
    /// it. The renames are to be done first.
    pub renames: Vec<(Rename, bool)>,
    /// Paths to check with all below them; most are new directories and vanished names. No path is
    /// below another.
    pub subtrees: BTreeSet<PathBuf>,
    /// Single entries to check, and why. Only written files may be inside a subtree.
    pub entries: BTreeMap<PathBuf, Cause>,
}

impl Jobs {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        !self.rescan
            && self.renames.is_empty()
            && self.subtrees.is_empty()
            && self.entries.is_empty()
    }

    /// Returns the number of renames, subtrees and entries.
    pub fn len(&self) -> usize {
        self.renames.len() + self.subtrees.len() + self.entries.len()
    }

    /// Keeps only renames that are independent of each other and of the subtrees. For other renames
    /// the order matters, and the tree may have changed since. So both ends of such a rename are
    /// checked instead. That also finds a moved file by its inode and does not read it.
    fn untangle(&mut self) {
        let mut ends: BTreeMap<&Path, usize> = BTreeMap::new();
        for (rename, _) in &self.renames {
            *ends.entry(&rename.from).or_default() += 1;
            *ends.entry(&rename.to).or_default() += 1;
        }
        let below = |path: &Path| {
            let after = (std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded);
            ends.range::<Path, _>(after)
                .next()
                .is_some_and(|(next, _)| next.starts_with(path))
                || self
                    .subtrees
                    .range::<Path, _>(after)
                    .next()
                    .is_some_and(|n| n.starts_with(path))
        };
        let alone = |path: &Path| {
            ends.get(path) == Some(&1)
                && !path.ancestors().any(|above| self.subtrees.contains(above))
                && !path
                    .ancestors()
                    .skip(1)
                    .any(|above| ends.contains_key(above))
                && !below(path)
        };
        let tangled: Vec<bool> = (self.renames.iter())
            .map(|(rename, _)| !alone(&rename.from) || !alone(&rename.to))
            .collect();
        let renames = std::mem::take(&mut self.renames);
        for ((rename, modified), tangled) in renames.into_iter().zip(tangled) {
            if !tangled {
                self.renames.push((rename, modified));
                continue;
            }
            if modified {
                self.look_at(&rename.to, Cause::Modified);
            }
            self.subtrees.insert(rename.from);
            self.subtrees.insert(rename.to);
        }
    }

    /// Adds an entry; the stronger of two causes counts.
    fn look_at(&mut self, path: &Path, cause: Cause) {
        if let Some(known) = self.entries.get_mut(path) {
            *known = match (*known, cause) {
                (Cause::Modified, _) | (_, Cause::Modified) => Cause::Modified,
                (Cause::Unknown, _) | (_, Cause::Unknown) => Cause::Unknown,
                (Cause::Named, _) | (_, Cause::Named) => Cause::Named,
                (Cause::AttributesOnly, Cause::AttributesOnly) => Cause::AttributesOnly,
            };
        } else {
            self.entries.insert(path.to_path_buf(), cause);
        }
    }
}

/// A file settles for at least its reading time divided by this.
const QUIET: u32 = 2;

/// A file is read after this many times its reading time at the latest. So reading takes at most a
/// twentieth of the time.
const PATIENCE: u32 = 20;

/// Longest waiting time.
const LONGEST: Duration = Duration::from_secs(3600);

impl Timing {
    /// Returns the time at which a file is to be read. `cost` is the duration of its last reading.
    fn due_at(self, waiting: &QueuedPath) -> Instant {
        let cost = waiting.cost.min(LONGEST);
        let settle = self.settle.max(cost / QUIET);
        let cap = self.cap.max((cost * PATIENCE).min(LONGEST));
        (waiting.last + settle).min(waiting.first + cap)
    }
}

/// A file that waits longer than others because reading it takes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongWait {
    /// The file.
    pub path: PathBuf,
    /// Time of its reading if it is not written again.
    pub due: Instant,
    /// Duration of its last reading.
    pub cost: Duration,
}

#[derive(Clone, Copy, Debug)]
struct QueuedPath {
    first: Instant,
    last: Instant,
    cause: Cause,
    /// Expected duration of its reading; zero if negligible.
    cost: Duration,
}

impl QueuedPath {
    /// Merges two waits of one path.
    fn merge(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.cost = self.cost.max(other.cost);
        if other.cause == Cause::Modified {
            self.cause = other.cause;
        }
    }
}

/// The state machine.
#[derive(Debug, Default)]
pub struct Coalescer {
    timing: Timing,
    /// Sorted by path, so that the paths below a directory are one range.
    waiting: BTreeMap<PathBuf, QueuedPath>,
    /// A time before which no waiting file is due; it may be too early, but never too late. It
    /// saves a check of all waiting files after every event.
    earliest: Option<Instant>,
    /// True if a file that takes long to read may be waiting.
    costly: bool,
    jobs: Jobs,
    /// Old names of the renames in `jobs`.
    moved_from: BTreeSet<PathBuf>,
    /// New names of the renames in `jobs`.
    moved_to: BTreeSet<PathBuf>,
    /// The last renames, including those that were handed out.
    last: LastRenames,
}

impl Coalescer {
    /// Starts with nothing waiting.
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            ..Self::default()
        }
    }

    /// Records a rename. The renames of a batch must precede its hints.
    pub fn rename(&mut self, rename: Rename) {
        let is_back = self.last.add(&rename);
        swap_below(&mut self.waiting, &rename, is_back, QueuedPath::merge);
        let is_written = |waiting: QueuedPath| waiting.cause == Cause::Modified;
        // The file that had the new name is gone, or an exchange gave it the old name. So a wait
        // for it moves to the old name.
        let replaced = self.waiting.remove(&rename.to);
        let written = self.waiting.remove(&rename.from).is_some_and(is_written);
        if let Some(replaced) = replaced.filter(|waiting| is_written(*waiting)) {
            self.waiting.insert(rename.from.clone(), replaced);
            if is_back {
                self.waiting.insert(rename.to.clone(), replaced);
            }
        }
        // `a` to `b` and `b` to `c` is one move from `a` to `c`; `b` is checked.
        let earlier = self
            .jobs
            .renames
            .iter()
            .rposition(|(earlier, _)| earlier.to == rename.from);
        let Some(earlier) = earlier else {
            self.moved_from.insert(rename.from.clone());
            self.moved_to.insert(rename.to.clone());
            self.jobs.renames.push((rename, written));
            return;
        };
        self.moved_to.remove(&rename.from);
        self.jobs.subtrees.insert(rename.from.clone());
        let (first, modified) = &mut self.jobs.renames[earlier];
        *modified |= written;
        if first.from == rename.to {
            // A move there and back changes nothing, but its first step has ended the watches. So
            // both ends are checked, and no hint about them is skipped. After an exchange it is
            // unknown which of the two files was written.
            let modified = *modified;
            self.moved_from.remove(&rename.to);
            self.jobs.subtrees.insert(rename.to.clone());
            self.jobs.renames.remove(earlier);
            if modified {
                self.jobs.look_at(&rename.from, Cause::Modified);
                self.jobs.look_at(&rename.to, Cause::Modified);
            }
        } else {
            first.to.clone_from(&rename.to);
            self.moved_to.insert(rename.to);
        }
    }

    /// Records a hint for a path; `kind` is what is there now.
    pub fn hint(&mut self, path: &Path, hint: Hint, kind: Kind) {
        let Hint { marks, first, last } = hint;
        // A hint that says no more than a rename did is redundant. A path with any other mark is
        // checked by itself.
        let arrived = marks == Marks::APPEARED
            && self.moved_to.contains(path)
            && !self.moved_from.contains(path);
        if arrived {
            return;
        }
        if kind == Kind::Absent && self.moved_from.contains(path) && !self.moved_to.contains(path) {
            if marks.has_any(Marks::WRITTEN.and(Marks::CLOSED)) {
                for (rename, modified) in &mut self.jobs.renames {
                    *modified |= rename.from == path;
                }
            }
            self.waiting.remove(path);
            return;
        }
        match kind {
            // No file is left to read, so nothing waits. The whole subtree is checked, because the
            // name may be back by then, with other entries below it.
            Kind::Absent => {
                self.forget(path);
                self.jobs.subtrees.insert(path.to_path_buf());
            }
            Kind::Other => {
                self.forget(path);
                self.jobs.look_at(path, Cause::Unknown);
            }
            Kind::Directory => {
                if marks.has_any(Marks::APPEARED.and(Marks::GONE).and(Marks::UNKNOWN)) {
                    self.jobs.subtrees.insert(path.to_path_buf());
                } else {
                    self.jobs.look_at(path, Cause::AttributesOnly);
                }
            }
            Kind::File if marks.is_only_attributes() => {
                // A file that waits to be read will be checked anyway.
                if !self.waiting.contains_key(path) {
                    self.jobs.look_at(path, Cause::AttributesOnly);
                }
            }
            Kind::File => {
                let waiting = self
                    .waiting
                    .entry(path.to_path_buf())
                    .or_insert(QueuedPath {
                        first,
                        last,
                        cause: Cause::Named,
                        cost: Duration::ZERO,
                    });
                waiting.first = waiting.first.min(first);
                waiting.last = waiting.last.max(last);
                if marks.has_any(Marks::WRITTEN.and(Marks::CLOSED)) {
                    waiting.cause = Cause::Modified;
                } else if marks.has_any(Marks::UNKNOWN) && waiting.cause == Cause::Named {
                    waiting.cause = Cause::Unknown;
                }
                let due = self.timing.due_at(waiting);
                self.earliest = Some(self.earliest.map_or(due, |earliest| earliest.min(due)));
            }
        }
    }

    /// Records that events were lost: the rescan is the only job left.
    pub fn overflow(&mut self) {
        self.waiting.clear();
        self.earliest = None;
        self.moved_from.clear();
        self.moved_to.clear();
        self.jobs = Jobs {
            rescan: true,
            ..Jobs::default()
        };
    }

    /// Forgets all waiting paths at and below this one.
    pub fn forget(&mut self, path: &Path) {
        take_below(&mut self.waiting, path);
    }

    /// Sets the expected reading time of a waiting file; zero if negligible.
    pub fn set_cost(&mut self, path: &Path, cost: Duration) {
        if let Some(waiting) = self.waiting.get_mut(path) {
            waiting.cost = cost;
            self.costly |= !cost.is_zero();
            // If the cost is lower, the file may be due sooner.
            let due = self.timing.due_at(waiting);
            self.earliest = Some(self.earliest.map_or(due, |earliest| earliest.min(due)));
        }
    }

    /// Returns the files that wait longer than others, ordered by the time of their reading.
    pub fn long_waits(&mut self) -> Vec<LongWait> {
        if !self.costly {
            return Vec::new();
        }
        let costly = self.waiting.iter().filter(|(_, file)| !file.cost.is_zero());
        let mut waits: Vec<_> = costly
            .map(|(path, file)| LongWait {
                path: path.clone(),
                due: self.timing.due_at(file),
                cost: file.cost,
            })
            .collect();
        waits.sort_unstable_by(|a, b| (a.due, &a.path).cmp(&(b.due, &b.path)));
        self.costly = !waits.is_empty();
        waits
    }

    /// Returns whether there are jobs that do not wait.
    pub fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Returns the start of the longest wait.
    pub fn oldest(&self) -> Option<Instant> {
        self.waiting.values().map(|file| file.first).min()
    }

    /// Returns whether a file waits to be read.
    pub fn is_waiting(&self, path: &Path) -> bool {
        self.waiting.contains_key(path)
    }

    /// Returns the files that wait to be read.
    pub fn waiting_files(&self) -> impl Iterator<Item = &Path> {
        self.waiting.keys().map(PathBuf::as_path)
    }

    /// Returns the number of files that wait to be read.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns a time at which [`Self::due`] may have jobs: never too late, but perhaps too early.
    /// A time in the past means at once.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if !self.jobs.is_empty() {
            return Some(now);
        }
        self.earliest
    }

    /// Returns the jobs that are due at `now`.
    pub fn due(&mut self, now: Instant) -> Jobs {
        if self.earliest.is_some_and(|earliest| earliest <= now) {
            let timing = self.timing;
            let jobs = &mut self.jobs;
            let mut earliest: Option<Instant> = None;
            self.waiting.retain(|path, waiting| {
                let due = timing.due_at(waiting);
                if due <= now {
                    jobs.look_at(path, waiting.cause);
                } else {
                    earliest = Some(earliest.map_or(due, |earliest| earliest.min(due)));
                }
                due > now
            });
            self.earliest = earliest;
        }
        self.finish()
    }

    /// Returns all jobs, including those that are not due yet.
    pub fn drain_all(&mut self) -> Jobs {
        self.earliest = None;
        let waiting = std::mem::take(&mut self.waiting);
        for (path, waiting) in waiting {
            self.jobs.look_at(&path, waiting.cause);
        }
        self.finish()
    }

    /// Returns the jobs, without the entries that a subtree covers, unless they were written.
    fn finish(&mut self) -> Jobs {
        let mut jobs = std::mem::take(&mut self.jobs);
        self.moved_from.clear();
        self.moved_to.clear();
        if jobs.rescan {
            return jobs;
        }
        jobs.untangle();
        // Paths are sorted by components, so a directory precedes everything below it.
        let mut last: Option<PathBuf> = None;
        jobs.subtrees.retain(|path| {
            let covered = last.as_ref().is_some_and(|above| path.starts_with(above));
            if !covered {
                last = Some(path.clone());
            }
            !covered
        });
        if !jobs.subtrees.is_empty() {
            // A written file stays an entry: the listing trusts equal stats, and a write through a
            // mapping leaves them equal.
            let covered = |path: &Path| path.ancestors().any(|a| jobs.subtrees.contains(a));
            jobs.entries
                .retain(|path, cause| *cause == Cause::Modified || !covered(path));
        }
        jobs
    }
}

#[cfg(test)]
mod tests;
