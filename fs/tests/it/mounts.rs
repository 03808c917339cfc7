//! Real mounts, real clients. Doc comments that are promises stand in `docs/semantics.md`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::site::{Site, client, fuse_works, mounts, near, output, run, shell};
use resemble_fs::{
    Listing, MountError, Neighbours, Overlay, OverlayConfig, View, is_inside_resemble_mount,
};

// ---- what users do ----

/// `ls`, `ls -l`, `cat`, `cp`, `grep`, `wc`, `find`, `less` and `getfattr` work in the folders
/// view.
#[test]
fn everyday_commands_in_the_folders_view() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Folders);
    let m = overlay.mount_point();
    assert_eq!(shell("ls $1", m), "copy.txt\nreport.txt\nsub\n");
    assert_eq!(shell("ls $1/report.txt", m), "report.txt\n");
    assert_eq!(shell("ls -A $1/report.txt", m), ".similar\nreport.txt\n");
    assert_eq!(
        shell("ls $1/report.txt/.similar", m),
        "062%_old.txt\n100%_copy.txt\n"
    );
    assert_eq!(shell("cat $1/report.txt/report.txt", m), "the report\n");
    assert_eq!(
        shell("cat $1/report.txt/.similar/062*", m),
        "the old report\n"
    );
    assert_eq!(
        shell("readlink $1/report.txt/.similar/100%_copy.txt", m).trim_end(),
        site.path("docs/copy.txt").to_str().unwrap()
    );
    let long = shell("ls -lA $1/report.txt/.similar $1/report.txt $1", m);
    assert!(
        long.contains("062%_old.txt -> /") && long.contains("report.txt"),
        "{long}"
    );
    // Texts of unknown length: every way of reading sees all of them.
    let why = shell("cat $1/report.txt/.similar/.why/062%_old.txt", m);
    assert!(
        why.contains("report.txt resembles ") && why.ends_with("old.txt\n"),
        "{why}"
    );
    for line in [
        "cp $1/report.txt/.similar/.why/062%_old.txt $1.copy; cat $1.copy",
        "grep resembles $1/report.txt/.similar/.why/062%_old.txt",
        "dd if=$1/report.txt/.similar/.why/062%_old.txt bs=7 status=none",
        "tail -n 5 $1/report.txt/.similar/.why/062%_old.txt",
        "less $1/report.txt/.similar/.why/062%_old.txt",
    ] {
        assert_eq!(shell(line, m), why, "{line}");
    }
    assert_eq!(
        shell("wc -c < $1/report.txt/.similar/.why/062%_old.txt", m).trim(),
        why.len().to_string()
    );
    assert_eq!(
        shell("cat $1/report.txt/.similar/.report.json", m),
        "{\"total\":2}\n"
    );
    let found = shell("cd $1; find . -type f | sort", m);
    assert_eq!(
        found,
        "./copy.txt/copy.txt\n./report.txt/report.txt\n./sub/old.txt/old.txt\n"
    );
    let found = shell("cd $1; find . -type l | sort", m);
    assert_eq!(
        found,
        "./report.txt/.similar/062%_old.txt\n./report.txt/.similar/100%_copy.txt\n"
    );
    for file in ["report.txt", "report.txt/report.txt"] {
        let attributes = shell(&format!("cd $1; getfattr -d {file}"), m);
        assert_eq!(
            attributes,
            format!(
                "# file: {file}\nuser.resemble.best=\"{}\"\nuser.resemble.best_percent=\"100\"\n\
                 user.resemble.count=\"2\"\nuser.resemble.relation=\"identical\"\n\n",
                site.path("docs/copy.txt").display()
            )
        );
    }
    assert_eq!(
        shell(
            "cd $1; getfattr --only-values -n user.resemble.count sub/old.txt",
            m
        ),
        "0"
    );
    overlay.unmount().unwrap();
}

