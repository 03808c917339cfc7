//! Measures the hash kernels in MB/s on one core. Comparable crates are measured in the same run.
//!
//! Each figure is the best of several passes over bytes that fit into the second-level cache. So it
//! shows the speed of the kernels, not of the memory.
//!
//! `cargo bench -p resemble-benches --bench hash`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use resemble_core::hash::{content, md5, rolling};
use resemble_core::params::ChunkParams;
use resemble_testutil::random::{Random, noise};

const BYTES: usize = 1 << 20;
const PASSES: usize = 15;

fn main() {
    let bytes = noise(1, BYTES);
    scan(&bytes);
    chunk_names(&bytes, &mut Random::new(1));
    content_digest(&bytes);
}

fn scan(bytes: &[u8]) {
    println!("rolling scan, D' 270, every window");
    for level in [5, 12] {
        for buffer in [4 << 10, 64 << 10, BYTES] {
            for platform in rolling::RollingPlatform::available() {
                let divisor = ChunkParams::PAPER.backup_divisor;
                let mut scanner = rolling::Scanner::with(divisor, level, platform);
                let speed = measure(bytes.len(), || {
                    let mut hits = 0u64;
                    scanner.reset();
                    for piece in bytes.chunks(buffer) {
                        scanner.scan(piece, &mut |hit| hits += hit.end & 1);
                    }
                    black_box(hits);
                });
                let what = format!(
                    "{platform:?}, level {level}, buffers of {} KiB",
                    buffer >> 10
                );
                report(&what, speed);
            }
        }
    }
}

fn chunk_names(bytes: &[u8], random: &mut Random) {
    // Draws lengths that are distributed like those of TTTD chunks: at least Tmin, then an
    // exponential tail that ends at Tmax.
    let ChunkParams {
        min,
        max,
        main_divisor,
        ..
    } = ChunkParams::PAPER;
    let mut tttd = || {
        let share = (random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        let tail = -f64::from(main_divisor) * (1.0 - share).ln();
        (f64::from(min) + tail).min(f64::from(max)) as usize
    };
    let batches = [
        ("chunks", divide(bytes, &mut tttd, usize::MAX)),
        ("chunks", divide(bytes, &mut tttd, 400)),
        ("chunks", divide(bytes, &mut tttd, 48)),
        ("chunks", divide(bytes, &mut tttd, 4)),
        ("of 1 KiB", divide(bytes, &mut || 1024, usize::MAX)),
        ("of 8 KiB", divide(bytes, &mut || 8192, usize::MAX)),
    ];
    println!("MD5");
    for (what, messages) in &batches {
        let total = messages.iter().map(|message| message.len()).sum();
        let mut out = Vec::new();
        for platform in md5::Md5Platform::available() {
            let speed = measure(total, || {
                out.clear();
                platform.md5_many(messages, &mut out);
                black_box(&out);
            });
            report(&format!("{platform:?}, {} {what}", messages.len()), speed);
        }
    }
}

fn divide<'a>(
    mut bytes: &'a [u8],
    length: &mut dyn FnMut() -> usize,
    at_most: usize,
) -> Vec<&'a [u8]> {
    let mut messages = Vec::new();
    while let Some((message, rest)) = bytes.split_at_checked(length()) {
        messages.push(message);
        bytes = rest;
    }
    messages.truncate(at_most);
    messages
}

fn content_digest(bytes: &[u8]) {
    println!("content digest (BLAKE3)");
    for len in [4 << 10, 64 << 10, BYTES] {
        let speed = measure(len, || {
            black_box(content::digest(black_box(&bytes[..len])));
        });
        report(&format!("{} KiB", len >> 10), speed);
    }
}

/// Returns the MB/s of the fastest pass. One call of `work` processes `bytes` bytes. A pass repeats
/// the call until 16 times `BYTES` are processed, which takes about 10 ms.
fn measure(bytes: usize, mut work: impl FnMut()) -> f64 {
    let times = (16 * BYTES).div_ceil(bytes);
    let mut best = f64::INFINITY;
    for _ in 0..PASSES {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    (bytes * times) as f64 / best / 1e6
}

fn report(what: &str, speed: f64) {
    println!("    {what:<42} {speed:>8.0} MB/s");
}
