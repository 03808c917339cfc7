//! Tests the client against correct and faulty daemons.

use super::*;
use crate::message::{IndexStatus, ProcessStatus, SoftErrorKind, WatchStatus};
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

/// Starts a daemon that plays one script per connection. For each `<` in the script, it reads a
/// line from the client. Otherwise it sends the line of the script. The thread returns the lines
/// that were read.
fn daemon(scripts: Vec<Vec<String>>) -> (tempfile::TempDir, PathBuf, JoinHandle<Vec<String>>) {
    let temp = tempfile::tempdir().unwrap();
    let socket = temp.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let thread = std::thread::spawn(move || {
        let mut heard = Vec::new();
        for script in scripts {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            for line in script {
                if line == "<" {
                    let mut text = String::new();
                    lines.read_line(&mut text).unwrap();
                    heard.push(text);
                } else {
                    (&stream).write_all(line.as_bytes()).unwrap();
                }
            }
        }
        heard
    });
    (temp, socket, thread)
}

fn hello() -> String {
    line(&Hello::new(&Params::default()))
}

fn line<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap() + "\n"
}

fn script(rest: &[&str]) -> Vec<String> {
    let mut script = vec![hello(), "<".to_owned()];
    script.extend(rest.iter().map(|line| format!("{line}\n")));
    script
}

const HEADER: &str = r#"{"header":{"fresh":true,"pending":0,"total":1,"shown":1}}"#;

fn quick() -> Timeouts {
    Timeouts {
        connect: Duration::from_millis(300),
        answer: Duration::from_millis(300),
    }
}

