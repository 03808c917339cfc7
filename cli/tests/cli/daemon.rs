//! Tests the command with simulated daemons that answer well or badly.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::JoinHandle;

use resemble_core::Params;
use resemble_core::params::ChunkParams;
use resemble_proto::message::{Hello, Request};

use crate::environment;
use crate::streams::cut_off;
use resemble_testutil::finish;
use resemble_testutil::prose::paragraphs;

/// A daemon that answers each request with the lines of `answer`, one request per connection.
/// [`Daemon::stop`] ends it and returns the requests.
pub(crate) struct Daemon {
    thread: JoinHandle<Vec<Request>>,
    socket: std::path::PathBuf,
}

impl Daemon {
    pub(crate) fn start(
        socket: &Path,
        hello: &Hello,
        mut answer: impl FnMut(&Request) -> String + Send + 'static,
    ) -> Self {
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(socket).unwrap();
        let hello = serde_json::to_string(hello).unwrap() + "\n";
        let thread = std::thread::spawn(move || {
            let mut asked = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(hello.as_bytes()).unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                if line == "stop\n" {
                    return asked;
                }
                if !line.is_empty() {
                    let request = serde_json::from_str(&line).unwrap();
                    // The command may disconnect before it has read everything.
                    stream
                        .write_all(answer(&request).as_bytes())
                        .unwrap_or_default();
                    asked.push(request);
                }
            }
        });
        Self {
            thread,
            socket: socket.to_owned(),
        }
    }

    pub(crate) fn stop(self) -> Vec<Request> {
        let mut stream = std::os::unix::net::UnixStream::connect(&self.socket).unwrap();
        stream.write_all(b"stop\n").unwrap();
        self.thread.join().unwrap()
    }
}

pub(crate) fn hello() -> Hello {
    Hello::new(&Params::default())
}

const HEADER: &str = r#"{"header":{"fresh":true,"pending":0,"total":1,"shown":1}}"#;

pub(crate) fn rows(rows: &[&str]) -> String {
    let mut lines = vec![HEADER.to_owned()];
    lines.extend(rows.iter().map(|row| format!("{{\"row\":{row}}}")));
    lines.push(format!(
        "{{\"end\":{{\"rows\":{},\"errors\":0}}}}\n",
        rows.len()
    ));
    lines.join("\n")
}

fn failed(kind: &str, message: &str) -> String {
    format!("{{\"failed\":{{\"kind\":\"{kind}\",\"message\":\"{message}\"}}}}\n")
}

fn row(path: &Path) -> String {
    format!(
        concat!(
            r#"{{"file":"/real","path":"{}","relation":"near","layer":"bytes","#,
            r#""a_in_b":0.970000,"b_in_a":0.880000,"resemblance":0.85,"shared_bytes":4096}}"#
        ),
        path.display()
    )
}

