//! Tests the checks of the daemon, the limits and the places in good and in bad states.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use resemble_proto::message::{Degraded, WatchStatus};

use super::*;

fn status() -> StatusAnswer {
    let text = format!(
        concat!(
            r#"{{"roots":[{{"path":"/srv","files":2,"bytes":10,"state":"live","pending":0,"#,
            r#""skipped":0,"unreadable":0}}],"index":{{"bytes":0,"contents":2,"chunks":2}},"#,
            r#""clock":1,"fresh":true,"degraded":[],"process":{{"version":"{}","#,
            r#""descriptors":20,"most_descriptors":1024}}}}"#
        ),
        VERSION
    );
    serde_json::from_str(&text).unwrap()
}

fn wrong(checks: &[Check]) -> Vec<&'static str> {
    let wrong = checks.iter().filter(|check| check.state == Verdict::Wrong);
    wrong.map(|check| check.about).collect()
}

#[test]
fn a_daemon_that_is_well_has_nothing_wrong_and_troubles_come_with_their_remedies() {
    assert!(wrong(&of_daemon(&status())).is_empty());
    let mut troubled = status();
    troubled.process.version = "0.0.1".to_owned();
    troubled.roots[0].state = RootState::Unavailable;
    troubled.degraded.push(Degraded {
        path: "/srv/x".into(),
        reason: "it is slow".to_owned(),
        remedy: Some("make it fast".to_owned()),
    });
    let checks = of_daemon(&troubled);
    assert_eq!(wrong(&checks), ["version", "degraded", "root"]);
    assert_eq!(checks[2].text, "/srv/x: it is slow");
    assert_eq!(checks[2].remedy.as_deref(), Some("make it fast"));
    let mut unread = status();
    unread.roots[0].unopened = 3;
    let checks = of_daemon(&unread);
    assert!(wrong(&checks).is_empty());
    assert_eq!(
        checks.last().unwrap().text,
        "3 documents of /srv could not be read in full; `resemble status -v` names them"
    );
}

#[test]
fn limits_that_are_too_low_are_told_with_the_command_that_raises_them() {
    let sys = tempfile::tempdir().unwrap();
    let folder = sys.path().join("fs/inotify");
    fs::create_dir_all(&folder).unwrap();
    let set = |watches: u64, instances: u64, queue: u64| {
        for (name, value) in [
            ("max_user_watches", watches),
            ("max_user_instances", instances),
            ("max_queued_events", queue),
        ] {
            fs::write(folder.join(name), format!("{value}\n")).unwrap();
        }
    };
    let mut status = status();
    status.watch = WatchStatus {
        directories: 900_000,
        polled: 100_000,
        overflows: 0,
    };
    set(2_000_000, 128, 16_384);
    assert!(wrong(&machine::limits(sys.path(), Some(&status))).is_empty());
    set(1_000_000, 127, 16_383);
    let checks = machine::limits(sys.path(), Some(&status));
    assert_eq!(wrong(&checks), ["watches", "instances", "queue"]);
    let remedy = checks[0].remedy.as_deref().unwrap();
    assert!(
        remedy.contains("fs.inotify.max_user_watches=2097152"),
        "{remedy}"
    );
    status.process.descriptors = 1000;
    set(2_000_000, 128, 16_384);
    assert_eq!(
        wrong(&machine::limits(sys.path(), Some(&status))),
        ["files"]
    );
    // If the kernel's limits cannot be read, only the check of inotify is wrong.
    assert_eq!(
        wrong(&machine::limits(Path::new("/none"), None)),
        ["inotify"]
    );
}

#[test]
fn places_that_others_may_use_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let uid = rustix::process::geteuid().as_raw();
    let state = folder.path().join("state");
    let check = || places::of_state(&state, uid, None);
    assert_eq!(check()[0].state, Verdict::Note, "not there yet");
    fs::create_dir(&state).unwrap();
    for (mode, is_wrong) in [(0o700, false), (0o750, true), (0o702, true)] {
        fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
        let of_mode = |check: &Check| check.text.contains("mode");
        assert_eq!(
            check().iter().any(of_mode),
            is_wrong,
            "{mode:o}: {:?}",
            check()
        );
    }
    assert_eq!(wrong(&places::of_state(&state, uid + 1, None)), ["state"]);
    let socket = folder.path().join("socket");
    assert_eq!(places::of_socket(&socket, uid), None);
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (mode, expected) in [(0o600, Verdict::Ok), (0o666, Verdict::Wrong)] {
        fs::set_permissions(&socket, fs::Permissions::from_mode(mode)).unwrap();
        let check = places::of_socket(&socket, uid).unwrap();
        assert_eq!(check.state, expected, "{check:?}");
    }
}
