pub(super) mod made;

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use resemble_core::date::{DateSource, DocumentDate};
use resemble_core::hash::content::digest;
use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ChunkRun, ContentDigest, ContentKind, Digest, Fingerprint,
    Params, Signature,
};
use resemble_index::varint::put;
use resemble_index::{Index, PartRole, SkippedPart, SpecialKind};
use resemble_proto::catalogued;

use super::format::{CHECKSUM, CatalogueRecord, Encoder, EntryKind, MAGIC};
use super::*;

fn details() -> Details {
    Details {
        label: "disk".to_owned(),
        created: 1_700_000_000,
        names: true,
        text: true,
        samples: Samples::AtMost(24),
    }
}

fn head() -> CatalogueRecord {
    CatalogueRecord::Head(Head {
        params: Params::default().to_string(),
        details: details(),
    })
}

/// Returns the bytes of a catalogue with these records and a correct digest.
fn bytes_of(records: &[CatalogueRecord]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut out = MAGIC.to_vec();
    put(&mut out, VERSION);
    for record in records {
        encoder.record(record, &mut out);
    }
    sealed(out)
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = digest(&bytes);
    bytes.extend_from_slice(&checksum.0);
    bytes
}

/// Loads a file with these bytes into an index. After a failure, checks that the index has nothing
/// of the catalogue.
fn loaded(bytes: &[u8]) -> Result<Loaded, CatalogueError> {
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("a.cat");
    fs::write(&file, bytes).expect("a file");
    let index = Index::in_memory(&Params::default()).expect("an index");
    let root = catalogued::of_label("disk");
    let result = open(&file).and_then(|catalogue| load(&index, &root, catalogue));
    let snapshot = index.snapshot().expect("a snapshot");
    assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
    if result.is_err() {
        let left = snapshot.totals().expect("totals");
        assert_eq!((left.files, left.contents), (0, 0), "{result:?}");
    }
    result
}

#[track_caller]
fn refused(records: &[CatalogueRecord]) {
    let result = loaded(&bytes_of(records));
    assert!(
        matches!(result, Err(CatalogueError::Damaged { .. })),
        "{result:?}"
    );
}

fn content(bytes: &[u8]) -> Digest {
    Digest::of(bytes, &Params::default())
}

fn packed(digest: &Digest) -> CatalogueRecord {
    CatalogueRecord::Content(PackedContent::pack(digest))
}

fn entry(path: &str, what: EntryKind) -> CatalogueRecord {
    CatalogueRecord::Entry {
        path: path.as_bytes().to_vec(),
        what,
    }
}

fn file(number: u32, content: u32) -> EntryKind {
    EntryKind::File {
        file: number,
        mtime: -5,
        content,
    }
}

fn end(contents: u64, files: u64, bytes: u64) -> CatalogueRecord {
    CatalogueRecord::End(Totals {
        contents,
        files,
        bytes,
        unread: 0,
    })
}

#[test]
fn a_sound_one_is_taken() {
    let records = [
        head(),
        entry("", EntryKind::Dir),
        packed(&content(b"hello")),
        entry("a", file(0, 0)),
        entry("b", file(0, 0)),
        end(1, 1, 5),
    ];
    let done = loaded(&bytes_of(&records)).expect("taken");
    assert_eq!((done.files, done.bytes), (1, 5));
}

