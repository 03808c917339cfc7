//! Tests which settings of a new configuration apply after SIGHUP, without a restart.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::time::Instant;

use resemble_proto::message::{AlertRules, RootRules, StatusAnswer, WatchOrigin};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Daemon, PATIENCE, Place, status_when, wire};

/// Sends the signal, and waits until the status satisfies `is_so`.
fn reloaded(daemon: &Daemon<'_>, is_so: impl Fn(&StatusAnswer) -> bool) -> StatusAnswer {
    daemon.signal(Signal::HUP);
    status_when(daemon, is_so)
}

#[test]
fn a_hangup_changes_roots_rules_and_sinks_and_says_what_it_cannot_change() {
    let place = Place::new();
    for n in 0..20 {
        place.write(&format!("kept/{n}"), n);
    }
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    for name in ["a.txt", "b.iso"] {
        fs::write(other.join(name), crate::support::text(name.len() as u32)).unwrap();
    }
    let third = place.path("third");
    fs::create_dir(&third).unwrap();
    fs::write(third.join("c"), crate::support::text(99)).unwrap();
    let file = place.path("config.toml");
    let [root, second] = [&place.root, &other].map(|path| path.display().to_string());
    let configure = |text: String| fs::write(&file, text).unwrap();
    configure(format!(
        "[[root]]\npath = \"{root}\"\n[[root]]\npath = \"{second}\"\n"
    ));
    let daemon = place.start_with(&["--config", "config.toml"]);
    daemon.sync();
    assert!(daemon.dump().contains("b.iso"));
    // A root of `watch add` must stay, whatever the configuration says.
    let client = daemon.client();
    client
        .watch_add(wire(&third), RootRules::default(), AlertRules::default())
        .unwrap();
    daemon.sync();
    let read = daemon.status().index.files_read;

    // The new configuration has rules for each root, and a sink for alerts.
    configure(format!(
        "[[root]]\npath = \"{root}\"\nalert-min = \"90%\"\n\
         [[root]]\npath = \"{second}\"\nexclude = [\"*.iso\"]\n\
         [[notify]]\nsink = \"file\"\npath = \"alerts\"\n"
    ));
    let status = reloaded(&daemon, |status| !status.notify.is_empty());
    assert!(status.degraded.is_empty(), "{status:?}");
    daemon.sync();
    let dump = daemon.dump();
    assert!(!dump.contains("b.iso") && dump.contains("a.txt") && dump.contains("third/c"));
    let status = daemon.status();
    assert_eq!(status.roots[1].rules.exclude, ["*.iso"]);
    assert!(status.roots[0].alerts.min.is_some(), "{status:?}");
    // Files that changed lately may be read once more, but no root is read as a whole.
    assert!(status.index.files_read < read + 20, "{read}: {status:?}");
    // The new sink works: the alert about a copy is in its file.
    fs::copy(other.join("a.txt"), other.join("copy.txt")).unwrap();
    let began = Instant::now();
    while !fs::read_to_string(place.path("alerts")).is_ok_and(|text| text.contains("copy.txt")) {
        assert!(began.elapsed() < PATIENCE, "{}", place.log());
        daemon.sync();
    }

    // The new configuration lacks a root. It also changes settings that only a restart can change.
    configure(format!(
        "boilerplate = 7\nchunk-size = 2000\n[[root]]\npath = \"{root}\"\n"
    ));
    let status = reloaded(&daemon, |status| !status.degraded.is_empty());
    let told = &status.degraded[0];
    assert!(told.reason.contains("chunk-size, boilerplate"), "{told:?}");
    assert!(
        told.remedy.as_deref().unwrap().contains("restart"),
        "{told:?}"
    );
    assert_eq!(status.roots.len(), 2);
    assert!(status.notify.is_empty());
    assert!(!daemon.dump().contains("a.txt"));
    assert!(!status.is_live(), "a restart is due");

    // An invalid file changes nothing.
    configure("[[root]\n".to_owned());
    let wrong = |status: &StatusAnswer| {
        status
            .degraded
            .iter()
            .any(|it| it.reason.contains("line 1"))
    };
    let status = reloaded(&daemon, wrong);
    assert_eq!(
        (status.roots.len(), status.degraded.len()),
        (2, 1),
        "{status:?}"
    );

    // With the first configuration again, nothing is wrong any more, and the root is back.
    configure(format!(
        "[[root]]\npath = \"{root}\"\n[[root]]\npath = \"{second}\"\n"
    ));
    let status = reloaded(&daemon, StatusAnswer::is_live);
    assert_eq!(status.roots.len(), 3);
    daemon.sync();
    assert!(daemon.dump().contains("b.iso"));
    let origins: Vec<_> = daemon.client().watch_list().unwrap().into_iter().collect();
    let kept = origins.iter().filter(|row| row.origin == WatchOrigin::Kept);
    assert_eq!(kept.count(), 1, "{origins:?}");
    assert_eq!(
        daemon.terminate(Signal::TERM).code(),
        Some(0),
        "{}",
        place.log()
    );
}

/// The test acts as a service manager whose unit has `Type=notify`, `ExecReload=` and
/// `WatchdogSec=`.
#[test]
fn the_service_manager_hears_of_a_reload_and_gets_signs_of_life() {
    let place = Place::new();
    place.write("a", 1);
    let manager = UnixDatagram::bind(place.path("manager")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let child = place
        .command(&["tree"])
        .env("NOTIFY_SOCKET", place.path("manager"))
        .env("WATCHDOG_USEC", "200000")
        .spawn();
    let child = Ended(child.unwrap());
    let until = |wanted: &str| {
        let mut message = [0; 4096];
        loop {
            let length = manager.recv(&mut message).unwrap();
            let text = std::str::from_utf8(&message[..length]).unwrap();
            if text.lines().any(|line| line == wanted) {
                return;
            }
        }
    };
    until("READY=1");
    for _ in 0..3 {
        until("WATCHDOG=1");
    }
    kill_process(Pid::from_child(&child.0), Signal::HUP).unwrap();
    until("RELOADING=1");
    until("READY=1");
    let log = place.log();
    assert!(log.contains("nothing was read again"), "{log}");
    assert!(log.contains("--config FILE"), "{log}");
    assert!(!log.contains("the configuration was read again"), "{log}");
    kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
    until("STOPPING=1");
}

/// A process that is killed when the test ends.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
