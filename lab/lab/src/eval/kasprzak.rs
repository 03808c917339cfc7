//! Kasprzak, Brandejs, Křipač & Šmerk 2008, *Distributed system for discovering similar documents*.
//!
//! The estimates are compared with exact similarities. For exact similarities, chunks are
//! identified by 64 bits, and the common chunks of each pair are counted in memory. The arrays are
//! files in a temporary folder.

mod bound;
mod errors;
mod forms;
mod inflected;
mod scale;
mod stages;
mod words;

use std::path::Path;

use resemble_methods::select::select;
use resemble_methods::{
    Features, Method, MethodParams, MethodSignature, Settings, sorted5::ChunkHashing,
};
use resemble_relate::parallel::in_parallel;

use super::{Clock, Collection, Page};
use crate::arrays::{ArraysError, ArraysFolder, ArraysUpdate, DocumentValues, MappedParts};
use crate::error::{LabError, MethodError};
use crate::method::sorted::real_chunks;

pub use inflected::{InflectedTexts, report as of_inflected_texts};
pub use scale::report as of_made_texts;

/// The number of distinct chunks for each value of the hash in the paper: 445,000,000 chunks over
/// 2^24 values.
const PAPERS_LOAD: f64 = 26.5;

/// The least similarity that is reported. Section 3.1 of the paper says: "only pairs of documents
/// with the similarity of at least 1 %".
const THRESHOLD: f64 = 0.01;

/// The texts of the experiment and their chunks.
struct Corpus<'a> {
    collection: &'a Collection,
    /// The distinct chunks of each text in ascending order. A chunk is the first 64 bits of its
    /// hash.
    chunks: Vec<Vec<u64>>,
    /// The number of distinct chunks in all texts.
    distinct: u64,
    scratch: &'a Path,
}

impl Corpus<'_> {
    /// Returns the number of (chunk, document) pairs.
    fn postings(&self) -> u64 {
        self.chunks.iter().map(|chunks| chunks.len() as u64).sum()
    }

    /// Returns the n for most experiments: 24 as in the paper, or 16 for a small folder, which
    /// saves 64 MiB for each set of arrays.
    const fn bits(&self) -> u32 {
        if self.distinct < SMALL { 16 } else { 24 }
    }

    /// Returns the numbers in `bits` whose arrays are not too large for the folder.
    fn worth(&self, bits: &[u32]) -> Vec<u32> {
        let most = if self.distinct < SMALL { 20 } else { 28 };
        bits.iter().copied().filter(|bits| *bits <= most).collect()
    }

    /// Returns the n with which each value has about as many chunks as in the paper, where n is 24.
    fn papers_bits(&self) -> u32 {
        let bits = (self.distinct as f64 / PAPERS_LOAD).max(1.0).log2().round();
        (bits as u32).clamp(8, self.bits())
    }
}

/// The number of distinct chunks from which on experiments use arrays of 24 bits instead of arrays
/// of 16 bits.
const SMALL: u64 = 1 << 16;

/// Makes the page of this experiment.
pub fn report(collection: &Collection, seeds: u64, clock: Clock<'_>) -> Result<Page, LabError> {
    let parent = std::env::temp_dir();
    let scratch = tempfile::Builder::new()
        .prefix("resemble-eval-")
        .tempdir_in(&parent)
        .map_err(ArraysError::io("make a folder in", &parent))?;
    let params = params(24, ChunkHashing::Md5)?;
    // A chunk is identified by 64 bits of its hash, which are enough for any n.
    let chunks = chunks_of(&params, collection)?;
    let mut all: Vec<u64> = chunks.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let corpus = Corpus {
        collection,
        distinct: all.len() as u64,
        chunks,
        scratch: scratch.path(),
    };
    drop(all);
    let sections = vec![
        stages::data(&corpus),
        errors::small(&corpus, seeds)?,
        errors::large(&corpus)?,
        stages::times(&corpus, clock)?,
        stages::sizes(&corpus)?,
        stages::shards(&corpus, clock)?,
        stages::increments(&corpus, clock)?,
        stages::preselected(&corpus, clock)?,
        stages::offsets(&corpus, clock)?,
        words::hashes(&corpus, clock)?,
        forms::forms(&corpus, seeds)?,
        words::dictionary(&corpus, clock)?,
    ];
    Ok(Page {
        name: "kasprzak".to_owned(),
        title: "Sorted chunks of five words (Kasprzak et al. 2008)".to_owned(),
        about: format!(
            "{}\n\n{params}. Everything is the same on every run but the times.",
            collection.describe()
        ),
        sections,
        files: Vec::new(),
    })
}

fn params(bits: u32, hash: ChunkHashing) -> Result<MethodParams, LabError> {
    settings(&Settings {
        bits: Some(bits),
        hash: Some(hash),
        ..Settings::default()
    })
}

fn settings(settings: &Settings) -> Result<MethodParams, LabError> {
    Ok(MethodParams::new(Method::Sorted5, settings).map_err(MethodError::from)?)
}

/// Returns the distinct chunks of each text.
fn chunks_of(params: &MethodParams, collection: &Collection) -> Result<Vec<Vec<u64>>, LabError> {
    let made = in_parallel(collection.texts.len(), Vec::new, |at, made| {
        made.push((at, real_chunks(params, &collection.texts[at].bytes)));
        Ok::<_, LabError>(())
    })?;
    let mut all: Vec<(usize, Vec<u64>)> = made.into_iter().flatten().collect();
    all.sort_unstable_by_key(|&(at, _)| at);
    Ok(all.into_iter().map(|(_, chunks)| chunks).collect())
}

/// Returns the signatures, at n = `bits`, of texts with these chunks.
fn signatures(bits: u32, chunks: &[Vec<u64>]) -> Result<Vec<MethodSignature>, LabError> {
    let params = params(bits, ChunkHashing::Md5)?;
    let one = |chunks: &Vec<u64>| select(&params, &Features::of_values(chunks.iter().copied()));
    Ok(chunks.iter().map(one).collect())
}

/// Makes the arrays of these signatures in a new folder.
fn arrays(
    scratch: &Path,
    name: &str,
    bits: u32,
    signatures: &[MethodSignature],
    shards: u32,
) -> Result<(ArraysFolder, MappedParts), LabError> {
    let folder = ArraysFolder::new(&scratch.join(name), &format!("sorted5.{bits}"), name);
    let set = merge(&folder, bits, (0..).zip(signatures), shards, &|_| true)?;
    Ok((folder, set))
}

/// Merges documents into the arrays of a folder.
fn merge<'a>(
    folder: &ArraysFolder,
    bits: u32,
    documents: impl IntoIterator<Item = (u32, &'a MethodSignature)>,
    shards: u32,
    stays: &dyn Fn(u32) -> bool,
) -> Result<MappedParts, LabError> {
    let new: Vec<(u32, &MethodSignature)> = documents.into_iter().collect();
    let update = ArraysUpdate {
        bits: bits as u8,
        new: &new,
        shards,
    };
    Ok(folder.update(&update, stays)?)
}

/// Collects the values of all documents, so that they can be looked up in arrays.
fn lists(signatures: &[MethodSignature]) -> DocumentValues {
    DocumentValues::of((0..).zip(signatures))
}

fn bytes_of(set: &MappedParts) -> u64 {
    let sizes = set
        .paths()
        .iter()
        .map(|path| std::fs::metadata(path).map_or(0, |meta| meta.len()));
    sizes.sum()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}
