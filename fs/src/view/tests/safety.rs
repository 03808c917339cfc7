//! Tests of inode numbers, open files, limits, and excluded paths.

use super::*;

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

/// Sends the kernel's requests while another thread replaces a file again and again. Like the
/// kernel, the test looks the name up, asks for the attributes, and opens the file. If the open is
/// refused, the test looks the name up twice and repeats the open. The first of these look-ups
/// finds that the name has another number.
#[test]
fn a_file_is_never_refused_twice_while_it_is_replaced() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (refused, opened) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let request = |thread| {
        let walk = Walk::to(&space, "/").unwrap();
        let look_up = || {
            let found = space.lookup(walk.ino(), OsStr::new("report.txt"), thread);
            found.unwrap().attr.ino
        };
        let mut known = vec![look_up()];
        space.getattr(known[0]).unwrap();
        // The kernel trusts a name for a while. The file may be replaced in that time.
        std::thread::yield_now();
        let handle = space.open(known[0], thread).or_else(|refusal| {
            assert_eq!(refusal, Refusal::Stale);
            refused.fetch_add(1, Ordering::Relaxed);
            space.forget(look_up(), 1);
            known.push(look_up());
            space.getattr(known[1]).unwrap();
            space.open(known[1], thread)
        });
        let handle = handle.unwrap().handle;
        opened.fetch_add(1, Ordering::Relaxed);
        let size = space.getattr_open(*known.last().unwrap(), handle);
        let size = size.unwrap().attr.size;
        assert_eq!(space.read(handle, 0, 1000).unwrap().len() as u64, size);
        space.release(handle);
        for ino in known {
            space.forget(ino, 1);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let text = "another report ".repeat(n % 9);
                fixture.dir.write("docs/new", text.as_bytes());
                fs::rename(fixture.path("docs/new"), fixture.path("docs/report.txt")).unwrap();
            }
        });
        let request = &request;
        let threads =
            [7, 8].map(|thread| scope.spawn(move || (0..10_000).for_each(|_| request(thread))));
        let ended = threads.map(std::thread::ScopedJoinHandle::join);
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert_eq!(opened.into_inner(), 20_000);
    assert!(refused.into_inner() > 0);
    assert_eq!(space.in_use(), (0, 0));
}

/// After a refused open, the next look-up of the same place opens the file. If that look-up fails,
/// the record of the refusal is dropped.
#[test]
fn a_refused_open_is_ended_by_a_failed_look_up() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    let replace = |text: &str| {
        fixture.dir.write("docs/new", text);
        fs::rename(fixture.path("docs/new"), fixture.path("docs/report.txt")).unwrap();
    };
    let top = Walk::to(&space, "/").unwrap().ino();
    let look_up = || space.lookup(top, OsStr::new("report.txt"), 7);
    let open = |ino| space.open(ino, 7).map(|opened| opened.handle);
    let first = look_up().unwrap().attr.ino;
    replace("second");
    assert_eq!(open(first).unwrap_err(), Refusal::Stale);
    fs::remove_file(fixture.path("docs/report.txt")).unwrap();
    assert_eq!(look_up().unwrap_err(), Refusal::NotFound);
    replace("third");
    let third = look_up().unwrap().attr.ino;
    replace("fourth");
    assert_eq!(open(third).unwrap_err(), Refusal::Stale, "it is the third");
    let fourth = look_up().unwrap().attr.ino;
    let handle = open(fourth).unwrap();
    assert_eq!(space.read(handle, 0, 100).unwrap(), b"fourth");
}

/// If a path such as `/proc/self/fd/0` is opened, the kernel repeats a refused open without a
/// look-up.
#[test]
fn an_open_file_is_opened_again_without_a_look_up() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    let walk = Walk::to(&space, "/report.txt").unwrap();
    let open = || space.open(walk.ino(), 7).map(|opened| opened.handle);
    let first = open().unwrap();
    fixture.dir.write("docs/report.txt", "a longer report");
    assert_eq!(open().unwrap_err(), Refusal::Stale);
    let grown = open().unwrap();
    assert_eq!(space.read(grown, 0, 100).unwrap(), b"a longer report");
    fixture.dir.write("docs/new", "another");
    fs::rename(fixture.path("docs/new"), fixture.path("docs/report.txt")).unwrap();
    assert_eq!(open().unwrap_err(), Refusal::Stale);
    let again = open().unwrap();
    assert_eq!(space.read(again, 0, 100).unwrap(), b"a longer report");
    for handle in [first, grown, again] {
        space.release(handle);
    }
    assert_eq!(open().unwrap_err(), Refusal::Stale);
    assert_eq!(open().unwrap_err(), Refusal::Stale, "nobody has it open");
}

