//! Measures the errors of the estimates: edits real files at random, and compares the estimated
//! shares with the exact ones.
//!
//!     cargo run --release -p resemble-core --example estimates -- DIR [FILES]
//!
//! For each kind of edit and class of sizes, the program prints how many containments were
//! measured. The next columns are bias and mean absolute error of three figures: the estimate, the
//! plain ratio of samples, and the lower bound that chunks prove. The last two columns are the
//! errors of the estimated resemblance of texts.
#![allow(clippy::print_stdout, missing_docs)]

mod folder;

use std::collections::BTreeMap;
use std::path::Path;

use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{NoBoilerplate, Unit, estimate_texts};
use resemble_core::{ContentKind, Digest, Params, Score};
use resemble_testutil::random::Random;

/// Makes random words of about five letters.
fn words(random: &mut Random, len: usize) -> Vec<u8> {
    let letter = |random: &mut Random| match random.below(32) {
        letter @ 0..26 => b'a' + letter as u8,
        _ => b' ',
    };
    (0..len).map(|_| letter(random)).collect()
}

/// Makes about one edit in `every` bytes: replaces, inserts or deletes one to eight bytes.
fn scattered(data: &[u8], every: usize, random: &mut Random) -> Vec<u8> {
    let mut at: Vec<usize> = (0..data.len() / every)
        .map(|_| random.below(data.len()))
        .collect();
    at.sort_unstable();
    let (mut out, mut from) = (Vec::with_capacity(data.len()), 0);
    for at in at {
        if at < from {
            continue;
        }
        out.extend_from_slice(&data[from..at]);
        let len = 1 + random.below(8);
        match random.below(3) {
            0 => from = at,
            1 => {
                from = (at + len).min(data.len());
                continue;
            }
            _ => from = (at + len).min(data.len()),
        }
        out.extend(words(random, len));
    }
    out.extend_from_slice(&data[from..]);
    out
}

/// Replaces a block of `percent` % of the file by random words.
fn block(data: &[u8], percent: usize, random: &mut Random) -> Vec<u8> {
    let len = data.len() * percent / 100;
    let at = random.below(data.len() - len + 1);
    [&data[..at], &words(random, len), &data[at + len..]].concat()
}

/// Cuts a piece of `percent` % out of the file and surrounds it with random words. The result is as
/// long as the file.
fn fragment(data: &[u8], percent: usize, random: &mut Random) -> Vec<u8> {
    let len = data.len() * percent / 100;
    let at = random.below(data.len() - len + 1);
    let head = random.below(data.len() - len + 1);
    let tail = data.len() - len - head;
    [
        &words(random, head),
        &data[at..at + len],
        &words(random, tail),
    ]
    .concat()
}

/// Divides the file into `pieces` pieces and shuffles them.
fn shuffled(data: &[u8], pieces: usize, random: &mut Random) -> Vec<u8> {
    let mut order: Vec<&[u8]> = data.chunks(data.len().div_ceil(pieces).max(1)).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    order.concat()
}

fn edits(data: &[u8], random: &mut Random) -> Vec<(&'static str, Vec<u8>)> {
    let mut half = data[..data.len() / 2].to_vec();
    half.extend(words(random, data.len() / 2));
    vec![
        ("edit/5000", scattered(data, 5000, random)),
        ("edit/1000", scattered(data, 1000, random)),
        ("edit/500", scattered(data, 500, random)),
        ("edit/200", scattered(data, 200, random)),
        ("edit/100", scattered(data, 100, random)),
        ("block 5%", block(data, 5, random)),
        ("block 20%", block(data, 20, random)),
        ("block 50%", block(data, 50, random)),
        ("block 80%", block(data, 80, random)),
        (
            "4 blocks 10%",
            (0..4).fold(data.to_vec(), |data, _| block(&data, 10, random)),
        ),
        (
            "20% + edit/1000",
            scattered(&block(data, 20, random), 1000, random),
        ),
        ("50% + edit/300", scattered(&half, 300, random)),
        ("fragment 10%", fragment(data, 10, random)),
        ("fragment 30%", fragment(data, 30, random)),
        ("fragment 70%", fragment(data, 70, random)),
        (
            "part 10%",
            fragment(data, 10, random).split_off(data.len() / 20),
        ),
        ("shuffle 16", shuffled(data, 16, random)),
        ("twice", [data, data].concat()),
        (
            "in 20 x",
            [
                &words(random, data.len() * 10),
                data,
                &words(random, data.len() * 10),
            ]
            .concat(),
        ),
    ]
}

