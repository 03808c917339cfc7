//! Tests that after a barrier the live index equals the index of a fresh scan: nothing is lost,
//! stale or made up. Also tests which changes raise an alert.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use resemble_proto::message::AlertKind;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::mount::mount_bind;

use resemble_testutil::random::{Random, noise};
use resemble_testutil::{Mounted, skipped};

use crate::support::{PATIENCE, Place, text};

#[test]
fn each_kind_of_change_reaches_the_index() {
    let place = Place::new();
    for n in 0..5 {
        place.write(&format!("d{n}/f"), n);
    }
    let daemon = place.start();
    daemon.assert_converged();
    let tree = |name: &str| place.in_tree(name);
    let append = |name: &str, more: &str| {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(tree(name))
            .unwrap();
        file.write_all(more.as_bytes()).unwrap();
    };
    let steps: &[(&str, &dyn Fn())] = &[
        ("create", &|| place.write("new", 10)),
        ("append", &|| append("new", "more")),
        ("truncate", &|| {
            fs::File::options()
                .write(true)
                .open(tree("new"))
                .unwrap()
                .set_len(100)
                .unwrap();
        }),
        ("overwrite in place", &|| {
            let mut file = fs::File::options().write(true).open(tree("new")).unwrap();
            file.seek(SeekFrom::Start(50)).unwrap();
            file.write_all(b"!").unwrap();
        }),
        ("save by rename", &|| {
            place.write(".new.swp", 11);
            fs::rename(tree(".new.swp"), tree("new")).unwrap();
        }),
        ("save with a backup", &|| {
            fs::rename(tree("new"), tree("new~")).unwrap();
            place.write("new", 12);
        }),
        ("rename a file", &|| {
            fs::rename(tree("new"), tree("d1/renamed")).unwrap();
        }),
        ("rename a directory", &|| {
            fs::rename(tree("d1"), tree("d2/moved")).unwrap();
        }),
        ("change in the renamed directory", &|| {
            append("d2/moved/renamed", "x");
        }),
        ("make the old name anew", &|| place.write("d1/again", 13)),
        ("rename over a file", &|| {
            fs::rename(tree("d3/f"), tree("d4/f")).unwrap();
        }),
        ("exchange two directories", &|| {
            renameat_with(CWD, tree("d1"), CWD, tree("d2"), RenameFlags::EXCHANGE).unwrap();
        }),
        ("change in both", &|| {
            place.write("d1/after", 14);
            place.write("d2/after", 15);
        }),
        ("hard link", &|| {
            fs::hard_link(tree("d4/f"), tree("linked")).unwrap();
        }),
        ("write through a link", &|| append("linked", "y")),
        ("remove one name", &|| {
            fs::remove_file(tree("d4/f")).unwrap();
        }),
        ("symbolic link", &|| {
            symlink("/etc/passwd", tree("sym")).unwrap();
        }),
        ("file becomes directory", &|| {
            fs::remove_file(tree("linked")).unwrap();
            place.write("linked/inner", 16);
        }),
        ("directory becomes file", &|| {
            fs::remove_dir_all(tree("linked")).unwrap();
            place.write("linked", 17);
        }),
        ("mode", &|| {
            fs::set_permissions(tree("linked"), fs::Permissions::from_mode(0o600)).unwrap();
        }),
        ("remove a tree", &|| fs::remove_dir_all(tree("d1")).unwrap()),
        ("name of any bytes", &|| {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"line\nfeed \x1b[31m \xff\xfe");
            fs::write(place.root.join(name), text(18)).unwrap();
        }),
        ("empty file", &|| place.write_text("empty", "")),
    ];
    for (name, step) in steps {
        step();
        daemon.sync();
        assert_eq!(
            daemon.dump(),
            place.fresh_dump(),
            "after: {name}\n{}",
            place.log()
        );
    }
    assert!(
        !place.log().chars().any(|c| c.is_control() && c != '\n'),
        "names are escaped in the log"
    );
}

#[test]
fn what_moves_in_and_out_populated_is_found_and_gone() {
    let place = Place::new();
    place.write("a", 1);
    let daemon = place.start();
    daemon.sync();
    let outside = place.path("outside");
    for n in 0..50 {
        let dir = outside.join(format!("x/{}/y", n % 7));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{n}")), text(100 + n)).unwrap();
    }
    fs::rename(&outside, place.in_tree("inside")).unwrap();
    daemon.assert_converged();
    assert!(daemon.dump().contains("/inside/x/3/y/3\tf"));
    // The directories that moved in are watched, so a change deep inside causes an event.
    place.write("inside/x/3/y/new", 3);
    daemon.assert_converged();
    fs::rename(place.in_tree("inside"), &outside).unwrap();
    daemon.assert_converged();
    // The directories moved out of the tree, so changes in them must not affect the index.
    fs::write(outside.join("x/late"), text(4)).unwrap();
    daemon.assert_converged();
}

