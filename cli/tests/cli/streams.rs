//! Terminals, pipes that close, full disks.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::pty::OpenptFlags;

use crate::environment::{Environment, prose};

/// What the command prints on a terminal. `colors`: the terminal knows them.
fn on_terminal(env: &Environment, args: &[&str], term: &str) -> (Option<i32>, String) {
    let master =
        rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut child = env
        .command(args)
        .env("TERM", term)
        .stdin(Stdio::null())
        .stdout(terminal)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    // The read ends with EIO when the last writer has closed the terminal.
    let mut master = File::from(master);
    master.read_to_end(&mut bytes).unwrap_or_default();
    let code = child.wait().unwrap().code();
    (
        code,
        String::from_utf8(bytes).unwrap().replace("\r\n", "\n"),
    )
}

#[test]
fn hostile_names_never_reach_a_terminal_raw() {
    let env = Environment::new();
    env.write("a.txt", prose(1, 20));
    env.write("docs/evil\x1b[2J\nname", prose(1, 20));
    env.write("docs/plain", prose(1, 20));
    let (code, text) = on_terminal(&env, &["find", "a.txt", "--in", "docs"], "dumb");
    assert_eq!(code, Some(0));
    assert_eq!(
        text,
        "100%  identical  'docs/evil'$'\\033''[2J'$'\\n''name'\n100%  identical  docs/plain\n"
    );
    // The same into a file is for programs.
    let (_, nothing) = on_terminal(
        &env,
        &["find", "a.txt", "--in", "docs", "-o", "../out"],
        "dumb",
    );
    assert_eq!(nothing, "");
    assert_eq!(
        std::fs::read_to_string(env.path("../out")).unwrap(),
        "100%  identical  docs/evil\x1b[2J\nname\n100%  identical  docs/plain\n"
    );
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let env = Environment::new();
    env.write("a.txt", prose(1, 20));
    env.write("docs/b.txt", prose(1, 20));
    let ask = ["find", "a.txt", "--in", "docs"];
    let painted = "\u{1b}[32m100%\u{1b}[0m  \u{1b}[32midentical\u{1b}[0m  docs/b.txt\n";
    let plain = "100%  identical  docs/b.txt\n";
    assert_eq!(on_terminal(&env, &ask, "xterm").1, painted);
    assert_eq!(on_terminal(&env, &ask, "dumb").1, plain);
    env.run(ask).is(0, plain, "");
    env.run(ask.iter().chain(&["--color", "always"]))
        .is(0, painted, "");
    let asked_not_to = crate::environment::finish(
        env.command(ask)
            .args(["--color", "auto"])
            .env("NO_COLOR", "1"),
        b"",
    );
    asked_not_to.is(0, plain, "");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let env = Environment::new();
    // A row for each pair: far more than a pipe holds.
    for i in 0..120 {
        env.write(format!("docs/{i}"), prose(1, 20));
    }
    let mut child = env
        .command(["pairs", "docs"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 5];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(&first, b"100% ");
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), &b""[..]));
}

#[test]
fn a_full_disk_is_trouble() {
    let env = Environment::new();
    env.write("docs/a", prose(1, 20));
    env.write("docs/b", prose(1, 20));
    for args in [&["pairs", "docs"][..], &["man"], &["completions", "bash"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = env
            .command(args)
            .stdin(Stdio::null())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{args:?}");
        assert_eq!(
            err,
            "resemble: cannot write the output: No space left on device\n"
        );
    }
    let ran = env.run(["pairs", "docs", "-o", "/nonexistent/x"]);
    ran.is(
        2,
        "",
        "resemble: cannot write /nonexistent/x: No such file or directory\n",
    );
}

#[test]
fn standard_error_may_be_closed() {
    let env = Environment::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = env
        .command(["find", "absent", "--in", "."])
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
