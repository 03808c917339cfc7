use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use resemble_testutil::prose::prose;
use resemble_testutil::{Ran, Sandbox, fuse_works, is_installed};

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("home/docs")).expect("folders");
    fs::create_dir_all(sandbox.path("bin")).expect("a folder");
    for name in ["docs/report.txt", "docs/copy.txt"] {
        fs::write(sandbox.path("home").join(name), prose(1, 9_000)).expect("a file");
    }
    // By default `systemctl` fails, as for a user without systemd.
    systemctl(&sandbox, "exit 1");
    sandbox
}

/// Puts a script called `systemctl` into a folder of the PATH. The script records its arguments and
/// then runs `script`.
fn systemctl(sandbox: &Sandbox, script: &str) {
    let path = sandbox.path("bin/systemctl");
    let log = sandbox.path("systemctl.log");
    let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{script}\n", log.display());
    fs::write(&path, text).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("to be run");
}

/// Simulates the systemd of a user, which starts and ends the daemon. No units are installed.
fn systemd(sandbox: &Sandbox) {
    let resembled = sandbox.program("resembled");
    let config = sandbox.path("home/.config/resemble/resembled.toml");
    systemctl(
        sandbox,
        &format!(
            "case \"$*\" in\n\
             *'enable --now resembled.service'*) '{}' --config '{}' >/dev/null 2>&1 & ;;\n\
             *' cat '*) exit 1 ;;\n\
             *'disable --now resembled.service'*) pkill -TERM -f -- '--config {}' ;;\nesac\nexit 0",
            Path::new(resembled.get_program()).display(),
            config.display(),
            config.display()
        ),
    );
}

fn in_home(sandbox: &Sandbox, mut command: Command) -> Command {
    let path = Sandbox::path_with(&sandbox.path("bin"));
    command.env("PATH", path).current_dir(sandbox.path("home"));
    command
}

fn setup(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = in_home(sandbox, sandbox.program("resemble"));
    Ran::from(command.arg("setup").args(args).output().expect("it runs"))
}

