//! The rows that a reader of the index sees, in plain types.

use std::path::PathBuf;
use std::sync::Arc;

use resemble_core::date::DocumentDate;
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind, DirId, FileId, WordsDigest};
use serde::{Deserialize, Serialize};

/// Identifies a file system across reboots: its UUID or, without one, type and fsid; never
/// `st_dev`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FsId(pub Arc<str>);

/// A point in time as `stat` gives it: seconds and nanoseconds since 1970 (seconds may be
/// negative).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds.
    pub secs: i64,
    /// Below 1,000,000,000.
    pub nanos: u32,
}

/// The result of `stat` when a file was last checked. Equal results mean an unchanged file, except
/// for writers through mmap (see docs/design.md).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// The file system.
    pub fs: FsId,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub size: ByteLen,
    /// Last change of the bytes.
    pub mtime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
    /// Number of hard links.
    pub nlink: u32,
}

/// The state of a regular file: its content, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileState {
    /// The file was read. The stat was equal before and after, and old enough to trust.
    Settled(ContentId),
    /// The file was read, but it changed during the read or so recently that it must be read again.
    Unsettled(ContentId),
    /// The file could not be opened or read: the errno.
    Unreadable(i32),
    /// The file was left out on purpose; the reason is a short word: `size`, `ignored`,
    /// `path-too-long` …
    Skipped(String),
}

impl FileState {
    /// Returns the content, if the file was read.
    pub const fn content(&self) -> Option<ContentId> {
        match self {
            Self::Settled(content) | Self::Unsettled(content) => Some(*content),
            Self::Unreadable(_) | Self::Skipped(_) => None,
        }
    }
}

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Its id.
    pub id: FileId,
    /// The stat of the file in this state.
    pub stat: FileStat,
    /// Its content, if it has one.
    pub state: FileState,
}

/// A content of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRow {
    /// Its id.
    pub id: ContentId,
    /// The digest of its bytes.
    pub digest: ContentDigest,
    /// Size in bytes.
    pub size: ByteLen,
    /// Text, binary or empty.
    pub kind: ContentKind,
    /// The sampling level of its fingerprints with postings; the signature has some of these.
    pub level: u8,
    /// The number of fingerprints with postings.
    pub fingerprints: u32,
    /// The number of runs in its chunk list.
    pub chunk_runs: u64,
    /// The number of files that have it.
    pub files: u32,
    /// The number of places in containers that have it as a part. In a snapshot it is never 0
    /// together with `files`.
    pub uses: u32,
    /// The result of searching it for parts.
    pub look: Look,
    /// The number of its parts, including those without a content.
    pub parts: u32,
    /// True if something in it was skipped when it was taken apart: see
    /// [`crate::Snapshot::skipped_parts`].
    pub skipped: bool,
    /// The digest of its words, if it is a text with enough of them.
    pub words: Option<WordsDigest>,
    /// The date that the document itself states, if it was taken apart and has one.
    pub date: Option<DocumentDate>,
}

/// The result of searching a content for parts. The numbers are the stored ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum Look {
    /// The content was not searched, or not completely. A program that takes files apart must read
    /// its files again.
    #[default]
    Unseen = 0,
    /// The content cannot be taken apart under the names that its files had when they were read.
    Plain = 1,
    /// The content was taken apart. It may have no parts.
    Apart = 2,
}

/// The role of a part in its container. The numbers are the stored ones.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::FromRepr,
)]
#[repr(u8)]
pub enum PartRole {
    /// The text of a document: it represents the document.
    Text = 0,
    /// The only member of a compressed file: it represents the file.
    Unpacked = 1,
    /// A file in an archive or a mail.
    Member = 2,
    /// All texts in an archive or a mail together. It has only a sample and no chunks.
    WholeText = 3,
    /// All members of an archive or a mail that are not texts, together. It has only a sample and
    /// no chunks.
    WholeBytes = 4,
}

/// A part of a content. The list of a content also has the parts of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRow {
    /// Its role.
    pub role: PartRole,
    /// The part that directly contains this one, by its position in the list; `None` if that is the
    /// content itself. A part follows the one that contains it.
    pub parent: Option<u32>,
    /// Its name in the part that contains it, as raw bytes.
    pub name: Vec<u8>,
    /// Its content; `None`: it is empty, or could not be stored.
    pub content: Option<ContentId>,
}

