use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox, fill, fuse_works, names, tmpfs};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Checks that the exit code is `code`, and that standard error is one sentence that contains
/// `word`.
#[track_caller]
fn refused(answer: Ran, code: i32, word: &str) {
    let answer = answer.exits(code);
    let said = answer.err;
    assert!(said.contains(word), "{said:?} does not say {word:?}");
    assert_eq!(said.trim_end().lines().count(), 1, "one sentence: {said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_missing_root_is_refused() {
    let sandbox = Sandbox::new();
    let missing = sandbox.path("missing");
    let output = sandbox
        .program("resembled")
        .arg(&missing)
        .output()
        .expect("it runs");
    refused(Ran::from(output), 2, "missing");
    let output = sandbox.program("resembled").output().expect("it runs");
    refused(Ran::from(output), 2, "nothing to watch");
    refused(
        sandbox.resemble([OsStr::new("pairs"), missing.as_os_str()]),
        2,
        "missing",
    );
    refused(
        sandbox.resemble([OsStr::new("find"), missing.as_os_str()]),
        2,
        "",
    );
}

#[test]
fn a_root_inside_another_is_refused() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.tree("sub")).expect("a folder");
    let mut command = sandbox.program("resembled");
    let output = command
        .arg(sandbox.path("tree"))
        .arg(sandbox.tree("sub"))
        .output();
    refused(Ran::from(output.expect("it runs")), 2, "lies in");
}

#[test]
fn without_a_daemon_verbs_of_its_own_say_how_to_start_one_and_find_looks_here() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", prose(1, 3_000));
    refused(sandbox.resemble(["status"]), 2, "resembled");
    refused(sandbox.resemble(["sync"]), 2, "resembled");
    sandbox.write("b.txt", prose(1, 3_000));
    let file = sandbox.tree("a.txt");
    let found = sandbox.resemble([OsStr::new("find"), file.as_os_str()]);
    assert_eq!(found.code, 0, "{found:?}");
    assert_eq!(found.text(), "100%  identical  ./tree/b.txt\n");
    assert!(
        found.err.contains("below the current directory"),
        "{found:?}"
    );
    let file = sandbox.tree("none.txt");
    refused(
        sandbox.resemble([OsStr::new("find"), file.as_os_str()]),
        2,
        "none.txt: No such file or directory",
    );
}

#[test]
fn hostile_names_types_and_sizes_are_served_or_left_out_and_counted() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    let text = prose(3, 9_000);
    sandbox.write("plain.txt", &text);
    let hostile = OsStr::from_bytes(b"new\nline \xff\xfe \x1b[31m.txt");
    sandbox.write(hostile, edited(&text, 1, 2));
    let long = OsStr::from_bytes(&[b'n'; 255]);
    sandbox.write(long, edited(&text, 2, 2));
    sandbox.write("empty.txt", b"");
    sandbox.write("tiny.txt", b"tiny");
    mknodat(CWD, sandbox.tree("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
    let device = rustix::fs::makedev(1, 5);
    let made = mknodat(
        CWD,
        sandbox.tree("zero"),
        FileType::CharacterDevice,
        Mode::RUSR,
        device,
    );
    if made.is_err() {
        eprintln!("no device node without privileges: that part is not tested");
    }
    symlink(sandbox.tree(""), sandbox.tree("loop")).expect("a link");
    symlink("/etc/passwd", sandbox.tree("outside")).expect("a link");
    let sparse = fs::File::create(sandbox.tree("sparse.img")).expect("a file");
    sparse
        .set_len(1 << 40)
        .or_else(|_| sparse.set_len(1 << 34))
        .expect("a sparse file");
    drop(sparse);

    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let shown = names(sandbox.mount("plain.txt/.similar"));
    assert!(
        shown
            .iter()
            .any(|n| n.as_bytes().ends_with(hostile.as_bytes())),
        "{shown:?}"
    );
    assert!(shown.iter().any(|n| n.len() == 255), "{shown:?}");
    for name in &shown {
        let link = sandbox.mount("plain.txt/.similar").join(name);
        if !name.as_bytes().starts_with(b".") {
            assert!(fs::metadata(link).is_ok(), "{name:?} leads to its file");
        }
    }
    let listed = names(sandbox.mount(""));
    for left_out in ["pipe", "zero", "loop", "outside"] {
        assert!(
            !listed.contains(&left_out.into()),
            "{left_out} is left out of the folders view"
        );
    }
    assert!(
        names(sandbox.mount("empty.txt/.similar"))
            .iter()
            .all(|n| n.as_bytes()[0] == b'.')
    );
    daemon.assert_true();
    // Output to a pipe has the raw bytes of a name. With `-0`, names are separated by NUL.
    let file = sandbox.tree("plain.txt");
    let found = sandbox
        .resemble([OsStr::new("find"), file.as_os_str(), OsStr::new("-0")])
        .success();
    let wanted = sandbox.tree(hostile);
    let raw = wanted.as_os_str().as_bytes();
    assert!(
        found.out.windows(raw.len()).any(|w| w == raw),
        "{}",
        found.text()
    );
}

#[test]
fn an_unreadable_file_is_counted_and_the_rest_is_served() {
    let sandbox = Sandbox::new();
    let text = prose(3, 9_000);
    sandbox.write("a.txt", &text);
    sandbox.write("b.txt", edited(&text, 1, 2));
    sandbox.write("secret.txt", &text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(sandbox.tree("secret.txt"), mode).expect("chmod");
    // Root can read everything, so the question is asked as `nobody`.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    for folder in ["", "home", "run", "cache", "tree"] {
        fs::set_permissions(sandbox.path(folder), fs::Permissions::clone(&open)).expect("chmod");
    }
    let program = sandbox.program("resemble").get_program().to_owned();
    let copy = sandbox.path("resemble");
    fs::copy(program, &copy).expect("the program where nobody can run it");
    let mut command = sandbox.foreign(if rustix::process::geteuid().is_root() {
        OsStr::new("setpriv")
    } else {
        copy.as_os_str()
    });
    if rustix::process::geteuid().is_root() {
        command
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&copy);
    }
    let output = command
        .args(["pairs", "--format", "json"])
        .arg(sandbox.path("tree"))
        .output();
    let answer = Ran::from(output.expect("it runs")).exits(2);
    assert_eq!(
        answer.json()["pairs"].as_array().map(Vec::len),
        Some(1),
        "{}",
        answer.text()
    );
    assert_eq!(
        answer.json()["errors"].as_array().map(Vec::len),
        Some(1),
        "{}",
        answer.text()
    );
    assert!(answer.err.contains("secret.txt"), "{}", answer.err);
}

