//! What a reconcile tells while it runs and when it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use resemble_core::{ContentId, FileId};
use resemble_index::{ApplyError, ReadError, Snapshot};
use rustix::io::Errno;

use crate::walk::{Stat, means_passing};

use super::target::Target;

/// What to do with a directory that is about to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// List it; a listing is good that was begun after [`Observer::found_directories`] said that
    /// all that happens in it is told.
    Go,
    /// List it now: something may have happened there since that nobody tells.
    Anew,
    /// Leave it and all below as the index has them.
    Skip,
}

/// A name whose content is now in the index. Told after the commit that made it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Where.
    pub path: PathBuf,
    /// The file that is there.
    pub file: FileId,
    /// Its content, if it could be read.
    pub content: Option<ContentId>,
    /// What the path had before; if it is a new name, what the file had under its other names.
    /// Equal to `content` when nothing that matters changed.
    pub was: Option<ContentId>,
}

/// Is told what a reconcile does. Called on the thread that reconciles.
pub trait Observer {
    /// A directory is about to be listed: whoever wants its events adds the watch now, so that
    /// nothing can happen between the listing and the first event.
    fn before_listing(&mut self, dir: &Path) -> Listing {
        let _ = dir;
        Listing::Go
    }

    /// These directories, with what they were when found, will be announced by
    /// [`Self::before_listing`], one by one, unless the reconcile ends before: whoever adds watches
    /// may add theirs together now. Whether all that happens in them from now on is told, or does
    /// not matter: they may be listed early then.
    fn found_directories(&mut self, dirs: &[(&Path, Stat)]) -> bool {
        let _ = dirs;
        true
    }

    /// A directory of the index (and all below) is gone, or may not be listed any more.
    fn directory_gone(&mut self, dir: &Path) {
        let _ = dir;
    }

    /// A batch is in the index; `before` is what the index was when this was told last, or when the
    /// reconcile began.
    fn committed(&mut self, files: &[Committed], before: &Snapshot) {
        let _ = (files, before);
    }

    /// The parts of documents are in the index that were not there before.
    fn taken_apart(&mut self) {}

    /// Now and then, at most a few times a second.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// Asked often; `true` ends the reconcile early, keeping what is done.
    fn should_stop(&mut self) -> bool {
        false
    }
}

/// An observer that watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// How far a reconcile is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Directories listed.
    pub dirs: u64,
    /// Names looked at.
    pub entries: u64,
    /// Regular files among them.
    pub files: u64,
    /// Files read (each attempt that got to the end counts once).
    pub files_read: u64,
    /// Bytes read from files; holes do not count.
    pub bytes_read: u64,
    /// Files waiting to be read or being read.
    pub pending: u64,
    /// Directories found and not listed yet.
    pub pending_dirs: u64,
    /// What is done with, whether it had to be read or not.
    pub done: Amount,
    /// What there is to do; `None`: that is not known yet.
    pub all: Option<Amount>,
}

/// So many files, and the bytes of them that count: their sizes, or what is to be read of them.
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
    /// Where.
    pub path: PathBuf,
    /// What the kernel said.
    pub errno: i32,
}

/// What a reconcile did.
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
    /// All of them.
    pub error_count: u64,
    /// What could not be looked at because of a failure that may be over soon, and that failure:
    /// to be reconciled again, with all below. What the index has of it is not the truth.
    pub passing: BTreeMap<PathBuf, i32>,
    /// Names left out by ignore rules and patterns (what lies below such a directory is not
    /// counted).
    pub ignored: u64,
    /// Directories not entered because of what is mounted there.
    pub mounts_skipped: Vec<PathBuf>,
    /// Roots that are missing, cannot be opened or lie unmounted: what the index has of them was
    /// left as it is.
    pub unavailable: Vec<PathBuf>,
    /// What was found, and was gone when it was to be read or listed: the first
    /// [`Report::MOST_ERRORS`]. Something may be there again.
    pub vanished: Vec<PathBuf>,
    /// Roots that were another directory at the end than at the beginning: reconcile them again.
    pub replaced: Vec<PathBuf>,
    /// Files that were written to all the time while they were read: look again soon.
    pub moving: Vec<PathBuf>,
    /// What changed whenever it was looked at, and was given up for now: to be named again soon.
    pub unresolved: Vec<Target>,
    /// Large files that were not read to their ends yet: the next reconcile that names them goes
    /// on.
    pub unfinished: Vec<PathBuf>,
    /// Files that were read too soon after their last change, or directories with many of them, and
    /// when to look at them again ([`super::Scope::Entry`] is enough).
    pub recheck: BTreeMap<PathBuf, SystemTime>,
    /// The reconcile was ended early; what it did is in the index.
    pub stopped: bool,
}

impl Report {
    /// Errors kept with their paths; the others are only counted.
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

/// Why a reconcile could not go on. Failures of single files are no errors: see [`Report`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// The index could not be asked.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index could not be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The system gave no thread to read with.
    #[error("cannot start a reading thread: {0}; raise the limit on processes")]
    Threads(std::io::Error),
}
