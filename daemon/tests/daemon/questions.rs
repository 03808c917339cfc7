//! Tests questions that are still being computed: they can be cancelled, and some requests do not
//! wait for them. Also tests that answers are stored.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use resemble_proto::client::{Client, Timeouts};
use resemble_proto::message::StatusAnswer;
use serde_json::{Value, json};

use crate::support::{Daemon, Place, text};

/// The number of versions of one text. It is large, so that a question takes long.
const VERSIONS: u32 = 300;

/// The maximum number of questions that the daemon computes at the same time.
const PLACES: u64 = 16;

/// The number of clients. It is greater than [`PLACES`], so some questions must wait.
const CLIENTS: usize = 40;

/// The longest time that `status` may take. The questions together take much longer.
const SOON: Duration = Duration::from_secs(10);

fn status(place: &Place) -> StatusAnswer {
    let timeouts = Timeouts {
        connect: SOON,
        answer: SOON,
    };
    let client = Client::connect(&place.path("socket"), timeouts).unwrap();
    client.status().unwrap()
}

/// Sends a request, like a client that does not wait for the answer.
fn ask(place: &Place, request: &Value) -> UnixStream {
    let mut stream = UnixStream::connect(place.path("socket")).unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).unwrap();
    stream
}

/// Sends questions that together take minutes of processor time. All questions differ, so no answer
/// is used twice.
fn ask_much(place: &Place) -> Vec<UnixStream> {
    let question = |n: usize| {
        let top = 1000 + n;
        if n.is_multiple_of(2) {
            json!({"request": "pairs", "within": [place.root], "exact": true, "top": top})
        } else {
            json!({"request": "groups", "within": [place.root], "top": top})
        }
    };
    let asked = (0..CLIENTS).map(|n| ask(place, &question(n)));
    asked.collect()
}

fn busy(place: &Place) -> Daemon<'_> {
    let base: String = (0..10).map(text).collect();
    for n in 0..VERSIONS {
        let mut lines: Vec<&str> = base.lines().collect();
        let changed = format!("only version {n} says this");
        for line in lines.iter_mut().skip(n as usize % 100).step_by(100) {
            *line = &changed;
        }
        place.write_text(&format!("{n}.txt"), &lines.join("\n"));
    }
    let daemon = place.start();
    daemon.sync();
    // All files differ. Equal files would be compared without any work.
    assert_eq!(status(place).index.contents, u64::from(VERSIONS));
    daemon
}

/// If a client goes away, its question ends. `status` does not wait for questions.
#[test]
fn a_question_ends_when_its_client_goes_and_status_never_waits() {
    let place = Place::new();
    let daemon = busy(&place);
    let clients = ask_much(&place);
    // Waits until the maximum number of questions is being computed. Then the clients go away.
    let began = Instant::now();
    while status(&place).questions < PLACES {
        assert!(began.elapsed() < SOON, "the questions are too easy");
        std::thread::yield_now();
    }
    daemon.sync();
    assert_eq!(status(&place).questions, PLACES);
    drop(clients);
    let began = Instant::now();
    while status(&place).questions > 0 {
        assert!(
            began.elapsed() < SOON,
            "questions of nobody are being computed: {:?}",
            status(&place).questions
        );
        std::thread::yield_now();
    }
    assert_eq!(status(&place).roots[0].files, u64::from(VERSIONS));
}

/// A client may close its side of the connection as soon as it has sent the request, as `nc -N`
/// does.
#[test]
fn a_client_that_has_said_everything_gets_its_answer() {
    let place = Place::new();
    place.write("a", 1);
    place.write("b", 1);
    let daemon = place.start();
    daemon.sync();
    let pairs = json!({"request": "pairs", "within": [place.root]});
    for request in [json!({"request": "sync"}), pairs] {
        let mut stream = ask(&place, &request);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("\"end\""), "{answer}");
    }
}

/// Sends a request and returns the whole answer.
fn answer(place: &Place, request: &Value) -> String {
    let mut stream = ask(place, request);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_answer_is_kept_until_something_changes() {
    let place = Place::new();
    place.write_text("a", &text(1));
    place.write_text("b", &(text(1) + &text(2)));
    let daemon = place.start();
    daemon.sync();
    for request in ["pairs", "groups", "dirs"] {
        let request = json!({"request": request, "within": [place.root]});
        let first = answer(&place, &request);
        assert!(first.contains("\"end\""), "{first}");
        assert_eq!(answer(&place, &request), first);
        place.write_text("sub/c", &(text(1) + &text(3)));
        daemon.sync();
        let second = answer(&place, &request);
        assert_ne!(second, first, "a file came");
        std::fs::remove_dir_all(place.in_tree("sub")).unwrap();
        daemon.sync();
        assert_eq!(answer(&place, &request), first, "it went again");
    }
}

/// The daemon can be ended while questions are being computed.
#[test]
fn the_end_comes_in_the_middle_of_questions() {
    let place = Place::new();
    let daemon = busy(&place);
    let clients = ask_much(&place);
    while status(&place).questions == 0 {
        std::thread::yield_now();
    }
    let began = Instant::now();
    let ended = daemon.terminate(rustix::process::Signal::TERM);
    assert_eq!(ended.code(), Some(0), "{}", place.log());
    assert!(began.elapsed() < 2 * SOON, "{}", place.log());
    assert!(!place.log().contains("not compacted"), "{}", place.log());
    drop(clients);
}