/// The digest of each catalogue here is correct, but its records have one contradiction.
#[test]
fn what_cannot_be_is_refused() {
    let dir = || entry("", EntryKind::Dir);
    let hello = || packed(&content(b"hello"));
    for path in [
        "..",
        "a/../b",
        "/a",
        "a//b",
        "a/",
        ".",
        "a\0b",
        &"a/".repeat(5000),
    ] {
        refused(&[head(), dir(), entry(path, EntryKind::Dir), end(0, 0, 0)]);
    }
    // The cases are: no end, two ends, wrong totals, records after the end, a second head, and no
    // head.
    refused(&[head(), dir()]);
    refused(&[head(), dir(), end(0, 0, 0), end(0, 0, 0)]);
    refused(&[head(), dir(), end(1, 0, 0)]);
    refused(&[head(), end(0, 0, 0), dir()]);
    refused(&[head(), head(), end(0, 0, 0)]);
    refused(&[dir(), end(0, 0, 0)]);
    // The cases are: missing contents, a file number out of order, a hard link with another
    // content, and a root that is a file.
    refused(&[head(), dir(), entry("a", file(0, 0)), end(0, 1, 0)]);
    refused(&[head(), dir(), hello(), entry("a", file(1, 0)), end(1, 1, 5)]);
    let other = packed(&content(b"other"));
    let linked = entry("b", file(0, 1));
    refused(&[
        head(),
        dir(),
        hello(),
        entry("a", file(0, 0)),
        other,
        linked,
        end(2, 1, 5),
    ]);
    refused(&[head(), hello(), entry("", file(0, 0)), end(1, 1, 5)]);
    // No entry refers to this content.
    refused(&[head(), dir(), hello(), end(1, 0, 0)]);
    // The target of a link is arbitrary, because it is never followed.
    let link = entry("a", EntryKind::Symlink(b"../../etc/passwd".to_vec()));
    assert!(loaded(&bytes_of(&[head(), dir(), link, end(0, 0, 0)])).is_ok());
}

#[test]
fn contents_that_cannot_be_are_refused() {
    let with = |change: &dyn Fn(&mut Digest)| {
        let mut digest = content(b"hello");
        change(&mut digest);
        let size = digest.size.0;
        refused(&[
            head(),
            entry("", EntryKind::Dir),
            packed(&digest),
            entry("a", file(0, 0)),
            end(1, 1, size),
        ]);
    };
    let run = |len, count| ChunkRun {
        hash: ChunkHash([7; 16]),
        len,
        count,
        constant: false,
    };
    with(&|digest| digest.size = ByteLen(6));
    with(&|digest| digest.size = ByteLen(u64::MAX));
    with(&|digest| digest.size = ByteLen(0));
    with(&|digest| digest.kind = ContentKind::Empty);
    with(&|digest| digest.chunks = ChunkList::default());
    with(&|digest| digest.chunks = ChunkList(vec![run(5, 1 << 61)]));
    with(&|digest| digest.chunks = ChunkList(vec![run(0, 1), run(5, 1)]));
    with(&|digest| digest.chunks = ChunkList(vec![run(5, 0), run(5, 1)]));
    let print = |value| vec![Fingerprint(value), Fingerprint(value)];
    with(&|digest| digest.signature.fingerprints = print(1));
    with(&|digest| digest.signature.fingerprints = vec![Fingerprint(1 << 41)]);
    with(&|digest| {
        digest.signature = Signature {
            level: 20,
            fingerprints: vec![Fingerprint(1 << 31)],
            repeats: None,
        };
    });
    with(&|digest| digest.signature.fingerprints = (0..10_000).map(Fingerprint).collect());
}

/// If fingerprints of zero bits were accepted, a few bytes of a catalogue could state thousands of
/// fingerprints, any number of times.
#[test]
fn a_sample_of_nothing_does_not_grow() {
    let mut body = Vec::new();
    body.extend_from_slice(&[1; 32]);
    put(&mut body, 5);
    body.push(1);
    put(&mut body, 0);
    for _ in 0..1000 {
        put(&mut body, 4);
        body.extend_from_slice(&[3, 0]);
        put(&mut body, (1 << 14) - 1);
    }
    let mut out = MAGIC.to_vec();
    put(&mut out, VERSION);
    Encoder::default().record(&head(), &mut out);
    out.push(2);
    put(&mut out, body.len() as u64);
    out.extend_from_slice(&body);
    let result = loaded(&sealed(out));
    assert!(
        matches!(result, Err(CatalogueError::Damaged { .. })),
        "{result:?}"
    );
}

/// A length beyond the end of the file is refused before memory is allocated for it.
#[test]
fn forged_lengths_are_refused() {
    for length in [u64::MAX, 1 << 40, 100] {
        let mut out = MAGIC.to_vec();
        put(&mut out, VERSION);
        out.push(1);
        put(&mut out, length);
        let result = loaded(&sealed(out));
        assert!(
            matches!(result, Err(CatalogueError::Damaged { .. })),
            "{result:?}"
        );
    }
}