#[derive(Default)]
struct Errors {
    count: usize,
    /// The sum of the errors and the sum of their absolute values, for each kind of estimate.
    sums: [(f64, f64); 4],
}

impl Errors {
    fn add(&mut self, errors: [f64; 4]) {
        self.count += 1;
        for (sum, error) in self.sums.iter_mut().zip(errors) {
            sum.0 += error;
            sum.1 += error.abs();
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let top = args.next().unwrap_or_else(|| ".".to_owned());
    let most: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(100);
    let params = Params::default();
    let mut paths = folder::files(Path::new(&top)).expect("a readable folder");
    // A folder without files is probably a misspelt path, so an empty table would mislead.
    assert!(!paths.is_empty(), "no files under {top}");
    let mut random = Random::new(1);
    for i in (1..paths.len()).rev() {
        paths.swap(i, random.below(i + 1));
    }
    let mut table: BTreeMap<(usize, usize, &str), Errors> = BTreeMap::new();
    let mut done = [0; 4];
    for path in paths {
        let Ok(data) = std::fs::read(&path) else {
            continue;
        };
        let class = match data.len() {
            300..2000 => 0,
            2000..16_000 => 1,
            16_000..100_000 => 2,
            100_000..3_000_000 => 3,
            _ => continue,
        };
        if done[class] == most {
            continue;
        }
        done[class] += 1;
        let a = Digest::of(&data, &params);
        for (order, (kind, other)) in edits(&data, &mut random).into_iter().enumerate() {
            let b = Digest::of(&other, &params);
            let (one, two) = (
                Provable::new(a.kind, data.clone()),
                Provable::new(b.kind, other.clone()),
            );
            let exact = one.measure(&two, Unit::Words).measures;
            let found = estimate_texts(&a.sketch(), &b.sketch(), &NoBoilerplate);
            let level = a.signature.level.max(b.signature.level);
            let bound = found.shared_bytes.0 as f64;
            let share = |score: Option<Score>| score.map_or(0.0, Score::get);
            let resemblance = if (a.kind, b.kind) == (ContentKind::Text, ContentKind::Text) {
                share(found.resemblance) - share(exact.resemblance)
            } else {
                0.0
            };
            for (one, other, truth, found) in [
                (&a, &b, exact.a_in_b, found.a_in_b),
                (&b, &a, exact.b_in_a, found.b_in_a),
            ] {
                let mine: Vec<_> = one.signature.at_level(level).collect();
                let shared = mine
                    .iter()
                    .filter(|f| other.signature.fingerprints.contains(f))
                    .count();
                let ratio = shared as f64 / mine.len().max(1) as f64;
                let bound = bound / one.size.0 as f64;
                let (truth, found) = (share(truth), share(found));
                let errors = [found - truth, ratio - truth, bound - truth, resemblance];
                for (order, kind) in [(order, kind), (99, "all")] {
                    table.entry((class, order, kind)).or_default().add(errors);
                }
            }
        }
    }
    println!(
        "size\tkind\tcount\tbias\tMAE\tbias(ratio)\tMAE(ratio)\tbias(chunks)\tMAE(chunks)\t\
         bias(words)\tMAE(words)"
    );
    for ((class, _, kind), errors) in table {
        let class = ["<2K", "2-16K", "16-100K", "100K-3M"][class];
        print!("{class}\t{kind}\t{}", errors.count);
        for (sum, absolute) in errors.sums {
            print!(
                "\t{:+.4}\t{:.4}",
                sum / errors.count as f64,
                absolute / errors.count as f64
            );
        }
        println!();
    }
}
