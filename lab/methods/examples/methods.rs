//! Measures the costs of each method: the speed of computing signatures in MB/s, and the size of a
//! signature relative to its content.
//!
//! ```text
//! cargo run --release -p resemble-methods --example methods -- FOLDER [MIB]
//! ```
//!
//! The program reads up to MIB (by default 256) mebibytes of files in FOLDER into memory and works
//! on one thread. Then it measures the stages in which sif compares all files with each other.
//! Last, it measures the merging of chunk lists of Forman et al.

#![allow(clippy::print_stdout)]

#[path = "../../../crates/core/examples/folder/mod.rs"]
mod folder;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use resemble_methods::chunked::{ChunkTable, common_by_merging};
use resemble_methods::collate::{Collator, GroupQuery};
use resemble_methods::interesting::{STEPS, interesting};
use resemble_methods::{Method, MethodParams, MethodSignature, Settings, Signer};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder")?;
    let mib = std::env::args()
        .nth(2)
        .map_or(Ok(256), |mib| mib.parse::<usize>())?;
    let files = folder::files(Path::new(&folder))?;
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for file in files {
        if bytes < mib << 20 {
            let text = fs::read(file)?;
            bytes += text.len();
            texts.push(text);
        }
    }
    println!("{} files, {} MB", texts.len(), bytes / 1_000_000);
    println!("method\tMB/s\tentries/file\tbytes/file\t% of content");
    let mut all: Vec<MethodParams> = Method::ALL.map(MethodParams::paper).into();
    for method in [Method::Mod, Method::Min] {
        let words = Settings {
            words: Some(10),
            ..Settings::default()
        };
        all.push(MethodParams::new(method, &words)?);
    }
    let code = Settings {
        canonical: resemble_methods::canonical::Canonical::Code,
        ..Settings::default()
    };
    all.push(MethodParams::new(Method::Sif, &code)?);
    for params in all {
        // The slow method gets only an eighth of the files.
        let part = if params.method() == Method::Sketch {
            8
        } else {
            1
        };
        let texts = &texts[..texts.len().div_ceil(part)];
        let bytes: usize = texts.iter().map(Vec::len).sum();
        let mut signer = Signer::new(&params);
        let start = Instant::now();
        let mut signatures = Vec::new();
        for text in texts {
            signer.update(text);
            signatures.push(signer.finish());
        }
        let seconds = start.elapsed().as_secs_f64();
        let entries: usize = signatures.iter().map(MethodSignature::len).sum();
        let encoded: usize = signatures
            .iter()
            .map(|signature| signature.encode().len())
            .sum();
        println!(
            "{params}\t{:.0}\t{:.1}\t{:.0}\t{:.2}",
            bytes as f64 / seconds / 1e6,
            entries as f64 / texts.len() as f64,
            encoded as f64 / texts.len() as f64,
            100.0 * encoded as f64 / bytes as f64,
        );
    }
    all_against_all(&texts);
    merge_and_table(&texts);
    Ok(())
}

fn signatures(params: &MethodParams, texts: &[Vec<u8>]) -> Vec<MethodSignature> {
    let mut signer = Signer::new(params);
    let signed = texts.iter().map(|text| {
        signer.update(text);
        signer.finish()
    });
    signed.collect()
}

/// Measures the stages of sif, in milliseconds.
fn all_against_all(texts: &[Vec<u8>]) {
    let mut start = Instant::now();
    let mut lap = |what: &str| {
        println!("sif, {what}: {} ms", start.elapsed().as_millis());
        start = Instant::now();
    };
    let signatures = signatures(&MethodParams::paper(Method::Sif), texts);
    lap("fingerprints");
    let mut collator = Collator::default();
    for signature in &signatures {
        collator.add(signature.keys());
    }
    let collated = collator.finish();
    lap("sorting and collating");
    println!(
        "{} sets, {} bytes kept",
        collated.len(),
        collated.encode().len()
    );
    lap("encoding");
    for percent in [25, 50] {
        for most_members in [None, Some(1000)] {
            let query = GroupQuery {
                threshold: f64::from(percent) / 100.0,
                most_members,
                ..GroupQuery::default()
            };
            let groups = collated.groups(&query).len();
            lap(&format!(
                "{groups} groups at {percent} %, sets of at most {most_members:?}"
            ));
        }
    }
    for least in [10, 50] {
        let found = interesting(&collated, least, Some(1000), STEPS);
        let (sets, complete) = (found.sets.len(), found.complete);
        lap(&format!(
            "{sets} interesting sets of {least}, complete: {complete}"
        ));
    }
}

/// Compares the time for merging two lists of chunks with the time for using a hash table (Forman
/// et al. 2005, footnote 2). Each pair is two successive texts of more than 50,000 bytes.
fn merge_and_table(texts: &[Vec<u8>]) {
    let settings = Settings {
        rate: Some(100),
        ..Settings::default()
    };
    let Ok(params) = MethodParams::new(Method::Tttd, &settings) else {
        return;
    };
    let large: Vec<Vec<u8>> = texts
        .iter()
        .filter(|text| text.len() > 50_000)
        .cloned()
        .collect();
    let lists: Vec<_> = signatures(&params, &large)
        .iter()
        .map(|signature| signature.chunk_counts().to_vec())
        .collect();
    let pairs = || lists.windows(2).flat_map(|pair| [(&pair[0], &pair[1]); 20]);
    let start = Instant::now();
    let merged: u64 = pairs().map(|(a, b)| common_by_merging(a, b)).sum();
    let merging = start.elapsed();
    let tables: Vec<ChunkTable> = lists.iter().map(|list| ChunkTable::new(list)).collect();
    let start = Instant::now();
    let looked_up: u64 = lists
        .windows(2)
        .zip(&tables)
        .flat_map(|(pair, table)| [(table, &pair[1]); 20])
        .map(|(table, b)| table.common(b))
        .sum();
    let table = start.elapsed();
    assert_eq!(merged, looked_up);
    println!(
        "{} pairs of lists: merging {} ms, table {} ms ({:.1} times)",
        pairs().count(),
        merging.as_millis(),
        table.as_millis(),
        table.as_secs_f64() / merging.as_secs_f64()
    );
}