/// The files view is the tree: `diff -r`, `cp -r`, `find` and `tar` see the same names, bytes and
/// links, and meet no `.similar`.
#[test]
fn files_view_equals_the_tree_for_commands() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::write(site.path("docs/big"), vec![7; 3 << 20]).unwrap();
    fs::write(site.path("docs/sub/empty"), "").unwrap();
    fs::File::create(site.path("docs/sparse"))
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    symlink("nowhere", site.path("docs/dangling")).unwrap();
    for i in 0..500 {
        fs::write(site.path(&format!("docs/sub/{i:0100}")), i.to_string()).unwrap();
    }
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point();
    let docs = site.path("docs");
    output(
        "diff",
        [
            "-r".as_ref(),
            "--no-dereference".as_ref(),
            docs.as_os_str(),
            m.as_os_str(),
        ],
    );
    shell("cp -r $1 $1.copy", m);
    let copy = site.path("M.copy");
    output(
        "diff",
        [
            "-r".as_ref(),
            "--no-dereference".as_ref(),
            docs.as_os_str(),
            copy.as_os_str(),
        ],
    );
    let listing = "find . -printf '%P %y %s %m %T@ %l\\n' | grep -v ' d ' | sort | md5sum";
    let there = shell(&format!("cd $1; {listing}"), m);
    assert_eq!(there, shell(&format!("cd $1; {listing}"), &docs));
    let tar =
        "cd $1; tar c --sort=name --hard-dereference --no-recursion -h report.txt big sub | md5sum";
    assert_eq!(shell(tar, m), shell(tar, &docs));
    // The answer of a directory.
    assert_eq!(shell("ls -A $1/.similar", m), "report.txt\n");
    assert_eq!(
        shell("ls $1/.similar/report.txt", m),
        "062%_old.txt\n100%_copy.txt\n"
    );
    assert_eq!(
        shell("ls -A $1/.similar/copy.txt $1/sub/.similar/old.txt", m)
            .matches('%')
            .count(),
        0
    );
    let out = run("ls", [m.join("report.txt/.similar")]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("Not a directory"));
    overlay.unmount().unwrap();
}

/// Mapping a file into memory works, as loaders and editors do it.
#[test]
fn files_can_be_mapped() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::copy("/bin/true", site.path("docs/program")).unwrap();
    let overlay = site.mount(View::Files);
    // The kernel maps what it executes.
    output(
        overlay.mount_point().join("program").to_str().unwrap(),
        [""; 0],
    );
}

/// Every change is refused with EROFS, and nothing of the tree changes.
#[test]
fn every_change_is_refused() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    for view in [View::Folders, View::Files] {
        let overlay = site.mount(view);
        let m = overlay.mount_point();
        let file = if view == View::Folders {
            "report.txt/report.txt"
        } else {
            "report.txt"
        };
        let before = snapshot(&site.path("docs"));
        for line in [
            "touch $1/new",
            "mkdir $1/sub/new",
            "echo x > $1/FILE",
            "echo x >> $1/FILE",
            "truncate -s 0 $1/FILE",
            "rm -f $1/FILE",
            "rmdir $1/sub",
            "mv $1/FILE $1/renamed",
            "ln $1/FILE $1/linked",
            "ln -s x $1/linked",
            "mkfifo $1/fifo",
            "chmod 777 $1/FILE",
            "chown 1 $1/FILE",
            "touch $1/FILE",
            "setfattr -n user.x -v y $1/FILE",
            "setfattr -x user.resemble.count $1/FILE",
            "touch $1/sub/.similar/new",
            "fallocate -l 10 $1/FILE",
        ] {
            let line = line.replace("FILE", file);
            let out = client("sh")
                .args(["-c", &line, "sh"])
                .arg(m)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(
                !out.status.success() && said.contains("Read-only file system"),
                "{line}: {said}"
            );
        }
        assert_eq!(snapshot(&site.path("docs")), before);
    }
}

/// Path, mode, size and time of everything.
fn snapshot(dir: &Path) -> String {
    shell("cd $1; find . -printf '%p %m %s %T@ %C@\\n' | sort", dir)
}

