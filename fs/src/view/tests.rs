//! The namespace without a kernel. Doc comments that are promises stand in `docs/semantics.md`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use resemble_core::Score;
use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use super::*;
use crate::names::MAX_NAME;
use crate::neighbours::{Listing, MapNeighbours, Neighbour, Neighbours};

// ---- a namespace and a caller ----

struct Fixture {
    dir: TempDir,
    map: Arc<MapNeighbours>,
}

impl Fixture {
    /// `docs/{report.txt,sub/old.txt,link}` and what resembles what.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let this = Self {
            dir,
            map: Arc::new(MapNeighbours::new()),
        };
        fs::create_dir_all(this.path("docs/sub")).unwrap();
        fs::write(this.path("docs/report.txt"), "the report").unwrap();
        fs::write(this.path("docs/sub/old.txt"), "the old report").unwrap();
        symlink("report.txt", this.path("docs/link")).unwrap();
        this.map.set(
            this.path("docs/report.txt"),
            vec![near(&this.path("docs/sub/old.txt"), 0.97)],
        );
        this
    }

    fn path(&self, rel: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(rel)
    }

    fn space(&self, view: View, show: Show) -> Namespace {
        self.space_of(view, show, &["docs"])
    }

    fn space_of(&self, view: View, show: Show, roots: &[&str]) -> Namespace {
        let roots: Vec<_> = roots.iter().map(|root| self.path(root)).collect();
        let map: Arc<dyn Neighbours> = Arc::clone(&self.map) as _;
        Namespace::new(view, show, &roots, vec![self.path("docs/M")], map).unwrap()
    }
}

fn near(target: &Path, score: f64) -> Neighbour {
    let a_in_b = Score::new(score);
    Neighbour {
        target: target.to_owned(),
        member: Vec::new(),
        a_in_b,
        identical: false,
        relation: "near",
    }
}

/// Walks names as the kernel would, and gives back what it looked up.
struct Walk<'a> {
    space: &'a Namespace,
    looked_up: Vec<u64>,
    entry: Entry,
}

impl<'a> Walk<'a> {
    fn to(space: &'a Namespace, path: &str) -> Result<Self, Refusal> {
        Self::to_names(
            space,
            path.split('/')
                .filter(|name| !name.is_empty())
                .map(OsStr::new),
        )
    }

    fn to_names<'n>(
        space: &'a Namespace,
        names: impl Iterator<Item = &'n OsStr>,
    ) -> Result<Self, Refusal> {
        let mut this = Self {
            space,
            looked_up: Vec::new(),
            entry: space.getattr(ROOT)?,
        };
        for name in names {
            this.entry = space.lookup(this.ino(), name)?;
            this.looked_up.push(this.ino());
        }
        Ok(this)
    }

    fn ino(&self) -> u64 {
        self.entry.attr.ino
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.looked_up
            .iter()
            .for_each(|ino| self.space.forget(*ino, 1));
    }
}

/// Takes at most `room` entries, as a small buffer would.
struct Few {
    room: usize,
    taken: Vec<(u64, u64, Kind, OsString)>,
}

impl Sink for Few {
    fn add(&mut self, ino: u64, next: u64, kind: Kind, name: &OsStr) -> bool {
        let fits = self.taken.len() < self.room;
        if fits {
            self.taken.push((ino, next, kind, name.to_owned()));
        }
        fits
    }
}

/// Everything from `offset` on, `room` entries at a time.
fn read_on(
    space: &Namespace,
    handle: u64,
    mut offset: u64,
    room: usize,
) -> Vec<(u64, Kind, OsString)> {
    let mut all = Vec::new();
    loop {
        let mut few = Few {
            room,
            taken: Vec::new(),
        };
        space.read_dir(handle, offset, &mut few).unwrap();
        let Some(last) = few.taken.last() else {
            return all;
        };
        offset = last.1;
        all.extend(
            few.taken
                .into_iter()
                .map(|(ino, _, kind, name)| (ino, kind, name)),
        );
    }
}

/// The names in a directory, sorted, without `.` and `..`; each is looked up and agrees.
fn ls(space: &Namespace, path: &str) -> Vec<OsString> {
    let dir = Walk::to(space, path).unwrap();
    let opened = space.open_dir(dir.ino()).unwrap();
    let all = read_on(space, opened.handle, 0, 3);
    space.release(opened.handle);
    assert_eq!(all[0].2, ".");
    assert_eq!(all[0].0, dir.ino());
    assert_eq!(all[1].2, "..");
    let mut names = Vec::new();
    for (ino, kind, name) in &all[2..] {
        let entry = space
            .lookup(dir.ino(), name)
            .unwrap_or_else(|e| panic!("{name:?}: {e:?}"));
        assert_eq!((entry.attr.ino, entry.attr.kind), (*ino, *kind), "{name:?}");
        space.forget(entry.attr.ino, 1);
        names.push(name.clone());
    }
    names.sort();
    names
}

fn cat(space: &Namespace, path: &str) -> Result<Vec<u8>, Refusal> {
    let file = Walk::to(space, path)?;
    let opened = space.open(file.ino())?;
    let mut text = Vec::new();
    loop {
        let part = space.read(opened.handle, text.len() as u64, 4)?;
        if part.is_empty() {
            break;
        }
        text.extend(part);
    }
    space.release(opened.handle);
    Ok(text)
}