fn covers(yes: bool) -> String {
    rows(&[&format!(r#"{{"path":"/","covered":{yes}}}"#)])
}

#[test]
fn find_asks_the_daemon_and_prints_names_as_given() {
    let env = environment();
    let file = env.write("a.txt", "x");
    let found = row(&env.path("docs/b.txt"));
    std::fs::create_dir(env.path("docs")).unwrap();
    let daemon = Daemon::start(&env.socket(), &hello(), move |request| match request {
        Request::Covers { .. } => covers(true),
        _ => rows(&[&found]),
    });
    env.run(["find", "a.txt", "--in", "docs"])
        .is(0, "97%  near  docs/b.txt\n", "");
    let whole = env.run(["find", "a.txt"]);
    let absolute = env.path("docs/b.txt");
    whole.is(0, &format!("97%  near  {}\n", absolute.display()), "");
    env.run(["find", "a.txt", "--in", "docs", "--format", "tsv"])
        .is(
            0,
            "a.txt\tdocs/b.txt\tnear\twords\tbytes\tfalse\t0.970000\t0.880000\t0.850000\t4096\n",
            "",
        );
    let asked = daemon.stop();
    let text = serde_json::to_string(&asked[1]).unwrap();
    let expected = format!(
        concat!(
            r#"{{"request":"find","subject":{{"file":"{}"}},"within":["{}"],"min_size":0,"#,
            r#""min":null,"min_shared":null,"all":false,"top":null,"exact":false,"#,
            r#""unit":"words","text":true}}"#
        ),
        file.display(),
        env.path("docs").display()
    );
    assert_eq!(text, expected);
}

#[test]
fn a_file_that_the_daemon_does_not_know_is_digested_for_it() {
    let env = environment();
    env.write("a.txt", paragraphs(1, 20));
    let found = row(Path::new("/srv/b.txt"));
    let daemon = Daemon::start(&env.socket(), &hello(), move |request| {
        let text = serde_json::to_string(request).unwrap();
        if text.contains("\"subject\":{\"file\"") {
            failed("not-watched", "no root holds it")
        } else {
            rows(&[&found])
        }
    });
    env.run(["find", "a.txt"])
        .is(0, "97%  near  /srv/b.txt\n", "");
    env.feed(["find", "-"], paragraphs(1, 20).as_bytes())
        .is(0, "97%  near  /srv/b.txt\n", "");
    let asked: Vec<String> = daemon
        .stop()
        .iter()
        .map(|request| serde_json::to_string(request).unwrap())
        .collect();
    let digest = |text: &str| {
        let from = text.find("\"digest\":").unwrap();
        text[from..text.find("\"name\"").unwrap()].to_owned()
    };
    assert_eq!(
        digest(&asked[1]),
        digest(&asked[2]),
        "of the file and of the same on stdin"
    );
    assert!(asked[1].contains("\"inode\":{\"dev\":"), "{}", asked[1]);
    assert!(
        asked[2].contains("\"name\":\"-\",\"inode\":null"),
        "{}",
        asked[2]
    );
}

#[test]
fn what_it_does_not_watch_it_is_not_asked_about() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    env.write("docs/b.txt", paragraphs(1, 20));
    let daemon = Daemon::start(&env.socket(), &hello(), |_| covers(false));
    env.run(["find", "docs/a.txt", "--in", "docs"])
        .is(0, "100%  identical  docs/b.txt\n", "");
    assert_eq!(daemon.stop().len(), 1, "only whether it watches the paths");
}

#[test]
fn another_chunk_size_is_another_index() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    env.write("docs/b.txt", paragraphs(1, 20));
    let small = Params {
        chunk: ChunkParams::scaled(256).unwrap(),
        ..Params::default()
    };
    let daemon = Daemon::start(
        &env.socket(),
        &Hello::new(&small),
        |request| match request {
            Request::Covers { .. } => covers(true),
            _ => rows(&[]),
        },
    );
    let mine = env.run(["pairs", "docs", "--chunk-size", "512"]);
    mine.is(0, "100%  docs/a.txt  docs/b.txt\n", "");
    // The daemon's index has the chunk size 256, so the daemon is asked. Its answer has no rows.
    let theirs = env.run(["pairs", "docs", "--chunk-size", "256"]);
    theirs.is(0, "", "");
    assert_eq!(daemon.stop().len(), 2);
}

/// If a daemon's socket is named by the option, the daemon must answer. A variable, or a state
/// folder, only says which daemon is asked. If that daemon does not run, the command answers
/// itself.
#[test]
fn only_the_socket_of_the_option_must_answer() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    env.write("docs/b.txt", paragraphs(1, 20));
    let dead = env.path("dead");
    drop(UnixListener::bind(&dead).unwrap());
    let dead = dead.to_str().unwrap();
    let found = "100%  docs/a.txt  docs/b.txt\n";
    let ask = ["pairs", "docs"];
    env.run(ask).is(0, found, "");
    let by_variable =
        |name: &str, value: &str, args: &[&str]| finish(env.command(args).env(name, value), b"");
    env.run(["pairs", "docs", "--state", "state"])
        .is(0, found, "");
    by_variable("RESEMBLE_SOCKET", dead, &ask).is(0, found, "");
    by_variable("RESEMBLE_STATE", "state", &ask).is(0, found, "");
    let here = by_variable("RESEMBLE_SOCKET", dead, &["find", "docs/a.txt"]);
    assert_eq!(here.text(), "100%  identical  ./docs/b.txt\n");
    assert!(here.err.contains("below the current directory"), "{here:?}");
    // The option needs a daemon, and so does a verb about the daemon.
    let refused = [
        env.run(["pairs", "docs", "--socket", dead]),
        env.run(["find", "docs/a.txt", "--socket", dead]),
        by_variable("RESEMBLE_SOCKET", dead, &["status"]),
    ];
    for ran in refused {
        assert_eq!((ran.code, ran.text()), (2, String::new()), "{}", ran.err);
        assert!(ran.err.contains("no daemon answers at "), "{}", ran.err);
        assert!(
            ran.err.contains("start one with `resembled DIR`"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("--local"), "{}", ran.err);
    }
    by_variable("RESEMBLE_SOCKET", dead, &["pairs", "docs", "--local"]).is(0, found, "");
}

/// An option or variable that names a state folder means the daemon of that folder. A daemon whose
/// state is in another folder is not asked.
#[test]
fn the_daemon_of_another_state_folder_is_not_asked() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    env.write("docs/b.txt", paragraphs(1, 20));
    for folder in ["mine", "other"] {
        std::fs::create_dir(env.path(folder)).unwrap();
    }
    std::os::unix::fs::symlink("mine", env.path("link")).unwrap();
    let hello = Hello {
        state: Some(env.path("mine").as_path().into()),
        ..hello()
    };
    let daemon = Daemon::start(&env.socket(), &hello, |request| match request {
        Request::Covers { .. } => covers(true),
        _ => rows(&[]),
    });
    for state in ["mine", "link", "./mine/"] {
        let asked = env.run(["pairs", "docs", "--state", state]);
        assert!(asked.code < 2, "{state}: {}", asked.err);
    }
    let by_variable = finish(
        env.command(["pairs", "docs", "-v"])
            .env("RESEMBLE_STATE", "other"),
        b"",
    );
    for ran in [
        env.run(["pairs", "docs", "-v", "--state", "other"]),
        by_variable,
    ] {
        assert!(
            ran.code == 0 && ran.text().contains("docs/b.txt"),
            "{ran:?}"
        );
        assert!(ran.err.contains("keeps its state in "), "{}", ran.err);
        assert!(ran.err.contains("not in other"), "{}", ran.err);
    }
    // `templates list` needs no daemon. It reads the templates from the named state folder.
    let listed = env.run(["templates", "list", "--state", "other"]);
    assert!(listed.code < 2, "{}", listed.err);
    daemon.stop();
}

