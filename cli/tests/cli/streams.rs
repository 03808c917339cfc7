//! Terminals, pipes that close, full disks.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use resemble_core::Params;
use resemble_proto::message::Hello;

use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::environment;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, finish, tmpfs};

/// What the command prints on a terminal without a size, and so without a pager.
pub(crate) fn on_terminal(env: &Environment, args: &[&str], term: &str) -> (Option<i32>, String) {
    on_terminal_with(env.command(args).env("TERM", term), 0)
}

/// Both ends of a terminal with `lines` lines; with 0 it has no size.
fn terminal(lines: u16) -> (File, File) {
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
    let size = Winsize {
        ws_row: lines,
        ws_col: if lines > 0 { 80 } else { 0 },
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&terminal, size).unwrap();
    (File::from(master), terminal)
}

/// What a command prints on a terminal with `lines` lines; with 0 the terminal has no size.
fn on_terminal_with(command: &mut Command, lines: u16) -> (Option<i32>, String) {
    let (mut master, terminal) = terminal(lines);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(terminal)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Only the children hold the terminal now.
    command.stdout(Stdio::null());
    let mut bytes = Vec::new();
    // The read ends with EIO when the last writer has closed the terminal.
    master.read_to_end(&mut bytes).unwrap_or_default();
    let code = child.wait().unwrap().code();
    (
        code,
        String::from_utf8(bytes).unwrap().replace("\r\n", "\n"),
    )
}

/// Ctrl-C while progress is drawn: the line goes, and then the process, by the signal.
#[test]
fn an_interrupted_question_leaves_no_progress_behind() {
    let env = environment();
    std::fs::create_dir_all(env.socket().parent().unwrap()).unwrap();
    let listener = UnixListener::bind(env.socket()).unwrap();
    let (mut master, terminal) = terminal(24);
    let mut child = env
        .command(["sync"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(terminal)
        .spawn()
        .unwrap();
    // A daemon that takes its time.
    let (mut daemon, _) = listener.accept().unwrap();
    let hello = serde_json::to_vec(&Hello::new(&Params::default())).unwrap();
    daemon.write_all(&[&hello[..], b"\n"].concat()).unwrap();
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("waiting for the daemon") {
        let mut bytes = [0; 256];
        let count = master.read(&mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..count]);
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    master.read_to_end(&mut shown).unwrap_or_default();
    let ended = child.wait().unwrap();
    assert_eq!(ended.signal(), Some(2), "{ended:?}");
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.ends_with("\r\u{1b}[2K"), "{shown:?}");
}

#[test]
fn hostile_names_never_reach_a_terminal_raw() {
    let env = environment();
    env.write("a.txt", paragraphs(1, 20));
    env.write("docs/evil\x1b[2J\nname", paragraphs(1, 20));
    env.write("docs/plain", paragraphs(1, 20));
    let (code, text) = on_terminal(&env, &["find", "a.txt", "--in", "docs"], "dumb");
    assert_eq!(code, Some(0));
    assert_eq!(
        text,
        "100%  identical  'docs/evil'$'\\033''[2J'$'\\n''name'\n100%  identical  docs/plain\n"
    );
    // A file gets the names as they are: it is for programs.
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

/// Output that is longer than the terminal goes through `$PAGER`; the exit code is that of the
/// answer.
#[test]
fn long_output_goes_through_the_pager() {
    let env = environment();
    for i in 0..8 {
        env.write(format!("docs/{i}"), paragraphs(1, 20));
    }
    let seen = env.path("../seen");
    let pager = format!("cat > '{}'", seen.display());
    let ask = |args: &[&str], lines: u16, pager: &str| {
        let mut command = env.command(args);
        command.env("TERM", "xterm").env("PAGER", pager);
        std::fs::remove_file(&seen).unwrap_or_default();
        let (code, shown) = on_terminal_with(&mut command, lines);
        let paged = std::fs::read_to_string(&seen).unwrap_or_default();
        (code, shown.lines().count(), paged.lines().count())
    };
    let pairs = ["pairs", "docs", "--all", "--color", "never"];
    assert_eq!(ask(&pairs, 30, &pager), (Some(0), 28, 0), "it fits");
    assert_eq!(ask(&pairs, 24, &pager), (Some(0), 0, 28), "it does not");
    assert_eq!(ask(&pairs, 0, &pager), (Some(0), 28, 0), "no size");
    let without = ["pairs", "docs", "--all", "--no-pager"];
    assert_eq!(ask(&without, 24, &pager), (Some(0), 28, 0));
    assert_eq!(ask(&pairs, 24, ""), (Some(0), 28, 0));
    assert_eq!(ask(&pairs, 24, "no-such-pager"), (Some(0), 28, 0));
    assert_eq!(ask(&pairs, 24, "exit 3"), (Some(0), 0, 0), "seen enough");
    // Into a file, and as data, nothing is paged.
    assert_eq!(
        ask(&["pairs", "docs", "--all", "-o", "../out"], 24, &pager),
        (Some(0), 0, 0)
    );
    assert_eq!(
        ask(&["pairs", "docs", "--all", "--format", "tsv"], 24, &pager),
        (Some(0), 28, 0)
    );
    // `covered` has the exit code of its answer, whatever the pager does.
    env.write("other/1", paragraphs(2, 20));
    let covered = ["covered", "docs", "--by", "other", "--all"];
    assert_eq!(ask(&covered, 5, &pager).0, Some(1));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let env = environment();
    env.write("a.txt", paragraphs(1, 20));
    env.write("docs/b.txt", paragraphs(1, 20));
    let ask = ["find", "a.txt", "--in", "docs"];
    let painted = "\u{1b}[32m100%\u{1b}[0m  \u{1b}[32midentical\u{1b}[0m  docs/b.txt\n";
    let plain = "100%  identical  docs/b.txt\n";
    assert_eq!(on_terminal(&env, &ask, "xterm").1, painted);
    assert_eq!(on_terminal(&env, &ask, "dumb").1, plain);
    env.run(ask).is(0, plain, "");
    env.run(ask.iter().chain(&["--color", "always"]))
        .is(0, painted, "");
    let asked_not_to = finish(
        env.command(ask)
            .args(["--color", "auto"])
            .env("NO_COLOR", "1"),
        b"",
    );
    asked_not_to.is(0, plain, "");
}

/// The exit code says that the output is not all there, as that of any program does which the
/// signal ends; nothing is printed about it.
#[test]
fn a_reader_that_has_seen_enough_changes_the_exit_code_alone() {
    let env = environment();
    // A row for each pair: far more than a pipe holds.
    for i in 0..120 {
        env.write(format!("docs/{i}"), paragraphs(1, 20));
    }
    let mut child = env
        .command(["pairs", "docs", "--all"])
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
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(2), &b""[..]));
}

