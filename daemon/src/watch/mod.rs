//! Where hints about changes come from.
//!
//! Events are hints, the tree is the truth: nothing here says what is *in* the tree, only where to
//! look again. So the whole interface is small: [`Source::watch`] a directory, [`Source::take`]
//! what was heard since the last time, and [`Source::cookie`] for a barrier. One implementation is
//! made of the crate notify ([`notify`], the only place that names it); another one, for tests,
//! hears what a test tells it.
//!
//! Choices:
//!
//! 1. **Hints are a set, not a queue.** A file written a million times is one [`Hint`] with the
//!    time of the first and of the last event. The set grows with the number of changed paths and
//!    not with the number of events. If more than [`dirty::MOST_HINTS`] gather before anybody takes
//!    them, they are dropped and the loss is told, as when the kernel's own queue is full.
//! 2. **Renames are paired here**, by the kernel's cookie, because both halves pass through one
//!    thread in order. A lone first half waits [`RENAME_WAIT`] for the second before it counts as a
//!    removal. What was heard of paths below a renamed name is told of the paths where they are
//!    now.
//! 3. **A barrier is a file.** [`Source::cookie`] makes an event of its own in a private directory
//!    that the same queue watches. The queue is first in, first out, so when a batch contains the
//!    cookie, it (or one before) contains every change that was made before the cookie
//!    (watchman calls this query synchronisation).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

pub mod dirty;
pub mod notify;
pub(crate) mod renames;
#[cfg(test)]
pub(crate) mod testing;

/// How long the first half of a rename waits for the second. Both are queued by one system call.
pub const RENAME_WAIT: Duration = Duration::from_millis(100);

/// What was heard of a path, as a set of the constants below.
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
    /// Nobody knows what happened: look at it and at all below it.
    pub const UNKNOWN: Self = Self(32);

    /// The marks of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any mark of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing but attributes changed.
    pub const fn is_only_attributes(self) -> bool {
        self.0 == Self::ATTRIBUTES.0
    }
}

/// A path to look at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// What was heard.
    pub marks: Marks,
    /// When the first of it was heard since the last [`Source::take`].
    pub first: Instant,
    /// When the last of it was heard.
    pub last: Instant,
}

impl Hint {
    /// Both.
    pub(crate) fn merge(&mut self, other: Self) {
        self.marks = self.marks.and(other.marks);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// The entry `from` is now called `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Old path.
    pub from: PathBuf,
    /// New path.
    pub to: PathBuf,
}

/// Names one barrier of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

/// Everything heard since the last [`Source::take`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The changed paths. Both halves of a rename are here too: the tree says what they are now.
    pub hints: BTreeMap<PathBuf, Hint>,
    /// Renames in the order they were made.
    pub renames: Vec<Rename>,
    /// Barriers that were reached.
    pub cookies: Vec<Cookie>,
    /// Events were lost. Nothing is known to be right before it is looked at again, and what the
    /// source knows of its own watches may be wrong, too: [`Source::reset`] and a full scan must
    /// follow.
    pub overflow: bool,
    /// Half renames are held back: call [`Source::take`] again at this time.
    pub again: Option<Instant>,
}

impl Batch {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.hints.is_empty()
            && self.renames.is_empty()
            && self.cookies.is_empty()
            && !self.overflow
    }
}

/// Why a directory is not watched.
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
    /// It is not there, or no longer there.
    #[error("{} is gone", .path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// The kernel refused (permission, a file system that cannot).
    #[error("cannot watch {}: {message}", .path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// What was said.
        message: String,
    },
}

/// Why there are no events at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No inotify instance could be made.
    #[error("nothing can be watched, because too many programs are watching: {message}")]
    Start {
        /// What was said.
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
        /// Why.
        source: std::io::Error,
    },
}

impl SourceError {
    /// The command that mends it, if there is one.
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

/// Gathers hints. One thread owns it, and the gathering goes on in another.
pub trait Source: Send {
    /// Watches the entries of one directory (not those below its sub-directories). A symbolic link
    /// is not followed. A directory that is watched already stays watched.
    fn watch(&mut self, dir: &Path) -> Result<(), WatchError>;

    /// Watches several directories, as [`Self::watch`] does. `false`: some of them may be watched
    /// by now, and some not.
    fn watch_all(&mut self, dirs: &[&Path]) -> bool {
        dirs.iter().all(|dir| self.watch(dir).is_ok())
    }

    /// Stops watching one directory; nothing happens if it was not watched.
    fn unwatch(&mut self, dir: &Path);

    /// Leaves of these directories those that are watched still. The others can be watched anew
    /// without [`Self::unwatch`].
    fn retain_watched(&mut self, dirs: &mut BTreeSet<PathBuf>);

    /// Takes what was heard. `all` takes half renames too, however young.
    fn take(&mut self, now: Instant, all: bool) -> Batch;

    /// Rings (holds one message) when there may be something to take.
    fn bell(&self) -> Receiver<()>;

    /// Makes an event that is heard after all events of changes that were made before this call.
    fn cookie(&mut self) -> Result<Cookie, SourceError>;

    /// Starts, or starts anew without watches or hints. Cookies under way will not be heard.
    /// After a failure
    /// nothing is heard, no directory is watched and no cookie made until a later reset succeeds.
    fn reset(&mut self) -> Result<(), SourceError>;
}
