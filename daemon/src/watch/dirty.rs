//! The set in which hints are collected until the indexer takes them. It reads no clock and has no
//! thread.
//!
//! The thread that reads the kernel's queue calls the methods of [`Dirty`] under a lock. The lock
//! is held only for an insertion or a swap. This keeps the thread fast and the queue short.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::renames::{LastRenames, swap_below};
use super::{Batch, Cookie, Hint, Marks, RENAME_WAIT, Rename};

/// The maximum number of hints and renames that are kept until [`Dirty::take`]. If there are more,
/// all are dropped, as the kernel drops events when its queue is full. A full scan then costs less
/// than recording every name of a large tree.
pub const MOST_HINTS: usize = 200_000;

/// The hints since the last [`Self::take`], and the first halves of renames whose second halves
/// have not arrived.
#[derive(Debug, Default)]
pub struct Dirty {
    batch: Batch,
    halves: HashMap<usize, (PathBuf, Instant)>,
    last: LastRenames,
}

impl Dirty {
    /// Records an event about a path.
    pub fn mark(&mut self, path: &Path, marks: Marks, now: Instant) {
        if self.has_room() {
            note(&mut self.batch.hints, path, marks, now);
        }
    }

    /// Records the first half of a rename: the old path.
    pub fn renamed_from(&mut self, path: PathBuf, cookie: usize, now: Instant) {
        if !self.has_room() {
            return;
        }
        if let Some((older, at)) = self.halves.insert(cookie, (path, now)) {
            // The kernel reuses its cookies after very many renames. The second half of the older
            // rename never arrived, so that entry was moved out of the watched tree.
            note(&mut self.batch.hints, &older, Marks::GONE, at);
        }
    }

    /// Records the second half of a rename: the new path. Without a first half, the entry was moved
    /// here from outside the watched tree.
    pub fn renamed_to(&mut self, path: &Path, cookie: usize, now: Instant) {
        if !self.has_room() {
            return;
        }
        if let Some((from, at)) = self.halves.remove(&cookie) {
            let to = path.to_path_buf();
            let rename = Rename { from, to };
            let is_back = self.last.add(&rename);
            swap_below(&mut self.batch.hints, &rename, is_back, Hint::merge);
            note(&mut self.batch.hints, &rename.from, Marks::GONE, at);
            self.batch.renames.push(rename);
        }
        note(&mut self.batch.hints, path, Marks::APPEARED, now);
    }

    /// Returns whether another change can be recorded. After an overflow, no change can be
    /// recorded. Reaching the limit is an overflow, too.
    fn has_room(&mut self) -> bool {
        let known = self.batch.hints.len() + self.batch.renames.len() + self.halves.len();
        if known >= MOST_HINTS {
            self.overflow();
        }
        !self.batch.overflow
    }

    /// Records that a barrier was reached. Both halves of an earlier rename are queued before the
    /// barrier. So first halves that are still alone get no second half any more.
    pub fn cookie(&mut self, cookie: Cookie) {
        self.end_halves(None);
        self.batch.cookies.push(cookie);
    }

    /// Records that events were lost. Everything will be scanned, so the recorded hints are
    /// dropped.
    pub fn overflow(&mut self) {
        self.batch.overflow = true;
        self.batch.hints.clear();
        self.batch.renames.clear();
        self.halves.clear();
    }

    /// Removes and returns everything. First halves of renames that are younger than
    /// [`RENAME_WAIT`] stay, unless `all` is set.
    pub fn take(&mut self, now: Instant, all: bool) -> Batch {
        self.end_halves(if all { None } else { Some(now) });
        let mut batch = std::mem::take(&mut self.batch);
        batch.again = self.halves.values().map(|(_, at)| *at + RENAME_WAIT).min();
        batch
    }

    /// Turns first halves of renames into removals if they have waited for [`RENAME_WAIT`] at
    /// `now`. If `now` is `None`, turns all first halves into removals.
    fn end_halves(&mut self, now: Option<Instant>) {
        let hints = &mut self.batch.hints;
        self.halves.retain(|_, (path, at)| {
            let stays = now.is_some_and(|now| *at + RENAME_WAIT > now);
            if !stays {
                note(hints, path, Marks::GONE, *at);
            }
            stays
        });
    }
}