#[test]
fn other_versions_and_parameters_are_told_apart() {
    let mut later = MAGIC.to_vec();
    put(&mut later, VERSION + 1);
    later.extend_from_slice(&[0; 100]);
    let said = loaded(&sealed(later))
        .expect_err("another version")
        .to_string();
    assert!(said.contains("version 2"), "{said}");
    let other = CatalogueRecord::Head(Head {
        params: "tttd-1-2".to_owned(),
        details: details(),
    });
    let said = loaded(&bytes_of(&[other, end(0, 0, 0)])).expect_err("other parameters");
    assert!(matches!(said, CatalogueError::Params { .. }), "{said}");
    for bytes in [&b""[..], b"resemble", MAGIC, &[7; 100]] {
        assert!(matches!(loaded(bytes), Err(CatalogueError::Damaged { .. })));
    }
}

fn any_what() -> impl Strategy<Value = EntryKind> {
    prop_oneof![
        Just(EntryKind::Dir),
        (any::<u32>(), any::<i64>(), any::<u32>()).prop_map(|(file, mtime, content)| {
            EntryKind::File {
                file,
                mtime,
                content,
            }
        }),
        any::<Vec<u8>>().prop_map(EntryKind::Symlink),
        Just(EntryKind::Special(SpecialKind::Socket)),
        (any::<u32>(), any::<u64>(), any::<i32>())
            .prop_map(|(file, size, errno)| EntryKind::Unreadable { file, size, errno }),
        (any::<u32>(), any::<u64>(), ".*").prop_map(|(file, size, reason)| EntryKind::Skipped {
            file,
            size,
            reason
        }),
    ]
}

fn any_content() -> impl Strategy<Value = Digest> {
    let bytes = prop::collection::vec(any::<u8>(), 0..8000);
    (bytes, any::<[u8; 32]>()).prop_map(|(bytes, name)| Digest {
        content: ContentDigest(name),
        // The index does not store these fields, so a catalogue does not have them, either.
        besides: Vec::new(),
        ..Digest::of(&bytes, &Params::default())
    })
}

/// Earlier versions of the program also wrote signatures of a published method. This version skips
/// them.
#[test]
fn signatures_of_earlier_catalogues_are_passed_over() {
    let bytes = b"if only for the while that this takes\n".repeat(40);
    let of_entries = [
        packed(&content(&bytes)),
        entry("", EntryKind::Dir),
        entry("a", file(0, 0)),
        end(1, 1, bytes.len() as u64),
    ];
    let mut out = MAGIC.to_vec();
    put(&mut out, VERSION);
    let mut head_alone = Vec::new();
    Encoder::default().record(&head(), &mut head_alone);
    // The record of the head is its kind, its length in one byte, and its body. The last two bytes
    // of the body are the flags and the limit of fingerprints.
    assert_eq!(usize::from(head_alone[1]), head_alone.len() - 2);
    let mut body = head_alone.split_off(2);
    let flags = body.len() - 2;
    assert_eq!(body[flags..], [7, 24]);
    body[flags] |= 8;
    put(&mut body, 6);
    body.extend_from_slice(b"sif.v1");
    out.push(1);
    put(&mut out, body.len() as u64);
    out.extend_from_slice(&body);
    let mut encoder = Encoder::default();
    encoder.record(&of_entries[0], &mut out);
    // A record of kind 6 with five bytes: the number of a content, and four bytes of a signature.
    out.extend_from_slice(&[6, 5, 0, 2, 1, 1, 9]);
    for record in &of_entries[1..] {
        encoder.record(record, &mut out);
    }
    let earlier = sealed(out);
    let own = [&[head()], &of_entries[..]].concat();
    let loaded_now = loaded(&bytes_of(&own)).expect("sound");
    assert_eq!(loaded(&earlier).expect("sound"), loaded_now);
    let temp = tempfile::tempdir().expect("a folder");
    let path = temp.path().join("earlier.cat");
    fs::write(&path, &earlier).expect("a file");
    let catalogue = open(&path).expect("a catalogue");
    assert_eq!(catalogue.head().details, details());
    assert_eq!(catalogue.totals().expect("totals").files, 1);
}

