//! Reconciles real trees. The tests check which files are read, which keep their contents, and
//! which are left out.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scene::Scene;
use resemble_core::ByteLen;
use resemble_index::{Entry, FileState, Gap, LeftOutRule};
use resemble_scan::ingest::{Cause, RootOptions, Target};
use resemble_testutil::random::{Random, letters as text};
use resemble_testutil::{Mounted, skipped};
use rustix::fs::{CWD, FileType, Mode, mknodat};

#[test]
fn a_second_look_reads_nothing() {
    let mut scene = Scene::new();
    for n in 0..50 {
        scene.write(&format!("{}/{n}.txt", n % 5), text(n, 3000));
    }
    let first = scene.scan();
    assert_eq!((first.progress.files, first.progress.files_read), (50, 50));
    assert_eq!(first.progress.bytes_read, 150_000);
    let second = scene.scan();
    assert_eq!((second.progress.files, second.progress.files_read), (50, 0));
    assert_eq!(second.changes, 0);
}

#[test]
fn renames_links_and_modes_read_nothing_and_copies_add_nothing() {
    let mut scene = Scene::new();
    scene.write("a/one.txt", text(1, 40_000));
    scene.scan();
    let before = scene
        .index
        .snapshot()
        .expect("a snapshot")
        .totals()
        .expect("totals");
    fs::rename(scene.path("a/one.txt"), scene.path("two.txt")).expect("rename");
    fs::rename(scene.path("a"), scene.path("b")).expect("rename");
    let report = scene.scan();
    // A rename changes the change time of the inode. No event reported the rename, so the file may
    // be read again to check it.
    assert!(report.progress.files_read <= 1);
    fs::hard_link(scene.path("two.txt"), scene.path("b/three.txt")).expect("link");
    let targets = [Target::entry(scene.path("b/three.txt"), Cause::Named)];
    assert_eq!(scene.look(&targets).progress.files_read, 0);
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(scene.path("two.txt"), mode).expect("chmod");
    let targets = [Target::entry(scene.path("two.txt"), Cause::AttributesOnly)];
    assert_eq!(scene.look(&targets).progress.files_read, 0);
    let rename = Target::Renamed {
        from: scene.path("b"),
        to: scene.path("c"),
        modified: false,
    };
    fs::rename(scene.path("b"), scene.path("c")).expect("rename");
    assert_eq!(scene.look(&[rename]).progress.files_read, 0);
    fs::copy(scene.path("two.txt"), scene.path("copy.txt")).expect("copy");
    scene.scan();
    let after = scene
        .index
        .snapshot()
        .expect("a snapshot")
        .totals()
        .expect("totals");
    assert_eq!(
        (after.contents, after.chunks),
        (before.contents, before.chunks)
    );
    assert_eq!(after.files, 2, "two inodes, three names");
    assert_eq!(scene.dump(), scene.fresh_dump());
}

