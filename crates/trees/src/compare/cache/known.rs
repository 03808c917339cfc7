//! Holds the files and contents that an earlier scan found in a tree.

use std::collections::{BTreeSet, HashMap};

use resemble_core::ByteLen;
use resemble_index::{FsId, SkippedPart, Timestamp};
use resemble_relate::renditions::Rendition;
use resemble_scan::walk::Stat;

use crate::compare::sides::Content;

/// The record or the buffer that has the packed pieces of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// The buffer of a thread of this scan, by the number of the thread.
    Arena(u32),
    /// A pool of the cache, by its index in [`Names::pools`].
    Pool(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedPlace {
    pub(super) pool: Where,
    pub(super) from: u64,
    pub(super) length: u32,
}

/// The names of pools and the ids of file systems. Inventories and scans refer to a name or an id
/// by its index in its list. An index is valid only within this process.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// The names of the records with packed pieces.
    pub(super) pools: Vec<String>,
    pub(super) file_systems: Vec<FsId>,
}

impl Names {
    pub(super) fn pool(&mut self, name: &str) -> u32 {
        number(&mut self.pools, name.to_owned())
    }

    pub(super) fn file_system(&mut self, fs: FsId) -> u32 {
        number(&mut self.file_systems, fs)
    }
}

fn number<T: PartialEq>(all: &mut Vec<T>, one: T) -> u32 {
    let at = all.iter().position(|known| *known == one);
    at.unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    }) as u32
}

/// The fields of a `stat` that, together with the size, identify a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The index of the file system in [`Names::file_systems`].
    pub(super) fs: u32,
    pub(super) ino: u64,
    pub(super) mtime: Timestamp,
    pub(super) ctime: Timestamp,
}

impl Stamp {
    pub(super) const fn of(stat: &Stat, fs: u32) -> Self {
        Self {
            fs,
            ino: stat.ino,
            mtime: stat.mtime,
            ctime: stat.ctime,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) stamp: Stamp,
    /// The index of the content in [`Inventory::contents`].
    pub(super) content: u32,
}

/// The results of taking documents and archives apart. Each content is named by its index in
/// [`Inventory::contents`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownParts {
    /// The renditions of each content that was taken apart. A rendition has its kind and its own
    /// content.
    pub(super) apart: HashMap<u32, Vec<(Rendition, u32)>>,
    /// The skipped parts of each content that was taken apart, if it has skipped parts.
    pub(super) skipped: HashMap<u32, Vec<SkippedPart>>,
    /// The documents that no scan has taken apart yet, given as indexes of their contents.
    pub(super) pending: BTreeSet<u32>,
}

/// The files and contents of a tree, as an earlier scan found them.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// The files, by their raw paths relative to the root.
    pub(super) files: HashMap<Box<[u8]>, KnownFile>,
    pub(super) contents: Vec<(Content, PackedPlace)>,
    pub(super) parts: KnownParts,
}

impl Inventory {
    /// Returns the index of a file's content, if the file still has the recorded `stat`.
    pub(super) fn content_of(&self, path: &[u8], stat: &Stat, fs: u32) -> Option<u32> {
        let file = self.files.get(path)?;
        let known = self.contents.get(file.content as usize)?;
        let same = known.0.size == ByteLen(stat.size) && file.stamp == Stamp::of(stat, fs);
        same.then_some(file.content)
    }
}
