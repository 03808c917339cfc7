//! Readers run while a writer commits. Each snapshot must show exactly one commit.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use resemble_core::Params;
use resemble_index::{Change, Index, Options, PostingKind, Snapshot};

use crate::made::{digest, read};

#[test]
fn every_snapshot_is_one_commit() {
    let options = Options {
        boilerplate_limit: 5,
        ..Options::default()
    };
    let index = Index::in_memory_with(&Params::default(), &options).unwrap();
    let done = AtomicBool::new(false);
    let (checked, frequent) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                loop {
                    let last = done.load(Ordering::SeqCst);
                    let snapshot = index.snapshot().unwrap();
                    let problems = snapshot.check().unwrap();
                    assert_eq!(problems, Vec::<String>::new());
                    // Boilerplate is in memory, and contents are in the file. Boilerplate and
                    // contents must belong to the same commit.
                    let contents = snapshot.totals().unwrap().contents;
                    let said = snapshot
                        .is_boilerplate(PostingKind::Fingerprint, 9)
                        .unwrap();
                    assert_eq!(said, contents > 5, "{contents} contents");
                    checked.fetch_add(1, Ordering::SeqCst);
                    frequent.fetch_add(u64::from(said), Ordering::SeqCst);
                    if last {
                        break;
                    }
                }
            });
        }
        for round in 0..200u64 {
            // The number of contents repeatedly grows to 8 and falls to 0.
            let name = |n: u64| format!("/r/{}", n % 8);
            let change = if round % 16 < 8 {
                read(
                    name(round),
                    round + 1,
                    digest(round, &[round as u32], &[9, round + 100]),
                )
            } else {
                Change::Remove(name(round).into())
            };
            index.apply(vec![change]).unwrap();
            if round % 40 == 39 {
                index.finish_bulk().unwrap();
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(checked.load(Ordering::SeqCst) >= 2);
    assert!(frequent.load(Ordering::SeqCst) >= 1);
}

#[test]
fn a_held_snapshot_stays_as_it_was() {
    let index = crate::made::memory();
    index
        .apply(
            (0..100)
                .map(|n| read(format!("/{n}"), n, digest(n, &[1], &[n])))
                .collect(),
        )
        .unwrap();
    let held = index.snapshot().unwrap();
    index.apply(vec![Change::Remove("/".into())]).unwrap();
    index.finish_bulk().unwrap();
    index
        .apply(vec![read("/0", 500, digest(500, &[2], &[]))])
        .unwrap();
    assert_eq!(held.totals().unwrap().contents, 100);
    assert!(held.file_at(Path::new("/7")).unwrap().is_some());
    assert_eq!(held.check().unwrap(), Vec::<String>::new());
    assert_eq!(crate::made::sound(&index).totals().unwrap().contents, 1);
}

/// If several threads change a record, and each new value depends on the old one, no change is
/// lost.
#[test]
fn records_change_by_what_they_are() {
    let index = Index::in_memory(&Params::default()).unwrap();
    let number = |record: Option<Vec<u8>>| -> u32 {
        record.map_or(0, |record| {
            String::from_utf8(record).unwrap().parse().unwrap()
        })
    };
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..25 {
                    let add = |now: &Snapshot| {
                        let next = number(now.record("count")?) + 1;
                        Ok(vec![(
                            "count".to_owned(),
                            Some(next.to_string().into_bytes()),
                        )])
                    };
                    index.update_records(add).unwrap();
                }
            });
        }
    });
    let after = index.snapshot().unwrap();
    assert_eq!(number(after.record("count").unwrap()), 100);
    // If there is nothing to change, there is no commit.
    index.update_records(|_| Ok(Vec::new())).unwrap();
    assert_eq!(index.snapshot().unwrap().generation(), after.generation());
}
