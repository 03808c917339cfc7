//! Encodes inventories, in postcard format.
//!
//! An inventory has two records. The head names the tree, and the pools that have the packed pieces
//! of its contents. The other record lists the files in path order. Each path omits the prefix that
//! it shares with the previous path.
//!
//! The input is not trusted. Lengths are compared with the available bytes before memory is
//! allocated. If a number is out of range, the whole record is unreadable.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use parking_lot::Mutex;
use resemble_core::{ByteLen, ContentDigest, ContentKind, Params};
use resemble_index::{FsId, SkippedPart, Timestamp};
use resemble_relate::renditions::Rendition;
use serde::{Deserialize, Serialize};

use super::known::{Inventory, KnownFile, KnownParts, Names, PackedPlace, Stamp, Where};
use crate::compare::record::{decode, encode};
use crate::compare::sides::Content;

/// The version of the format. A head with another version is treated as missing.
const VERSION: u64 = 7;

/// The first record of an inventory: its tree, and the pools that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InventoryHead {
    version: u64,
    params: String,
    /// The id of the part reader that took documents apart. Empty if there was no part reader.
    formats: String,
    root: Vec<u8>,
    /// The names of the pools, which are records with packed pieces of contents.
    pub(super) pools: Vec<String>,
}

impl InventoryHead {
    pub(super) fn new(root: &Path, params: &Params, formats: String, pools: Vec<String>) -> Self {
        Self {
            version: VERSION,
            params: params.to_string(),
            formats,
            root: root.as_os_str().as_bytes().to_vec(),
            pools,
        }
    }

    pub(super) fn is_of(&self, root: &Path, params: &Params, formats: &str) -> bool {
        self.root == root.as_os_str().as_bytes()
            && self.params == params.to_string()
            && self.formats == formats
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        decode(bytes).filter(|head: &Self| head.version == VERSION)
    }
}

/// The files of an inventory.
#[derive(Serialize, Deserialize)]
struct FilesRecord<'a> {
    #[serde(borrow)]
    file_systems: Vec<&'a str>,
    contents: Vec<PackedContent>,
    #[serde(borrow)]
    files: Vec<PackedFile<'a>>,
}

#[derive(Serialize, Deserialize)]
struct PackedContent {
    digest: [u8; 32],
    size: u64,
    kind: u8,
    /// The pool with the packed pieces, as an index into [`InventoryHead::pools`].
    pool: u32,
    from: u64,
    length: u32,
    /// The renditions of the content. Each has its kind, and the index of its own content in
    /// [`FilesRecord::contents`].
    stand_ins: Vec<(u8, u32)>,
    /// The parts that were skipped when the file was taken apart. Each has its name inside the
    /// file, and the reason.
    skipped: Vec<(Vec<u8>, String)>,
    /// True for a document that no scan has taken apart yet.
    pending: bool,
}

#[derive(Serialize, Deserialize)]
struct PackedFile<'a> {
    /// The number of bytes that the path shares with the previous path.
    shared: u64,
    rest: &'a [u8],
    /// The index of the file's file system in [`FilesRecord::file_systems`].
    fs: u32,
    ino: u64,
    mtime: (i64, u32),
    /// The change time. Its seconds are stored as the difference from the seconds of `mtime`.
    ctime: (i64, u32),
    content: u32,
}