#[test]
fn another_protocol_counts_as_none_and_is_said_with_v() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    env.write("docs/b.txt", paragraphs(1, 20));
    let stranger = Hello {
        resemble: 99,
        ..hello()
    };
    let daemon = Daemon::start(&env.socket(), &stranger, |_| String::new());
    let found = env.run(["-v", "pairs", "docs"]);
    assert_eq!(found.code, 0);
    assert!(found.err.contains("speaks protocol 99"), "{}", found.err);
    let status = env.run(["status"]);
    assert_eq!(status.code, 2);
    assert!(
        status.err.contains("use the two programs of one version"),
        "{}",
        status.err
    );
    daemon.stop();
}

/// If the daemon is busy, the command reports that and does nothing else. It neither calls the
/// daemon absent nor reads the files itself.
#[test]
fn a_busy_daemon_is_told_in_one_sentence() {
    let env = environment();
    env.write("a.txt", "x");
    let listener = UnixListener::bind({
        std::fs::create_dir_all(env.socket().parent().unwrap()).unwrap();
        env.socket()
    });
    let listener = listener.unwrap();
    let thread = std::thread::spawn(move || {
        // The three commands below make four connections: the last command first checks whether
        // there is a daemon.
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .write_all(failed("busy", "the daemon is busy").as_bytes())
                .unwrap();
        }
    });
    for command in [
        &["status"][..],
        &["find", "a.txt", "--in", "."],
        &["find", "a.txt"],
    ] {
        env.run(command).is(2, "", "resemble: the daemon is busy\n");
    }
    thread.join().unwrap();
}

/// Without a daemon `status` still prints metrics, so that the textfile collector records that the
/// daemon is down.
#[test]
fn without_a_daemon_there_is_a_metric_and_a_doctor() {
    let env = environment();
    let metrics = env.run(["status", "--format", "openmetrics"]);
    assert_eq!(metrics.code, 2);
    assert!(
        metrics.text().ends_with("\nresemble_up 0\n# EOF\n"),
        "{}",
        metrics.text()
    );
    let doctor = env.run(["doctor"]);
    assert_eq!(doctor.code, 1, "{}", doctor.text());
    assert!(
        doctor
            .text()
            .starts_with("wrong:  daemon  no daemon answers"),
        "{}",
        doctor.text()
    );
    let all = env.run(["doctor", "-v"]);
    assert!(
        all.text().contains("sandbox  documents are read behind"),
        "{}",
        all.text()
    );
    let json = env.run(["doctor", "--format", "json"]).json();
    assert_eq!(
        (&json["command"], &json["schema"]),
        (&"doctor".into(), &1.into())
    );
    assert_eq!(json["checks"][0]["state"], "wrong");
}

