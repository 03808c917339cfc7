//! Tests unusual and malicious trees.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::scene::Scene;
use resemble_index::{Entry, FileState, Gap, LeftOutRule, SpecialKind};
use resemble_scan::ingest::{Cause, Target};
use resemble_testutil::random::letters as text;
use resemble_testutil::{Mounted, in_a_process_of_its_own, mount, skipped};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use rustix::process::Resource;

fn errors(report: &resemble_scan::ingest::Report) -> Vec<(PathBuf, i32)> {
    let errors = report.errors.iter();
    errors
        .map(|error| (error.path.clone(), error.errno))
        .collect()
}

fn chmod(scene: &Scene, name: &str, mode: u32) {
    fs::set_permissions(scene.path(name), Permissions::from_mode(mode)).expect("chmod");
}

#[test]
fn what_may_not_be_read_is_said_and_not_shown() {
    if in_a_process_of_its_own("hostile::what_may_not_be_read_is_said_and_not_shown", true) {
        return;
    }
    let denied = Errno::ACCESS.raw_os_error();
    let mut scene = Scene::new();
    for name in [
        "shut",
        "closed/file",
        "closed/sub/file",
        "blind/file",
        "open",
    ] {
        scene.write(name, text(name.len() as u64, 2000));
    }
    scene.scan();
    chmod(&scene, "shut", 0);
    chmod(&scene, "closed", 0);
    chmod(&scene, "blind", 0o400); // may be listed, its entries may not be looked at
    let (shut, closed, blind) = (
        scene.path("shut"),
        scene.path("closed"),
        scene.path("blind/file"),
    );
    let report = scene.look(&[Target::entry(shut.clone(), Cause::AttributesOnly)]);
    assert_eq!(errors(&report), [(shut.clone(), denied)]);
    assert_eq!(scene.state("shut"), Some(FileState::Unreadable(denied)));
    let report = scene.scan();
    let mut said = errors(&report);
    said.sort();
    assert_eq!(said, [(blind, denied), (closed, denied), (shut, denied)]);
    assert_eq!(report.error_count, 3);
    let names = ["closed/file", "closed/sub/file", "blind/file"];
    for name in names {
        assert_eq!(scene.state(name), None, "{name}");
    }
    assert!(
        scene
            .state("open")
            .is_some_and(|state| state.content().is_some())
    );
    scene.assert_as_fresh("denied");
    // The directory can only be listed. Its events are about two names: one is gone, and the other
    // is new.
    let other = scene.path("blind/other");
    chmod(&scene, "blind", 0o700);
    fs::rename(scene.path("blind/file"), &other).expect("renamed");
    chmod(&scene, "blind", 0o400);
    let named = ["blind/file", "blind/other"].map(|name| scene.path(name));
    let report = scene.look(&named.clone().map(|path| Target::entry(path, Cause::Named)));
    assert_eq!(errors(&report), [(other, denied)]);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let entries = named.map(|path| snapshot.entry(&path).expect("readable"));
    assert_eq!(entries, [None, Some(Entry::Gap(Gap::Failed(denied)))]);
    drop(snapshot);
    scene.assert_as_fresh("names in events");
    chmod(&scene, "shut", 0o600);
    chmod(&scene, "closed", 0o700);
    chmod(&scene, "blind", 0o700);
    let report = scene.scan();
    assert_eq!((report.error_count, report.progress.files_read), (0, 4));
    scene.assert_as_fresh("allowed again");
}

#[test]
fn a_root_that_may_not_be_read_is_unavailable() {
    if in_a_process_of_its_own("hostile::a_root_that_may_not_be_read_is_unavailable", true) {
        return;
    }
    let mut scene = Scene::new();
    scene.write("file", text(1, 2000));
    scene.scan();
    let before = scene.dump();
    for closed in [scene.root(), scene.temp.root().to_owned()] {
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).expect("chmod");
        let report = scene.scan();
        assert_eq!(report.unavailable, [scene.root()]);
        assert_eq!(scene.dump(), before);
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("chmod");
    }
    assert_eq!(scene.scan().unavailable, Vec::<PathBuf>::new());
}

#[test]
fn running_out_of_descriptors_is_no_deletion() {
    if in_a_process_of_its_own("hostile::running_out_of_descriptors_is_no_deletion", false) {
        return;
    }
    let mut scene = Scene::new();
    for n in 0..40 {
        scene.write(&format!("{}/{n}", n % 4), text(n, 1500));
    }
    scene.scan();
    let paths = |scene: &Scene| -> Vec<String> {
        let dump = scene.dump();
        dump.lines()
            .filter_map(|line| line.split('\t').next().map(str::to_owned))
            .collect()
    };
    let before = paths(&scene);
    let full = rustix::process::getrlimit(Resource::Nofile);
    let open = fs::read_dir("/proc/self/fd").expect("proc").count() as u64;
    for more in 0..6 {
        scene.write("0/0", text(100 + more, 1500));
        let few = rustix::process::Rlimit {
            current: Some(open - 1 + more),
            maximum: full.maximum,
        };
        rustix::process::setrlimit(Resource::Nofile, few).expect("a limit");
        let report = scene.scan();
        rustix::process::setrlimit(Resource::Nofile, full).expect("no limit");
        assert_eq!(paths(&scene), before, "with {more} descriptors");
        assert_eq!(report.removed, 0);
    }
    scene.scan();
    scene.assert_as_fresh("with descriptors again");
}