fn readlink(space: &Namespace, path: &str) -> PathBuf {
    let target = space
        .readlink(Walk::to(space, path).unwrap().ino())
        .unwrap();
    PathBuf::from(OsString::from_vec(target))
}

fn refusal(space: &Namespace, path: &str) -> Refusal {
    match Walk::to(space, path) {
        Ok(walk) => panic!("{path} is there: {:?}", walk.entry),
        Err(refusal) => refusal,
    }
}

// ---- shapes ----

/// In the folders view each file of the tree is a folder that holds the file itself and `.similar`.
#[test]
fn folders_view_shows_files_as_folders() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Folders, Show::Default);
    assert_eq!(ls(&space, "/"), ["report.txt", "sub"]);
    assert_eq!(ls(&space, "/report.txt"), [".similar", "report.txt"]);
    assert_eq!(
        cat(&space, "/report.txt/report.txt").unwrap(),
        b"the report"
    );
    assert_eq!(ls(&space, "/report.txt/.similar"), ["097%_old.txt"]);
    assert_eq!(
        readlink(&space, "/report.txt/.similar/097%_old.txt"),
        fixture.path("docs/sub/old.txt")
    );
    assert_eq!(refusal(&space, "/report.txt/other.txt"), Refusal::NotFound);
    assert_eq!(
        refusal(&space, "/report.txt/report.txt/x"),
        Refusal::NotADirectory
    );
    assert_eq!(space.in_use(), (0, 0), "everything was given back");
}

/// In the files view the tree is as it is, and each directory also answers `.similar/NAME` for each
/// of its files.
#[test]
fn files_view_is_the_tree_and_answers_per_directory() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    assert_eq!(ls(&space, "/"), ["link", "report.txt", "sub"]);
    assert_eq!(cat(&space, "/report.txt").unwrap(), b"the report");
    assert_eq!(readlink(&space, "/link"), Path::new("report.txt"));
    assert_eq!(ls(&space, "/.similar/report.txt"), ["097%_old.txt"]);
    assert_eq!(
        readlink(&space, "/.similar/report.txt/097%_old.txt"),
        fixture.path("docs/sub/old.txt")
    );
    assert_eq!(
        refusal(&space, "/report.txt/.similar"),
        Refusal::NotADirectory
    );
    assert_eq!(space.in_use(), (0, 0));
}

/// Any file's name can be looked up in a directory's `.similar`; those with neighbours are listed.
#[test]
fn files_without_neighbours_can_be_looked_up() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    assert_eq!(ls(&space, "/.similar"), ["report.txt"]);
    assert!(ls(&space, "/sub/.similar").is_empty());
    assert!(ls(&space, "/sub/.similar/old.txt").is_empty());
    for none in ["/.similar/sub", "/.similar/link", "/.similar/nothing"] {
        assert_eq!(refusal(&space, none), Refusal::NotFound, "{none}");
    }
}

/// `.similar` exists for every regular file; without neighbours it is empty.
#[test]
fn similar_of_a_file_without_neighbours_is_empty() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Folders, Show::Default);
    assert!(ls(&space, "/sub/old.txt/.similar").is_empty());
    fs::write(fixture.path("docs/empty"), "").unwrap();
    assert!(ls(&space, "/empty/.similar").is_empty());
}

/// `.similar` is listed only in a file's folder of the folders view; `always` and `never` change
/// that for both views, and it can be looked up in any case.
#[test]
fn show_decides_where_similar_is_listed() {
    use Show::{Always, Default, Never};
    use View::{Files, Folders};

    let fixture = Fixture::new();
    let listed = |view, show, path: &str| {
        let space = fixture.space(view, show);
        ls(&space, path).contains(&OsString::from(".similar"))
    };
    for (view, show, path, want) in [
        (Folders, Default, "/", false),
        (Folders, Default, "/sub", false),
        (Folders, Default, "/report.txt", true),
        (Folders, Always, "/", true),
        (Folders, Always, "/report.txt", true),
        (Folders, Never, "/report.txt", false),
        (Files, Default, "/", false),
        (Files, Always, "/", true),
        (Files, Always, "/sub", true),
        (Files, Never, "/", false),
    ] {
        assert_eq!(listed(view, show, path), want, "{view:?} {show:?} {path}");
    }
    for show in [Default, Always, Never] {
        Walk::to(&fixture.space(Folders, show), "/report.txt/.similar").unwrap();
        Walk::to(&fixture.space(Files, show), "/.similar/report.txt").unwrap();
    }
}

/// Directories that resemble a directory D, whatever their names and their layout, are links in
/// `D/.similar` (folders view) or `D/.similar/.dirs` (files view), named by the share of D's bytes
/// that they have.
#[test]
fn similar_directories_are_links() {
    let fixture = Fixture::new();
    let other = fixture.path("elsewhere/sub.d");
    fixture
        .map
        .set(fixture.path("docs/sub"), vec![near(&other, 0.8)]);
    let folders = fixture.space(View::Folders, Show::Default);
    assert_eq!(ls(&folders, "/sub/.similar"), ["080%_sub.d"]);
    assert_eq!(readlink(&folders, "/sub/.similar/080%_sub.d"), other);
    let files = fixture.space(View::Files, Show::Default);
    assert_eq!(ls(&files, "/sub/.similar/.dirs"), ["080%_sub.d"]);
    assert_eq!(readlink(&files, "/sub/.similar/.dirs/080%_sub.d"), other);
    assert!(ls(&files, "/.similar/.dirs").is_empty());
}

