//! Tests with randomly changed rows. If a row can be decoded, its value does not change when it is
//! encoded and decoded again. Parts of lists and rows of `inodes` are only decoded.

use resemble_core::date::{DateSource, DocumentDate};
use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ChunkRun, ContentDigest, ContentId, ContentKind, DirId, FileId,
    Fingerprint, Repeats, Signature, WordsDigest,
};
use resemble_testutil::fuzz;
use resemble_testutil::random::Random;

use super::lists::{decode_chunks, decode_signature, encode_chunks, encode_signature};
use super::rows::{
    FsNumber, StoredContent, StoredFile, decode_entry, decode_gaps, decode_part, decode_skipped,
    encode_entry, encode_gaps, encode_part, encode_skipped,
};
use super::{Malformed, inodes};
use crate::rows::{
    Entry, FileState, Gap, GapCounts, LeftOutRule, Look, PartRole, PartRow, SkippedPart,
    SpecialKind, Timestamp,
};

const ROUNDS: u64 = 10_000;

/// Checks each changed sample. If the sample can be decoded, its value does not change when it is
/// encoded and decoded again.
fn comes_back<T: PartialEq + std::fmt::Debug>(
    what: &str,
    samples: &[T],
    encode: impl Fn(&T, &mut Vec<u8>),
    decode: impl Fn(&[u8]) -> Result<T, Malformed>,
) {
    let bytes = |row: &T| {
        let mut out = Vec::new();
        encode(row, &mut out);
        out
    };
    let mut takes = |row: &[u8]| {
        let Ok(row) = decode(row) else {
            return false;
        };
        assert_eq!(decode(&bytes(&row)), Ok(row));
        true
    };
    fuzz(
        what,
        ROUNDS,
        samples.iter().map(bytes).collect(),
        &mut takes,
    );
}

fn files() -> Vec<StoredFile> {
    let time = |secs| Timestamp {
        secs,
        nanos: 999_999_999,
    };
    let states = [
        FileState::Settled(ContentId(7)),
        FileState::Unsettled(ContentId(u32::MAX)),
        FileState::Unreadable(-13),
        FileState::Skipped("size".to_owned()),
    ];
    let rows = states.into_iter().zip(1..).map(|(state, n)| StoredFile {
        fs: FsNumber(n),
        ino: u64::from(n) << 33,
        size: ByteLen(u64::from(n) * 1_000_000),
        mtime: time(1_700_000_000 - i64::from(n) * 2_000_000_000),
        ctime: time(1_700_000_000),
        nlink: u32::from(n),
        state,
        dir: DirId(n.into()),
        name: b"a name.txt".to_vec(),
    });
    rows.collect()
}

fn contents() -> Vec<StoredContent> {
    let row = |n: u32| StoredContent {
        digest: ContentDigest([n as u8; 32]),
        size: ByteLen(1 << (n * 9)),
        kind: ContentKind::Text,
        level: 5,
        chunk_runs: u64::from(n) * 200,
        chunks: u64::from(n) * 300,
        fingerprints: n,
        files: 1,
        uses: n,
        look: Look::Apart,
        parts: n * 3,
        skipped: n.is_multiple_of(2),
        words: n.is_multiple_of(2).then_some(WordsDigest([9; 16])),
        date: n.is_multiple_of(3).then_some(DocumentDate {
            seconds: -i64::from(n),
            source: DateSource::MailDate,
        }),
    };
    (0..5).map(row).collect()
}

#[test]
fn rows() {
    comes_back(
        "rows of files",
        &files(),
        StoredFile::encode,
        StoredFile::decode,
    );
    comes_back(
        "rows of contents",
        &contents(),
        StoredContent::encode,
        StoredContent::decode,
    );
    let entries = [
        Entry::Dir(DirId(3)),
        Entry::File(FileId(300)),
        Entry::Symlink(b"../there".to_vec()),
        Entry::Special(SpecialKind::Fifo),
        Entry::Gap(Gap::Failed(13)),
        Entry::Gap(Gap::LeftOut(LeftOutRule::OneFileSystem)),
    ];
    comes_back("entries", &entries, encode_entry, decode_entry);
    let gaps = [0, 1, 300].map(|failed| GapCounts {
        failed,
        left_out: [failed + 1, 0, 70_000, 0],
    });
    comes_back("gaps", &gaps, encode_gaps, decode_gaps);
    let parts = [PartRole::Member, PartRole::Text].map(|role| PartRow {
        role,
        parent: Some(2),
        name: b"member/name".to_vec(),
        content: Some(ContentId(5)),
    });
    comes_back("parts", &parts, encode_part, decode_part);
    let skipped = [b"a/b".to_vec(), Vec::new()].map(|path| SkippedPart {
        path,
        reason: "encrypted".to_owned(),
    });
    comes_back(
        "skipped parts",
        &[skipped.to_vec()],
        |parts, out| encode_skipped(parts, out),
        decode_skipped,
    );
}

/// Returns all parts that an encoder passes to its callback.
fn parts(encode: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Malformed>)) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    encode(&mut |part| {
        parts.push(part.to_vec());
        Ok(())
    });
    parts
}

#[test]
fn lists() {
    let mut random = Random::new(3);
    let run = |n: u64| ChunkRun {
        hash: ChunkHash([n as u8; 16]),
        len: 460 + n as u32,
        count: 1 + n % 3 * (n << 20),
        constant: n % 3 == 1,
    };
    let chunks = ChunkList((0..500).map(run).collect());
    let samples = parts(|part| encode_chunks(&chunks, part).unwrap());
    let mut takes = |part: &[u8]| decode_chunks(part, &mut ChunkList::default()).is_ok();
    fuzz("chunk lists", ROUNDS, samples, &mut takes);
    let mut fingerprints: Vec<_> = (0..900).map(|_| Fingerprint(random.draw() >> 8)).collect();
    fingerprints.sort_unstable();
    let signature = Signature {
        level: 4,
        fingerprints,
        repeats: Some(Repeats(3)),
    };
    let samples = parts(|part| encode_signature(&signature, part).unwrap());
    let mut takes = |part: &[u8]| {
        let mut signature = Signature::default();
        let is_taken = decode_signature(part, &mut signature).is_ok();
        assert!(signature.fingerprints.len() < 1 << 14);
        is_taken
    };
    fuzz("signatures", ROUNDS, samples, &mut takes);
    let mut row = Vec::new();
    for ino in [5, 1 << 20, u64::from(u32::MAX), 7, 6] {
        row = inodes::with(&row, ino, Some(FileId(ino as u32))).unwrap();
    }
    let mut takes = |row: &[u8]| {
        let files = inodes::files(row);
        let one = inodes::file(row, 7);
        let with = inodes::with(row, 8, Some(FileId(1)));
        assert!(files.is_ok() || with.is_err() || one.is_ok());
        files.is_ok()
    };
    fuzz("inodes", ROUNDS, vec![row], &mut takes);
}
