//! Tests that gaps are stored and counted. They are shown only to callers who are allowed to know
//! them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_callers::{AccessCheck, Listable, Seen, SeenPlace};
use resemble_core::Params;
use resemble_index::{Change, DirGaps, Gap, Index, LeftOutRule, NewState, Snapshot, UnlistedDir};

use crate::made::{sound, stat};

const EACCES: i32 = 13;

fn gap(path: &str, gap: Gap) -> Change {
    let path = path.into();
    Change::Gap { path, gap }
}

fn unlisted(path: &str, errno: Option<i32>) -> Change {
    let path = path.into();
    Change::Unlisted { path, errno }
}

fn large(path: &str, ino: u64) -> Change {
    Change::File {
        path: path.into(),
        stat: stat(ino, 1),
        state: NewState::Skipped("size".to_owned()),
    }
}

fn link(index: &Index, path: &str, ino: u64) -> Change {
    let snapshot = index.snapshot().unwrap();
    let file = snapshot.file_by_inode(&stat(ino, 1).fs, ino).unwrap();
    Change::Link {
        path: path.into(),
        file: file.unwrap(),
    }
}

const RULE: Gap = Gap::LeftOut(LeftOutRule::Exclude);

/// Returns the gap counts of each directory at and below `base`. There are three counts: of names
/// that failed, of names that a pattern leaves out, and of files that are left out because of their
/// size.
fn counts(snapshot: &Snapshot, base: &str) -> Vec<(String, [u64; 3])> {
    let row = |DirGaps { dir, counts }: DirGaps| {
        let [exclude, _, size, _] = counts.left_out;
        (dir.display().to_string(), [counts.failed, exclude, size])
    };
    let gaps = snapshot.gaps_within(&[base.into()]).unwrap();
    gaps.into_iter().map(row).collect()
}

fn unlisted_in(snapshot: &Snapshot, bases: &[&str]) -> Vec<(String, i32)> {
    let bases: Vec<PathBuf> = bases.iter().map(PathBuf::from).collect();
    let row = |UnlistedDir { path, errno }: UnlistedDir| (path.display().to_string(), errno);
    let found = snapshot.unlisted_within(&bases).unwrap();
    found.into_iter().map(row).collect()
}

fn index() -> Index {
    let index = Index::in_memory(&Params::default()).unwrap();
    let changes = vec![
        gap("/r/a/cache", RULE),
        gap("/r/a/tmp", RULE),
        gap("/r/a/x", Gap::Failed(EACCES)),
        large("/r/b/big", 7),
        unlisted("/r/b/secret", Some(EACCES)),
        unlisted("/s/dir", Some(5)),
    ];
    index.apply(changes).unwrap();
    let again = link(&index, "/r/a/big too", 7);
    index.apply(vec![again]).unwrap();
    index
}

#[test]
fn gaps_follow_the_tree() {
    let index = index();
    let now = || sound(&index);
    let a = |counts| ("/r/a".to_owned(), counts);
    let b = |counts| ("/r/b".to_owned(), counts);
    assert_eq!(counts(&now(), "/r"), [a([1, 2, 1]), b([0, 0, 1])]);
    assert_eq!(counts(&now(), "/r/b"), [b([0, 0, 1])]);
    assert_eq!(counts(&now(), "/r/b/secret"), []);
    let secret = ("/r/b/secret".to_owned(), EACCES);
    let other = ("/s/dir".to_owned(), 5);
    assert_eq!(unlisted_in(&now(), &["/r"]), std::slice::from_ref(&secret));
    assert_eq!(unlisted_in(&now(), &["/s", "/r/b/secret"]), [secret, other]);
    let names = now().gaps_of(Path::new("/r/a")).unwrap();
    let failed = |(path, gap): &(PathBuf, Gap)| {
        (path.ends_with("x")).then_some(*gap) == Some(Gap::Failed(EACCES))
    };
    assert!(names.len() == 3 && names.iter().any(failed), "{names:?}");

    // The file is no longer too large, `tmp` is no longer left out, `/s/dir` can be listed again,
    // and a folder and a gap are renamed.
    index
        .apply(vec![
            Change::File {
                path: "/r/b/big".into(),
                stat: stat(7, 2),
                state: NewState::Unreadable(EACCES),
            },
            Change::Dir("/r/a/tmp".into()),
            unlisted("/s/dir", None),
            Change::Rename {
                from: "/r/a".into(),
                to: "/r/c".into(),
            },
            Change::Rename {
                from: "/r/c/cache".into(),
                to: "/r/b/cache".into(),
            },
        ])
        .unwrap();
    let c = ("/r/c".to_owned(), [1, 0, 0]);
    assert_eq!(counts(&now(), "/r"), [b([0, 1, 0]), c]);
    assert_eq!(unlisted_in(&now(), &["/s"]), []);
    index.apply(vec![Change::Remove("/r".into())]).unwrap();
    assert_eq!(counts(&now(), "/"), []);
    assert_eq!(unlisted_in(&now(), &["/"]), []);
}