fn any_record() -> impl Strategy<Value = CatalogueRecord> {
    let name = "[^/\0.]{1,6}";
    prop_oneof![
        (prop::collection::vec(name, 0..4), any_what()).prop_map(|(names, what)| {
            CatalogueRecord::Entry {
                path: names.join("/").into_bytes(),
                what,
            }
        }),
        any_content().prop_map(|digest| packed(&digest)),
        any::<(u64, u64, u64, u64)>().prop_map(|(contents, files, bytes, unread)| {
            CatalogueRecord::End(Totals {
                contents,
                files,
                bytes,
                unread,
            })
        }),
        any::<u32>().prop_map(|content| CatalogueRecord::Look {
            content,
            apart: None
        }),
        (
            any::<u32>(),
            any::<Vec<u8>>(),
            ".*",
            prop::option::of(0..u32::MAX),
            prop::option::of(any::<i64>())
        )
            .prop_map(|(content, name, reason, of, seconds)| {
                let part = |parent| Part {
                    role: PartRole::Member,
                    parent,
                    content: of,
                    name: name.clone(),
                };
                let skipped = SkippedPart {
                    path: name.clone(),
                    reason,
                };
                let date = seconds.map(|seconds| DocumentDate {
                    seconds,
                    source: DateSource::PdfModified,
                });
                let parts = vec![part(None), part(Some(0)), part(Some(1))];
                CatalogueRecord::Look {
                    content,
                    apart: Some((parts, vec![skipped], date)),
                }
            }),
    ]
}

#[test]
fn records_have_the_bytes_that_the_format_names() {
    let bytes = |record: CatalogueRecord| {
        let mut out = Vec::new();
        Encoder::default().record(&record, &mut out);
        out
    };
    let file = EntryKind::File {
        file: 300,
        mtime: -1,
        content: 2,
    };
    let path = b"a".to_vec();
    assert_eq!(
        bytes(CatalogueRecord::Entry { path, what: file }),
        [4, 8, 0, 1, b'a', 1, 0xac, 2, 1, 2]
    );
    let part = Part {
        role: PartRole::Member,
        parent: None,
        content: Some(3),
        name: b"m".to_vec(),
    };
    let skipped = SkippedPart {
        path: b"x".to_vec(),
        reason: "y".to_owned(),
    };
    let date = DocumentDate {
        seconds: -1,
        source: DateSource::PdfModified,
    };
    let apart = Some((vec![part], vec![skipped], Some(date)));
    assert_eq!(
        bytes(CatalogueRecord::Look { content: 2, apart }),
        [3, 15, 2, 2, 1, 2, 0, 4, 1, b'm', 1, 1, b'x', 1, b'y', 1, 4]
    );
    let totals = Totals {
        contents: 1,
        files: 2,
        bytes: 3,
        unread: 4,
    };
    assert_eq!(bytes(CatalogueRecord::End(totals)), [5, 4, 1, 2, 3, 4]);
}

proptest! {
    #[test]
    fn records_come_back(records in prop::collection::vec(any_record(), 0..20)) {
        let mut out = Vec::new();
        let mut encoder = Encoder::default();
        for record in &records {
            encoder.record(record, &mut out);
        }
        let mut decoder = format::Decoder::default();
        let mut reader = resemble_index::varint::Reader(&out);
        for record in records {
            let kind = reader.byte().expect("a kind");
            let length = reader.u64().expect("a length");
            let body = reader.bytes(length as usize).expect("a body");
            prop_assert_eq!(decoder.record(kind, body.to_vec()), Some(record));
        }
    }

    #[test]
    fn any_body_is_a_record_or_refused(kind: u8, body: Vec<u8>) {
        let _record = format::Decoder::default().record(kind % 8, body);
    }
}

const FOLDER: &str = "RESEMBLE_PORTABLE_TEST_FOLDER";

