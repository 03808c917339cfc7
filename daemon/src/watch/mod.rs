//! Supplies hints about changes of watched directories.
//!
//! Events are only hints: they name paths to check again, and the tree itself shows what is there.
//! So the interface is small: [`Source::watch`] watches a directory, [`Source::take`] returns the
//! hints since the last call, and [`Source::cookie`] makes a barrier. One implementation,
//! [`notify`], uses the crate notify; no other module names that crate. Another implementation
//! reports only the events that a test makes.
//!
//! Three rules explain the design:
//!
//! 1. **Hints are a set, not a queue.** A file written a million times is one [`Hint`] with the
//!    times of the first and of the last event. The set grows with the number of changed paths and
//!    not with the number of events. If more than [`dirty::MOST_HINTS`] hints collect before they
//!    are taken, all of them are dropped. The loss is reported like an overflow of the kernel's own
//!    queue.
//! 2. **Renames are paired here**, by the kernel's cookie, because both halves pass through one
//!    thread in order. A first half waits [`RENAME_WAIT`] for its second half before it counts as a
//!    removal. Hints about paths below a renamed name move to the new paths.
//! 3. **A barrier is a file.** [`Source::cookie`] causes an event in a private directory that the
//!    same queue watches. The queue is first in, first out. So every change that was made before
//!    the cookie is in the batch that has the cookie, or in an earlier one. (watchman calls this
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

/// The longest time for which the first half of a rename waits for the second. One system call
/// queues both halves, so they arrive together.
pub const RENAME_WAIT: Duration = Duration::from_millis(100);

/// The kinds of events about a path, as a set of the constants below.
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
    /// An unknown change: the path and everything below it must be checked.
    pub const UNKNOWN: Self = Self(32);

    /// Returns the marks that are in either value.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether any mark of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether [`Self::ATTRIBUTES`] is the only mark.
    pub const fn is_only_attributes(self) -> bool {
        self.0 == Self::ATTRIBUTES.0
    }
}

/// The events about a path. The path must be checked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The kinds of the events.
    pub marks: Marks,
    /// The time of the first event since the last [`Source::take`].
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

/// The rename of an entry from one path to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Old path.
    pub from: PathBuf,
    /// New path.
    pub to: PathBuf,
}

/// The number of a barrier. It is unique for each source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

/// All events since the last [`Source::take`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The changed paths, including both paths of each rename. The hints do not say what is at the
    /// paths now.
    pub hints: BTreeMap<PathBuf, Hint>,
    /// The renames, in the order in which they were made.
    pub renames: Vec<Rename>,
    /// The barriers that were reached.
    pub cookies: Vec<Cookie>,
    /// True if events were lost. Everything must be checked again. The source may also be wrong
    /// about which directories it watches. So the caller must first call [`Source::reset`].
    pub overflow: bool,
    /// The time at which to call [`Source::take`] again, because first halves of renames are held
    /// back until then.
    pub again: Option<Instant>,
}

impl Batch {
    /// Returns whether nothing has happened.
    pub fn is_empty(&self) -> bool {
        self.hints.is_empty()
            && self.renames.is_empty()
            && self.cookies.is_empty()
            && !self.overflow
    }
}

/// The reason why a directory is not watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel allows this user no more watches.
    #[error(
        "the limit of inotify watches is reached at {}; raise it: \
         {MORE_WATCHES}",
        .path.display()
    )]
    Limit {
        /// The directory that cannot be watched.
        path: PathBuf,
    },
    /// The directory does not exist.
    #[error("{} is gone", .path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// The kernel refused the watch: a permission is missing, or the file system does not support
    /// watches.
    #[error("cannot watch {}: {message}", .path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// The kernel's message.
        message: String,
    },
}

/// The reason why there are no events at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No inotify instance could be made.
    #[error("nothing can be watched, because too many programs are watching: {message}")]
    Start {
        /// The message of the failure.
        message: String,
    },
    /// An inotify instance could be made, but this user is not allowed a single watch.
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
    /// Returns a command that may solve the problem, if there is one.
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

/// A source of hints. The thread that owns the source calls these methods. Another thread collects
/// the hints.
pub trait Source: Send {
    /// Watches the entries of one directory, but not those of its sub-directories. A symbolic link
    /// is not followed. If the directory is watched already, nothing changes.
    fn watch(&mut self, dir: &Path) -> Result<(), WatchError>;

    /// Watches several directories, like [`Self::watch`], and returns whether all are watched. If
    /// not, some of them may be watched.
    fn watch_all(&mut self, dirs: &[&Path]) -> bool {
        dirs.iter().all(|dir| self.watch(dir).is_ok())
    }

    /// Stops watching one directory. Does nothing if it is not watched.
    fn unwatch(&mut self, dir: &Path);

    /// Removes from `dirs` the directories that are not watched. These can be watched again without
    /// a call of [`Self::unwatch`].
    fn retain_watched(&mut self, dirs: &mut BTreeSet<PathBuf>);

    /// Removes and returns the hints. With `all`, young first halves of renames are not held back.
    fn take(&mut self, now: Instant, all: bool) -> Batch;

    /// Returns a channel that has a message when there may be hints to take.
    fn bell(&self) -> Receiver<()>;

    /// Causes an event that arrives after the events of all changes before this call.
    fn cookie(&mut self) -> Result<Cookie, SourceError>;

    /// Starts the source, or restarts it. Afterwards the source has no watches and no hints, and
    /// earlier cookies do not arrive. If this fails, there are no events, watches or cookies until
    /// a later call succeeds.
    fn reset(&mut self) -> Result<(), SourceError>;
}