/// The mirrored tree is at most one second behind the real one; answers are never behind the index.
#[test]
fn changes_show_within_a_second() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point();
    assert_eq!(
        fs::read_to_string(m.join("report.txt")).unwrap(),
        "the report\n"
    );
    fs::write(
        site.path("docs/report.txt"),
        "changed, and longer than it was\n",
    )
    .unwrap();
    fs::rename(site.path("docs/copy.txt"), site.path("docs/moved.txt")).unwrap();
    let changed = Instant::now();
    // Content is read anew at each open; names and attributes may lag a second.
    while fs::metadata(m.join("copy.txt")).is_ok()
        || fs::metadata(m.join("report.txt")).unwrap().len() != 32
    {
        assert!(changed.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    assert!(
        changed.elapsed() < Duration::from_millis(2500),
        "{:?}",
        changed.elapsed()
    );
    assert_eq!(
        fs::read_to_string(m.join("report.txt")).unwrap(),
        "changed, and longer than it was\n"
    );
    assert_eq!(
        fs::read_to_string(m.join("moved.txt")).unwrap(),
        "the report\n"
    );

    let similar = m.join(".similar/report.txt");
    for i in 0..50 {
        site.map.set(
            site.path("docs/report.txt"),
            vec![near(Path::new(&format!("/x/{i}")), 0.5)],
        );
        let names: Vec<_> = fs::read_dir(&similar)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, [format!("050%_{i}").as_str()]);
        assert_eq!(
            fs::read_link(similar.join(&names[0])).unwrap(),
            Path::new(&format!("/x/{i}"))
        );
        if i > 0 {
            assert!(fs::symlink_metadata(similar.join(format!("050%_{}", i - 1))).is_err());
        }
    }
}

/// `stat` through the mount shows the inode number that `readdir` shows, and after a restart the
/// same again.
#[test]
fn inode_numbers_survive_a_remount() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let numbers = || {
        let overlay = site.mount(View::Folders);
        let m = overlay.mount_point();
        let listed = shell("cd $1; ls -iAR . | sort", m);
        let stated = shell("cd $1; find . ! -name . -printf '%i %f\\n' | sort", m);
        for line in stated.lines() {
            assert!(
                listed.lines().any(|other| other.trim().starts_with(line)),
                "{line}\n{listed}"
            );
        }
        stated
    };
    assert_eq!(numbers(), numbers());
}

/// `df` shows the file system of the watched tree.
#[test]
fn df_shows_the_watched_file_system() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let of = |path: &Path| shell("stat -f -c '%b %S %c' $1", path);
    assert_eq!(of(overlay.mount_point()), of(&site.path("docs")));
}

// ---- slow answers, panics ----

/// Blocks in `why` and, for files called `slow`, in `similar`, until released.
struct Blocking {
    entered: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
}

impl Blocking {
    fn block(&self) {
        // Only the first are counted, and only the test's end releases.
        let _uncounted = self.entered.lock().unwrap().send(());
        // Ends when the test drops its sender.
        let _released = self.release.lock().unwrap().recv();
    }
}

impl Neighbours for Blocking {
    fn similar(&self, file: &Path) -> Listing {
        match file.file_name().and_then(|name| name.to_str()) {
            Some("slow") => self.block(),
            Some("panic") => panic!("a test's panic in an answer"),
            _ => {}
        }
        Listing {
            neighbours: vec![near(Path::new("/x/other"), 0.5)],
            total: 1,
        }
    }
    fn similar_dirs(&self, _: &Path) -> Listing {
        Listing::default()
    }
    fn why(&self, _: &Path, _: &Path) -> Vec<u8> {
        self.block();
        b"because\n".to_vec()
    }
    fn report(&self, _: &Path) -> Vec<u8> {
        panic!("a test's panic in a report")
    }
}

