use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, PATIENCE, Sandbox};
use serde_json::Value;

use crate::schemas::StrictSchema;

/// A hostile file name. No part of it may become an option, a mail header, a command, or a separate
/// line.
const HOSTILE: &[u8] =
    b"-rf\nBcc: all@example.org\r\n\n$(touch pwned)`touch pwned`;touch pwned\x1b[2J\xff.txt";

/// A sandbox whose tree has a single text. It also has a configuration for the daemon.
struct Place {
    sandbox: Sandbox,
    text: Vec<u8>,
}

impl Place {
    fn new(config: &str) -> Self {
        let sandbox = Sandbox::new();
        let text = prose(1, 20_000);
        sandbox.write("original.txt", &text);
        fs::write(sandbox.path("c.toml"), config).expect("a configuration");
        Self { sandbox, text }
    }

    fn daemon(&self) -> Daemon<'_> {
        let config = self.sandbox.path("c.toml");
        let daemon = self
            .sandbox
            .daemon([OsStr::new("--config"), config.as_os_str()]);
        daemon.sync();
        daemon
    }

    /// Makes a file that resembles the text. This causes one alert. Then removes the file.
    fn alert(&self, daemon: &Daemon<'_>, name: impl AsRef<OsStr>) {
        let name = PathBuf::from(name.as_ref());
        self.sandbox.write(name, edited(&self.text, 1, 3));
        daemon.sync();
        // If the file stayed, it would be part of the next alert.
        for entry in fs::read_dir(self.sandbox.tree("")).expect("the tree") {
            let path = entry.expect("an entry").path();
            if path != self.sandbox.tree("original.txt") {
                fs::remove_file(path).expect("a file");
            }
        }
        daemon.sync();
    }

    /// Starts `alerts --follow` with pipes as its output.
    fn follow(&self, more: &[&str]) -> Child {
        let mut follow = self.sandbox.program("resemble");
        follow
            .args(["alerts", "--follow", "--format", "jsonl"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        follow.spawn().expect("it runs")
    }

    /// Writes a script into the sandbox.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.sandbox.path(name);
        fs::write(&path, text).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script");
        path
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.sandbox.path(name)).unwrap_or_default()
    }

    fn rows(&self, name: &str) -> Vec<Value> {
        let text = String::from_utf8(self.read(name)).expect("JSON is UTF-8");
        let whole = text.lines().filter(|line| line.ends_with('}'));
        whole
            .map(|line| serde_json::from_str(line).expect("a row"))
            .collect()
    }

    fn sinks(&self) -> Vec<Value> {
        let status = self.sandbox.resemble(["status", "--format", "json"]).json();
        status["notify"].as_array().cloned().unwrap_or_default()
    }

    fn sink(&self, name: &str) -> Value {
        let sinks = self.sinks().into_iter();
        let mut named = sinks.filter(|sink| sink["name"] == name);
        named.next().unwrap_or_default()
    }
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn numbers(rows: &[Value]) -> Vec<u64> {
    rows.iter().filter_map(|row| row["seq"].as_u64()).collect()
}