#[test]
fn what_is_no_file_is_named_and_never_opened() {
    let mut scene = Scene::new();
    scene.write("file", b"x");
    // The pipe has no writer, so opening it would block for ever.
    mknodat(
        CWD,
        scene.path("pipe"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .expect("a pipe");
    drop(std::os::unix::net::UnixListener::bind(scene.path("socket")).expect("a socket"));
    symlink("/etc", scene.path("link")).expect("a link");
    symlink("link", scene.path("self")).expect("a link");
    let report = scene.scan();
    assert_eq!(report.progress.files_read, 1);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let entry = |name: &str| snapshot.entry(&scene.path(name)).expect("readable");
    assert!(matches!(entry("pipe"), Some(Entry::Special(_))));
    assert!(matches!(entry("socket"), Some(Entry::Special(_))));
    assert_eq!(entry("link"), Some(Entry::Symlink(b"/etc".to_vec())));
    assert_eq!(entry("link/passwd"), None);
}

#[test]
fn a_tebibyte_of_holes_costs_nothing() {
    let mut scene = Scene::new();
    let file = fs::File::create(scene.path("sparse")).expect("a file");
    if file.set_len(1 << 40).is_err() {
        eprintln!("*** SKIPPED, NOT TESTED: this file system has no files of 1 TiB ***");
        return;
    }
    std::os::unix::fs::FileExt::write_all_at(&file, &text(1, 10_000), 1 << 39).expect("an island");
    let report = scene.scan();
    assert!(
        report.progress.bytes_read < 10 << 20,
        "{} bytes",
        report.progress.bytes_read
    );
    let Some(FileState::Settled(content) | FileState::Unsettled(content)) = scene.state("sparse")
    else {
        panic!("not read");
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    assert_eq!(
        snapshot.chunks(content).expect("chunks").total_len(),
        ByteLen(1 << 40)
    );
    assert!(snapshot.chunks(content).expect("chunks").0.len() < 100);
}

#[test]
fn a_root_that_vanishes_keeps_its_entries_until_it_is_back() {
    let mut scene = Scene::new();
    for n in 0..20 {
        scene.write(&format!("{n}.txt"), text(n, 2000));
    }
    scene.scan();
    let before = scene.dump();
    let (here, away) = (scene.temp.path("tree"), scene.temp.path("away"));
    fs::rename(&here, &away).expect("the disk is unplugged");
    let report = scene.scan();
    assert_eq!(report.unavailable, std::slice::from_ref(&here));
    assert_eq!(scene.dump(), before, "nothing is forgotten");
    fs::rename(&away, &here).expect("and plugged in again");
    let report = scene.scan();
    assert_eq!(report.progress.files_read, 0);
    assert_eq!(scene.dump(), before);
}

#[test]
fn ignore_rules_leave_out_what_they_name_and_git() {
    let mut scene = Scene::with_ignore_rules();
    scene.write(".gitignore", b"*.o\nbuild/\n");
    scene.write("a.c", text(1, 500));
    scene.write("a.o", text(2, 500));
    scene.write("build/x", text(3, 500));
    scene.write(".git/config", text(4, 500));
    scene.write("sub/.gitignore", b"!keep.o\n");
    scene.write("sub/keep.o", text(5, 500));
    scene.scan();
    let there = |name: &str| {
        scene
            .state(name)
            .is_some_and(|state| state.content().is_some())
    };
    assert!(there("a.c") && there("sub/keep.o") && there(".gitignore"));
    assert!(!there("a.o") && !there("build/x") && !there(".git/config"));
}

#[test]
fn what_the_patterns_of_a_root_name_is_left_out_with_all_below() {
    let mut scene = Scene::with(|mut options| {
        options.roots[0].exclude = ["target", "*.iso", "/top", "**/.git/objects"]
            .map(str::to_owned)
            .to_vec();
        options
    });
    for name in [
        "a.c",
        "a.iso",
        "sub/b.iso",
        "target/x/y",
        "sub/target/x",
        "top/x",
        "sub/top/x",
        "repo/.git/objects/ab/cd",
        "repo/.git/config",
    ] {
        scene.write(name, text(1, 2000));
    }
    scene.scan();
    let known = |scene: &Scene| -> Vec<String> {
        let mut names = Vec::new();
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let root = scene.root();
        let walked = snapshot.walk(&root, &mut |path, entry| {
            if matches!(entry, Entry::File(_)) {
                let below = path.strip_prefix(&root).expect("below the root");
                names.push(below.to_string_lossy().into_owned());
            }
            ControlFlow::Continue(())
        });
        walked.expect("walked");
        names.sort();
        names
    };
    let left = ["a.c", "repo/.git/config", "sub/top/x"];
    assert_eq!(known(&scene), left);
    // The path `sub/target/x` is left out by a rule, so an event for it adds no file. Nor does a
    // move into such a folder.
    let target = Target::entry(scene.path("sub/target/x"), Cause::Modified);
    scene.look(&[target]);
    assert_eq!(known(&scene), left);
    fs::rename(scene.path("a.c"), scene.path("target/a.c")).expect("renamed");
    let moved = Target::Renamed {
        from: scene.path("a.c"),
        to: scene.path("target/a.c"),
        modified: false,
    };
    scene.look(&[moved]);
    assert_eq!(known(&scene), left[1..]);
    scene.assert_as_fresh("left out");
    // Other patterns apply from the next reconcile on.
    let mut roots = scene.ingest.options().roots.clone();
    roots[0].exclude = vec!["repo".to_owned()];
    scene.ingest.set_roots(roots);
    scene.scan();
    assert_eq!(known(&scene).len(), 7);
    scene.assert_as_fresh("other patterns");
}

#[test]
fn a_file_that_is_too_large_for_its_root_is_known_by_its_name_alone() {
    let mut scene = Scene::with(|mut options| {
        options.roots[0].max_size = Some(ByteLen(10_000));
        options
    });
    scene.write("small", text(1, 10_000));
    scene.write("large", text(2, 10_001));
    let report = scene.scan();
    assert_eq!(
        (report.progress.files_read, scene.totals().contents),
        (1, 1)
    );
    let skipped = |scene: &Scene, name: &str| match scene.state(name) {
        Some(FileState::Skipped(why)) => why.contains("10000"),
        _ => false,
    };
    assert!(skipped(&scene, "large") && !skipped(&scene, "small"));
    assert_eq!(scene.scan().changes, 0, "nothing is news");
    // If a file grows beyond the size limit, the index drops its content. If a file shrinks below
    // the limit, the index gets its content.
    scene.write("small", text(1, 20_000));
    scene.write("large", text(2, 5000));
    scene.scan();
    assert!(!skipped(&scene, "large") && skipped(&scene, "small"));
    scene.assert_as_fresh("grown and cut");
    // Without a size limit both files are read.
    let mut roots = scene.ingest.options().roots.clone();
    roots[0].max_size = None;
    scene.ingest.set_roots(roots);
    scene.scan();
    assert_eq!(scene.totals().contents, 2);
    scene.assert_as_fresh("without a bound");
}

#[test]
fn a_file_with_names_in_two_roots_is_too_large_only_for_one() {
    for (strict, free) in [("a", "b"), ("b", "a")] {
        let mut scene = Scene::with(|mut options| {
            let above = options.roots.remove(0).path;
            options.roots.extend(["a", "b"].map(|root| RootOptions {
                max_size: (root == strict).then_some(ByteLen(1000)),
                ..RootOptions::new(above.join(root))
            }));
            options
        });
        let targets = ["a", "b"].map(|root| Target::subtree(scene.path(root)));
        let (link, file) = (format!("{strict}/link"), format!("{free}/file"));
        scene.write(&file, text(1, 5000));
        scene.write(&format!("{strict}/small"), text(2, 500));
        let (link_path, file_path) = (scene.path(&link), scene.path(&file));
        fs::hard_link(&file_path, &link_path).expect("a link");
        let entry = |path: &Path, cause| [Target::entry(path, cause)];
        let check = |scene: &Scene, size, what: &str| {
            let snapshot = scene.index.snapshot().expect("a snapshot");
            let left_out = snapshot.entry(&link_path).expect("readable");
            let gap = Entry::Gap(Gap::LeftOut(LeftOutRule::MaxSize));
            assert_eq!(left_out, Some(gap), "{strict}, {what}");
            let row = snapshot.file_at(&file_path).expect("readable");
            let row = row.expect("in the index");
            assert!(row.state.content().is_some(), "{strict}, {what}");
            assert_eq!(row.stat.size, ByteLen(size), "{strict}, {what}");
            assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
        };
        scene.look(&targets);
        check(&scene, 5000, "scanned");
        assert_eq!(scene.look(&targets).changes, 0, "nothing is news");
        fs::write(&link_path, text(3, 6000)).expect("written");
        scene.look(&entry(&link_path, Cause::Modified));
        check(&scene, 6000, "written through the other name");
        // Without the name to which no size limit applies, the file is too large. It is read when
        // it gets such a name again.
        fs::remove_file(&file_path).expect("removed");
        scene.look(&entry(&file_path, Cause::Unknown));
        scene.look(&entry(&link_path, Cause::AttributesOnly));
        let state = scene.state(&link);
        assert!(matches!(state, Some(FileState::Skipped(_))), "{state:?}");
        fs::hard_link(&link_path, &file_path).expect("a link");
        scene.look(&entry(&file_path, Cause::Named));
        check(&scene, 6000, "linked again");
    }
}

#[test]
fn ignore_files_that_are_links_or_too_long_rule_nothing_and_are_told() {
    let mut scene = Scene::with_ignore_rules();
    scene.write("rules", b"*.o\n");
    scene.write("linked/a.o", text(1, 500));
    symlink(scene.path("rules"), scene.path("linked/.gitignore")).expect("a link");
    scene.write("long/a.o", text(2, 500));
    scene.write("long/.gitignore", b"*.o\n".repeat(300_000));
    let report = scene.scan();
    let mut told: Vec<_> = report
        .errors
        .iter()
        .map(|error| (error.path.clone(), error.errno))
        .collect();
    told.sort();
    let told_of = |name: &str, errno: rustix::io::Errno| (scene.path(name), errno.raw_os_error());
    assert_eq!(
        told,
        [
            told_of("linked/.gitignore", rustix::io::Errno::LOOP),
            told_of("long/.gitignore", rustix::io::Errno::FBIG)
        ]
    );
    for name in ["linked/a.o", "long/a.o"] {
        assert!(scene.state(name).is_some(), "{name} is not ruled out");
    }
}

#[test]
fn a_file_may_become_anything_else() {
    let mut scene = Scene::new();
    scene.write("x", text(1, 3000));
    scene.scan();
    fs::remove_file(scene.path("x")).expect("gone");
    scene.write("x/y", text(2, 3000));
    scene.scan();
    assert_eq!(scene.dump(), scene.fresh_dump());
    fs::remove_dir_all(scene.path("x")).expect("gone");
    symlink("nowhere", scene.path("x")).expect("a link");
    scene.scan();
    assert_eq!(scene.dump(), scene.fresh_dump());
    fs::remove_file(scene.path("x")).expect("gone");
    scene.write("x", text(3, 3000));
    scene.scan();
    assert_eq!(scene.dump(), scene.fresh_dump());
}

/// After random changes, repeated many times, the index equals that of a fresh scan.
#[test]
fn after_any_changes_a_look_gives_the_index_of_a_fresh_scan() {
    let mut scene = Scene::new();
    let mut random = Random::new(7);
    let mut below = |n| random.below(n);
    for round in 0..40 {
        for _ in 0..30 {
            let mut name = || format!("{}/{}/{}", below(3), below(3), below(6));
            let (one, other) = (name(), name());
            let (from, to) = (scene.path(&one), scene.path(&other));
            let folder = to.parent().expect("a folder");
            let what = below(8);
            let seed = below(12) as u64;
            let done = match what {
                0..=2 => fs::create_dir_all(folder)
                    .and_then(|()| fs::write(&to, text(seed, 700 + 300 * seed as usize))),
                3 => fs::rename(&from, &to),
                4 => fs::rename(from.parent().expect("a folder"), folder.join("moved")),
                5 => fs::remove_file(&from),
                6 => fs::hard_link(&from, &to),
                _ => fs::remove_dir_all(folder),
            };
            drop(done);
        }
        scene.scan();
        assert_eq!(scene.dump(), scene.fresh_dump(), "round {round}");
    }
    let snapshot = scene.index.snapshot().expect("a snapshot");
    assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
}

/// On some disks, the file system runs as a process (type `fuseblk`, for NTFS or exFAT). Such a
/// disk is indexed like any other.
#[test]
fn a_disk_that_a_process_serves_is_indexed() {
    let mut scene = Scene::new();
    let disk = match Disk::mounted(&scene.path("usb")) {
        Ok(disk) => disk,
        Err(why) => return skipped(format_args!("no NTFS disk can be mounted: {why}")),
    };
    scene.write("usb/letter.txt", text(1, 3000));
    scene.write("copy.txt", text(1, 3000));
    let report = scene.scan();
    assert_eq!(report.mounts_skipped, [] as [PathBuf; 0]);
    let content = |name: &str| scene.state(name).and_then(|state| state.content());
    assert!(content("usb/letter.txt").is_some(), "not indexed");
    assert_eq!(content("usb/letter.txt"), content("copy.txt"));
    drop(disk);
}

/// A small NTFS disk in an image file. `ntfs-3g` mounts the disk, and it is unmounted when this
/// value is dropped.
struct Disk {
    _image: tempfile::NamedTempFile,
    _mounted: Mounted,
    device: String,
}

impl Disk {
    fn mounted(at: &Path) -> Result<Self, String> {
        let run = |program: &str, args: &[&std::ffi::OsStr]| {
            let done = Command::new(program).args(args).output();
            let done = done.map_err(|error| format!("{program}: {error}"))?;
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            done.status
                .success()
                .then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
                .ok_or(format!("{program}: {said}"))
        };
        let image = tempfile::NamedTempFile::new().expect("a file");
        image.as_file().set_len(8 << 20).expect("room");
        let path = image.path().as_os_str();
        run("mkntfs", &["-q".as_ref(), "-F".as_ref(), path])?;
        let device = run("losetup", &["--find".as_ref(), "--show".as_ref(), path])?;
        fs::create_dir(at).expect("a folder");
        let mounted = run("ntfs-3g", &[device.as_ref(), at.as_os_str()]);
        let disk = Self {
            _image: image,
            _mounted: Mounted(at.to_owned()),
            device,
        };
        mounted.map(|_| disk)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The device is detached when its mount ends.
        Command::new("losetup")
            .args(["--detach", &self.device])
            .status()
            .ok();
    }
}

/// The first event is about a file several levels below the known directories. It adds the
/// directories above that file. The other entries of these directories must be found, too.
#[test]
fn all_of_a_directory_is_found_that_came_with_something_below_it() {
    let mut scene = Scene::new();
    scene.write("a/old", text(1, 900));
    scene.scan();
    for name in ["a/b/1", "a/b/c/2", "a/b/c/d/3", "a/b/e/4"] {
        scene.write(name, text(2, 900));
    }
    scene.look(&[Target::entry(scene.path("a/b/c/d/3"), Cause::Modified)]);
    scene.assert_as_fresh("a file alone");
    // The same must happen if a directory moves to such a place.
    scene.write("moves/x", text(3, 900));
    scene.scan();
    fs::create_dir_all(scene.path("f/g")).expect("folders");
    scene.write("f/h/5", text(4, 900));
    fs::rename(scene.path("moves"), scene.path("f/g/moved")).expect("it moves");
    scene.look(&[Target::Renamed {
        from: scene.path("moves"),
        to: scene.path("f/g/moved"),
        modified: false,
    }]);
    scene.assert_as_fresh("a directory that moved");
}

/// A new file may get the inode number of a removed file. The new file may be read before the
/// removal is noticed.
#[test]
fn what_got_the_inode_of_another_file_is_not_that_file() {
    let mut scene = Scene::new();
    scene.write("contract", text(1, 4000));
    scene.write("old/kept", text(2, 4000));
    scene.scan();
    let digest = |scene: &Scene| {
        let snapshot = scene.snapshot();
        let row = snapshot.file_at(&scene.path("contract")).expect("readable");
        let content = row.expect("indexed").state.content().expect("read");
        let row = snapshot.content(content).expect("readable");
        row.expect("a content").digest
    };
    let before = digest(&scene);
    fs::rename(scene.path("contract"), scene.path("old/shopping")).expect("renamed");
    scene.write("old/shopping", text(3, 500));
    scene.look(&[Target::subtree(scene.path("old"))]);
    scene.scan();
    let log = scene.snapshot().departures().expect("readable");
    let gone = log.of(&scene.path("contract"));
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!((gone[0].1.content, &gone[0].1.to), (Some(before), &None));
}
