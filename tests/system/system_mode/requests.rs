//! Tests which users may ask which questions.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_callers::Seen;
use resemble_testutil::{PATIENCE, Sandbox};
use rustix::process::{Pid, Signal};
use serde_json::json;

use super::fences::helpers_of;
use super::{
    CONTROL_GROUP, ROOT, SHARES, Server, USERS, User, VIEW, accounts, as_user, ask, disks_of,
    resemble, resemble_at_home,
};

/// A user in the group whose members may control the daemon.
const CONTROLLER: User = User {
    uid: 4009,
    gid: 5009,
    groups: &[CONTROL_GROUP],
};

#[test]
fn orders_are_for_root_and_one_group() {
    const NAME: &str = "system_mode::requests::orders_are_for_root_and_one_group";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    fs::write(Path::new(SHARES).join("a.txt"), "a file").expect("a file");
    let server = Server::start(disks, &["--no-mount"]);
    let orders = [
        json!({"request": "watch-add", "path": "/usr"}),
        json!({"request": "watch-remove", "path": SHARES}),
        json!({"request": "import", "path": "/srv/x", "label": "x"}),
        json!({"request": "mount", "path": "/srv/m"}),
        json!({"request": "unmount"}),
        json!({"request": "ack", "a": "/srv/shares/a.txt"}),
        json!({"request": "ack-undo", "a": "/srv/shares/a.txt"}),
        json!({"request": "templates-mark", "name": "x", "files": ["/srv/shares/a.txt"]}),
        json!({"request": "templates-unmark", "which": "x"}),
    ];
    for order in &orders {
        for user in USERS {
            assert_eq!(ask(user, order).kind(), "denied", "{user:?} {order}");
        }
        for user in [ROOT, CONTROLLER] {
            assert_eq!(ask(user, order).kind(), "refused", "{user:?} {order}");
        }
    }
    let unanswered = [
        json!({"request": "compare", "a": SHARES, "b": SHARES}),
        json!({"request": "covered", "dir": SHARES, "by": [SHARES]}),
        json!({"request": "dump"}),
        json!({"request": "dump-as", "form": "files"}),
        json!({"request": "alerts"}),
        json!({"request": "ack-list"}),
        json!({"request": "templates-list"}),
    ];
    for question in &unanswered {
        for user in [USERS[0], CONTROLLER, ROOT] {
            assert_eq!(ask(user, question).kind(), "refused", "{user:?} {question}");
        }
    }
    // The status states the number of files only to users who may control the daemon.
    let files = |user| {
        let status = ask(user, &json!({"request": "status"}));
        status.rows[0]["roots"][0]["files"].as_u64()
    };
    assert_eq!(
        [ROOT, CONTROLLER, USERS[0]].map(files),
        [Some(1), Some(1), Some(0)]
    );
    drop(server);
}

/// Without options, the command finds the daemon of the system. Its answer shows what the user can
/// open.
#[test]
fn the_command_asks_the_daemon_of_the_system() {
    const NAME: &str = "system_mode::requests::the_command_asks_the_daemon_of_the_system";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let text = resemble_testutil::prose::prose(3, 6_000);
    fs::create_dir(Path::new(SHARES).join("copy")).expect("a folder");
    for name in ["a.txt", "b.txt", "copy/a.txt"] {
        fs::write(Path::new(SHARES).join(name), &text).expect("a file");
    }
    let server = Server::start(disks, &["--no-mount"]);
    let user = USERS[2];
    let found = resemble(user, &["find", "/srv/shares/a.txt"]).success();
    assert!(found.text().contains("/srv/shares/b.txt"), "{found:?}");
    let status = resemble(user, &["status"]).success();
    assert!(status.text().contains(SHARES), "{status:?}");
    // The daemon does not answer `compare` and `covered`. The command answers them itself, with the
    // rights of the user.
    resemble(user, &["compare", SHARES, SHARES]).success();
    resemble(user, &["covered", "/srv/shares/copy", "--by", SHARES]).success();
    let doctor = resemble(user, &["doctor"]).success();
    assert!(doctor.text().contains("it is the system's"), "{doctor:?}");
    assert!(!Path::new(VIEW).exists());
    drop(server);
}

