//! Changes to the index: the input of a batch, and its result.

use std::path::PathBuf;

use resemble_core::date::DocumentDate;
use resemble_core::{ContentDigest, ContentId, Digest, EditedDigest, FileId};

use crate::rows::{FileStat, Gap, PartRole, SkippedPart, SpecialKind};

/// The content of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentRef {
    /// The index has the content already. If the content is deleted before the batch is applied,
    /// the change is not applied, and its path is in [`Applied::gone`]. The file must then be read
    /// again.
    Known(ContentId),
    /// The index does not have the content yet. It is stored once, even if several files of the
    /// batch have it.
    New(Box<Digest>),
    /// The content is given by its differences from another content of the index. The change is not
    /// applied if the index does not have that other content, or if the edits do not fit. Then its
    /// path is in [`Applied::gone`], as with [`ContentRef::Known`].
    Edited(Box<EditedDigest>),
}

impl ContentRef {
    /// Returns the digest of the content, `None` for [`ContentRef::Known`]. The digest of an edited
    /// content has no chunk list.
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
    /// The `errno` with which opening or reading the file failed.
    Unreadable(i32),
    /// The reason why the file was left out, in words.
    Skipped(String),
}

/// A part of a content that was taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    /// See [`crate::rows::PartRow::role`].
    pub role: PartRole,
    /// See [`crate::rows::PartRow::parent`]: the index of an earlier part in the list.
    pub parent: Option<u32>,
    /// See [`crate::rows::PartRow::name`].
    pub name: Vec<u8>,
    /// The content of the part; `None` if it is empty or could not be stored.
    pub content: Option<ContentRef>,
}

/// The result of searching a content for parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewLook {
    /// The content is marked as not searched ([`crate::Look::Unseen`]). Parts from an earlier
    /// search are dropped.
    Unseen,
    /// The content cannot be taken apart. Parts from an earlier search are kept.
    Plain,
    /// The content was taken apart. The parts replace the parts of an earlier search.
    Apart {
        /// Parts at all depths.
        parts: Vec<NewPart>,
        /// Members that were skipped.
        skipped: Vec<SkippedPart>,
        /// The date that the document itself states.
        date: Option<DocumentDate>,
        /// True if the search did not finish. Then the content stays [`crate::Look::Unseen`], and
        /// will be searched again.
        again: bool,
    },
}

/// A change of the index. Paths are absolute. Directories above a path are created as needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets the time of all following changes, in seconds since 1970. New contents get it as the
    /// time when they were first seen ([`crate::Snapshot::first_seen`]). Without this change, that
    /// time is not known.
    Time(i64),
    /// The path is a directory.
    Dir(PathBuf),
    /// The path is a regular file with this stat and state. An existing entry of another type is
    /// replaced. Two paths with equal `fs` and `ino` are names of one file.
    File {
        /// The path.
        path: PathBuf,
        /// The `stat` of the file.
        stat: FileStat,
        /// The result of reading the file.
        state: NewState,
    },
    /// Records the result of searching a file's content for parts. It must follow the change that
    /// adds the file. It is ignored if no file has the content.
    Look {
        /// The path of the file. If the index no longer has the content of a part, this path is
        /// added to [`crate::Applied::gone`].
        path: PathBuf,
        /// The digest of the content.
        content: ContentDigest,
        /// The result.
        look: NewLook,
    },
    /// Only the stat of a known file changed (chmod, link count, rename). The content and state are
    /// unchanged.
    Stat {
        /// The file.
        file: FileId,
        /// The new `stat`.
        stat: FileStat,
    },
    /// The path is a new name of a file that the index has. It is a new hard link, or the second
    /// half of a rename that was seen as two events. The file need not be read again. It may have
    /// lost its last name earlier in the batch, so files that exchange names can be linked in any
    /// order.
    Link {
        /// The new name.
        path: PathBuf,
        /// The file.
        file: FileId,
    },
    /// The path is a symbolic link.
    Symlink {
        /// The path.
        path: PathBuf,
        /// The target, as raw bytes.
        target: Vec<u8>,
    },
    /// The path is a pipe, socket or device.
    Special {
        /// The path.
        path: PathBuf,
        /// The type.
        kind: SpecialKind,
    },
    /// The path is left out or could not be looked at. All entries below the path are removed from
    /// the index.
    Gap {
        /// The path.
        path: PathBuf,
        /// The reason.
        gap: Gap,
    },
    /// Listing the directory failed, or succeeded after a failure. The entries below the directory
    /// stay.
    Unlisted {
        /// The path.
        path: PathBuf,
        /// The `errno` of the failure, or `None` if the listing succeeded.
        errno: Option<i32>,
    },
    /// Removes the path, everything below it, and the departures recorded for these names. The
    /// index need not have the path.
    Remove(PathBuf),
    /// Removes a path that has vanished, with everything below it, and records departures
    /// ([`crate::Snapshot::departures`]). Does nothing if the index does not have the path.
    Vanished(PathBuf),
    /// The entry moved to the path `to`, with everything below it, and replaced any entry there.
    /// Only a few rows are written, even for a large directory.
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
    /// Paths of changes that were not applied. Such a change names a content or a file that is no
    /// longer in the index. Or its edits do not fit. These files must be read again.
    pub gone: Vec<PathBuf>,
    /// The results of the applied [`Change::File`]s, in the order of the batch. A later change of
    /// the same batch may have undone some of these changes.
    pub contents: Vec<FileContent>,
}

/// The result of a [`Change::File`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// The path of the change.
    pub path: PathBuf,
    /// The file at the path.
    pub file: FileId,
    /// The content of the file, if it was read.
    pub content: Option<ContentId>,
    /// The content that the path had before. If the path is new, this is the content that the file
    /// had under another name. If an editor saves by renaming, a new file is at the path, and `was`
    /// is the content of the old file.
    pub was: Option<ContentId>,
}
