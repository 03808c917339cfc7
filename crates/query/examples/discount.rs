//! Measures the effect of the discount on pairs that share a frame and on pairs that share a text.
//!
//! `cargo run --release -p resemble-query --example discount DIR [EVERY]` indexes DIR in memory. It
//! takes every EVERY-th content and all partners related to it by the raw score. Each pair is
//! judged by its bytes: the comments at the heads of both files are removed, and the remaining
//! parts are compared exactly. A pair *has a common text* if a quarter of either part lies in the
//! other. It *shares a frame* if less than a twentieth does. For each of these two kinds and
//! several weightings, prints the share of the pairs that keep a relation (25 %) after the
//! discount.

#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use resemble_core::similarity::{self, Boilerplate, Sketch, runs};
use resemble_core::{ChunkList, ContentId, ContentKind, Fingerprint, Params, Signature};
use resemble_index::{ContentRow, Index, PostingKind, Snapshot};
use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};

const LIMIT: f64 = 1000.0;
const FREE: [f64; 5] = [8.0, 16.0, 32.0, 64.0, 128.0];
const POWERS: [i32; 6] = [1, 2, 4, 6, 8, 12];

struct Known<'a>(&'a Snapshot);

impl Boilerplate for Known<'_> {
    fn chunk(&self, key: u64) -> bool {
        self.0
            .is_boilerplate(PostingKind::Chunk, key)
            .unwrap_or(false)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        let known = self
            .0
            .is_boilerplate(PostingKind::Fingerprint, fingerprint.0);
        known.unwrap_or(false)
    }
}

/// The raw score of a pair, and its common pieces. Each piece has the number of contents that have
/// it, and its bytes.
struct Pair {
    raw: f64,
    pieces: Vec<(u32, f64)>,
}

type Counts = HashMap<(PostingKind, u64), u32>;

fn keys(chunks: &ChunkList, signature: &Signature) -> [(PostingKind, Vec<u64>); 2] {
    let evidence = chunks.0.iter().filter(|run| run.is_evidence());
    let mut of_chunks: Vec<u64> = evidence.map(|run| run.hash.posting_key()).collect();
    let mut samples: Vec<u64> = signature.fingerprints.iter().map(|f| f.0).collect();
    of_chunks.sort_unstable();
    of_chunks.dedup();
    samples.sort_unstable();
    [
        (PostingKind::Chunk, of_chunks),
        (PostingKind::Fingerprint, samples),
    ]
}

fn path(snapshot: &Snapshot, content: ContentId) -> Result<PathBuf, Box<dyn Error>> {
    let file = snapshot.files_of(content)?;
    let paths = snapshot.paths(*file.first().ok_or("a content without a file")?)?;
    Ok(paths.into_iter().next().ok_or("a file without a name")?)
}

/// Returns the file without the comments at its head.
fn body(snapshot: &Snapshot, content: ContentId) -> Result<Vec<u8>, Box<dyn Error>> {
    let bytes = std::fs::read(path(snapshot, content)?)?;
    let mut rest = &bytes[..];
    loop {
        rest = rest.trim_ascii_start();
        let end = if rest.starts_with(b"/*") {
            rest.windows(2).position(|w| w == b"*/").map(|at| at + 2)
        } else if rest.starts_with(b"//") || rest.starts_with(b"#") && !rest.starts_with(b"#i") {
            rest.iter().position(|&byte| byte == b'\n')
        } else {
            None
        };
        match end {
            Some(end) => rest = &rest[end..],
            None => return Ok(rest.to_vec()),
        }
    }
}

fn partners(
    snapshot: &Snapshot,
    of: &[(PostingKind, Vec<u64>); 2],
) -> Result<(Vec<ContentId>, Counts), Box<dyn Error>> {
    let (mut found, mut counts) = (HashMap::<ContentId, u32>::new(), Counts::new());
    for (kind, keys) in of {
        snapshot.postings_up_to(*kind, keys, LIMIT as u32, &mut |at, contents| {
            counts.insert((*kind, keys[at]), contents.len() as u32);
            for &content in contents {
                *found.entry(content).or_default() += 1;
            }
        })?;
    }
    let mut found: Vec<ContentId> = found
        .into_iter()
        .filter(|&(_, pieces)| pieces >= 2)
        .map(|(content, _)| content)
        .collect();
    found.sort_unstable();
    Ok((found, counts))
}

