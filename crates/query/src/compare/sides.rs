//! The two sides of a comparison in memory, wherever they were learnt.
//!
//! Two suppliers fill this model, an index ([`super::indexed`]) and a look at the disk
//! ([`crate::compare::cache`]), and everything that is decided is decided here and after. So that
//! both give the same bytes of answer, nothing of the supplier shows: contents are numbered in the
//! order of the paths that hold them ([`Sides::put_in_order`]), and what is kept of a content is
//! fetched by that number ([`Pieces`]), only where it is needed, which between two equal trees is
//! never.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::{ByteLen, ChunkList, ContentDigest, ContentKind, Signature, Stopped};
use resemble_index::{SkippedPart, Snapshot, SpecialKind};
use resemble_proto::message::SoftError;
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::renditions::Rendition;

use crate::unread;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A regular file that was read: the number of its content.
    File(u32),
    /// A regular file that could not be read.
    Unread,
    /// A symbolic link and its target.
    Link(Vec<u8>),
    /// A pipe, a socket, a device.
    Special(SpecialKind),
    /// A directory. It takes part only where the other side has something else.
    Dir,
}

impl What {
    /// The word for it in an answer.
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

/// A path of one side.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Relative to the side's root, raw.
    pub(crate) path: Box<[u8]>,
    pub(crate) what: What,
    /// Names the inode within this comparison: hard links have one.
    pub(crate) inode: (u64, u64),
}

/// One of the two trees (or files).
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    /// The path as it was asked for.
    pub(crate) root: PathBuf,
    /// The root is no directory, and the only entry.
    pub(crate) single: bool,
    /// By raw path.
    pub(crate) entries: Vec<Entry>,
}

impl Side {
    /// The absolute path of an entry.
    pub(crate) fn path(&self, entry: &Entry) -> PathBuf {
        if self.single {
            self.root.clone()
        } else {
            self.root.join(OsStr::from_bytes(&entry.path))
        }
    }
}

/// What is known of a content without its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) digest: ContentDigest,
    pub(crate) size: ByteLen,
    pub(crate) kind: ContentKind,
}

/// Fetches what is kept of a content to compare it.
pub(crate) trait Pieces: Sync {
    /// The chunks and the signature of a content, by its number.
    fn pieces(&self, content: u32) -> Result<(ChunkList, Signature), AskError>;

    /// The evidence keys of a content as [`super::wanted::evidence_keys`] gives them, where that
    /// takes less than its pieces; `false` if it does not.
    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> bool {
        let (_, _) = (content, keys);
        false
    }

    /// What keeps the measures of contents from comparison to comparison, if anything does.
    fn measured(&self) -> Option<&Snapshot> {
        None
    }

    /// Fails when nobody wants the comparison any more.
    fn go_on(&self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Contents that stand for files, by the contents of these.
pub(crate) type Apart = BTreeMap<u32, Vec<(Rendition, u32)>>;

/// Both sides.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// The distinct contents of both sides, then those that only stand for files.
    pub(crate) contents: Vec<Content>,
    /// By the content of a file that was taken apart: the contents that stand for it.
    pub(crate) apart: Apart,
    /// By the content of a file: what was skipped when it was taken apart, if anything was.
    pub(crate) skipped_parts: BTreeMap<u32, Vec<SkippedPart>>,
    /// Files and directories that could not be looked at.
    pub(crate) errors: Vec<SoftError>,
    /// Entries left out by a rule.
    pub(crate) skipped: u64,
    /// Files that changed while they were read.
    pub(crate) moving: u64,
}

impl Sides {
    /// Sorts the entries, numbers the contents by the first path that holds them (all of A before
    /// B), then what stands for these, and drops those that nobody holds. Returns the old number of
    /// each new one.
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
        // Before stand-ins are numbered: what stands for a file need not be one.
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

    /// The documents of both sides that could not be read in full.
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

    /// The content of an entry's file.
    pub(crate) fn content_of(&self, entry: &Entry) -> Option<&Content> {
        Some(&self.contents[entry.what.content()? as usize])
    }

    /// Regular files and their bytes, and how many are too small to judge; hard links once.
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

    /// Regular files that could not be read; hard links once.
    pub(crate) fn unread(&self) -> u64 {
        let both = self.a.entries.iter().chain(&self.b.entries);
        let unread = both.filter(|entry| entry.what == What::Unread);
        unread
            .map(|entry| entry.inode)
            .collect::<HashSet<_>>()
            .len() as u64
    }
}

/// The entries of a side that hold each content, by path.
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

    /// Places in [`Side::entries`].
    pub(crate) fn of_content(&self, content: u32) -> &[u32] {
        let at = content as usize;
        &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub(crate) fn has(&self, content: u32) -> bool {
        !self.of_content(content).is_empty()
    }
}

/// Numbers contents while a side is being learnt.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    by_digest: HashMap<ContentDigest, u32>,
    pub(crate) contents: Vec<Content>,
}

impl Numbering {
    /// The number of a content with this digest, if it has one.
    pub(crate) fn get(&self, digest: &ContentDigest) -> Option<u32> {
        self.by_digest.get(digest).copied()
    }

    /// The number of a content, and whether it is new.
    pub(crate) fn number(&mut self, content: Content) -> (u32, bool) {
        let next = self.contents.len() as u32;
        let number = *self.by_digest.entry(content.digest).or_insert(next);
        if number == next {
            self.contents.push(content);
        }
        (number, number == next)
    }
}

/// The part of the question about the trees: which paths of a side are left out.
///
/// If one tree lies in the other, its files would find themselves there. So the inner one is no
/// part of the outer: the question is then whether the rest has what the inner one has.
pub(crate) fn inner_of(outer: &Path, inner: &Path) -> Option<PathBuf> {
    let below = inner.strip_prefix(outer).ok()?;
    (!below.as_os_str().is_empty()).then(|| below.to_path_buf())
}

/// A relative path as answers carry it.
pub(crate) fn path_text(path: &[u8]) -> PathText {
    PathText::from(Path::new(OsStr::from_bytes(path)))
}
