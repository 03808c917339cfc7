//! Turns hints about changes into jobs, after some time. This module is a state machine. It reads
//! no clock and no files, and it has no thread.
//!
//! A program may write a file in many pieces. A reading between two pieces is wasted, because it
//! finds an incomplete content. But waiting too long makes answers outdated. So:
//!
//! 1. A changed file is read [`Timing::settle`] after its last write or close. If writes go on, the
//!    file is read [`Timing::cap`] after the first write. So a log that grows without pause is
//!    still read. A file that takes long to read waits longer, in proportion. So a disk image of
//!    100 GB that is in use is not read all the time.
//! 2. Changes that need no reading do not wait. A new directory is listed at once. Its watch is
//!    made just before the listing, and only the listing finds changes from before the watch. A
//!    vanished name is removed at once; links, pipes and devices do not wait, either.
//! 3. A rename does not wait, and its old and new name are passed on together. If the renamed file
//!    was written and waits to be read, it is read now, because programs rename files that are
//!    finished. So a save ("write a temporary file, rename it over the old one") causes one read of
//!    one file. Files below a renamed directory go on waiting at their new paths.
//! 4. A change of attributes alone does not wait. Its job says that only attributes changed.
//! 5. After an overflow all waiting paths are dropped: the rescan checks everything.
//!
//! [`Coalescer::drain_all`] makes every waiting path due, for a barrier.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use resemble_scan::ingest::Cause;

use crate::watch::renames::{LastRenames, swap_below, take_below};
use crate::watch::{Hint, Marks, Rename};

/// The times for which changed files wait to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The time from the last write or close of a file to its reading.
    pub settle: Duration,
    /// The longest time from the first write or close of a file to its reading.
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

/// The kind of entry that `lstat` has found at the path of a hint.
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

/// The work that is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    /// True if all roots are to be scanned because events were lost.
    pub rescan: bool,
    /// Renames, in the order in which they happened. The flag is true if the file was written
    /// before its rename. All entries below a renamed directory move with it. The renames must be
    /// done before the other jobs.
    pub renames: Vec<(Rename, bool)>,
    /// Paths to check with all entries below them. Most of them are new directories and vanished
    /// names. No path of the set is below another.
    pub subtrees: BTreeSet<PathBuf>,
    /// Single entries to check, each with the reason. An entry is below a path of `subtrees` only
    /// if it is a file that was written.
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

    /// Returns the number of jobs: renames, subtrees and entries.
    pub fn len(&self) -> usize {
        self.renames.len() + self.subtrees.len() + self.entries.len()
    }

    /// Drops each rename that has a name equal to, above or below a name of another rename or a
    /// subtree. The order of the dropped renames would matter, and the tree may have changed since.
    /// So the old and new names of these renames are checked as subtrees instead. That check also
    /// finds a moved file by its inode and does not read it.
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

    /// Adds an entry with a cause. If the entry exists already, the stronger cause is kept.
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

/// A file that is not written again waits for at least the duration of its last reading divided by
/// this.
const QUIET: u32 = 2;

/// A file that is written again and again is read only after the duration of its last reading times
/// this. So about a twentieth of the time is spent on reading the file.
const PATIENCE: u32 = 20;

/// The longest waiting time, however long reading a file takes.
const LONGEST: Duration = Duration::from_secs(3600);

impl Timing {
    /// Returns the time at which a waiting file is to be read.
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
    /// The time of its next reading, if the file is not written again before then.
    pub due: Instant,
    /// The duration of its last reading.
    pub cost: Duration,
}

#[derive(Clone, Copy, Debug)]
struct QueuedPath {
    first: Instant,
    last: Instant,
    cause: Cause,
    /// The expected duration of reading the file; zero if negligible.
    cost: Duration,
}

impl QueuedPath {
    /// Merges the waiting times and the causes of two paths that have become one.
    fn merge(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.cost = self.cost.max(other.cost);
        if other.cause == Cause::Modified {
            self.cause = other.cause;
        }
    }
}

