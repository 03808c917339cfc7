//! Tests which files are read, how often they are read, and what the reports say about it.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::scene::Scene;
use resemble_core::ByteLen;
use resemble_index::{FileState, Snapshot};
use resemble_scan::ingest::{
    Cause, Committed, Listing, Observer, Report, Scope, Target, Unobserved,
};
use resemble_testutil::random::letters as text;

/// An observer that records its calls. It can also skip a directory and stop the scan.
#[derive(Default)]
struct Notes {
    listed: Vec<PathBuf>,
    gone: Vec<PathBuf>,
    committed: Vec<Committed>,
    skip: Option<PathBuf>,
    stop_after: Option<usize>,
}

impl Observer for Notes {
    fn before_listing(&mut self, dir: &Path) -> Listing {
        self.listed.push(dir.to_owned());
        match &self.skip {
            Some(skip) if skip == dir => Listing::Skip,
            _ => Listing::Go,
        }
    }

    fn directory_gone(&mut self, dir: &Path) {
        self.gone.push(dir.to_owned());
    }

    fn committed(&mut self, files: &[Committed], _before: &Snapshot) {
        self.committed.extend_from_slice(files);
    }

    fn should_stop(&mut self) -> bool {
        self.stop_after.is_some_and(|most| self.listed.len() > most)
    }
}

fn entry(path: PathBuf, cause: Cause, read_now: bool) -> [Target; 1] {
    [Target::Path {
        path,
        scope: Scope::Entry,
        cause,
        read_now,
    }]
}

fn read(report: &Report) -> u64 {
    report.progress.files_read
}

#[test]
fn a_young_file_is_read_once_more_and_then_never_again() {
    let mut scene = Scene::new();
    scene.write("sub/file", text(1, 3000));
    let report = scene.scan();
    assert!(matches!(
        scene.state("sub/file"),
        Some(FileState::Unsettled(_))
    ));
    let files: Vec<&PathBuf> = report.recheck.keys().collect();
    assert_eq!(files, [&scene.path("sub/file")]);
    let when = report.recheck[&scene.path("sub/file")];
    assert!(when <= SystemTime::now() + scene.ingest.options().settle_window);
    // Within the settle window, an unchanged file is read again only on request. The report still
    // lists it for a later check.
    let report = scene.scan();
    assert_eq!((read(&report), report.recheck.len()), (0, 1));
    let now = entry(scene.path("sub/file"), Cause::Unknown, true);
    assert_eq!(read(&scene.look(&now)), 1);
    // After the window, the file is read once, even if only its directory is named.
    let mut later = scene.later();
    let look = entry(scene.path("sub"), Cause::Unknown, false);
    let report = later.reconcile(&look, &mut Unobserved).expect("reconciled");
    assert_eq!((read(&report), report.recheck.len()), (1, 0));
    assert!(matches!(
        scene.state("sub/file"),
        Some(FileState::Settled(_))
    ));
    let report = later.reconcile(&look, &mut Unobserved).expect("reconciled");
    assert_eq!((read(&report), report.changes), (0, 0));
    assert_eq!(read(&scene.scan()), 0);
}

#[test]
fn many_young_files_are_looked_at_by_their_directory() {
    let mut scene = Scene::new();
    for n in 0..40 {
        scene.write(&format!("many/{n}"), text(n, 300));
        scene.write(&format!("few/{}/file", n % 16), text(100 + n, 300));
        scene.write(&format!("few/{}", 100 + n % 16), text(200 + n, 300));
    }
    let report = scene.scan();
    assert_eq!(report.recheck.len(), 1 + 16 + 16);
    assert!(report.recheck.contains_key(&scene.path("many")));
    assert!(report.recheck.contains_key(&scene.path("few/3/file")));
    let mut later = scene.later();
    let all: Vec<Target> = (report.recheck.keys())
        .map(|path| Target::entry(path, Cause::Unknown))
        .collect();
    let report = later.reconcile(&all, &mut Unobserved).expect("reconciled");
    assert_eq!((read(&report), report.recheck.len()), (72, 0));
}