#[test]
fn a_file_truncated_and_rewritten_while_it_is_read_ends_right() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", prose(3, 9_000));
    let daemon = sandbox.daemon([""; 0]);
    for round in 0..40 {
        sandbox.write("busy.bin", prose(round, 3_000_000));
        let file = fs::OpenOptions::new()
            .write(true)
            .open(sandbox.tree("busy.bin"));
        file.expect("open")
            .set_len(round * 1_000)
            .expect("truncate");
    }
    daemon.assert_true();
}

#[test]
fn a_full_disk_keeps_the_old_answers_and_resumes_by_itself() {
    let sandbox = Sandbox::new();
    let Some(disk) = tmpfs(sandbox.path("disk"), "12m") else {
        return;
    };
    let text = prose(3, 9_000);
    sandbox.write("a.txt", &text);
    sandbox.write("b.txt", edited(&text, 1, 2));
    let state = disk.path("state");
    let daemon = sandbox.daemon([OsStr::new("--state"), state.as_os_str()]);
    daemon.sync();
    // Another program fills the disk. Then files are added to the tree.
    fill(&disk.path("fill"));
    for n in 0..400 {
        sandbox.write(format!("more/{n}.txt"), prose(n, 40_000));
    }
    let late = sandbox.resemble(["sync", "--timeout", "10"]);
    assert_eq!(late.code, 1, "not in while the disk is full: {}", late.err);
    let degraded = daemon.status()["degraded"].to_string();
    assert!(degraded.contains("no space left"), "{degraded}");
    let file = sandbox.tree("a.txt");
    let found = sandbox
        .resemble([OsStr::new("find"), file.as_os_str()])
        .success();
    assert!(
        found.text().contains("b.txt"),
        "old answers stay: {}",
        found.text()
    );
    fs::remove_file(disk.path("fill")).expect("room again");
    daemon.assert_true();
    assert_eq!(
        daemon.status()["degraded"].as_array().map(Vec::len),
        Some(0)
    );
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_mount_point_that_is_not_empty_is_refused() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", b"a");
    fs::create_dir(sandbox.mount("")).expect("a folder");
    fs::write(sandbox.mount("mine"), b"precious").expect("a file");
    let mut command = sandbox.program("resembled");
    command
        .arg("-q")
        .arg("--mount")
        .arg(sandbox.mount(""))
        .arg(sandbox.path("tree"));
    refused(Ran::from(command.output().expect("it runs")), 2, "empty");
    assert_eq!(
        fs::read(sandbox.mount("mine")).expect("still there"),
        b"precious"
    );
}

#[test]
fn the_mount_point_may_lie_in_the_watched_root_but_a_root_not_in_a_mount() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("tree-file.txt", prose(1, 4_000));
    let inside = sandbox.tree("Similar");
    let daemon = sandbox.daemon([OsStr::new("--mount"), inside.as_os_str()]);
    daemon.sync();
    assert!(
        !names(&inside).contains(&"Similar".into()),
        "the mount does not show itself"
    );
    assert!(!String::from_utf8_lossy(&daemon.dump()).contains("Similar"));
    let other = Sandbox::new();
    let output = other
        .program("resembled")
        .arg(inside.join("tree-file.txt"))
        .output();
    refused(Ran::from(output.expect("it runs")), 2, "");
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn usage_errors_exit_2() {
    let sandbox = Sandbox::new();
    for args in [
        &["find"][..],
        &["no-such-verb"],
        &["pairs", "--min", "700%", "/"],
        &["--bogus"],
    ] {
        let answer = sandbox.resemble(args);
        assert_eq!(answer.code, 2, "{args:?}: {}", answer.err);
        assert!(!answer.err.is_empty());
    }
    let config = sandbox.path("bad.toml");
    fs::write(&config, "state = \"/tmp\"\ncolour = 3\n").expect("a file");
    let mut command = sandbox.program("resembled");
    let output = command
        .arg("--config")
        .arg(&config)
        .arg(sandbox.path("tree"))
        .output();
    let answer = Ran::from(output.expect("it runs")).exits(2);
    assert!(
        answer.err.contains("line 2") && answer.err.contains("colour"),
        "{}",
        answer.err
    );
}
