//! Tests of the origins of contents. An origin is the time and the name at which a content was
//! first seen.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_callers::{AccessCheck, Seen, SeenPlace};
use resemble_index::{
    Change, ContentRef, Gap, Index, LeftOutRule, NewLook, NewPart, PartRole, Snapshot,
};

use crate::made::{digest, memory, open, read, sound, stat};

/// Makes a file with this inode number and the content with this number.
fn file(path: &str, ino: u64, content: u64) -> Change {
    read(path, ino, digest(content, &[content as u32], &[content]))
}

fn rename(from: &str, to: &str) -> Change {
    Change::Rename {
        from: from.into(),
        to: to.into(),
    }
}

/// Applies the changes as one batch at the given time.
fn apply(index: &Index, time: i64, changes: Vec<Change>) {
    let time = std::iter::once(Change::Time(time));
    index.apply(time.chain(changes).collect()).unwrap();
}

fn first_seen(snapshot: &Snapshot, content: u64) -> Option<(i64, PathBuf)> {
    let digest = digest(content, &[], &[]).content;
    let content = snapshot.content_by_digest(&digest).unwrap()?;
    let first = snapshot.first_seen(content).unwrap()?;
    Some((first.time, first.path))
}

fn known(index: &Index, content: u64) -> Option<(i64, PathBuf)> {
    first_seen(&sound(index), content)
}

#[allow(clippy::unnecessary_wraps)] // it is compared with what may be unknown
fn at(time: i64, path: &str) -> Option<(i64, PathBuf)> {
    Some((time, path.into()))
}

#[test]
fn the_first_name_stays_whoever_has_the_content_later() {
    let index = memory();
    apply(&index, 10, vec![file("/r/a", 1, 1), file("/r/b", 2, 1)]);
    apply(
        &index,
        20,
        vec![file("/r/d/copy", 3, 1), file("/r/x", 4, 2)],
    );
    assert_eq!(known(&index, 1), at(10, "/r/a"));
    assert_eq!(known(&index, 2), at(20, "/r/x"));
    // `/r/a` is renamed and then edited, and `/r/b` vanishes. `/r/d/copy` still has the content, so
    // the origin stays.
    apply(&index, 30, vec![rename("/r/a", "/r/d/a")]);
    assert_eq!(known(&index, 1), at(10, "/r/a"));
    let vanished = Change::Vanished("/r/b".into());
    apply(&index, 40, vec![file("/r/d/a", 1, 3), vanished]);
    assert_eq!(known(&index, 1), at(10, "/r/a"));
    assert_eq!(known(&index, 3), at(40, "/r/d/a"));
    // If no file has a content any more, its origin is deleted. The content gets a new origin when
    // a file has it again.
    apply(&index, 50, vec![Change::Vanished("/r/d/copy".into())]);
    assert_eq!(known(&index, 1), None);
    apply(&index, 60, vec![file("/r/again", 9, 1)]);
    assert_eq!(known(&index, 1), at(60, "/r/again"));
}

#[test]
fn a_folder_takes_the_name_along_or_away() {
    let index = memory();
    apply(&index, 10, vec![file("/r/d/a", 1, 1), file("/r/e/b", 2, 2)]);
    apply(&index, 20, vec![file("/r/a", 3, 1), file("/r/b", 4, 2)]);
    apply(&index, 30, vec![rename("/r/d", "/r/f")]);
    assert_eq!(known(&index, 1), at(10, "/r/f/a"));
    // `/r/f` has vanished, and `/r/e` was removed on purpose.
    apply(&index, 40, vec![Change::Vanished("/r/f".into())]);
    apply(&index, 40, vec![Change::Remove("/r/e".into())]);
    assert_eq!((known(&index, 1), known(&index, 2)), (None, None));
    // A new file with the old name does not restore the origin.
    apply(&index, 50, vec![file("/r/f/a", 5, 3)]);
    assert_eq!(known(&index, 1), None);
}

/// If folders exchange their names, the index gets a link to the new name of each file in them.
#[test]
fn files_that_change_places_take_it_along() {
    let names = ["/r/a/f", "/r/b/f", "/r/c/f"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let moved = |to: [&str; 3], gone: Option<&str>| {
            let index = memory();
            let files = (1..).zip(names).map(|(n, name)| file(name, n, n));
            apply(&index, 10, files.collect());
            let before = index.snapshot().unwrap();
            let links = order.map(|n| Change::Link {
                path: to[n].into(),
                file: before.file_at(Path::new(names[n])).unwrap().unwrap().id,
            });
            let gone = gone.map(|gone| Change::Vanished(gone.into()));
            apply(&index, 20, links.into_iter().chain(gone).collect());
            [1, 2, 3].map(|content| known(&index, content))
        };
        let cycle = moved(["/r/b/f", "/r/c/f", "/r/a/f"], None);
        assert_eq!(cycle, names.map(|name| at(10, name)), "{order:?}");
        // The folder `/r/a` vanishes, so the origin of its file changes to the new name of that
        // file.
        let chain = moved(["/r/b/f", "/r/c/f", "/r/d/f"], Some("/r/a"));
        let first = ["/r/b/f", "/r/b/f", "/r/c/f"];
        assert_eq!(chain, first.map(|name| at(10, name)), "{order:?}");
    }
}