#[test]
fn a_rewrite_with_its_size_and_time_put_back_is_found() {
    let mut scene = Scene::new();
    scene.write("file", text(1, 3000));
    let path = scene.path("file");
    let before = fs::metadata(&path).expect("stat");
    let mut later = scene.later();
    let root = [Target::subtree(scene.root())];
    later.reconcile(&root, &mut Unobserved).expect("reconciled");
    scene.write("file", text(2, 3000));
    let times = FileTimes::new().set_modified(before.modified().expect("a time"));
    let file = File::options().write(true).open(&path).expect("open");
    file.set_times(times).expect("dated");
    scene.scan();
    scene.assert_as_fresh("the change time tells");
}

#[test]
fn a_written_file_is_read_even_if_its_stat_is_the_same() {
    let scene = Scene::new();
    scene.write("file", text(1, 3000));
    let mut later = scene.later();
    let root = [Target::subtree(scene.root())];
    later.reconcile(&root, &mut Unobserved).expect("reconciled");
    let path = scene.path("file");
    for (cause, reads) in [
        (Cause::Unknown, 0),
        (Cause::AttributesOnly, 0),
        (Cause::Modified, 1),
    ] {
        let report = later
            .reconcile(&entry(path.clone(), cause, false), &mut Unobserved)
            .expect("reconciled");
        assert_eq!((read(&report), report.changes), (reads, 0), "{cause:?}");
    }
}

#[test]
fn a_touch_costs_one_read_and_no_postings() {
    let mut scene = Scene::new();
    // The chunks of the small and the large file must not be computed again.
    for (name, size) in [("small", 5000), ("large", 3 << 20)] {
        scene.write(name, text(size as u64, size));
    }
    scene.scan();
    let before = scene.totals();
    for (name, size) in [("small", 5000), ("large", 3 << 20)] {
        let file = File::options()
            .write(true)
            .open(scene.path(name))
            .expect("open");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1))
            .expect("dated");
        let report = scene.look(&entry(scene.path(name), Cause::AttributesOnly, false));
        assert_eq!(
            (read(&report), report.progress.bytes_read),
            (1, size as u64)
        );
    }
    let after = scene.totals();
    assert_eq!(
        (before.contents, before.chunks),
        (after.contents, after.chunks)
    );
    scene.assert_as_fresh("after a touch");
}

#[test]
fn equal_files_are_one_content_however_many_are_read_at_once() {
    let mut scene = Scene::new();
    for n in 0..300 {
        scene.write(&format!("{n}"), text(n % 3, 20_000));
    }
    let report = scene.scan();
    assert_eq!(read(&report), 300);
    assert_eq!(scene.totals().contents, 3);
    scene.assert_as_fresh("many copies");
}

#[test]
fn hard_links_are_read_once() {
    let mut scene = Scene::new();
    scene.write("a", text(1, 20_000));
    for n in 0..50 {
        fs::hard_link(scene.path("a"), scene.path(&format!("link{n}"))).expect("a link");
    }
    assert_eq!(read(&scene.scan()), 1);
    assert_eq!(scene.totals().files, 1);
    scene.assert_as_fresh("many names");
}

#[test]
fn a_rotation_of_logs_reads_the_new_one_only() {
    let mut scene = Scene::new();
    for n in 0..6 {
        scene.write(&format!("log.{n}"), text(n, 2000));
    }
    scene.scan();
    for n in (0..6).rev() {
        fs::rename(
            scene.path(&format!("log.{n}")),
            scene.path(&format!("log.{}", n + 1)),
        )
        .expect("renamed");
    }
    scene.write("log.0", text(99, 700));
    let heard = |n| Target::entry(scene.path(&format!("log.{n}")), Cause::Named);
    let targets: Vec<Target> = (0..7).map(heard).collect();
    let report = scene.look(&targets);
    assert_eq!(read(&report), 1);
    scene.assert_as_fresh("after a rotation");
}

