//! Tests that the index has the last durable commit after the process was killed, and that the
//! index opens at once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use resemble_index::Change;

use crate::made::{digest, open, read, sound};

const FOLDER: &str = "RESEMBLE_INDEX_TEST_FOLDER";
/// The environment variable that sets how often a batch is durable. With the value `n`, one batch
/// in `n` is durable, and the others are applied with `apply_for_now`.
const DURABLE: &str = "RESEMBLE_INDEX_TEST_DURABLE";

/// Makes batch `n`, which has three files. Either all three must be in the index, or none.
fn batch(n: u64) -> Vec<Change> {
    let file = |k: u64| {
        let name = n * 3 + k;
        let prints: Vec<_> = (0..40).map(|p| name * 100 + p).collect();
        read(
            format!("/k/{n}/{k}"),
            name + 1,
            digest(name, &[name as u32, 4], &prints),
        )
    };
    let mut changes = vec![file(0), file(1), file(2)];
    if n >= 10 {
        changes.push(Change::Remove(format!("/k/{}", n - 10).into()));
    }
    changes
}

/// The process that the next test starts and kills. It is not a test itself.
#[test]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let durable: u64 = std::env::var(DURABLE).unwrap().parse().unwrap();
    let index = open(&Path::new(&folder).join("index"), 1000);
    for n in 0.. {
        if n % durable == 0 {
            index.apply(batch(n)).unwrap();
        } else {
            index.apply_for_now(batch(n)).unwrap();
        }
        println!("\ncommitted {n}");
    }
}

#[test]
fn a_killed_writer_leaves_its_last_durable_commit() {
    for (wait_for, durable) in [(0, 1), (3, 1), (25, 1), (0, 4), (3, 4), (26, 4)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::writer", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(DURABLE, durable.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut committed = None;
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut seen = |line: &str| {
            if let Some(n) = line.strip_prefix("committed ") {
                committed = Some(n.parse::<u64>().unwrap());
            }
            committed
        };
        while seen(&lines.next().unwrap()) != Some(wait_for) {}
        child.kill().unwrap();
        child.wait().unwrap();
        // Reads the remaining lines, which the process printed before it was killed.
        for line in lines {
            seen(&line);
        }
        let committed = committed.unwrap();
        let start = Instant::now();
        let index = open(&folder.path().join("index"), 1000);
        assert!(
            start.elapsed().as_secs() < 5,
            "no repair by walking everything"
        );
        let snapshot = sound(&index);
        let list = snapshot.list(Path::new("/k")).unwrap();
        let newest = list
            .iter()
            .map(|(n, _)| n.to_str().unwrap().parse::<u64>().unwrap())
            .max();
        // The process may have been killed between a commit and the printing of its line.
        let newest = newest.unwrap();
        assert_eq!(newest % durable, 0, "a commit that is not durable");
        assert!(
            newest + durable > committed && newest <= committed + 1,
            "{newest} after {committed}"
        );
        assert_eq!(list.len() as u64, (newest + 1).min(10));
        assert_eq!(snapshot.totals().unwrap().files, list.len() as u64 * 3);
        drop(snapshot);
        index.apply(batch(newest + 1)).unwrap();
        sound(&index);
    }
}

#[test]
fn a_copy_of_the_file_of_a_living_index_is_its_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let index = open(&path, 1000);
    for n in 0..12 {
        index.apply(batch(n)).unwrap();
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        // It must be possible to open the copy without a repair, which would read the whole file.
        assert!(resemble_index::testing::opens_without_repair(&copy));
        fs::copy(&path, &copy).unwrap();
        let copied = open(&copy, 1000);
        let snapshot = sound(&copied);
        assert!(
            snapshot
                .file_at(format!("/k/{n}/2").as_ref())
                .unwrap()
                .is_some()
        );
        drop(snapshot);
        copied.apply(batch(n + 1)).unwrap();
        sound(&copied);
    }
}

#[test]
fn what_is_for_now_lasts_when_it_is_persisted_or_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let copy = folder.path().join("copy");
    let index = open(&path, 1000);
    let copied = || {
        fs::copy(&path, &copy).unwrap();
        let index = open(&copy, 1000);
        sound(&index).totals().unwrap().files
    };
    index.apply(batch(0)).unwrap();
    index.apply_for_now(batch(1)).unwrap();
    assert_eq!((sound(&index).totals().unwrap().files, copied()), (6, 3));
    assert!(!index.persist(Duration::from_secs(3600)).unwrap());
    assert_eq!(copied(), 3);
    assert!(index.persist(Duration::ZERO).unwrap());
    assert!(!index.persist(Duration::ZERO).unwrap(), "nothing is left");
    assert_eq!(copied(), 6);
    index.apply_for_now(batch(2)).unwrap();
    index.apply(batch(3)).unwrap();
    assert_eq!(copied(), 12, "a durable commit brings those before it");
    index.apply_for_now(batch(4)).unwrap();
    index.close().unwrap();
    assert_eq!(copied(), 15);
}

#[test]
fn dropping_without_closing_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    for n in 0..12 {
        let index = open(&path, 1000);
        if n % 2 == 0 {
            index.apply(batch(n)).unwrap();
        } else {
            index.apply_for_now(batch(n)).unwrap();
        }
        drop(index);
    }
    let index = open(&path, 1000);
    assert_eq!(sound(&index).totals().unwrap().files, 30);
}
