//! Tests of the log of names that departed, and of their new places.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_callers::{AccessCheck, Listable, Seen, SeenPlace};
use resemble_core::ContentDigest;
use resemble_index::{Change, Gap, Index, LeftOutRule};

use crate::made::{digest, memory, open, read, sound, stat};

fn file(path: &str, number: u64) -> Change {
    read(path, number, digest(number, &[number as u32], &[number]))
}

/// Returns a departure in the same form as [`departed`]: the content with this number (`None` for
/// 0), and the new name of the file. The name is empty if the file vanished.
#[allow(clippy::unnecessary_wraps)] // it is compared with what may be unknown
fn went(number: u64, to: &str) -> Option<(Option<ContentDigest>, PathBuf)> {
    let content = (number > 0).then(|| digest(number, &[], &[]).content);
    Some((content, to.into()))
}

fn vanished(number: u64) -> Option<(Option<ContentDigest>, PathBuf)> {
    went(number, "")
}

fn rename(from: &str, to: &str) -> Change {
    Change::Rename {
        from: from.into(),
        to: to.into(),
    }
}

fn gone(path: &str) -> Change {
    Change::Vanished(path.into())
}

fn departed(index: &Index, path: &str) -> Option<(Option<ContentDigest>, PathBuf)> {
    let found = sound(index).departures().unwrap().of(Path::new(path));
    let (time, departed) = found.into_iter().next()?;
    assert!(time > 1_700_000_000);
    let to = departed.to.map(|to| to.path);
    Some((departed.content, to.unwrap_or_default()))
}

/// Makes an index of `/r/1`, `/r/2`, `/r/3` and `/r/d/4`. The last digit is also the number of the
/// content.
fn index() -> Index {
    let index = memory();
    let files = [("/r/1", 1), ("/r/2", 2), ("/r/3", 3), ("/r/d/4", 4)];
    let changes = files.map(|(path, number)| file(path, number));
    index.apply(changes.into()).unwrap();
    index
}

#[test]
fn what_vanished_is_known_by_its_content() {
    let index = index();
    index.apply(vec![gone("/r/1"), gone("/r/d")]).unwrap();
    assert_eq!(departed(&index, "/r/1"), vanished(1));
    assert_eq!(departed(&index, "/r/d/4"), vanished(4));
    for never in ["/r/2", "/r/d/5", "/r", "/"] {
        assert_eq!(departed(&index, never), None, "{never}");
    }
    // The file was created again with another content, and vanished again.
    index.apply(vec![file("/r/1", 9)]).unwrap();
    index.apply(vec![gone("/r/1")]).unwrap();
    assert_eq!(departed(&index, "/r/1"), vanished(9));
}

#[test]
fn renames_are_followed_of_files_and_of_folders() {
    let index = index();
    index.apply(vec![rename("/r/d", "/r/e")]).unwrap();
    assert_eq!(departed(&index, "/r/d/4"), went(4, "/r/e/4"));
    index.apply(vec![rename("/r/e/4", "/r/5")]).unwrap();
    index.apply(vec![rename("/r/1", "/r/e/1")]).unwrap();
    assert_eq!(departed(&index, "/r/d"), went(0, "/r/e"));
    assert_eq!(departed(&index, "/r/d/4"), went(4, "/r/5"));
    assert_eq!(departed(&index, "/r/1"), went(1, "/r/e/1"));
    index.apply(vec![gone("/r/5")]).unwrap();
    assert_eq!(departed(&index, "/r/d/4"), vanished(4));
    // Two files exchange their names by three renames. At the end, each old name except `/r/x` is
    // the name of another file.
    index.apply(vec![rename("/r/2", "/r/x")]).unwrap();
    index.apply(vec![rename("/r/3", "/r/2")]).unwrap();
    index.apply(vec![rename("/r/x", "/r/3")]).unwrap();
    assert_eq!(departed(&index, "/r/x"), went(2, "/r/3"));
    assert_eq!(departed(&index, "/r/2"), went(2, "/r/3"));
}

