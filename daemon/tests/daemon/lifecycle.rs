//! Tests starts and ends of the daemon, two daemons at the same time, and roots that requests add
//! and remove.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use resemble_proto::client::ClientError;
use resemble_proto::message::{AlertRules, FailureKind, RootRules, RootState};
use rustix::process::Signal;

use crate::support::{Daemon, Place, wire};

#[test]
fn an_ordered_end_leaves_no_socket_and_status_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let place = Place::new();
        place.write("a", 1);
        let daemon = place.start();
        daemon.sync();
        assert_eq!(daemon.terminate(signal).code(), Some(0), "{}", place.log());
        assert!(!place.path("socket").exists());
        // The daemon can start again.
        let daemon = place.start();
        daemon.assert_converged();
    }
}

#[test]
fn the_end_comes_in_the_middle_of_a_scan_too() {
    let place = Place::new();
    for n in 0..2000 {
        place.write(&format!("{}/{n}", n % 50), n);
    }
    let daemon = place.start();
    assert_eq!(
        daemon.terminate(Signal::TERM).code(),
        Some(0),
        "{}",
        place.log()
    );
    let daemon = place.start();
    daemon.assert_converged();
}

#[test]
fn answers_come_from_the_first_second_and_wait_waits() {
    let place = Place::new();
    for n in 0..1000 {
        place.write(&format!("{n}"), n);
    }
    let daemon = place.start();
    // `status` answers even during the first scan, and reports whether the answers are up to date.
    let early = daemon.status();
    assert_eq!(
        early.fresh,
        early.roots[0].state == RootState::Live && early.roots[0].pending == 0
    );
    drop(daemon);
    fs::remove_dir_all(place.path("state")).unwrap();
    let daemon = place.start_with(&["--wait", "tree"]);
    let status = daemon.status();
    assert!(status.fresh && status.is_live(), "{status:?}");
    assert_eq!(status.roots[0].files, 1000);
}

#[test]
fn trouble_at_the_start_is_one_sentence_and_status_2() {
    let place = Place::new();
    place.write("file", 1);
    fs::write(
        place.path("bad.toml"),
        "[[root]]\npath = \"tree\"\nfoo = 1\n",
    )
    .unwrap();
    for (args, part) in [
        (&[][..], "nothing to watch"),
        (&["none"], "No such file"),
        (&["tree/file"], "not a directory"),
        (&["tree", "tree"], "watched already"),
        (&["/proc"], "pseudo"),
        (&["--config", "bad.toml"], "line 3"),
        (&["--config", "none.toml"], "none.toml"),
        (&["--chunk-size", "1", "tree"], "--chunk-size"),
    ] {
        let (status, said) = place.fails(args);
        assert_eq!(status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
        let own = said
            .lines()
            .filter(|line| line.starts_with("resembled: "))
            .count();
        assert!(own == 1, "{args:?}: {said}");
    }
    let (status, _) = place.fails(&["--frobnicate"]);
    assert_eq!(status.code(), Some(2));
}

/// If a root of the configuration was removed by a request, the next start must not add it again.
#[test]
fn a_root_of_the_configuration_that_was_removed_stays_removed() {
    let place = Place::new();
    place.write("a", 1);
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("o"), crate::support::text(2)).unwrap();
    let text = "[[root]]\npath = \"tree\"\n[[root]]\npath = \"other\"\n";
    fs::write(place.path("c.toml"), text).unwrap();
    let from_file = ["--config", "c.toml"];
    let roots = |daemon: &Daemon<'_>| {
        let roots = daemon.status().roots.into_iter();
        roots
            .map(|root| root.path.as_path().to_path_buf())
            .collect::<Vec<_>>()
    };
    let daemon = place.start_with(&from_file);
    daemon.sync();
    assert_eq!(roots(&daemon), [place.root.clone(), other.clone()]);
    daemon.client().watch_remove(wire(&other)).unwrap();
    assert_eq!(
        daemon.terminate(Signal::TERM).code(),
        Some(0),
        "{}",
        place.log()
    );
    for _ in 0..2 {
        let daemon = place.start_with(&from_file);
        daemon.assert_converged();
        assert_eq!(
            roots(&daemon),
            std::slice::from_ref(&place.root),
            "{}",
            place.log()
        );
    }
    // The root stays removed until a request adds it again. From then on the root is also there
    // after a restart.
    let daemon = place.start_with(&from_file);
    daemon
        .client()
        .watch_add(wire(&other), RootRules::default(), AlertRules::default())
        .unwrap();
    daemon.kill();
    let daemon = place.start_with(&from_file);
    assert_eq!(roots(&daemon), [place.root.clone(), other.clone()]);
}

/// A new configuration that names a removed root requests it anew. Without that configuration, the
/// daemon has nothing to watch, and its message says how to watch the root again.
#[test]
fn a_removed_root_is_watched_again_after_write_config() {
    let place = Place::new();
    place.write("a", 1);
    let write = ["--write-config", "--config", "new.toml", "tree"];
    let from_file = ["--config", "new.toml"];
    assert_eq!(place.fails(&write).0.code(), Some(0));
    let daemon = place.start_with(&from_file);
    daemon.sync();
    daemon.client().watch_remove(wire(&place.root)).unwrap();
    drop(daemon);
    let (status, said) = place.fails(&from_file);
    assert_eq!(status.code(), Some(2));
    assert!(
        said.contains("`resembled /") && said.contains("/tree`"),
        "{said}"
    );
    fs::remove_file(place.path("new.toml")).unwrap();
    assert_eq!(place.fails(&write).0.code(), Some(0));
    for _ in 0..2 {
        place.start_with(&from_file).assert_converged();
    }
}

