//! The rows that a reader of the index sees, in plain types.

use std::path::PathBuf;
use std::sync::Arc;

use resemble_core::date::DocumentDate;
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind, DirId, FileId, WordsDigest};
use serde::{Deserialize, Serialize};

/// Identifies a file system even after a reboot. The id is the UUID. For a file system without a
/// UUID, it is the type and the fsid. If a file system has neither, it is `st_dev`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FsId(pub Arc<str>);

/// A time as `stat` reports it: seconds and nanoseconds since 1970. The seconds may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds.
    pub secs: i64,
    /// Nanoseconds, fewer than 1,000,000,000.
    pub nanos: u32,
}

/// The result of `stat` when a file was last checked. If a later `stat` is equal, the file is
/// unchanged, unless a program writes to it by mmap (see docs/design.md).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// The file system of the file.
    pub fs: FsId,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub size: ByteLen,
    /// Time of the last change of the bytes.
    pub mtime: Timestamp,
    /// Time of the last change of the inode.
    pub ctime: Timestamp,
    /// Number of hard links.
    pub nlink: u32,
}

/// The state of a regular file: its content, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileState {
    /// The file was read. Its stat was equal before and after the read, and the last change was
    /// long enough ago.
    Settled(ContentId),
    /// The file was read, but it changed during the read or shortly before. So it must be read
    /// again.
    Unsettled(ContentId),
    /// The file could not be opened or read. The number is the `errno`.
    Unreadable(i32),
    /// The file was left out on purpose, because it is larger than the limit of its root. The
    /// string is the reason in words.
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
    /// The id of the file.
    pub id: FileId,
    /// The stat that the file had in this state.
    pub stat: FileStat,
    /// The content of the file, or the reason why it has none.
    pub state: FileState,
}

/// A content of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRow {
    /// The id of the content.
    pub id: ContentId,
    /// The digest of its bytes.
    pub digest: ContentDigest,
    /// Size in bytes.
    pub size: ByteLen,
    /// Empty, text, data or binary.
    pub kind: ContentKind,
    /// The sampling level of the signature before it is thinned. The stored signature of a text may
    /// have a higher level, and the extra fingerprints with postings have other levels.
    pub level: u8,
    /// The number of fingerprints of the content that have postings.
    pub fingerprints: u32,
    /// The number of runs in the chunk list.
    pub chunk_runs: u64,
    /// The number of files that have the content.
    pub files: u32,
    /// The number of places where the content is a part of another content. In a snapshot, this
    /// number and `files` are never both 0.
    pub uses: u32,
    /// The result of searching the content for parts.
    pub look: Look,
    /// The number of parts, including parts without a content.
    pub parts: u32,
    /// True if some parts were skipped when the content was taken apart: see
    /// [`crate::Snapshot::skipped_parts`].
    pub skipped: bool,
    /// The digest of the content's words, if it is a text with enough words.
    pub words: Option<WordsDigest>,
    /// The date that the document itself states. `None` if the content was not taken apart, or
    /// states no date.
    pub date: Option<DocumentDate>,
}

/// The result of searching a content for parts. The index file contains these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum Look {
    /// The content was not searched completely. A program that takes files apart must read a file
    /// with this content again.
    #[default]
    Unseen = 0,
    /// The content cannot be taken apart, at least not under the names that its files had when they
    /// were read.
    Plain = 1,
    /// The content was taken apart. It may still have no parts.
    Apart = 2,
}

/// The role of a part in its container. The index file contains these numbers.
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
    /// The text of a document. The document is compared by this text.
    Text = 0,
    /// The only member of a compressed file. The file is compared by this member.
    Unpacked = 1,
    /// A file in an archive or a mail.
    Member = 2,
    /// All texts in an archive or a mail, taken together. This part has samples but no chunks.
    WholeText = 3,
    /// All members of an archive or a mail that are not texts, taken together. This part has
    /// samples but no chunks.
    WholeBytes = 4,
}

/// A part of a content. The list of parts of a content also includes the parts of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRow {
    /// The role of the part.
    pub role: PartRole,
    /// The index of the parent in the list of parts. The parent directly contains this part, and is
    /// listed before it. `None` if the content itself directly contains this part.
    pub parent: Option<u32>,
    /// The name of the part in its parent, as raw bytes.
    pub name: Vec<u8>,
    /// The content of the part. `None` if the part is empty or could not be stored.
    pub content: Option<ContentId>,
}

