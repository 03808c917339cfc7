//! Opens files of any kind. Nothing panics, no file of another program is lost, and data of
//! different indexes are never mixed. Further tests close and compact an index.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_core::params::ChunkParams;
use resemble_index::{Change, FORMAT_VERSION, Index, OpenError, Options, SetAside};

use crate::made::{digest, open, read, sound};
use resemble_testutil::random::Random;

struct Folder {
    _guard: tempfile::TempDir,
    path: PathBuf,
    aside: PathBuf,
}

fn folder() -> Folder {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.redb");
    let aside = folder.path().join("index.redb.set-aside");
    Folder {
        path,
        aside,
        _guard: folder,
    }
}

fn files(range: std::ops::Range<u64>) -> Vec<Change> {
    range
        .map(|n| {
            read(
                format!("/d{}/f{n}", n % 9),
                n + 1,
                digest(n, &[n as u32, 1], &[n, n / 2]),
            )
        })
        .collect()
}

fn open_any(path: &Path, params: &Params) -> (Index, Option<SetAside>) {
    Index::open(
        path,
        params,
        &Options {
            cache_bytes: 1 << 20,
            ..Options::default()
        },
    )
    .unwrap()
}

#[test]
fn a_missing_file_is_made_for_its_owner_only() {
    let at = folder();
    open(&at.path, 1000).close().unwrap();
    assert_eq!(
        fs::metadata(&at.path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // A crash directly after the creation of the file leaves it empty.
    fs::write(&at.path, b"").unwrap();
    open(&at.path, 1000);
    assert!(!at.aside.exists());
}

#[test]
fn a_missing_folder_and_a_folder_in_place_of_the_file_are_errors() {
    let at = folder();
    let options = Options::default();
    let missing = at.path.join("none/index");
    let error = Index::open(&missing, &Params::default(), &options).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains("none/index"));
    fs::create_dir(&at.path).unwrap();
    let error = Index::open(&at.path, &Params::default(), &options).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(at.path.is_dir());
}

#[test]
fn a_file_in_use_is_an_error_with_a_remedy() {
    let at = folder();
    let index = open(&at.path, 1000);
    let error = Index::open(&at.path, &Params::default(), &Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }));
    assert!(error.to_string().contains("stop it"), "{error}");
    index.apply(files(0..3)).unwrap();
    drop(index);
    sound(&open(&at.path, 1000));
}

#[test]
fn what_is_no_index_is_set_aside_whole() {
    let at = folder();
    for garbage in [&b"Dear diary"[..], &[0; 10_000], &[0xff; 5000]] {
        fs::write(&at.path, garbage).unwrap();
        let (index, aside) = open_any(&at.path, &Params::default());
        let aside = aside.unwrap();
        assert_eq!(aside.moved_to, at.aside);
        assert!(!aside.reason.is_empty());
        assert_eq!(fs::read(&at.aside).unwrap(), garbage);
        index.apply(files(0..3)).unwrap();
        sound(&index);
    }
    assert_eq!(
        fs::read_dir(at.path.parent().unwrap()).unwrap().count(),
        2,
        "one set aside"
    );
}

#[test]
fn another_programs_redb_file_is_set_aside() {
    let at = folder();
    let table = redb::TableDefinition::<u64, u64>::new("meta");
    for name in ["meta", "something"] {
        let database = redb::Database::create(&at.path).unwrap();
        let txn = database.begin_write().unwrap();
        if name == "meta" {
            txn.open_table(table).unwrap().insert(1, 1).unwrap();
        } else {
            txn.open_multimap_table(redb::MultimapTableDefinition::<u64, u64>::new(name))
                .unwrap();
        }
        txn.commit().unwrap();
        drop(database);
        let (index, aside) = open_any(&at.path, &Params::default());
        assert!(aside.unwrap().reason.contains("another program"), "{name}");
        drop(index);
        fs::remove_file(&at.path).unwrap();
    }
}

#[test]
fn another_format_version_is_set_aside() {
    let at = folder();
    let index = open(&at.path, 1000);
    index.apply(files(0..3)).unwrap();
    index.close().unwrap();
    let next = FORMAT_VERSION + 1;
    let mut bytes = fs::read(&at.path).unwrap();
    bytes[16..20].copy_from_slice(&next.to_le_bytes());
    fs::write(&at.path, bytes).unwrap();
    let (index, aside) = open_any(&at.path, &Params::default());
    assert!(aside.unwrap().reason.contains(&format!("version {next}")));
    assert_eq!(index.snapshot().unwrap().totals().unwrap().files, 0);
}

