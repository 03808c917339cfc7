//! Measures the benefit of a chunk size: how many related pairs are nominated because of common
//! chunks, and how many shared bytes these chunks prove. Also measures the cost of the chunks.
//!
//! ```sh
//! cargo run --release -p resemble-core --example chunk_size -- CORPUS TREE
//! ```
//!
//! CORPUS has files in `files` and their pairs in `truth.tsv`: file, file, kind, …, `long_ab`,
//! `long_ba`. The last two are the shares of each file in common runs of at least 64 bytes. TREE is
//! any folder. Its chunks show how much time and space a chunk size costs.

#![allow(clippy::print_stdout)]

mod folder;

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_core::params::{ChunkParams, SamplingParams};
use resemble_core::similarity::{NoBoilerplate, shared_chunk_bytes};
use resemble_core::{Digest, Digester, Params};

/// The approximate number of bytes that a chunk takes in an index: a hash and a length in the list
/// of chunks, a packed key and a content in the postings.
const BYTES_OF_CHUNK: f64 = 16.0 + 2.0 + 5.0;

/// The maximum number of bytes of the tree that are read.
const MOST: u64 = 400 << 20;

struct Pair {
    files: (String, String),
    kind: String,
    long: (f64, f64),
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(corpus), Some(tree)) = (arguments.next(), arguments.next()) else {
        return Err("CORPUS TREE".into());
    };
    let corpus = PathBuf::from(corpus);
    let pairs = pairs(&corpus)?;
    let names: HashSet<&str> = pairs
        .iter()
        .flat_map(|pair| [pair.files.0.as_str(), pair.files.1.as_str()])
        .collect();
    let mut files = BTreeMap::new();
    for name in names {
        files.insert(name, std::fs::read(corpus.join("files").join(name))?);
    }
    let tree = contents(Path::new(&tree))?;
    let bytes: usize = tree.iter().map(Vec::len).sum();
    println!("| average | nominated | proven | index % | MB/s |");
    println!("|---|---|---|---|---|");
    for average in [145, 256, 512, 1015, 2048, 4096, 16_384] {
        let chunk = ChunkParams::scaled(average).ok_or("an average out of range")?;
        let nothing = SamplingParams::NOTHING;
        let params = Params {
            chunk,
            sampling: nothing,
            shingles: nothing,
            posted: nothing,
        };
        let digests: BTreeMap<&str, Digest> = files
            .iter()
            .map(|(&name, bytes)| (name, Digest::of(bytes, &params)))
            .collect();
        let (mut nominated, mut proven, mut shared) = (0, 0.0, 0.0);
        for pair in &pairs {
            let (a, b) = (
                &digests[pair.files.0.as_str()],
                &digests[pair.files.1.as_str()],
            );
            let common = shared_chunk_bytes(&a.chunks, &b.chunks, &NoBoilerplate).0 as f64;
            let truth = (pair.long.0 * a.size.0 as f64).max(pair.long.1 * b.size.0 as f64);
            nominated += usize::from(common > 0.0);
            proven += common.min(truth);
            shared += truth;
        }
        let begin = Instant::now();
        let mut digester = Digester::new(&params);
        let chunks: u64 = tree
            .iter()
            .map(|bytes| digester.digest(bytes).chunks.len_chunks())
            .sum();
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "| {average} | {:.3} | {:.3} | {:.1} | {:.0} |",
            nominated as f64 / pairs.len() as f64,
            proven / shared,
            chunks as f64 * BYTES_OF_CHUNK * 100.0 / bytes as f64,
            bytes as f64 / 1e6 / seconds,
        );
    }
    Ok(())
}

/// Returns the pairs that have a run of at least 64 bytes in common and are not copies.
fn pairs(corpus: &Path) -> Result<Vec<Pair>, Box<dyn Error>> {
    let table = std::fs::read_to_string(corpus.join("truth.tsv"))?;
    let mut pairs = Vec::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [a, b, kind, .., long_ab, long_ba, _, _, _, _, _] = fields[..] else {
            return Err("a line of truth.tsv has other columns".into());
        };
        let pair = Pair {
            files: (a.to_owned(), b.to_owned()),
            kind: kind.to_owned(),
            long: (long_ab.parse()?, long_ba.parse()?),
        };
        if pair.long.0.max(pair.long.1) > 0.0 && pair.kind != "copy" {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

/// Returns the contents of the first files of a tree, by path, until [`MOST`] bytes are read.
fn contents(tree: &Path) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for file in folder::files(tree)? {
        if bytes < MOST {
            let content = std::fs::read(file)?;
            bytes += content.len() as u64;
            found.push(content);
        }
    }
    Ok(found)
}
