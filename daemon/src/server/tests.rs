//! Tests the server with correct clients and with misbehaving ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use resemble_core::Params;
use resemble_fs::Show;
use resemble_index::Index;
use resemble_proto::client::{Client, ClientError, Rows, Timeouts};
use resemble_proto::message::{
    AlertRow, AlertRules, FailureKind, RootRules, RootState, StatusAnswer, WatchOrigin,
};
use resemble_scan::ingest::{
    Amount, Ingest, IngestOptions, Progress, RootOptions, Target, Unobserved,
};
use resemble_testutil::{PATIENCE, hung, in_a_process_of_its_own, prose};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::watch;

use super::*;
use crate::alerts::log::AlertLog;
use crate::indexer::Command;
use crate::overlays::Overlays;
use crate::state::{Root, Shared};

/// A server without an indexer. The test receives the commands for it.
struct Running {
    dir: tempfile::TempDir,
    shared: Arc<Shared>,
    orders: crossbeam_channel::Receiver<Command>,
    ending: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

fn start(change: impl FnOnce(&mut Limits)) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let shared = Arc::new(Shared::new(Arc::new(
        Index::in_memory(&Params::default()).unwrap(),
    )));
    shared.set_roots(vec![Root {
        options: RootOptions::new(dir.path()),
        origin: WatchOrigin::Start,
        state: RootState::Live,
    }]);
    let (commands, orders) = crossbeam_channel::unbounded();
    let state = dir.path().to_path_buf();
    let overlays = Overlays::new(
        Arc::clone(&shared),
        commands.clone(),
        vec![state.clone()],
        Show::default(),
    );
    let log = Arc::new(Mutex::new(AlertLog::open(&state.join("alerts.jsonl"))));
    let context = Context::new(
        Arc::clone(&shared),
        commands,
        log,
        Arc::new(overlays),
        state,
    );
    let (listener, socket) = socket::bind(&dir.path().join("socket"), false).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut limits = Limits::of_user(rustix::process::geteuid().as_raw());
    change(&mut limits);
    let (ending, ended) = watch::channel(false);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = UnixListener::from_std(listener).unwrap();
            serve(listener, Arc::new(context), limits, ended).await;
        });
        drop(socket);
    });
    Running {
        dir,
        shared,
        orders,
        ending,
        thread: Some(thread),
    }
}

impl Running {
    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream
    }

    fn client(&self) -> Result<Client, ClientError> {
        Client::connect(&self.socket(), Timeouts::default())
    }

    /// Connects until a client is admitted, and returns its connection. The connection stays open,
    /// because the client follows the alerts.
    fn let_in(&self) -> Rows<AlertRow> {
        let began = Instant::now();
        loop {
            match self.client().and_then(|client| client.follow_alerts(0)) {
                Ok(rows) => return rows,
                Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
            }
        }
    }

    /// Asks for the status until a client is admitted.
    fn status_when_let_in(&self) -> StatusAnswer {
        let began = Instant::now();
        loop {
            match self.client().and_then(|client| client.status()) {
                Ok(status) => return status,
                Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
            }
        }
    }

    /// Sends bytes, and returns the answer without the greeting.
    fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may refuse the request and close the connection before all bytes are written.
        let _sent = stream.write_all(bytes);
        stream.shutdown(std::net::Shutdown::Write).ok();
        // The connection may end with a reset, because the server stops reading a request that it
        // refuses.
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        let answer = String::from_utf8(answer).unwrap();
        answer
            .split_once('\n')
            .map(|(_, rest)| rest.to_owned())
            .unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ending.send(true).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        assert!(!self.socket().exists(), "the socket goes with the server");
    }
}

#[test]
fn questions_are_answered() {
    let running = start(|_| {});
    let status = running.client().unwrap().status().unwrap();
    assert_eq!(status.roots.len(), 1);
    assert_eq!(status.pid, std::process::id());
    let roots = running.client().unwrap().watch_list().unwrap();
    assert_eq!(roots[0].path.as_path(), running.dir.path());
    let inside = vec![running.dir.path().join("x").into()];
    assert!(running.client().unwrap().covers_all(inside, true).unwrap());
    assert!(
        !running
            .client()
            .unwrap()
            .covers_all(vec!["/elsewhere".into()], false)
            .unwrap()
    );
    assert!(running.client().unwrap().alerts().unwrap().rows.is_empty());
}

