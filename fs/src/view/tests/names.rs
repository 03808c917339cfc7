//! Tests of names with any bytes, of many names, and of names that come and go.

use super::*;

/// Any name in the tree is the same in the overlay, byte by byte: with newlines, invalid UTF-8, 255
/// bytes.
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
                let link = space.lookup(similar.ino(), link, 0).unwrap().attr.ino;
                let target = OsString::from_vec(space.readlink(link).unwrap());
                assert!(fs::metadata(&target).is_ok(), "{target:?}");
            }
        }
    }
}

/// An entry can be looked up by its name even if the directory was not listed before.
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

/// A listing has at most 100 entries, the best ones, and never the file itself.
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
    assert_eq!(names.len(), 101);
    assert_eq!(names[0], "033%_050");
    assert_eq!(names[99], "099%_149");
}

/// If there are more, the last entry is the file `… N more`, which says how to see them all.
#[test]
fn a_listing_that_was_cut_says_how_many_more_there_are() {
    let fixture = Fixture::new();
    let many = |count: u32| {
        let all = (0..count).map(|i| near(Path::new(&format!("/x/{i:03}")), 0.5));
        all.collect::<Vec<_>>()
    };
    for (of, in_view) in [
        ("docs/report.txt", "/report.txt/.similar"),
        ("docs", "/.similar"),
    ] {
        fixture.map.set(fixture.path(of), many(100));
        let space = fixture.space(View::Folders, Show::Default);
        assert!(ls(&space, in_view).iter().all(|name| name != "… 1 more"));
        assert_eq!(
            refusal(&space, &format!("{in_view}/… 1 more")),
            Refusal::NotFound
        );
        fixture.map.set(fixture.path(of), many(101));
        let space = fixture.space(View::Folders, Show::Default);
        let last = ls(&space, in_view).pop();
        assert_eq!(last, Some("… 1 more".into()));
        let more = format!("{in_view}/… 1 more");
        assert!(
            cat(&space, &more)
                .unwrap()
                .starts_with(b"1 more resemble /")
        );
        let why = format!("{in_view}/.why/… 1 more");
        assert_eq!(refusal(&space, &why), Refusal::NotFound);
    }
}

/// A neighbour whose path has 4,096 bytes or more has no entry, because no link can lead to it. It
/// is one of the `… N more`.
#[test]
fn a_path_too_long_for_a_link_has_no_entry() {
    let fixture = Fixture::new();
    let path = |length: usize| format!("/{}", "x".repeat(length - 1));
    let neighbours = [4095, 4096].map(|length| near(Path::new(&path(length)), 0.5));
    fixture
        .map
        .set(fixture.path("docs/report.txt"), neighbours.into());
    let space = fixture.space(View::Folders, Show::Default);
    let names = ls(&space, "/report.txt/.similar");
    assert_eq!(names.len(), 2);
    assert_eq!(names[1], "… 1 more");
    let name = names[0].to_str().unwrap();
    let target = readlink(&space, &format!("/report.txt/.similar/{name}"));
    assert_eq!(target, Path::new(&path(4095)));
}

/// The entry of a member is a file with the member's own bytes, which are taken out of the archive
/// when the file is opened. The size of the file is their number.
#[test]
fn a_member_is_a_file_with_its_own_bytes() {
    let fixture = Fixture::new();
    let member = Neighbour {
        member: b"docs/a.txt".to_vec(),
        member_size: 31,
        ..near(Path::new("/x/a.zip"), 0.5)
    };
    fixture
        .map
        .set(fixture.path("docs/report.txt"), vec![member]);
    let space = fixture.space(View::Folders, Show::Default);
    let name = "050%_a.zip!docs!a.txt";
    assert_eq!(ls(&space, "/report.txt/.similar"), [name]);
    let path = format!("/report.txt/.similar/{name}");
    let walk = Walk::to(&space, &path).unwrap();
    assert_eq!(
        (walk.entry.attr.kind, walk.entry.attr.size),
        (Kind::File, 31)
    );
    assert_eq!(
        cat(&space, &path).unwrap(),
        b"the bytes of /x/a.zip!docs/a.txt\n"
    );
    assert_eq!(space.readlink(walk.ino()).unwrap_err(), Refusal::Invalid);
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