/// A real entry called `.similar` is hidden by ours and counted.
#[test]
fn a_real_similar_is_hidden_and_counted() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("docs/.similar")).unwrap();
    fs::write(fixture.path("docs/.similar/secret"), "x").unwrap();
    fs::write(fixture.path("docs/sub/.similar"), "a file").unwrap();
    for view in [View::Folders, View::Files] {
        let space = fixture.space(view, Show::Default);
        assert_eq!(space.hidden_similar_entries(), 0);
        assert!(!ls(&space, "/").contains(&".similar".into()));
        assert_eq!(space.hidden_similar_entries(), 1);
        assert_eq!(refusal(&space, "/.similar/secret"), Refusal::NotFound);
        Walk::to(&space, "/sub/.similar").unwrap();
        assert_eq!(
            space.hidden_similar_entries(),
            2,
            "met by name, without a listing"
        );
        assert_eq!(refusal(&space, "/sub/.similar/.similar"), Refusal::NotFound);
    }
    let space = fixture.space(View::Files, Show::Always);
    let names = ls(&space, "/");
    assert_eq!(names.iter().filter(|name| *name == ".similar").count(), 1);
    fs::remove_dir_all(fixture.path("docs/.similar")).unwrap();
    ls(&space, "/");
    assert_eq!(space.hidden_similar_entries(), 0);
}

/// FIFOs, sockets and devices are left out, and never opened; symbolic links of the tree are left
/// out of the folders view.
#[test]
fn special_files_are_left_out() {
    let fixture = Fixture::new();
    let mode = Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(CWD, fixture.path("docs/fifo"), FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("docs/socket")).unwrap();
    for (view, want) in [
        (View::Folders, vec!["report.txt", "sub"]),
        (View::Files, vec!["link", "report.txt", "sub"]),
    ] {
        let space = fixture.space(view, Show::Default);
        assert_eq!(ls(&space, "/"), want);
        for name in ["fifo", "socket"] {
            assert_eq!(refusal(&space, name), Refusal::NotFound, "{view:?} {name}");
        }
    }
    assert_eq!(
        refusal(&fixture.space(View::Folders, Show::Default), "/link"),
        Refusal::NotFound
    );
    // A file that becomes a FIFO between look-up and open is not opened (it would block for ever).
    let space = fixture.space(View::Files, Show::Default);
    let file = Walk::to(&space, "/report.txt").unwrap();
    fs::remove_file(fixture.path("docs/report.txt")).unwrap();
    rustix::fs::mknodat(
        CWD,
        fixture.path("docs/report.txt"),
        FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    assert_eq!(space.open(file.ino()).unwrap_err(), Refusal::Stale);
}

/// With several roots each is a folder named by its last component, `docs`, `docs~2` in the order
/// given, and `/` is `root`.
#[test]
fn several_roots_are_folders() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("b/docs")).unwrap();
    fs::write(fixture.path("b/docs/only-b"), "b").unwrap();
    fs::create_dir_all(fixture.path("c/docs~2")).unwrap();
    let space = fixture.space_of(View::Files, Show::Default, &["docs", "b/docs", "c/docs~2"]);
    assert_eq!(ls(&space, "/"), ["docs", "docs~2", "docs~2~2"]);
    assert_eq!(cat(&space, "/docs~2/only-b").unwrap(), b"b");
    assert_eq!(ls(&space, "/docs/.similar/report.txt"), ["097%_old.txt"]);
    assert_eq!(refusal(&space, "/.similar"), Refusal::NotFound);

    let roots = vec![PathBuf::from("/"), fixture.path("docs")];
    let map: Arc<dyn Neighbours> = Arc::clone(&fixture.map) as _;
    let space = Namespace::new(View::Files, Show::Default, &roots, Vec::new(), map).unwrap();
    assert_eq!(ls(&space, "/"), ["docs", "root"]);
    assert!(Walk::to(&space, &format!("/root{}", fixture.path("docs").display())).is_ok());
}

