//! The targets of a reconcile, and the rules for comparing them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use resemble_core::{ByteLen, StopFlag};

use crate::parts::PartReader;

/// The part of a [`Target::Path`] that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The entry itself and, if it is a directory, the names in it. A directory among these names
    /// is entered only if the index does not have it.
    Entry,
    /// The entry, and everything below it.
    Subtree,
}

/// The reason why a path may have changed. The `stat` of the path shows whether it did change. The
/// cause only decides how far the `stat` is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Anything may have happened. This is the cause of a scan, and of an event with few details. A
    /// file with an unchanged `stat` is not read. A file whose inode changed is read.
    Unknown,
    /// The file was written to. It is read even if its `stat` is unchanged, because a program that
    /// writes by `mmap` may not have changed the `stat` yet.
    Modified,
    /// An event reported that the name appeared, because it was created, linked or moved. This
    /// explains why the inode of a file in the index has changed. So the file is not read if its
    /// size and modification time are equal.
    Named,
    /// Only attributes changed. The file is not read if its size and modification time are equal.
    AttributesOnly,
}

/// A target of a reconcile. Its paths are absolute, without `.` and `..`, and in one of the roots
/// of [`IngestOptions::roots`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A path that may have appeared, changed or vanished.
    Path {
        /// The path.
        path: PathBuf,
        /// The part of the path that is compared.
        scope: Scope,
        /// The reason why the path may have changed.
        cause: Cause,
        /// True if unsettled files are read again at once instead of after
        /// [`IngestOptions::settle_window`].
        read_now: bool,
    },
    /// A rename that an event reported. Both paths are compared. If nothing was renamed, or the
    /// rename was undone, both paths are treated as changed. A renamed directory is listed again,
    /// with everything below it.
    Renamed {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
        /// True if the file was also written to, so that it must be read.
        modified: bool,
    },
}

impl Target {
    /// Returns the target of a scan: everything at and below `path`. A file with an equal `stat` is
    /// taken as unchanged.
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

    /// Returns the target for a single entry.
    pub fn entry(path: impl Into<PathBuf>, cause: Cause) -> Self {
        Self::Path {
            path: path.into(),
            scope: Scope::Entry,
            cause,
            read_now: false,
        }
    }
}

/// A root, and its rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RootOptions {
    /// The absolute path of the root, without symbolic links. The root is a directory or, on the
    /// command line, a file.
    pub path: PathBuf,
    /// True if `.gitignore` and `.ignore` files within the root are used, and `.git` is left out.
    pub ignore: bool,
    /// True if other file systems that are mounted below the root are left out.
    pub one_file_system: bool,
    /// True if documents and archives are taken apart. This needs [`IngestOptions::part_reader`].
    pub text: bool,
    /// Patterns of names that are left out, with everything below them. They are written as in
    /// ignore files, relative to the root. An invalid pattern leaves nothing out.
    pub exclude: Vec<String>,
    /// The maximum size of a file that is read. For larger files, the index has only the names.
    pub max_size: Option<ByteLen>,
}

impl RootOptions {
    /// Returns a root with the default rules, by which everything is indexed.
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

/// The time at which documents are taken apart, and who takes turns: folders or users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentTurns {
    /// A reconcile ends when all documents are taken apart. The topmost folders in the roots take
    /// turns.
    #[default]
    BeforeTheEnd,
    /// A reconcile ends when the bytes of all files are in the index. Documents are taken apart
    /// meanwhile and afterwards, and a later reconcile adds their parts. A daemon uses this. The
    /// topmost folders in the roots take turns.
    LaterByFolder,
    /// The same as [`Self::LaterByFolder`], but users take turns.
    LaterByUser,
}

/// The intended use of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexUse {
    /// The index is used several times. At the end of a reconcile, everything is durable. After a
    /// bulk load, segments are merged.
    #[default]
    Again,
    /// A daemon uses the index. Small changes are visible at once. They become durable with the
    /// next large change, or by [`resemble_index::Index::persist`].
    Stays,
    /// The index is used for one question. After a bulk load, segments are not merged. A caller
    /// that needs posting lists must merge them first ([`resemble_index::Index::merge`]).
    Once,
}

/// The options of [`super::Ingest`].
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// The number of reading threads. 0 means one for each processor.
    pub threads: usize,
    /// Paths that are left out with everything below them, before any `stat`. They are the files
    /// and mounts of this program.
    pub exclude: Vec<PathBuf>,
    /// The roots. If a path is in two roots, the root with the longer path applies.
    pub roots: Vec<RootOptions>,
    /// The time for which a file is unsettled after the last change of its inode. The file is read
    /// once more after this time: see [`crate::read`].
    pub settle_window: Duration,
    /// True if unsettled files are read again at every check, and not only after their window.
    /// Callers without events use this (the command line).
    pub distrust_unsettled: bool,
    /// True if any file may have been written to through a name that is not watched. Then no event
    /// explains the change of an inode.
    pub distrust: bool,
    /// The reader that takes files apart. If it is `None`, no file is taken apart.
    pub part_reader: Option<Arc<dyn PartReader>>,
    /// The time at which documents are taken apart, and whether folders or users take turns.
    pub documents: DocumentTurns,
    /// The flag with which another thread can end a reconcile early.
    pub stop: StopFlag,
    /// The intended use of the index.
    pub index_use: IndexUse,
    /// The longest time for which a large file is read in one reconcile, so that other files need
    /// not wait for it: see [`super::Report::unfinished`]. If it is `None`, the file is read to its
    /// end.
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
