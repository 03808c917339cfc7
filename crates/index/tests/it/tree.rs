//! Tests of data that the model does not have: ids, postings and rows that must stay when names
//! change.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use resemble_core::{ContentId, EditedDigest, FileId};
use resemble_index::{ApplyError, Change, ContentRef, Entry, FileState, NewState};

use crate::made::{digest, memory, posting_rows, read, sound, stat};

fn content_at(index: &resemble_index::Index, path: &str) -> ContentId {
    let snapshot = index.snapshot().unwrap();
    snapshot
        .file_at(Path::new(path))
        .unwrap()
        .unwrap()
        .state
        .content()
        .unwrap()
}

#[test]
fn a_rename_a_copy_and_a_link_add_no_posting_and_no_content() {
    let index = memory();
    index
        .apply(
            (0..50)
                .map(|n| read(format!("/a/d/{n}"), n, digest(n, &[n as u32, 77], &[n, 99])))
                .collect(),
        )
        .unwrap();
    let rows = posting_rows(&index);
    let (file, content) = {
        let snapshot = index.snapshot().unwrap();
        let row = snapshot.file_at(Path::new("/a/d/7")).unwrap().unwrap();
        (row.id, row.state.content().unwrap())
    };
    index
        .apply(vec![Change::Rename {
            from: "/a/d".into(),
            to: "/b/e".into(),
        }])
        .unwrap();
    assert_eq!(
        sound(&index).paths(file).unwrap(),
        [PathBuf::from("/b/e/7")]
    );
    index
        .apply(vec![Change::Link {
            path: "/b/hard".into(),
            file,
        }])
        .unwrap();
    let copy = |reference| Change::File {
        path: "/c/copy".into(),
        stat: stat(900, 3),
        state: NewState::Settled(reference),
    };
    index.apply(vec![copy(ContentRef::Known(content))]).unwrap();
    index
        .apply(vec![copy(ContentRef::New(Box::new(digest(
            7,
            &[7, 77],
            &[7, 99],
        ))))])
        .unwrap();
    index
        .apply(vec![Change::Stat {
            file,
            stat: stat(7, 12),
        }])
        .unwrap();
    let snapshot = sound(&index);
    assert_eq!(posting_rows(&index), rows);
    assert_eq!(snapshot.totals().unwrap().contents, 50);
    assert_eq!(content_at(&index, "/c/copy"), content);
    assert_eq!(content_at(&index, "/b/hard"), content);
    assert_eq!(snapshot.content(content).unwrap().unwrap().files, 2);
    assert_eq!(
        snapshot.paths(file).unwrap(),
        [PathBuf::from("/b/e/7"), PathBuf::from("/b/hard")]
    );
    assert_eq!(snapshot.file(file).unwrap().unwrap().stat, stat(7, 12));
}

#[test]
fn equal_content_is_stored_once_even_within_a_batch() {
    let index = memory();
    index
        .apply(
            (0..20)
                .map(|n| read(format!("/same/{n}"), n, digest(1, &[1, 2], &[3])))
                .collect(),
        )
        .unwrap();
    let snapshot = sound(&index);
    let totals = snapshot.totals().unwrap();
    assert_eq!(
        (
            totals.contents,
            totals.files,
            totals.chunks,
            totals.fingerprints
        ),
        (1, 20, 2, 1)
    );
    assert_eq!(
        snapshot
            .files_of(content_at(&index, "/same/3"))
            .unwrap()
            .len(),
        20
    );
}

#[test]
fn equal_prefixes_are_not_equal_contents() {
    let index = memory();
    let (one, two) = (digest(5, &[1], &[]), digest(5 | 1 << 56, &[2], &[]));
    assert_eq!(one.content.0[..8], two.content.0[..8]);
    index
        .apply(vec![read("/1", 1, one.clone()), read("/2", 2, two.clone())])
        .unwrap();
    let snapshot = sound(&index);
    let ids = [&one, &two].map(|d| snapshot.content_by_digest(&d.content).unwrap().unwrap());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(snapshot.chunks(ids[1]).unwrap(), two.chunks);
}

#[test]
fn a_file_that_moves_by_remove_and_add_keeps_its_content() {
    let index = memory();
    index
        .apply(vec![read("/old", 1, digest(1, &[1], &[1]))])
        .unwrap();
    let content = content_at(&index, "/old");
    let rows = posting_rows(&index);
    index
        .apply(vec![
            Change::Remove("/old".into()),
            read("/new", 2, digest(1, &[1], &[1])),
        ])
        .unwrap();
    assert_eq!(content_at(&index, "/new"), content);
    assert_eq!(posting_rows(&index), rows);
    // The content loses its last file in this batch. A reference to the content is valid until the
    // end of the batch.
    index
        .apply(vec![
            Change::Remove("/new".into()),
            Change::File {
                path: "/newer".into(),
                stat: stat(3, 1),
                state: NewState::Unsettled(ContentRef::Known(content)),
            },
        ])
        .unwrap();
    let snapshot = sound(&index);
    let row = snapshot.file_at(Path::new("/newer")).unwrap().unwrap();
    assert_eq!(row.state, FileState::Unsettled(content));
}