/// Roots come and go while mounted: where one root is the mount itself it stays so, and a further
/// one is a folder beside its entries, with a name that none of them has.
#[test]
fn roots_come_and_go_while_mounted() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("b/sub")).unwrap();
    fs::write(fixture.path("b/sub/only-b"), "b").unwrap();
    let space = fixture.space(View::Files, Show::Default);
    let set = |roots: &[&str]| {
        let roots: Vec<_> = roots.iter().map(|root| fixture.path(root)).collect();
        space.set_roots(&roots);
    };
    let before = ls(&space, "/");
    let report = Walk::to(&space, "/report.txt").unwrap();
    set(&["docs", "b/sub"]);
    // `sub` is an entry of the first root.
    assert_eq!(ls(&space, "/"), [&before[..], &["sub~2".into()]].concat());
    assert_eq!(cat(&space, "/sub~2/only-b").unwrap(), b"b");
    assert_eq!(cat(&space, "/sub/old.txt").unwrap(), b"the old report");
    assert_eq!(space.getattr(report.ino()).unwrap().attr, report.entry.attr);
    let inside = Walk::to(&space, "/sub~2").unwrap();
    let file = Walk::to(&space, "/sub~2/only-b").unwrap();
    set(&["docs"]);
    assert_eq!(ls(&space, "/"), before);
    assert_eq!(refusal(&space, "/sub~2"), Refusal::NotFound);
    assert!(space.getattr(inside.ino()).is_err());
    assert!(space.open(file.ino()).is_err());
    // The mirrored one goes, and comes back to its place.
    set(&["b/sub"]);
    assert_eq!(ls(&space, "/"), ["sub~2"]);
    assert_eq!(refusal(&space, "/report.txt"), Refusal::NotFound);
    set(&["b/sub", "docs"]);
    assert_eq!(cat(&space, "/report.txt").unwrap(), b"the report");

    // Where roots are folders, they stay folders.
    let space = fixture.space_of(View::Files, Show::Default, &["docs", "b/sub"]);
    space.set_roots(&[fixture.path("b/sub")]);
    assert_eq!(ls(&space, "/"), ["sub"]);
    space.set_roots(&[]);
    assert!(ls(&space, "/").is_empty());
    space.set_roots(&[fixture.path("docs/sub"), fixture.path("b/sub")]);
    assert_eq!(ls(&space, "/"), ["sub", "sub~2"]);
    assert_eq!(cat(&space, "/sub/only-b").unwrap(), b"b");
}

/// A root whose directory vanishes is empty, the others go on, and it comes back when the directory
/// does.
#[test]
fn a_vanished_root_is_empty_and_comes_back() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("other")).unwrap();
    fs::write(fixture.path("other/x"), "x").unwrap();
    fs::remove_dir_all(fixture.path("docs")).unwrap();
    for roots in [&["docs"][..], &["docs", "other"]] {
        let space = fixture.space_of(View::Files, Show::Default, roots);
        let docs = if roots.len() == 1 { "/" } else { "/docs" };
        assert!(ls(&space, docs).is_empty());
        assert_eq!(
            refusal(&space, &format!("{docs}/report.txt")),
            Refusal::NotFound
        );
        assert!(ls(&space, &format!("{docs}/.similar")).is_empty());
        if roots.len() == 2 {
            assert_eq!(cat(&space, "/other/x").unwrap(), b"x");
        }
        fs::create_dir(fixture.path("docs")).unwrap();
        fs::write(fixture.path("docs/again"), "back").unwrap();
        // At most a second behind: a handle's age is what is waited for, not a thread.
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while ls(&space, docs).is_empty() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert_eq!(cat(&space, &format!("{docs}/again")).unwrap(), b"back");
        fs::remove_dir_all(fixture.path("docs")).unwrap();
        assert!(ls(&space, docs).is_empty());
    }
}

// ---- names ----

/// Any name the tree has survives in the overlay, byte by byte: newlines, invalid UTF-8, 255 bytes.
#[test]
fn hostile_names_survive() {
    let fixture = Fixture::new();
    let mut names: Vec<Vec<u8>> = vec![
        b"a\nb".to_vec(),
        b"\xff\xfe.txt".to_vec(),
        b" ".to_vec(),
        b"-rf".to_vec(),
        b"..hidden".to_vec(),
        b"%s%n,comma=".to_vec(),
        vec![b'x'; MAX_NAME],
        vec![0xfe; MAX_NAME],
    ];
    names.sort();
    fs::create_dir(fixture.path("hostile")).unwrap();
    let dir = fixture.path("hostile");
    for name in &names {
        let path = dir.join(OsStr::from_bytes(name));
        fs::write(&path, name).unwrap();
        fixture.map.set(
            &path,
            names
                .iter()
                .map(|n| near(&dir.join(OsStr::from_bytes(n)), 0.5))
                .collect(),
        );
    }
    for view in [View::Folders, View::Files] {
        let space = fixture.space_of(view, Show::Default, &["hostile"]);
        let listed: Vec<Vec<u8>> = ls(&space, "/")
            .into_iter()
            .map(OsString::into_vec)
            .collect();
        assert_eq!(listed, names);
        for name in &names {
            let name = OsStr::from_bytes(name);
            let way = match view {
                View::Folders => [name, OsStr::new(".similar")],
                View::Files => [OsStr::new(".similar"), name],
            };
            let similar = Walk::to_names(&space, way.into_iter()).unwrap();
            let opened = space.open_dir(similar.ino()).unwrap();
            let all = read_on(&space, opened.handle, 0, 2);
            assert_eq!(all.len() - 2, names.len() - 1, "all but itself");
            for (_, _, link) in &all[2..] {
                let link = space.lookup(similar.ino(), link).unwrap().attr.ino;
                let target = OsString::from_vec(space.readlink(link).unwrap());
                assert!(fs::metadata(&target).is_ok(), "{target:?}");
            }
        }
    }
}