#[test]
fn status_sync_and_alerts() {
    let env = environment();
    let status = |state: &str| {
        format!(
            concat!(
                r#"{{"roots":[{{"path":"/srv","files":2,"bytes":10,"state":"{}","pending":0,"#,
                r#""skipped":0,"unreadable":0}}],"index":{{"bytes":0,"contents":2,"chunks":2}},"#,
                r#""clock":1,"fresh":true,"degraded":[]}}"#
            ),
            state
        )
    };
    let alert = concat!(
        r#"{"seq":1,"time":0,"kind":"file","a":"/a","b":"/b","relation":"near","#,
        r#""a_in_b":0.9,"b_in_a":0.9,"shared_bytes":5000,"files":1}"#
    );
    let mut states = ["live", "scanning", "degraded", "degraded", "live"].into_iter();
    let daemon = Daemon::start(&env.socket(), &hello(), move |request| match request {
        Request::Status => rows(&[&status(states.next().unwrap())]),
        Request::Sync {
            timeout_ms: Some(_),
        } => failed("timeout", "not yet"),
        // `--follow` reconnects after most failures of a daemon. After an `internal` failure it
        // ends.
        Request::Alerts { follow: true, .. } => format!(
            "{HEADER}\n{{\"row\":{alert}}}\n{}",
            failed("internal", "no more of them")
        ),
        Request::Sync { timeout_ms: None } | Request::Alerts { follow: false, .. } => rows(&[]),
        _ => failed("refused", "a root inside a root"),
    });
    env.run(["status"]).is(
        0,
        "/srv  live  2 files  10 B\nindex: 2 contents, 2 chunks, 0 B\n",
        "",
    );
    assert_eq!(env.run(["status"]).code, 1);
    let json = env.run(["status", "--format", "json"]);
    assert_eq!(json.code, 1);
    assert_eq!(json.json()["roots"][0]["state"], "degraded");
    let metrics = env.run(["status", "--format", "openmetrics"]);
    assert_eq!(metrics.code, 1);
    assert!(
        metrics
            .text()
            .contains("\nresemble_root_state{root=\"/srv\",state=\"degraded\"} 1\n")
    );
    assert!(metrics.text().contains("\nresemble_up 1\n"));
    assert!(metrics.text().ends_with("\n# EOF\n"));
    let doctor = env.run(["doctor", "--format", "json"]).json();
    let of_daemon = doctor["checks"].as_array().unwrap().iter();
    let versions: Vec<_> = of_daemon
        .filter(|check| check["check"] == "version")
        .collect();
    // The simulated daemon reports no version, so `doctor` calls the version wrong.
    assert_eq!(versions[0]["state"], "wrong");
    env.run(["sync"]).is(0, "", "");
    env.run(["sync", "--timeout", "1s"]).is(1, "", "");
    env.run(["alerts"]).is(
        1,
        "",
        "resemble: no alerts so far; `resemble alerts --follow` waits for the next one\n",
    );
    env.run(["alerts", "--follow"]).is(
        2,
        "1970-01-01 00:00:00  90%  near  /a  /b\n",
        "resemble: no more of them\n",
    );
    // `--follow` waits for more alerts without end, but it ends when its reader closes the pipe.
    let ended = cut_off(&env, &["alerts", "--follow"], 0);
    assert_eq!(ended, (Some(0), String::new()));
    env.run(["watch", "add", "."])
        .is(2, "", "resemble: a root inside a root\n");
    let asked = daemon.stop();
    assert_eq!(
        asked[6],
        Request::Sync {
            timeout_ms: Some(1000)
        }
    );
}