#[test]
fn a_second_daemon_is_refused_and_the_first_goes_on() {
    let place = Place::new();
    place.write("a", 1);
    let daemon = place.start();
    let (status, said) = place.fails(&["tree"]);
    assert_eq!(status.code(), Some(2));
    assert!(
        said.contains("another resembled uses the state folder"),
        "{said}"
    );
    // This daemon has another state folder, but the same socket.
    let (status, said) = place.fails(&["--state", "state2", "tree"]);
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("another"), "{said}");
    daemon.assert_converged();
}

#[test]
fn a_foreign_thing_at_the_socket_stays_and_a_dead_socket_is_replaced() {
    let place = Place::new();
    fs::write(place.path("socket"), "mine").unwrap();
    let (status, said) = place.fails(&["tree"]);
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("in the way"), "{said}");
    assert_eq!(fs::read(place.path("socket")).unwrap(), b"mine");
    fs::remove_file(place.path("socket")).unwrap();
    drop(UnixListener::bind(place.path("socket")).unwrap());
    place.start().assert_converged();
}

#[test]
fn state_and_socket_are_for_nobody_else() {
    let place = Place::new();
    place.write("a", 1);
    let daemon = place.start();
    daemon.sync();
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("state"), mode("socket")), (0o700, 0o600));
    assert_eq!(mode("state/index.redb") & 0o077, 0);
    drop(daemon);
    fs::set_permissions(place.path("state"), fs::Permissions::from_mode(0o777)).unwrap();
    let (status, said) = place.fails(&["tree"]);
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("may be written by others"), "{said}");
}

#[test]
fn added_roots_are_kept_and_removed_ones_forgotten() {
    let place = Place::new();
    place.write("a", 1);
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("o"), "in the other root").unwrap();
    let daemon = place.start();
    let row = daemon
        .client()
        .watch_add(wire(&other), RootRules::default(), AlertRules::default())
        .unwrap();
    assert_eq!(row.path.as_path(), other);
    daemon.sync();
    assert!(daemon.dump().contains("/other/o\tf"));
    let nested = daemon.client().watch_add(
        wire(&place.root.join("x")),
        RootRules::default(),
        AlertRules::default(),
    );
    assert!(matches!(nested, Err(ClientError::Failed(f)) if f.kind == FailureKind::Refused));
    drop(daemon);
    // Without roots on the command line, the daemon starts with the roots of `watch add`.
    let daemon = place.start_with(&[]);
    daemon.sync();
    assert!(daemon.dump().contains("/other/o\tf"));
    assert!(!daemon.dump().contains("/tree/a"), "no root any more");
    drop(daemon);
    // Roots of `watch add` are kept even if the index is lost, because nothing but the user's
    // requests names them.
    fs::write(place.path("state/index.redb"), "this is no index").unwrap();
    let daemon = place.start_with(&[]);
    daemon.sync();
    assert!(daemon.dump().contains("/other/o\tf"));
    daemon.client().watch_remove(wire(&other)).unwrap();
    daemon.sync();
    assert_eq!(daemon.dump(), "");
    drop(daemon);
    let (status, _) = place.fails(&[]);
    assert_eq!(status.code(), Some(2));
}

/// `watch add` sets some rules of a root, and the configuration sets the others. This must be so
/// before and after a restart.
#[test]
fn an_added_root_has_the_rules_of_the_configuration_where_it_sets_none() {
    let place = Place::new();
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    let root = place.root.display();
    let text = format!(
        "exclude = [\"*.tmp\"]\nalert-min = \"90%\"\n\
         [[root]]\npath = \"{root}\"\nexclude = [\"*.bak\"]\nmax-size = 9000\n"
    );
    fs::write(place.path("config.toml"), text).unwrap();
    let args = ["--config", "config.toml"];
    let mut daemon = place.start_with(&args);
    let rules = |daemon: &Daemon<'_>| {
        let rows = daemon.client().watch_list().unwrap().into_iter();
        let rules = rows.map(|row| (row.path.into(), (row.rules, row.alerts)));
        rules.collect::<BTreeMap<PathBuf, _>>()
    };
    let configured = rules(&daemon)[&place.root].clone();
    let add = |daemon: &Daemon<'_>, path: &Path, order: RootRules| {
        let client = daemon.client();
        let row = client.watch_add(wire(path), order, AlertRules::default());
        row.map(|row| (row.rules, row.alerts)).unwrap()
    };
    let added = add(&daemon, &other, RootRules::default());
    assert_eq!(added.0.exclude, ["*.tmp"]);
    assert!(added.1.min.is_some());
    daemon.client().watch_remove(wire(&place.root)).unwrap();
    assert_eq!(add(&daemon, &place.root, RootRules::default()), configured);
    let exclude = vec!["*.iso".to_owned()];
    for order in [
        RootRules::default(),
        RootRules {
            exclude: exclude.clone(),
            ..RootRules::default()
        },
    ] {
        daemon.client().watch_remove(wire(&place.root)).unwrap();
        add(&daemon, &place.root, order);
        let before = rules(&daemon);
        drop(daemon);
        daemon = place.start_with(&args);
        assert_eq!(rules(&daemon), before);
    }
    let ordered = &rules(&daemon)[&place.root].0;
    assert_eq!((&ordered.exclude, ordered.max_size), (&exclude, Some(9000)));
}

#[test]
fn our_own_state_in_a_root_is_left_out() {
    let place = Place::new();
    place.write("a", 1);
    let daemon = place.start_with(&["--state", "tree/state", "tree"]);
    for _ in 0..3 {
        daemon.sync();
    }
    assert!(!daemon.dump().contains("state"));
    let clock = daemon.status().clock;
    daemon.sync();
    assert_eq!(daemon.status().clock, clock, "a barrier changes nothing");
}