/// An entry is found by its name without a listing before.
#[test]
fn look_up_without_a_listing() {
    let fixture = Fixture::new();
    let targets = ["/a/x.txt", "/b/x.txt"].map(|path| near(Path::new(path), 0.5));
    fixture
        .map
        .set(fixture.path("docs/report.txt"), targets.to_vec());
    let listed = ls(
        &fixture.space(View::Folders, Show::Default),
        "/report.txt/.similar",
    );
    let fresh = fixture.space(View::Folders, Show::Default);
    let mut found: Vec<PathBuf> = listed
        .iter()
        .map(|name| {
            readlink(
                &fresh,
                &format!("/report.txt/.similar/{}", name.to_str().unwrap()),
            )
        })
        .collect();
    found.sort();
    assert_eq!(found, targets.map(|n| n.target));
    assert_eq!(
        refusal(&fresh, "/report.txt/.similar/050%_y.txt"),
        Refusal::NotFound
    );
    assert_eq!(
        refusal(&fresh, "/report.txt/.similar/051%_x.txt"),
        Refusal::NotFound
    );
}

/// A listing has at most 100 entries, best first when cut, and never the file itself.
#[test]
fn a_listing_has_at_most_a_hundred_entries() {
    let fixture = Fixture::new();
    let mut many: Vec<Neighbour> = (0..150)
        .map(|i| near(Path::new(&format!("/x/{i:03}")), f64::from(i) / 150.0))
        .collect();
    many.push(near(&fixture.path("docs/report.txt"), 1.0));
    fixture.map.set(fixture.path("docs/report.txt"), many);
    let space = fixture.space(View::Folders, Show::Default);
    let names = ls(&space, "/report.txt/.similar");
    assert_eq!(names.len(), 100);
    assert_eq!(names[0], "033%_050");
    assert_eq!(names[99], "099%_149");
}

/// A listing is a snapshot taken when the directory is opened, and again on rewind; entries that
/// come or go meanwhile are neither skipped nor shown twice.
#[test]
fn a_listing_is_a_snapshot() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    for i in 0..20 {
        fs::write(fixture.path(&format!("docs/sub/{i:02}")), "").unwrap();
    }
    let dir = Walk::to(&space, "/sub").unwrap();
    let handle = space.open_dir(dir.ino()).unwrap().handle;
    let mut few = Few {
        room: 7,
        taken: Vec::new(),
    };
    space.read_dir(handle, 0, &mut few).unwrap();
    let before: Vec<_> = few.taken.iter().map(|taken| taken.3.clone()).collect();
    for i in 0..20 {
        fs::remove_file(fixture.path(&format!("docs/sub/{i:02}"))).unwrap();
    }
    fs::write(fixture.path("docs/sub/new"), "").unwrap();
    let rest = read_on(&space, handle, few.taken[6].1, 3);
    let mut all: Vec<_> = before
        .into_iter()
        .chain(rest.into_iter().map(|r| r.2))
        .collect();
    all.sort();
    all.dedup();
    assert_eq!(
        all.len(),
        2 + 1 + 20,
        "dots, old.txt and each of the twenty once"
    );
    let again: Vec<_> = read_on(&space, handle, 0, 3)
        .into_iter()
        .map(|r| r.2)
        .collect();
    assert_eq!(again.len(), 4, "rewound: {again:?}");
    assert!(read_on(&space, handle, u64::MAX, 3).is_empty());
    space.release(handle);
    assert_eq!(
        space.read_dir(
            handle,
            0,
            &mut Few {
                room: 1,
                taken: vec![]
            }
        ),
        Err(Refusal::BadHandle)
    );
}

// ---- texts and attributes ----

/// `.similar/.why/NAME` explains the link of that name, `.similar/.report.json` is the report; both
/// are reachable and not listed, and neither is computed before it is opened.
#[test]
fn texts_are_reachable_and_computed_when_opened() {
    struct Counting(AtomicUsize);
    impl Neighbours for Counting {
        fn similar(&self, _: &Path) -> Listing {
            Listing {
                neighbours: vec![near(Path::new("/x/b"), 0.5)],
                total: 1,
            }
        }
        fn similar_dirs(&self, _: &Path) -> Listing {
            Listing::default()
        }
        fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8> {
            self.0.fetch_add(1, Ordering::Relaxed);
            format!(
                "{} and {}",
                file.file_name().unwrap().display(),
                neighbour.display()
            )
            .into()
        }
        fn report(&self, _: &Path) -> Vec<u8> {
            self.0.fetch_add(1, Ordering::Relaxed);
            b"{}".to_vec()
        }
    }
    let fixture = Fixture::new();
    let counting = Arc::new(Counting(AtomicUsize::new(0)));
    let roots = vec![fixture.path("docs")];
    let asked: Arc<dyn Neighbours> = Arc::clone(&counting) as _;
    let space = Namespace::new(View::Folders, Show::Default, &roots, vec![], asked).unwrap();
    assert_eq!(ls(&space, "/report.txt/.similar"), ["050%_b"]);
    assert_eq!(ls(&space, "/report.txt/.similar/.why"), ["050%_b"]);
    let report = Walk::to(&space, "/report.txt/.similar/.report.json").unwrap();
    assert_eq!(
        (report.entry.attr.kind, report.entry.attr.size),
        (Kind::File, 0)
    );
    assert_eq!(
        counting.0.load(Ordering::Relaxed),
        0,
        "stat and ls compute nothing"
    );
    assert_eq!(
        cat(&space, "/report.txt/.similar/.why/050%_b").unwrap(),
        b"report.txt and /x/b"
    );
    assert_eq!(
        cat(&space, "/report.txt/.similar/.report.json").unwrap(),
        b"{}"
    );
    assert_eq!(counting.0.load(Ordering::Relaxed), 2);
    assert!(
        space.open(report.ino()).unwrap().direct,
        "its length is not known beforehand"
    );
    assert_eq!(
        refusal(&space, "/report.txt/.similar/.why/050%_c"),
        Refusal::NotFound
    );
}