/// Runs in the child process of [`a_failure_of_the_index_is_told_and_not_what_follows_from_it`].
/// The child process has a limit on file sizes.
#[test]
fn limited_loader() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let (params, options) = (Params::default(), resemble_index::Options::default());
    let (index, _) = Index::open(&folder.join("index"), &params, &options).expect("an index");
    let catalogue = open(&folder.join("a.cat")).expect("sound");
    let result = load(&index, &catalogued::of_label("disk"), catalogue);
    assert!(
        matches!(result, Err(CatalogueError::Apply(ApplyError::Io { .. }))),
        "{result:?}"
    );
}

/// After a failure, the loaded part of a catalogue is removed from the index. If the index cannot
/// be written, this removal fails, too. The first failure must be the one that is reported.
#[test]
fn a_failure_of_the_index_is_told_and_not_what_follows_from_it() {
    let temp = tempfile::tempdir().expect("a folder");
    let mut records = vec![head(), entry("", EntryKind::Dir)];
    let mut path = String::new();
    for _ in 0..15 {
        path += &"d".repeat(250);
        records.push(entry(&path, EntryKind::Dir));
        path.push('/');
    }
    // With such long paths, the records need several batches.
    for number in 0..20_000 {
        let link = format!("{path}{number}");
        records.push(entry(&link, EntryKind::Symlink(vec![b'x'; 200])));
    }
    records.push(end(0, 0, 0));
    let file = temp.path().join("a.cat");
    fs::write(&file, bytes_of(&records)).expect("a file");
    let open_index = |name: &str| {
        let (params, options) = (Params::default(), resemble_index::Options::default());
        let opened = Index::open(&temp.path().join(name), &params, &options);
        opened.expect("an index").0
    };
    let root = catalogued::of_label("disk");
    load(&open_index("whole"), &root, open(&file).expect("sound")).expect("loaded");
    drop(open_index("index"));
    // The signal of the size limit is ignored, so that the write returns an error.
    let whole = fs::metadata(temp.path().join("whole")).expect("a file");
    let half = whole.len() / 2 / 512;
    let script = format!("trap '' XFSZ; ulimit -f {half}; exec \"$@\"");
    let done = std::process::Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "tests::limited_loader", "--nocapture"])
        .env(FOLDER, temp.path())
        .output()
        .expect("sh");
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("1 passed"), "{told}");
    let snapshot = open_index("index").snapshot().expect("a snapshot");
    assert!(
        snapshot.entry(&root).expect("read").is_some(),
        "nothing was loaded before the failure"
    );
}

/// Catalogues are changed, and their digests are made correct again.
#[test]
fn changed_catalogues_are_taken_or_refused_as_a_whole() {
    let texts = [
        &b"hello"[..],
        &b"a line of a text \n".repeat(90),
        &[7; 3000],
    ];
    let mut records = vec![head(), entry("", EntryKind::Dir)];
    records.extend(texts.map(|text| packed(&content(text))));
    records.extend([
        entry("a", EntryKind::Dir),
        entry("a/1.txt", file(0, 0)),
        entry("a/2.txt", file(1, 1)),
        entry("b", file(2, 2)),
        entry("b2", file(0, 0)),
        entry("c", EntryKind::Symlink(b"a/1.txt".to_vec())),
        entry("d", EntryKind::Special(SpecialKind::Socket)),
    ]);
    let size = texts.iter().map(|text| text.len() as u64).sum();
    let sample = |records: &[CatalogueRecord], contents, files, bytes| {
        let mut bytes = bytes_of(&[records, &[end(contents, files, bytes)]].concat());
        bytes.truncate(bytes.len() - CHECKSUM);
        bytes
    };
    let samples = vec![sample(&records, 3, 3, size), sample(&records[..2], 0, 0, 0)];
    for sample in &samples {
        loaded(&sealed(sample.clone())).unwrap();
    }
    let mut takes = |bytes: &[u8]| loaded(&sealed(bytes.to_vec())).is_ok();
    resemble_testutil::fuzz("catalogues", 400, samples, &mut takes);
}