/// A file that is open can still be read, and its attributes are still shown, when its name is
/// gone.
#[test]
fn an_open_file_outlives_its_name() {
    let fixture = Fixture::new();
    let space = fixture.space(View::Files, Show::Default);
    let file = Walk::to(&space, "/report.txt").unwrap();
    let handle = space.open(file.ino(), 0).unwrap().handle;
    fs::remove_file(fixture.path("docs/report.txt")).unwrap();
    assert_eq!(space.read(handle, 4, 100).unwrap(), b"report");
    assert_eq!(space.getattr(file.ino()).unwrap().attr.size, 10);
    assert_eq!(refusal(&space, "/report.txt"), Refusal::NotFound);
    space.release(handle);
    assert_eq!(space.getattr(file.ino()).unwrap_err(), Refusal::NotFound);
}

/// However often one text, member or listing is open, its bytes are held once. If there is no room
/// for another one, opening it fails with EMFILE.
#[test]
fn what_is_open_is_held_once_and_bounded() {
    let fixture = Fixture::new();
    for n in 0..5000 {
        let name = format!("docs/many/a file with a name of usual length {n}");
        fixture.dir.write(&name, "");
    }
    let space = fixture.space(View::Files, Show::Default);
    let space = space.bounded(false, Some(fixture.path("")));
    let taken = || space.store.shares().taken();
    let many = Walk::to(&space, "/many").unwrap();
    let held: Vec<Opened> = (0..50)
        .map(|_| space.open_dir(many.ino()).unwrap())
        .collect();
    let once = taken();
    assert_eq!((once.descriptors, once.memory), (50 + 1, 0));
    assert!((200_000..400_000).contains(&once.disk), "{once:?}");
    for opened in &held[48..] {
        assert_eq!(read_on(&space, opened.handle, 0, 1000).len(), 5002);
    }
    // The listing is read from any offset, forwards and backwards.
    for from in [4000, 17, 5001, 5002, 0, u64::MAX] {
        let rest = read_on(&space, held[0].handle, from, 2000).len() as u64;
        assert_eq!(rest, 5002u64.saturating_sub(from), "{from}");
    }
    // A listing that has changed is stored in addition to the earlier listing, which is still open.
    fixture.dir.write("docs/many/one more", "");
    let changed = space.open_dir(many.ino()).unwrap();
    assert!(taken().disk > once.disk + 200_000);
    for opened in held.iter().chain([&changed]) {
        space.release(opened.handle);
    }
    assert_eq!(
        (taken().descriptors, taken().memory, taken().disk),
        (0, 0, 0)
    );

    let mut space = fixture.space(View::Files, Show::Default);
    let limits = shares::Amounts {
        descriptors: 40,
        memory: 1 << 20,
        disk: 0,
    };
    let bounds = shares::Shares::new(limits, false);
    space.store = Arc::new(held::Store::new(bounds, None));
    let taken = || space.store.shares().taken();
    let file = Walk::to(&space, "/report.txt").unwrap();
    let report = Walk::to(&space, "/.similar/report.txt/.report.json").unwrap();
    let mut held = Vec::new();
    let refusal = loop {
        let ino = if held.len() % 2 == 0 {
            file.ino()
        } else {
            report.ino()
        };
        match space.open(ino, 0) {
            Ok(opened) => held.push(opened.handle),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refusal.errno(), rustix::io::Errno::MFILE.raw_os_error());
    assert_eq!((taken().descriptors, held.len()), (40, 40));
    assert!(taken().memory < 100, "one report: {:?}", taken());
    space.release(held.remove(7));
    assert!(space.open(file.ino(), 0).is_ok());
}

/// An excluded path is recognised before any system call on it. Neither this path nor anything
/// below it is listed or found.
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
        space
            .lookup(sub.ino(), OsStr::new("old.txt"), 0)
            .unwrap_err(),
        Refusal::NotFound
    );
    assert!(space.open_dir(sub.ino()).is_err());
    assert_eq!(space.open(file.ino(), 0).unwrap_err(), Refusal::NotFound);
    assert_eq!(
        space.lookup(sub.ino(), OsStr::new(".."), 0).unwrap_err(),
        Refusal::NotFound
    );
    // The replaced directory itself is shown as a link.
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
    assert_eq!(space.open(ROOT, 0).unwrap_err(), Refusal::IsADirectory);
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
        .open(Walk::to(&space, "/holes").unwrap().ino(), 0)
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