#[test]
fn a_content_that_is_gone_is_told_and_nothing_else_fails() {
    let index = memory();
    index
        .apply(vec![read("/a", 1, digest(1, &[1], &[1]))])
        .unwrap();
    let gone = content_at(&index, "/a");
    index.apply(vec![Change::Remove("/a".into())]).unwrap();
    let grown = EditedDigest {
        base: digest(1, &[1], &[1]).content,
        edits: Vec::new(),
        fingerprints: None,
        digest: Box::new(digest(5, &[5], &[5])),
    };
    let applied = index
        .apply(vec![
            Change::File {
                path: "/x/b".into(),
                stat: stat(2, 1),
                state: NewState::Settled(ContentRef::Known(gone)),
            },
            Change::File {
                path: "/x/grown".into(),
                stat: stat(4, 1),
                state: NewState::Settled(ContentRef::Edited(Box::new(grown))),
            },
            Change::Link {
                path: "/x/c".into(),
                file: FileId(0),
            },
            Change::Stat {
                file: FileId(0),
                stat: stat(1, 1),
            },
            read("/d", 3, digest(2, &[2], &[])),
        ])
        .unwrap();
    let expected = ["/x/b", "/x/grown", "/x/c"].map(PathBuf::from);
    assert_eq!(applied.gone, expected);
    assert_eq!(applied.contents.len(), 1);
    let snapshot = sound(&index);
    assert_eq!(snapshot.entry(Path::new("/x")).unwrap(), None);
    assert_eq!(snapshot.content(gone).unwrap(), None);
}

#[test]
fn was_is_what_the_path_had_even_if_an_editor_replaced_the_file() {
    let index = memory();
    index
        .apply(vec![read("/doc", 1, digest(1, &[1], &[]))])
        .unwrap();
    let first = content_at(&index, "/doc");
    // The file was saved by a rename, so another inode is now at the path.
    let applied = index
        .apply(vec![read("/doc", 2, digest(2, &[2], &[]))])
        .unwrap();
    assert_eq!(applied.contents[0].was, Some(first));
    let second = content_at(&index, "/doc");
    assert_eq!(applied.contents[0].content, Some(second));
    // The file was moved, but only the new name was seen.
    let applied = index
        .apply(vec![read("/moved", 2, digest(2, &[2], &[]))])
        .unwrap();
    assert_eq!(applied.contents[0].was, Some(second));
    assert_eq!(sound(&index).totals().unwrap().files, 1);
}

#[test]
fn ids_are_never_given_out_again() {
    let index = memory();
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..10u64 {
        index
            .apply(vec![read(
                "/a/f",
                round + 1,
                digest(round, &[round as u32], &[]),
            )])
            .unwrap();
        assert!(seen.insert(content_at(&index, "/a/f")));
        index.apply(vec![Change::Remove("/a".into())]).unwrap();
        if round == 5 {
            index.finish_bulk().unwrap();
        }
    }
    let totals = sound(&index).totals().unwrap();
    assert_eq!((totals.contents, totals.files, totals.chunks), (0, 0, 0));
}

#[test]
fn an_inode_number_that_another_file_had_names_the_new_one() {
    let index = memory();
    index
        .apply(vec![
            read("/a", 1, digest(1, &[1], &[])),
            read("/b", 2, digest(2, &[2], &[])),
        ])
        .unwrap();
    let file = |path: &str| {
        index
            .snapshot()
            .unwrap()
            .file_at(Path::new(path))
            .unwrap()
            .map(|row| row.id)
    };
    let (a, b) = (file("/a").unwrap(), file("/b").unwrap());
    index
        .apply(vec![Change::Stat {
            file: b,
            stat: stat(1, 9),
        }])
        .unwrap();
    let by_inode = |ino| {
        index
            .snapshot()
            .unwrap()
            .file_by_inode(&stat(0, 0).fs, ino)
            .unwrap()
    };
    assert_eq!((by_inode(1), by_inode(2)), (Some(b), None));
    // File `b` has taken over the inode number of `a`. Removing `a` must not affect `b`.
    index.apply(vec![Change::Remove("/a".into())]).unwrap();
    assert_eq!(by_inode(1), Some(b));
    assert_eq!((file("/a"), file("/b")), (None, Some(b)));
    assert_ne!(a, b);
    sound(&index);
}

