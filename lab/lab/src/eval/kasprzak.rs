//! Kasprzak, Brandejs, Křipač & Šmerk 2008, *Distributed system for discovering similar documents*.
//!
//! What the figures are held against is the exact similarity: chunks known by 64 bits, each pair
//! counted in lists in memory. Arrays are files in a folder of their own that goes when the
//! experiment is over.

mod errors;
mod stages;
mod words;

use std::path::{Path, PathBuf};

use resemble_methods::select::select;
use resemble_methods::{
    Features, Method, MethodParams, MethodSignature, Settings, sorted5::ChunkHashing,
};

use super::{Clock, Collection, Page, Section};
use crate::arrays::{ArraysFolder, ArraysUpdate, DocumentValues, MappedParts};
use crate::error::{LabError, MethodError};
use crate::method::sorted::real_chunks;
use resemble_query::parallel::in_parallel;

/// Distinct chunks for each value of the hash in the paper: 445,000,000 over 2^24.
const PAPERS_LOAD: f64 = 26.5;

/// Section 3.1: "only pairs of documents with the similarity of at least 1 %".
const THRESHOLD: f64 = 0.01;

/// The texts and their chunks.
struct Corpus<'a> {
    collection: &'a Collection,
    /// Of each text its distinct chunks, by 64 bits, ascending.
    chunks: Vec<Vec<u64>>,
    /// Distinct chunks of all.
    distinct: u64,
    scratch: &'a Path,
}

impl Corpus<'_> {
    /// (chunk, document) pairs.
    fn postings(&self) -> u64 {
        self.chunks.iter().map(|chunks| chunks.len() as u64).sum()
    }

    /// The paper's 24; of a small folder 16, which costs no 64 MiB each time.
    const fn bits(&self) -> u32 {
        if self.distinct < SMALL { 16 } else { 24 }
    }

    /// Those of these n that are worth their arrays.
    fn worth(&self, bits: &[u32]) -> Vec<u32> {
        let most = if self.distinct < SMALL { 20 } else { 28 };
        bits.iter().copied().filter(|bits| *bits <= most).collect()
    }

    /// The n with about as many chunks for each value as the paper has with 24.
    fn papers_bits(&self) -> u32 {
        let bits = (self.distinct as f64 / PAPERS_LOAD).max(1.0).log2().round();
        (bits as u32).clamp(8, self.bits())
    }
}

/// Below so many distinct chunks 24 bits say nothing that 16 do not.
const SMALL: u64 = 1 << 16;

/// A folder that goes.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The whole of it.
pub fn report(collection: &Collection, clock: Clock<'_>) -> Result<Page, LabError> {
    use std::hash::{BuildHasher, Hasher};
    let random = std::hash::RandomState::new().build_hasher().finish();
    let scratch = Scratch(std::env::temp_dir().join(format!("resemble-eval-{random:016x}")));
    resemble_mapped::private_folder(&scratch.0).map_err(crate::arrays::ArraysError::from)?;
    let params = params(24, ChunkHashing::Md5)?;
    // By 64 bits, whatever n.
    let chunks = chunks_of(&params, collection)?;
    let mut all: Vec<u64> = chunks.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let corpus = Corpus {
        collection,
        distinct: all.len() as u64,
        chunks,
        scratch: &scratch.0,
    };
    drop(all);
    let sections = vec![
        stages::data(&corpus),
        errors::small(&corpus)?,
        errors::large(&corpus)?,
        stages::times(&corpus, clock)?,
        stages::sizes(&corpus)?,
        stages::shards(&corpus, clock)?,
        stages::increments(&corpus, clock)?,
        stages::preselected(&corpus, clock)?,
        stages::offsets(&corpus, clock)?,
        words::hashes(&corpus, clock)?,
        words::forms(&corpus)?,
        words::dictionary(&corpus, clock)?,
        Section::new("Repeat", "`resemble eval kasprzak FOLDER -o OUT`"),
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

/// The distinct chunks of each text.
fn chunks_of(params: &MethodParams, collection: &Collection) -> Result<Vec<Vec<u64>>, LabError> {
    let made = in_parallel(collection.texts.len(), Vec::new, |at, made| {
        made.push((at, real_chunks(params, &collection.texts[at].bytes)));
        Ok::<_, LabError>(())
    })?;
    let mut all: Vec<(usize, Vec<u64>)> = made.into_iter().flatten().collect();
    all.sort_unstable_by_key(|&(at, _)| at);
    Ok(all.into_iter().map(|(_, chunks)| chunks).collect())
}

/// What is kept of texts with these chunks at n bits.
fn signatures(bits: u32, chunks: &[Vec<u64>]) -> Result<Vec<MethodSignature>, LabError> {
    let params = params(bits, ChunkHashing::Md5)?;
    let one = |chunks: &Vec<u64>| select(&params, &Features::of_values(chunks.iter().copied()));
    Ok(chunks.iter().map(one).collect())
}

/// The arrays of these documents in a folder of their own, made from nothing.
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

/// All of them, to be looked up.
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