#[test]
fn other_params_are_set_aside_and_never_mixed() {
    let at = folder();
    let index = open(&at.path, 1000);
    index.apply(files(0..3)).unwrap();
    index.close().unwrap();
    let other = Params {
        chunk: ChunkParams::scaled(4096).unwrap(),
        ..Params::default()
    };
    let (index, aside) = open_any(&at.path, &other);
    let reason = aside.unwrap().reason;
    assert!(reason.contains(&other.to_string()), "{reason}");
    assert!(reason.contains(&Params::default().to_string()), "{reason}");
    assert_eq!(index.params(), &other);
    assert_eq!(index.snapshot().unwrap().totals().unwrap().files, 0);
}

#[test]
fn closing_gives_space_back_and_keeps_everything() {
    let at = folder();
    let index = open(&at.path, 1000);
    for batch in 0..10 {
        index.apply(files(batch * 500..(batch + 1) * 500)).unwrap();
    }
    index
        .apply(
            (500..5000)
                .map(|n| Change::Remove(format!("/d{}/f{n}", n % 9).into()))
                .collect(),
        )
        .unwrap();
    index.finish_bulk().unwrap();
    let file = fs::metadata(&at.path).unwrap();
    let before = file.len();
    assert_eq!(
        index.snapshot().unwrap().totals().unwrap().index_bytes,
        file.blocks() * 512
    );
    index.close().unwrap();
    let after = fs::metadata(&at.path).unwrap().len();
    assert!(after < before / 2, "{before} → {after}");
    let mut index = open(&at.path, 1000);
    assert_eq!(sound(&index).totals().unwrap().files, 500);
    assert!(index.verify().unwrap());
    // While a snapshot exists, the file is not compacted, and nothing is lost.
    let held = index.snapshot().unwrap();
    index.apply(files(6000..6010)).unwrap();
    index.close().unwrap();
    drop(held);
    assert_eq!(sound(&open(&at.path, 1000)).totals().unwrap().files, 510);
}

/// Compacting reads the whole file. So closing an index compacts it only if something was written.
#[test]
fn closing_leaves_a_file_alone_that_was_not_written_to() {
    let at = folder();
    let index = open(&at.path, 1000);
    index.apply(files(0..5000)).unwrap();
    let most = (100..5000).map(|n| Change::Remove(format!("/d{}/f{n}", n % 9).into()));
    index.apply(most.collect()).unwrap();
    index.finish_bulk().unwrap();
    let held = index.snapshot().unwrap();
    index.close().unwrap();
    drop(held);
    let length = || fs::metadata(&at.path).unwrap().len();
    let before = length();
    open(&at.path, 1000).close().unwrap();
    assert_eq!(length(), before);
    let index = open(&at.path, 1000);
    index.apply(files(6000..6001)).unwrap();
    index.close().unwrap();
    assert!(length() < before / 2, "{before} → {}", length());
}

/// Compacting a large file takes seconds. So the file is not compacted when the index is closed,
/// but later, while the index is open and idle.
#[test]
fn closing_leaves_a_large_file_as_it_is_and_the_next_idle_time_compacts_it() {
    let at = folder();
    let index = open(&at.path, 1000);
    index.apply(files(0..100)).unwrap();
    let large = vec![1u8; 40 << 20];
    let names: Vec<String> = (0..8).map(|n| format!("test/{n}")).collect();
    for name in &names {
        index.put_records(&[(name, Some(&large))]).unwrap();
    }
    // The last record stays. The record is near the end of the file, so the file cannot simply be
    // cut off.
    let none = names[..7].iter().map(|name| (name.as_str(), None));
    index.put_records(&none.collect::<Vec<_>>()).unwrap();
    index.close().unwrap();
    let bytes = || fs::metadata(&at.path).unwrap().len();
    assert!(bytes() > 256 << 20, "{}", bytes());
    let index = open(&at.path, 1000);
    assert!(index.compact().unwrap());
    assert_eq!(sound(&index).totals().unwrap().files, 100);
    index.close().unwrap();
    assert!(bytes() < 200 << 20, "{}", bytes());
}

/// During the merges of a first scan, the file has the old and the new postings. Afterwards the
/// space of the old ones is unused.
#[test]
fn a_running_index_gives_back_what_it_needs_no_more() {
    let at = folder();
    let index = open(&at.path, 1000);
    for batch in 0..6 {
        let read = |n: u64| {
            let prints: Vec<u64> = (0..300).map(|k| (n * 300 + k) * 977 % (1 << 31)).collect();
            read(
                format!("/{batch}/{n}"),
                n + 1,
                digest(n, &[n as u32], &prints),
            )
        };
        let files = (batch * 1500..(batch + 1) * 1500).map(read);
        index.apply(files.collect()).unwrap();
    }
    index.finish_bulk().unwrap();
    let before = fs::metadata(&at.path).unwrap().len();
    let held = index.snapshot().unwrap();
    assert!(!index.compact().unwrap(), "a reader holds its pages");
    drop(held);
    // After the file is opened again, it is still known how many bytes are unused.
    drop(index);
    let index = open(&at.path, 1000);
    assert!(index.compact().unwrap());
    let after = fs::metadata(&at.path).unwrap().len();
    assert!(after < before * 2 / 3, "{before} → {after}");
    assert!(!index.compact().unwrap(), "there is nothing to gain");
    // The index can be read and written, and nothing is lost if the process is killed.
    assert_eq!(sound(&index).totals().unwrap().files, 9000);
    index.apply(files(20_000..20_010)).unwrap();
    std::mem::forget(index);
    let copy = at.path.with_extension("copy");
    fs::copy(&at.path, &copy).unwrap();
    assert_eq!(sound(&open(&copy, 1000)).totals().unwrap().files, 9010);
}

