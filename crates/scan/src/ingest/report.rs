//! The progress and the outcome of a reconcile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use resemble_core::{ContentId, FileId};
use resemble_index::{ApplyError, ReadError, Snapshot};
use rustix::io::Errno;

use crate::walk::{Stat, means_passing};

use super::target::Target;

/// The answer of an observer about a directory that is about to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// List it. A listing that was made early also counts, if [`Observer::found_directories`]
    /// returned true before it began.
    Go,
    /// List it now: events may have been missed since it was found.
    Anew,
    /// Skip it and everything below; the index keeps its rows.
    Skip,
}

/// A name whose content is now in the index. Reported after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its path.
    pub path: PathBuf,
    /// The file at the path.
    pub file: FileId,
    /// Its content, if it could be read.
    pub content: Option<ContentId>,
    /// The content that the path had before. For a new name it is the content that the file has
    /// under its other names. Equal to `content` if nothing relevant changed.
    pub was: Option<ContentId>,
}

/// Receives the events of a reconcile, on the thread that reconciles.
pub trait Observer {
    /// Called before a directory is listed. An observer that wants the directory's events adds the
    /// watch here, so that no change after the listing is missed.
    fn before_listing(&mut self, dir: &Path) -> Listing {
        let _ = dir;
        Listing::Go
    }

    /// Announces directories, with their `stat`, that [`Self::before_listing`] will name one by
    /// one. The reconcile may end before it names them all. Watches may be added together here.
    /// Returns true if every event in them is reported from now on, or need not be. Such
    /// directories may be listed early.
    fn found_directories(&mut self, dirs: &[(&Path, Stat)]) -> bool {
        let _ = dirs;
        true
    }

    /// A directory of the index is gone, with everything below, or may no longer be listed.
    fn directory_gone(&mut self, dir: &Path) {
        let _ = dir;
    }

    /// A batch was committed. `before` is the index as of the last call, or as of the start of the
    /// reconcile.
    fn committed(&mut self, files: &[Committed], before: &Snapshot) {
        let _ = (files, before);
    }

    /// Parts of documents that were not there before are now in the index.
    fn taken_apart(&mut self) {}

    /// Reports progress, at most a few times a second.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// Returns whether to end the reconcile early. It is called often. Finished work is kept.
    fn should_stop(&mut self) -> bool {
        false
    }
}

/// An observer that watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Progress of a reconcile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Directories listed.
    pub dirs: u64,
    /// Names checked.
    pub entries: u64,
    /// Regular files among them.
    pub files: u64,
    /// Files read; an attempt that did not get to the end does not count.
    pub files_read: u64,
    /// Bytes read from files; holes do not count.
    pub bytes_read: u64,
    /// Files waiting to be read or being read.
    pub pending: u64,
    /// Directories found and not listed yet.
    pub pending_dirs: u64,
    /// Files and bytes that are finished, read or not.
    pub done: Amount,
    /// All files and bytes to process; `None` while they are unknown.
    pub all: Option<Amount>,
}

/// A number of files, and their bytes: either their sizes or the bytes that must be read of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A failure that concerns one path only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftError {
    /// The path that failed.
    pub path: PathBuf,
    /// The error number of the kernel.
    pub errno: i32,
}

/// The outcome of a reconcile.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The final figures.
    pub progress: Progress,
    /// Changes applied to the index, by any kind.
    pub changes: u64,
    /// Paths removed from the index (a directory with all below counts once).
    pub removed: u64,
    /// Files and directories that could not be read: the first [`Report::MOST_ERRORS`].
    pub errors: Vec<SoftError>,
    /// The number of all errors.
    pub error_count: u64,
    /// Paths that could not be checked because of a transient failure, and that failure. They must
    /// be reconciled again with everything below, because their rows in the index may be wrong.
    pub passing: BTreeMap<PathBuf, i32>,
    /// Names left out by ignore rules and patterns. Names below an ignored directory are not
    /// counted.
    pub ignored: u64,
    /// Directories not entered because of the file system that is mounted there.
    pub mounts_skipped: Vec<PathBuf>,
    /// Roots that are missing, cannot be opened or are not mounted. Their rows in the index were
    /// left unchanged.
    pub unavailable: Vec<PathBuf>,
    /// Paths that were found, but were gone when they were to be read or listed: the first
    /// [`Report::MOST_ERRORS`]. Something may be there again by now.
    pub vanished: Vec<PathBuf>,
    /// Roots whose directory was replaced during the reconcile. They must be reconciled again.
    pub replaced: Vec<PathBuf>,
    /// Files that were written to during every attempt to read them. They must be read again soon.
    pub moving: Vec<PathBuf>,
    /// Targets that changed at every attempt and were given up. They must be named again soon.
    pub unresolved: Vec<Target>,
    /// Large files that were not read to their ends yet. The next reconcile that names them
    /// continues.
    pub unfinished: Vec<PathBuf>,
    /// The times when files must be checked again, because they were read too soon after their last
    /// change. If a directory has many such files, it is named instead of them.
    /// [`super::Scope::Entry`] is enough.
    pub recheck: BTreeMap<PathBuf, SystemTime>,
    /// The reconcile was stopped early; its finished work is in the index.
    pub stopped: bool,
}

impl Report {
    /// The maximum number of errors that are kept with their paths; all are counted.
    pub const MOST_ERRORS: usize = 1000;

    pub(crate) fn vanished(&mut self, path: &Path) {
        if self.vanished.len() < Self::MOST_ERRORS {
            self.vanished.push(path.to_owned());
        }
    }

    pub(crate) fn error(&mut self, path: &Path, errno: i32) {
        self.error_count += 1;
        if means_passing(Errno::from_raw_os_error(errno)) {
            self.passing.insert(path.to_owned(), errno);
        }
        if self.errors.len() < Self::MOST_ERRORS {
            self.errors.push(SoftError {
                path: path.to_owned(),
                errno,
            });
        }
    }
}

/// A failure that ends a reconcile. Failures of single files are in [`Report`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// The index could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index could not be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The system refused to start a reading thread.
    #[error("cannot start a reading thread: {0}; raise the limit on processes")]
    Threads(std::io::Error),
}