#[test]
fn orders_carry_absolute_paths() {
    let env = environment();
    std::fs::create_dir(env.path("docs")).unwrap();
    std::os::unix::fs::symlink("docs", env.path("link")).unwrap();
    let root = r#"{"path":"/srv","origin":"kept"}"#;
    let daemon = Daemon::start(&env.socket(), &hello(), move |_| rows(&[root]));
    env.run(["watch", "add", "link", "--ignore"]).is(0, "", "");
    env.run(["watch", "remove", "gone"]).is(0, "", "");
    env.run(["watch", "list"]).is(0, "/srv\n", "");
    env.run(["view", "on", "new/M", "--view", "files"])
        .is(0, "", "");
    env.run(["view", "off"]).is(0, "", "");
    let asked: Vec<String> = daemon
        .stop()
        .iter()
        .map(|request| serde_json::to_string(request).unwrap())
        .collect();
    let at = |name| env.path(name).display().to_string();
    assert_eq!(
        asked,
        [
            format!(
                concat!(
                    r#"{{"request":"watch-add","path":"{}","ignore":true,"#,
                    r#""one_file_system":false,"text":true}}"#
                ),
                at("docs")
            ),
            format!(r#"{{"request":"watch-remove","path":"{}"}}"#, at("gone")),
            r#"{"request":"watch-list"}"#.to_owned(),
            format!(
                r#"{{"request":"mount","path":"{}","view":"files"}}"#,
                at("new/M")
            ),
            r#"{"request":"unmount","path":null}"#.to_owned(),
        ]
    );
}

/// Without `--in`, `lost` and `history` search all roots of the daemon. With `--local` they do not
/// ask the daemon for its roots.
#[test]
fn with_local_no_daemon_is_asked_for_its_roots() {
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    let root = format!(
        r#"{{"path":"{}","origin":"kept"}}"#,
        env.path("docs").display()
    );
    let daemon = Daemon::start(&env.socket(), &hello(), move |_| rows(&[&root]));
    for verb in ["lost", "history"] {
        let ran = env.run(["--local", verb, "docs/gone.txt"]);
        assert_eq!((ran.code, ran.text()), (2, String::new()), "{ran:?}");
    }
    let asked = daemon.stop();
    assert!(asked.is_empty(), "{asked:?}");
}

/// If nothing is found, the command sends no second request: the answer already has the numbers
/// that its message shows. A request for the status would make the daemon read all rows of the
/// index.
#[test]
fn nothing_found_is_one_question() {
    let env = environment();
    env.write("a.txt", "x");
    let nothing = concat!(
        r#"{"header":{"fresh":true,"pending":0,"total":0,"shown":0,"looked":{"files":1234,"#,
        r#""bytes":5000000,"unreadable":2,"skipped":0,"small":0,"least_run":5600}}}"#,
        "\n",
        r#"{"end":{"rows":0,"errors":0}}"#,
        "\n"
    );
    let daemon = Daemon::start(&env.socket(), &hello(), move |request| match request {
        Request::Find(_) => nothing.to_owned(),
        _ => covers(true),
    });
    let found = env.run(["find", "a.txt"]);
    assert_eq!(found.code, 1);
    let said = "nothing found: compared 1,234 files of 4.8 MiB; 2 could not be read";
    assert!(found.err.contains(said), "{}", found.err);
    let json = env.run(["find", "a.txt", "--format", "json"]);
    assert!(!json.text().contains("looked"), "{json:?}");
    let asked = daemon.stop();
    assert_eq!(asked.len(), 2, "{asked:?}");
}

#[test]
fn a_daemon_that_dies_in_the_middle_is_trouble() {
    let env = environment();
    env.write("a.txt", "x");
    let found = row(Path::new("/srv/b.txt"));
    let daemon = Daemon::start(&env.socket(), &hello(), move |_| {
        format!("{HEADER}\n{{\"row\":{found}}}\n")
    });
    env.run(["find", "a.txt"]).is(
        2,
        "",
        "resemble: the daemon went away in the middle of its answer\n",
    );
    daemon.stop();
}

#[test]
fn a_scan_under_way_and_a_cut_are_said_on_standard_error() {
    let env = environment();
    env.write("a.txt", "x");
    let found = row(Path::new("/srv/b.txt"));
    let daemon = Daemon::start(&env.socket(), &hello(), move |_| {
        rows(&[&found]).replace(
            HEADER,
            r#"{"header":{"fresh":false,"pending":7,"total":9,"shown":1}}"#,
        )
    });
    let found = env.run(["find", "a.txt", "--top", "1"]);
    found.is(
        0,
        "97%  near  /srv/b.txt\n",
        "resemble: 1 of 9 rows shown (--top 1)\n\
         resemble: the daemon has not seen everything yet (7 files to be read); `resemble sync` \
         waits for it\n",
    );
    env.run(["-q", "find", "a.txt", "--top", "1"])
        .is(0, "97%  near  /srv/b.txt\n", "");
    let json = env
        .run(["find", "a.txt", "--top", "1", "--format", "json"])
        .json();
    assert_eq!(json["total"], 9);
    assert_eq!(json["shown"], 1);
    assert_eq!(json["fresh"], false);
    assert_eq!(json["pending"], 7);
    daemon.stop();
}