/// The state machine. `waiting` contains the files to be read later, and `jobs` contains the work
/// that does not wait.
#[derive(Debug, Default)]
pub struct Coalescer {
    timing: Timing,
    /// The files that wait to be read. They are sorted by path, so that all paths below a directory
    /// are one range.
    waiting: BTreeMap<PathBuf, QueuedPath>,
    /// A time before which no waiting file is due. Before this time, an event need not check all
    /// waiting files.
    earliest: Option<Instant>,
    /// True if some waiting file may take long to read.
    costly: bool,
    jobs: Jobs,
    /// The old names of the renames in `jobs`.
    moved_from: BTreeSet<PathBuf>,
    /// The new names of the renames in `jobs`.
    moved_to: BTreeSet<PathBuf>,
    /// The last renames, including those that [`Self::due`] has returned.
    last: LastRenames,
}

impl Coalescer {
    /// Returns a coalescer in which nothing waits.
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            ..Self::default()
        }
    }

    /// Records a rename. The renames of a batch must be recorded before its hints.
    pub fn rename(&mut self, rename: Rename) {
        let is_back = self.last.add(&rename);
        swap_below(&mut self.waiting, &rename, is_back, QueuedPath::merge);
        let is_written = |waiting: QueuedPath| waiting.cause == Cause::Modified;
        // A rename removes the file that had the new name, and an exchange gives that file the old
        // name. So if a file waited at the new name, the old name waits instead.
        let replaced = self.waiting.remove(&rename.to);
        let written = self.waiting.remove(&rename.from).is_some_and(is_written);
        if let Some(replaced) = replaced.filter(|waiting| is_written(*waiting)) {
            self.waiting.insert(rename.from.clone(), replaced);
            if is_back {
                self.waiting.insert(rename.to.clone(), replaced);
            }
        }
        // A rename from `a` to `b` and then from `b` to `c` counts as one rename from `a` to `c`.
        // The name `b` is checked.
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
            // The file is back under its first name, so the two renames cancel out. But the first
            // rename has ended the watches. So both names are checked, and no hint about them is
            // skipped. After an exchange it is unknown which of the two files was written, so both
            // count as written.
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

    /// Records a hint about a path. `kind` is the entry that is there now.
    pub fn hint(&mut self, path: &Path, hint: Hint, kind: Kind) {
        let Hint { marks, first, last } = hint;
        // A hint is redundant if a recorded rename says the same. A path with any other mark is
        // checked in addition.
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
            // No file is left to read, so the path does not wait any more. The path is checked as a
            // subtree. By the time of the check the name may exist again, with other entries below
            // it.
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
                // The reading of a waiting file checks its attributes, too.
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

    /// Records that events were lost. All other work is dropped for a rescan.
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

    /// Drops the waiting paths at and below `path`.
    pub fn forget(&mut self, path: &Path) {
        take_below(&mut self.waiting, path);
    }

    /// Sets how long reading a waiting file is expected to take; zero if negligible.
    pub fn set_cost(&mut self, path: &Path, cost: Duration) {
        if let Some(waiting) = self.waiting.get_mut(path) {
            waiting.cost = cost;
            self.costly |= !cost.is_zero();
            // A file that is faster to read than before may be due sooner.
            let due = self.timing.due_at(waiting);
            self.earliest = Some(self.earliest.map_or(due, |earliest| earliest.min(due)));
        }
    }

    /// Returns the files that wait longer than others because reading them takes long. The file
    /// that is read next is first.
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

    /// Returns whether there are jobs that are due at once.
    pub fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Returns the time of the earliest change of a waiting file, if any file waits.
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

    /// Returns the time at which the caller should call [`Self::due`] again. No job is due before
    /// that time, but there may be no jobs at that time, either. If the time is in the past, the
    /// caller should call at once.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if !self.jobs.is_empty() {
            return Some(now);
        }
        self.earliest
    }

    /// Removes and returns the jobs that are due at `now`.
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

    /// Removes and returns all jobs, including those that are not due yet.
    pub fn drain_all(&mut self) -> Jobs {
        self.earliest = None;
        let waiting = std::mem::take(&mut self.waiting);
        for (path, waiting) in waiting {
            self.jobs.look_at(&path, waiting.cause);
        }
        self.finish()
    }

    /// Removes and returns the jobs. An entry that is below a path of `subtrees` is left out,
    /// unless it is a file that was written.
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
            // A written file stays among the entries. The check of a subtree reads only files whose
            // stat differs from the index. A write through a memory mapping may leave the stat
            // unchanged.
            let covered = |path: &Path| path.ancestors().any(|a| jobs.subtrees.contains(a));
            jobs.entries
                .retain(|path, cause| *cause == Cause::Modified || !covered(path));
        }
        jobs
    }
}

#[cfg(test)]
mod tests;
