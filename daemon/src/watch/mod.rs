//! Supplies hints about changes.
//!
//! Events are hints, the tree is the truth. Nothing here describes the tree, only the paths to
//! check again. So the whole interface is small: [`Source::watch`] a directory, [`Source::take`]
//! the hints since the last call, and [`Source::cookie`] for a barrier. One implementation uses the
//! crate notify ([`notify`], the only place that names it). Another one, for tests, reports the
//! events of a test.
//!
//! Choices:
//!
//! 1. **Hints are a set, not a queue.** A file written a million times is one [`Hint`] with the
//!    time of the first and of the last event. The set grows with the number of changed paths and
//!    not with the number of events. If more than [`dirty::MOST_HINTS`] collect before they are
//!    taken, they are dropped. The loss is reported like an overflow of the kernel's own queue.
//! 2. **Renames are paired here**, by the kernel's cookie, because both halves pass through one
//!    thread in order. A lone first half waits [`RENAME_WAIT`] for the second before it counts as a
//!    removal. Hints of paths below a renamed name move to their present paths.
//! 3. **A barrier is a file.** [`Source::cookie`] makes an event of its own in a private directory
//!    that the same queue watches. The queue is first in, first out. So a batch with the cookie, or
//!    an earlier one, contains every change that was made before the cookie. (watchman calls this
//!    query synchronisation.)

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

pub mod dirty;
pub mod notify;
pub(crate) mod renames;
#[cfg(test)]
pub(crate) mod testing;

/// Longest wait of the first half of a rename for the second. One system call queues both.
pub const RENAME_WAIT: Duration = Duration::from_millis(100);

/// The events of a path, as a set of the constants below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u8);

impl Marks {
    /// The name appeared: created, linked or moved here.
    pub const APPEARED: Self = Self(1);
    /// The name is gone: removed or moved away.
    pub const GONE: Self = Self(2);
    /// Bytes were written or cut off.
    pub const WRITTEN: Self = Self(4);
    /// A descriptor that could write was closed.
    pub const CLOSED: Self = Self(8);
    /// Mode, owner, times, link count or extended attributes changed.
    pub const ATTRIBUTES: Self = Self(16);
    /// The event is unknown: check the path and all below it.
    pub const UNKNOWN: Self = Self(32);

    /// Returns the marks of both values together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether any mark of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether only attributes changed.
    pub const fn is_only_attributes(self) -> bool {
        self.0 == Self::ATTRIBUTES.0
    }
}

/// A path to check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The events.
    pub marks: Marks,
    /// Time of the first event since the last [`Source::take`].
    pub first: Instant,
    /// Time of the last event.
    pub last: Instant,
}

impl Hint {
    /// Merges two hints of one path.
    pub(crate) fn merge(&mut self, other: Self) {
        self.marks = self.marks.and(other.marks);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// A rename of the entry `from` to `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Old path.
    pub from: PathBuf,
    /// New path.
    pub to: PathBuf,
}

/// Identifies one barrier of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

/// All events since the last [`Source::take`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The changed paths, including both halves of a rename. Their present state is read from the
    /// tree.
    pub hints: BTreeMap<PathBuf, Hint>,
    /// Renames in the order they were made.
    pub renames: Vec<Rename>,
    /// Barriers that were reached.
    pub cookies: Vec<Cookie>,
    /// True if events were lost. Everything must be checked again, and the source's record of its
    /// watches may be wrong as well. So [`Source::reset`] and a full scan must follow.
    pub overflow: bool,
    /// Time of the next call of [`Source::take`], if half renames are held back.
    pub again: Option<Instant>,
}

impl Batch {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.hints.is_empty()
            && self.renames.is_empty()
            && self.cookies.is_empty()
            && !self.overflow
    }
}

/// The reasons why a directory is not watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel allows no further watch to this user.
    #[error(
        "the limit of inotify watches is reached at {}; raise it: \
         {MORE_WATCHES}",
        .path.display()
    )]
    Limit {
        /// The directory that got no watch.
        path: PathBuf,
    },
    /// The directory does not exist.
    #[error("{} is gone", .path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// The kernel refused, because a permission is missing or the file system has no watches.
    #[error("cannot watch {}: {message}", .path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// The kernel's message.
        message: String,
    },
}

/// The reasons why there are no events at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No inotify instance could be made.
    #[error("nothing can be watched, because too many programs are watching: {message}")]
    Start {
        /// The message of the failure.
        message: String,
    },
    /// An inotify instance could be made, but it may not have a single watch.
    #[error("nothing can be watched, because the limit of inotify watches is reached")]
    NoWatch,
    /// The private directory for barriers cannot be used.
    #[error("cannot use {}: {source}", .path.display())]
    Cookies {
        /// The directory.
        path: PathBuf,
        /// The failure.
        source: std::io::Error,
    },
}

impl SourceError {
    /// Returns a command that solves the problem, if there is one.
    pub const fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Start { .. } => Some("sysctl fs.inotify.max_user_instances=1024"),
            Self::NoWatch => Some(MORE_WATCHES),
            Self::Cookies { .. } => None,
        }
    }
}

/// The command that allows more watches.
pub const MORE_WATCHES: &str = "sysctl fs.inotify.max_user_watches=1048576";

/// Collects hints. One thread owns it, and another one collects.
pub trait Source: Send {
    /// Watches the entries of one directory (not those below its sub-directories). A symbolic link
    /// is not followed. A directory that is watched already stays watched.
    fn watch(&mut self, dir: &Path) -> Result<(), WatchError>;

    /// Watches several directories, like [`Self::watch`]. After `false` some of them may be
    /// watched, and some not.
    fn watch_all(&mut self, dirs: &[&Path]) -> bool {
        dirs.iter().all(|dir| self.watch(dir).is_ok())
    }

    /// Stops watching one directory; does nothing if it was not watched.
    fn unwatch(&mut self, dir: &Path);

    /// Keeps only the directories that are still watched. The others can be watched anew without
    /// [`Self::unwatch`].
    fn retain_watched(&mut self, dirs: &mut BTreeSet<PathBuf>);

    /// Takes the hints. `all` includes half renames, even if they are young.
    fn take(&mut self, now: Instant, all: bool) -> Batch;

    /// Returns a channel that rings (holds one message) when there may be something to take.
    fn bell(&self) -> Receiver<()>;

    /// Makes an event that arrives after those of all changes before this call.
    fn cookie(&mut self) -> Result<Cookie, SourceError>;

    /// Starts, or restarts without watches or hints. Pending cookies will not arrive. After a
    /// failure there are no events, watches or cookies until a later reset succeeds.
    fn reset(&mut self) -> Result<(), SourceError>;
}
