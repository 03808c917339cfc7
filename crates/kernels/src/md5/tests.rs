//! Compares the digests of every platform with the digests of messages that are hashed one by one.

use std::fmt::Write as _;

use md5::{Digest, Md5};

use super::{Md5Digest, Md5Platform, md5_many};
use crate::random::Random;

fn expected(message: &[u8]) -> Md5Digest {
    Md5::digest(message).into()
}

fn hex_of(digest: &Md5Digest) -> String {
    let mut hex = String::new();
    for byte in digest {
        write!(hex, "{byte:02x}").expect("a string takes all");
    }
    hex
}

/// Makes bytes that count up modulo 251, a prime. So no two of 251 consecutive blocks are equal.
fn paint(len: usize) -> Vec<u8> {
    (0..251).cycle().take(len).collect()
}

fn check(messages: &[&[u8]], what: &str) {
    let expected: Vec<Md5Digest> = messages.iter().map(|message| expected(message)).collect();
    for platform in Md5Platform::available() {
        let mut out = Vec::new();
        platform.md5_many(messages, &mut out);
        for (i, message) in messages.iter().enumerate() {
            let len = message.len();
            assert_eq!(
                out[i], expected[i],
                "{platform:?}, {what}: message {i} of {len} bytes"
            );
        }
        assert_eq!(out.len(), messages.len(), "{platform:?}, {what}");
    }
}

#[test]
fn rfc_1321_test_suite() {
    let suite = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "abcdefghijklmnopqrstuvwxyz",
            "c3fcd3d76192e4007dfb496cca67e13b",
        ),
        (
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "d174ab98d277d9f5a5611c2c9f419d9f",
        ),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ];
    // Seven messages are few. Eight times seven messages fill the lanes of the widest platform.
    for times in [1, 8] {
        let messages: Vec<&[u8]> = suite
            .iter()
            .map(|(text, _)| text.as_bytes())
            .cycle()
            .take(7 * times)
            .collect();
        for platform in Md5Platform::available() {
            let mut out = Vec::new();
            platform.md5_many(&messages, &mut out);
            for (hash, (text, hex)) in out.iter().zip(suite.iter().cycle()) {
                assert_eq!(hex_of(hash), *hex, "{platform:?}: {text:?}");
            }
        }
    }
}

#[test]
fn all_small_lengths_together_and_each_alone_in_all_lanes() {
    let bytes = paint(300);
    let messages: Vec<&[u8]> = (0..=300).map(|len| &bytes[..len]).collect();
    check(&messages, "lengths 0 to 300");
    for len in 0..=300 {
        check(&[&bytes[..len]; 50], "one length");
    }
}

#[test]
fn lengths_around_the_edges_of_padding_and_blocks() {
    let bytes = paint(64 * 300 + 2);
    let edges = [1, 2, 3, 7, 8, 9, 15, 16, 17, 44, 254, 255, 256, 257, 299]
        .into_iter()
        .flat_map(|blocks| [-10, -9, -8, -7, -1, 0, 1].map(|d| (64 * blocks + d) as usize));
    let messages: Vec<&[u8]> = edges.map(|len| &bytes[bytes.len() - len..]).collect();
    check(&messages, "edges");
}

#[test]
fn every_number_of_messages_up_to_two_rounds_of_lanes() {
    let bytes = paint(8192);
    let mut random = Random::new(1);
    let mut number = |below| random.below(below);
    for count in 0..=100 {
        let messages: Vec<&[u8]> = (0..count)
            .map(|_| &bytes[number(100)..][..number(3000)])
            .collect();
        check(&messages, "some messages");
    }
}

#[test]
fn chunks_of_a_buffer_at_any_alignment() {
    let bytes = paint(1 << 20);
    let mut random = Random::new(2);
    let mut number = |below| random.below(below);
    for round in 0..8 {
        let mut messages: Vec<&[u8]> = Vec::new();
        let mut rest = &bytes[round..];
        loop {
            let len = 460 + number(2341);
            let Some((message, after)) = rest.split_at_checked(len) else {
                break;
            };
            messages.push(message);
            rest = after;
        }
        messages.push(rest);
        check(&messages, "chunks");
    }
}

#[test]
fn one_long_message_among_short_ones() {
    let bytes = paint(1 << 20);
    for place in [0, 20, 59] {
        let mut messages = vec![&bytes[..700]; 60];
        messages[place] = &bytes;
        check(&messages, "one long");
    }
}

#[test]
fn appends_to_what_is_there() {
    let mut out = vec![[7; 16]];
    md5_many(&[b"abc", b""], &mut out);
    assert_eq!(out, [[7; 16], expected(b"abc"), expected(b"")]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn sines_are_those_of_the_definition() {
    for (i, &sine) in (1..).zip(&super::constants::SINES) {
        let exact = f64::from(i).sin().abs() * 4_294_967_296.0;
        assert_eq!(u64::from(sine), exact as u64, "entry {i}");
    }
}
