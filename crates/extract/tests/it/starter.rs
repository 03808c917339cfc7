//! Tests workers that are started by another process, the starter.

use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use resemble_extract::{Bound, Extractor, Limits, Skipped, Workers, starter::attend};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use tempfile::TempDir;

use crate::pieces::{gzip, limits, program, sample, take, take_with};

/// Runs a starter whose workers run this program. Returns the folder of its socket, and the socket.
pub(crate) fn starter(program: Vec<PathBuf>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("starter");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let program = program.clone();
            std::thread::spawn(move || attend(connection, &program));
        }
    });
    (folder, socket)
}

/// Makes an extractor whose workers are started by the starter at this socket.
fn of(socket: &Path, limits: Limits) -> Extractor {
    Extractor::new(Workers::Of(socket.to_owned()), limits, Vec::new())
}

#[test]
fn what_comes_out_is_the_same() {
    let (_folder, socket) = starter(program());
    let extractor = of(&socket, limits());
    let mut parts = 0;
    for name in [
        "minutes.docx",
        "minutes-writer.pdf",
        "attached.eml",
        "bzip2.zip",
        "encrypted.zip",
    ] {
        let bytes = sample(name);
        let (ours, theirs) = (take(name, &bytes), take_with(&extractor, name, &bytes));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                assert_eq!(ours.all, theirs.all, "{name}");
                assert_eq!(ours.skipped, theirs.skipped, "{name}");
                parts += ours.all.len();
            }
            (ours, theirs) => assert_eq!(ours.err(), theirs.err(), "{name}"),
        }
    }
    assert!(parts > 5, "{parts}");
    let ours = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new());
    assert_eq!(extractor.fences(), ours.fences());
}

#[test]
fn a_worker_ends_when_its_asker_has_enough() {
    let folder = tempfile::tempdir().unwrap();
    let noted = folder.path().join("pid");
    let script = format!(
        "echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 100",
        noted.display()
    );
    let program = ["/bin/sh", "-c", &script].map(PathBuf::from);
    let (_folder, socket) = starter(program.to_vec());
    let short = Limits {
        time: Duration::from_millis(600),
        ..limits()
    };
    let why = take_with(&of(&socket, short), "x", &gzip(b"x")).unwrap_err();
    assert_eq!(why, Skipped::TooMuch(Bound::Time));
    let worker = std::fs::read_to_string(noted).unwrap();
    let process = PathBuf::from(format!("/proc/{}", worker.trim()));
    let begun = Instant::now();
    while process.exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it still runs");
        std::thread::yield_now();
    }
}

#[test]
fn a_starter_that_is_not_there_or_cannot_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = folder.path().join("starter");
    let why = take_with(&of(&nobody, limits()), "x", &gzip(b"x")).unwrap_err();
    assert!(
        matches!(&why, Skipped::NotRun(why) if why.contains("starter")),
        "{why}"
    );
    let (_folder, socket) = starter(vec!["/nonexistent/worker".into()]);
    let why = take_with(&of(&socket, limits()), "x", &gzip(b"x")).unwrap_err();
    assert!(
        matches!(&why, Skipped::NotRun(why) if why.contains("No such file")),
        "{why}"
    );
}

/// Sends an order as a client does. Returns the number of bytes of the reply.
fn answered(socket: &Path, order: &[u8], length: u32, descriptors: usize) -> usize {
    let mut connection = UnixStream::connect(socket).unwrap();
    let files: Vec<File> = (0..descriptors)
        .map(|_| File::options().write(true).open("/dev/null").unwrap())
        .collect();
    let given: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !given.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(&given)));
    }
    let length = length.to_le_bytes();
    let data = [IoSlice::new(&length)];
    rustix::net::sendmsg(&connection, &data, &mut control, SendFlags::NOSIGNAL).unwrap();
    // A failure does not matter, because the starter may have closed the connection.
    drop(connection.write_all(order));
    drop(connection.shutdown(std::net::Shutdown::Write));
    let mut answer = Vec::new();
    drop(connection.read_to_end(&mut answer));
    answer.len()
}

#[test]
fn nothing_that_is_sent_is_executed() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let script = format!("touch '{}'", made.display());
    let program = ["/bin/sh", "-c", &script].map(PathBuf::from);
    let (_folder, socket) = starter(program.to_vec());
    let read = concat!(
        r#"resemble-extract:{"task":{"Read":"Text"},"limits":{"depth":4,"ratio":200,"bytes":1000,"#,
        r#""parts":10,"time":{"secs":1,"nanos":0},"memory":1000000},"parent":1,"leave_out":[],"#,
        r#""not_these":[]}"#
    );
    let convert = read.replace(r#"{"Read":"Text"}"#, r#""Convert""#);
    let long = read.replace(
        r#""not_these":[]"#,
        &format!(r#""not_these":["{}"]"#, "x".repeat(1 << 17)),
    );
    assert_ne!(long, read);
    let length = |order: &str| order.len() as u32;
    for (order, length, descriptors) in [
        (&convert[..], length(&convert), 3),
        ("touch made", 10, 3),
        (read, length(read), 2),
        (read, length(read), 0),
        (read, length(read) + 1, 3),
        (&long[..], length(&long), 3),
        ("", 0, 3),
    ] {
        let answer = answered(&socket, order.as_bytes(), length, descriptors);
        assert_eq!(
            (answer, made.exists()),
            (0, false),
            "{order:.60} {descriptors}"
        );
    }
    // As a control, checks that a complete order is executed.
    let begun = Instant::now();
    while !made.exists() {
        answered(&socket, read.as_bytes(), length(read), 3);
        assert!(begun.elapsed() < Duration::from_secs(10), "never executed");
    }
}