/// A file and its folder have the attributes `user.resemble.count`, `.best`, `.best_percent` and
/// `.relation`; without neighbours the count is 0 and the others are empty.
#[test]
fn attributes_name_the_best_neighbour() {
    let fixture = Fixture::new();
    let (a, b) = (Path::new("/x/a"), Path::new("/x/b"));
    let same = Neighbour {
        identical: true,
        relation: "identical",
        ..near(b, 1.0)
    };
    fixture
        .map
        .set(fixture.path("docs/report.txt"), vec![near(a, 1.0), same]);
    let attributes = |space: &Namespace, path: &str| -> Vec<(String, String)> {
        let walk = Walk::to(space, path).unwrap();
        let ino = walk.ino();
        let names = space.attributes(ino).unwrap();
        let of = |name: &OsString| String::from_utf8(space.attribute(ino, name).unwrap()).unwrap();
        names
            .iter()
            .map(|name| (name.to_str().unwrap().to_owned(), of(name)))
            .collect()
    };
    let want = [
        ("best", "/x/b"),
        ("best_percent", "100"),
        ("count", "2"),
        ("relation", "identical"),
    ]
    .map(|(name, value)| (format!("user.resemble.{name}"), value.to_owned()));
    let folders = fixture.space(View::Folders, Show::Default);
    let files = fixture.space(View::Files, Show::Default);
    assert_eq!(attributes(&folders, "/report.txt"), want);
    assert_eq!(attributes(&folders, "/report.txt/report.txt"), want);
    assert_eq!(attributes(&files, "/report.txt"), want);
    assert_eq!(
        attributes(&files, "/sub/old.txt"),
        want.clone().map(|(name, _)| {
            let count = if name.ends_with("count") { "0" } else { "" };
            (name, count.to_owned())
        })
    );
    let old = Walk::to(&files, "/sub/old.txt").unwrap();
    for none in ["user.other", "security.selinux", "system.posix_acl_access"] {
        assert_eq!(
            files.attribute(old.ino(), OsStr::new(none)),
            Err(Refusal::NoAttribute),
            "{none}"
        );
    }
    let dir = Walk::to(&files, "/sub").unwrap();
    assert_eq!(
        files.attribute(dir.ino(), OsStr::new("user.resemble.count")),
        Err(Refusal::NoAttribute)
    );
}

/// Answers with nothing and counts how often it was asked.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl Counting {
    fn asked(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Neighbours for Counting {
    fn similar(&self, _: &Path) -> Listing {
        self.0.fetch_add(1, Ordering::Relaxed);
        Listing::default()
    }

    fn similar_dirs(&self, dir: &Path) -> Listing {
        self.similar(dir)
    }

    fn why(&self, _: &Path, _: &Path) -> Vec<u8> {
        Vec::new()
    }

    fn report(&self, _: &Path) -> Vec<u8> {
        Vec::new()
    }
}

/// The names of the attributes are listed without asking for an answer: `cp -a` and `ls -l` of a
/// tree compute nothing.
#[test]
fn listing_the_names_of_attributes_asks_nobody() {
    let fixture = Fixture::new();
    let counting = Arc::new(Counting::default());
    for view in [View::Folders, View::Files] {
        let neighbours: Arc<dyn Neighbours> = Arc::clone(&counting) as _;
        let roots = vec![fixture.path("docs")];
        let space = Namespace::new(view, Show::Default, &roots, Vec::new(), neighbours).unwrap();
        let file = Walk::to(&space, "/report.txt").unwrap();
        assert_eq!(space.attributes(file.ino()).unwrap().len(), 4);
        assert_eq!(counting.asked(), 0);
    }
}

/// Modes, owners and times are the real file's; a folder adds the right to enter for whoever may
/// read.
#[test]
fn attributes_mirror_the_real_file() {
    let fixture = Fixture::new();
    let real = fixture.path("docs/report.txt");
    for (mode, folder) in [
        (0o640, 0o550),
        (0o604, 0o505),
        (0o000, 0),
        (0o777, 0o555),
        (0o400, 0o500),
    ] {
        fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
        let meta = fs::metadata(&real).unwrap();
        let files = fixture.space(View::Files, Show::Default);
        let file = Walk::to(&files, "/report.txt").unwrap().entry.attr.clone();
        assert_eq!(u32::from(file.perm), mode);
        assert_eq!(
            (file.size, file.uid, file.gid),
            (meta.size(), meta.uid(), meta.gid())
        );
        let mtime = (file.modified.seconds, i64::from(file.modified.nanos));
        assert_eq!(mtime, (meta.mtime(), meta.mtime_nsec()));
        let folders = fixture.space(View::Folders, Show::Default);
        for path in [
            "/report.txt",
            "/report.txt/.similar",
            "/report.txt/.similar/.why",
        ] {
            let entry = Walk::to(&folders, path).unwrap().entry.clone();
            assert_eq!(
                (entry.attr.kind, u32::from(entry.attr.perm)),
                (Kind::Directory, folder),
                "{path}"
            );
        }
    }
}

/// What mirrors the tree may be cached for one second, what answers for none.
#[test]
fn times_to_live() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Folders, Show::Default);
    let ttl = |path: &str| Walk::to(&space, path).unwrap().entry.ttl;
    for mirrored in ["/", "/sub", "/report.txt", "/report.txt/report.txt"] {
        assert_eq!(ttl(mirrored), Duration::from_secs(1), "{mirrored}");
    }
    for answer in [
        "",
        "/097%_old.txt",
        "/.why",
        "/.why/097%_old.txt",
        "/.report.json",
    ] {
        assert_eq!(
            ttl(&format!("/report.txt/.similar{answer}")),
            Duration::ZERO,
            "{answer}"
        );
    }
}