#[test]
fn what_is_there_again_did_not_go() {
    let index = index();
    // An editor saves a file by removing and creating it, or by renaming another file to its name.
    index.apply(vec![gone("/r/1"), file("/r/1", 8)]).unwrap();
    index.apply(vec![file("/r/.2.tmp", 9)]).unwrap();
    index.apply(vec![rename("/r/.2.tmp", "/r/2")]).unwrap();
    for path in ["/r/1", "/r/2", "/r/.2.tmp"] {
        assert_eq!(departed(&index, path), None, "{path}");
    }
    // A symbolic link replaces a folder, so the files in the folder have vanished.
    let link = Change::Symlink {
        path: "/r/d".into(),
        target: b"/elsewhere".to_vec(),
    };
    index.apply(vec![link]).unwrap();
    assert_eq!(departed(&index, "/r/d/4"), vanished(4));
}

#[test]
fn what_is_forgotten_is_not_known() {
    let index = index();
    let changes = vec![gone("/r/1"), gone("/r/d"), rename("/r/2", "/r/x")];
    index.apply(changes).unwrap();
    // From now on, a rule leaves the directory out. So the departures from this directory are
    // forgotten.
    let gap = Change::Gap {
        path: "/r/d".into(),
        gap: Gap::LeftOut(LeftOutRule::Exclude),
    };
    index.apply(vec![gap]).unwrap();
    assert_eq!(departed(&index, "/r/d/4"), None);
    assert_eq!(departed(&index, "/r/1"), vanished(1));
    // If only the new name of a rename is forgotten, the content of the old name is still known.
    index.apply(vec![Change::Remove("/r/x".into())]).unwrap();
    assert_eq!(departed(&index, "/r/2"), vanished(2));
    let changes = vec![rename("/r/3", "/r/x"), Change::Remove("/r/x".into())];
    index.apply(changes).unwrap();
    assert_eq!(departed(&index, "/r/3"), vanished(3));
    index.apply(vec![Change::Remove("/r".into())]).unwrap();
    assert_eq!(departed(&index, "/r/1"), None);
}

#[test]
fn it_is_known_after_a_restart() {
    let temp = resemble_testutil::TempTree::new();
    let path = temp.path("index.redb");
    let index = open(&path, 1000);
    index.apply(vec![file("/r/1", 1), file("/r/2", 2)]).unwrap();
    index.apply(vec![gone("/r/1")]).unwrap();
    index.close().unwrap();
    let index = open(&path, 1000);
    assert_eq!(departed(&index, "/r/1"), vanished(1));
}

/// An access check that allows the caller to list only these folders.
#[derive(Debug)]
struct Lister(&'static [&'static str]);

impl AccessCheck for Lister {
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        let place = SeenPlace::default();
        let look = |path: &PathBuf| match path.to_str() {
            Some(path) if self.0.contains(&path) => Seen::Folder(place, Listable(true)),
            Some("/r/closed") => Seen::Folder(place, Listable(false)),
            _ => Seen::Nothing,
        };
        Ok(paths.iter().map(look).collect())
    }
}

#[test]
fn a_caller_learns_of_a_name_only_in_a_folder_that_he_can_list() {
    let index = memory();
    let files = ["/r/open/1", "/r/closed/2", "/r/gone/3"];
    let files = files.into_iter().zip(1..);
    let changes = files.map(|(path, number)| file(path, number));
    index.apply(changes.collect()).unwrap();
    let all = ["/r/open/1", "/r/closed/2", "/r/gone"].map(gone);
    index.apply(all.into()).unwrap();
    let snapshot = index
        .snapshot()
        .unwrap()
        .seen_by(Arc::new(Lister(&["/r", "/r/open"])));
    let log = snapshot.departures().unwrap();
    let knows = |path: &str| {
        let path = Path::new(path);
        snapshot.shows_departure(path).unwrap() && !log.of(path).is_empty()
    };
    assert!(knows("/r/open/1"));
    assert!(!knows("/r/closed/2") && !knows("/r/gone/3") && !knows("/r/open/none"));
}

#[test]
fn a_file_with_another_name_is_there() {
    let index = index();
    let known = index.snapshot().unwrap().file_by_inode(&stat(1, 1).fs, 1);
    let second = Change::Link {
        path: "/r/second".into(),
        file: known.unwrap().unwrap(),
    };
    index.apply(vec![second]).unwrap();
    index.apply(vec![gone("/r/1")]).unwrap();
    assert_eq!(departed(&index, "/r/1"), went(1, "/r/second"));
    index
        .apply(vec![rename("/r/second", "/r/d/third")])
        .unwrap();
    assert_eq!(departed(&index, "/r/1"), went(1, "/r/d/third"));
    index.apply(vec![gone("/r/d/third")]).unwrap();
    assert_eq!(departed(&index, "/r/1"), vanished(1));
}