/// Two readers never block each other: while answers and texts are being computed, everything else
/// is served.
#[test]
fn readers_never_block_each_other() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::write(site.path("docs/slow"), "").unwrap();
    let (entered, seen) = channel();
    let (release, blocked) = channel();
    let blocking = Blocking {
        entered: Mutex::new(entered),
        release: Mutex::new(blocked),
    };
    let overlay = Overlay::mount(site.config(View::Folders), Arc::new(blocking)).unwrap();
    let m = overlay.mount_point().to_owned();

    let mut waiting: Vec<Child> = Vec::new();
    let mut start = |line: &str| {
        let child = client("sh")
            .args(["-ec", line, "sh"])
            .arg(&m)
            .stdout(Stdio::piped())
            .spawn();
        waiting.push(child.unwrap());
    };
    // Two are inside the index at once: each of the two pools has one that waits.
    start("ls $1/slow/.similar");
    start("cat $1/report.txt/.similar/.why/050%_other");
    for _ in 0..2 {
        seen.recv_timeout(Duration::from_secs(20))
            .expect("both are inside");
    }
    // More of the same kind: the servers have four threads, the pools four each.
    for _ in 0..8 {
        start("cat $1/report.txt/.similar/.why/050%_other");
    }
    for _ in 0..3 {
        seen.recv_timeout(Duration::from_secs(20))
            .expect("four texts are inside");
    }
    assert_eq!(shell("ls $1/report.txt", &m), "report.txt\n");
    assert_eq!(shell("cat $1/report.txt/report.txt", &m), "the report\n");
    assert_eq!(shell("ls $1/report.txt/.similar", &m), "050%_other\n");
    assert_eq!(
        shell("ls -l $1/slow | wc -l", &m),
        "2\n",
        "beside the one who waits"
    );
    drop(release);
    drop(seen);
    for mut child in waiting {
        assert!(child.wait().unwrap().success());
    }
    overlay.unmount().unwrap();
}

/// A panic in a handler is one EIO for its asker; the mount lives on.
#[test]
fn a_panic_is_one_error() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::write(site.path("docs/panic"), "").unwrap();
    let (entered, _seen) = channel();
    let (_release, blocked) = channel();
    let blocking = Blocking {
        entered: Mutex::new(entered),
        release: Mutex::new(blocked),
    };
    let overlay = Overlay::mount(site.config(View::Folders), Arc::new(blocking)).unwrap();
    let m = overlay.mount_point();
    for _ in 0..6 {
        for line in [
            "ls $1/panic/.similar",
            "cat $1/report.txt/.similar/.report.json",
        ] {
            let out = client("sh")
                .args(["-c", line, "sh"])
                .arg(m)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(said.contains("Input/output error"), "{line}: {said}");
        }
    }
    assert_eq!(shell("ls $1/report.txt/.similar", m), "050%_other\n");
    assert!(overlay.is_alive());
    overlay.unmount().unwrap();
}

// ---- mounting and unmounting ----

/// The mount is of type `fuse.resemble`, read-only, nosuid, nodev, without `allow_other`.
#[test]
fn the_mount_has_its_type_and_options() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = text
        .lines()
        .find(|line| line.contains(&format!(" {} ", overlay.mount_point().display())));
    let line = line.unwrap();
    for part in [
        " ro,nosuid,nodev",
        "- fuse.resemble resemble ",
        "default_permissions",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains("allow_other"));
    assert!(overlay.is_alive());
    assert!(is_inside_resemble_mount(overlay.mount_point()));
    assert!(is_inside_resemble_mount(
        &overlay.mount_point().join("sub/../x")
    ));
    assert!(!is_inside_resemble_mount(&site.path("docs")));
    assert!(!is_inside_resemble_mount(&site.path("M.not")));
    overlay.unmount().unwrap();
    assert!(!is_inside_resemble_mount(&site.path("M")));
}

/// The mount point is created if absent, with its parents, and what was created is removed at the
/// end; one that was there stays.
#[test]
fn a_created_mount_point_is_removed() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    assert!(site.path("M").is_dir());
    overlay.unmount().unwrap();
    assert!(!overlay.is_alive());
    assert!(!site.path("M").exists());
    overlay.unmount().unwrap();

    let deep = OverlayConfig {
        mount_point: site.path("a/b,c/M x"),
        ..site.config(View::Files)
    };
    let overlay = Overlay::mount(deep, Arc::clone(&site.map) as _).unwrap();
    assert_eq!(
        shell("ls \"$1\"", overlay.mount_point()),
        "copy.txt\nlink\nreport.txt\nsub\n"
    );
    drop(overlay);
    assert!(!site.path("a").exists());

    fs::create_dir(site.path("M")).unwrap();
    drop(site.mount(View::Files));
    assert!(site.path("M").is_dir());
}

