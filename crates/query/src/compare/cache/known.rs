//! What is known of a tree from an earlier look.

use std::collections::HashMap;
use std::path::Path;

use parking_lot::Mutex;
use resemble_core::{ByteLen, Params};
use resemble_index::{FsId, Snapshot, Timestamp};
use resemble_scan::walk::Stat;

use super::{codec, store};
use crate::compare::sides::Content;

/// Where the packed pieces of a content lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// In what a thread of this look has packed.
    Arena(u32),
    /// In a pool of the cache, by its place in the list of those that the inventories name.
    Pool(u32),
}

/// A stretch of packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedPlace {
    pub(super) pool: Where,
    pub(super) from: u64,
    pub(super) length: u32,
}

/// What is numbered in this process, because inventories and looks name it again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Records with packed pieces.
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

/// What tells that a file has not changed, besides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Its place in [`Names::file_systems`].
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

/// A file of an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) stamp: Stamp,
    /// Its place in [`Inventory::contents`].
    pub(super) content: u32,
}

/// A tree as an earlier look has left it.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// By raw relative path.
    pub(super) files: HashMap<Box<[u8]>, KnownFile>,
    pub(super) contents: Vec<(Content, PackedPlace)>,
}

impl Inventory {
    /// The inventory of a tree; its names are added to `names`. Whatever does not decode, or was
    /// made with other parameters, is not there.
    pub(super) fn load(
        snapshot: &Snapshot,
        params: &Params,
        root: &Path,
        names: &Mutex<Names>,
    ) -> Option<Self> {
        let head = snapshot.record(&store::head_name(root)).ok()??;
        let head = codec::InventoryHead::decode(&head)?;
        if !head.is_of(root, params) {
            return None;
        }
        let files = snapshot.record(&store::files_name(root)).ok()??;
        let pools: Vec<u32> = {
            let mut names = names.lock();
            head.pools.iter().map(|name| names.pool(name)).collect()
        };
        codec::decode_files(&files, &pools, names)
    }

    /// The content of a file, if nothing says that it has changed.
    pub(super) fn content_of(
        &self,
        path: &[u8],
        stat: &Stat,
        fs: u32,
    ) -> Option<&(Content, PackedPlace)> {
        let file = self.files.get(path)?;
        let known = self.contents.get(file.content as usize)?;
        let same = known.0.size == ByteLen(stat.size) && file.stamp == Stamp::of(stat, fs);
        same.then_some(known)
    }
}
