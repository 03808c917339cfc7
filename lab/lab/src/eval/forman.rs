//! Forman, Eshghi & Chiocchetti 2005, *Finding similar files in large document repositories*: the
//! table of section 3 with chunks of 5000, 1000 and 100 bytes, TTTD compared with the sliding
//! window, and footnote 2.

use std::collections::{BTreeSet, HashMap};

use crate::question::{MethodLimits, MethodScore};
use resemble_core::cluster::UnionFind;
use resemble_methods::chunked::{ChunkTable, common_by_merging};
use resemble_methods::{Method, MethodSignature, Threshold, sign};

use super::{Clock, Collection, Page, Random, Section, Table, percent, rated, sign_all};
use crate::error::LabError;
use crate::method::RowThreshold;
use crate::method::all_pairs::all_pairs;

/// Mean sizes of chunks in bytes: those of the paper's table, and the mean that it recommends.
const SIZES: [u32; 4] = [5000, 1015, 1000, 100];

/// How many pairs of files are compared both ways for footnote 2.
const COMPARED: usize = 200_000;

/// The seed of all random numbers.
const SEED: u64 = 2005;

type PairSet = BTreeSet<(usize, usize)>;

/// The results of one way to cut.
struct ChunkingResult {
    method: Method,
    size: u32,
    signatures: Vec<MethodSignature>,
    pairs: PairSet,
    chunking: f64,
    analysis: f64,
    partition: f64,
    pruned: f64,
    /// How many chunks more than one file has.
    shared: usize,
    /// How many files have the most common of these.
    most_shared: usize,
    /// How many connected components have more than one file.
    parts: usize,
}

/// Makes the page.
pub fn report(collection: &Collection, clock: Clock<'_>) -> Result<Page, LabError> {
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
            recall(&all),
            runs(),
            merging(&all, clock),
        ],
        files: Vec::new(),
    })
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
    let papers = Threshold::SharedBytes(1000);
    let threshold = RowThreshold::new(papers, MethodScore::Paper, MethodLimits::default());
    let start = clock();
    let pairs = all_pairs(&params, &signatures, &threshold)?;
    let analysis = clock() - start;
    // Section 2.5: sort by chunk, drop chunks of one file and ubiquitous ones, connect the others.
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
        all_pairs(&params, &of_part, &threshold)?;
    }
    let pruned = clock() - start;
    Ok(ChunkingResult {
        method,
        size,
        pairs: pairs.iter().map(|pair| (pair.a, pair.b)).collect(),
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
    let bytes = collection.bytes() as f64;
    for result in all {
        let count = chunks(result) as f64;
        table.row([
            result.method.to_string(),
            result.size.to_string(),
            format!("{count}"),
            format!("{:.0}", count / (bytes / 1e6)),
            format!("{:.0}", bytes / count.max(1.0)),
            result.shared.to_string(),
            result.most_shared.to_string(),
            result.parts.to_string(),
            result.pairs.len().to_string(),
            format!("{:.2}", result.chunking),
            format!("{:.2}", result.analysis),
            format!("{:.2}", result.partition),
            format!("{:.2}", result.pruned),
        ]);
    }
    let text = "Paper, 327 MB in 52,125 files: at 5,000 bytes 88,510 chunks (271 per MB; short \
        files are one chunk), at 100 bytes 3.8 million (11,600 per MB); chunking 25 and 39 \
        minutes, analysis 14 s; with partitioning 4 s, and 2 s after it.";
    Section::new("Chunks and times", text).table(table)
}

fn recall(all: &[ChunkingResult]) -> Section {
    let columns = [
        "mean asked",
        "by tttd",
        "by bsw",
        "by both",
        "tttd of bsw's %",
        "bsw of tttd's %",
        "tttd of all at 100 bytes %",
        "lost by tttd",
    ];
    let mut table = Table::new("recall", &columns);
    let finest: PairSet = all
        .iter()
        .filter(|result| result.size == 100)
        .flat_map(|result| result.pairs.iter().copied())
        .collect();
    for pair in all.chunks(2) {
        let [tttd, bsw] = pair else { continue };
        let both = tttd.pairs.intersection(&bsw.pairs).count();
        let share = |part: usize, whole: usize| percent(part as f64 / whole.max(1) as f64);
        let of_finest = tttd.pairs.intersection(&finest).count();
        table.row([
            tttd.size.to_string(),
            tttd.pairs.len().to_string(),
            bsw.pairs.len().to_string(),
            both.to_string(),
            share(both, bsw.pairs.len()),
            share(both, tttd.pairs.len()),
            share(of_finest, finest.len()),
            (finest.len() - of_finest).to_string(),
        ]);
    }
    let text = "PairSet with at least 1,000 proven bytes in common. The smaller the chunks, the \
        more is found: what coarse chunks lose is in the last column. At equal mean size TTTD, \
        whose chunks differ less in length, should find as much as the sliding window or more.";
    Section::new("Found and lost", text).table(table)
}

/// Long runs of one character.
fn runs() -> Section {
    let mut table = Table::new(
        "runs",
        &[
            "method",
            "mean asked",
            "chunks of 1 MB of blanks",
            "distinct",
        ],
    );
    let blanks = vec![b' '; 1_000_000];
    for size in [1015, 100] {
        for method in [Method::Tttd, Method::Bsw] {
            let Ok(params) = rated(method, size) else {
                continue;
            };
            let signature = sign(&params, &blanks);
            table.row([
                method.to_string(),
                size.to_string(),
                signature.occurrences().to_string(),
                signature.len().to_string(),
            ]);
        }
    }
    let text = "A run of one character has one fingerprint: the sliding window cuts everywhere or \
        nowhere (here at its bound for holes, 1 MiB). TTTD cuts at its greatest length.";
    Section::new("Long runs of one character", text).table(table)
}

/// Footnote 2: "a merge-sort style comparison … 2.5 times".
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
    for result in all.iter().filter(|result| result.method == Method::Tttd) {
        let signatures = &result.signatures;
        if signatures.len() < 2 {
            continue;
        }
        // One file against many, as an analysis does it, so its hash table is built once.
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
    let text = "Each of some files against a thousand others, by walking down two sorted lists \
        and by looking up chunks in a hash table. Footnote 2 of the paper: merging is 2.5 times \
        as fast.";
    Section::new("Merging and hashing", text).table(table)
}
