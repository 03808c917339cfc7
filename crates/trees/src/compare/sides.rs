//! Holds the two sides of a comparison in memory, in the same form whatever their source.
//!
//! Two suppliers fill this model: an index ([`super::indexed`]) and a scan of the disk
//! ([`crate::compare::cache`]). All decisions are made with this model. Answers must have the same
//! bytes with both suppliers, so no decision may depend on the supplier. Contents are numbered in
//! the order of their paths ([`Sides::put_in_order`]). The chunks and the signature of a content
//! are fetched by its number when they are needed ([`Pieces`]). For two equal trees, none are
//! fetched.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::{
    ByteLen, ChunkList, ContentDigest, ContentId, ContentKind, Signature, Stopped,
};
use resemble_index::{SkippedPart, Snapshot, SpecialKind};
use resemble_proto::message::SoftError;
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::renditions::Rendition;

use resemble_relate::unread;

/// The kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A regular file that was read, with the number of its content.
    File(u32),
    /// A regular file that could not be read.
    Unread,
    /// A symbolic link and its target.
    Link(Vec<u8>),
    /// A pipe, socket or device.
    Special(SpecialKind),
    /// A directory. It is listed only if the other side has an entry of another kind at its path.
    Dir,
}

impl What {
    /// Returns the name of this kind in an answer.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Unread => "unreadable",
            Self::Link(_) => "link",
            Self::Special(SpecialKind::Fifo) => "fifo",
            Self::Special(SpecialKind::Socket) => "socket",
            Self::Special(SpecialKind::Block) => "block device",
            Self::Special(SpecialKind::Character) => "character device",
            Self::Special(SpecialKind::Other) => "special",
            Self::Dir => "directory",
        }
    }

    pub(crate) const fn content(&self) -> Option<u32> {
        match self {
            Self::File(content) => Some(*content),
            _ => None,
        }
    }
}

/// An entry of one side.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The raw path relative to the side's root.
    pub(crate) path: Box<[u8]>,
    pub(crate) what: What,
    /// The identity of the inode within this comparison. Hard links have the same identity.
    pub(crate) inode: (u64, u64),
}

/// One of the two trees or files that are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    /// The path in the form of the request.
    pub(crate) root: PathBuf,
    /// True if the root is no directory. Then the root is the only entry.
    pub(crate) single: bool,
    /// The entries, sorted by raw path.
    pub(crate) entries: Vec<Entry>,
}

impl Side {
    /// Returns the absolute path of an entry.
    pub(crate) fn path(&self, entry: &Entry) -> PathBuf {
        if self.single {
            self.root.clone()
        } else {
            self.root.join(OsStr::from_bytes(&entry.path))
        }
    }
}

/// The metadata of a content, without its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) digest: ContentDigest,
    pub(crate) size: ByteLen,
    pub(crate) kind: ContentKind,
}

/// Fetches the chunks and the signature of a content for comparison.
pub(crate) trait Pieces: Sync {
    /// Returns the chunks and the signature of a content, by its number.
    fn pieces(&self, content: u32) -> Result<(ChunkList, Signature), AskError>;

    /// Fills `keys` with the evidence keys of a content, as [`super::wanted::evidence_keys`] does.
    /// Returns `false` if this is not cheaper than a call of [`Self::pieces`].
    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> bool {
        let (_, _) = (content, keys);
        false
    }

    /// Returns the snapshot with the measures of earlier comparisons, if there is one.
    fn measured(&self) -> Option<&Snapshot> {
        None
    }

    /// Returns the index that has the posting lists of the contents, and the id of each content.
    /// `None` if there is no such index.
    fn listed(&self) -> Option<(&Snapshot, &[ContentId])> {
        None
    }

    /// Fails if the caller no longer waits for the answer.
    fn go_on(&self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// The renditions of each content that was taken apart, by the number of the content. A rendition
/// has its kind, and the number of its own content.
pub(crate) type Apart = BTreeMap<u32, Vec<(Rendition, u32)>>;

/// Both sides.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// The distinct contents of both sides, then the contents that are only renditions.
    pub(crate) contents: Vec<Content>,
    /// The renditions of each content that was taken apart.
    pub(crate) apart: Apart,
    /// The skipped parts of each content that was not taken apart completely.
    pub(crate) skipped_parts: BTreeMap<u32, Vec<SkippedPart>>,
    /// Files and directories that could not be read.
    pub(crate) errors: Vec<SoftError>,
    /// The number of entries that a rule excludes.
    pub(crate) skipped: u64,
    /// The number of files that changed while they were read.
    pub(crate) moving: u64,
}

impl Sides {
    /// Sorts the entries of both sides by path, and numbers the contents anew. The contents of
    /// files are in the order of their first path, and the contents of A are first. The contents of
    /// renditions follow, and unused contents are dropped. Returns the old number of each content,
    /// by its new number.
    pub(crate) fn put_in_order(&mut self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let mut new_of = vec![NONE; self.contents.len()];
        let mut old_of: Vec<u32> = Vec::new();
        for side in [&mut self.a, &mut self.b] {
            side.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            for entry in &mut side.entries {
                let What::File(content) = &mut entry.what else {
                    continue;
                };
                let new = &mut new_of[*content as usize];
                if *new == NONE {
                    *new = old_of.len() as u32;
                    old_of.push(*content);
                }
                *content = *new;
            }
        }
        // So far, only the contents of files have new numbers. A content without a new number
        // belongs to no file, so its renditions and skipped parts are dropped.
        let apart = std::mem::take(&mut self.apart).into_iter();
        let apart: Apart = apart
            .map(|(owner, stand_ins)| (new_of[owner as usize], stand_ins))
            .filter(|&(owner, _)| owner != NONE)
            .collect();
        let skipped = std::mem::take(&mut self.skipped_parts).into_iter();
        self.skipped_parts = skipped
            .map(|(owner, skipped)| (new_of[owner as usize], skipped))
            .filter(|&(owner, _)| owner != NONE)
            .collect();
        for (owner, mut stand_ins) in apart {
            for (_, content) in &mut stand_ins {
                let new = &mut new_of[*content as usize];
                if *new == NONE {
                    *new = old_of.len() as u32;
                    old_of.push(*content);
                }
                *content = *new;
            }
            self.apart.insert(owner, stand_ins);
        }
        self.contents = old_of
            .iter()
            .map(|&old| self.contents[old as usize])
            .collect();
        self.errors.sort();
        self.errors.dedup();
        old_of
    }