/// `.similar` answers from the index at every open.
#[test]
fn every_open_asks_anew() {
    struct Generations(MapNeighbours, AtomicU64, AtomicUsize);
    impl Neighbours for Generations {
        fn similar(&self, file: &Path) -> Listing {
            self.2.fetch_add(1, Ordering::Relaxed);
            self.0.similar(file)
        }
        fn similar_dirs(&self, dir: &Path) -> Listing {
            self.0.similar_dirs(dir)
        }
        fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8> {
            self.0.why(file, neighbour)
        }
        fn report(&self, file: &Path) -> Vec<u8> {
            self.0.report(file)
        }
        fn generation(&self) -> Option<u64> {
            Some(self.1.load(Ordering::Relaxed))
        }
    }
    let fixture = Fixture::new();
    let report = fixture.path("docs/report.txt");
    let index = Arc::new(Generations(
        MapNeighbours::new(),
        AtomicU64::new(0),
        AtomicUsize::new(0),
    ));
    let asked: Arc<dyn Neighbours> = Arc::clone(&index) as _;
    let roots = vec![fixture.path("docs")];
    let space = Namespace::new(View::Folders, Show::Default, &roots, vec![], asked).unwrap();
    let similar = "/report.txt/.similar";
    assert!(ls(&space, similar).is_empty());

    index.0.set(
        &report,
        (0..50)
            .map(|i| near(Path::new(&format!("/x/{i}")), 0.5))
            .collect(),
    );
    index.1.fetch_add(1, Ordering::Relaxed);
    index.2.store(0, Ordering::Relaxed);
    assert_eq!(ls(&space, similar).len(), 50);
    assert_eq!(
        index.2.load(Ordering::Relaxed),
        1,
        "look-ups after a listing do not ask again"
    );

    index.0.set(&report, vec![near(Path::new("/x/new"), 0.5)]);
    index.1.fetch_add(1, Ordering::Relaxed);
    assert_eq!(
        refusal(&space, &format!("{similar}/050%_0")),
        Refusal::NotFound
    );
    assert_eq!(ls(&space, similar), ["050%_new"]);
}

// ---- identity ----

/// Inode numbers are the same after a restart, and differ between the views, between a file and its
/// folder, and after a change of type on one path.
#[test]
fn inode_numbers_are_stable() {
    let fixture = Fixture::new();
    let paths = [
        "/",
        "/sub",
        "/report.txt",
        "/report.txt/report.txt",
        "/report.txt/.similar",
        "/report.txt/.similar/097%_old.txt",
        "/report.txt/.similar/.why/097%_old.txt",
    ];
    let numbers = || {
        let space = fixture.space(View::Folders, Show::Default);
        paths.map(|path| Walk::to(&space, path).unwrap().ino())
    };
    let first = numbers();
    assert_eq!(first, numbers());
    let mut distinct = first.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), paths.len());

    let files = fixture.space(View::Files, Show::Default);
    let as_file = Walk::to(&files, "/report.txt").unwrap();
    assert!(!first.contains(&as_file.ino()));
    fs::remove_file(fixture.path("docs/report.txt")).unwrap();
    fs::create_dir(fixture.path("docs/report.txt")).unwrap();
    assert_eq!(files.getattr(as_file.ino()).unwrap_err(), Refusal::Stale);
    let as_dir = Walk::to(&files, "/report.txt").unwrap();
    assert_ne!(as_dir.ino(), as_file.ino());
}

/// A file that is open goes on being readable and its attributes go on being shown when its name is
/// gone.
#[test]
fn an_open_file_outlives_its_name() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    let file = Walk::to(&space, "/report.txt").unwrap();
    let handle = space.open(file.ino()).unwrap().handle;
    fs::remove_file(fixture.path("docs/report.txt")).unwrap();
    assert_eq!(space.read(handle, 4, 100).unwrap(), b"report");
    assert_eq!(space.getattr(file.ino()).unwrap().attr.size, 10);
    assert_eq!(refusal(&space, "/report.txt"), Refusal::NotFound);
    space.release(handle);
    assert_eq!(space.getattr(file.ino()).unwrap_err(), Refusal::NotFound);
}