/// A part that was found in a content but skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPart {
    /// The names that lead to the part, joined by `!`. The path is empty if the content itself was
    /// skipped.
    pub path: Vec<u8>,
    /// The reason, in words.
    pub reason: String,
}

impl SkippedPart {
    /// The prefix of reasons that are not faults, because something was left out on purpose.
    pub const ON_PURPOSE: &'static str = "left out on purpose: ";

    /// Returns whether the part was left out on purpose, so that nothing is missing.
    pub fn is_on_purpose(&self) -> bool {
        self.reason.starts_with(Self::ON_PURPOSE)
    }

    /// Makes one entry for `count` further skipped parts whose names are not listed.
    pub fn and_more(count: u64) -> Self {
        Self {
            path: Vec::new(),
            reason: format!("and {count} more"),
        }
    }

    /// Returns the number of parts if this entry was made by [`Self::and_more`].
    pub fn is_more(&self) -> Option<u64> {
        let count = self.reason.strip_prefix("and ")?.strip_suffix(" more")?;
        count.parse().ok().filter(|_| self.path.is_empty())
    }
}

/// The type of an entry that is neither a file, a directory nor a symbolic link. The index file
/// contains these numbers.
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
    /// A regular file. All hard links of a file are entries with the same [`FileId`].
    File(FileId),
    /// A symbolic link with its raw target.
    Symlink(Vec<u8>),
    /// A pipe, socket or device, which is never opened.
    Special(SpecialKind),
    /// A name that was not looked at. If it is a directory, the index has no entries below it.
    Gap(Gap),
}

/// The reason why a name in a directory was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gap {
    /// The type of the entry could not be determined. The number is the `errno`.
    Failed(i32),
    /// A rule of its root (the folder that is indexed) leaves the name out, with everything below
    /// it.
    LeftOut(LeftOutRule),
}

/// The rule of a root (a folder that is indexed) by which a name is left out. The index file
/// contains these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum LeftOutRule {
    /// A pattern of the root matches the name.
    Exclude = 0,
    /// An ignore file excludes the name, or the name is `.git`.
    Ignore = 1,
    /// The file is larger than the root's limit. The entry of such a file is [`Entry::File`] in
    /// state [`FileState::Skipped`]. But the entry is a [`Gap`] if another root includes the file
    /// under another name.
    MaxSize = 2,
    /// Another file system is mounted at the name.
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

/// The number of names in one directory that were not looked at, for each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapCounts {
    /// Number of names whose type could not be determined.
    pub failed: u64,
    /// Number of names that each [`LeftOutRule`] leaves out, in the order of [`LeftOutRule::ALL`].
    pub left_out: [u64; 4],
}

impl GapCounts {
    /// Returns the count for the reason `gap`.
    pub(crate) const fn of(&mut self, gap: Gap) -> &mut u64 {
        match gap {
            Gap::Failed(_) => &mut self.failed,
            Gap::LeftOut(rule) => &mut self.left_out[rule as usize],
        }
    }
}

/// Totals of the whole index, for `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of bytes of the index file on disk, or 0 if the index is in memory.
    pub index_bytes: u64,
    /// Number of contents.
    pub contents: u64,
    /// Number of chunks in all chunk lists. A repeated chunk is counted each time.
    pub chunks: u64,
    /// Number of fingerprints that have postings, in all contents.
    pub fingerprints: u64,
    /// Number of files. A file with several hard links is counted once.
    pub files: u64,
    /// Sum of the sizes of all files in bytes.
    pub file_bytes: u64,
    /// Number of files that could not be read.
    pub unreadable_files: u64,
    /// Number of files that were left out on purpose.
    pub skipped_files: u64,
    /// Number of files that are too small to be compared.
    pub small_files: u64,
    /// Number of chunk and fingerprint keys that are boilerplate. Such a key is in more contents
    /// than the limit.
    pub boilerplate: u64,
    /// Number of parts of all contents.
    pub parts: u64,
    /// Number of contents of which parts were skipped.
    pub skipped: u64,
}

/// A file that could not be used as an index, and was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The new path of the old file.
    pub moved_to: PathBuf,
    /// The reason why the file could not be used, in one sentence.
    pub reason: String,
}
