//! Tests output on terminals, into pipes that are closed, and onto full disks.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use resemble_core::Params;
use resemble_proto::message::{Hello, Request};

use rustix::process::Signal;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::daemon::{Daemon, hello, rows};
use crate::environment;
use crate::first_days::dated;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, fill, finish, names, tmpfs};

/// The line that explains the percentages.
pub(crate) const TITLE: &str = "the larger share of one file that is in the other:";

/// Midday of 29 February 2000, in seconds since 1970.
const LEAP_DAY: u64 = 951_825_600;

/// Returns what the command prints on a terminal of unknown size, which gets no pager.
pub(crate) fn on_terminal(env: &Environment, args: &[&str], term: &str) -> (Option<i32>, String) {
    on_terminal_with(env.command(args).env("TERM", term), 0)
}

/// Opens a terminal with `lines` lines, and returns both ends. With 0 lines its size is unknown.
fn terminal(lines: u16) -> (File, File) {
    terminal_of(lines, if lines > 0 { 80 } else { 0 })
}

pub(crate) fn terminal_of(lines: u16, columns: u16) -> (File, File) {
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
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&terminal, size).unwrap();
    (File::from(master), terminal)
}

/// Returns what a command prints on a terminal with `lines` lines. With 0 lines its size is
/// unknown.
fn on_terminal_with(command: &mut Command, lines: u16) -> (Option<i32>, String) {
    shown_on(terminal(lines), command)
}