/// A mount point that is not empty or not a directory is refused; so are one that is a live
/// overlay, one inside an overlay, roots inside each other, and a root inside an overlay or the
/// mount point.
#[test]
fn unfit_mount_points_and_roots_are_refused() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let try_at = |point: &str, roots: &[&str]| {
        let config = OverlayConfig {
            mount_point: site.path(point),
            roots: roots.iter().map(|root| site.path(root)).collect(),
            ..site.config(View::Files)
        };
        Overlay::mount(config, Arc::clone(&site.map) as _).unwrap_err()
    };
    assert!(matches!(
        try_at("docs", &["docs/sub"]),
        MountError::RootInMountPoint { .. }
    ));
    fs::create_dir(site.path("other")).unwrap();
    assert!(matches!(
        try_at("docs", &["other"]),
        MountError::NotEmpty { .. }
    ));
    assert!(matches!(
        try_at("docs/report.txt", &["other"]),
        MountError::NotADirectory { .. }
    ));
    assert!(matches!(
        try_at("M", &["docs", "docs/sub"]),
        MountError::NestedRoots { .. }
    ));
    assert!(matches!(try_at("M", &[]), MountError::NoRoots));
    assert!(!site.path("M").exists(), "a refusal leaves nothing behind");
    let overlay = site.mount(View::Files);
    assert!(matches!(
        try_at("M", &["docs"]),
        MountError::AlreadyMounted { .. }
    ));
    assert!(matches!(
        try_at("M/sub/N", &["docs"]),
        MountError::InsideOverlay { .. }
    ));
    assert!(matches!(
        try_at("N", &["M/sub"]),
        MountError::InsideOverlay { .. }
    ));
    assert!(matches!(
        try_at("N", &["M"]),
        MountError::InsideOverlay { .. }
    ));
    symlink(site.path("M/sub"), site.path("to-sub")).unwrap();
    assert!(matches!(
        try_at("to-sub/N", &["docs"]),
        MountError::InsideOverlay { .. }
    ));
    assert!(overlay.is_alive());
}

/// The mount point may lie in a watched root: it is skipped by path, in listings and look-ups, and
/// so is every other overlay however it got there.
#[test]
fn a_mount_point_inside_a_watched_root_is_skipped() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let inside = |name: &str, view| OverlayConfig {
        mount_point: site.path("docs").join(name),
        ..site.config(view)
    };
    let first = Overlay::mount(inside("M", View::Files), Arc::clone(&site.map) as _).unwrap();
    let second =
        Overlay::mount(inside("sub/N", View::Folders), Arc::clone(&site.map) as _).unwrap();
    // A bind mount of the first: no path tells that it is one of ours.
    fs::create_dir(site.path("docs/bound")).unwrap();
    rustix::mount::mount_bind(first.mount_point(), site.path("docs/bound")).unwrap();
    for overlay in [&first, &second] {
        let m = overlay.mount_point();
        let all = shell("cd $1; find . -name .similar -prune -o -print | sort", m);
        let names: BTreeSet<&str> = all
            .lines()
            .map(|line| line.rsplit('/').next().unwrap())
            .collect();
        for name in ["M", "N", "bound"] {
            assert!(!names.contains(name), "{name}: {all}");
        }
        assert!(names.contains("old.txt"));
        for path in ["M", "M/sub", "sub/N", "sub/N/sub", "bound", "bound/sub"] {
            let out = run("stat", [m.join(path)]);
            assert!(
                String::from_utf8_lossy(&out.stderr).contains("No such file"),
                "{path}"
            );
        }
    }
    rustix::mount::unmount(site.path("docs/bound"), rustix::mount::UnmountFlags::DETACH).unwrap();
    second.unmount().unwrap();
    first.unmount().unwrap();
    assert!(!site.path("docs/M").exists() && !site.path("docs/sub/N").exists());
}

#[test]
fn an_overlay_is_known_by_its_id_when_its_path_changed() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.path("p")).unwrap();
    fs::rename(site.path("docs"), site.path("p/docs")).unwrap();
    fs::create_dir(site.path("other")).unwrap();
    fs::write(site.path("other/x"), "").unwrap();
    let config = |point: &str, root: &str| OverlayConfig {
        mount_point: site.path(point),
        roots: vec![site.path(root)],
        ..site.config(View::Files)
    };
    let outer = Overlay::mount(config("M", "p/docs"), Arc::clone(&site.map) as _).unwrap();
    let inner = Overlay::mount(config("p/docs/N", "other"), Arc::clone(&site.map) as _).unwrap();
    // For up to a second the root's handle is good while its path, and that of the inner mount,
    // are other ones: then only the id tells. Afterwards the root is not there.
    fs::rename(site.path("p"), site.path("q")).unwrap();
    let out = run("stat", [outer.mount_point().join("N")]);
    assert!(
        String::from_utf8_lossy(&out.stderr).contains("No such file"),
        "{out:?}"
    );
    inner.unmount().unwrap();
    outer.unmount().unwrap();
}