#[test]
fn devices_are_named_and_never_opened() {
    let mut scene = Scene::new();
    let device = |name: &str, kind, major, minor| {
        let number = rustix::fs::makedev(major, minor);
        mknodat(CWD, scene.path(name), kind, Mode::RUSR | Mode::WUSR, number)
    };
    // If `/dev/zero` were read, the reading would never end. The other two devices have no driver.
    let made = device("zero", FileType::CharacterDevice, 1, 5)
        .and_then(|()| device("none", FileType::CharacterDevice, 254, 77))
        .and_then(|()| device("disk", FileType::BlockDevice, 254, 77));
    if made.is_err() {
        skipped("no right to make device nodes");
        return;
    }
    let report = scene.scan();
    assert_eq!((report.progress.files, report.error_count), (0, 0));
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let kind = |name: &str| snapshot.entry(&scene.path(name)).expect("readable");
    assert_eq!(kind("zero"), Some(Entry::Special(SpecialKind::Character)));
    assert_eq!(kind("none"), Some(Entry::Special(SpecialKind::Character)));
    assert_eq!(kind("disk"), Some(Entry::Special(SpecialKind::Block)));
}

#[test]
fn names_of_any_bytes_are_kept_to_the_byte() {
    let mut scene = Scene::new();
    let long = [b'x'; 255];
    let mut names: Vec<&[u8]> = vec![
        b"a\nb",
        b"a\tb",
        b"a\rb",
        b"\xff\xfe",
        b"\x1b[31mred",
        b"\x1b]0;title\x07",
        b"-rf",
        b"%s%n",
        b"$(id)",
        b"`id`",
        b"a\\b",
        b"\\x41",
        b" ",
        b"  ",
        b"*",
        b"?",
        b"'",
        b"\"",
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        "\u{202e}txt".as_bytes(),
        b"A",
        b"...",
        b"..a",
        b"a.",
        &long,
    ];
    for (n, name) in names.iter().enumerate() {
        let path = scene.root().join(OsStr::from_bytes(name));
        fs::write(path, text(n as u64, 900)).expect("a file");
    }
    scene.scan();
    names.sort_unstable();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let listed = snapshot.list(&scene.root()).expect("readable");
    let listed: Vec<OsString> = listed.into_iter().map(|(name, _)| name).collect();
    let names: Vec<&OsStr> = names.into_iter().map(OsStr::from_bytes).collect();
    assert_eq!(listed, names);
    let dump = scene.dump();
    assert_eq!(
        dump.lines().count(),
        names.len() + 1,
        "a line each, and the root's"
    );
    assert!(
        dump.bytes()
            .all(|byte| (b' '..=b'~').contains(&byte) || b"\t\n".contains(&byte))
    );
    drop(snapshot);
    assert_eq!(scene.scan().changes, 0);
}

#[test]
fn a_tree_deeper_than_a_path_may_be_long() {
    const DEPTH: usize = 1500;
    /// Removes a tree with `rm` when it is dropped. `rm` needs one descriptor, but the standard
    /// library needs one for each level.
    struct Removed(PathBuf);
    impl Drop for Removed {
        fn drop(&mut self) {
            Command::new("rm").arg("-rf").arg(&self.0).status().ok();
        }
    }
    let mut scene = Scene::new();
    let _removed = Removed(scene.root());
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut fd = rustix::fs::open(scene.root(), flags, Mode::empty()).expect("open");
    for n in 0..DEPTH {
        let name = format!("level-{n}");
        rustix::fs::mkdirat(&fd, &name, Mode::RWXU).expect("a folder");
        fd = rustix::fs::openat(&fd, &name, flags, Mode::empty()).expect("open");
    }
    let flags = OFlags::CREATE | OFlags::WRONLY;
    let file = rustix::fs::openat(&fd, "deep", flags, Mode::RUSR | Mode::WUSR).expect("a file");
    let bytes = text(1, 5000);
    std::io::Write::write_all(&mut File::from(file), &bytes).expect("written");
    let report = scene.scan();
    assert_eq!(
        (report.progress.dirs, report.progress.files_read),
        (DEPTH as u64 + 1, 1)
    );
    assert_eq!(report.error_count, 0);
    let dump = scene.dump();
    let last = dump.lines().last().expect("lines");
    assert!(last.len() > 12_000 && last.contains("/deep\tf\t5000\t"));
    fs::rename(scene.path("level-0"), scene.path("moved")).expect("renamed");
    let report = scene.scan();
    assert_eq!(report.progress.files_read, 0);
    scene.assert_as_fresh("after its top was renamed");
}

