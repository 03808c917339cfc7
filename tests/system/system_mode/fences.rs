//! Checks the rights of the daemon's processes, as the kernel reports them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_testutil::PATIENCE;
use rustix::process::Signal;
use serde_json::json;

use super::{DAEMON, SHARES, Server, USERS, VIEW, ask, disks_of};

/// Returns a field of a file `/proc/PID/status`.
fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name}"))
        .trim()
        .to_owned()
}

/// Returns the file `status` of each thread of a process.
fn threads(process: &Path) -> Vec<String> {
    let threads = fs::read_dir(process.join("task")).expect("threads");
    let read = threads
        .flatten()
        .map(|thread| fs::read_to_string(thread.path().join("status")));
    read.flatten().collect()
}

/// Returns the child processes of a process.
fn children(of: u32) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let is_child = |process: &PathBuf| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        status.contains(&format!("\nPPid:\t{of}\n"))
    };
    all.map(|entry| entry.path()).filter(is_child).collect()
}

/// Returns the child processes of a process that have this first argument.
pub(super) fn helpers_of(daemon: u32, what: &str) -> Vec<PathBuf> {
    let is_it = |process: &PathBuf| {
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).nth(1) == Some(what.as_bytes())
    };
    children(daemon).into_iter().filter(is_it).collect()
}

#[test]
fn each_process_has_the_rights_it_needs_and_no_way_to_others() {
    const NAME: &str =
        "system_mode::fences::each_process_has_the_rights_it_needs_and_no_way_to_others";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    fs::write(Path::new(SHARES).join("a.txt"), "a file").expect("a file");
    let server = Server::start(disks, &["--no-mount"]);
    let process = format!("/proc/{}", server.child.id());
    let all = threads(Path::new(&process));
    assert!(all.len() > 4, "the indexer is at work: {}", all.len());
    let (uid, gid) = DAEMON;
    for status in &all {
        // CAP_DAC_READ_SEARCH is the third bit.
        for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
            assert_eq!(
                u64::from_str_radix(&field(status, set), 16),
                Ok(1 << 2),
                "{set} {status}"
            );
        }
        for set in ["CapInh:", "CapAmb:"] {
            assert_eq!(
                u64::from_str_radix(&field(status, set), 16),
                Ok(0),
                "{set} {status}"
            );
        }
        assert_eq!(field(status, "Uid:"), vec![uid.to_string(); 4].join("\t"));
        assert_eq!(field(status, "Gid:"), vec![gid.to_string(); 4].join("\t"));
        assert_eq!(field(status, "Groups:"), "");
        assert_eq!(field(status, "NoNewPrivs:"), "1");
        assert_eq!(field(status, "Seccomp:"), "2");
    }
    let helpers = children(server.child.id());
    let helper = |what: &str| {
        let found = helpers_of(server.child.id(), what);
        <[PathBuf; 1]>::try_from(found).unwrap_or_else(|found| panic!("one {what}: {found:?}"))
    };
    let ([checker], [starter]) = (helper("--checker"), helper("--starter"));
    assert_eq!(helpers.len(), 2, "{helpers:?}");
    for status in threads(&starter) {
        for set in ["CapPrm:", "CapEff:", "CapBnd:", "CapInh:", "CapAmb:"] {
            let set = u64::from_str_radix(&field(&status, set), 16);
            assert_eq!(set, Ok(0), "{status}");
        }
        assert_eq!(field(&status, "Uid:"), vec![uid.to_string(); 4].join("\t"));
        assert_eq!(field(&status, "Groups:"), "");
        assert_eq!(field(&status, "NoNewPrivs:"), "1");
    }
    for status in threads(&checker) {
        // The checker may have only CAP_SETGID and CAP_SETUID. While it acts for a user, no
        // capability is in effect.
        for set in ["CapPrm:", "CapBnd:"] {
            assert_eq!(
                u64::from_str_radix(&field(&status, set), 16),
                Ok(3 << 6),
                "{status}"
            );
        }
        assert_eq!(field(&status, "NoNewPrivs:"), "1");
        assert_eq!(field(&status, "Seccomp:"), "2");
    }
    let modes = [
        "/run/resemble",
        "/run/resemble/socket",
        "/run/resemble/checker",
        "/run/resemble/starter",
        "/srv/state",
    ];
    let modes = modes.map(|path| {
        let meta = fs::symlink_metadata(path).expect(path);
        (meta.mode() & 0o7777, meta.uid())
    });
    assert_eq!(
        modes,
        [
            (0o755, uid),
            (0o666, uid),
            (0o600, uid),
            (0o600, uid),
            (0o700, uid)
        ]
    );
    drop(server);
    // A process that has ended may still be a zombie, until its parent waits for it.
    let is_over = |process: &Path| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ")
    };
    let began = Instant::now();
    while ![&checker, &starter].iter().all(|process| is_over(process)) {
        assert!(
            began.elapsed() < PATIENCE,
            "its helpers end with the daemon"
        );
        std::thread::yield_now();
    }
}