/// Unmounting works while somebody is inside, ends all threads and may be repeated; dropping
/// unmounts.
#[test]
fn a_busy_mount_is_unmounted() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Folders);
    let m = overlay.mount_point().to_owned();
    let mut inside = client("sh")
        .args([
            "-c",
            "cd $1/sub; exec 3<../report.txt/report.txt; echo in; read line",
            "sh",
        ])
        .arg(&m)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(inside.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said, "in\n");
    let started = Instant::now();
    overlay.unmount().unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
    assert!(!mounts().contains(&m) && !m.exists());
    assert!(!overlay.is_alive());
    overlay.unmount().unwrap();
    // The path is free at once, while the old client is still in the old mount.
    let again = site.mount(View::Folders);
    assert_eq!(shell("cat $1/report.txt/report.txt", &m), "the report\n");
    drop(again);
    assert!(!mounts().contains(&m));
    drop(inside.stdin.take());
    inside.wait().unwrap();
}

/// When somebody else unmounts it, `is_alive` says so, and unmounting then touches nothing that was
/// mounted there since.
#[test]
fn an_unmount_by_others_is_noticed() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.path("M")).unwrap();
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point().to_owned();
    assert!(overlay.is_alive());
    output("umount", [&m]);
    assert!(!overlay.is_alive());
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("none", &m, "tmpfs", flags, None::<&std::ffi::CStr>).unwrap();
    fs::write(m.join("mine"), "").unwrap();
    overlay.unmount().unwrap();
    assert!(m.join("mine").exists(), "the other's mount stays");
    rustix::mount::unmount(&m, rustix::mount::UnmountFlags::DETACH).unwrap();

    // Covered by another mount: refused, nothing is unmounted; afterwards it works.
    let overlay = site.mount(View::Files);
    rustix::mount::mount("none", &m, "tmpfs", flags, None::<&std::ffi::CStr>).unwrap();
    assert!(matches!(overlay.unmount(), Err(MountError::Covered { .. })));
    rustix::mount::unmount(&m, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert!(overlay.is_alive());
    assert_eq!(shell("cat $1/report.txt", &m), "the report\n");
    overlay.unmount().unwrap();
}

// ---- other processes ----

/// What a child process of these tests does, told by its environment; nothing in the parent.
#[test]
fn child_process() {
    let Some(docs) = std::env::var_os("RESEMBLE_TEST_DOCS") else {
        return;
    };
    let docs = PathBuf::from(docs);
    let m = PathBuf::from(std::env::var_os("RESEMBLE_TEST_MOUNT").unwrap());
    let map = resemble_fs::neighbours::MapNeighbours::new();
    map.set(
        docs.join("report.txt"),
        vec![near(&docs.join("copy.txt"), 0.5)],
    );
    let config = OverlayConfig {
        mount_point: m.clone(),
        view: View::Folders,
        show: resemble_fs::Show::Default,
        roots: vec![docs],
        exclude: Vec::new(),
    };
    let overlay = match Overlay::mount(config, Arc::new(map)) {
        Ok(overlay) => overlay,
        Err(error) => {
            println!("REFUSED {error}");
            return;
        }
    };
    println!("MOUNTED");
    std::io::stdout().flush().unwrap();
    if std::env::var_os("RESEMBLE_TEST_SELF").is_some() {
        // The mount is in this process's own namespace: look from here.
        println!("LS {}", shell("ls $1/report.txt/.similar", &m).trim_end());
        println!(
            "CAT {}",
            shell("cat $1/report.txt/report.txt", &m).trim_end()
        );
        let mut inside = client("sh")
            .args(["-c", "cd $1/sub; echo in; read line", "sh"])
            .arg(&m)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(inside.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let alive = overlay.is_alive();
        let unmounted = overlay.unmount();
        println!(
            "ALIVE {alive} UNMOUNT {unmounted:?} LEFT {} {}",
            mounts().contains(&m),
            m.exists()
        );
        drop(inside.stdin.take());
        inside.wait().unwrap();
    } else {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
    }
}

fn child_command() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["mounts::child_process", "--exact", "--nocapture"]);
    command
}