#[test]
fn a_gap_renamed_onto_an_equal_one_is_one() {
    let index = Index::in_memory(&Params::default()).unwrap();
    let denied = Gap::Failed(EACCES);
    let rename = |from: &str, to: &str| Change::Rename {
        from: from.into(),
        to: to.into(),
    };
    let made = ["/r/a", "/r/b", "/r/c", "/s/d"].map(|path| gap(path, denied));
    index.apply(made.into()).unwrap();
    let r = |failed| ("/r".to_owned(), [failed, 0, 0]);
    let s = ("/s".to_owned(), [1, 0, 0]);
    index.apply(vec![rename("/r/a", "/r/b")]).unwrap();
    assert_eq!(counts(&sound(&index), "/"), [r(2), s.clone()]);
    index.apply(vec![rename("/r/b", "/s/d")]).unwrap();
    assert_eq!(counts(&sound(&index), "/"), [r(1), s.clone()]);
    index.apply(vec![rename("/r/c", "/s/e")]).unwrap();
    assert_eq!(counts(&sound(&index), "/"), [("/s".to_owned(), [2, 0, 0])]);
}

#[test]
fn what_lies_in_a_gap_is_known_to_be_unknown() {
    let index = index();
    let is_in_gap = |path: &str| sound(&index).is_in_gap(Path::new(path)).unwrap();
    for gap in ["/r/a/cache", "/r/a/cache/x/y", "/r/a/x", "/r/b/secret/x"] {
        assert!(is_in_gap(gap), "{gap}");
    }
    for known in [
        "/",
        "/r",
        "/r/b/secret",
        "/r/a/none",
        "/r/b/big",
        "/r/b/big/x",
        "r",
    ] {
        assert!(!is_in_gap(known), "{known}");
    }
}

/// An access check for a caller who can list all folders except `listed`, and can enter all folders
/// except `entered`.
#[derive(Debug)]
struct But {
    listed: &'static str,
    entered: &'static str,
}

impl AccessCheck for But {
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        let look = |path: &PathBuf| match path {
            path if path == Path::new(self.entered) => Seen::Nothing,
            path => {
                let listable = Listable(path != Path::new(self.listed));
                Seen::Folder(SeenPlace::default(), listable)
            }
        };
        Ok(paths.iter().map(look).collect())
    }
}

#[test]
fn only_who_may_list_a_folder_learns_of_its_gaps() {
    let index = index();
    let view = |listed, entered| {
        let sight = Arc::new(But { listed, entered });
        sound(&index).seen_by(sight)
    };
    let all = view("", "");
    assert_eq!(counts(&all, "/r").len(), 2);
    assert_eq!(unlisted_in(&all, &["/r"]).len(), 1);
    for hidden in [view("/r/b", ""), view("", "/r/b")] {
        assert_eq!(counts(&hidden, "/r").len(), 1);
        assert_eq!(unlisted_in(&hidden, &["/r"]), []);
    }
    let path = Path::new("/r/a/cache");
    assert!(all.is_in_gap(path).unwrap());
    assert!(!view("", "/r/a/cache").is_in_gap(path).unwrap());
}