#[test]
fn who_follows_hears_each_alert_once_whatever_happens_to_the_daemon() {
    let place = Place::new("");
    let daemon = place.daemon();
    place.alert(&daemon, "before.txt");
    let mut follow = place.follow(&[]);
    let mut lines = BufReader::new(follow.stdout.take().expect("a pipe")).lines();
    let schema = StrictSchema::read("alerts-follow");
    let mut next = || -> Value {
        let line = lines.next().expect("a line").expect("a line");
        let line = serde_json::from_str(&line).expect("JSON");
        schema.accepts_line(&line);
        line
    };
    assert_eq!(next()["command"], "alerts", "the head");
    place.alert(&daemon, "one.txt");
    assert_eq!(next()["seq"], 2, "it begins at now");
    daemon.kill();
    let daemon = place.daemon();
    place.alert(&daemon, "two.txt");
    assert_eq!(next()["seq"], 3);
    assert_eq!(daemon.stop(), 0);
    let daemon = place.daemon();
    place.alert(&daemon, "three.txt");
    assert_eq!(next()["seq"], 4);
    follow.kill().expect("it runs");
    follow.wait().expect("it ends");
    let mut said = String::new();
    let mut err = follow.stderr.take().expect("a pipe");
    err.read_to_string(&mut said).expect("text");
    assert!(said.contains("the daemon is gone"), "{said}");
    // A reader that was restarted continues after the last alert that it handled.
    let mut again = place.follow(&["--since", "2"]);
    let lines = BufReader::new(again.stdout.take().expect("a pipe")).lines();
    let lines = lines.take(3).map(|line| -> Value {
        let line = serde_json::from_str(&line.expect("a line")).expect("JSON");
        schema.accepts_line(&line);
        line
    });
    let lines: Vec<Value> = lines.collect();
    assert_eq!(lines[0]["parameters"]["since"], "2", "one head");
    assert_eq!(numbers(&lines), [3, 4]);
    again.kill().expect("it runs");
    again.wait().expect("it ends");
    // `--since` accepts the number of an alert, an age or a date.
    let since = |when: &str| {
        let args = ["alerts", "--since", when, "--format", "json"];
        let ran = place.sandbox.resemble(args);
        let rows = ran.json()["alerts"].as_array().cloned();
        (ran.code, numbers(&rows.unwrap_or_default()))
    };
    assert_eq!(since("2"), (0, vec![3, 4]));
    assert_eq!(since("1d"), (0, vec![1, 2, 3, 4]));
    assert_eq!(since("2000-01-01"), (0, vec![1, 2, 3, 4]));
    assert_eq!(since("4"), (1, vec![]));
}

#[test]
fn each_sink_goes_on_where_it_stopped() {
    let place = Place::new("");
    let sandbox = &place.sandbox;
    let reader = place.script("reader", "#!/bin/sh\ncat >> \"$1\"\n");
    let sendmail = place.script(
        "sendmail",
        "#!/bin/sh\nfor arg; do printf '<%s>' \"$arg\"; done >> mail-args\n\
         { cat; echo END; } >> mails\n",
    );
    let journal = sandbox.path("journal");
    let socket = UnixDatagram::bind(&journal).expect("a socket");
    socket.set_nonblocking(true).expect("a socket");
    let config = format!(
        "[[notify]]\nsink = \"file\"\npath = \"alerts-out.jsonl\"\n\
         [[notify]]\nsink = \"command\"\ncommand = [{reader:?}, \"read.jsonl\"]\n\
         [[notify]]\nsink = \"command\"\nname = \"words\"\ninput = \"text\"\n\
         command = [{reader:?}, \"read.txt\"]\n\
         [[notify]]\nsink = \"mail\"\nto = \"ann@example.org\"\nsendmail = {sendmail:?}\n\
         every = 0\n\
         [[notify]]\nsink = \"journal\"\npath = {journal:?}\n\
         [[notify]]\nsink = \"file\"\nname = \"only trees\"\npath = \"trees.jsonl\"\n\
         kinds = [\"tree\"]\n"
    );
    fs::write(sandbox.path("c.toml"), config).expect("a configuration");
    let daemon = place.daemon();
    place.alert(&daemon, "first.txt");
    daemon.kill();
    let daemon = place.daemon();
    place.alert(&daemon, OsStr::from_bytes(HOSTILE));
    assert_eq!(daemon.stop(), 0);
    let daemon = place.daemon();
    place.alert(&daemon, "third.txt");
    assert_eq!(place.sinks().len(), 6, "known before anything is delivered");
    wait_until("all sinks", || {
        place.sinks().iter().all(|sink| sink["after"] == 3)
    });
    let hostile = sandbox.tree(OsStr::from_bytes(HOSTILE));
    for name in ["alerts-out.jsonl", "read.jsonl"] {
        let rows = place.rows(name);
        let mut seen = numbers(&rows);
        seen.dedup();
        assert_eq!(seen, [1, 2, 3], "{name}: at least once, in order");
        let row = rows.iter().find(|row| row["seq"] == 2).expect(name);
        assert!(row["a_b64"].is_string(), "{row}");
    }
    let text = String::from_utf8(place.read("read.txt")).expect("no raw byte of the name");
    assert!(text.contains("first.txt is nearly "), "{text}");
    assert!(
        text.lines().count() >= 3 && !text.contains('\x1b'),
        "{text:?}"
    );
    let all_lines_are_alerts = text.lines().all(|line| line.contains(" is nearly "));
    assert!(all_lines_are_alerts, "{text}");
    let mails = String::from_utf8(place.read("mails")).expect("ASCII");
    assert!(mails.is_ascii() && !mails.contains("\nBcc"), "{mails}");
    assert!(
        mails.matches("To: <ann@example.org>\n").count() >= 3,
        "{mails}"
    );
    let args = String::from_utf8(place.read("mail-args")).expect("ASCII");
    let calls = args.matches("<-i><--><ann@example.org>").count();
    assert_eq!(args, "<-i><--><ann@example.org>".repeat(calls));
    assert!(!sandbox.path("pwned").exists() && !sandbox.tree("pwned").exists());
    let mut entries = Vec::new();
    let mut buffer = vec![0; 65_536];
    while let Ok(length) = socket.recv(&mut buffer) {
        entries.push(buffer[..length].to_vec());
    }
    assert!(entries.len() >= 3);
    let name = hostile.as_os_str().as_bytes();
    let field = [&(name.len() as u64).to_le_bytes()[..], name].concat();
    let has_field = |entry: &Vec<u8>| {
        let mut windows = entry.windows(field.len());
        windows.any(|window| window == field)
    };
    assert!(entries.iter().any(has_field), "RESEMBLE_FILE is the name");
    assert!(place.read("trees.jsonl").is_empty());
    assert_eq!(place.sink("only trees")["waiting"], 0);
}

