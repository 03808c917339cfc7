//! Measures chunking, and the whole digest of a file, on bytes in memory. For comparison, `md-5`
//! hashes the same bytes.
//!
//! `cargo bench -p resemble-benches --bench chunk`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use md5::{Digest as _, Md5};
use resemble_core::chunk::{Chunker, cut};
use resemble_core::params::ChunkParams;
use resemble_core::{Digester, Params};
use resemble_testutil::random::{Random, noise};

/// The number of bytes of the large file.
const LARGE: usize = 64 << 20;
/// The numbers of bytes of the small files.
const SMALL: [usize; 2] = [4 << 10, 16 << 10];
/// The number of bytes that each call of `update` gets.
const PIECE: usize = 256 << 10;
/// The number of passes. The time of the fastest pass is printed.
const PASSES: usize = 5;

fn main() {
    let text = lines(LARGE);
    let noise = noise(2, LARGE);
    report("md-5, the whole", &text, |data| {
        black_box(Md5::digest(data));
    });
    for average in [1015, 4096, 16384] {
        let Some(chunk) = ChunkParams::scaled(average) else {
            continue;
        };
        let name = format!("cut points only, average {average}");
        report(&format!("{name}, one by one"), &text, |data| {
            let mut rest = data;
            while !rest.is_empty() {
                rest = &rest[black_box(cut(rest, &chunk))..];
            }
        });
        report(&format!("{name}, in pieces"), &text, |data| {
            let mut chunker = Chunker::new(&chunk);
            for piece in data.chunks(PIECE) {
                chunker.update(piece, &mut |cut| {
                    black_box(cut);
                });
            }
            chunker.finish(&mut |cut| {
                black_box(cut);
            });
        });
    }
    let mut digester = Digester::new(&Params::default());
    for (what, data) in [("text", &text), ("noise", &noise)] {
        report(
            &format!("digest, one file of 64 MiB, {what}"),
            data,
            |data| {
                for piece in data.chunks(PIECE) {
                    digester.update(piece);
                }
                black_box(digester.finish());
            },
        );
        for size in SMALL {
            let name = format!("digest, files of {} KiB, {what}", size >> 10);
            report(&name, data, |data| {
                for file in data.chunks(size) {
                    black_box(digester.digest(file));
                }
            });
        }
    }
}

fn report(name: &str, data: &[u8], mut work: impl FnMut(&[u8])) {
    let mut best = f64::INFINITY;
    for _ in 0..PASSES {
        let begin = Instant::now();
        work(data);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    println!("{name:48} {:8.0} MB/s", data.len() as f64 / 1e6 / best);
}

/// Makes lines of pseudorandom words. They are the same in every run.
fn lines(len: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut text = Vec::with_capacity(len + 16);
    while text.len() < len {
        let state = random.draw();
        let word = (state >> 33) % 5000;
        text.extend_from_slice(format!("w{word:x}").as_bytes());
        text.push(if state >> 60 == 0 { b'\n' } else { b' ' });
    }
    text.truncate(len);
    text
}