/// Without an index, the failure of every other question advises to run `status`. So `status` must
/// work.
#[test]
fn status_is_answered_without_an_index() {
    let running = start(|_| {});
    running.shared.close_index();
    let inside = vec![running.dir.path().into()];
    let failed = running.client().unwrap().dump(inside).map(|_| ());
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("`resemble status` says why"), "{failed}");
    let status = running.client().unwrap().status().unwrap();
    assert_eq!(status.roots.len(), 1);
}

#[test]
fn nonsense_is_a_bad_request_and_half_a_request_is_one_too() {
    let running = start(|limits| limits.request_bytes = 1000);
    for bytes in [
        &b"nonsense\n"[..],
        b"{}\n",
        b"{\"request\":\"dance\"}\n",
        b"\xff\xfe\n",
        b"{\"request\":",
    ] {
        assert!(running.say(bytes).contains("bad-request"), "{bytes:?}");
    }
    assert!(running.say(&vec![b'x'; 100_000]).contains("bad-request"));
    assert_eq!(
        running.say(b""),
        "",
        "only a look whether somebody is there"
    );
    assert!(
        running
            .say(b"{\"request\":\"status\"}\n")
            .contains("\"end\"")
    );
}

#[test]
fn one_connection_too_many_is_told_so() {
    let running = start(|limits| limits.connections = 2);
    let waiting = [running.let_in(), running.let_in()];
    let refused = running.client().unwrap().status().unwrap_err();
    assert_eq!(refused.failure(), Some(FailureKind::Busy), "{refused}");
    assert!(refused.to_string().contains("busy"), "{refused}");
    drop(waiting);
    // The slots of these clients are free again when the server has noticed that they are gone.
    running.status_when_let_in();
}

/// The question of a client that has disconnected keeps its slot until it ends. Otherwise any
/// number of questions could run.
#[test]
fn a_question_takes_its_place_until_it_ends() {
    if in_a_process_of_its_own(
        "server::tests::a_question_takes_its_place_until_it_ends",
        false,
    ) {
        return;
    }
    let running = start(|limits| limits.connections = 2);
    let at = running.dir.path().join("hung");
    std::fs::create_dir(&at).unwrap();
    for (name, end) in [("a", "one end"), ("b", "another end")] {
        std::fs::write(at.join(name), prose::lines(1, 200) + end).unwrap();
    }
    let options = IngestOptions {
        roots: vec![RootOptions::new(running.dir.path())],
        ..IngestOptions::default()
    };
    Ingest::new(running.shared.index().unwrap(), options)
        .reconcile(&[Target::subtree(running.dir.path())], &mut Unobserved)
        .unwrap();
    // A file system that does not answer is mounted over the files, so the question does not end.
    let Some(hung) = hung(&at) else {
        return;
    };
    let mut asked = running.connect();
    let within = running.dir.path().display();
    let line = format!(
        "{{\"request\":\"pairs\",\"within\":[\"{within}\"],\"exact\":true,\"progress\":true}}\n"
    );
    asked.write_all(line.as_bytes()).unwrap();
    let began = Instant::now();
    while running.status_when_let_in().questions == 0 {
        assert!(began.elapsed() < PATIENCE);
    }
    // A question that does not read files yet ends when its client disconnects. So the test waits
    // until the question reads.
    hung.wait_until_asked();
    // The client has asked for progress, so it is informed that the first of two files is being
    // read.
    let mut lines = BufReader::new(asked.try_clone().unwrap()).lines();
    let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("progress")));
    let told = told.unwrap().unwrap();
    assert!(
        told.ends_with(r#""doing":"comparing","done":0,"all":2}}"#),
        "{told}"
    );
    drop(lines);
    // The question and this connection take all slots. So the next client is admitted only after
    // the server has noticed that the question's client is gone.
    let other = running.let_in();
    drop(asked);
    assert_eq!(running.status_when_let_in().questions, 1);
    drop(other);
    drop(hung);
    while running.status_when_let_in().questions > 0 {
        assert!(began.elapsed() < PATIENCE);
    }
}