/// A daemon that was killed leaves a dead mount; the next start repairs the mount point, also after
/// several kills.
#[test]
fn a_killed_daemon_leaves_nothing_that_stays() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let m = site.path("M");
    let start = || {
        let mut child = child_command()
            .env("RESEMBLE_TEST_DOCS", site.path("docs"))
            .env("RESEMBLE_TEST_MOUNT", &m)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mounted = lines.find_map(|line| {
            line.ok()
                .filter(|l| l.contains("MOUNTED") || l.contains("REFUSED"))
        });
        assert!(
            mounted
                .as_deref()
                .is_some_and(|line| line.ends_with("MOUNTED")),
            "{mounted:?}"
        );
        child
    };
    for _ in 0..2 {
        let mut child = start();
        assert_eq!(shell("ls $1/report.txt/.similar", &m), "050%_copy.txt\n");
        child.kill().unwrap();
        child.wait().unwrap();
        let dead = fs::metadata(&m).unwrap_err();
        assert_eq!(dead.raw_os_error(), Some(libc::ENOTCONN));
        assert!(is_inside_resemble_mount(&m));
    }
    let overlay = site.mount(View::Files);
    assert_eq!(shell("cat $1/report.txt", &m), "the report\n");
    overlay.unmount().unwrap();
    assert!(!mounts().contains(&m));
    assert!(m.is_dir(), "the killed one made it, nobody else removes it");
}

/// Without privileges it works through fusermount3, for its user alone, and unmounts even when
/// busy.
#[test]
fn an_unprivileged_user_can_mount() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let dir = site.path("");
    fs::copy(std::env::current_exe().unwrap(), site.path("test")).unwrap();
    // `daemon` has a passwd entry, which fusermount3 wants. Nothing leaves the namespace.
    // With fusectl the busy connection is ended at once; without, it ends with the last client.
    for fusectl in ["mount -t fusectl none /sys/fs/fuse/connections", "true"] {
        let script = format!(
            "rm -f fuse; mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse; {fusectl}
            chmod 755 . test; chown -R daemon docs .
            exec setpriv --reuid daemon --regid daemon --clear-groups \
                timeout -s KILL 60 ./test child_process --exact --nocapture"
        );
        let out = client("unshare")
            .args(["-m", "sh", "-ec", &script])
            .current_dir(&dir)
            .env("RESEMBLE_TEST_DOCS", site.path("docs"))
            .env("RESEMBLE_TEST_MOUNT", site.path("M"))
            .env("RESEMBLE_TEST_SELF", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        let complained = String::from_utf8_lossy(&out.stderr);
        for line in [
            "MOUNTED",
            "LS 050%_copy.txt",
            "CAT the report",
            "ALIVE true UNMOUNT Ok(()) LEFT false false",
        ] {
            assert!(said.contains(line), "{line}:\n{said}\n{complained}");
        }
    }
}

/// Many readers at once over both views see the tree and never an error.
#[test]
fn many_readers_at_once() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    for i in 0..200 {
        fs::write(site.path(&format!("docs/sub/{i}")), vec![b'x'; i * 100]).unwrap();
    }
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point();
    let sum = shell(
        "cd $1; find . -type f | sort | xargs cat | md5sum",
        &site.path("docs"),
    );
    let children: Vec<Child> = (0..8)
        .map(|_| {
            client("sh")
                .args([
                    "-ec",
                    "cd $1; find . -type f | sort | xargs cat | md5sum; ls -lR .similar >/dev/null",
                    "sh",
                ])
                .arg(m)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success());
        assert_eq!(String::from_utf8_lossy(&out.stdout), sum);
    }
    assert_eq!(fs::metadata(m).unwrap().nlink(), 1);
}