fn shown_on((mut master, terminal): (File, File), command: &mut Command) -> (Option<i32>, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(terminal)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // `command` holds the terminal open. Its output is replaced, so that only the child has the
    // terminal open.
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

/// Returns a command that ignores no signal, even if these tests run in the background.
pub(crate) fn interruptible(env: &Environment, args: &[&str]) -> Command {
    let mut command = env.foreign("env");
    command
        .arg("--default-signal=INT,HUP")
        .arg(env!("CARGO_BIN_EXE_resemble"))
        .args(args);
    command
}

/// The signals that end a command.
pub(crate) const ENDING: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// Ends a command by this signal.
pub(crate) fn end(mut child: Child, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    let ended = child.wait().unwrap();
    assert_eq!(ended.signal(), Some(signal.as_raw()), "{ended:?}");
}

/// A signal leaves nothing beside the file of `-o`.
#[test]
fn an_interrupted_command_leaves_no_temporary_file() {
    let env = environment();
    std::fs::create_dir(env.path("out")).unwrap();
    let (asking, asked) = mpsc::channel();
    let (ending, ended) = mpsc::channel::<()>();
    let daemon = Daemon::start(&env.socket(), &hello(), move |request| {
        if matches!(request, Request::Alerts { follow: true, .. }) {
            asking.send(()).unwrap();
            ended.recv().unwrap();
        }
        rows(&[])
    });
    let args = [
        "alerts",
        "--follow",
        "--format",
        "jsonl",
        "-o",
        "out/alerts",
    ];
    for signal in ENDING {
        let child = interruptible(&env, &args).spawn().unwrap();
        // The command has written the head of the output before it waits for alerts.
        asked.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(names(env.path("out")).len(), 1);
        end(child, signal);
        assert!(names(env.path("out")).is_empty(), "{signal:?}");
        ending.send(()).unwrap();
    }
    daemon.stop();
}

/// A catalogue for a pipe or for tables is first written to a new file, which replaces no other
/// file.
#[test]
fn a_temporary_catalogue_replaces_nothing() {
    let env = environment();
    env.write("docs/a", paragraphs(1, 20));
    let temp = env.path("temp");
    std::fs::create_dir_all(temp.join("resemble")).unwrap();
    std::fs::create_dir_all(env.path("tables/catalogue")).unwrap();
    let write = |args: &[&str]| {
        let mut command = env.command(["catalogue", "write", "docs"]);
        finish(command.args(args).env("TMPDIR", &temp), b"").success()
    };
    assert!(!write(&["-o", "-"]).out.is_empty());
    std::fs::remove_dir(temp.join("resemble")).unwrap();
    std::os::unix::fs::symlink("nowhere", temp.join("resemble")).unwrap();
    assert!(!write(&["-o", "-"]).out.is_empty());
    assert_eq!(names(&temp), ["resemble"]);
    write(&["-o", "tables", "--format", "parquet"]);
    let hidden = |name: &OsString| name.to_string_lossy().starts_with('.');
    assert!(!names(env.path("tables")).iter().any(hidden));
}

/// If Ctrl-C is pressed while progress is drawn, the line is wiped before the process ends.
#[test]
fn an_interrupted_question_leaves_no_progress_behind() {
    let env = environment();
    std::fs::create_dir_all(env.socket().parent().unwrap()).unwrap();
    let listener = UnixListener::bind(env.socket()).unwrap();
    let (mut master, terminal) = terminal(24);
    let child = interruptible(&env, &["sync"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(terminal)
        .spawn()
        .unwrap();
    // A slow daemon accepts the connection, but does not answer the request.
    let (mut daemon, _) = listener.accept().unwrap();
    let hello = serde_json::to_vec(&Hello::new(&Params::default())).unwrap();
    daemon.write_all(&[&hello[..], b"\n"].concat()).unwrap();
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("waiting for the daemon") {
        let mut bytes = [0; 256];
        let count = master.read(&mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..count]);
    }
    end(child, Signal::INT);
    master.read_to_end(&mut shown).unwrap_or_default();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.ends_with("\r\u{1b}[2K"), "{shown:?}");
}

#[test]
fn hostile_names_never_reach_a_terminal_raw() {
    let env = environment();
    env.write("a.txt", paragraphs(1, 20));
    dated(&env, "docs/evil\x1b[2J\nname", &paragraphs(1, 20), LEAP_DAY);
    dated(&env, "docs/plain", &paragraphs(1, 20), LEAP_DAY);
    let (code, text) = on_terminal(&env, &["find", "a.txt", "--in", "docs"], "dumb");
    assert_eq!(code, Some(0));
    assert_eq!(
        text,
        format!(
            "{TITLE}\n100%  identical  11 KiB  2000-02-29  'docs/evil'$'\\033''[2J'$'\\n''name'\n\
             100%  identical  11 KiB  2000-02-29  docs/plain\n"
        )
    );
    // Output into a file has unquoted names even on a terminal, because a file is read by programs.
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

/// Output that is longer than the terminal goes through `$PAGER`. The exit code is that of the
/// answer, not of the pager.
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
    // Eight files make 28 pairs. With the line above them that explains the percentages, the output
    // has 29 lines.
    assert_eq!(ask(&pairs, 31, &pager), (Some(0), 29, 0), "it fits");
    assert_eq!(ask(&pairs, 24, &pager), (Some(0), 0, 29), "it does not");
    assert_eq!(ask(&pairs, 0, &pager), (Some(0), 29, 0), "no size");
    let without = ["pairs", "docs", "--all", "--no-pager"];
    assert_eq!(ask(&without, 24, &pager), (Some(0), 29, 0));
    assert_eq!(ask(&pairs, 24, ""), (Some(0), 29, 0));
    assert_eq!(ask(&pairs, 24, "no-such-pager"), (Some(0), 29, 0));
    assert_eq!(ask(&pairs, 24, "exit 3"), (Some(0), 0, 0), "seen enough");
    // Output into a file and output in a format for programs are not paged.
    assert_eq!(
        ask(&["pairs", "docs", "--all", "-o", "../out"], 24, &pager),
        (Some(0), 0, 0)
    );
    assert_eq!(
        ask(&["pairs", "docs", "--all", "--format", "tsv"], 24, &pager),
        (Some(0), 28, 0)
    );
    // `covered` returns its own exit code, also through a pager.
    env.write("other/1", paragraphs(2, 20));
    let covered = ["covered", "docs", "--by", "other", "--all"];
    assert_eq!(ask(&covered, 5, &pager).0, Some(1));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let env = environment();
    env.write("a.txt", paragraphs(1, 20));
    dated(&env, "docs/b.txt", &paragraphs(1, 20), LEAP_DAY);
    let ask = ["find", "a.txt", "--in", "docs"];
    let found = "\u{1b}[32m100%\u{1b}[0m  \u{1b}[32midentical\u{1b}[0m";
    let file = "11 KiB  \u{1b}[2m2000-02-29\u{1b}[0m";
    let painted = format!("\u{1b}[2m{TITLE}\u{1b}[0m\n{found}  {file}  docs/b.txt\n");
    assert_eq!(on_terminal(&env, &ask, "xterm").1, painted);
    let unpainted = format!("{TITLE}\n100%  identical  11 KiB  2000-02-29  docs/b.txt\n");
    assert_eq!(on_terminal(&env, &ask, "dumb").1, unpainted);
    let plain = "100%  identical  docs/b.txt\n";
    env.run(ask).is(0, plain, "");
    env.run(ask.iter().chain(&["--color", "always"]))
        .is(0, &format!("{found}  docs/b.txt\n"), "");
    let asked_not_to = finish(
        env.command(ask)
            .args(["--color", "auto"])
            .env("NO_COLOR", "1"),
        b"",
    );
    asked_not_to.is(0, plain, "");
}

/// Runs a command whose reader closes the pipe after `first` bytes. If `first` is 0, the pipe is
/// closed before the command starts. Returns the exit code and standard error.
pub(crate) fn cut_off(env: &Environment, args: &[&str], first: usize) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let reader = (first > 0).then_some(reader);
    let child = env
        .command(args)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(mut reader) = reader {
        reader.read_exact(&mut vec![0; first]).unwrap();
    }
    let ended = child.wait_with_output().unwrap();
    (
        ended.status.code(),
        String::from_utf8(ended.stderr).unwrap(),
    )
}