/// A named path that the user is not allowed to read is an error, as with `--local`. If the user
/// names a folder, unreadable files below it are left out without an error.
#[test]
fn a_named_path_that_may_not_be_read_is_an_error() {
    const NAME: &str = "system_mode::requests::a_named_path_that_may_not_be_read_is_an_error";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let share = Path::new(SHARES);
    let text = resemble_testutil::prose::prose(3, 6_000);
    fs::create_dir(share.join("closed")).expect("a folder");
    for name in ["mine.txt", "other.txt", "closed/x.txt"] {
        fs::write(share.join(name), &text).expect("a file");
    }
    for (name, mode) in [("other.txt", 0o600), ("closed", 0o700)] {
        let mode = Permissions::from_mode(mode);
        fs::set_permissions(share.join(name), mode).expect("a mode");
    }
    let server = Server::start(disks, &["--no-mount"]);
    let user = USERS[0];
    let [mine, other, closed] =
        ["mine.txt", "other.txt", "closed"].map(|name| format!("{SHARES}/{name}"));
    let questions: [(&[&str], &String); 6] = [
        (&["pairs", &other, &mine], &other),
        (&["pairs", &closed, &mine], &closed),
        (&["groups", &closed], &closed),
        (&["dirs", &closed], &closed),
        (&["find", &mine, "--in", &closed], &closed),
        (&["find", &mine, "--in", &other], &other),
    ];
    for (question, path) in questions {
        let local = [question, &["--local"]].concat();
        for question in [question, &local] {
            let ran = resemble(user, question);
            assert_eq!(ran.code, 2, "{question:?}: {ran:?}");
            let denied = format!("{path}: Permission denied");
            assert!(ran.err.contains(&denied), "{question:?}: {ran:?}");
        }
    }
    // Nothing shows whether a path below a closed folder exists.
    let said = ["x.txt", "none.txt"].map(|name| {
        let path = format!("{closed}/{name}");
        let ran = resemble(user, &["pairs", &path, &mine]);
        (ran.code, ran.err.replace(name, "NAME"))
    });
    assert_eq!(said[0], said[1]);
    assert_eq!(said[0].0, 2, "{said:?}");
    let all = resemble(user, &["pairs", SHARES]);
    assert_eq!(all.code, 1, "{all:?}");
    assert!(!all.err.contains("denied"), "{all:?}");
    drop(server);
}

/// Without the checker, only root gets an answer. So the status is degraded and states the reason.
#[test]
fn the_status_names_a_checker_that_is_gone() {
    const NAME: &str = "system_mode::requests::the_status_names_a_checker_that_is_gone";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    fs::write(Path::new(SHARES).join("a.txt"), "a file").expect("a file");
    let server = Server::start(disks, &["--no-mount"]);
    let degraded = || {
        let status = &ask(ROOT, &json!({"request": "status"})).rows[0];
        (
            status["degraded"].clone(),
            status["roots"][0]["state"].clone(),
        )
    };
    assert_eq!(degraded(), (json!([]), json!("live")));
    let checker = &helpers_of(server.child.id(), "--checker")[0];
    let checker = checker
        .file_name()
        .and_then(|pid| pid.to_str()?.parse().ok());
    let checker = checker.and_then(Pid::from_raw).expect("a process");
    rustix::process::kill_process(checker, Signal::KILL).expect("it is killed");
    let began = Instant::now();
    let (troubles, state) = loop {
        let (troubles, state) = degraded();
        if troubles != json!([]) {
            break (troubles, state);
        }
        assert!(began.elapsed() < PATIENCE, "the checker still answers");
    };
    let reason = troubles[0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("the checker does not answer"), "{reason}");
    assert_eq!(state, "degraded");
    assert_eq!(resemble(ROOT, &["status"]).code, 1);
    drop(server);
}