#[test]
fn a_move_across_directories_brings_nothing_in_either_order() {
    for (from, to) in [("a/f", "z/f"), ("z/f", "a/f")] {
        let mut scene = Scene::new();
        scene.write("a/other", b"1");
        scene.write("z/other", b"2");
        scene.write(from, text(1, 3000));
        scene.scan();
        fs::rename(scene.path(from), scene.path(to)).expect("renamed");
        let mut notes = Notes::default();
        let root = [Target::subtree(scene.root())];
        let report = scene.observed(&root, &mut notes);
        // The rename changed the file's ctime, but no event reported the rename. So the file is
        // read, although it was only moved.
        assert_eq!((read(&report), report.removed), (1, 1));
        assert!(!notes.committed.is_empty());
        for told in &notes.committed {
            assert_eq!(told.path, scene.path(to));
            assert_eq!(told.content, told.was, "nothing new");
        }
        scene.assert_as_fresh("after a move");
    }
}

#[test]
fn the_observer_is_told_before_and_after() {
    let mut scene = Scene::new();
    scene.write("a/b/file", text(1, 3000));
    let root = [Target::subtree(scene.root())];
    let mut notes = Notes::default();
    scene.observed(&root, &mut notes);
    let dirs = ["", "a", "a/b"].map(|name| scene.path(name));
    assert_eq!(notes.listed, dirs);
    let first = notes.committed[0].clone();
    assert_eq!((&first.path, first.was), (&scene.path("a/b/file"), None));

    // The file is replaced as an editor does. `was` is the content that the path had before.
    scene.write("a/b/.new", text(2, 3000));
    fs::rename(scene.path("a/b/.new"), scene.path("a/b/file")).expect("renamed");
    let mut notes = Notes::default();
    scene.observed(
        &entry(scene.path("a/b/file"), Cause::Unknown, false),
        &mut notes,
    );
    assert_eq!(notes.listed, Vec::<PathBuf>::new());
    assert_eq!(notes.committed[0].was, first.content);
    assert_ne!(notes.committed[0].content, first.content);

    fs::remove_dir_all(scene.path("a")).expect("removed");
    let mut notes = Notes::default();
    scene.observed(&root, &mut notes);
    assert_eq!(notes.gone, [scene.path("a")]);
}

#[test]
fn a_skipped_directory_stays_as_it_was_known() {
    let mut scene = Scene::new();
    scene.write("a/file", text(1, 3000));
    scene.write("b/file", text(2, 3000));
    scene.scan();
    let before = scene.state("a/file");
    for name in ["a/file", "b/file"] {
        fs::remove_file(scene.path(name)).expect("removed");
    }
    let mut notes = Notes {
        skip: Some(scene.path("a")),
        ..Notes::default()
    };
    scene.observed(&[Target::subtree(scene.root())], &mut notes);
    assert_eq!(scene.state("a/file"), before);
    assert_eq!(scene.state("b/file"), None);
}

/// Directories are listed early, before it is their turn. If the observer returns
/// [`Listing::Anew`], the directory must be listed again. Before it returns, the observer adds a
/// file to the directory and replaces a directory in it.
#[test]
fn what_was_listed_early_is_listed_again_where_that_may_be_out_of_date() {
    struct Changing(PathBuf);
    impl Observer for Changing {
        fn before_listing(&mut self, dir: &Path) -> Listing {
            if dir == self.0 {
                return Listing::Go;
            }
            fs::write(dir.join("late"), text(7, 300)).expect("written");
            let other = dir.join("replaced");
            if other.exists() {
                fs::remove_dir_all(&other).expect("removed");
                fs::create_dir(&other).expect("made");
            }
            Listing::Anew
        }
    }
    let mut scene = Scene::new();
    for n in 0..200 {
        scene.write(&format!("{n}/file"), text(n, 300));
        scene.write(&format!("{n}/replaced/gone"), text(1_000 + n, 300));
    }
    let root = [Target::subtree(scene.root())];
    for round in 0..2 {
        let mut observer = Changing(scene.root().clone());
        let report = scene.ingest.reconcile(&root, &mut observer);
        assert_eq!(report.expect("reconciled").error_count, 0);
        for n in 0..200 {
            assert!(scene.state(&format!("{n}/late")).is_some(), "{round}: {n}");
            assert!(
                scene.state(&format!("{n}/replaced/late")).is_some(),
                "{round}: {n}"
            );
            assert!(
                scene.state(&format!("{n}/replaced/gone")).is_none(),
                "{round}: {n}"
            );
        }
        for n in 0..200 {
            fs::remove_file(scene.path(&format!("{n}/late"))).expect("removed");
            fs::remove_file(scene.path(&format!("{n}/replaced/late"))).expect("removed");
        }
    }
}

