//! The progress and the outcome of a reconcile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use resemble_core::{ContentId, FileId};
use resemble_index::{ApplyError, ReadError, Snapshot};
use rustix::io::Errno;

use crate::walk::{Stat, means_passing};

use super::target::Target;

/// An observer's decision about a directory that is about to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// List the directory. A listing that was made earlier may be used, if
    /// [`Observer::found_directories`] had returned true before it was made.
    Go,
    /// List the directory now. An earlier listing must not be used, because events may have been
    /// missed since.
    Anew,
    /// Do not list the directory. The index keeps the rows of the directory and of everything below
    /// it.
    Skip,
}

/// A name of a file that a commit has put into the index. The name is reported after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The path.
    pub path: PathBuf,
    /// The file at the path.
    pub file: FileId,
    /// The content of the file, if it could be read.
    pub content: Option<ContentId>,
    /// The content that the path had before. For a new name of a file, it is the content that the
    /// file had under its other names. This field is equal to `content` if the content did not
    /// change.
    pub was: Option<ContentId>,
}

/// Receives the events of a reconcile. All methods are called on the thread that reconciles.
pub trait Observer {
    /// Is called before a directory is listed. An observer that needs the events of the directory
    /// adds a watch here, so that it misses no change after the listing.
    fn before_listing(&mut self, dir: &Path) -> Listing {
        let _ = dir;
        Listing::Go
    }

    /// Is called with directories that will probably be listed, and with their `stat`s.
    /// [`Self::before_listing`] is called later for each listed directory. Here, an observer can
    /// add many watches in one step. Returns true if every event in these directories is reported
    /// from now on, or if no events are needed. Then a listing of them can begin immediately.
    fn found_directories(&mut self, dirs: &[(&Path, Stat)]) -> bool {
        let _ = dirs;
        true
    }

    /// Is called when a directory of the index is gone with everything below it. Is also called
    /// when the permission to list it is gone.
    fn directory_gone(&mut self, dir: &Path) {
        let _ = dir;
    }

    /// Is called when a batch was committed. `before` is the index as it was at the last call, or
    /// at the start of the reconcile.
    fn committed(&mut self, files: &[Committed], before: &Snapshot) {
        let _ = (files, before);
    }

    /// Is called when parts of documents were added to the index.
    fn taken_apart(&mut self) {}

    /// Is called with the progress, at most a few times a second.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// Returns whether the reconcile should end early. Is called often. If it returns true, the
    /// work done so far is kept.
    fn should_stop(&mut self) -> bool {
        false
    }
}

/// An observer that watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// The progress of a reconcile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of directories that were listed.
    pub dirs: u64,
    /// Number of names that were compared.
    pub entries: u64,
    /// Number of regular files among these names.
    pub files: u64,
    /// Number of files that were read to their end.
    pub files_read: u64,
    /// Number of bytes that were read from files, without holes.
    pub bytes_read: u64,
    /// Number of files that wait to be read or are being read, plus the number of documents for
    /// which the reconcile waits.
    pub pending: u64,
    /// Number of directories that were found but not listed yet.
    pub pending_dirs: u64,
    /// Files and bytes that need no more work, whether they were read or not.
    pub done: Amount,
    /// All files and bytes of the reconcile. `None` as long as they are not known.
    pub all: Option<Amount>,
}

/// A number of files and a number of bytes. The bytes are the sizes of these files, or only the
/// parts that must be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of files.
    pub files: u64,
    /// Number of bytes.
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

/// The result of a reconcile.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The progress at the end.
    pub progress: Progress,
    /// Number of changes that were applied to the index.
    pub changes: u64,
    /// Number of paths that were removed from the index. A directory is counted once, together with
    /// everything below it.
    pub removed: u64,
    /// The first [`Report::MOST_ERRORS`] files and directories that could not be read.
    pub errors: Vec<SoftError>,
    /// Number of files and directories that could not be read.
    pub error_count: u64,
    /// Paths that could not be checked because of a transient failure, each with the `errno`. Their
    /// rows in the index may be wrong, so they must be reconciled again with everything below them.
    pub passing: BTreeMap<PathBuf, i32>,
    /// Number of names that ignore rules and patterns left out. Names below an ignored directory
    /// are not counted.
    pub ignored: u64,
    /// Directories that were not entered because of the file system that is mounted there.
    pub mounts_skipped: Vec<PathBuf>,
    /// Roots that are missing, cannot be opened, or are not mounted. Their rows in the index were
    /// left unchanged.
    pub unavailable: Vec<PathBuf>,
    /// Paths that were found, but were gone before they could be read or listed. Only the first
    /// [`Report::MOST_ERRORS`] are listed. Some of them may exist again by now.
    pub vanished: Vec<PathBuf>,
    /// Roots whose directory was replaced during the reconcile. They must be reconciled again.
    pub replaced: Vec<PathBuf>,
    /// Files that changed during every attempt to read them. They must be read again soon.
    pub moving: Vec<PathBuf>,
    /// Targets that changed in every round. They must be reconciled again soon.
    pub unresolved: Vec<Target>,
    /// Large files that were not read to their end. The next reconcile of such a file continues
    /// where this one ended.
    pub unfinished: Vec<PathBuf>,
    /// The times at which files must be checked again, because they were read too soon after their
    /// last change. If a directory has many such files, the directory is listed here instead. A
    /// check with [`super::Scope::Entry`] is enough.
    pub recheck: BTreeMap<PathBuf, SystemTime>,
    /// True if the reconcile was stopped early. The work that was finished is in the index.
    pub stopped: bool,
}

impl Report {
    /// The maximum number of errors that are reported with their paths. All errors are counted.
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
