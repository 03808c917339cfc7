//! Forman, Eshghi & Chiocchetti 2005, *Finding similar files in large document repositories*. The
//! experiments repeat the table of section 3 with chunks of 5000, 1000 and 100 bytes. They also
//! compare two ways to cut texts into chunks, TTTD and the sliding window, and check footnote 2.
//!
//! The places of the cuts are a matter of chance. So both ways are also compared on texts whose
//! byte values are renamed. The renaming keeps the common parts and moves the cuts.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use crate::question::{MethodLimits, MethodScore};
use resemble_core::cluster::UnionFind;
use resemble_methods::chunked::{ChunkTable, common_by_merging};
use resemble_methods::{Method, MethodParams, MethodSignature, Threshold, sign};

use super::{
    Clock, Collection, Draws, Page, Plot, Random, Section, Table, rated, renamed, sign_all,
};
use crate::error::LabError;
use crate::method::RowThreshold;
use crate::method::all_pairs::all_pairs;

/// The mean sizes of chunks in bytes: those of the paper's table, and 1015, which the paper
/// recommends.
const SIZES: [u32; 4] = [5000, 1015, 1000, 100];

/// The number of pairs of files that are compared to check footnote 2. Each pair is compared twice,
/// by merging and with a hash table.
const COMPARED: usize = 200_000;

/// The seed from which random numbers are drawn.
const SEED: u64 = 2005;

type PairSet = BTreeSet<(usize, usize)>;

/// The results of one way to cut the texts. The byte values of the texts are not renamed.
struct ChunkingResult {
    method: Method,
    size: u32,
    signatures: Vec<MethodSignature>,
    pairs: usize,
    chunking: f64,
    analysis: f64,
    partition: f64,
    pruned: f64,
    /// The number of chunks that are in more than one file, but in at most half of all files.
    shared: usize,
    /// The number of files that have the most frequent shared chunk.
    most_shared: usize,
    /// The number of connected components with more than one file.
    parts: usize,
}

/// Figures about the pairs that the two ways of cutting find with one mean chunk size. Each field
/// has a value for each seed.
#[derive(Default)]
struct RecallDraws {
    tttd: Draws,
    bsw: Draws,
    both: Draws,
    tttd_of_bsw: Draws,
    bsw_of_tttd: Draws,
    /// The share of pairs that each way finds, among the pairs that at least one way finds with
    /// chunks of 100 bytes.
    of_finest: [Draws; 2],
}

/// Makes the page of this experiment.
pub fn report(collection: &Collection, seeds: u64, clock: Clock<'_>) -> Result<Page, LabError> {
    let mut all = Vec::new();
    for size in SIZES {
        for method in [Method::Tttd, Method::Bsw] {
            all.push(look(collection, method, size, clock)?);
        }
    }
    let about = format!(
        "{}\n\nA pair is found if chunks prove 1,000 bytes in common (section 3.1 of the paper). \
         Times are of this machine, chunking on all its cores.",
        collection.describe()
    );
    Ok(Page {
        name: "forman".to_owned(),
        title: "Chunks (Forman, Eshghi & Chiocchetti 2005)".to_owned(),
        about,
        sections: vec![
            table(collection, &all),
            recall(collection, seeds)?,
            runs(),
            merging(&all, clock),
        ],
        files: Vec::new(),
    })
}

/// Finds the pairs of texts whose common chunks have at least 1,000 bytes.
fn similar(params: &MethodParams, signatures: &[MethodSignature]) -> Result<PairSet, LabError> {
    let papers = Threshold::SharedBytes(1000);
    let threshold = RowThreshold::new(papers, MethodScore::Paper, MethodLimits::default());
    let pairs = all_pairs(params, signatures, &threshold)?;
    Ok(pairs.iter().map(|pair| (pair.a, pair.b)).collect())
}

