//! Changes to the index: the members of a batch, and its result.

use std::path::PathBuf;

use resemble_core::date::DocumentDate;
use resemble_core::{ContentDigest, ContentId, Digest, EditedDigest, FileId};

use crate::rows::{FileStat, Gap, PartRole, SkippedPart, SpecialKind};

/// The content of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentRef {
    /// The index has the content already. If it was deleted when the batch is applied, the change
    /// fails with `ApplyError::ContentGone`. The file must then be read again.
    Known(ContentId),
    /// The digest is new. It is stored once, even if several files of the batch have it.
    New(Box<Digest>),
    /// A digest given as its differences from that of a content in the index. Applying it fails, as
    /// with [`ContentRef::Known`], if the index does not have that content or if the edits do not
    /// fit it.
    Edited(Box<EditedDigest>),
}

impl ContentRef {
    /// Returns the digest of a new content. That of an edited content lacks its chunks.
    pub fn new_digest(&self) -> Option<&Digest> {
        match self {
            Self::New(digest) => Some(digest),
            Self::Edited(edited) => Some(&edited.digest),
            Self::Known(_) => None,
        }
    }
}

/// The new state of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewState {
    /// See [`crate::rows::FileState::Settled`].
    Settled(ContentRef),
    /// See [`crate::rows::FileState::Unsettled`].
    Unsettled(ContentRef),
    /// The errno of the failed open or read.
    Unreadable(i32),
    /// The reason in one word.
    Skipped(String),
}

/// A part of a content that was taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    /// See [`crate::rows::PartRow::role`].
    pub role: PartRole,
    /// See [`crate::rows::PartRow::parent`]: a lower position in the list than that of this part.
    pub parent: Option<u32>,
    /// See [`crate::rows::PartRow::name`].
    pub name: Vec<u8>,
    /// The content of the part; `None` if it is empty or could not be stored.
    pub content: Option<ContentRef>,
}

/// The result of searching a content for parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewLook {
    /// The content cannot be taken apart. Parts from an earlier search stay.
    Plain,
    /// The content was taken apart. These parts replace earlier ones.
    Apart {
        /// Parts at all depths.
        parts: Vec<NewPart>,
        /// Members that were skipped.
        skipped: Vec<SkippedPart>,
        /// The date that the document itself states.
        date: Option<DocumentDate>,
        /// The search did not finish: the content stays [`crate::Look::Unseen`] and is tried again.
        again: bool,
    },
}

/// A change of the index. Paths are absolute; directories above a path are created as needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets the time of the changes that follow, in seconds since 1970. The time is stored as the
    /// first sighting of their new contents ([`crate::Snapshot::first_seen`]). Without this change
    /// it is unknown.
    Time(i64),
    /// The path is a directory.
    Dir(PathBuf),
    /// The path is a regular file with this stat and state. An existing entry of another type is
    /// replaced. Entries with equal (`fs`, `ino`) are one file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its `stat`.
        stat: FileStat,
        /// The result of reading it.
        state: NewState,
    },
    /// Records the result of searching a file's content for parts. It follows the change that adds
    /// the file. It is ignored for a content that no file has.
    Look {
        /// The path of the file. It is in [`crate::Applied::gone`] if a part is no longer in the
        /// index.
        path: PathBuf,
        /// The digest of its content.
        content: ContentDigest,
        /// The result.
        look: NewLook,
    },
    /// Only the stat of a known file changed (chmod, link count, rename). Content and state stay.
    Stat {
        /// The file.
        file: FileId,
        /// Its new `stat`.
        stat: FileStat,
    },
    /// The path is a name of a file that the index knows by its inode: a new hard link, or a rename
    /// seen as two events. The file need not be read again. It may have lost its last name earlier
    /// in the batch. So if files exchange their names, the links can be in any order.
    Link {
        /// The new name.
        path: PathBuf,
        /// The file.
        file: FileId,
    },
    /// The path is a symbolic link.
    Symlink {
        /// Its path.
        path: PathBuf,
        /// Its target, as raw bytes.
        target: Vec<u8>,
    },
    /// The path is a pipe, socket or device.
    Special {
        /// Its path.
        path: PathBuf,
        /// Its type.
        kind: SpecialKind,
    },
    /// The path was not searched. All entries of the index below it are removed.
    Gap {
        /// Its path.
        path: PathBuf,
        /// The reason.
        gap: Gap,
    },
    /// A listing of the directory failed, or succeeded again. The entries below it stay.
    Unlisted {
        /// Its path.
        path: PathBuf,
        /// The errno; `None` if the listing succeeded.
        errno: Option<i32>,
    },
    /// Removes the path, all below it, and the departures recorded there. No error if the index
    /// never had it.
    Remove(PathBuf),
    /// Removes a path that vanished, with all below it, and records departures
    /// ([`crate::Snapshot::departures`]). No error if the index never had it.
    Vanished(PathBuf),
    /// The entry moved with all below it and replaced any entry at `to`. It costs one row for a
    /// directory of any size.
    Rename {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
    },
}

/// The result of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Paths whose change named a content or a file that is no longer in the index. These changes
    /// were not applied, and the files must be read again.
    pub gone: Vec<PathBuf>,
    /// The result of each applied [`Change::File`], in the order of the batch. A later change of
    /// the batch may have undone it.
    pub contents: Vec<FileContent>,
}

/// The result of a [`Change::File`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// The path of the change.
    pub path: PathBuf,
    /// The file at the path.
    pub file: FileId,
    /// Its content, if it was read.
    pub content: Option<ContentId>,
    /// The former content: that of the file that was at the path, or else that of this file under
    /// another name. Editors that save by renaming put a new file at the path; `was` is then the
    /// content of the old one.
    pub was: Option<ContentId>,
}