/// Returns everything below the home folder except the documents.
fn made(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path("home")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("a type");
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if !path.starts_with(sandbox.path("home/docs")) {
                let below = path.strip_prefix(sandbox.path("home")).expect("below");
                found.push(below.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn one_command_without_systemd_and_one_takes_it_back() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let ran = setup(&sandbox, &["--yes", "docs"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.text().contains("started in the background"), "{ran:?}");
    assert_eq!(sandbox.resemble(["sync"]).code, 0);
    let listed = fs::read_dir(sandbox.path("home/Similar/report.txt/.similar")).expect("a view");
    assert_eq!(listed.count(), 1);
    assert_eq!(
        made(&sandbox),
        [".config/resemble/resembled.toml", "Similar"]
    );
    // A second setup adds another folder. It changes nothing that the first setup has done.
    fs::create_dir(sandbox.path("home/mail")).expect("a folder");
    let again = setup(&sandbox, &["--yes", "docs", "mail"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.text().contains("stays as it is"), "{again:?}");
    assert!(again.text().contains("a daemon runs already"), "{again:?}");
    let watched = sandbox.resemble(["watch", "list"]).text();
    assert_eq!(watched.lines().count(), 2, "{watched}");
    assert!(
        again.text().contains("docs is watched already"),
        "{again:?}"
    );
    // With several roots, the view has a folder for each root. The printed path must include this
    // folder.
    let said = again.text();
    let line = said.lines().find(|line| line.contains("/FILE/.similar"));
    let place = line.and_then(|line| line.trim_start().strip_prefix("ls "));
    let place = place
        .and_then(|place| place.split("/FILE").next())
        .expect("a path");
    assert!(
        Path::new(place).join("report.txt/.similar").is_dir(),
        "{place}"
    );
    fs::create_dir(sandbox.path("home/docs/inner")).expect("a folder");
    let inner = setup(&sandbox, &["--yes", "docs/inner"]);
    assert!(inner.text().contains("is watched with"), "{inner:?}");

    let undone = setup(&sandbox, &["--undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(sandbox.resemble(["status"]).code, 2, "no daemon answers");
    assert_eq!(made(&sandbox), [""; 0]);
    assert_eq!(
        setup(&sandbox, &["--undo"]).code,
        1,
        "there is nothing left"
    );
}

#[test]
fn a_folder_that_was_removed_is_set_up_again() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let docs = sandbox.path("home/docs");
    assert_eq!(setup(&sandbox, &["--yes", "docs"]).code, 0);
    let remove = ["watch".as_ref(), "remove".as_ref(), docs.as_os_str()];
    sandbox.resemble(remove).success();
    assert_eq!(setup(&sandbox, &["--undo"]).code, 0);
    let again = setup(&sandbox, &["--yes", "docs"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(sandbox.resemble(["sync"]).code, 0);
    let status = sandbox.resemble(["status"]).text();
    // The folder is watched with the patterns of the new configuration.
    let line = status.lines().find(|line| line.contains("home/docs"));
    assert!(
        line.is_some_and(|line| line.contains("without .cache")),
        "{status}"
    );
    assert_eq!(setup(&sandbox, &["--undo"]).code, 0);
}

#[test]
fn what_others_made_stays() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    fs::write(sandbox.path("home/Similar"), b"precious").expect("a file");
    let ran = setup(&sandbox, &["--yes", "docs"]);
    assert!(ran.text().contains("the view gets no link"), "{ran:?}");
    let config = sandbox.path("home/.config/resemble/resembled.toml");
    let mut text = fs::read_to_string(&config).expect("a configuration");
    text += "# mine\n";
    fs::write(&config, text).expect("a file");
    let undone = setup(&sandbox, &["--undo"]);
    assert!(
        undone.text().contains("was changed since and stays"),
        "{undone:?}"
    );
    assert_eq!(
        made(&sandbox),
        [".config/resemble/resembled.toml", "Similar"]
    );
    assert_eq!(
        fs::read(sandbox.path("home/Similar")).expect("a file"),
        b"precious"
    );
}

/// If the user has a systemd, the daemon runs as a unit. The unit is written if it is not
/// installed.
#[test]
fn a_unit_where_there_is_systemd() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    systemd(&sandbox);
    let mut command = in_home(&sandbox, sandbox.program("resemble"));
    command
        .args(["setup", "--yes", "docs"])
        .env("DISPLAY", ":9");
    let ran = Ran::from(command.output().expect("it runs"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.text().contains("now and at every login"), "{ran:?}");
    assert!(
        ran.text()
            .contains("notifications of new near-duplicates are on")
    );
    let notify = sandbox.path("home/.config/systemd/user/resemble-notify.service");
    let text = fs::read_to_string(&notify).expect("a unit");
    assert!(text.contains("resemble notify\n"), "{text}");
    let unit = sandbox.path("home/.config/systemd/user/resembled.service");
    assert!(
        fs::read_to_string(&unit)
            .expect("a unit")
            .contains("ExecStart=")
    );
    let undone = setup(&sandbox, &["--undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let log = fs::read_to_string(sandbox.path("systemctl.log")).expect("calls");
    assert!(log.contains("--user daemon-reload\n"), "{log}");
    assert!(
        log.contains("--user disable --now resembled.service\n"),
        "{log}"
    );
    assert!(
        log.contains("--user enable --now resemble-notify.service\n")
            && log.contains("--user disable --now resemble-notify.service\n"),
        "{log}"
    );
    let config = sandbox.path("home/.config/resemble/resembled.toml");
    assert!(!unit.exists() && !notify.exists() && !config.exists());
}

/// If the daemon ends at once, setup prints its last message, and does not wait for an answer.
#[test]
fn a_daemon_that_ends_at_once_says_why() {
    let sandbox = home();
    let config = sandbox.path("home/.config/resemble");
    fs::create_dir_all(&config).expect("a folder");
    fs::write(config.join("resembled.toml"), "colour = 3\n").expect("a file");
    // The first call of `program` builds the program. This must not be part of the measured time.
    drop(sandbox.program("resemble"));
    let begun = Instant::now();
    let ran = setup(&sandbox, &["--yes", "docs"]);
    assert!(begun.elapsed() < Duration::from_secs(15), "it did not wait");
    assert_eq!(ran.code, 2, "{ran:?}");
    for said in ["ended at once", "colour", "setup --undo"] {
        assert!(ran.err.contains(said), "{ran:?}");
    }
    assert!(!ran.err.contains("no daemon answers"), "{ran:?}");
    assert_eq!(setup(&sandbox, &["--undo"]).code, 0);
}

/// Without FUSE, setup still starts a daemon that watches folders. Setup also explains why there is
/// no view.
#[test]
fn without_a_view_it_says_what_is_missing() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root can hide /dev/fuse: nothing is tested");
        return;
    }
    let sandbox = home();
    let resemble = sandbox.program("resemble");
    let script = format!(
        "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 &&
         exec '{}' setup --yes docs",
        Path::new(resemble.get_program()).display()
    );
    let mut command = in_home(&sandbox, sandbox.foreign("unshare"));
    let ran = command.args(["--mount", "sh", "-c", &script]).output();
    let ran = Ran::from(ran.expect("it runs"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.text().contains("there will be no view: /dev/fuse"),
        "{ran:?}"
    );
    assert!(!ran.text().contains(".similar"), "{ran:?}");
    assert_eq!(sandbox.resemble(["sync"]).code, 0);
    assert_eq!(setup(&sandbox, &["--undo"]).code, 0);
    assert_eq!(made(&sandbox), [""; 0]);
}

/// At a terminal, setup asks three questions. The questions about systemd and the desktop are
/// skipped if systemd or the desktop is missing. Without a terminal, setup asks nothing.
#[test]
fn questions_need_a_terminal() {
    let sandbox = home();
    let ran = setup(&sandbox, &[]);
    assert_eq!((ran.code, ran.text()), (2, String::new()), "{ran:?}");
    assert!(ran.err.contains("add --yes"), "{ran:?}");
    let ran = setup(&sandbox, &["--yes", "none"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(made(&sandbox), [""; 0]);
    if !fuse_works() || !is_installed("script") {
        return;
    }
    for (answers, asked) in [("docs\\n", 1), ("docs\\n\\nn\\n", 3)] {
        if asked > 1 {
            systemd(&sandbox);
        }
        let mut command = in_home(&sandbox, sandbox.foreign("sh"));
        let resemble = sandbox.program("resemble");
        let script = format!(
            "printf '{answers}' | DISPLAY=:9 script -qec '{} setup' /dev/null",
            Path::new(resemble.get_program()).display()
        );
        let ran = Ran::from(command.arg("-c").arg(script).output().expect("it runs"));
        let text = ran.text();
        assert_eq!(
            text.matches("? [").count() + text.matches("blanks. [").count(),
            asked,
            "{text}"
        );
        assert!(text.contains("home/docs"), "{text}");
        assert_eq!(setup(&sandbox, &["--undo"]).code, 0);
    }
}