fn look(
    collection: &Collection,
    method: Method,
    size: u32,
    clock: Clock<'_>,
) -> Result<ChunkingResult, LabError> {
    let params = rated(method, size)?;
    let start = clock();
    let signatures = sign_all(&params, &collection.texts)?;
    let chunking = clock() - start;
    let start = clock();
    let pairs = similar(&params, &signatures)?.len();
    let analysis = clock() - start;
    // These are the steps of section 2.5. Chunks are sorted. A chunk is ignored if it is in only
    // one file, or in more than half of all files. Files are connected if they have one of the
    // other chunks in common.
    let start = clock();
    let mut entries: Vec<(u64, u32)> = (0u32..)
        .zip(&signatures)
        .flat_map(|(file, signature)| signature.keys().into_iter().map(move |key| (key, file)))
        .collect();
    entries.sort_unstable();
    let half = signatures.len() / 2;
    let (mut sets, mut shared) = (UnionFind::new(signatures.len() as u32), 0);
    let mut most_shared = 0;
    let mut chunks_of: HashMap<u32, u32> = HashMap::new();
    for chunk in entries.chunk_by(|a, b| a.0 == b.0) {
        if chunk.len() < 2 || chunk.len() > half.max(2) {
            continue;
        }
        shared += 1;
        most_shared = most_shared.max(chunk.len());
        for pair in chunk.windows(2) {
            sets.union(pair[0].1, pair[1].1);
        }
        for &(_, file) in chunk {
            *chunks_of.entry(file).or_default() += 1;
        }
    }
    let mut parts: HashMap<u32, Vec<usize>> = HashMap::new();
    for &file in chunks_of.keys() {
        parts
            .entry(sets.find(file))
            .or_default()
            .push(file as usize);
    }
    let partition = clock() - start;
    let start = clock();
    for files in parts.values() {
        let of_part: Vec<MethodSignature> =
            files.iter().map(|&file| signatures[file].clone()).collect();
        similar(&params, &of_part)?;
    }
    let pruned = clock() - start;
    Ok(ChunkingResult {
        method,
        size,
        pairs,
        signatures,
        chunking,
        analysis,
        partition,
        pruned,
        shared,
        most_shared,
        parts: parts.len(),
    })
}

fn chunks(result: &ChunkingResult) -> u64 {
    result
        .signatures
        .iter()
        .map(MethodSignature::occurrences)
        .sum()
}

fn table(collection: &Collection, all: &[ChunkingResult]) -> Section {
    let columns = [
        "method",
        "mean asked",
        "chunks",
        "chunks/MB",
        "mean bytes",
        "in several files",
        "one in at most files",
        "parts",
        "pairs",
        "chunking s",
        "analysis s",
        "partition s",
        "analysis after s",
    ];
    let mut table = Table::new("chunks", &columns);
    let megabytes = collection.bytes() as f64 / 1e6;
    let mut counts = logarithmic("chunks-by-size", "Chunks by mean size", "chunks per MB");
    let mut times = logarithmic(
        "time-by-size",
        "Time to cut texts into chunks",
        "seconds per MB",
    );
    for method in [Method::Tttd, Method::Bsw] {
        let of_method = || all.iter().filter(|result| result.method == method);
        let points = |value: fn(&ChunkingResult) -> f64| {
            of_method().map(move |result| (f64::from(result.size), value(result) / megabytes))
        };
        counts.curve(method.to_string(), points(|result| chunks(result) as f64));
        times.curve(method.to_string(), points(|result| result.chunking));
    }
    counts.paper(
        "paper, TTTD",
        [(5000.0, 88_510.0 / 327.0), (100.0, 3.8e6 / 327.0)],
    );
    times.paper(
        "paper, TTTD",
        [(5000.0, 25.0 * 60.0 / 327.0), (100.0, 39.0 * 60.0 / 327.0)],
    );
    for result in all {
        let count = chunks(result) as f64;
        table.row([
            result.method.to_string(),
            result.size.to_string(),
            format!("{count}"),
            format!("{:.0}", count / megabytes),
            format!("{:.0}", megabytes * 1e6 / count.max(1.0)),
            result.shared.to_string(),
            result.most_shared.to_string(),
            result.parts.to_string(),
            result.pairs.to_string(),
            format!("{:.2}", result.chunking),
            format!("{:.2}", result.analysis),
            format!("{:.2}", result.partition),
            format!("{:.2}", result.pruned),
        ]);
    }
    let mut text = format!(
        "Paper, 327 MB in 52,125 files of 6.3 KB: at 5,000 bytes 88,510 chunks (271 per MB), at \
         100 bytes 3.8 million (11,600 per MB); chunking 25 and 39 minutes, analysis 14 s; with \
         partitioning 4 s, and 2 s after it. A file here has {:.1} KB on average.",
        megabytes * 1e3 / collection.texts.len().max(1) as f64
    );
    if let Some(fine) = all.iter().find(|result| result.size == 100) {
        let partitioned = fine.partition + fine.pruned;
        let _ = write!(
            text,
            " Partitioning at 100 bytes by {}: {:.2} s + {:.2} s instead of {:.2} s, which {}.",
            fine.method,
            fine.partition,
            fine.pruned,
            fine.analysis,
            if partitioned < fine.analysis {
                "gains"
            } else {
                "gains nothing"
            }
        );
    }
    Section::new("Chunks and times", text)
        .plot(counts)
        .plot(times)
        .table(table)
}

