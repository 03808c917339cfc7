//! Tests which commits touch the footprint of an answer, and which do not.

use std::path::Path;

use resemble_core::{ContentId, Params};
use resemble_index::{
    Change, ContentRef, Footprint, Index, NewLook, NewPart, NewState, Options, PartRole,
    PostingKind, Snapshot,
};

use crate::made::{digest, read, stat};

/// Asks a question that reads the same as a listing, and returns its footprint. The question reads
/// a file, the contents that have one of these keys, and the names of the files of these contents.
fn footprint(index: &Index, path: &str, keys: &[u64]) -> Footprint {
    let snapshot = index.snapshot().unwrap().noting();
    let row = snapshot.file_at(Path::new(path)).unwrap().unwrap();
    let own = row.state.content().unwrap();
    let mut met: Vec<ContentId> = vec![own];
    let kind = PostingKind::Fingerprint;
    let limit = snapshot.boilerplate_limit();
    snapshot
        .postings_up_to(kind, keys, limit, &mut |_, contents| met.extend(contents))
        .unwrap();
    for content in met {
        names(&snapshot, content);
    }
    snapshot.footprint().unwrap()
}

fn names(snapshot: &Snapshot, content: ContentId) {
    for file in snapshot.files_of(content).unwrap() {
        assert!(!snapshot.paths(file).unwrap().is_empty());
    }
}

fn index(limit: u32) -> Index {
    let options = Options {
        boilerplate_limit: limit,
        ..Options::default()
    };
    let index = Index::in_memory_with(&Params::default(), &options).unwrap();
    let file = |n: u64, prints: &[u64]| read(format!("/d/{n}"), n, digest(n, &[n as u32], prints));
    index
        .apply(vec![
            file(1, &[10, 11]),
            file(2, &[11, 12]),
            file(3, &[20, 21]),
            file(4, &[21]),
            read("/e/5", 5, digest(5, &[5], &[30])),
        ])
        .unwrap();
    index
}

/// A change of something that the question read touches the footprint. A change of anything else
/// does not.
#[test]
fn a_commit_touches_what_it_changes_and_nothing_else() {
    let known = |index: &Index, path: &str| {
        let row = index.snapshot().unwrap().file_at(Path::new(path)).unwrap();
        row.unwrap()
    };
    let elsewhere: [(&str, Vec<Change>); 6] = [
        (
            "another file",
            vec![read("/d/6", 6, digest(6, &[6], &[40, 22]))],
        ),
        (
            "another content",
            vec![read("/d/3", 3, digest(7, &[7], &[20]))],
        ),
        ("a removal", vec![Change::Remove("/d/4".into())]),
        (
            "a folder elsewhere",
            vec![Change::Rename {
                from: "/e".into(),
                to: "/f".into(),
            }],
        ),
        (
            "the same again",
            vec![read("/d/1", 1, digest(1, &[1], &[10, 11]))],
        ),
        (
            "a new time",
            vec![Change::Stat {
                file: known(&index(1000), "/d/2").id,
                stat: stat(2, 77),
            }],
        ),
    ];
    for (what, changes) in elsewhere {
        let index = index(1000);
        let mut kept = footprint(&index, "/d/1", &[10, 11]);
        index.apply(changes).unwrap();
        index.put_record("a", b"b").unwrap();
        assert!(index.snapshot().unwrap().is_untouched(&mut kept), "{what}");
    }
    let part = |digest| NewPart {
        role: PartRole::Member,
        parent: None,
        name: b"name".to_vec(),
        content: Some(ContentRef::New(Box::new(digest))),
    };
    let near: [(&str, Vec<Change>); 10] = [
        ("a key", vec![read("/d/6", 6, digest(6, &[6], &[10]))]),
        ("its content", vec![read("/d/1", 1, digest(7, &[7], &[50]))]),
        ("it is gone", vec![Change::Remove("/d/1".into())]),
        (
            "the other's content",
            vec![read("/d/2", 2, digest(7, &[7], &[50]))],
        ),
        ("the other is gone", vec![Change::Remove("/d".into())]),
        ("a copy", vec![read("/e/2", 6, digest(2, &[2], &[11, 12]))]),
        (
            "the other's name",
            vec![Change::Rename {
                from: "/d/2".into(),
                to: "/d/0".into(),
            }],
        ),
        (
            "the other's folder",
            vec![Change::Rename {
                from: "/d".into(),
                to: "/c".into(),
            }],
        ),
        (
            "another name of the other",
            vec![Change::Link {
                path: "/a".into(),
                file: known(&index(1000), "/d/2").id,
            }],
        ),
        (
            "a place in an archive",
            vec![
                read("/d/6", 6, digest(6, &[6], &[60])),
                Change::Look {
                    path: "/d/6".into(),
                    content: digest(6, &[6], &[60]).content,
                    look: NewLook::Apart {
                        parts: vec![part(digest(2, &[2], &[11, 12]))],
                        skipped: Vec::new(),
                        date: None,
                        again: false,
                    },
                },
            ],
        ),
    ];
    for (what, changes) in near {
        let index = index(1000);
        let mut kept = footprint(&index, "/d/1", &[10, 11]);
        index.apply(changes).unwrap();
        assert!(!index.snapshot().unwrap().is_untouched(&mut kept), "{what}");
    }
}