#[test]
fn a_sink_that_fails_or_hangs_holds_up_no_other_and_loses_nothing() {
    let place = Place::new("");
    let fails = place.script(
        "fails",
        "#!/bin/sh\ntest -e mended || exit 75\ncat >> failed.jsonl\n",
    );
    let hangs = place.script("hangs", "#!/bin/sh\nsleep 1000\n");
    let config = format!(
        "[[notify]]\nsink = \"command\"\nname = \"fails\"\ncommand = [{fails:?}]\n\
         [[notify]]\nsink = \"command\"\nname = \"hangs\"\ncommand = [{hangs:?}]\n\
         timeout = \"500ms\"\n\
         [[notify]]\nsink = \"command\"\nname = \"missing\"\ncommand = [\"/no/such/program\"]\n\
         [[notify]]\nsink = \"file\"\npath = \"out.jsonl\"\n"
    );
    fs::write(place.sandbox.path("c.toml"), config).expect("a configuration");
    let daemon = place.daemon();
    place.alert(&daemon, "one.txt");
    place.alert(&daemon, "two.txt");
    wait_until("the file", || place.sink("file")["after"] == 2);
    wait_until("the failures", || {
        let failing = |name: &str| place.sink(name)["failing"].is_string();
        failing("fails") && failing("hangs") && failing("missing")
    });
    let failing = |name: &str| place.sink(name)["failing"].to_string();
    assert!(failing("fails").contains("exit code 75"));
    assert!(failing("hangs").contains("more than 500ms"));
    assert!(failing("missing").contains("/no/such/program"));
    let screen = place.sandbox.resemble(["status"]);
    assert_eq!(screen.code, 0, "the answers are right all the same");
    assert!(
        screen.text().contains("alerts to:  fails  failing: "),
        "{}",
        screen.text()
    );
    daemon.kill();
    fs::write(place.sandbox.path("mended"), "").expect("a file");
    let daemon = place.daemon();
    wait_until("what failed", || place.sink("fails")["after"] == 2);
    assert_eq!(numbers(&place.rows("failed.jsonl")), [1, 2]);
    drop(daemon);
}