/// When a daemon that root started ends, its view is unmounted, however it ends. If the daemon ends
/// because of a signal that it handles, its sockets are also removed.
#[test]
fn the_view_goes_with_a_daemon_that_root_started() {
    const NAME: &str = "system_mode::fences::the_view_goes_with_a_daemon_that_root_started";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    fs::write(Path::new(SHARES).join("a.txt"), "a file").expect("a file");
    let is_mounted = || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        mounts.contains(VIEW)
    };
    let until_gone = || {
        let began = Instant::now();
        while is_mounted() {
            assert!(began.elapsed() < PATIENCE, "the view stays");
            std::thread::yield_now();
        }
    };
    let mut killed = Server::command(&[]).spawn().expect("it starts");
    let began = Instant::now();
    while helpers_of(killed.id(), "--unmounter").is_empty() {
        assert!(began.elapsed() < PATIENCE, "nothing is mounted");
        std::thread::yield_now();
    }
    assert!(is_mounted());
    killed.kill().expect("it is killed");
    killed.wait().expect("it ends");
    until_gone();

    let server = Server::start(disks, &[]);
    assert!(Path::new(VIEW).join("a.txt/a.txt").exists());
    rustix::process::kill_process(server.pid(), Signal::TERM).expect("a signal");
    until_gone();
    let left = fs::read_dir("/run/resemble").expect("a folder").count();
    assert_eq!(left, 0, "sockets stay");
    drop(server);
}

/// If other users can write to a folder above a root, the root is refused with one sentence.
#[test]
fn a_root_that_others_could_move_is_refused() {
    const NAME: &str = "system_mode::fences::a_root_that_others_could_move_is_refused";
    let Some(_disks) = disks_of(NAME) else {
        return;
    };
    for mode in [0o1777, 0o775] {
        fs::set_permissions("/srv", fs::Permissions::from_mode(mode)).expect("chmod");
        let ran = Server::command(&["--no-mount"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(
            said.contains("/srv above it may be written by others"),
            "{said}"
        );
    }
}

/// If the daemon is started a second time, it is refused and the first daemon is not disturbed. The
/// daemon also refuses to mount or write in a folder that another user could exchange.
#[test]
fn a_second_daemon_and_a_loose_place_are_refused() {
    const NAME: &str = "system_mode::fences::a_second_daemon_and_a_loose_place_are_refused";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let file = Path::new(SHARES).join("a.txt");
    fs::write(&file, "a file").expect("a file");
    let server = Server::start(disks, &["--no-mount"]);
    let refused = |arguments: &[&str]| {
        let ran = Server::command(arguments).output().expect("it runs");
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let said = refused(&["--no-mount"]);
    assert!(
        said.contains("another resembled answers at /run/resemble/socket"),
        "{said}"
    );
    let question = json!({"request": "find", "subject": {"file": file}});
    assert_eq!(
        ask(USERS[0], &question).kind(),
        "",
        "the first one answers as before"
    );
    fs::create_dir("/srv/loose").expect("a folder");
    fs::set_permissions("/srv/loose", fs::Permissions::from_mode(0o777)).expect("chmod");
    for (option, place) in [
        ("--mount", "/srv/loose/view"),
        ("--socket", "/srv/loose/run/socket"),
    ] {
        let mut arguments = vec!["--socket", "/run/other/socket", option, place];
        if option == "--socket" {
            arguments = vec!["--no-mount", option, place];
        }
        let said = refused(&arguments);
        assert!(
            said.contains("is no place for system mode"),
            "{option}: {said}"
        );
    }
    drop(server);
}