#[test]
fn typed_questions_and_answers() {
    let status = StatusAnswer {
        lag_seconds: 0,
        process: ProcessStatus::default(),
        notify: Vec::new(),
        unopened: Vec::new(),
        roots: Vec::new(),
        index: IndexStatus::default(),
        clock: 3,
        fresh: true,
        degraded: Vec::new(),
        mounts: Vec::new(),
        watch: WatchStatus::default(),
        pid: 1,
        questions: 0,
        assumed: 0,
        waits: Vec::new(),
    };
    let row = line(&Reply::Row(&status));
    let (_temp, socket, thread) = daemon(vec![
        script(&[HEADER, row.trim(), r#"{"end":{"rows":1,"errors":0}}"#]),
        script(&[
            HEADER,
            r#"{"row":{"path":"/a","covered":true}}"#,
            r#"{"row":{"path":"/b","covered":false}}"#,
            r#"{"end":{"rows":2,"errors":0}}"#,
        ]),
        script(&[
            HEADER,
            r#"{"row":{"text":"x\n"}}"#,
            r#"{"error":{"path":"/x","kind":"unreadable","message":"m"}}"#,
            r#"{"end":{"rows":1,"errors":1}}"#,
        ]),
        script(&[HEADER, r#"{"end":{"rows":0,"errors":0}}"#]),
    ]);
    let client = Client::connect(&socket, Timeouts::default()).unwrap();
    assert_eq!(client.params(), Ok(Params::default()));
    assert_eq!(client.status().unwrap(), status);
    assert!(
        !client
            .covers_all(vec!["/a".into(), "/b".into()], false)
            .unwrap()
    );
    let dump = client.dump(Vec::new()).unwrap().collect_answer().unwrap();
    assert_eq!(dump.rows, [DumpRow { text: "x\n".into() }]);
    assert_eq!(dump.errors[0].kind, SoftErrorKind::Unreadable);
    client
        .sync(Some(Duration::from_secs(3)), &mut |_| ())
        .unwrap();
    assert_eq!(
        thread.join().unwrap(),
        [
            "{\"request\":\"status\"}\n",
            "{\"request\":\"covers\",\"paths\":[\"/a\",\"/b\"]}\n",
            "{\"request\":\"dump\",\"roots\":[]}\n",
            "{\"request\":\"sync\",\"timeout_ms\":3000,\"progress\":true}\n",
        ]
    );
}

#[test]
fn who_asks_hears_how_far_the_work_is() {
    let (_temp, socket, thread) = daemon(vec![
        script(&[
            r#"{"progress":{"step":1,"doing":"comparing","done":3,"all":8,"unheard-of":1}}"#,
            r#"{"progress":{"step":2,"doing":"reading","done":1,"bytes":5}}"#,
            HEADER,
            r#"{"end":{"rows":0,"errors":0}}"#,
        ]),
        // Progress must not follow the header. If it does, the client reports that the answer is
        // cut off.
        script(&[
            HEADER,
            r#"{"progress":{"step":1,"doing":"comparing","done":3,"all":8}}"#,
        ]),
    ]);
    let client = Client::connect(&socket, quick()).unwrap();
    let mut heard = Vec::new();
    client
        .sync(None, &mut |progress| heard.push(progress))
        .unwrap();
    let step = |step, doing: &str, done| StepProgress {
        step,
        doing: doing.to_owned(),
        done,
        ..StepProgress::default()
    };
    let expected = [
        StepProgress {
            all: Some(8),
            ..step(1, "comparing", 3)
        },
        StepProgress {
            bytes: Some(5),
            ..step(2, "reading", 1)
        },
    ];
    assert_eq!(heard, expected);
    let cut = client.sync(None, &mut |_| ());
    assert!(matches!(cut, Err(ClientError::CutOff)), "{cut:?}");
    thread.join().unwrap();
}

#[test]
fn nobody_there() {
    let temp = tempfile::tempdir().unwrap();
    let none = |socket: &Path| {
        let error = Client::connect(socket, quick()).unwrap_err();
        assert!(matches!(error, ClientError::NoDaemon { .. }), "{error}");
        error.to_string()
    };
    // These paths are absent, a plain file, a socket without a listener, and too long for a socket.
    none(&temp.path().join("absent"));
    let file = temp.path().join("file");
    std::fs::write(&file, "").unwrap();
    none(&file);
    let dead = temp.path().join("dead");
    drop(UnixListener::bind(&dead).unwrap());
    none(&dead);
    none(&temp.path().join("x".repeat(200)));
    // This listener never accepts a connection.
    let deaf = temp.path().join("deaf");
    let _listener = UnixListener::bind(&deaf).unwrap();
    assert!(none(&deaf).contains("says nothing"));
    // The peer closes the connection, or sends something that is not a hello line.
    for words in ["", "220 mail.example.org\n", "{\"resemble\":1"] {
        let (_temp, socket, thread) = daemon(vec![vec![words.to_owned()]]);
        none(&socket);
        thread.join().unwrap();
    }
}

/// Checks that a daemon that is busy or denies access is reported as such, and not as absent.
#[test]
fn a_daemon_that_refuses_is_told_from_none() {
    for kind in [FailureKind::Busy, FailureKind::Denied] {
        let line = format!("{{\"failed\":{{\"kind\":\"{kind}\",\"message\":\"not now\"}}}}\n");
        let (_temp, socket, thread) = daemon(vec![vec![line]]);
        let error = Client::connect(&socket, quick()).unwrap_err();
        assert_eq!(error.failure(), Some(kind), "{error}");
        assert_eq!(error.to_string(), "not now");
        thread.join().unwrap();
    }
}

#[test]
fn another_protocol_is_told_from_none() {
    let stranger = hello().replace("\"resemble\":1", "\"resemble\":2");
    let (_temp, socket, thread) = daemon(vec![vec![stranger]]);
    let error = Client::connect(&socket, quick()).unwrap_err();
    assert!(
        matches!(error, ClientError::Protocol { theirs: 2, .. }),
        "{error}"
    );
    thread.join().unwrap();
}

#[test]
fn failures_and_half_answers() {
    type Expected = fn(&ClientError) -> bool;
    let cases: [(&[&str], Expected); 7] = [
        (&[r#"{"failed":{"kind":"busy","message":"later"}}"#], |e| {
            e.failure() == Some(FailureKind::Busy) && e.to_string() == "later"
        }),
        (
            &[HEADER, r#"{"failed":{"kind":"internal","message":"x"}}"#],
            |e| e.failure() == Some(FailureKind::Internal),
        ),
        (&[HEADER], |e| matches!(e, ClientError::CutOff)),
        (&[], |e| matches!(e, ClientError::CutOff)),
        (&[r#"{"end":{"rows":0,"errors":0}}"#], |e| {
            matches!(e, ClientError::CutOff)
        }),
        // The last line counts a row that was not sent.
        (&[HEADER, r#"{"end":{"rows":1,"errors":0}}"#], |e| {
            matches!(e, ClientError::CutOff)
        }),
        (&[HEADER, "rubbish"], |e| {
            matches!(e, ClientError::Frame(FrameError::Json(_)))
        }),
    ];
    for (lines, expected) in cases {
        let (_temp, socket, thread) = daemon(vec![script(lines)]);
        let client = Client::connect(&socket, quick()).unwrap();
        let error = client.watch_list().unwrap_err();
        assert!(expected(&error), "{lines:?}: {error:?}");
        thread.join().unwrap();
    }
}

#[test]
fn a_daemon_that_hangs_is_given_up() {
    let temp = tempfile::tempdir().unwrap();
    let socket = temp.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(hello().as_bytes()).unwrap();
        stream
    });
    let client = Client::connect(&socket, quick()).unwrap();
    let _silent = thread.join().unwrap();
    assert!(matches!(client.status(), Err(ClientError::Slow(_))));
}

#[test]
fn a_question_too_large_is_not_sent() {
    let (_temp, socket, thread) = daemon(vec![vec![hello()]]);
    let client = Client::connect(&socket, quick()).unwrap();
    thread.join().unwrap();
    let path = PathText::from_bytes(vec![b'x'; frame::MAX_REQUEST]);
    assert!(matches!(
        client.covers_all(vec![path], false),
        Err(ClientError::TooLarge { .. })
    ));
}