/// `/r/a` moves to `/r/a/a`, so a folder now has its old name. `/r/d/e` moves to `/r/d`, so it
/// takes the name of its former folder.
#[test]
fn a_file_that_moves_below_its_own_name_stays() {
    let index = memory();
    apply(&index, 10, vec![file("/r/a", 1, 1), file("/r/d/e", 2, 2)]);
    let before = index.snapshot().unwrap();
    let link = |to: &str, from: &str| Change::Link {
        path: to.into(),
        file: before.file_at(Path::new(from)).unwrap().unwrap().id,
    };
    apply(
        &index,
        20,
        vec![link("/r/a/a", "/r/a"), link("/r/d", "/r/d/e")],
    );
    assert_eq!(known(&index, 1), at(10, "/r/a"));
    assert_eq!(known(&index, 2), at(10, "/r/d"));
}

#[test]
fn a_name_that_is_left_out_is_forgotten() {
    let index = memory();
    apply(&index, 10, vec![file("/r/a", 1, 1), file("/r/b", 2, 1)]);
    let gap = Change::Gap {
        path: "/r/a".into(),
        gap: Gap::LeftOut(LeftOutRule::Exclude),
    };
    apply(&index, 20, vec![gap]);
    assert_eq!(known(&index, 1), None);
}

#[test]
fn a_member_is_first_seen_in_its_archive() {
    let index = memory();
    let member = digest(2, &[2], &[2]);
    let look = Change::Look {
        path: "/r/box.zip".into(),
        content: digest(1, &[], &[]).content,
        look: NewLook::Apart {
            parts: vec![NewPart {
                role: PartRole::Member,
                parent: None,
                name: b"in".to_vec(),
                content: Some(ContentRef::New(Box::new(member))),
            }],
            skipped: Vec::new(),
            date: None,
            again: false,
        },
    };
    apply(&index, 10, vec![file("/r/box.zip", 1, 1), look]);
    apply(&index, 20, vec![file("/r/out", 2, 2)]);
    assert_eq!(known(&index, 2), at(10, "/r/box.zip"));
}

#[test]
fn it_is_known_after_a_restart_and_not_of_what_came_without_a_time() {
    let temp = resemble_testutil::TempTree::new();
    let path = temp.path("index.redb");
    let index = open(&path, 1000);
    apply(&index, 10, vec![file("/r/a", 1, 1)]);
    index.apply(vec![file("/r/b", 2, 2)]).unwrap();
    index.close().unwrap();
    let index = open(&path, 1000);
    assert_eq!(known(&index, 1), at(10, "/r/a"));
    // If a content was added without a time, its origin is not known. It stays unknown when a copy
    // is added later.
    apply(&index, 20, vec![file("/r/c", 3, 2)]);
    assert_eq!(known(&index, 2), None);
}

/// An access check that finds the file with this inode number at every path.
#[derive(Debug)]
struct Looker(u64);

impl AccessCheck for Looker {
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        let stat = stat(self.0, 1);
        let [mtime, ctime] = [stat.mtime, stat.ctime].map(|at| (at.secs, at.nanos));
        let file = SeenPlace {
            ino: self.0,
            size: stat.size.get(),
            mtime,
            ctime,
            ..SeenPlace::default()
        };
        Ok(vec![Seen::File(file); paths.len()])
    }
}

/// A restricted caller never gets an origin. Otherwise the answer would depend on files that the
/// caller is not allowed to see.
#[test]
fn a_caller_learns_nothing_not_even_by_silence() {
    let alone = memory();
    apply(&alone, 20, vec![file("/mine", 2, 1)]);
    let later = memory();
    apply(&later, 10, vec![file("/secret", 1, 1)]);
    apply(&later, 20, vec![file("/mine", 2, 1)]);
    assert_eq!(known(&alone, 1), at(20, "/mine"));
    assert_eq!(known(&later, 1), at(10, "/secret"));
    for index in [alone, later] {
        let snapshot = index.snapshot().unwrap().seen_by(Arc::new(Looker(2)));
        assert!(snapshot.file_at(Path::new("/mine")).unwrap().is_some());
        assert_eq!(first_seen(&snapshot, 1), None);
    }
}