/// A removed or renamed file is reported to users who can list its old folder. They must also be
/// able to open a remaining file with its content.
#[test]
fn what_went_is_told_to_who_can_list_its_folder() {
    const NAME: &str = "system_mode::requests::what_went_is_told_to_who_can_list_its_folder";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let share = Path::new(SHARES);
    let names = [
        "open/told.txt",
        "open/secret.txt",
        "closed/told.txt",
        "kept/told.txt",
        "kept/secret.txt",
    ];
    for name in names {
        let path = share.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let seed = if name.contains("secret") { 1 } else { 2 };
        fs::write(path, resemble_testutil::prose::prose(seed, 6_000)).expect("a file");
    }
    let close = |name: &str, mode| {
        let mode = Permissions::from_mode(mode);
        fs::set_permissions(share.join(name), mode).expect("a mode");
    };
    close("kept/secret.txt", 0o600);
    close("closed", 0o711);
    let server = Server::start(disks, &["--no-mount"]);
    for name in &names[..3] {
        fs::remove_file(share.join(name)).expect("it is removed");
    }
    Server::sync();
    let knows = |user, name: &str| {
        let question = json!({"request": "departed", "paths": [share.join(name)]});
        let rows = ask(user, &question).rows;
        let places = rows.first().map(|row| row["places"].clone());
        places.map(|places| places.as_array().expect("places").len())
    };
    let asked = |user| names.map(|name| knows(user, name));
    assert_eq!(asked(USERS[0]), [Some(1), None, None, None, None]);
    assert_eq!(asked(ROOT), [Some(1), Some(1), Some(1), None, None]);
    // The daemon never reveals which file first had a content, not even to root, who sees every
    // file.
    let question = json!({"request": "first-seen", "paths": [share.join("kept/told.txt")]});
    for user in [USERS[0], ROOT] {
        let answer = ask(user, &question);
        assert_eq!((answer.kind(), answer.rows.len()), ("", 0), "{user:?}");
    }
    drop(server);
}

/// A user can mount a FUSE file system over a folder of their own. This file system can imitate the
/// names, sizes and times of files that the user cannot read. So no file in it is treated as
/// visible.
#[test]
fn what_a_process_serves_is_nobodys() {
    const NAME: &str = "system_mode::requests::what_a_process_serves_is_nobodys";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    fs::write(Path::new(SHARES).join("a.txt"), "a file").expect("a file");
    let server = Server::start(disks, &[]);
    let served = Path::new(VIEW).join("a.txt/a.txt");
    for user in [USERS[0], ROOT] {
        let (bytes, seen, real) = as_user(user, || {
            let look = |path: &Path| resemble_callers::look::look(path).expect("looked");
            let real = look(&Path::new(SHARES).join("a.txt"));
            (fs::read(&served), look(&served), real)
        });
        assert_eq!(bytes.expect("the view can be read"), b"a file");
        assert_eq!(seen, Seen::Nothing, "{user:?}");
        assert!(matches!(real, Seen::File(_)), "{real:?}");
    }
    drop(server);
}

/// If a user is not allowed to control the daemon of the system, `resemble setup` starts another
/// daemon for this user.
#[test]
fn setup_starts_a_daemon_of_the_users_own() {
    const NAME: &str = "system_mode::requests::setup_starts_a_daemon_of_the_users_own";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let server = Server::start(disks, &["--no-mount"]);
    let (user, home) = (USERS[0], Path::new("/srv/home"));
    let documents = home.join("documents");
    let runtime = PathBuf::from(format!("/run/user/{}", user.uid));
    for folder in [&documents, &runtime] {
        fs::create_dir_all(folder).expect("folders");
    }
    fs::write(documents.join("a.txt"), "a file").expect("a file");
    for path in [home, &documents, &documents.join("a.txt"), &runtime] {
        chown(path, Some(user.uid), Some(user.gid)).expect("chown");
        fs::set_permissions(path, Permissions::from_mode(0o700)).expect("chmod");
    }
    let lists = Sandbox::new();
    accounts(&lists.path(""));
    // `resembled` must be in the same folder as `resemble`, as in every installation.
    let daemon = lists.program("resembled");
    fs::copy(daemon.get_program(), "/srv/resembled").expect("a copy");

    let root = documents.to_str().expect("a name");
    let denied = resemble_at_home(user, home, &["watch", "add", root]);
    assert_eq!(denied.code, 2, "{denied:?}");
    assert!(denied.err.contains("`resemble setup`"), "{denied:?}");

    let done = resemble_at_home(user, home, &["setup", "--yes", root]).success();
    // The exit code is not checked, because it depends on whether the first scan has ended.
    let status = resemble_at_home(user, home, &["status"]).text();
    let undone = resemble_at_home(user, home, &["setup", "--undo"]);
    let said = done.text();
    assert!(said.contains(&format!("watching {root}")), "{said}");
    assert!(status.contains(root), "{status}");
    for said in [said, status] {
        assert!(!said.contains(SHARES), "{said}");
    }
    undone.success();
    let status = resemble_at_home(user, home, &["status"]).success().text();
    assert!(status.contains(SHARES), "{status}");
    drop(server);
}