fn logarithmic(name: &str, title: &str, y: &str) -> Plot {
    Plot {
        log_x: true,
        log_y: true,
        ..Plot::new(name, title, "mean size asked for, bytes", y)
    }
}

/// Compares the pairs that TTTD finds with those that the sliding window finds.
fn recall(collection: &Collection, seeds: u64) -> Result<Section, LabError> {
    let mut all: [RecallDraws; SIZES.len()] = Default::default();
    for seed in 0..seeds {
        let texts: Vec<Vec<u8>> = collection
            .texts
            .iter()
            .map(|text| renamed(seed, &text.bytes))
            .collect();
        let mut found: Vec<[PairSet; 2]> = Vec::new();
        for size in SIZES {
            let mut of_size: [PairSet; 2] = Default::default();
            for (pairs, method) in of_size.iter_mut().zip([Method::Tttd, Method::Bsw]) {
                let params = rated(method, size)?;
                *pairs = similar(&params, &sign_all(&params, &texts)?)?;
            }
            found.push(of_size);
        }
        let finest: PairSet = SIZES
            .iter()
            .zip(&found)
            .filter(|&(&size, _)| size == 100)
            .flat_map(|(_, of_size)| of_size.iter().flatten().copied())
            .collect();
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        for (draws, [tttd, bsw]) in all.iter_mut().zip(&found) {
            let both = tttd.intersection(bsw).count();
            draws.tttd.push(tttd.len() as f64);
            draws.bsw.push(bsw.len() as f64);
            draws.both.push(both as f64);
            draws.tttd_of_bsw.push(share(both, bsw.len()));
            draws.bsw_of_tttd.push(share(both, tttd.len()));
            for (draws, pairs) in draws.of_finest.iter_mut().zip([tttd, bsw]) {
                draws.push(share(pairs.intersection(&finest).count(), finest.len()));
            }
        }
    }
    Ok(recalled(&all, seeds))
}

fn recalled(all: &[RecallDraws; SIZES.len()], seeds: u64) -> Section {
    let columns = [
        "mean asked",
        "by tttd",
        "by bsw",
        "by both",
        "tttd of bsw's %",
        "bsw of tttd's %",
        "tttd of all at 100 bytes %",
        "bsw of these %",
    ];
    let mut table = Table::new("recall", &columns);
    let mut plot = logarithmic("pairs-by-size", "Pairs found by mean size", "pairs");
    let mut text = format!(
        "Pairs of files with at least 1,000 proven bytes in common: means and ranges of {seeds} \
         seeds, each a renaming of the bytes (seed 0: none)."
    );
    for (size, draws) in SIZES.iter().zip(all) {
        table.row([
            size.to_string(),
            draws.tttd.rounded(0),
            draws.bsw.rounded(0),
            draws.both.rounded(0),
            draws.tttd_of_bsw.to_string(),
            draws.bsw_of_tttd.to_string(),
            draws.of_finest[0].to_string(),
            draws.of_finest[1].to_string(),
        ]);
        let more = draws.tttd.minus(&draws.bsw);
        let (above, below) = (more.above(0.0), more.below(0.0));
        let _ = write!(
            text,
            "\n* {size} bytes: TTTD finds more pairs than the window under {above} seeds, fewer \
             under {below}{}.",
            if above > 0 && below > 0 {
                ": the sign turns"
            } else {
                ""
            }
        );
    }
    for (label, of_size) in [
        ("tttd", all.each_ref().map(|draws| &draws.tttd)),
        ("bsw", all.each_ref().map(|draws| &draws.bsw)),
    ] {
        let sizes = || SIZES.iter().map(|&size| f64::from(size)).zip(of_size);
        plot.curve(label, sizes().map(|(x, draws)| (x, draws.mean())));
        plot.ranges(
            format!("{label}, range"),
            sizes().map(|(x, draws)| (x, draws.least(), draws.greatest())),
        );
    }
    Section::new("Found and lost", text).plot(plot).table(table)
}