#[test]
fn what_is_ended_early_removes_nothing_and_is_finished_later() {
    let mut scene = Scene::new();
    for n in 0..20 {
        scene.write(&format!("{n:02}/file"), text(n, 2000));
    }
    scene.scan();
    // The new files are written before the old ones are removed, so that no inode is reused. If an
    // inode were reused, its old name would be removed immediately.
    for n in 0..20 {
        scene.write(&format!("{n:02}/new"), text(100 + n, 2000));
    }
    for n in 0..20 {
        fs::remove_file(scene.path(&format!("{n:02}/file"))).expect("removed");
    }
    let root = [Target::subtree(scene.root())];
    let mut notes = Notes {
        stop_after: Some(5),
        ..Notes::default()
    };
    let report = scene.observed(&root, &mut notes);
    assert!(report.stopped && notes.listed.len() < 10);
    assert_eq!(report.removed, 0);
    assert!(scene.state("00/file").is_some());
    // Another thread can end a scan with the stop flag. The flag stays set until it is cleared.
    let stop = scene.ingest.options().stop.clone();
    stop.set();
    assert!(scene.scan().stopped);
    stop.clear();
    assert!(!scene.scan().stopped);
    scene.assert_as_fresh("finished");
}

#[test]
fn a_renamed_directory_is_one_change_and_is_listed_anew() {
    let mut scene = Scene::new();
    for n in 0..30 {
        scene.write(&format!("old/{}/{n}", n % 3), text(n, 1000));
    }
    scene.scan();
    fs::rename(scene.path("old"), scene.path("new")).expect("renamed");
    // A file that is added to the renamed directory is found, too.
    scene.write("new/0/later", text(77, 1000));
    let renamed = Target::Renamed {
        from: scene.path("old"),
        to: scene.path("new"),
        modified: false,
    };
    let mut notes = Notes::default();
    let report = scene.observed(&[renamed], &mut notes);
    assert_eq!(read(&report), 1);
    assert!(report.changes < 10, "{} changes", report.changes);
    let dirs = ["new", "new/0", "new/1", "new/2"].map(|name| scene.path(name));
    assert_eq!(notes.listed, dirs, "for their watches");
    assert_eq!(notes.gone, [scene.path("old")]);
    scene.assert_as_fresh("after a rename");
}

#[test]
fn ignore_files_that_come_change_and_go_rule_at_once() {
    let mut scene = Scene::with_ignore_rules();
    scene.write("sub/deep/a.log", text(1, 500));
    scene.write("sub/deep/b.txt", text(2, 500));
    scene.scan();
    for (rule, a, b) in [
        (Some("*.log\n"), false, true),
        (Some("deep/\n"), false, false),
        (Some("*.txt\n!b.txt\n"), true, true),
        (Some("*.txt\n"), true, false),
        (None, true, true),
    ] {
        match rule {
            Some(rule) => scene.write("sub/.gitignore", rule),
            None => fs::remove_file(scene.path("sub/.gitignore")).expect("removed"),
        }
        scene.look(&entry(scene.path("sub/.gitignore"), Cause::Unknown, false));
        let there = |name: &str| scene.state(name).is_some();
        let now = (there("sub/deep/a.log"), there("sub/deep/b.txt"));
        assert_eq!(now, (a, b), "{rule:?}");
        scene.assert_as_fresh("after a rule changed");
    }
    // A name that a rule excludes is not added, even if an event names it.
    scene.write("sub/.gitignore", "*.log\n");
    scene.write("sub/deep/c.log", text(3, 500));
    let targets = ["sub/.gitignore", "sub/deep/c.log"]
        .map(|name| Target::entry(scene.path(name), Cause::Modified));
    scene.look(&targets);
    assert_eq!(scene.state("sub/deep/c.log"), None);
}