/// If a user has acknowledged a content, it raises no alert until it changes. This is so even after
/// a rename or a restart. The change itself raises no alert, because the files were similar before.
#[test]
fn what_was_seen_is_no_news_until_it_changes() {
    let place = Place::new("");
    let sandbox = &place.sandbox;
    let daemon = place.daemon();
    let tree = |name: &str| sandbox.tree(name).into_os_string();
    let count = || {
        let rows = sandbox.resemble(["alerts", "--format", "json"]).json();
        rows["alerts"].as_array().map_or(0, Vec::len)
    };
    let ack = |args: &[&OsStr]| {
        let verb = ["alerts", "ack"].map(OsStr::new);
        sandbox.resemble(verb.iter().chain(args))
    };
    sandbox.write("near.txt", edited(&place.text, 1, 3));
    daemon.sync();
    assert_eq!(count(), 1);
    let (near, original) = (tree("near.txt"), tree("original.txt"));
    let marked = ack(&[&near, &original]).success();
    assert_eq!(marked.text().lines().count(), 1, "{}", marked.text());
    daemon.kill();
    let daemon = place.daemon();
    // The same content is written under another name. If the content had not been acknowledged, it
    // would raise an alert.
    fs::remove_file(sandbox.tree("near.txt")).expect("a file");
    sandbox.write("copy/of-near.txt", edited(&place.text, 1, 3));
    daemon.sync();
    assert_eq!(count(), 1, "seen");
    // The files were similar before the edit, so the edit raises no alert.
    let longer = [edited(&place.text, 1, 3), prose(9, 1000)].concat();
    sandbox.write("copy/of-near.txt", longer.clone());
    daemon.sync();
    assert_eq!(count(), 1, "the files were alike before");
    // The edited content was not acknowledged, so a copy of it raises an alert.
    sandbox.write("copy/again.txt", longer);
    daemon.sync();
    assert_eq!(count(), 2, "it is another content");
    fs::remove_file(sandbox.tree("copy/again.txt")).expect("a file");
    let list = ack(&[
        OsStr::new("--list"),
        OsStr::new("--format"),
        OsStr::new("json"),
    ])
    .json();
    assert_eq!(
        list["acks"][0]["paths"].as_array().map(Vec::len),
        Some(2),
        "{list}"
    );
    let undone = ack(&[OsStr::new("--undo"), &original]).success();
    assert!(undone.text().contains("original.txt"), "{}", undone.text());
    assert_eq!(ack(&[OsStr::new("--undo"), &original]).code, 1);
    assert_eq!(ack(&[OsStr::new("--list")]).code, 1);
    assert_eq!(ack(&[OsStr::new("/etc/passwd")]).code, 2, "not watched");
    // With `--group`, the file and all files that it resembles are acknowledged.
    sandbox.write("third.txt", edited(&place.text, 2, 3));
    daemon.sync();
    let before = count();
    let group = ack(&[OsStr::new("--group"), &original]).success();
    assert!(
        group.text().contains("a group of 3 files"),
        "{}",
        group.text()
    );
    fs::rename(sandbox.tree("third.txt"), sandbox.tree("fourth.txt")).expect("a rename");
    sandbox.write("fifth.txt", edited(&place.text, 2, 3));
    daemon.sync();
    assert_eq!(count(), before, "a copy of a member of the group");
}

/// There are 10,000 alerts for a sink that was not available, and for a sink with a limited rate.
/// They are delivered as summaries. The rest of the alerts for a limited sink waits for the end of
/// a minute. That is tested only with a simulated clock.
#[test]
fn a_flood_is_told_in_part() {
    let place = Place::new("");
    let reader = place.script("reader", "#!/bin/sh\ncat >> read.jsonl\n");
    let config = format!(
        "[[notify]]\nsink = \"command\"\nname = \"slow\"\ncommand = [{reader:?}]\nrate = 5\n\
         [[notify]]\nsink = \"file\"\npath = \"out.jsonl\"\n"
    );
    fs::write(place.sandbox.path("c.toml"), config).expect("a configuration");
    let state = place.sandbox.path("state/resemble");
    fs::create_dir(&state).expect("a folder");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).expect("a folder");
    let row = |seq: u64| {
        format!(
            "{{\"seq\":{seq},\"time\":1788266096,\"kind\":\"file\",\"a\":\"/r/new/{seq}\",\
             \"b\":\"/r/b\",\"relation\":\"near\",\"a_in_b\":0.92,\"b_in_a\":0.9,\
             \"shared_bytes\":5000,\"files\":1}}\n"
        )
    };
    let rows: String = (1..=10_000).map(row).collect();
    fs::write(state.join("alerts.jsonl"), rows).expect("a log");
    let places = "{\"slow\":{\"after\":0},\"file\":{\"after\":0}}";
    fs::write(state.join("sinks.json"), places).expect("places");
    let daemon = place.daemon();
    wait_until("the file", || place.sink("file")["after"] == 10_000);
    let rows = place.rows("out.jsonl");
    assert_eq!(
        (&rows[0]["kind"], &rows[0]["files"]),
        (&"summary".into(), &6000.into())
    );
    assert_eq!(numbers(&rows), (6000..=10_000).collect::<Vec<_>>());
    wait_until("the first five", || place.rows("read.jsonl").len() == 5);
    drop(daemon);
}
