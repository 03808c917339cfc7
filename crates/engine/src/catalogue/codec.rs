//! The bytes of a catalogue.
//!
//! ```text
//! head   version │ params id │ root │ varint n │ n × pool name          texts: varint length, bytes
//! files  varint n │ n × file system
//!        varint n │ n × content:  digest 32 B │ varint size │ kind │ varint pool │ varint from │ varint length
//!        varint n │ n × file:     varint shared │ varint rest │ rest of the path │ varint file system │ varint inode
//!                                 │ mtime: signed varint s, varint ns │ ctime: s less mtime's, ns │ varint content
//! ```
//!
//! Files come in the order of their paths; `shared` bytes of a path are those of the one before. Nothing
//! that is read is trusted: lengths are checked, numbers out of range make the whole unreadable.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use resemble_core::{ByteLen, ContentDigest, ContentKind, Params};
use resemble_index::varint::{Reader, put, put_signed};
use resemble_index::{FsId, Timestamp};

use super::known::{Catalogue, KnownFile, Names, Place, Stamp, Where};
use crate::compare::sides::Content;

/// Another version in a head means: not there.
const VERSION: u64 = 1;

/// What says which tree a catalogue is of, and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    params: String,
    root: Vec<u8>,
    /// Names of the records with the packed pieces.
    pub(super) pools: Vec<String>,
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn bytes<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(reader.u64()?).ok()?;
    reader.bytes(length)
}

pub(super) fn text(reader: &mut Reader<'_>) -> Option<String> {
    String::from_utf8(bytes(reader)?.to_vec()).ok()
}

impl Head {
    pub(super) fn new(root: &Path, params: &Params, pools: Vec<String>) -> Self {
        Self {
            params: params.to_string(),
            root: root.as_os_str().as_bytes().to_vec(),
            pools,
        }
    }

    pub(super) fn is_of(&self, root: &Path, params: &Params) -> bool {
        self.root == root.as_os_str().as_bytes() && self.params == params.to_string()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, VERSION);
        put_bytes(&mut out, self.params.as_bytes());
        put_bytes(&mut out, &self.root);
        put(&mut out, self.pools.len() as u64);
        for pool in &self.pools {
            put_bytes(&mut out, pool.as_bytes());
        }
        out
    }

    pub(super) fn decode(bytes_of_head: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes_of_head);
        if reader.u64()? != VERSION {
            return None;
        }
        let params = text(&mut reader)?;
        let root = bytes(&mut reader)?.to_vec();
        let pools = (0..reader.u64()?)
            .map(|_| text(&mut reader))
            .collect::<Option<Vec<_>>>()?;
        reader.end(Self {
            params,
            root,
            pools,
        })
    }
}

/// Writes the files of a catalogue. Paths come in order.
#[derive(Debug)]
pub(super) struct FilesWriter {
    out: Vec<u8>,
    last: Vec<u8>,
}

impl FilesWriter {
    /// `contents`: each with the place of its pool in the head's list.
    pub(super) fn new(
        file_systems: &[FsId],
        contents: &[(Content, u32, Place)],
        files: usize,
    ) -> Self {
        let mut out = Vec::with_capacity(contents.len() * 44 + files * 48);
        put(&mut out, file_systems.len() as u64);
        for fs in file_systems {
            put_bytes(&mut out, fs.0.as_bytes());
        }
        put(&mut out, contents.len() as u64);
        for (content, pool, place) in contents {
            out.extend_from_slice(&content.digest.0);
            put(&mut out, content.size.0);
            out.push(content.kind.number());
            put(&mut out, u64::from(*pool));
            put(&mut out, place.from);
            put(&mut out, u64::from(place.length));
        }
        put(&mut out, files as u64);
        Self {
            out,
            last: Vec::new(),
        }
    }

    pub(super) fn file(&mut self, path: &[u8], stamp: &Stamp, content: u32) {
        let out = &mut self.out;
        let shared = path
            .iter()
            .zip(&self.last)
            .take_while(|(a, b)| a == b)
            .count();
        put(out, shared as u64);
        put_bytes(out, &path[shared..]);
        self.last.clear();
        self.last.extend_from_slice(path);
        put(out, u64::from(stamp.fs));
        put(out, stamp.ino);
        put_signed(out, stamp.mtime.secs);
        put(out, u64::from(stamp.mtime.nanos));
        put_signed(out, stamp.ctime.secs.wrapping_sub(stamp.mtime.secs));
        put(out, u64::from(stamp.ctime.nanos));
        put(out, u64::from(content));
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }
}

/// Reads what [`FilesWriter`] wrote. `pools`: the number of each pool of the head in `names`.
pub(super) fn decode_files(
    record: &[u8],
    pools: &[u32],
    names: &Mutex<Names>,
) -> Option<Catalogue> {
    let mut reader = Reader(record);
    let file_systems = (0..reader.u64()?)
        .map(|_| {
            let fs = FsId(text(&mut reader)?);
            let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
            Some(names.file_system(fs))
        })
        .collect::<Option<Vec<_>>>()?;
    let count = usize::try_from(reader.u64()?).ok()?;
    // 37 bytes at least: what does not fit is not allocated either.
    if count > reader.0.len() / 37 {
        return None;
    }
    let mut contents = Vec::with_capacity(count);
    for _ in 0..count {
        let digest = ContentDigest(reader.array()?);
        let size = ByteLen(reader.u64()?);
        let kind = ContentKind::of_number(reader.byte()?)?;
        let pool = *pools.get(usize::try_from(reader.u64()?).ok()?)?;
        let place = Place {
            pool: Where::Pool(pool),
            from: reader.u64()?,
            length: reader.u32()?,
        };
        contents.push((Content { digest, size, kind }, place));
    }
    let count = usize::try_from(reader.u64()?).ok()?;
    if count > reader.0.len() / 8 {
        return None;
    }
    let mut files = HashMap::with_capacity(count);
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let shared = usize::try_from(reader.u64()?).ok()?;
        if shared > path.len() {
            return None;
        }
        path.truncate(shared);
        path.extend_from_slice(bytes(&mut reader)?);
        let fs = *file_systems.get(usize::try_from(reader.u64()?).ok()?)?;
        let ino = reader.u64()?;
        let mut time = |base: i64| {
            Some(Timestamp {
                secs: base.wrapping_add(reader.i64()?),
                nanos: reader.u32()?,
            })
        };
        let mtime = time(0)?;
        let ctime = time(mtime.secs)?;
        let content = reader.u32()?;
        if content as usize >= contents.len() {
            return None;
        }
        let stamp = Stamp {
            fs,
            ino,
            mtime,
            ctime,
        };
        files.insert(path.as_slice().into(), KnownFile { stamp, content });
    }
    reader.end(Catalogue { files, contents })
}
