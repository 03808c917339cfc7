//! Tests the overlay in the daemon: from start to end, in a watched root, after a kill, and by
//! request.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_proto::client::ClientError;
use resemble_proto::message::{AlertRules, CoveredRequest, FailureKind, MountView, RootRules};
use resemble_testutil::{Mounted, fuse_works};
use rustix::process::Signal;

use crate::support::{PATIENCE, Place, text, wire};

fn is_mounted(point: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| {
        line.split(' ')
            .nth(4)
            .is_some_and(|at| Path::new(at) == point)
    })
}

fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn place() -> Place {
    let place = Place::new();
    place.write("report.txt", 1);
    place.write_text("old/report-1.txt", &(text(1) + "an old end\n"));
    place.write("unlike.txt", 2);
    place
}

#[test]
fn the_overlay_lives_and_dies_with_the_daemon() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let point = place.path("Similar");
    let _unmount = Mounted(point.clone());
    let daemon = place.start_with(&["--mount", "Similar", "tree"]);
    daemon.sync();
    let mount = format!("mount={point:?}");
    assert!(place.log().contains(&mount), "{}", place.log());
    let similar = point.join("report.txt/.similar");
    assert_eq!(listing(&similar), ["099%_report-1.txt"]);
    assert_eq!(
        fs::read_link(similar.join("099%_report-1.txt")).unwrap(),
        place.in_tree("old/report-1.txt")
    );
    let report = fs::read_to_string(similar.join(".report.json")).unwrap();
    assert!(report.contains("\"relation\":\"near\""), "{report}");
    let why = fs::read_to_string(similar.join(".why/099%_report-1.txt")).unwrap();
    assert!(why.contains("near"), "{why}");
    assert_eq!(listing(&point.join("unlike.txt/.similar")), [] as [&str; 0]);
    // After a barrier, the listing shows all earlier changes at once.
    fs::rename(
        place.in_tree("old/report-1.txt"),
        place.in_tree("old/final.txt"),
    )
    .unwrap();
    fs::copy(place.in_tree("report.txt"), place.in_tree("copy.txt")).unwrap();
    daemon.sync();
    assert_eq!(listing(&similar), ["099%_final.txt", "100%_copy.txt"]);
    assert_eq!(daemon.status().mounts.len(), 1);
    assert_eq!(
        daemon.terminate(Signal::TERM).code(),
        Some(0),
        "{}",
        place.log()
    );
    assert!(!is_mounted(&point));
    assert!(!point.exists(), "it was made by the daemon");
}

