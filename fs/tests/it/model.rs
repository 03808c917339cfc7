//! Compares the files view with the tree itself, name by name after every change.
//!
//! The tests call the namespace directly, without a kernel. So nothing is cached, and every change
//! must show at once.
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use resemble_fs::neighbours::MapNeighbours;
use resemble_fs::view::{Kind, Namespace, ROOT, Sink};
use resemble_fs::{Show, View};
use resemble_testutil::TempTree;

/// A change of the tree. There are few names, so that changes often concern the same path.
#[derive(Clone, Debug)]
enum Change {
    Write(PathBuf, Vec<u8>),
    MakeDir(PathBuf),
    Link(PathBuf, PathBuf),
    HardLink(PathBuf, PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Chmod(PathBuf, u32),
}

fn path() -> impl Strategy<Value = PathBuf> {
    let name = prop_oneof![
        Just(b"a".to_vec()),
        Just(b"b.txt".to_vec()),
        Just(b"\xff\n".to_vec()),
        Just(b".hidden".to_vec()),
    ];
    prop::collection::vec(name, 1..4)
        .prop_map(|names| names.into_iter().map(OsString::from_vec).collect())
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (path(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(p, b)| Change::Write(p, b)),
        3 => path().prop_map(Change::MakeDir),
        1 => (path(), path()).prop_map(|(p, t)| Change::Link(p, t)),
        1 => (path(), path()).prop_map(|(p, t)| Change::HardLink(p, t)),
        2 => (path(), path()).prop_map(|(a, b)| Change::Rename(a, b)),
        2 => path().prop_map(Change::Remove),
        1 => (path(), 0_u32..0o1000).prop_map(|(p, m)| Change::Chmod(p, m | 0o400)),
    ]
}

/// Makes a change. The file system may refuse it, and then nothing changes.
fn apply(top: &Path, change: &Change) {
    let at = |path: &PathBuf| top.join(path);
    let _refused = match change {
        // If the path is a symbolic link, a write would change another file.
        Change::Write(path, bytes) if !at(path).is_symlink() => fs::write(at(path), bytes),
        Change::MakeDir(path) => fs::create_dir_all(at(path)),
        Change::Link(path, target) => symlink(target, at(path)),
        Change::HardLink(path, target) => fs::hard_link(at(target), at(path)),
        Change::Rename(from, to) => fs::rename(at(from), at(to)),
        Change::Remove(path) if at(path).is_dir() && !at(path).is_symlink() => {
            fs::remove_dir_all(at(path))
        }
        Change::Remove(path) => fs::remove_file(at(path)),
        Change::Chmod(path, mode) if !at(path).is_symlink() => {
            fs::set_permissions(at(path), fs::Permissions::from_mode(*mode))
        }
        Change::Write(..) | Change::Chmod(..) => Ok(()),
    };
}

/// The properties of one name that a user can see.
#[derive(Debug, PartialEq)]
struct Seen {
    kind: Kind,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    /// The bytes of a file or the target of a link.
    content: Vec<u8>,
}

fn real(top: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(top.join(&dir)).unwrap() {
            let path = dir.join(entry.unwrap().file_name());
            let meta = fs::symlink_metadata(top.join(&path)).unwrap();
            let (kind, content) = if meta.is_dir() {
                todo.push(path.clone());
                (Kind::Directory, Vec::new())
            } else if meta.is_symlink() {
                let target = fs::read_link(top.join(&path)).unwrap();
                (Kind::Link, target.into_os_string().into_vec())
            } else {
                (Kind::File, fs::read(top.join(&path)).unwrap())
            };
            let mode = meta.mode() & 0o7777;
            let modified = (meta.mtime(), meta.mtime_nsec());
            let owner = (meta.uid(), meta.gid());
            seen.insert(
                path,
                Seen {
                    kind,
                    mode,
                    owner,
                    modified,
                    content,
                },
            );
        }
    }
    seen
}

struct All(Vec<(u64, Kind, OsString)>);

impl Sink for All {
    fn add(&mut self, ino: u64, _: u64, kind: Kind, name: &OsStr) -> bool {
        self.0.push((ino, kind, name.to_owned()));
        true
    }
}

fn overlay(space: &Namespace) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut todo = vec![(ROOT, PathBuf::new())];
    let mut known = Vec::new();
    while let Some((ino, dir)) = todo.pop() {
        let opened = space.open_dir(ino).unwrap();
        let mut all = All(Vec::new());
        space.read_dir(opened.handle, 0, &mut all).unwrap();
        space.release(opened.handle);
        for (listed, kind, name) in all.0 {
            if name == "." || name == ".." {
                continue;
            }
            let entry = space.lookup(ino, &name, 0).unwrap();
            let attr = entry.attr;
            known.push(attr.ino);
            assert_eq!(
                (attr.ino, attr.kind),
                (listed, kind),
                "readdir and lookup agree"
            );
            assert_eq!(
                space.getattr(attr.ino).unwrap().attr,
                attr,
                "lookup and getattr agree"
            );
            let path = dir.join(&name);
            let content = match kind {
                Kind::Directory => {
                    todo.push((attr.ino, path.clone()));
                    Vec::new()
                }
                Kind::Link => space.readlink(attr.ino).unwrap(),
                Kind::File => {
                    let opened = space.open(attr.ino, 0).unwrap();
                    let bytes = space.read(opened.handle, 0, 4096).unwrap();
                    space.release(opened.handle);
                    assert_eq!(bytes.len() as u64, attr.size);
                    bytes
                }
            };
            let modified = (attr.modified.seconds, i64::from(attr.modified.nanos));
            let (mode, owner) = (u32::from(attr.perm), (attr.uid, attr.gid));
            seen.insert(
                path,
                Seen {
                    kind,
                    mode,
                    owner,
                    modified,
                    content,
                },
            );
        }
    }
    for ino in known {
        space.forget(ino, 1);
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// The files view equals the plain tree, name by name, after any sequence of changes.
    #[test]
    fn the_files_view_is_the_tree(changes in prop::collection::vec(change(), 1..40)) {
        let tree = TempTree::new();
        let top = tree.root().to_owned();
        let none = Arc::new(MapNeighbours::new());
        let roots = std::slice::from_ref(&top);
        let space = Namespace::new(View::Files, Show::Default, roots, vec![], none).unwrap();
        for change in &changes {
            apply(&top, change);
            let (want, got) = (real(&top), overlay(&space));
            prop_assert_eq!(&got, &want, "after {:?}", change);
        }
        // A look-up of a name that does not exist must fail, even without a listing before it.
        for name in [b"a".as_slice(), b"b.txt", b"\xff\n", b".hidden", b"c"] {
            let name = OsStr::from_bytes(name);
            prop_assert_eq!(
                space.lookup(ROOT, name, 0).is_ok(),
                fs::symlink_metadata(top.join(name)).is_ok()
            );
        }
    }
}