/// Shows into which chunks a long run of one character is cut.
fn runs() -> Section {
    let columns = [
        "method",
        "mean asked",
        "chunks of 1 MB of blanks",
        "distinct",
    ];
    let mut table = Table::new("runs", &columns);
    let mut lengths = Vec::new();
    let blanks = vec![b' '; 1_000_000];
    for size in [1015, 100] {
        for method in [Method::Tttd, Method::Bsw] {
            let Ok(params) = rated(method, size) else {
                continue;
            };
            let signature = sign(&params, &blanks);
            let count = signature.occurrences();
            let bytes = blanks.len() as f64 / count.max(1) as f64;
            lengths.push(format!("{bytes:.0} by {method} at {size}"));
            table.row([
                method.to_string(),
                size.to_string(),
                count.to_string(),
                signature.len().to_string(),
            ]);
        }
    }
    let text = format!(
        "A run of one character has one fingerprint, so the window cuts it at each byte or not \
         before its greatest length. Bytes of a chunk: {}.",
        lengths.join(", ")
    );
    Section::new("Long runs of one character", text).table(table)
}

/// Checks footnote 2 of the paper: "a merge-sort style comparison … 2.5 times".
fn merging(all: &[ChunkingResult], clock: Clock<'_>) -> Section {
    let mut table = Table::new(
        "merging",
        &[
            "mean asked",
            "pairs compared",
            "chunks a file",
            "merging s",
            "hash table s",
            "times",
        ],
    );
    let mut times = Vec::new();
    for result in all.iter().filter(|result| result.method == Method::Tttd) {
        let signatures = &result.signatures;
        if signatures.len() < 2 {
            continue;
        }
        // One file is compared with many others, so the hash table of its chunks is built only
        // once.
        let mut random = Random(SEED);
        let (mut merging, mut hashing, mut compared, mut bytes) = (0.0, 0.0, 0, [0u64; 2]);
        let each = signatures.len().min(1000);
        while compared < COMPARED {
            let one = signatures[random.below(signatures.len())].chunk_counts();
            let from = random.below(signatures.len() - each + 1);
            let others = &signatures[from..from + each];
            let start = clock();
            for other in others {
                bytes[0] += common_by_merging(one, other.chunk_counts());
            }
            merging += clock() - start;
            let start = clock();
            let hashed = ChunkTable::new(one);
            for other in others {
                bytes[1] += hashed.common(other.chunk_counts());
            }
            hashing += clock() - start;
            compared += each;
        }
        let count = chunks(result) as f64 / signatures.len() as f64;
        times.push(hashing / merging.max(1e-9));
        table.row([
            result.size.to_string(),
            compared.to_string(),
            format!("{count:.1}"),
            format!("{merging:.3}"),
            format!("{hashing:.3}"),
            format!(
                "{:.2}{}",
                hashing / merging.max(1e-9),
                if bytes[0] == bytes[1] {
                    ""
                } else {
                    " (other bytes!)"
                }
            ),
        ]);
    }
    let range = Draws::from_iter(times).rounded(1);
    let text = format!(
        "Files against others, at most a thousand each, by walking down two sorted lists and by \
         looking up chunks in a hash table. Merging is {range} times as fast by mean size; \
         footnote 2 of the paper: 2.5 times."
    );
    Section::new("Merging and hashing", text).table(table)
}