/// A boilerplate key nominates no pair, so it does not matter which contents have the key. Such a
/// key touches an answer only when it becomes boilerplate, or ceases to be boilerplate.
#[test]
fn one_more_of_what_is_boilerplate_touches_nothing() {
    let index = index(2);
    let more = |n: u64, print: u64| {
        let change = read(format!("/m/{n}"), 100 + n, digest(100 + n, &[], &[print]));
        index.apply(vec![change]).unwrap();
    };
    let untouched = |kept: &mut Footprint| index.snapshot().unwrap().is_untouched(kept);
    more(1, 11);
    // Now three contents have key 11, so it is boilerplate.
    let mut kept = footprint(&index, "/d/1", &[10, 11]);
    more(2, 11);
    more(3, 30);
    assert!(untouched(&mut kept));
    more(4, 30);
    assert!(!untouched(&mut kept), "another key is boilerplate now");
    let mut kept = footprint(&index, "/d/1", &[10, 11]);
    index.apply(vec![Change::Remove("/m/4".into())]).unwrap();
    assert!(!untouched(&mut kept), "it is none any more");
}

#[test]
fn what_a_footprint_does_not_have_makes_none() {
    let index = index(1000);
    let asked = |ask: &dyn Fn(&Snapshot)| {
        let snapshot = index.snapshot().unwrap().noting();
        ask(&snapshot);
        snapshot.footprint().is_some()
    };
    assert!(asked(&|_| {}));
    assert!(index.snapshot().unwrap().footprint().is_none());
    assert!(!asked(&|snapshot| snapshot.note_outside()));
    assert!(!asked(&|snapshot| drop(snapshot.list(Path::new("/d")))));
    assert!(!asked(&|snapshot| drop(
        snapshot.file_at(Path::new("/none"))
    )));
    assert!(!asked(&|snapshot| drop(snapshot.totals())));
    // An unreadable file has no content that could be touched, and may be readable a moment later.
    let unreadable = Change::File {
        path: "/x".into(),
        stat: stat(9, 1),
        state: NewState::Unreadable(13),
    };
    index.apply(vec![unreadable]).unwrap();
    assert!(!asked(&|snapshot| drop(snapshot.file_at(Path::new("/x")))));
    // A footprint is not valid in another index.
    let mut kept = footprint(&index, "/d/1", &[10]);
    assert!(
        !self::index(1000)
            .snapshot()
            .unwrap()
            .is_untouched(&mut kept)
    );
}