fn ask_everything(index: &Index) {
    use resemble_core::{ContentId, FileId};
    let Ok(snapshot) = index.snapshot() else {
        return;
    };
    let _checked = snapshot.check();
    let _totals = snapshot.totals();
    let _walked = snapshot.walk(Path::new("/"), &mut |_, _| {
        std::ops::ControlFlow::Continue(())
    });
    let keys: Vec<u64> = (0..300).collect();
    for kind in resemble_index::PostingKind::ALL {
        let _found = snapshot.postings(kind, &keys, &mut |_, _| ());
    }
    for id in 0..50 {
        let _chunks = snapshot.chunks(ContentId(id));
        let _signature = snapshot.signature(ContentId(id));
        let _files = snapshot.files_of(ContentId(id));
        let _paths = snapshot.paths(FileId(id));
    }
}

/// Opens a damaged file and uses it. This must not panic. Module `rot` tests whether answers are
/// right.
fn survive(at: &Folder, bytes: &[u8]) {
    fs::write(&at.path, bytes).unwrap();
    let (index, _aside) = open_any(&at.path, &Params::default());
    ask_everything(&index);
    let _applied = index.apply(files(300..303));
    let _merged = index.finish_bulk();
    ask_everything(&index);
    let _closed = index.close();
}

fn sample() -> (Folder, Vec<u8>) {
    let at = folder();
    let index = open(&at.path, 1000);
    index.apply(files(0..300)).unwrap();
    index.apply(files(1000..1010)).unwrap();
    index.close().unwrap();
    let bytes = fs::read(&at.path).unwrap();
    (at, bytes)
}

#[test]
fn cut_files_never_panic() {
    let (at, bytes) = sample();
    let mut cuts: Vec<usize> = (0..24).map(|n| bytes.len() * n / 24).collect();
    cuts.extend([1, 8, 63, 64, 320, 4095, 4096, 4097, bytes.len() - 1]);
    for cut in cuts {
        survive(&at, &bytes[..cut]);
    }
}

#[test]
fn flipped_bits_never_panic() {
    let (at, bytes) = sample();
    let mut random = Random::new(11);
    for round in 0..120 {
        let mut damaged = bytes.clone();
        // The rounds alternate between three changes: one bit near the front, one bit anywhere, or
        // 64 bits.
        let (from, span) = if round % 3 == 0 {
            (0, 512)
        } else {
            (0, bytes.len())
        };
        let flips = if round % 3 == 2 { 64 } else { 1 };
        for _ in 0..flips {
            let byte = from + (random.draw() as usize) % span;
            damaged[byte] ^= 1 << (random.draw() % 8);
        }
        survive(&at, &damaged);
    }
}

#[test]
fn overwritten_pages_never_panic() {
    let (at, bytes) = sample();
    let mut random = Random::new(12);
    for round in 0..60 {
        let mut damaged = bytes.clone();
        let page = (random.draw() as usize) % (bytes.len() / 4096);
        let other = (random.draw() as usize) % (bytes.len() / 4096);
        match round % 3 {
            0 => damaged[page * 4096..(page + 1) * 4096].fill(0),
            1 => damaged[page * 4096..(page + 1) * 4096].fill(random.draw() as u8),
            _ => damaged.copy_within(other * 4096..(other + 1) * 4096, page * 4096),
        }
        survive(&at, &damaged);
    }
}

#[test]
fn verify_finds_a_flipped_bit_that_reading_would_not() {
    let (at, bytes) = sample();
    let mut missed = 0;
    for page in 1..bytes.len() / 4096 {
        let mut damaged = bytes.clone();
        damaged[page * 4096 + 100] ^= 1;
        fs::write(&at.path, &damaged).unwrap();
        let (mut index, aside) = open_any(&at.path, &Params::default());
        let sound = aside.is_none() && matches!(index.verify(), Ok(true));
        missed += usize::from(sound);
    }
    // Changes of unused pages, and of the unused end of a page, have no effect.
    assert!(missed < bytes.len() / 4096 / 2, "{missed}");
}