/// Connections that send no request, or only the beginning of one, must not take all slots until
/// their time is over.
#[test]
fn unfinished_requests_take_nobodys_place() {
    let running = start(|limits| {
        limits.unfinished = 3;
        limits.all_request_bytes = 1 << 20;
    });
    let mut first = running.connect();
    let mut half: Vec<UnixStream> = (0..50).map(|_| running.connect()).collect();
    for stream in &mut half {
        // The server may close a connection before it has sent anything.
        let _sent = stream.write_all(b"{\"request\":");
        running.client().unwrap().status().unwrap();
    }
    let mut told = String::new();
    first.read_to_string(&mut told).unwrap();
    assert!(told.contains("\"busy\""), "{told}");
    // A request with more bytes than all requests together may have is refused, and the next one is
    // answered.
    let told = running.say(&vec![b'x'; 2 << 20]);
    assert!(told.is_empty() || told.contains("\"busy\""), "{told}");
    running.client().unwrap().status().unwrap();
}

/// A client that pauses between the greeting and its question loses its place to another client.
/// The first client then connects again.
#[test]
fn a_client_that_lost_its_place_asks_all_the_same() {
    let running = start(|limits| limits.unfinished = 1);
    let slow = running.client().unwrap();
    running.client().unwrap().status().unwrap();
    let mut other = running.connect();
    let mut hello = [0; 1];
    other.read_exact(&mut hello).unwrap();
    drop(other);
    slow.status().unwrap();
}

#[test]
fn a_client_that_says_nothing_is_let_go() {
    let running = start(|limits| limits.request_time = Duration::from_millis(50));
    let mut silent = running.connect();
    let mut answer = String::new();
    silent.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("did not arrive in time"), "{answer}");
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_else() {
    let running = start(|limits| limits.write_time = Duration::from_millis(200));
    let mut slow = running.connect();
    let paths: Vec<String> = (0..20_000)
        .map(|n| format!("\"/a/long/enough/path/{n:0200}\""))
        .collect();
    let request = format!(
        "{{\"request\":\"covers\",\"paths\":[{}]}}\n",
        paths.join(",")
    );
    slow.write_all(request.as_bytes()).unwrap();
    for _ in 0..10 {
        running.client().unwrap().status().unwrap();
    }
    // At last the server closes the slow connection in the middle of its answer.
    let hang_up = &mut [PollFd::new(&slow, PollFlags::empty())];
    let patience = Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    assert_eq!(poll(hang_up, Some(&patience)).unwrap(), 1);
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).ok();
    assert!(!String::from_utf8_lossy(&answer).contains("\"end\""));
}

#[test]
fn another_user_may_not_ask() {
    let running = start(|limits| limits.uid += 1);
    let mut answer = String::new();
    running.connect().read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"denied\""), "{answer}");
    assert!(
        !answer.contains("\"resemble\""),
        "not even the hello line: {answer}"
    );
}

#[test]
fn a_barrier_waits_for_the_indexer_and_no_longer_than_asked() {
    let running = start(|_| {});
    let orders = running.orders.clone();
    let indexer = std::thread::spawn(move || match orders.recv().unwrap() {
        Command::Sync(reply) => reply.send(Ok(())).unwrap(),
        other => panic!("{other:?}"),
    });
    running.client().unwrap().sync(None, &mut |_| ()).unwrap();
    indexer.join().unwrap();
    let late = running
        .client()
        .unwrap()
        .sync(Some(Duration::from_millis(50)), &mut |_| ());
    assert!(
        matches!(late, Err(ClientError::Failed(failure)) if failure.kind == FailureKind::Timeout)
    );
}

#[test]
fn a_barrier_tells_how_far_the_scan_is_and_what_is_left_to_read() {
    let running = start(|_| {});
    for name in ["a", "b", "c"] {
        std::fs::write(running.dir.path().join(name), vec![0; 100]).unwrap();
    }
    let shared = Arc::clone(&running.shared);
    shared.set_scan(Some(running.dir.path()));
    shared.set_progress(&Progress {
        done: Amount {
            files: 1,
            bytes: 100,
        },
        pending: 2,
        ..Progress::default()
    });
    let mut heard = Vec::new();
    running
        .client()
        .unwrap()
        .sync(None, &mut |now| {
            // The state of the daemon changes after each line of progress that has all its fields.
            match (now.bytes.is_some(), now.all, now.done) {
                (true, None, _) => return,
                (true, ..) => {
                    shared.set_scan(None);
                    shared.set_pending(5);
                }
                (false, _, 0) => shared.set_pending(2),
                (false, ..) => {
                    if let Ok(Command::Sync(barrier)) = running.orders.try_recv() {
                        barrier.send(Ok(())).unwrap();
                    }
                }
            }
            heard.push(now);
        })
        .unwrap();
    let [scan, began, goes_on, ..] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert_eq!((scan.step, scan.done, scan.bytes), (1, 1, Some(100)));
    assert!(scan.doing.starts_with("looking at /"), "{scan:?}");
    assert_eq!((scan.all, scan.all_bytes), (Some(3), Some(300)));
    assert_eq!((began.step, began.done, began.all), (2, 0, Some(5)));
    assert_eq!((goes_on.step, goes_on.done, goes_on.all), (2, 3, Some(5)));
    assert_eq!(goes_on.doing, "reading what has changed");
}