fn note(hints: &mut BTreeMap<PathBuf, Hint>, path: &Path, marks: Marks, now: Instant) {
    // The path is copied only if it is new. So a file that is written all the time causes no
    // allocations.
    let new = Hint {
        marks,
        first: now,
        last: now,
    };
    if let Some(hint) = hints.get_mut(path) {
        hint.merge(new);
    } else {
        hints.insert(path.to_path_buf(), new);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn many_events_of_a_path_are_one_hint() {
        let start = Instant::now();
        let mut dirty = Dirty::default();
        for step in 0..1000 {
            dirty.mark(
                Path::new("/r/a"),
                Marks::WRITTEN,
                start + Duration::from_millis(step),
            );
        }
        dirty.mark(
            Path::new("/r/a"),
            Marks::CLOSED,
            start + Duration::from_secs(2),
        );
        let batch = dirty.take(start, false);
        let hint = batch.hints[Path::new("/r/a")];
        assert_eq!(batch.hints.len(), 1);
        assert_eq!(hint.marks, Marks::WRITTEN.and(Marks::CLOSED));
        assert_eq!(
            (hint.first, hint.last),
            (start, start + Duration::from_secs(2))
        );
        assert!(dirty.take(start, true).is_empty());
    }

    #[test]
    fn halves_pair_by_cookie_even_when_renames_interleave() {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        dirty.renamed_from("/r/a".into(), 1, now);
        dirty.renamed_from("/r/b".into(), 2, now);
        dirty.renamed_to(Path::new("/r/a2"), 1, now);
        dirty.renamed_to(Path::new("/r/b2"), 2, now);
        let batch = dirty.take(now, false);
        assert_eq!(
            batch.renames,
            [
                Rename {
                    from: "/r/a".into(),
                    to: "/r/a2".into()
                },
                Rename {
                    from: "/r/b".into(),
                    to: "/r/b2".into()
                }
            ]
        );
        assert_eq!(batch.hints.len(), 4, "both halves are looked at");
    }

    #[test]
    fn a_lone_first_half_waits_and_then_is_a_removal() {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        dirty.renamed_from("/r/out".into(), 7, now);
        let early = dirty.take(now, false);
        assert!(early.is_empty());
        assert_eq!(early.again, Some(now + RENAME_WAIT));
        let late = dirty.take(now + RENAME_WAIT, false);
        assert_eq!(late.hints[Path::new("/r/out")].marks, Marks::GONE);
        assert_eq!(late.again, None);
    }

    /// When a folder is renamed, the marks of files in it must move to the new paths. No files are
    /// left at the old paths.
    #[test]
    fn marks_move_with_their_parents() {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        dirty.mark(Path::new("/r/d/e/f"), Marks::WRITTEN, now);
        for (cookie, (from, to)) in (1..).zip([("/r/d/e", "/r/d/g"), ("/r/d", "/r/h")]) {
            dirty.renamed_from(from.into(), cookie, now);
            dirty.renamed_to(Path::new(to), cookie, now);
        }
        let hints = dirty.take(now, false).hints;
        assert_eq!(hints[Path::new("/r/h/g/f")].marks, Marks::WRITTEN);
        assert!(!hints.contains_key(Path::new("/r/d/e/f")));
    }

    #[test]
    fn a_half_rename_split_by_a_take_is_still_a_pair() {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        dirty.renamed_from("/r/a".into(), 7, now);
        assert!(dirty.take(now, false).is_empty());
        dirty.renamed_to(Path::new("/r/b"), 7, now);
        assert_eq!(dirty.take(now, false).renames.len(), 1);
    }

    #[test]
    fn a_barrier_ends_the_halves_before_it() {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        dirty.renamed_from("/r/out".into(), 7, now);
        dirty.cookie(Cookie(1));
        let batch = dirty.take(now, false);
        assert_eq!(batch.cookies, [Cookie(1)]);
        assert_eq!(batch.hints[Path::new("/r/out")].marks, Marks::GONE);
    }

    /// Hints accumulate because nobody takes them, as while the index is broken or during a first
    /// scan.
    #[test]
    fn beyond_the_limit_hints_and_renames_are_dropped_and_the_loss_is_told() {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        for n in 0..MOST_HINTS + 1000 {
            dirty.mark(Path::new(&format!("/r/{n}")), Marks::WRITTEN, now);
            assert!(dirty.batch.hints.len() <= MOST_HINTS);
        }
        dirty.cookie(Cookie(1));
        let batch = dirty.take(now, false);
        assert!(batch.overflow && batch.hints.is_empty());
        assert_eq!(batch.cookies, [Cookie(1)]);
        // If a file alternates between two names, there are only two hints, but more and more
        // renames.
        for n in 0..MOST_HINTS {
            let (from, to) = if n % 2 == 0 {
                ("/r/a", "/r/b")
            } else {
                ("/r/b", "/r/a")
            };
            dirty.renamed_from(from.into(), n, now);
            dirty.renamed_to(Path::new(to), n, now);
        }
        let batch = dirty.take(now, false);
        assert!(batch.overflow && batch.renames.is_empty());
        dirty.mark(Path::new("/r/a"), Marks::WRITTEN, now);
        assert_eq!(dirty.take(now, false).hints.len(), 1, "it goes on");
    }
}
