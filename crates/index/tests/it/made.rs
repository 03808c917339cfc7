//! Makes files and digests for tests.

use std::collections::BTreeSet;
use std::path::Path;

use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ChunkRun, ContentDigest, ContentKind, Digest, Fingerprint,
    FingerprintEdit, Params, Repeats, Signature, WordsDigest,
};
use resemble_index::{
    Change, ContentRef, FileStat, FsId, Index, NewState, Options, Snapshot, Timestamp,
};

/// Returns the hash of a made-up chunk with number `n`. Its posting key is `n << 8`.
pub(crate) fn chunk(n: u32) -> ChunkHash {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    ChunkHash(bytes)
}

/// Returns the number of a made-up chunk.
pub(crate) fn number(chunk: ChunkHash) -> u32 {
    let [a, b, c, d, ..] = chunk.0;
    u32::from_be_bytes([a, b, c, d])
}

pub(crate) fn chunk_key(n: u32) -> u64 {
    chunk(n).posting_key()
}

/// Returns the edit that turns the fingerprints of one digest into the fingerprints of another.
/// Only fingerprints with postings are used.
pub(crate) fn fingerprint_edit(before: &Digest, now: &Digest) -> FingerprintEdit {
    let of = |digest: &Digest| -> BTreeSet<Fingerprint> { digest.posted().collect() };
    let (before, now) = (of(before), of(now));
    FingerprintEdit {
        gone: before.difference(&now).copied().collect(),
        new: now.difference(&before).copied().collect(),
    }
}

/// Makes a digest. `name` identifies the content, and each chunk has 1000 bytes.
pub(crate) fn digest(name: u64, chunks: &[u32], fingerprints: &[u64]) -> Digest {
    let mut content = [0; 32];
    // Names that differ only above bit 56 give digests with equal first bytes, which the index must
    // distinguish.
    content[..8].copy_from_slice(&name.to_le_bytes());
    content[31] = (name >> 56) as u8;
    content[7] = 0;
    let mut distinct = fingerprints.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let runs = chunks
        .iter()
        .map(|&n| ChunkRun {
            hash: chunk(n),
            len: 1000,
            count: 1,
            constant: false,
        })
        .collect();
    Digest {
        content: ContentDigest(content),
        size: ByteLen(chunks.len() as u64 * 1000),
        kind: if chunks.is_empty() {
            ContentKind::Empty
        } else {
            ContentKind::Text
        },
        chunks: ChunkList(runs),
        signature: Signature {
            level: 5,
            fingerprints: distinct.into_iter().map(Fingerprint).collect(),
            repeats: name.is_multiple_of(3).then_some(Repeats(name as u8)),
        },
        besides: Vec::new(),
        words: name
            .is_multiple_of(2)
            .then_some(WordsDigest([name as u8; 16])),
    }
}

/// Makes a stat with this inode number. The `mtime` is `tick`, and the `ctime` is a second later.
pub(crate) fn stat(ino: u64, tick: i64) -> FileStat {
    FileStat {
        fs: FsId("uuid-1".into()),
        ino,
        size: ByteLen(1000),
        mtime: Timestamp {
            secs: tick,
            nanos: 5,
        },
        ctime: Timestamp {
            secs: tick + 1,
            nanos: 6,
        },
        nlink: 1,
    }
}

/// Makes the change that adds a file with this content at `path`.
pub(crate) fn read(path: impl AsRef<Path>, ino: u64, digest: Digest) -> Change {
    Change::File {
        path: path.as_ref().to_path_buf(),
        stat: stat(ino, 1),
        state: NewState::Settled(ContentRef::New(Box::new(digest))),
    }
}

pub(crate) fn memory() -> Index {
    Index::in_memory(&Params::default()).unwrap()
}

/// Opens the index at `path`. Checks that the file could be used and was not set aside.
pub(crate) fn open(path: &Path, boilerplate_limit: u32) -> Index {
    let options = Options {
        cache_bytes: 8 << 20,
        boilerplate_limit,
    };
    let (index, aside) = Index::open(path, &Params::default(), &options).unwrap();
    assert_eq!(aside, None);
    index
}

/// Checks that the index is undamaged. Returns a snapshot of it.
pub(crate) fn sound(index: &Index) -> Snapshot {
    let snapshot = index.snapshot().unwrap();
    assert_eq!(snapshot.check().unwrap(), Vec::<String>::new());
    snapshot
}

/// Returns the number of posting rows and the number of segments.
pub(crate) fn posting_rows(index: &Index) -> (u64, usize) {
    let sizes = index.table_sizes().unwrap();
    let of = |prefix: &str| {
        sizes
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(_, size)| size.rows)
            .sum::<u64>()
    };
    (
        of("chunk_postings/") + of("fingerprint_postings/"),
        of("segments") as usize,
    )
}