fn pair(
    snapshot: &Snapshot,
    a: (&ContentRow, &Sketch<'_>),
    b: (&ContentRow, &Sketch<'_>),
    counts: &Counts,
) -> Option<Pair> {
    let known = Known(snapshot);
    let measures = similarity::estimate_texts(a.1, b.1, &known);
    similarity::relation(
        false,
        a.0.size,
        b.0.size,
        &measures,
        similarity::Relation::MIN_SHARED,
    )?;
    let level = a.0.level.max(b.0.level);
    let spacing = 2f64.powi(i32::from(level));
    let mut pieces = Vec::new();
    let ours = keys(a.1.chunks, a.1.signature);
    let theirs = keys(b.1.chunks, b.1.signature);
    for ((kind, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        for key in ours.iter().filter(|key| theirs.binary_search(key).is_ok()) {
            let bytes = match kind {
                PostingKind::Fingerprint if Fingerprint(*key).level() < level => continue,
                PostingKind::Fingerprint => spacing,
                PostingKind::Chunk => {
                    let run =
                        a.1.chunks
                            .0
                            .iter()
                            .find(|run| run.hash.posting_key() == *key);
                    run.map_or(0.0, |run| f64::from(run.len))
                }
            };
            if let Some(&count) = counts.get(&(*kind, *key)) {
                pieces.push((count, bytes));
            }
        }
    }
    Some(Pair {
        raw: measures.containment()?.get(),
        pieces,
    })
}

fn discounted(pair: &Pair, free: f64, power: i32) -> f64 {
    let weight = |count: u32| {
        let rarity = |n: f64| (LIMIT / n).ln();
        (rarity(f64::from(count)).max(0.0) / rarity(free))
            .min(1.0)
            .powi(power)
    };
    let all: f64 = pair.pieces.iter().map(|piece| piece.1).sum();
    let kept: f64 = pair
        .pieces
        .iter()
        .map(|piece| piece.1 * weight(piece.0))
        .sum();
    let mean = if all > 0.0 { kept / all } else { 1.0 };
    pair.raw * mean / (1.0 - pair.raw * (1.0 - mean)).max(1e-9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().ok_or("name a directory")?).canonicalize()?;
    let every: usize = args.next().map_or(Ok(40), |text| text.parse())?;
    let index = Arc::new(Index::in_memory(&Params::default())?);
    let options = IngestOptions {
        roots: vec![RootOptions::new(&dir)],
        ..IngestOptions::default()
    };
    let mut ingest = Ingest::new(Arc::clone(&index), options);
    ingest.reconcile(&[Target::subtree(dir)], &mut Unobserved)?;
    index.finish_bulk()?;
    let snapshot = index.snapshot()?;
    let (mut frames, mut texts) = (Vec::new(), Vec::new());
    let contents = snapshot.totals()?.contents as u32;
    for content in (0..contents).step_by(every).map(ContentId) {
        let Some(a) = snapshot
            .content(content)?
            .filter(|row| row.kind == ContentKind::Text)
        else {
            continue;
        };
        let (chunks, signature) = (snapshot.chunks(content)?, snapshot.signature(content)?);
        let sketch = Sketch {
            size: a.size,
            chunks: &chunks,
            signature: &signature,
        };
        let (found, counts) = partners(&snapshot, &keys(&chunks, &signature))?;
        // Hundreds of partners may share one frame. About 40 of them are representative.
        let step = found.len().div_ceil(40).max(1);
        for other in found
            .into_iter()
            .step_by(step)
            .filter(|&other| other != content)
        {
            let Some(b) = snapshot
                .content(other)?
                .filter(|row| row.kind == ContentKind::Text)
            else {
                continue;
            };
            let (chunks, signature) = (snapshot.chunks(other)?, snapshot.signature(other)?);
            let theirs = Sketch {
                size: b.size,
                chunks: &chunks,
                signature: &signature,
            };
            let Some(pair) = pair(&snapshot, (&a, &sketch), (&b, &theirs), &counts) else {
                continue;
            };
            let (left, right) = (body(&snapshot, content)?, body(&snapshot, other)?);
            let rest = runs::exact(&left, &right);
            match rest.containment() {
                Some(share) if share.get() >= 0.25 => texts.push(pair),
                Some(share) if share.get() >= 0.05 => {}
                _ => frames.push(pair),
            }
        }
    }
    println!(
        "{} pairs share a frame, {} a text",
        frames.len(),
        texts.len()
    );
    println!("free  power   frames kept   texts kept");
    let kept = |pairs: &[Pair], free, power| {
        let kept = pairs
            .iter()
            .filter(|pair| discounted(pair, free, power) >= 0.25);
        100.0 * kept.count() as f64 / pairs.len().max(1) as f64
    };
    for power in POWERS {
        for free in FREE {
            println!(
                "{free:4}  {power:5}   {:9.1} %   {:8.1} %",
                kept(&frames, free, power),
                kept(&texts, free, power)
            );
        }
    }
    Ok(())
}