#[test]
fn a_bad_path_refuses_the_whole_batch() {
    let index = memory();
    for bad in ["relative/a", "/a/../b", ""] {
        let done = index.apply(vec![
            read("/good", 1, digest(1, &[1], &[1])),
            read(bad, 2, digest(2, &[1], &[1])),
        ]);
        assert!(matches!(done, Err(ApplyError::BadPath { .. })), "{bad}");
    }
    assert!(
        index
            .apply(vec![read("/", 1, digest(1, &[1], &[]))])
            .is_err()
    );
    let rename = Change::Rename {
        from: "/".into(),
        to: "/a".into(),
    };
    assert!(index.apply(vec![rename]).is_err());
    let snapshot = sound(&index);
    assert_eq!(snapshot.totals().unwrap().contents, 0);
    assert_eq!(snapshot.entry(Path::new("/good")).unwrap(), None);
    assert_eq!(snapshot.entry(Path::new("relative")).unwrap(), None);
    index
        .apply(vec![read("/good", 1, digest(1, &[1], &[1]))])
        .unwrap();
    sound(&index);
}

#[test]
fn walks_are_in_the_order_of_whole_paths_and_stop_when_told() {
    let index = memory();
    let paths = [
        "/r/a/c", "/r/a-b", "/r/a/-", "/r/a-/x", "/r/a-/-", "/r/a0", "/r/a.d/e", "/s",
    ];
    index
        .apply(
            (1..)
                .zip(paths)
                .map(|(n, path)| read(path, n, digest(n, &[], &[])))
                .collect(),
        )
        .unwrap();
    let snapshot = sound(&index);
    let walk = |from: &str, most: usize| {
        let mut seen = Vec::new();
        snapshot
            .walk(Path::new(from), &mut |path, _| {
                seen.push(path.to_str().unwrap().to_owned());
                if seen.len() == most {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .unwrap();
        seen
    };
    let all = walk("/", usize::MAX);
    assert!(all.is_sorted(), "{all:?}");
    assert_eq!(all.len(), 1 + paths.len() + 4);
    assert_eq!(walk("/r/a", usize::MAX), ["/r/a", "/r/a/-", "/r/a/c"]);
    assert_eq!(walk("/r/a0", usize::MAX), ["/r/a0"]);
    assert_eq!(walk("/r", 3).len(), 3);
    assert!(walk("/none", usize::MAX).is_empty());
    assert!(matches!(
        snapshot.entry(Path::new("/")).unwrap(),
        Some(Entry::Dir(_))
    ));
}

#[test]
fn records_are_kept_by_name() {
    let index = memory();
    index.put_record("roots/1", b"one").unwrap();
    index
        .put_records(&[("roots/2", Some(b"two")), ("roost", Some(b"")), ("z", None)])
        .unwrap();
    index.put_record("roots/1", b"uno").unwrap();
    let snapshot = index.snapshot().unwrap();
    // A record with an equal value is not written again.
    index.put_record("roots/2", b"two").unwrap();
    index.put_records(&[("none", None)]).unwrap();
    let again = index.snapshot().unwrap();
    assert_eq!(again.generation(), snapshot.generation());
    let roots = snapshot.records("roots/").unwrap();
    assert_eq!(
        roots,
        [
            ("roots/1".into(), b"uno".to_vec()),
            ("roots/2".into(), b"two".to_vec())
        ]
    );
    assert_eq!(snapshot.record("roost").unwrap(), Some(Vec::new()));
    index.put_records(&[("roots/1", None)]).unwrap();
    assert_eq!(index.snapshot().unwrap().records("").unwrap().len(), 2);
    assert_eq!(
        snapshot.records("").unwrap().len(),
        3,
        "a snapshot stays as it was"
    );
    assert_eq!(sound(&index).record("roots/1").unwrap(), None);
}

#[test]
fn deep_and_wide_trees() {
    let index = memory();
    let deep: PathBuf = std::iter::once("/")
        .chain(std::iter::repeat_n("d", 1500))
        .collect();
    index
        .apply(vec![read(deep.join("f"), 1, digest(1, &[1], &[]))])
        .unwrap();
    index
        .apply(
            (0..3000)
                .map(|n| read(format!("/wide/{n}"), n + 10, digest(2, &[2], &[])))
                .collect(),
        )
        .unwrap();
    let snapshot = sound(&index);
    let file = snapshot.file_at(&deep.join("f")).unwrap().unwrap().id;
    assert_eq!(snapshot.paths(file).unwrap(), [deep.join("f")]);
    let mut count = 0;
    snapshot
        .walk(Path::new("/"), &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(count, 1 + 1501 + 3001);
    index
        .apply(vec![
            Change::Remove("/d".into()),
            Change::Remove("/wide".into()),
        ])
        .unwrap();
    assert_eq!(sound(&index).totals().unwrap().contents, 0);
}
