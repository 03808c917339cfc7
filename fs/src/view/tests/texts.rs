//! Tests of explanations, reports and attributes.

use super::*;

/// `.similar/.why/NAME` explains the link of that name and says which parts of the two documents
/// could not be read. `.similar/.report.json` is the report of `find`, with what it leaves out.
/// Both files can be opened but are not listed, and each is computed when it is opened.
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
        space.open(report.ino(), 0).unwrap().direct,
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

/// Neighbours that answer every question with nothing, and count the questions about similar files
/// and directories.
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

/// Modes, owners and times are the real file's; a folder adds a right to enter to each right to
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

/// The kernel may cache names that mirror the tree for one second. It must not cache answers.
#[test]
fn times_to_live() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Folders, Show::Default);
    let ttl = |path: &str| Walk::to(&space, path).unwrap().entry.ttl;
    let attr_ttl = |path: &str| Walk::to(&space, path).unwrap().entry.attr_ttl;
    for mirrored in ["/", "/sub", "/report.txt", "/report.txt/report.txt"] {
        assert_eq!(ttl(mirrored), Duration::from_secs(1), "{mirrored}");
    }
    assert_eq!(attr_ttl("/report.txt"), Duration::from_secs(1));
    // The file was changed just now, so the kernel must ask for its attributes before each read.
    assert_eq!(attr_ttl("/report.txt/report.txt"), Duration::ZERO);
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
    assert_eq!(attr_ttl("/report.txt/.similar"), Duration::ZERO);
}

/// If a file was not changed for five seconds, the kernel trusts its attributes for 10 ms, so a
/// program that has it open sees the next change up to 10 ms later.
#[test]
fn a_quiet_file_is_trusted_for_ten_milliseconds() {
    // `Cargo.toml` is older than the test program, so it was last changed more than five seconds
    // ago.
    let roots = [PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
    let map: Arc<dyn Neighbours> = Arc::new(MapNeighbours::new());
    let space = Namespace::new(View::Files, Show::Default, &roots, Vec::new(), map).unwrap();
    let entry = Walk::to(&space, "/Cargo.toml").unwrap().entry.clone();
    assert_eq!(entry.attr_ttl, Duration::from_millis(10));
    assert_eq!(entry.ttl, Duration::from_secs(1));
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