#[test]
fn excluded_paths_and_snapshots_are_never_part_of_it() {
    let mut scene = Scene::with(|mut options| {
        options.exclude = vec![options.roots[0].path.join("a/state")];
        options
    });
    for name in ["a/state/x", "a/state2/x", "b/.snapshot/x", "b/.zfs/x/y"] {
        scene.write(name, text(1, 900));
    }
    scene.write("c/.zfs", text(2, 900)); // a file of that name is a file
    scene.scan();
    let named = ["a/state/x", "b/.snapshot/x", "b/.zfs/x/y", "b/.zfs"];
    let targets = named.map(|name| Target::entry(scene.path(name), Cause::Modified));
    scene.look(&targets);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let there = |name: &str| {
        snapshot
            .entry(&scene.path(name))
            .expect("readable")
            .is_some()
    };
    assert!(there("a/state2/x") && there("c/.zfs"));
    for name in ["a/state", "b/.snapshot", "b/.zfs"] {
        assert!(!there(name), "{name}");
    }
    drop(snapshot);
    // If a folder is excluded later, its files are removed from the index.
    scene.ingest.set_exclude(vec![scene.path("a")]);
    scene.scan();
    assert_eq!(scene.state("a/state2/x"), None);
    assert!(scene.path("a/state2/x").exists());
}

#[test]
fn real_file_systems_below_are_entered_and_others_never() {
    let mut scene = Scene::new();
    scene.write("file", text(1, 900));
    let mounts = (
        mount("tmpfs", scene.path("ram"), ""),
        mount("proc", scene.path("a/proc"), ""),
    );
    let (Some(_ram), Some(_proc)) = &mounts else {
        return;
    };
    fs::create_dir(scene.path("loop")).expect("a folder");
    rustix::mount::mount_bind(scene.root(), scene.path("loop")).expect("a bind mount");
    let _loop = Mounted(scene.path("loop"));
    scene.write("ram/deep/file", text(2, 900));
    let report = scene.scan();
    assert!(scene.state("ram/deep/file").is_some());
    assert_eq!(report.mounts_skipped, [scene.path("loop")]);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    for name in ["loop", "a/proc"] {
        assert_eq!(
            snapshot.entry(&scene.path(name)).expect("readable"),
            None,
            "{name}"
        );
    }
    drop(snapshot);
    scene.look(&[Target::entry(scene.path("a/proc/version"), Cause::Modified)]);
    assert_eq!(scene.state("a/proc/version"), None);
    scene.assert_as_fresh("with mounts");

    let mut roots = scene.ingest.options().roots.clone();
    roots[0].one_file_system = true;
    scene.ingest.set_roots(roots);
    scene.scan();
    assert_eq!(scene.state("ram/deep/file"), None);
    assert!(scene.state("file").is_some());
    scene.assert_as_fresh("one file system");
    let left_out = |scene: &Scene| {
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let entry = snapshot.entry(&scene.path("ram")).expect("readable");
        entry == Some(Entry::Gap(Gap::LeftOut(LeftOutRule::OneFileSystem)))
    };
    assert!(left_out(&scene));
    // The folder is also left out if the first scan has the option.
    let mut again = Scene::with(|mut options| {
        options.roots[0].one_file_system = true;
        options
    });
    let Some(_ram) = mount("tmpfs", again.path("ram"), "") else {
        return;
    };
    again.scan();
    assert!(left_out(&again));
}

#[test]
fn a_root_that_is_not_mounted_keeps_its_entries() {
    let mut scene = Scene::new();
    let Some(mounted) = mount("tmpfs", scene.root(), "") else {
        return;
    };
    scene.write("file", text(1, 900));
    scene.scan();
    let before = scene.dump();
    drop(mounted);
    assert!(!scene.path("file").exists());
    let report = scene.scan();
    assert_eq!(report.unavailable, [scene.root()]);
    assert_eq!(scene.dump(), before);
    // An event for an entry below the missing root changes nothing, either.
    scene.look(&[Target::entry(scene.path("file"), Cause::Unknown)]);
    assert_eq!(scene.dump(), before);
}

#[test]
fn files_that_shrink_and_grow_while_they_are_read_end_right() {
    let mut scene = Scene::new();
    for n in 0..4 {
        scene.write(&format!("{n}"), text(n, 2 << 20));
    }
    let paths: Vec<PathBuf> = (0..4).map(|n| scene.path(&n.to_string())).collect();
    let writer = std::thread::spawn(move || {
        for turn in 0..300_u64 {
            let file = File::options().write(true).open(&paths[turn as usize % 4]);
            let size = [0, 3 << 20, 700, 1 << 20][(turn / 4) as usize % 4];
            file.and_then(|file| file.set_len(size))
                .expect("cut or grown");
        }
    });
    let mut scans = 0;
    while !writer.is_finished() || scans == 0 {
        scene.scan();
        scans += 1;
    }
    writer.join().expect("written");
    scene.scan();
    scene.assert_as_fresh("after the writer ended");
}