/// If the reader closes the pipe, the exit code is that of the answer, and no error is printed.
#[test]
fn a_reader_that_has_seen_enough_changes_nothing() {
    let env = environment();
    // These files make more rows than a pipe can buffer.
    for i in 0..120 {
        env.write(format!("docs/{i}"), paragraphs(1, 20));
    }
    env.write("docs/a", paragraphs(1, 20));
    env.write("other/c", paragraphs(1, 20));
    env.write("lone/d", paragraphs(2, 20));
    let quiet = |code| (Some(code), String::new());
    for format in ["text", "json", "jsonl", "csv", "tsv"] {
        let args = ["pairs", "docs", "--all", "--format", format];
        assert_eq!(cut_off(&env, &args, 5), quiet(0), "{format}");
    }
    for args in PRINTING {
        let whole = env.run(args);
        let (code, err) = cut_off(&env, args, 0);
        assert_eq!((code, err), (Some(whole.code), whole.err), "{args:?}");
    }
    let covered = ["covered", "docs", "--by", "lone", "--all"];
    assert_eq!(cut_off(&env, &covered, 0), quiet(1));
    assert_eq!(
        cut_off(&env, &["pairs", "docs", "-o", "/dev/stdout"], 0),
        quiet(0)
    );
}

/// One command for each kind of output.
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
        .chain([&["catalogue", "write", "docs", "-o", "-"][..]])
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
    // `-o` with a device writes to the device. It does not replace the device by a new file.
    let ran = env.run(["pairs", "docs", "-o", "/dev/full"]);
    ran.is(
        2,
        "",
        "resemble: cannot write /dev/full: No space left on device\n",
    );
    env.run(["pairs", "docs", "-o", "/dev/null"]).is(0, "", "");
}

/// If a report does not fit on the disk, an earlier file with the name of the report is unchanged.
/// No temporary file stays behind.
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
    asked.push(vec!["catalogue", "write", "docs", "-o", name]);
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