/// A member of a content that was not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPart {
    /// The names that lead to it, joined by `!`; empty for the content itself.
    pub path: Vec<u8>,
    /// The reason, in words.
    pub reason: String,
}

impl SkippedPart {
    /// The prefix of the reasons for omitting something on purpose.
    pub const ON_PURPOSE: &'static str = "left out on purpose: ";

    /// Returns whether the part was omitted on purpose, so that nothing is missing.
    pub fn is_on_purpose(&self) -> bool {
        self.reason.starts_with(Self::ON_PURPOSE)
    }

    /// Makes an entry for `count` skipped parts without names.
    pub fn and_more(count: u64) -> Self {
        Self {
            path: Vec::new(),
            reason: format!("and {count} more"),
        }
    }

    /// Returns the number of parts that an entry of [`Self::and_more`] represents.
    pub fn is_more(&self) -> Option<u64> {
        let count = self.reason.strip_prefix("and ")?.strip_suffix(" more")?;
        count.parse().ok().filter(|_| self.path.is_empty())
    }
}

/// The type of an entry that is neither file, directory nor symbolic link. The numbers are the
/// stored ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::FromRepr)]
#[repr(u8)]
pub enum SpecialKind {
    /// Named pipe.
    Fifo = 0,
    /// Unix socket.
    Socket = 1,
    /// Block device.
    Block = 2,
    /// Character device.
    Character = 3,
    /// Any other type.
    Other = 4,
}

/// An entry of a directory in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Dir(DirId),
    /// A regular file (each hard link is an entry of the same file).
    File(FileId),
    /// A symbolic link with its raw target.
    Symlink(Vec<u8>),
    /// A pipe, socket or device, which is never opened.
    Special(SpecialKind),
    /// A name that was not read. If it is a directory, the index has no entries below it.
    Gap(Gap),
}

/// The reason why a name in a directory was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gap {
    /// Its type could not be determined: the errno.
    Failed(i32),
    /// An option of its root excludes it, with everything below.
    LeftOut(LeftOutRule),
}

/// The option of a root that leaves a name out. The numbers are the stored ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum LeftOutRule {
    /// A pattern of the root.
    Exclude = 0,
    /// An ignore file, or the name `.git`.
    Ignore = 1,
    /// The file is larger than the root's limit. It has the entry of a file, in state
    /// [`FileState::Skipped`].
    MaxSize = 2,
    /// Another file system is mounted there.
    OneFileSystem = 3,
}

impl LeftOutRule {
    /// All rules, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::Exclude,
        Self::Ignore,
        Self::MaxSize,
        Self::OneFileSystem,
    ];
}

/// Counts the names of one directory that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapCounts {
    /// Names whose type could not be determined.
    pub failed: u64,
    /// Names left out, by [`LeftOutRule`] in the order of [`LeftOutRule::ALL`].
    pub left_out: [u64; 4],
}

impl GapCounts {
    /// Returns the count of one reason.
    pub(crate) const fn of(&mut self, gap: Gap) -> &mut u64 {
        match gap {
            Gap::Failed(_) => &mut self.failed,
            Gap::LeftOut(rule) => &mut self.left_out[rule as usize],
        }
    }
}

/// Figures of the whole index for `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of the index file on disk (0 in memory).
    pub index_bytes: u64,
    /// Number of contents.
    pub contents: u64,
    /// Chunks in all chunk lists, with repeats.
    pub chunks: u64,
    /// Fingerprints in all signatures.
    pub fingerprints: u64,
    /// Files; hard links count once.
    pub files: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Files that could not be read.
    pub unreadable_files: u64,
    /// Files that were left out on purpose.
    pub skipped_files: u64,
    /// Files that are too small to be judged.
    pub small_files: u64,
    /// Chunk and fingerprint keys that more contents have than the boilerplate limit.
    pub boilerplate: u64,
    /// Parts of all contents.
    pub parts: u64,
    /// Contents with parts that were skipped when they were taken apart.
    pub skipped: u64,
}

/// The result of setting aside a file that is damaged or not an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The new path of the old file.
    pub moved_to: PathBuf,
    /// The reason, in one sentence.
    pub reason: String,
}