/// Whatever prints something.
const PRINTING: [&[&str]; 14] = [
    &["pairs", "docs"],
    &["pairs", "docs", "--format", "json"],
    &["find", "docs/a", "--in", "docs"],
    &["groups", "docs"],
    &["groups", "docs", "--format", "html"],
    &["groups", "docs", "--format", "xlsx"],
    &["groups", "docs", "--format", "fdupes"],
    &["groups", "docs", "--plan", "hardlink"],
    &["compare", "docs", "other"],
    &["covered", "docs", "--by", "other", "--format", "csv"],
    &["dump", "--canonical", "docs"],
    &["man"],
    &["completions", "bash"],
    &["--help"],
];

#[test]
fn a_full_disk_is_trouble() {
    let env = environment();
    env.write("docs/a", paragraphs(1, 20));
    env.write("docs/b", paragraphs(1, 20));
    env.write("other/c", paragraphs(1, 20));
    let to_full = |args: &[&str]| {
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
        (ended.status.code(), err)
    };
    for args in PRINTING
        .into_iter()
        .chain([&["export", "docs", "-o", "-"][..]])
    {
        let (code, err) = to_full(args);
        assert_eq!(code, Some(2), "{args:?}");
        let said = "resemble: cannot write the output: No space left on device\n";
        assert!(err.ends_with(said), "{args:?}: {err}");
    }
    let ran = env.run(["pairs", "docs", "-o", "/nonexistent/x"]);
    ran.is(
        2,
        "",
        "resemble: cannot write /nonexistent/x: No such file or directory\n",
    );
    // A device gets what is written, and is not replaced.
    let ran = env.run(["pairs", "docs", "-o", "/dev/full"]);
    ran.is(
        2,
        "",
        "resemble: cannot write /dev/full: No space left on device\n",
    );
    env.run(["pairs", "docs", "-o", "/dev/null"]).is(0, "", "");
}

/// A report that does not fit on its disk leaves there what was there, under every name.
#[test]
fn a_report_is_whole_or_not_there() {
    let env = environment();
    for i in 0..150 {
        env.write(format!("docs/of a longer name {i}"), paragraphs(1, 20));
    }
    env.write("other/c", paragraphs(1, 20));
    let disk = env.path("../disk");
    let Some(_mounted) = tmpfs(&disk, "8k") else {
        return;
    };
    let target = disk.join("report");
    let name = target.to_str().unwrap();
    let formats = [
        "text", "json", "jsonl", "csv", "tsv", "html", "xlsx", "fdupes",
    ];
    let mut asked: Vec<Vec<&str>> = formats
        .iter()
        .map(|format| vec!["groups", "docs", "--all", "--format", format, "-o", name])
        .collect();
    asked.push(vec!["pairs", "docs", "--all", "-o", name]);
    asked.push(vec!["dump", "--canonical", "docs", "-o", name]);
    asked.push(vec!["export", "docs", "-o", name]);
    asked.push(vec!["groups", "docs", "--plan", "hardlink", "-o", name]);
    let mut refused = 0;
    for before in [None, Some("before")] {
        for args in &asked {
            match before {
                None => std::fs::remove_file(&target).unwrap_or_default(),
                Some(text) => std::fs::write(&target, text).unwrap(),
            }
            let ran = env.run(args);
            if ran.code == 2 {
                refused += 1;
                let said = format!("cannot write {name}: No space left on device\n");
                assert!(ran.err.contains(&said), "{args:?}: {}", ran.err);
                let there = std::fs::read_to_string(&target).ok();
                assert_eq!(there.as_deref(), before, "{args:?}");
            }
            let names: Vec<_> = std::fs::read_dir(&disk).unwrap().collect();
            assert!(names.len() <= 1, "{args:?}: {names:?}");
        }
    }
    assert!(refused > asked.len(), "{refused}");
}

#[test]
fn standard_error_may_be_closed() {
    let env = environment();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = env
        .command(["find", "absent", "--in", "."])
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