#[test]
fn what_moves_away_and_back_is_still_heard() {
    let place = Place::new();
    place.write("d/e/f", 1);
    let daemon = place.start();
    daemon.sync();
    let (here, there) = (place.in_tree("d"), place.in_tree("x"));
    for (round, barrier) in [false, true].into_iter().enumerate() {
        fs::rename(&here, &there).unwrap();
        if barrier {
            daemon.sync();
        }
        fs::rename(&there, &here).unwrap();
        daemon.assert_converged();
        // The kernel watches the inode of a directory, but the daemon's table has the path of the
        // directory. Events must still be assigned to the right path.
        place.write("d/new", 10 + round as u32);
        place.write("d/e/new", 20 + round as u32);
        daemon.assert_converged();
    }
}

/// A bind mount shows a folder at two places, but inotify reports each event in it once.
#[test]
fn a_folder_at_two_places_is_up_to_date_at_both() {
    let place = Place::new();
    place.write("a/d/f", 1);
    let bound = place.in_tree("b/bound");
    fs::create_dir_all(&bound).unwrap();
    if let Err(error) = mount_bind(place.in_tree("a"), &bound) {
        return skipped(format_args!("no bind mounts: {error}"));
    }
    let mounted = Mounted(bound);
    let daemon = place.start();
    daemon.assert_converged();
    for (seed, dir) in (10..).step_by(10).zip(["a", "b/bound"]) {
        let tree = |name: &str| place.in_tree(dir).join(name);
        let write = |name: &str, seed| place.write(&format!("{dir}/{name}"), seed);
        write("new", seed);
        daemon.assert_converged();
        write("d/.f.swp", seed + 1);
        fs::rename(tree("d/.f.swp"), tree("d/f")).unwrap();
        daemon.assert_converged();
        write("made/g", seed + 2);
        daemon.assert_converged();
        write("made/h", seed + 3);
        fs::rename(tree("made"), tree("renamed")).unwrap();
        daemon.assert_converged();
        write("renamed/i", seed + 4);
        daemon.assert_converged();
        fs::remove_dir_all(tree("renamed")).unwrap();
        fs::remove_file(tree("new")).unwrap();
        daemon.assert_converged();
    }
    storm(&place.in_tree("a"), 7, 300);
    daemon.assert_converged();
    assert!(daemon.status().is_live(), "{:?}", daemon.status());
    place.write("a/last", 2);
    drop(mounted);
    daemon.assert_converged();
    place.write("a/later", 3);
    daemon.assert_converged();
}

#[test]
fn no_child_is_missed_between_mkdir_and_watch() {
    let place = Place::new();
    let daemon = place.start();
    daemon.sync();
    for round in 0..100 {
        let mut dir = place.in_tree(&format!("r{round}"));
        for level in 0..10 {
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("file"), text(round * 100 + level)).unwrap();
            dir.push("d");
        }
    }
    daemon.assert_converged();
    for round in (0..100).step_by(2) {
        fs::remove_dir_all(place.in_tree(&format!("r{round}"))).unwrap();
    }
    daemon.assert_converged();
}

#[test]
fn a_barrier_reads_what_was_just_written() {
    let place = Place::new();
    let daemon = place.start();
    for round in 0..50 {
        place.write("f", round);
        daemon.sync();
        let expected = place.fresh_dump();
        assert_eq!(daemon.dump(), expected, "round {round}");
    }
}