/// Each ignore file here is itself left out of the index, so the index has no stat of it.
#[test]
fn ignore_files_that_are_left_out_rule_at_once() {
    let mut scene = Scene::with(|mut options| {
        options.roots[0].ignore = true;
        options.roots[0].exclude = vec![".ignore".to_owned()];
        options.roots[0].max_size = Some(ByteLen(600));
        options
    });
    scene.write("sub/deep/a.log", text(1, 500));
    scene.write("sub/deep/b.txt", text(2, 500));
    scene.scan();
    let long = "*.log\n".repeat(200);
    for (name, rule, a, b) in [
        (".gitignore", "*\n", false, false),
        (".gitignore", ".gitignore\n*.txt\n", true, false),
        (".gitignore", "*\n!deep/\n!*.txt\n", false, true),
        (".gitignore", "", true, true),
        (".gitignore", long.as_str(), false, true),
        (".gitignore", "", true, true),
        (".ignore", "*.log\n", false, true),
        (".ignore", "*.txt\n", true, false),
    ] {
        scene.write(&format!("sub/{name}"), rule);
        let path = scene.path(&format!("sub/{name}"));
        scene.look(&[Target::entry(path, Cause::Modified)]);
        let there = |name: &str| scene.state(name).is_some();
        let now = (there("sub/deep/a.log"), there("sub/deep/b.txt"));
        assert_eq!(now, (a, b), "{name} {rule:?}");
        scene.assert_as_fresh("after a rule changed");
    }
    // Only the directory of the ignore files is listed. This finds an ignore file that appeared,
    // and one that is no longer a file.
    let listing = [Target::entry(scene.path("sub"), Cause::Unknown)];
    for name in [".ignore", ".gitignore"] {
        fs::remove_file(scene.path(&format!("sub/{name}"))).expect("removed");
    }
    scene.look(&listing);
    for (rule, there) in [("*\n", false), ("", true), ("*.log\n", false)] {
        scene.write("sub/.gitignore", rule);
        scene.look(&listing);
        assert_eq!(scene.state("sub/deep/a.log").is_some(), there, "{rule:?}");
    }
    fs::remove_file(scene.path("sub/.gitignore")).expect("removed");
    scene.write("sub/.gitignore/x", "a file in a directory");
    scene.look(&listing);
    assert!(scene.state("sub/deep/a.log").is_some());
    scene.assert_as_fresh("a directory has the name of an ignore file");
}

/// An event for a file below the new name is handled before the rename of its directory. So the
/// rename replaces a directory that the index already has. The file of the event must stay.
/// (`convergence.rs` found this case.)
#[test]
fn what_is_told_below_a_new_name_before_the_rename_stays() {
    let mut scene = Scene::new();
    scene.write("old/file", text(1, 1000));
    scene.scan();
    fs::rename(scene.path("old"), scene.path("new")).expect("renamed");
    scene.write("new/later", text(2, 1000));
    let renamed = Target::Renamed {
        from: scene.path("old"),
        to: scene.path("new"),
        modified: false,
    };
    let told = Target::entry(scene.path("new/later"), Cause::Modified);
    let report = scene.look(&[told, renamed]);
    assert_eq!(read(&report), 1);
    scene.assert_as_fresh("in that order");
}

/// A write is reported under a name that is gone before the event is handled. Under the new name
/// the file has its old size and time, but it must be read. (`convergence.rs` found this case.)
#[test]
fn a_write_told_under_the_old_name_is_read_under_the_new_one() {
    let mut scene = Scene::new();
    scene.write("a/file", text(1, 1000));
    scene.scan();
    let path = scene.path("a/file");
    let before = fs::metadata(&path)
        .expect("stat")
        .modified()
        .expect("a time");
    scene.write("a/file", text(2, 1000));
    let file = File::options().write(true).open(&path).expect("open");
    file.set_modified(before).expect("dated");
    fs::rename(scene.path("a"), scene.path("b")).expect("renamed");
    let targets = [
        Target::entry(path, Cause::Modified),
        Target::entry(scene.path("a"), Cause::Unknown),
        Target::subtree(scene.path("b")),
    ];
    assert_eq!(read(&scene.look(&targets)), 1);
    scene.assert_as_fresh("under its new name");
}
