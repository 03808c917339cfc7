//! Tests of the folders and files that a view shows.

use super::*;

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

/// Any file's name can be looked up in a directory's `.similar`; only files with neighbours are
/// listed.
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

/// By default `.similar` is listed only in the folders that represent files in the folders view.
/// `--show always` and `--show never` change that for both views. It can be looked up even if it is
/// not listed.
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
/// `D/.similar` (folders view) or `D/.similar/.dirs` (files view). Each is named by the share of
/// D's bytes that it has.
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

/// A real entry called `.similar` is hidden behind that of the overlay, and counted.
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

/// `.similar` may be listed under another name; then it can still be looked up by its own name, and
/// a real entry of either name is hidden and counted.
#[test]
fn similar_may_have_another_name() {
    let fixture = Fixture::new();
    let named = |view, show| {
        let name = "Similar files".parse().unwrap();
        fixture.space(view, show).with_similar_name(name)
    };
    let space = named(View::Folders, Show::Default);
    assert_eq!(ls(&space, "/"), ["report.txt", "sub"]);
    assert_eq!(ls(&space, "/report.txt"), ["Similar files", "report.txt"]);
    let number = |path: &str| Walk::to(&space, path).unwrap().ino();
    assert_eq!(
        number("/report.txt/Similar files"),
        number("/report.txt/.similar")
    );
    for similar in ["Similar files", ".similar"] {
        let link = format!("/report.txt/{similar}/097%_old.txt");
        assert_eq!(readlink(&space, &link), fixture.path("docs/sub/old.txt"));
        assert!(ls(&space, &format!("/sub/{similar}")).is_empty());
    }
    let all = named(View::Folders, Show::Always);
    assert_eq!(ls(&all, "/"), ["Similar files", "report.txt", "sub"]);
    let never = named(View::Folders, Show::Never);
    assert_eq!(ls(&never, "/report.txt"), ["report.txt"]);

    fs::write(fixture.path("docs/Similar files"), "a real one").unwrap();
    fs::create_dir(fixture.path("docs/.similar")).unwrap();
    for view in [View::Folders, View::Files] {
        let space = named(view, Show::Default);
        assert!(!ls(&space, "/").iter().any(|name| name == "Similar files"));
        assert_eq!(space.hidden_similar_entries(), 2);
    }
    let space = named(View::Files, Show::Always);
    let listed = ls(&space, "/");
    assert_eq!(listed, ["Similar files", "link", "report.txt", "sub"]);
    assert_eq!(ls(&space, "/Similar files"), ["report.txt"]);
    assert_eq!(
        refusal(&space, "/Similar files/Similar files"),
        Refusal::NotFound
    );
    assert_eq!(
        ls(&space, "/Similar files/report.txt"),
        ls(&space, "/.similar/report.txt")
    );
    fs::remove_file(fixture.path("docs/Similar files")).unwrap();
    ls(&space, "/");
    assert_eq!(space.hidden_similar_entries(), 1);
    assert_eq!(ls(&fixture.space(View::Files, Show::Default), "/").len(), 3);
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
    // A file that has become a FIFO since its look-up is not opened, because that would block for
    // ever.
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
    assert_eq!(space.open(file.ino(), 0).unwrap_err(), Refusal::Stale);
}

/// With several roots, each root is a folder. Its name is the last component of the root's path. If
/// an earlier root has that name, `~2`, `~3` and so on is added: `docs`, `docs~2`. The folder of
/// the root `/` is called `root`.
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

/// Roots can be added and removed while the view is mounted. If the mount shows the entries of its
/// only root, it continues to do so. A further root is then a folder beside these entries, with a
/// name that none of them has.
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
    // The first root already has an entry `sub`, so the second root is called `sub~2`.
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
    assert!(space.open(file.ino(), 0).is_err());
    // The root whose entries the mount shows is removed, and comes back to its place later.
    set(&["b/sub"]);
    assert_eq!(ls(&space, "/"), ["sub~2"]);
    assert_eq!(refusal(&space, "/report.txt"), Refusal::NotFound);
    set(&["b/sub", "docs"]);
    assert_eq!(cat(&space, "/report.txt").unwrap(), b"the report");

    // If the roots were folders at first, a root stays a folder even if it is the only one left.
    let space = fixture.space_of(View::Files, Show::Default, &["docs", "b/sub"]);
    space.set_roots(&[fixture.path("b/sub")]);
    assert_eq!(ls(&space, "/"), ["sub"]);
    space.set_roots(&[]);
    assert!(ls(&space, "/").is_empty());
    space.set_roots(&[fixture.path("docs/sub"), fixture.path("b/sub")]);
    assert_eq!(ls(&space, "/"), ["sub", "sub~2"]);
    assert_eq!(cat(&space, "/sub/only-b").unwrap(), b"b");
}

/// A root whose directory vanishes is empty, the other roots stay as they are, and it comes back
/// when the directory does.
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
        // The handle of a root is opened again when it is older than a second. So this loop ends
        // without help by another thread.
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