// ---- safety ----

/// What is left out is left out by its path, before any system call on it: it is neither listed nor
/// found, nor is anything below it.
#[test]
fn excluded_paths_are_not_there() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("docs/M/inside")).unwrap();
    for view in [View::Folders, View::Files] {
        let space = fixture.space(view, Show::Default);
        assert!(!ls(&space, "/").contains(&"M".into()));
        assert_eq!(refusal(&space, "/M"), Refusal::NotFound);
        assert_eq!(refusal(&space, "/M/inside"), Refusal::NotFound);
    }
}

/// No symbolic link in the tree leads a request out of it, not even one that replaces a directory
/// while it is open.
#[test]
fn symbolic_links_lead_nowhere() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("outside")).unwrap();
    fs::write(fixture.path("outside/old.txt"), "outside").unwrap();
    let space = fixture.space(View::Files, Show::Default);
    let sub = Walk::to(&space, "/sub").unwrap();
    let file = Walk::to(&space, "/sub/old.txt").unwrap();
    fs::rename(fixture.path("docs/sub"), fixture.path("docs/moved")).unwrap();
    symlink(fixture.path("outside"), fixture.path("docs/sub")).unwrap();
    assert_eq!(
        space.lookup(sub.ino(), OsStr::new("old.txt")).unwrap_err(),
        Refusal::NotFound
    );
    assert!(space.open_dir(sub.ino()).is_err());
    assert_eq!(space.open(file.ino()).unwrap_err(), Refusal::NotFound);
    assert_eq!(
        space.lookup(sub.ino(), OsStr::new("..")).unwrap_err(),
        Refusal::NotFound
    );
    // The link itself is shown as what it is.
    assert_eq!(readlink(&space, "/sub"), fixture.path("outside"));
}

/// Reading through the overlay leaves no trace on the watched files, not even a time of access.
#[test]
fn reading_leaves_no_trace() {
    let fixture = Fixture::new();
    let real = fixture.path("docs/report.txt");
    let old = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options().write(true).open(&real).unwrap();
    file.set_times(fs::FileTimes::new().set_accessed(old).set_modified(old))
        .unwrap();
    let before = fs::metadata(&real).unwrap();
    let space = fixture.space(View::Folders, Show::Default);
    cat(&space, "/report.txt/report.txt").unwrap();
    ls(&space, "/report.txt/.similar");
    let after = fs::metadata(&real).unwrap();
    assert_eq!(
        (after.atime(), after.ctime_nsec()),
        (before.atime(), before.ctime_nsec())
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Folders, Show::Default);
    assert_eq!(space.getattr(4711).unwrap_err(), Refusal::Stale);
    assert_eq!(space.read(4711, 0, 1).unwrap_err(), Refusal::BadHandle);
    assert_eq!(space.open(ROOT).unwrap_err(), Refusal::IsADirectory);
    assert_eq!(space.readlink(ROOT).unwrap_err(), Refusal::Invalid);
    let file = Walk::to(&space, "/report.txt/report.txt").unwrap();
    assert_eq!(
        space.open_dir(file.ino()).unwrap_err(),
        Refusal::NotADirectory
    );
    assert_eq!(
        Refusal::Real(rustix::io::Errno::NOSYS).errno(),
        libc::EIO,
        "ENOSYS would stick"
    );
}

#[test]
fn holes_are_found() {
    let fixture = Fixture::new();
    let file = fs::File::create(fixture.path("docs/holes")).unwrap();
    file.set_len(1 << 30).unwrap();
    let space = fixture.space(View::Files, Show::Default);
    let handle = space
        .open(Walk::to(&space, "/holes").unwrap().ino())
        .unwrap()
        .handle;
    assert_eq!(space.seek(handle, 0, true), Ok(0));
    assert_eq!(
        space.seek(handle, 0, false).unwrap_err().errno(),
        libc::ENXIO
    );
    space.release(handle);
}

#[test]
fn efforts_keep_slow_answers_off_the_servers() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Folders, Show::Default);
    let at = |path: &str| Walk::to(&space, path).unwrap();
    let (file, similar) = (at("/report.txt/report.txt"), at("/report.txt/.similar"));
    let why = at("/report.txt/.similar/.why/097%_old.txt");
    let name = OsStr::new("097%_old.txt");
    assert_eq!(space.lookup_effort(similar.ino(), name), Effort::Answer);
    assert_eq!(space.list_effort(similar.ino()), Effort::Answer);
    assert_eq!(space.open_effort(why.ino()), Effort::Text);
    let count = OsStr::new("user.resemble.count");
    assert_eq!(space.attribute_effort(file.ino(), count), Effort::Answer);
    let handle = space.open_dir(similar.ino()).unwrap().handle;
    assert_eq!(space.read_dir_effort(handle, 0), Effort::Answer);
    for small in [
        space.lookup_effort(ROOT, OsStr::new("report.txt")),
        space.lookup_effort(similar.ino(), OsStr::new(".report.json")),
        space.list_effort(ROOT),
        space.open_effort(file.ino()),
        space.attribute_effort(file.ino(), OsStr::new("security.selinux")),
        space.read_dir_effort(handle, 3),
    ] {
        assert_eq!(small, Effort::Small);
    }
}
