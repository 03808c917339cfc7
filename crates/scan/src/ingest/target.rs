//! What is to be brought up to date, and with which rules.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use resemble_core::{ByteLen, StopFlag};

use crate::parts::PartReader;

/// How far a [`Target::Path`] reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The entry itself; of a directory also the names in it. Directories below are entered only
    /// if the index did not have them.
    Entry,
    /// The entry and everything below.
    Subtree,
}

/// Why somebody thinks that a path may have changed. `stat` decides what is true; the cause only
/// decides how much `stat` is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Anything may have happened: a scan, a created name, an event that says little.
    /// A file whose stat is the known one is left alone; one whose inode changed is read.
    Unknown,
    /// The bytes were written: the file is read whatever its stat says (a writer through `mmap`
    /// may have left no trace in it).
    Modified,
    /// The name came, and an event told of that: it was made, linked or moved here. That explains
    /// why a known inode changed, so with equal size and modification time nothing is read.
    Named,
    /// Only attributes changed: with equal size and modification time nothing is read.
    AttributesOnly,
}

/// One thing to reconcile. Paths are absolute, without `.` and `..`, and lie in one of the
/// roots of [`IngestOptions::roots`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A path that may have appeared, changed or gone.
    Path {
        /// Where.
        path: PathBuf,
        /// The entry or all below.
        scope: Scope,
        /// Why.
        cause: Cause,
        /// Read files that are still unsettled again now instead of after
        /// [`IngestOptions::settle_window`].
        read_now: bool,
    },
    /// A rename that was seen as such. Both paths are checked: what is no rename (any more) is
    /// treated as two changed paths. A renamed directory is listed again, all of it.
    Renamed {
        /// Old path.
        from: PathBuf,
        /// New path.
        to: PathBuf,
        /// The file was also written to: read it.
        modified: bool,
    },
}

impl Target {
    /// Everything at and below `path`, trusting equal stats: what a scan asks for.
    pub fn subtree(path: impl Into<PathBuf>) -> Self {
        Self::Path {
            path: path.into(),
            scope: Scope::Subtree,
            cause: Cause::Unknown,
            read_now: false,
        }
    }

    /// Whether it is one path with all below it.
    pub const fn is_subtree(&self) -> bool {
        matches!(
            self,
            Self::Path {
                scope: Scope::Subtree,
                ..
            }
        )
    }

    /// One entry.
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
    /// Honour `.gitignore` and `.ignore` files within the root, and skip `.git`.
    pub ignore: bool,
    /// Do not enter other file systems mounted below.
    pub one_file_system: bool,
    /// Take documents and archives apart, if [`IngestOptions::part_reader`] says by what.
    pub text: bool,
    /// Names that are left out, with all below: patterns as in ignore files, which begin at the
    /// root. What is no pattern leaves nothing out.
    pub exclude: Vec<String>,
    /// Larger files are known by their names alone.
    pub max_size: Option<ByteLen>,
}

impl RootOptions {
    /// A root with the default rules: everything is indexed.
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

/// When documents are taken apart, and who takes turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentTurns {
    /// A reconcile ends when all are. The topmost folders of roots take turns.
    #[default]
    BeforeTheEnd,
    /// A reconcile ends when the bytes of all files are in the index. Documents are taken apart
    /// meanwhile and afterwards, and a later reconcile writes their parts. For those who stay. The
    /// topmost folders of roots take turns.
    LaterByFolder,
    /// The same; users take turns.
    LaterByUser,
}

/// For whom an index is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexUse {
    /// For those who come again: at the end of a reconcile all is durable and in order.
    #[default]
    Again,
    /// For those who stay: small changes are in the index at once, and durable with the next large
    /// one or [`resemble_index::Index::persist`].
    Stays,
    /// For one question: postings of a bulk load stay as they were written. Who asks for lists
    /// merges them first ([`resemble_index::Index::merge`]).
    Once,
}

/// How [`super::Ingest`] works.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// Reading threads; 0: as many as the machine runs at once.
    pub threads: usize,
    /// Paths that are skipped with all below, before any `stat`: our own state and mounts.
    pub exclude: Vec<PathBuf>,
    /// The roots; of two that hold a path the longer counts.
    pub roots: Vec<RootOptions>,
    /// A file whose inode changed less than this before it was read is unsettled and read once
    /// more afterwards: see [`crate::read`].
    pub settle_window: Duration,
    /// Read unsettled files again at every look, not only after the window. For those who get
    /// no events (the command line).
    pub distrust_unsettled: bool,
    /// What was written through a name that nobody saw may be any file: no event explains just now
    /// why an inode changed.
    pub distrust: bool,
    /// What takes files apart; `None`: nothing does.
    pub part_reader: Option<Arc<dyn PartReader>>,
    /// When documents are taken apart.
    pub documents: DocumentTurns,
    /// Ends a running reconcile early.
    pub stop: StopFlag,
    /// For whom the index is written.
    pub index_use: IndexUse,
    /// How long a large file is read before the reconcile ends without it, so that others need not
    /// wait: see [`super::Report::unfinished`]. `None`: to its end.
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
