//! Tests that the last commit of a file can still be read if the file cannot be written. The disk
//! is full, or the file system is read-only. There is no cache.

use std::fs;
use std::path::Path;

use resemble_core::Params;
use resemble_index::{ApplyError, Change, Index, OpenError, Options, ReadError, Snapshot};

use resemble_testutil::{TempTree, fill, tmpfs};

use crate::made::{digest, read};

/// There is no cache, so all data are read from the file.
const OPTIONS: Options = Options {
    cache_bytes: 0,
    boilerplate_limit: 1000,
};

/// Makes batch `n`, which has 100 files with their own postings.
fn batch(n: u64) -> Vec<Change> {
    let file = |k: u64| {
        let name = n * 100 + k;
        let prints: Vec<_> = (0..90).map(|p| name * 1000 + p).collect();
        read(
            format!("/d{n}/{k}"),
            name + 1,
            digest(name, &[name as u32], &prints),
        )
    };
    (0..100).map(file).collect()
}

fn open(path: &Path) -> Result<Index, OpenError> {
    let (index, set_aside) = Index::open(path, &Params::default(), &OPTIONS)?;
    assert_eq!(set_aside, None);
    Ok(index)
}

fn last_commit(path: &Path) -> Result<Snapshot, OpenError> {
    Index::last_commit(path, &Params::default(), &OPTIONS)
}

/// Checks that everything in the index can be read, and that the index has exactly this number of
/// batches.
fn holds(snapshot: &Snapshot, batches: u64) {
    assert_eq!(snapshot.check().unwrap(), Vec::<String>::new());
    assert_eq!(snapshot.totals().unwrap().files, batches * 100);
    for n in 0..batches {
        let file = snapshot.file_at(format!("/d{n}/7").as_ref()).unwrap();
        let content = file.and_then(|file| file.state.content()).unwrap();
        assert_eq!(snapshot.signature(content).unwrap().fingerprints.len(), 90);
    }
}

#[test]
fn a_full_disk() {
    let place = TempTree::new();
    let Some(disk) = tmpfs(place.path("disk"), "16m") else {
        return;
    };
    let path = disk.path("index");
    let index = open(&path).unwrap();
    for n in 0..5 {
        index.apply(batch(n)).unwrap();
    }
    let filler = disk.path("filler");
    fill(&filler);
    let mut batches = 5;
    let error = loop {
        match index.apply(batch(batches)) {
            Ok(_) => batches += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ApplyError::DiskFull { .. }), "{error}");
    let unread = index.snapshot().map(|snapshot| snapshot.totals());
    assert!(
        matches!(unread, Err(ReadError::Closed { .. })),
        "nothing is cached: {unread:?}"
    );
    drop(index);
    let before = fs::read(&path).unwrap();
    holds(&last_commit(&path).unwrap(), batches);
    assert!(fs::read(&path).unwrap() == before, "nothing was written");
    fs::remove_file(filler).unwrap();
    let index = open(&path).unwrap();
    holds(&index.snapshot().unwrap(), batches);
    index.apply(batch(batches)).unwrap();
    holds(&index.snapshot().unwrap(), batches + 1);
}

#[test]
fn a_read_only_file_system() {
    let place = TempTree::new();
    let Some(disk) = tmpfs(place.path("disk"), "64m") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let writer = open(&folder.path().join("index")).unwrap();
    for n in 0..5 {
        writer.apply(batch(n)).unwrap();
    }
    // This file was copied while it was open. It is like a file on a disk that became read-only
    // during a write.
    let path = disk.path("index");
    fs::copy(folder.path().join("index"), &path).unwrap();
    disk.remount("ro");
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Permission { .. }), "{error}");
    let snapshot = last_commit(&path).unwrap();
    holds(&snapshot, 5);
    // There are two readers. The second is used after the first is dropped.
    let other = last_commit(&path).unwrap();
    drop(snapshot);
    holds(&other.clone(), 5);
    disk.remount("rw");
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    drop(other);
    let index = open(&path).unwrap();
    index.apply(batch(5)).unwrap();
    holds(&index.snapshot().unwrap(), 6);
    let error = last_commit(&path).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
}

#[test]
fn what_is_no_index_has_no_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let error = last_commit(&path).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    for bytes in [&b""[..], b"this is no index"] {
        fs::write(&path, bytes).unwrap();
        let error = last_commit(&path).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::remove_file(&path).unwrap();
    drop(open(&path).unwrap());
    holds(&last_commit(&path).unwrap(), 0);
}
