//! Changes to the index: what a batch is made of, and what it came to.

use std::path::PathBuf;

use resemble_core::date::DocumentDate;
use resemble_core::{ContentDigest, ContentId, Digest, EditedDigest, FileId};

use crate::rows::{FileStat, Gap, PartRole, SkippedPart, SpecialKind};

/// The content of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentRef {
    /// The index has it already (it may vanish before the batch is applied: then applying fails
    /// with `ApplyError::ContentGone` for that change only and the file must be read again).
    Known(ContentId),
    /// Just digested; stored once even if several files of the batch have it.
    New(Box<Digest>),
    /// Just digested where it differs from a content that the index has. If it has not (any more),
    /// or that does not become this one by the edits, applying fails as with
    /// [`ContentRef::Known`].
    Edited(Box<EditedDigest>),
}

impl ContentRef {
    /// The digest of a new content; of one that was edited, without chunks.
    pub fn new_digest(&self) -> Option<&Digest> {
        match self {
            Self::New(digest) => Some(digest),
            Self::Edited(edited) => Some(&edited.digest),
            Self::Known(_) => None,
        }
    }
}

/// What is now known of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewState {
    /// See [`crate::rows::FileState::Settled`].
    Settled(ContentRef),
    /// See [`crate::rows::FileState::Unsettled`].
    Unsettled(ContentRef),
    /// The errno of the failed open or read.
    Unreadable(i32),
    /// A short word: why it is left out.
    Skipped(String),
}

/// A part of a content that was taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    /// See [`crate::rows::PartRow::role`].
    pub role: PartRole,
    /// See [`crate::rows::PartRow::parent`]: less than the part's own place.
    pub parent: Option<u32>,
    /// See [`crate::rows::PartRow::name`].
    pub name: Vec<u8>,
    /// What it holds; `None`: nothing, or nothing that could be kept.
    pub content: Option<ContentRef>,
}

/// What looking into a content came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewLook {
    /// It is nothing that could be taken apart; parts that it has from another look stay.
    Plain,
    /// It was taken apart: these are its parts instead of any that it had.
    Apart {
        /// Its parts, and theirs.
        parts: Vec<NewPart>,
        /// What was skipped.
        skipped: Vec<SkippedPart>,
        /// The date that it states of itself.
        date: Option<DocumentDate>,
        /// It came to no end and is to be tried again: the content stays [`crate::Look::Unseen`].
        again: bool,
    },
}

/// One change. Paths are absolute; directories above a path are created as needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The time of the changes that follow, in seconds since 1970: contents that come with them are
    /// first seen then ([`crate::Snapshot::first_seen`]). Without it that is not known of them.
    Time(i64),
    /// The path is a directory.
    Dir(PathBuf),
    /// The path is a regular file with this stat and state. An existing entry of another type is
    /// replaced. Entries with equal (`fs`, `ino`) are one file.
    File {
        /// Where.
        path: PathBuf,
        /// What `stat` said.
        stat: FileStat,
        /// What reading gave.
        state: NewState,
    },
    /// What looking into the content of a file came to. After the change that brings the file; of a
    /// content that no file has, nothing is noted.
    Look {
        /// The file that was read: [`crate::Applied::gone`] has it if a part is not in the index
        /// any more.
        path: PathBuf,
        /// Its content.
        content: ContentDigest,
        /// What it came to.
        look: NewLook,
    },
    /// Only the stat of a known file changed (chmod, link count, rename): content and state stay.
    Stat {
        /// Which file.
        file: FileId,
        /// What `stat` says now.
        stat: FileStat,
    },
    /// The path is a name of a file that the index knows by inode and need not read again (a new
    /// hard link, or a rename seen as two events).
    Link {
        /// Where.
        path: PathBuf,
        /// Which file.
        file: FileId,
    },
    /// The path is a symbolic link.
    Symlink {
        /// Where.
        path: PathBuf,
        /// Its target, raw.
        target: Vec<u8>,
    },
    /// The path is a pipe, socket or device.
    Special {
        /// Where.
        path: PathBuf,
        /// Which type.
        kind: SpecialKind,
    },
    /// The path is something that was not looked at; what the index has below it goes.
    Gap {
        /// Where.
        path: PathBuf,
        /// Why.
        gap: Gap,
    },
    /// The path is a directory that could not be listed (what the index has below it stays), or can
    /// be again.
    Unlisted {
        /// Where.
        path: PathBuf,
        /// The errno; `None`: it was listed.
        errno: Option<i32>,
    },
    /// The path and all below it are gone from the index, and nothing is to be known any more of
    /// what went from there before. Not an error if the index never had it.
    Remove(PathBuf),
    /// The path and all below it were seen to be gone: what was there is remembered
    /// ([`crate::Snapshot::departures`]). Not an error if the index never had it.
    Vanished(PathBuf),
    /// The entry moved with all below it, whatever stood at `to` is replaced. One row for a
    /// directory, however many files are below.
    Rename {
        /// Old path.
        from: PathBuf,
        /// New path.
        to: PathBuf,
    },
}

/// What a batch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Paths whose change named a content or a file that is not in the index (any more): they
    /// were left as they were and must be read again.
    pub gone: Vec<PathBuf>,
    /// One for each [`Change::File`] that was applied, in the order of the batch. A later change
    /// of the same batch may have undone it.
    pub contents: Vec<FileContent>,
}

/// What a [`Change::File`] came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// The path of the change.
    pub path: PathBuf,
    /// The file that is there now.
    pub file: FileId,
    /// Its content, if it was read.
    pub content: Option<ContentId>,
    /// What was known before: the content of the file that stood at the path, else what this
    /// file had under another name. Editors that save by renaming replace the file, but `was` is
    /// still what the path had.
    pub was: Option<ContentId>,
}
