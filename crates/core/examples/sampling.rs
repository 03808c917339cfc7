//! Measures the cost of sampling and the pairs that it finds. The constants of `SamplingParams`
//! were chosen by this experiment.
//!
//!     cargo run --release -p resemble-core --example sampling -- DIR [OUT]
//!
//! The program digests every file under DIR with several values of the least level and of the cap.
//! For each combination of values it prints the number of fingerprints, and the bytes of content
//! for one fingerprint. With OUT it also writes all pairs with enough evidence to
//! OUT/LEVEL-CAP.tsv: path, path (relative to DIR), the greater containment, `a_in_b`, `b_in_a`,
//! resemblance, shared bytes.
#![allow(clippy::print_stdout, missing_docs)]

mod folder;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;

use resemble_core::digest::Digester;
use resemble_core::params::{ChunkParams, SamplingParams};
use resemble_core::similarity::{NoBoilerplate, estimate};
use resemble_core::{Digest, Params, Score};

/// Returns all pairs that share a fingerprint or a chunk which at most 1,000 files have.
fn candidates(digests: &[Digest]) -> BTreeSet<(usize, usize)> {
    let mut by_key: HashMap<(bool, u64), Vec<usize>> = HashMap::new();
    for (file, digest) in digests.iter().enumerate() {
        let fingerprints = digest.signature.fingerprints.iter().map(|f| (true, f.0));
        let chunks = digest.chunks.0.iter().filter(|run| !run.constant);
        for key in fingerprints.chain(chunks.map(|run| (false, run.hash.posting_key()))) {
            let files = by_key.entry(key).or_default();
            if files.last() != Some(&file) {
                files.push(file);
            }
        }
    }
    let mut pairs = BTreeSet::new();
    for files in by_key.values().filter(|files| files.len() <= 1000) {
        for (i, &a) in files.iter().enumerate() {
            pairs.extend(files[i + 1..].iter().map(|&b| (a, b)));
        }
    }
    pairs
}

fn main() -> std::io::Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let top = args.next().unwrap_or_else(|| ".".into());
    let out = args.next();
    let paths = folder::files(&top).expect("a readable folder");
    // A folder without files is probably a misspelt path, so an empty table would mislead.
    assert!(!paths.is_empty(), "no files under {}", top.display());
    println!("level\tcap\tfiles\tbytes\tfingerprints\tbytes per fingerprint\tpairs");
    for least_level in [4, 5, 6] {
        for cap in [64, 128, 192, 256, 512] {
            let sampling = SamplingParams::at(least_level, cap);
            let params = Params {
                chunk: ChunkParams::PAPER,
                sampling,
                shingles: sampling,
                posted: sampling,
            };
            let mut digester = Digester::new(&params);
            let (mut bytes, mut fingerprints) = (0, 0);
            let mut digests = Vec::new();
            for path in &paths {
                let digest = digester.digest(&std::fs::read(path)?);
                bytes += digest.size.0;
                fingerprints += digest.signature.fingerprints.len();
                if out.is_some() {
                    digests.push(digest);
                }
            }
            let mut text = String::new();
            let mut pairs = 0;
            for (a, b) in candidates(&digests) {
                let found = estimate(&digests[a].sketch(), &digests[b].sketch(), &NoBoilerplate);
                let score = found.containment().map_or(0.0, Score::get);
                if score == 0.0 {
                    continue;
                }
                pairs += 1;
                for path in [&paths[a], &paths[b]] {
                    let path = path.strip_prefix(&top).unwrap_or(path);
                    let _ = write!(text, "{}\t", path.display());
                }
                let share = |score: Option<Score>| score.map_or(-1.0, Score::get);
                let (a_in_b, b_in_a) = (share(found.a_in_b), share(found.b_in_a));
                let (resemblance, bytes) = (share(found.resemblance), found.shared_bytes);
                let _ = writeln!(
                    text,
                    "{score:.6}\t{a_in_b:.6}\t{b_in_a:.6}\t{resemblance:.6}\t{bytes}"
                );
            }
            if let Some(out) = &out {
                std::fs::write(out.join(format!("{least_level}-{cap}.tsv")), text)?;
            }
            let count = paths.len();
            let each = bytes as f64 / f64::from(fingerprints.max(1) as u32);
            println!("{least_level}\t{cap}\t{count}\t{bytes}\t{fingerprints}\t{each:.1}\t{pairs}");
        }
    }
    Ok(())
}
