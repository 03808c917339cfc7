//! Decodes lines of the protocol after random changes. The samples are the lines in
//! docs/protocol.md.

#![allow(clippy::unwrap_used)] // what fails here fails the test

use resemble_proto::frame::{LineBuffer, decode, encode};
use resemble_proto::message::{FindRow, Hello, PairRow, Reply, Request};
use resemble_testutil::fuzz;
use serde::Serialize;
use serde::de::DeserializeOwned;

const PAGE: &str = include_str!("../../../docs/protocol.md");

/// Returns the lines of the page that begin with `side`: those of the client or those of the
/// daemon.
fn lines(side: &str) -> Vec<Vec<u8>> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix(side));
    let lines: Vec<_> = lines.map(|line| line.as_bytes().to_vec()).collect();
    assert!(lines.len() > 2, "{side} has examples");
    lines
}

/// Returns whether a line can be decoded. Checks that encoding the value and decoding it again
/// gives the same value.
fn takes<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(line: &[u8]) -> bool {
    let Ok(value) = decode::<T>(line) else {
        return false;
    };
    let again = encode(&value, usize::MAX).unwrap();
    assert_eq!(decode::<T>(&again).unwrap(), value);
    true
}

#[test]
fn requests() {
    let mut samples = lines("> ");
    let more: [&[u8]; 12] = [
        br#"{"request":"status"}"#,
        br#"{"request":"sync","timeout_ms":5000}"#,
        br#"{"request":"dump-as","roots":["/a"],"form":"chunks"}"#,
        br#"{"request":"watch-add","path":"/a","exclude":["*.o"],"max_size":10}"#,
        br#"{"request":"alerts","follow":true,"after":7}"#,
        br#"{"request":"ack","a":"/a/x","b":{"b64":"L2EveQ=="}}"#,
        br#"{"request":"mount","path":"/m"}"#,
        br#"{"request":"groups","within":["/a"],"min":0.5,"only":"near","top":3}"#,
        br#"{"request":"compare","a":"/a","b":"/b","progress":true}"#,
        br#"{"request":"dirs","within":["/a"],"min_size":"4K"}"#,
        br#"{"request":"find","subject":{"file":"/a"},"exclude":["**/x"],"exact":true}"#,
        br#"{"request":"templates-unmark","which":"licence"}"#,
    ];
    samples.extend(more.map(<[u8]>::to_vec));
    fuzz("requests", 20_000, samples, &mut takes::<Request>);
}

#[test]
fn answers() {
    let samples = lines("< ");
    let mut takes = |line: &[u8]| {
        let rows = takes::<Reply<FindRow>>(line) | takes::<Reply<PairRow>>(line);
        rows | takes::<Hello>(line)
    };
    fuzz("answers", 20_000, samples, &mut takes);
}

/// Checks that the lines of a stream do not depend on the pieces in which it arrives, and that none
/// is longer than the limit.
#[test]
fn streams() {
    const LIMIT: usize = 300;
    let mut samples = vec![lines("> ").join(&b"\n"[..]), lines("< ").join(&b"\n"[..])];
    samples.push(vec![b'\n'; 40]);
    let cut = |stream: &[u8], piece: usize| {
        let mut buffer = LineBuffer::new(LIMIT);
        let mut lines = Vec::new();
        for piece in stream.chunks(piece) {
            buffer.push(piece);
            loop {
                match buffer.next_line() {
                    Ok(Some(line)) => lines.push(line.to_vec()),
                    Ok(None) => break,
                    Err(_) => return (lines, false),
                }
            }
        }
        (lines, true)
    };
    let mut takes = |stream: &[u8]| {
        let (lines, is_whole) = cut(stream, usize::MAX);
        assert!(lines.iter().all(|line| line.len() < LIMIT));
        for piece in [1, 7, 64] {
            assert_eq!(cut(stream, piece), (lines.clone(), is_whole));
        }
        is_whole
    };
    fuzz("streams", 3_000, samples, &mut takes);
}
