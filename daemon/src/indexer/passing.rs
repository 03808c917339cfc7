//! Stores paths with a transient failure: no descriptors or memory left, or an error of a disk or a
//! network. Such a failure is no fact about the file, so the index does not record it. The path is
//! tried again, after growing pauses. Until a try succeeds, no answer counts as fresh.
//!
//! The module reads neither the clock nor files: its callers pass the time and try the paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first and the longest pause before a path is tried again.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The maximum number of paths that are stored. If there are more, a folder is tried instead of the
/// paths in it. In the worst case this is the whole tree.
const MOST: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Again {
    errno: i32,
    at: Instant,
    pause: Duration,
    /// True from the beginning of a try until a call of [`Passing::tried`] or another failure.
    is_tried: bool,
}

/// The paths to be tried again, each with its last failure.
#[derive(Debug, Default)]
pub(super) struct Passing(BTreeMap<PathBuf, Again>);

impl Passing {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the first path in sorted order, and its error number.
    pub(super) fn first(&self) -> Option<(&Path, i32)> {
        let (path, again) = self.0.first_key_value()?;
        Some((path, again.errno))
    }

    /// Records a path that failed.
    pub(super) fn met(&mut self, path: &Path, errno: i32, now: Instant) {
        let mut path = path;
        while self.0.len() >= MOST && !self.0.contains_key(path) {
            let Some(parent) = path.parent() else { break };
            path = parent;
            self.0
                .retain(|other, _| other == parent || !other.starts_with(parent));
        }
        let pause = match self.0.get(path) {
            Some(again) if !again.is_tried => return,
            Some(again) => (again.pause * 2).min(PAUSE.1),
            None => PAUSE.0,
        };
        let again = Again {
            errno,
            at: now + pause,
            pause,
            is_tried: false,
        };
        self.0.insert(path.to_path_buf(), again);
    }

    /// Returns the time of the next try, if any path is to be tried.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.values().map(|again| again.at).min()
    }

    /// Returns the paths to be tried now. With `all`, these are all paths, even if their pause has
    /// not ended.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<PathBuf> {
        let due = self
            .0
            .iter_mut()
            .filter(|(_, again)| all || again.at <= now);
        due.map(|(path, again)| {
            again.is_tried = true;
            path.clone()
        })
        .collect()
    }

    /// Drops the paths whose try has succeeded. (A path that failed again was passed to
    /// [`Self::met`].)
    pub(super) fn tried(&mut self) {
        self.0.retain(|_, again| !again.is_tried);
    }

    /// Drops `path` and all paths below it.
    pub(super) fn forget(&mut self, path: &Path) {
        self.0.retain(|other, _| !other.starts_with(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMFILE: i32 = 24;

    #[test]
    fn pauses_grow_until_it_can_be_looked_at() {
        let began = Instant::now();
        let (mut passing, path) = (Passing::default(), Path::new("/t/a"));
        passing.met(path, EMFILE, began);
        // A second failure before the path is tried again does not lengthen the pause.
        passing.met(path, EMFILE, began + Duration::from_millis(500));
        let mut now = began;
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let at = passing.deadline().unwrap();
            assert_eq!(at - now, Duration::from_secs(seconds));
            let before = now + Duration::from_secs(seconds - 1);
            assert!(passing.due(before, false).is_empty());
            assert_eq!(passing.due(at, false), [path]);
            passing.met(path, EMFILE, at);
            passing.tried();
            assert_eq!(passing.first(), Some((path, EMFILE)));
            now = at;
        }
        // A barrier tries the path at once, without waiting for the pause. This time the try
        // succeeds.
        assert_eq!(passing.due(now, true), [path]);
        passing.tried();
        assert!(passing.is_empty());
        // After the next failure, the pauses begin with the shortest again.
        passing.met(path, EMFILE, now);
        assert_eq!(passing.deadline(), Some(now + PAUSE.0));
    }

    #[test]
    fn of_very_many_the_folder_is_looked_at() {
        let now = Instant::now();
        let mut passing = Passing::default();
        for n in 0..MOST + 10 {
            passing.met(&PathBuf::from(format!("/t/d{}/{n}", n % 3)), EMFILE, now);
        }
        assert!(passing.len() <= MOST);
        let due = passing.due(now + PAUSE.0, false);
        for n in 0..MOST + 10 {
            let path = PathBuf::from(format!("/t/d{}/{n}", n % 3));
            assert!(due.iter().any(|due| path.starts_with(due)), "{path:?}");
        }
    }
}
