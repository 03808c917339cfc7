//! Tests the index of a command: which files it scans and caches, and how it works without a cache.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_scan::ingest::{Listing, Observer, Unobserved};
use resemble_scan::walk::Stat;
use resemble_testutil::in_a_process_of_its_own;

fn options(cache: Option<PathBuf>) -> LocalOptions {
    LocalOptions {
        cache,
        cache_bytes: LocalOptions::CACHE_BYTES,
        params: Params::default(),
        own: Vec::new(),
        part_reader: None,
        catalogues: None,
    }
}

/// The program's own folders are left out, even if they are named through a symbolic link. A
/// relative path starts from the working directory.
#[test]
fn our_own_folders_are_left_out() {
    let temp = tempfile::tempdir().expect("a folder");
    let tree = temp.path().canonicalize().expect("a folder").join("tree");
    for folder in ["docs", "cache", "state/deep"] {
        fs::create_dir_all(tree.join(folder)).expect("a folder");
        fs::write(tree.join(folder).join("file"), folder).expect("a file");
    }
    let link = temp.path().join("link");
    std::os::unix::fs::symlink(tree.join("state"), &link).expect("a link");
    let files = |cache: Option<PathBuf>, own: &[PathBuf]| {
        let options = LocalOptions {
            own: own.to_vec(),
            ..options(cache)
        };
        let mut local = LocalIndex::open(options).expect("open");
        let paths = [tree.clone()];
        local.refresh(&paths, &mut Unobserved).expect("looked at");
        let snapshot = local.snapshot().expect("a snapshot");
        snapshot.totals().expect("totals").files
    };
    assert_eq!(files(None, &[]), 3);
    assert_eq!(files(None, &[tree.join("state")]), 2);
    assert_eq!(files(None, std::slice::from_ref(&link)), 2);
    assert_eq!(files(None, &[tree.join("cache"), link]), 1);
    assert_eq!(files(Some(tree.join("cache/cache.redb")), &[]), 2);
    // These relative paths lead to folders of the working directory, so nothing in the tree is left
    // out. The fourth file is the cache that the previous command made.
    assert_eq!(files(None, &["state".into(), "a/b".into(), "".into()]), 4);
}

#[test]
fn a_second_command_reads_nothing_that_has_not_changed() {
    let temp = tempfile::tempdir().expect("a folder");
    let (tree, cache) = (
        temp.path().join("tree"),
        temp.path().join("cache/cache.redb"),
    );
    fs::create_dir(&tree).expect("a folder");
    for n in 0..20 {
        let path = tree.join(format!("{n}.txt"));
        fs::write(&path, vec![n; 5000]).expect("a file");
        let old = fs::File::options().write(true).open(&path).expect("a file");
        old.set_modified(std::time::SystemTime::UNIX_EPOCH)
            .expect("an old file");
    }
    let read = |paths: &[PathBuf]| {
        let mut local = LocalIndex::open(options(Some(cache.clone()))).expect("open");
        assert_eq!(local.take_note(), None);
        let report = local.refresh(paths, &mut Unobserved).expect("looked at");
        let files = local
            .snapshot()
            .expect("a snapshot")
            .totals()
            .expect("totals")
            .files;
        local.close();
        (report.progress.files_read, files)
    };
    let tree = [tree];
    assert_eq!(read(&tree).0, 20);
    // The files have only just changed, so they may be read again. But the index still has the same
    // 20 files.
    assert_eq!(read(&tree).1, 20);
}

