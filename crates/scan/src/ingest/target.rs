//! The targets and the rules of a reconcile.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use resemble_core::{ByteLen, StopFlag};

use crate::parts::PartReader;

/// The reach of a [`Target::Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The entry itself, and the names in it if it is a directory. Directories below are entered
    /// only if they are new to the index.
    Entry,
    /// The entry and everything below.
    Subtree,
}

/// The reason why a path may have changed. The `stat` of the path decides whether it did; the cause
/// only decides how much an equal `stat` is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Anything may have happened: a scan, a created name, an event with few details. A file with
    /// an unchanged `stat` is left alone; one whose inode changed is read.
    Unknown,
    /// The bytes were written: the file is read even with an unchanged `stat`, since a writer
    /// through `mmap` may not have changed it.
    Modified,
    /// The name appeared, and an event reported that: it was created, linked or moved here. That
    /// explains why a known inode changed. So nothing is read if size and modification time are
    /// equal.
    Named,
    /// Only attributes changed. If size and modification time are equal, nothing is read.
    AttributesOnly,
}

/// A target of a reconcile. Paths are absolute, without `.` and `..`, and lie in one of the roots
/// of [`IngestOptions::roots`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A path that may have appeared, changed or vanished.
    Path {
        /// The path.
        path: PathBuf,
        /// The entry, or everything below, too.
        scope: Scope,
        /// The reason.
        cause: Cause,
        /// True to read unsettled files again now instead of after
        /// [`IngestOptions::settle_window`].
        read_now: bool,
    },
    /// A rename that an event reported. Both paths are checked. If it is no rename (any more), both
    /// count as changed paths. A renamed directory is listed again, with everything below.
    Renamed {
        /// Old path.
        from: PathBuf,
        /// New path.
        to: PathBuf,
        /// True if the file was also written to and must be read.
        modified: bool,
    },
}

impl Target {
    /// Returns everything at and below `path`, trusting equal `stat`s: the target of a scan.
    pub fn subtree(path: impl Into<PathBuf>) -> Self {
        Self::Path {
            path: path.into(),
            scope: Scope::Subtree,
            cause: Cause::Unknown,
            read_now: false,
        }
    }

    /// Returns whether the target is one path with everything below it.
    pub const fn is_subtree(&self) -> bool {
        matches!(
            self,
            Self::Path {
                scope: Scope::Subtree,
                ..
            }
        )
    }

    /// Returns a single entry.
    pub fn entry(path: impl Into<PathBuf>, cause: Cause) -> Self {
        Self::Path {
            path: path.into(),
            scope: Scope::Entry,
            cause,
            read_now: false,
        }
    }
}

/// The rules of one root.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RootOptions {
    /// Its absolute path, without symbolic links. A directory or (for the command line) a file.
    pub path: PathBuf,
    /// True to honour `.gitignore` and `.ignore` files within the root, and to skip `.git`.
    pub ignore: bool,
    /// True to leave out other file systems mounted below.
    pub one_file_system: bool,
    /// True to take documents and archives apart, if [`IngestOptions::part_reader`] is set.
    pub text: bool,
    /// Names that are left out with everything below: patterns as in ignore files, relative to the
    /// root. An invalid pattern leaves nothing out.
    pub exclude: Vec<String>,
    /// Files larger than this are not read; only their names are in the index.
    pub max_size: Option<ByteLen>,
}

impl RootOptions {
    /// Returns a root with the default rules: everything is indexed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            ignore: false,
            one_file_system: false,
            text: false,
            exclude: Vec::new(),
            max_size: None,
        }
    }
}

/// The time when documents are taken apart, and who takes turns in that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentTurns {
    /// A reconcile ends when all are taken apart. The topmost folders of roots take turns.
    #[default]
    BeforeTheEnd,
    /// A reconcile ends when the bytes of all files are in the index. Documents are taken apart
    /// meanwhile and afterwards, and a later reconcile writes their parts. For a daemon. The
    /// topmost folders of roots take turns.
    LaterByFolder,
    /// Like [`Self::LaterByFolder`], but users take turns.
    LaterByUser,
}

/// The intended use of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexUse {
    /// Repeated use: at the end of a reconcile everything is durable and sorted.
    #[default]
    Again,
    /// Use by a daemon. Small changes are in the index at once. They become durable with the next
    /// large one or [`resemble_index::Index::persist`].
    Stays,
    /// Use for one question: postings of a bulk load stay unmerged. Callers that need lists merge
    /// them first ([`resemble_index::Index::merge`]).
    Once,
}

/// Options of [`super::Ingest`].
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// Number of reading threads; 0: as many as the machine runs at once.
    pub threads: usize,
    /// Paths that are skipped with everything below, before any `stat`: our own state and mounts.
    pub exclude: Vec<PathBuf>,
    /// The roots; if two hold a path, the longer one applies.
    pub roots: Vec<RootOptions>,
    /// The time after a change of its inode during which a file is unsettled. After that it is read
    /// once more: see [`crate::read`].
    pub settle_window: Duration,
    /// True to read unsettled files again at every check, not only after the window. For callers
    /// without events (the command line).
    pub distrust_unsettled: bool,
    /// True if writes through unobserved names may have reached any file, so that no event explains
    /// a changed inode.
    pub distrust: bool,
    /// The reader that takes files apart, if it is set.
    pub part_reader: Option<Arc<dyn PartReader>>,
    /// The time when documents are taken apart.
    pub documents: DocumentTurns,
    /// Ends a running reconcile early.
    pub stop: StopFlag,
    /// The intended use of the index.
    pub index_use: IndexUse,
    /// The time after which a reconcile ends without the rest of a large file, so that others need
    /// not wait: see [`super::Report::unfinished`]. `None`: it is read to its end.
    pub turn: Option<Duration>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            threads: 0,
            exclude: Vec::new(),
            roots: Vec::new(),
            settle_window: crate::read::SETTLE_WINDOW,
            distrust_unsettled: false,
            distrust: false,
            part_reader: None,
            documents: DocumentTurns::default(),
            stop: StopFlag::default(),
            index_use: IndexUse::default(),
            turn: None,
        }
    }
}