/// The report has at most as many rows as a listing has entries. `shown` is the number of its rows,
/// `total` the number of all neighbours.
#[test]
fn a_report_shows_no_more_than_a_listing() {
    if !fuse_works() {
        return;
    }
    let place = place();
    for n in 0..150 {
        let name = format!("versions/report-{n}.txt");
        place.write_text(&name, &format!("{}the end of version {n}\n", text(1)));
    }
    let point = place.path("Similar");
    let _unmount = Mounted(point.clone());
    let daemon = place.start_with(&["--mount", "Similar", "tree"]);
    daemon.sync();
    let similar = point.join("report.txt/.similar");
    let names = listing(&similar);
    let (more, links) = names.split_last().unwrap();
    assert_eq!(more, "… 51 more");
    let file = place.in_tree("report.txt");
    let file = file.display();
    assert_eq!(
        fs::read_to_string(similar.join(more)).unwrap(),
        format!("51 more files resemble {file}. To see all:\n\nresemble find {file}\n")
    );
    let mut listed: Vec<PathBuf> = links
        .iter()
        .map(|name| fs::read_link(similar.join(name)).unwrap())
        .collect();
    listed.sort();
    let report = fs::read(similar.join(".report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let rows = report["results"].as_array().unwrap();
    let mut reported: Vec<PathBuf> = rows
        .iter()
        .map(|row| row["path"].as_str().unwrap().into())
        .collect();
    reported.sort();
    assert_eq!(reported, listed);
    assert_eq!(report["shown"], 100);
    assert_eq!(report["total"], 151);
    assert_eq!(report["parameters"]["top"], 100);
}

/// If a file has many near copies, some of them are only counted and not compared. An archive must
/// not be counted in addition to its members. A member must be counted only once.
#[test]
fn what_a_listing_does_not_look_at_is_counted_as_it_would_list_it() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let version = |n: usize| format!("{}the end of version {n}\n", text(1));
    for n in 0..300 {
        place.write_text(&format!("versions/report-{n}.txt"), &version(n));
    }
    fs::create_dir(place.path("packed")).unwrap();
    for n in [3, 150, 299, 1000] {
        fs::write(place.path(&format!("packed/{n}.txt")), version(n)).unwrap();
    }
    // Each version of the text is in two archives.
    for (archive, versions) in [
        ("a", [3, 150]),
        ("b", [3, 299]),
        ("c", [299, 1000]),
        ("d", [150, 1000]),
    ] {
        let ran = std::process::Command::new("tar")
            .arg("-cf")
            .arg(place.in_tree(&format!("{archive}.tar")))
            .arg("-C")
            .arg(place.path("packed"))
            .args(versions.map(|n| format!("{n}.txt")))
            .status();
        assert!(ran.unwrap().success());
    }
    let point = place.path("Similar");
    let _unmount = Mounted(point.clone());
    let daemon = place.start_with(&["--mount", "Similar", "tree"]);
    daemon.sync();
    for subject in [
        "report.txt",
        "versions/report-7.txt",
        "versions/report-298.txt",
    ] {
        let names = listing(&point.join(subject).join(".similar"));
        // There are 301 other files, and four versions in archives. The listing shows 100 of them.
        assert_eq!(names.last().unwrap(), "… 205 more", "{subject}");
    }
}

#[test]
fn a_mount_point_in_a_watched_root_is_left_out() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let point = place.in_tree("Similar");
    let _unmount = Mounted(point.clone());
    let daemon = place.start_with(&["--mount", "tree/Similar", "tree"]);
    for _ in 0..3 {
        daemon.sync();
        assert_eq!(
            listing(&point.join("report.txt/.similar")),
            ["099%_report-1.txt"]
        );
    }
    assert!(!daemon.dump().contains("/Similar"));
    // The daemon refuses to watch a folder inside the overlay.
    let inside = daemon.client().watch_add(
        wire(&point.join("old")),
        RootRules::default(),
        AlertRules::default(),
    );
    assert!(matches!(inside, Err(ClientError::Failed(f)) if f.kind == FailureKind::Refused));
}

/// The view of another daemon may be mounted below a root. A file in that view is the watched file
/// itself and no copy. So the daemon refuses to look for copies in the view.
#[test]
fn the_view_of_another_daemon_covers_nothing() {
    if !fuse_works() {
        return;
    }
    let (place, other) = (place(), Place::new());
    let (old, point) = (place.in_tree("old"), place.in_tree("Similar"));
    let _unmount = Mounted(point.clone());
    let [watched, mount] = [&old, &point].map(|path| path.to_str().unwrap());
    let _shows = other.start_with(&["--mount", mount, watched]);
    let daemon = place.start();
    daemon.sync();
    let question = CoveredRequest {
        dir: wire(&old),
        by: vec![wire(&point)],
        by_digest: false,
        memory: None,
    };
    let refused = daemon.client().ask(question, &mut |_| ());
    let Err(ClientError::Failed(failure)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(failure.kind, FailureKind::NotWatched, "{failure:?}");
    assert!(
        failure.message.contains("a view of resemble"),
        "{failure:?}"
    );
}

#[test]
fn after_a_kill_the_mount_point_is_repaired() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let point = place.path("Similar");
    let _unmount = Mounted(point.clone());
    place.start_with(&["--mount", "Similar", "tree"]).kill();
    assert!(is_mounted(&point), "a dead mount stays behind");
    let daemon = place.start_with(&["--mount", "Similar", "tree"]);
    daemon.sync();
    assert_eq!(
        listing(&point.join("report.txt/.similar")),
        ["099%_report-1.txt"]
    );
    assert_eq!(daemon.terminate(Signal::TERM).code(), Some(0));
    assert!(!is_mounted(&point));
}