    /// Returns the documents of both sides that could not be read completely.
    pub(crate) fn unread_documents(&self) -> Vec<SoftError> {
        if self.skipped_parts.is_empty() {
            return Vec::new();
        }
        let sides = [&self.a, &self.b].into_iter();
        let entries = sides.flat_map(|side| side.entries.iter().map(move |entry| (side, entry)));
        let said = entries.filter_map(|(side, entry)| {
            let skipped = self.skipped_parts.get(&entry.what.content()?)?;
            unread::error(&side.path(entry), skipped.clone())
        });
        said.collect()
    }

    /// Returns the content of an entry's file.
    pub(crate) fn content_of(&self, entry: &Entry) -> Option<&Content> {
        Some(&self.contents[entry.what.content()? as usize])
    }

    /// Returns the number of regular files, the number of their bytes, and the number of files that
    /// are too small to judge. Hard links are counted as one file.
    pub(crate) fn distinct_files(&self) -> (u64, ByteLen, u64) {
        let mut seen = HashSet::new();
        let (mut bytes, mut small) = (ByteLen::ZERO, 0);
        for entry in self.a.entries.iter().chain(&self.b.entries) {
            if let Some(content) = self.content_of(entry)
                && seen.insert(entry.inode)
            {
                bytes += content.size;
                small += u64::from(resemble_core::similarity::too_small(content.size));
            }
        }
        (seen.len() as u64, bytes, small)
    }

    /// Counts the regular files that could not be read. Hard links are counted as one file.
    pub(crate) fn unread(&self) -> u64 {
        let both = self.a.entries.iter().chain(&self.b.entries);
        let unread = both.filter(|entry| entry.what == What::Unread);
        unread
            .map(|entry| entry.inode)
            .collect::<HashSet<_>>()
            .len() as u64
    }
}

/// The entries of a side that have each content, in the order of their paths.
#[derive(Debug)]
pub(crate) struct Holders {
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl Holders {
    pub(crate) fn of(side: &Side, contents: usize) -> Self {
        let mut starts = vec![0u32; contents + 1];
        let held = || {
            let numbered = side.entries.iter().enumerate();
            numbered.filter_map(|(at, entry)| Some((at as u32, entry.what.content()? as usize)))
        };
        for (_, content) in held() {
            starts[content + 1] += 1;
        }
        for content in 0..contents {
            starts[content + 1] += starts[content];
        }
        let mut next = starts.clone();
        let mut entries = vec![0u32; starts[contents] as usize];
        for (at, content) in held() {
            entries[next[content] as usize] = at;
            next[content] += 1;
        }
        Self { starts, entries }
    }

    /// Returns the entries that have a content, as indexes into [`Side::entries`].
    pub(crate) fn of_content(&self, content: u32) -> &[u32] {
        let at = content as usize;
        &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub(crate) fn has(&self, content: u32) -> bool {
        !self.of_content(content).is_empty()
    }
}

/// Numbers contents while a side is read.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    by_digest: HashMap<ContentDigest, u32>,
    pub(crate) contents: Vec<Content>,
}

impl Numbering {
    /// Returns the number of the content with this digest, if the content is numbered.
    pub(crate) fn get(&self, digest: &ContentDigest) -> Option<u32> {
        self.by_digest.get(digest).copied()
    }

    /// Returns the number of a content, and whether it is new.
    pub(crate) fn number(&mut self, content: Content) -> (u32, bool) {
        let next = self.contents.len() as u32;
        let number = *self.by_digest.entry(content.digest).or_insert(next);
        if number == next {
            self.contents.push(content);
        }
        (number, number == next)
    }
}

/// If `inner` lies in `outer`, returns the path of `inner` relative to `outer`. The caller leaves
/// that path out of the outer tree.
///
/// Otherwise, the files of the inner tree would match themselves. So the comparison shows whether
/// the rest of the outer tree has the files of the inner tree.
pub(crate) fn inner_of(outer: &Path, inner: &Path) -> Option<PathBuf> {
    let below = inner.strip_prefix(outer).ok()?;
    (!below.as_os_str().is_empty()).then(|| below.to_path_buf())
}

/// Converts a relative path to its form in answers.
pub(crate) fn path_text(path: &[u8]) -> PathText {
    PathText::from(Path::new(OsStr::from_bytes(path)))
}