#[test]
fn what_is_not_watched_is_said_to_be_so() {
    let running = start(|_| {});
    let client = running.client().unwrap();
    let failed = client
        .dump(vec!["/elsewhere".into()])
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(failed, ClientError::Failed(failure) if failure.kind == FailureKind::NotWatched)
    );
    for path in [Path::new("/proc"), Path::new("/none"), running.dir.path()] {
        let failed = running
            .client()
            .unwrap()
            .watch_add(path.into(), RootRules::default(), AlertRules::default())
            .unwrap_err();
        assert!(
            matches!(failed, ClientError::Failed(failure) if failure.kind == FailureKind::Refused)
        );
    }
    let failed = running.client().unwrap().unmount(None).unwrap_err();
    assert!(matches!(failed, ClientError::Failed(failure) if failure.kind == FailureKind::Refused));
}

/// Paths are not accessed on the threads that serve all connections.
#[test]
fn a_path_that_does_not_answer_holds_up_nobody_else() {
    let running = start(|_| {});
    let Some(hung) = hung(running.dir.path().join("hung")) else {
        return;
    };
    let path = hung.mounted.path("x").display().to_string();
    let asked: Vec<UnixStream> = ["watch-add", "watch-remove", "watch-remove"]
        .map(|request| {
            let mut stream = running.connect();
            let line = format!("{{\"request\":\"{request}\",\"path\":\"{path}\"}}\n");
            stream.write_all(line.as_bytes()).unwrap();
            stream
        })
        .into();
    let (done, in_time) = std::sync::mpsc::channel();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..10 {
                running.client().unwrap().status().unwrap();
            }
            done.send(()).unwrap();
        });
        let answered = in_time.recv_timeout(Duration::from_secs(30));
        // The hung file system is released before the assertion. So the server can end even if the
        // test fails.
        drop(hung);
        answered.unwrap();
    });
    drop(asked);
}

#[test]
fn followers_hear_of_the_end() {
    let running = start(|_| {});
    let mut rows = running.client().unwrap().follow_alerts(0).unwrap();
    running.ending.send(true).unwrap();
    assert!(matches!(
        rows.next(),
        Some(Err(ClientError::Failed(failure))) if failure.kind == FailureKind::ShuttingDown
    ));
}

/// Files that wait outside the named folder do not make an answer stale.
#[test]
fn only_what_waits_in_what_is_asked_about_makes_an_answer_old() {
    let running = start(|_| {});
    let (shared, root) = (&running.shared, running.dir.path());
    shared.open_first_scan();
    let asked = |folder: &str| {
        let request = resemble_proto::message::PairsRequest {
            scope: resemble_proto::message::Scope {
                within: vec![root.join(folder).as_path().into()],
                ..Default::default()
            },
            ..Default::default()
        };
        let header = running.client().unwrap().ask(request, &mut |_| {});
        let header = header.unwrap().header;
        (header.fresh, header.pending)
    };
    assert_eq!(asked("a"), (true, 0));
    shared.set_pending(2);
    // Two files wait, but it is not known which. So every answer counts as stale.
    assert_eq!(asked("a"), (false, 2));
    let waiting = ["a/x", "ab/y"].map(|name| root.join(name));
    shared.set_waiting(Some(waiting.to_vec()));
    assert_eq!(asked("a"), (false, 1));
    assert_eq!(asked("a/x"), (false, 1));
    assert_eq!(asked("b"), (true, 0));
    assert_eq!(asked(""), (false, 2));
    // The running scan is about another root, so it does not matter here.
    shared.set_waiting(Some(Vec::new()));
    shared.set_scan(Some(Path::new("/elsewhere")));
    shared.set_progress(&Progress {
        pending: 7,
        ..Progress::default()
    });
    assert_eq!(asked("a"), (true, 0));
    shared.set_scan(Some(root));
    shared.set_progress(&Progress {
        pending: 7,
        ..Progress::default()
    });
    assert_eq!(asked("a"), (false, 7));
}