#[test]
fn overlays_come_and_go_by_request() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let (one, two) = (place.path("one"), place.path("two"));
    let _unmount = (Mounted(one.clone()), Mounted(two.clone()));
    let daemon = place.start();
    daemon.sync();
    daemon
        .client()
        .mount(Some(wire(&one)), Some(MountView::Folders))
        .unwrap();
    daemon
        .client()
        .mount(Some(wire(&two)), Some(MountView::Files))
        .unwrap();
    assert_eq!(
        listing(&one.join("report.txt/.similar")),
        ["099%_report-1.txt"]
    );
    assert_eq!(
        listing(&two.join(".similar/report.txt")),
        ["099%_report-1.txt"]
    );
    assert_eq!(fs::read_to_string(two.join("unlike.txt")).unwrap(), text(2));
    let which = daemon.client().unmount(None).unwrap_err();
    assert!(matches!(which, ClientError::Failed(f) if f.kind == FailureKind::Refused));
    daemon.client().unmount(Some(wire(&one))).unwrap();
    assert!(!is_mounted(&one) && is_mounted(&two));
    daemon.client().unmount(None).unwrap();
    assert!(!is_mounted(&two));
    // The folder is not empty: the request is refused, and the daemon continues.
    let full = daemon
        .client()
        .mount(Some(wire(&place.root)), Some(MountView::Folders))
        .unwrap_err();
    assert!(matches!(full, ClientError::Failed(f) if f.kind == FailureKind::Refused));
    daemon.assert_converged();
}

/// If roots are added or removed, the mounts change without a restart of the daemon.
#[test]
fn added_and_removed_roots_show_in_the_mount_at_once() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let point = place.path("Similar");
    let _unmount = Mounted(point.clone());
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("copy.txt"), text(1)).unwrap();
    let daemon = place.start_with(&["--mount", "Similar", "tree"]);
    daemon.sync();
    let before = listing(&point);
    daemon
        .client()
        .watch_add(wire(&other), RootRules::default(), AlertRules::default())
        .unwrap();
    daemon.sync();
    let mut both = before.clone();
    both.push("other".to_owned());
    both.sort();
    assert_eq!(listing(&point), both);
    assert_eq!(
        listing(&point.join("other/copy.txt/.similar")),
        ["099%_report-1.txt", "100%_report.txt"]
    );
    // Earlier paths are unchanged.
    assert_eq!(
        fs::read_to_string(point.join("report.txt/report.txt")).unwrap(),
        text(1)
    );
    // A new mount shows all roots.
    let second = place.path("Second");
    let _unmount_second = Mounted(second.clone());
    daemon
        .client()
        .mount(Some(wire(&second)), Some(MountView::Files))
        .unwrap();
    assert_eq!(listing(&second), ["other", "tree"]);
    daemon.client().watch_remove(wire(&other)).unwrap();
    assert_eq!(listing(&point), before);
    assert_eq!(listing(&second), ["tree"]);
    // The kernel may cache a path for a second.
    let began = Instant::now();
    while point.join("other/copy.txt").exists() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    daemon.assert_converged();
}

/// The answer to `view off` names what was unmounted. `view on` without a path mounts the
/// configured view again, with its link.
#[test]
fn what_was_unmounted_is_named_and_comes_back_with_its_link() {
    if !fuse_works() {
        return;
    }
    let place = place();
    let (point, link) = (place.path("view"), place.path("Similar"));
    let _unmount = Mounted(point.clone());
    let args = ["--mount", "view", "--link", "Similar", "--view", "files"];
    let daemon = place.start_with(&[&args[..], &["tree"]].concat());
    daemon.sync();
    let client = daemon.client();
    let is_shown = || listing(&link.join(".similar/report.txt")) == ["099%_report-1.txt"];
    assert!(is_shown());
    let gone = client.unmount(None).unwrap().mount.unwrap();
    assert_eq!((gone.path, gone.link), (wire(&point), Some(wire(&link))));
    assert!(!is_mounted(&point) && fs::symlink_metadata(&link).is_err());
    for named in [None, Some(wire(&point)), Some(wire(&link))] {
        let back = client.mount(named, None).unwrap().mount.unwrap();
        assert_eq!((back.path, back.link), (wire(&point), Some(wire(&link))));
        assert_eq!(back.view, MountView::Files);
        assert!(is_shown());
        client.unmount(None).unwrap();
    }
}

/// If no view is configured, `view on` requires a path.
#[test]
fn without_a_configured_view_a_place_is_asked_for() {
    let place = place();
    let daemon = place.start();
    let refused = daemon.client().mount(None, None).unwrap_err();
    assert!(refused.to_string().contains("name the folder"), "{refused}");
}
