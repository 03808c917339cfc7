//! A file that cannot be written answers with its last commit: on a full disk, on a read-only file
//! system, and with a cache that holds next to nothing of it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use resemble_core::Params;
use resemble_index::{ApplyError, Change, Index, OpenError, Options, ReadError, Snapshot};

use crate::made::{digest, read};

/// Nothing is cached: every read is one of the file.
const OPTIONS: Options = Options {
    cache_bytes: 0,
    boilerplate_limit: 1000,
};

/// Some 100 files with postings of their own.
fn batch(n: u64) -> Vec<Change> {
    let file = |k: u64| {
        let name = n * 100 + k;
        let prints: Vec<_> = (0..100).map(|p| name * 1000 + p).collect();
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

/// Everything in it can be read, and is that many batches.
fn holds(snapshot: &Snapshot, batches: u64) {
    assert_eq!(snapshot.check().unwrap(), Vec::<String>::new());
    assert_eq!(snapshot.totals().unwrap().files, batches * 100);
    for n in 0..batches {
        let file = snapshot.file_at(format!("/d{n}/7").as_ref()).unwrap();
        let content = file.and_then(|file| file.state.content()).unwrap();
        assert_eq!(snapshot.signature(content).unwrap().fingerprints.len(), 100);
    }
}

#[test]
fn a_full_disk() {
    let Some(disk) = Tmpfs::mount("16m") else {
        return;
    };
    let path = disk.0.join("index");
    let index = open(&path).unwrap();
    for n in 0..5 {
        index.apply(batch(n)).unwrap();
    }
    let filler = disk.0.join("filler");
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
    let Some(disk) = Tmpfs::mount("64m") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let writer = open(&folder.path().join("index")).unwrap();
    for n in 0..5 {
        writer.apply(batch(n)).unwrap();
    }
    // As a file system that is remounted under a writer has it: never closed.
    let path = disk.0.join("index");
    fs::copy(folder.path().join("index"), &path).unwrap();
    mount(&["-o", "remount,ro"], &disk.0);
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Permission { .. }), "{error}");
    let snapshot = last_commit(&path).unwrap();
    holds(&snapshot, 5);
    // Several readers, and one that outlives the first.
    let other = last_commit(&path).unwrap();
    drop(snapshot);
    holds(&other.clone(), 5);
    mount(&["-o", "remount,rw"], &disk.0);
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

/// Writes until nothing fits any more.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 16, 1] {
        while file.write_all(&vec![7; size]).is_ok() {}
    }
}

/// A file system that goes with the test. Needs root; without, the test says so.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(size: &str) -> Option<Self> {
        let at = tempfile::tempdir().unwrap().keep();
        let size = format!("size={size},mode=0700");
        if mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], &at) {
            return Some(Self(at));
        }
        let required = ["RESEMBLE_REQUIRE_FUSE", "RESEMBLE_REQUIRE_ROOT"];
        let required = required.iter().any(|name| std::env::var_os(name).is_some());
        assert!(!required, "cannot mount a tmpfs");
        println!("SKIPPED: a full disk needs the right to mount a tmpfs");
        None
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let done = Command::new("mount").args(arguments).arg(at).status();
    done.is_ok_and(|status| status.success())
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
        fs::remove_dir(&self.0).ok();
    }
}
