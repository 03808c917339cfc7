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

/// What `stat` said of a file when it was last looked at. Equal stats mean "not changed" (with the
/// limits that docs/design.md names: writers through mmap).
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

/// Why a regular file has no content in the index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileState {
    /// Read, and the stat before and after reading was the same and old enough to trust.
    Settled(ContentId),
    /// Read, but it changed while being read or so recently that it must be looked at again.
    Unsettled(ContentId),
    /// Could not be opened or read: the errno.
    Unreadable(i32),
    /// Left out on purpose; the reason is a short word: `size`, `ignored`, `path-too-long` …
    Skipped(String),
}

impl FileState {
    /// The content, if the file has been read.
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
    /// The stat that goes with its state.
    pub stat: FileStat,
    /// Whether and what content it has.
    pub state: FileState,
}

/// A content of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRow {
    /// Its id.
    pub id: ContentId,
    /// Digest of the whole.
    pub digest: ContentDigest,
    /// Size in bytes.
    pub size: ByteLen,
    /// Text, binary or empty.
    pub kind: ContentKind,
    /// Sampling level of the fingerprints that have postings, of which the signature has some.
    pub level: u8,
    /// Number of those fingerprints.
    pub fingerprints: u32,
    /// Number of runs in its chunk list.
    pub chunk_runs: u64,
    /// Number of files that have it.
    pub files: u32,
    /// Number of places in containers that have it as a part. In a snapshot never 0 together with
    /// `files`.
    pub uses: u32,
    /// Whether it was taken apart.
    pub look: Look,
    /// Parts that it was taken apart into; the places of those that came to nothing count.
    pub parts: u32,
    /// Whether something of it was skipped when it was taken apart: see
    /// [`crate::Snapshot::skipped_parts`].
    pub skipped: bool,
    /// Its words, if it is a text of enough of them.
    pub words: Option<WordsDigest>,
    /// The date that it states of itself, if it was taken apart and does.
    pub date: Option<DocumentDate>,
}

/// Whether a content was looked into for parts. The numbers are those that
/// are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum Look {
    /// It has not been looked into, or not to the end. Its files are to be read again by whoever
    /// takes files apart.
    #[default]
    Unseen = 0,
    /// It is nothing that could be taken apart, under the names that its files had when they were
    /// read.
    Plain = 1,
    /// It was taken apart, whatever came of that.
    Apart = 2,
}

/// What a part is to what it was found in. The numbers are those that
/// are stored.
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
    /// The text of a document: it stands for the document.
    Text = 0,
    /// The only thing that a compressed file holds: it stands for the file.
    Unpacked = 1,
    /// One of the files that an archive or a mail holds.
    Member = 2,
    /// All texts in an archive or a mail together: only a sample, no chunks.
    WholeText = 3,
    /// All else in it together: only a sample, no chunks.
    WholeBytes = 4,
}

/// A part of a content. Parts of parts are in one list with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRow {
    /// What it is.
    pub role: PartRole,
    /// The part that it was found in, by its place in the list; `None`: the content itself. A part
    /// comes after the one that it was found in.
    pub parent: Option<u32>,
    /// Its name there: any bytes.
    pub name: Vec<u8>,
    /// What it holds; `None`: nothing, or nothing that could be kept.
    pub content: Option<ContentId>,
}

/// Something in a content that was not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPart {
    /// The names that lead there, joined by `!`; empty for the content itself.
    pub path: Vec<u8>,
    /// Why, in words.
    pub reason: String,
}

impl SkippedPart {
    /// The reason of what was left out on purpose begins with this.
    pub const ON_PURPOSE: &'static str = "left out on purpose: ";

    /// Whether it was left out on purpose, so that nothing is missing.
    pub fn is_on_purpose(&self) -> bool {
        self.reason.starts_with(Self::ON_PURPOSE)
    }

    /// Stands for this many parts that are not named.
    pub fn and_more(count: u64) -> Self {
        Self {
            path: Vec::new(),
            reason: format!("and {count} more"),
        }
    }

    /// How many parts it stands for, if they are not named.
    pub fn is_more(&self) -> Option<u64> {
        let count = self.reason.strip_prefix("and ")?.strip_suffix(" more")?;
        count.parse().ok().filter(|_| self.path.is_empty())
    }
}

/// The type of an entry that is neither file, directory nor symbolic link. The numbers are those
/// that are stored.
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
    /// Anything else the kernel may invent.
    Other = 4,
}

/// One name in a directory of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Dir(DirId),
    /// A regular file (each hard link is an entry of the same file).
    File(FileId),
    /// A symbolic link and its target, raw.
    Symlink(Vec<u8>),
    /// A pipe, socket or device: named, never opened.
    Special(SpecialKind),
    /// Something that was not looked at; a directory has nothing below it.
    Gap(Gap),
}

/// Why a name in a directory was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gap {
    /// What it is could not be found out: the errno.
    Failed(i32),
    /// Its root leaves it out, with all below.
    LeftOut(LeftOutRule),
}

/// The option of a root that leaves a name out. The numbers are those that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::FromRepr)]
#[repr(u8)]
pub enum LeftOutRule {
    /// A pattern of the root.
    Exclude = 0,
    /// An ignore file, or the name `.git`.
    Ignore = 1,
    /// The file is larger than the most of the root. Its entry is that of a file, which is
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

/// How many names of one directory were not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapCounts {
    /// What they are could not be found out.
    pub failed: u64,
    /// Left out, by [`LeftOutRule`] in the order of [`LeftOutRule::ALL`].
    pub left_out: [u64; 4],
}

impl GapCounts {
    /// The count of one reason.
    pub(crate) const fn of(&mut self, gap: Gap) -> &mut u64 {
        match gap {
            Gap::Failed(_) => &mut self.failed,
            Gap::LeftOut(rule) => &mut self.left_out[rule as usize],
        }
    }
}

/// Whole-index figures for `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of the index file on disk (0 in memory).
    pub index_bytes: u64,
    /// Contents.
    pub contents: u64,
    /// Chunks in all chunk lists, repeats counted.
    pub chunks: u64,
    /// Fingerprints in all signatures.
    pub fingerprints: u64,
    /// Files, hard links once.
    pub files: u64,
    /// Their bytes.
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
    /// Contents of which something was skipped when they were taken apart.
    pub skipped: u64,
}

/// What was done with a file that is no index of ours, or a damaged one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Where the old file is now.
    pub moved_to: PathBuf,
    /// One sentence: what was wrong with it.
    pub reason: String,
}
