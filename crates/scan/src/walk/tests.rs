use std::os::unix::fs::symlink;

use super::*;

fn names(found: &[Found]) -> Vec<&[u8]> {
    found.iter().map(|f| f.name.as_bytes()).collect()
}

#[test]
fn every_byte_but_slash_and_nul_survives_and_the_order_is_that_of_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for byte in (1..=255u8).filter(|&byte| byte != b'/' && byte != b'.') {
        expected.push(vec![byte]);
    }
    expected.push(b"-rf".to_vec());
    expected.push(b"a\nb".to_vec());
    expected.push(vec![b'x'; 255]);
    for name in &expected {
        std::fs::write(dir.path().join(OsStr::from_bytes(name)), b"").unwrap();
    }
    expected.sort();
    let anchor = Anchor::open(dir.path()).unwrap();
    let found = anchor.dir(dir.path()).unwrap().list(&|_| false).unwrap();
    assert_eq!(
        names(&found),
        expected.iter().map(Vec::as_slice).collect::<Vec<_>>()
    );
}

#[test]
fn types_are_those_of_the_entries_and_links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("file"), b"x").unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    symlink("file", at("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let anchor = Anchor::open(dir.path()).unwrap();
    let open = anchor.dir(dir.path()).unwrap();
    let kinds: Vec<_> = open
        .list(&|_| false)
        .unwrap()
        .into_iter()
        .map(|f| (f.name.into_string().unwrap(), f.stat.unwrap().kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("dir".into(), Kind::Dir),
            ("fifo".into(), Kind::Special(SpecialKind::Fifo)),
            ("file".into(), Kind::File),
            ("link".into(), Kind::Symlink),
            ("socket".into(), Kind::Special(SpecialKind::Socket)),
        ]
    );
    assert_eq!(open.read_link(OsStr::new("link")).unwrap(), b"file");
    assert_eq!(anchor.read_link(&at("link")).unwrap(), b"file");
    assert_eq!(anchor.stat_at(&at("link")).unwrap().kind, Kind::Symlink);
}

#[test]
fn no_component_below_the_anchor_may_be_a_link_or_lead_out() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), b"s").unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(".", dir.path().join("self")).unwrap();
    let anchor = Anchor::open(dir.path()).unwrap();
    for path in ["out/secret", "self/out", "../x", "self/self"] {
        let errno = anchor.open_at(&dir.path().join(path), OFlags::PATH).err();
        assert!(
            matches!(errno, Some(Errno::LOOP | Errno::XDEV)) || path == "self/self",
            "{path}: {errno:?}"
        );
    }
    // The error number depends on the version of the kernel.
    let errno = anchor.dir(&dir.path().join("out")).err();
    assert!(
        matches!(errno, Some(Errno::LOOP | Errno::NOTDIR)),
        "{errno:?}"
    );
    assert_eq!(
        anchor.open_at(outside.path(), OFlags::PATH).err(),
        Some(Errno::XDEV)
    );
    // Links in the path of a root are not followed, either.
    std::fs::create_dir(outside.path().join("root")).unwrap();
    for root in ["out", "out/root"] {
        let errno = Anchor::open(&dir.path().join(root)).err();
        assert!(
            matches!(errno, Some(Errno::LOOP | Errno::NOTDIR)),
            "{root}: {errno:?}"
        );
    }
}

#[test]
fn snapshot_directories_and_skipped_names_are_not_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    for name in [".snapshot", ".zfs", "ours", "kept"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let anchor = Anchor::open(dir.path()).unwrap();
    let found = anchor
        .dir(dir.path())
        .unwrap()
        .list(&|name| name == "ours")
        .unwrap();
    assert_eq!(names(&found), [b"kept".as_slice()]);
}

/// A name that is gone after it was listed is returned with the error of its `stat`.
#[test]
fn what_vanishes_between_the_listing_and_its_stat_is_found_with_that_failure() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["gone", "kept"] {
        std::fs::write(dir.path().join(name), "x").unwrap();
    }
    let anchor = Anchor::open(dir.path()).unwrap();
    let open = anchor.dir(dir.path()).unwrap();
    let found = open
        .list(&|name| {
            std::fs::remove_file(dir.path().join("gone")).ok();
            name == "other"
        })
        .unwrap();
    assert_eq!(names(&found), [b"gone".as_slice(), b"kept"]);
    assert_eq!(
        found.iter().map(Found::is_gone).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn paths_beyond_path_max_are_reached_in_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let name = "n".repeat(200);
    let mut path = dir.path().to_owned();
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut fd = rustix::fs::open(dir.path(), flags, Mode::empty()).unwrap();
    for _ in 0..60 {
        rustix::fs::mkdirat(&fd, &name, Mode::RWXU).unwrap();
        fd = rustix::fs::openat(&fd, &name, flags, Mode::empty()).unwrap();
        path.push(&name);
    }
    rustix::fs::openat(&fd, "deep", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    assert!(path.as_os_str().len() > 12_000);
    let anchor = Anchor::open(dir.path()).unwrap();
    let found = anchor.dir(&path).unwrap().list(&|_| false).unwrap();
    assert_eq!(names(&found), [b"deep".as_slice()]);
    assert_eq!(anchor.stat_at(&path.join("deep")).unwrap().kind, Kind::File);
    assert_eq!(anchor.stat_at(&path.join("none")).err(), Some(Errno::NOENT));
    assert!(Anchor::open(&path).is_ok());
}

#[test]
fn pieces_are_whole_components() {
    assert_eq!(piece_end(b"a/b/c", 10), None);
    assert_eq!(piece_end(b"a/b/c", 4), Some(3));
    assert_eq!(piece_end(b"a/b/c", 1), Some(1));
    assert_eq!(piece_end(b"abc/d", 1), Some(3));
    assert_eq!(piece_end(b"abc", 1), None);
}

#[test]
fn a_replaced_anchor_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let anchor = Anchor::open(&root).unwrap();
    assert!(!anchor.was_replaced());
    std::fs::rename(&root, dir.path().join("old")).unwrap();
    assert!(anchor.was_replaced());
    std::fs::create_dir(&root).unwrap();
    assert!(anchor.was_replaced());
}