/// If the disk is full, neither the file nor a record about it is left in the trash.
#[test]
fn what_does_not_fit_the_trash_leaves_nothing_there() {
    let env = environment();
    let Some(disk) = tmpfs(env.path("../disk"), "64k") else {
        return;
    };
    let file = disk.path("letter");
    std::fs::write(&file, paragraphs(1, 20)).unwrap();
    fill(&disk.path("filler"));
    let ran = env.run(["trash".as_ref(), file.as_os_str()]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let said = "letter.trashinfo: No space left on device\n";
    assert!(ran.err.ends_with(said) && file.exists(), "{ran:?}");
    let mut folders = vec![disk.0.clone()];
    let mut names = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                names.push(entry.file_name());
            }
        }
    }
    names.sort();
    assert_eq!(names, ["filler", "letter"]);
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

/// The command itself wraps text that is too wide for the terminal. Only a single long name is
/// broken by the terminal. (`why` shows lines of the files unchanged.)
#[test]
fn at_forty_columns_nothing_is_torn() {
    let env = environment();
    for version in 0..4 {
        let text = [paragraphs(1, 30), paragraphs(10 + version, 2)].concat();
        env.write(format!("docs/report-{version}.txt"), text);
    }
    env.write(
        "docs/copy.txt",
        [paragraphs(1, 30), paragraphs(10, 2)].concat(),
    );
    env.write("old/part.txt", paragraphs(1, 20));
    env.write(
        "old/same.txt",
        [paragraphs(1, 30), paragraphs(11, 2)].concat(),
    );
    env.write("old/lone.txt", paragraphs(99, 20));
    let questions: &[&[&str]] = &[
        &["find", "docs/report-0.txt", "--in", ".", "-v"],
        &["find", "docs/report-0.txt", "--in", "old"],
        &["find", "old/lone.txt", "--in", "docs"],
        &["pairs", "."],
        &["pairs", ".", "-v"],
        &["groups", "."],
        &["groups", ".", "--all"],
        &["groups", ".", "-v"],
        &["groups", ".", "--of", "docs/copy.txt", "--family"],
        &["versions", "docs/report-0.txt"],
        &["dirs", "."],
        &["compare", "docs", "old"],
        &["compare", "docs", "old", "--all"],
        &["covered", "docs", "--by", "old"],
        &["covered", "docs", "--by", "old", "--all"],
        &["templates", "list"],
    ];
    for args in questions {
        let mut command = env.command(*args);
        command.env("TERM", "dumb");
        let (_, shown) = shown_on(terminal_of(2000, 40), &mut command);
        for line in shown.lines() {
            let is_one_name = !line.trim().contains("  ") && !line.trim().contains(' ');
            assert!(
                line.chars().count() <= 40 || is_one_name,
                "{args:?}: {line:?}\n{shown}"
            );
        }
    }
}

/// On a terminal `find` shows the sizes of files, and their dates in local time.
#[test]
fn details_of_find_are_dated_by_local_time() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    let copy = env.write("docs/b.txt", paragraphs(1, 20));
    // The time is half an hour before midnight in UTC.
    let time = std::time::UNIX_EPOCH + Duration::from_secs(951_780_600);
    File::options()
        .write(true)
        .open(&copy)
        .unwrap()
        .set_modified(time)
        .unwrap();
    let size = std::fs::metadata(&copy).unwrap().len();
    let ask = ["find", "docs/a.txt", "--in", "docs", "-v"];
    for (zone, day) in [("UTC0", "2000-02-28"), ("XXX-1", "2000-02-29")] {
        let ran = finish(env.command(ask).env("TZ", zone), b"");
        let size = resemble_report::human::human_size(size);
        let start = format!("100%  identical  {size}  {day}  ");
        assert!(ran.text().starts_with(&start), "{zone}: {ran:?}");
        let end = "  docs/b.txt  older by time of change\n";
        assert!(ran.text().ends_with(end), "{}", ran.text());
        // Formats for programs show no dates in local time.
        let tsv = finish(
            env.command(ask).args(["--format", "tsv"]).env("TZ", zone),
            b"",
        );
        assert!(!tsv.text().contains(day), "{tsv:?}");
    }
}