/// Encodes the files of an inventory. `files` must be in path order. In `contents`, the second
/// field is the index of the content's pool in the head's list.
pub(super) fn encode_files<'a>(
    file_systems: &[FsId],
    contents: &[(Content, u32, PackedPlace)],
    parts: &KnownParts,
    files: impl Iterator<Item = (&'a [u8], Stamp, u32)>,
) -> Vec<u8> {
    let mut last: &[u8] = &[];
    let files = files.map(|(path, stamp, content)| {
        let equal = path.iter().zip(last).take_while(|(a, b)| a == b);
        let shared = equal.count();
        last = path;
        PackedFile {
            shared: shared as u64,
            rest: &path[shared..],
            fs: stamp.fs,
            ino: stamp.ino,
            mtime: (stamp.mtime.secs, stamp.mtime.nanos),
            ctime: (
                stamp.ctime.secs.wrapping_sub(stamp.mtime.secs),
                stamp.ctime.nanos,
            ),
            content,
        }
    });
    let contents = (0..).zip(contents);
    let contents = contents.map(|(number, (content, pool, place))| {
        let stand_ins = parts.apart.get(&number).into_iter().flatten();
        let skipped = parts.skipped.get(&number).into_iter().flatten();
        PackedContent {
            digest: content.digest.0,
            size: content.size.0,
            kind: content.kind.number(),
            pool: *pool,
            from: place.from,
            length: place.length,
            stand_ins: stand_ins
                .map(|&(rendition, of)| (rendition.number(), of))
                .collect(),
            skipped: skipped
                .map(|part| (part.path.clone(), part.reason.clone()))
                .collect(),
            pending: parts.pending.contains(&number),
        }
    });
    encode(&FilesRecord {
        file_systems: file_systems.iter().map(|fs| &fs.0[..]).collect(),
        contents: contents.collect(),
        files: files.collect(),
    })
}

/// Decodes the output of [`encode_files`]. Element `i` of `pools` is the number that `names` gives
/// to pool `i` of the head.
pub(super) fn decode_files(
    record: &[u8],
    pools: &[u32],
    names: &Mutex<Names>,
) -> Option<Inventory> {
    let record: FilesRecord<'_> = decode(record)?;
    let file_systems: Vec<u32> = {
        let mut names = names.lock();
        let all = record.file_systems.iter();
        all.map(|fs| names.file_system(FsId((*fs).into())))
            .collect()
    };
    let contents = record.contents.iter().map(|packed| {
        let content = Content {
            digest: ContentDigest(packed.digest),
            size: ByteLen(packed.size),
            kind: ContentKind::of_number(packed.kind)?,
        };
        let place = PackedPlace {
            pool: Where::Pool(*pools.get(packed.pool as usize)?),
            from: packed.from,
            length: packed.length,
        };
        Some((content, place))
    });
    let contents = contents.collect::<Option<Vec<_>>>()?;
    let mut parts = KnownParts::default();
    for (number, packed) in (0..).zip(&record.contents) {
        if packed.pending {
            parts.pending.insert(number);
        }
        if !packed.skipped.is_empty() {
            let skipped = packed.skipped.iter().cloned();
            let skipped = skipped.map(|(path, reason)| SkippedPart { path, reason });
            parts.skipped.insert(number, skipped.collect());
        }
        let stand_ins = packed.stand_ins.iter().map(|&(rendition, content)| {
            let is_content = (content as usize) < contents.len();
            Some((Rendition::of_number(rendition)?, content)).filter(|_| is_content)
        });
        let stand_ins = stand_ins.collect::<Option<Vec<_>>>()?;
        if !stand_ins.is_empty() {
            parts.apart.insert(number, stand_ins);
        }
    }
    let mut files = HashMap::with_capacity(record.files.len());
    let mut path: Vec<u8> = Vec::new();
    for file in &record.files {
        let shared = usize::try_from(file.shared).ok()?;
        if shared > path.len() || file.content as usize >= contents.len() {
            return None;
        }
        path.truncate(shared);
        path.extend_from_slice(file.rest);
        let time = |base: i64, (secs, nanos): (i64, u32)| Timestamp {
            secs: base.wrapping_add(secs),
            nanos,
        };
        let mtime = time(0, file.mtime);
        let stamp = Stamp {
            fs: *file_systems.get(file.fs as usize)?,
            ino: file.ino,
            mtime,
            ctime: time(mtime.secs, file.ctime),
        };
        let content = file.content;
        files.insert(path.as_slice().into(), KnownFile { stamp, content });
    }
    Some(Inventory {
        files,
        contents,
        parts,
    })
}