/// The index has the files below the directory, because an earlier question named a subdirectory.
/// When a later question names the directory itself, these files are gone.
#[test]
fn a_cache_has_nothing_below_a_named_directory_that_cannot_be_listed() {
    let name = "local::a_cache_has_nothing_below_a_named_directory_that_cannot_be_listed";
    if in_a_process_of_its_own(name, true) {
        return;
    }
    let temp = tempfile::tempdir().expect("a folder");
    let tree = temp.path().canonicalize().expect("a folder").join("tree");
    let below = tree.join("below");
    fs::create_dir_all(&below).expect("a folder");
    fs::write(below.join("file"), "text").expect("a file");
    let cache = temp.path().join("cache/cache.redb");
    let entries = |named: &PathBuf| {
        let mut local = LocalIndex::open(options(Some(cache.clone()))).expect("open");
        let paths = std::slice::from_ref(named);
        local.refresh(paths, &mut Unobserved).expect("looked at");
        let snapshot = local.snapshot().expect("a snapshot");
        let names = snapshot.list(named).expect("readable");
        let unlisted = snapshot.unlisted_within(paths).expect("readable");
        drop(snapshot);
        local.close();
        (names.len(), unlisted.len())
    };
    assert_eq!(entries(&below), (1, 0));
    let mode = |mode| fs::set_permissions(&tree, Permissions::from_mode(mode)).expect("chmod");
    mode(0o300);
    fs::remove_file(below.join("file")).expect("removed");
    assert_eq!(entries(&tree), (0, 1));
    mode(0o700);
    assert_eq!(entries(&tree), (1, 0));
}

#[test]
fn a_cache_in_use_or_without_a_place_is_done_without() {
    let temp = tempfile::tempdir().expect("a folder");
    let cache = temp.path().join("cache.redb");
    let mut first = LocalIndex::open(options(Some(cache.clone()))).expect("open");
    let mut second = LocalIndex::open(options(Some(cache))).expect("open all the same");
    assert_eq!(first.take_note(), None);
    let note = second.take_note().expect("a note");
    let in_use = "the cache is not used: it is in use by another question; ";
    assert!(note.starts_with(in_use), "{note}");
    let nowhere = PathBuf::from("/dev/null/cache.redb");
    let mut third = LocalIndex::open(options(Some(nowhere))).expect("open all the same");
    assert!(third.take_note().is_some());
}

#[test]
fn a_missing_path_is_named() {
    let mut local = LocalIndex::open(options(None)).expect("open");
    let failure = local.refresh(&["/no/such/path".into()], &mut Unobserved);
    let said = failure.expect_err("missing").to_string();
    assert!(said.contains("/no/such/path"), "{said}");
}

/// An observer that removes `folder` as soon as it is found. It removes `files` when the folder
/// `last` is listed.
struct Remover {
    folder: PathBuf,
    files: Vec<PathBuf>,
    last: PathBuf,
}

impl Observer for Remover {
    fn found_directories(&mut self, dirs: &[(&Path, Stat)]) -> bool {
        if dirs.iter().any(|(dir, _)| *dir == self.folder) {
            fs::remove_dir_all(&self.folder).expect("removed");
        }
        // No directory is listed before its turn.
        false
    }

    fn before_listing(&mut self, dir: &Path) -> Listing {
        if dir == self.last {
            for file in self.files.drain(..) {
                fs::remove_file(file).expect("removed");
            }
        }
        Listing::Go
    }
}

/// A file may vanish after it was found. If it was not opened before, it is reported. If it was
/// read before, it stays in the index.
#[test]
fn what_vanishes_meanwhile_is_said() {
    let temp = tempfile::tempdir().expect("a folder");
    let tree = temp.path().canonicalize().expect("a folder").join("tree");
    let folders = ["a", "b", "c"].map(|name| tree.join(name));
    for folder in &folders {
        fs::create_dir_all(folder).expect("a folder");
    }
    let [a, b, c] = folders;
    fs::write(b.join("x"), "x").expect("a file");
    let files: Vec<PathBuf> = (0..600).map(|n| a.join(n.to_string())).collect();
    for file in &files {
        fs::write(file, vec![b'x'; 20_000]).expect("a file");
    }
    let mut local = LocalIndex::open(options(None)).expect("open");
    let mut remover = Remover {
        folder: b.clone(),
        files: files.clone(),
        last: c,
    };
    let report = local.refresh(&[tree], &mut remover).expect("looked at");
    assert!(remover.files.is_empty());
    assert!(report.vanished.contains(&b), "{:?}", report.vanished);
    let snapshot = local.snapshot().expect("a snapshot");
    for file in &files {
        let is_known = snapshot.entry(file).expect("readable").is_some();
        assert!(is_known != report.vanished.contains(file), "{file:?}");
    }
}