/// Several threads change the tree at once, while another thread requests barriers. At the end, the
/// index must equal the index of a fresh scan.
#[test]
fn a_storm_leaves_the_index_as_a_fresh_scan_does() {
    const THREADS: u32 = 4;
    const STEPS: u32 = 1500;
    let place = Place::new();
    let daemon = place.start();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let storms: Vec<_> = (0..THREADS)
            .map(|seed| {
                scope.spawn({
                    let root = &place.root;
                    move || storm(root, seed, STEPS)
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                daemon.sync();
            }
        });
        for storm in storms {
            storm.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    daemon.assert_converged();
    let status = daemon.status();
    assert!(status.fresh, "{status:?}");
}

/// Runs the steps of one thread. The steps depend only on the seed, but their order among the steps
/// of other threads is random.
fn storm(root: &Path, seed: u32, steps: u32) {
    let mut random = Random::new(seed.into());
    let mut random = |below| random.below(below);
    for step in 0..steps {
        let a = root.join(format!("{}/{}", random(4), random(6)));
        let b = root.join(format!("{}/{}", random(4), random(6)));
        // A step may fail because another thread has changed the same path.
        let _outcome = match random(10) {
            0 => fs::create_dir_all(a.join("sub/deep")),
            1 => fs::remove_dir_all(&a),
            2 => fs::rename(&a, &b),
            3 => fs::rename(
                a.parent().unwrap(),
                root.join(format!("{}/{}", random(4), random(6))),
            ),
            4 => fs::hard_link(&a, &b),
            5 => fs::remove_file(&a),
            6 => symlink("nowhere", &a),
            7 => fs::File::options()
                .append(true)
                .open(&a)
                .and_then(|mut f| f.write_all(b"appended")),
            8 => fs::write(a.join("sub/deep/f"), text(step)),
            _ => fs::create_dir_all(a.parent().unwrap())
                .and_then(|()| fs::write(&a, text(step % 50))),
        };
    }
}

#[test]
fn a_change_that_makes_a_file_like_another_is_one_alert() {
    let place = Place::new();
    place.write("report", 1);
    place.write("other", 2);
    let daemon = place.start();
    daemon.sync();
    assert_eq!(daemon.alerts(), [], "a first scan raises none");
    place.write_text("copy", &(text(1) + "and a new end\n"));
    daemon.sync();
    let alerts = daemon.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0].kind, AlertKind::File);
    assert_eq!(alerts[0].a.as_path(), place.in_tree("copy"));
    assert_eq!(alerts[0].b.as_path(), place.in_tree("report"));
    // The copy is saved again, with and without a temporary file, and renamed. None of this raises
    // an alert.
    place.write_text("copy", &(text(1) + "and another end\n"));
    daemon.sync();
    place.write_text(".tmp", &(text(1) + "and a third end\n"));
    fs::rename(place.in_tree(".tmp"), place.in_tree("copy")).unwrap();
    daemon.sync();
    fs::rename(place.in_tree("copy"), place.in_tree("renamed")).unwrap();
    daemon.sync();
    assert_eq!(daemon.alerts().len(), 1, "{:?}", daemon.alerts());
    // A restart keeps the alerts and raises no new alerts.
    drop(daemon);
    let daemon = place.start();
    daemon.sync();
    assert_eq!(daemon.alerts().len(), 1);
}

#[test]
fn what_is_appended_to_a_large_file_is_an_alert_if_another_has_it() {
    let place = Place::new();
    place.write("report", 1);
    let log = place.in_tree("log");
    let lines: String = (100..2000).map(text).collect();
    fs::write(&log, &lines).unwrap();
    assert!(lines.len() > 5 << 20, "{}", lines.len());
    let daemon = place.start();
    daemon.sync();
    let append = |text: &str| {
        let mut file = fs::File::options().append(true).open(&log).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        drop(file);
        daemon.assert_converged();
    };
    append("a line\n");
    append(&text(3000));
    assert_eq!(daemon.alerts(), [], "nothing has that");
    append(&text(1));
    let alerts = daemon.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0].a.as_path(), log);
    assert_eq!(alerts[0].b.as_path(), place.in_tree("report"));
}

#[test]
fn a_copied_tree_is_one_alert() {
    let place = Place::new();
    for n in 0..30 {
        place.write(&format!("proj/d{}/f{n}", n % 4), n);
    }
    let daemon = place.start();
    daemon.sync();
    for n in 0..30 {
        place.write(&format!("proj2/d{}/f{n}", n % 4), n);
    }
    daemon.sync();
    let alerts = daemon.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!((alerts[0].kind, alerts[0].files), (AlertKind::Tree, 30));
    assert_eq!(alerts[0].a.as_path(), place.in_tree("proj2"));
    assert_eq!(alerts[0].b.as_path(), place.in_tree("proj"));
}

/// After an append to a large file only the end is read. `sync` still finds changes in the rest of
/// the file.
#[test]
fn what_is_hidden_behind_an_append_is_not_hidden_from_sync() {
    let place = Place::new();
    let log = place.in_tree("log");
    fs::write(&log, noise(1, 9 << 20)).unwrap();
    let daemon = place.start();
    daemon.assert_converged();
    let read = daemon.status().index.bytes_read;

    let mut file = fs::File::options()
        .read(true)
        .write(true)
        .open(&log)
        .unwrap();
    file.seek(SeekFrom::Start(5 << 20)).unwrap();
    file.write_all(b"changed").unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"one more line\n").unwrap();
    drop(file);
    let until = Instant::now() + PATIENCE;
    while daemon.status().assumed == 0 {
        assert!(Instant::now() < until, "nobody read it");
        std::thread::yield_now();
    }
    assert_eq!(daemon.status().index.bytes_read - read, 14);

    daemon.assert_converged();
    assert_eq!(daemon.status().assumed, 0);
}
