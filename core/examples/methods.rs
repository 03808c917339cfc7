//! What each method costs: MB/s of making signatures, and bytes of a signature for each content byte.
//!
//! ```text
//! cargo run --release -p resemble-core --example methods -- FOLDER
//! ```
//!
//! Reads up to 256 MiB of files under FOLDER into memory first; one thread.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_core::signature::{Method, MethodParams, MethodSignature, Settings, Signer};

const MOST: usize = 256 << 20;

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder")?;
    let mut files = Vec::new();
    list(Path::new(&folder), &mut files)?;
    files.sort();
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for file in files {
        if bytes < MOST {
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
        canonical: resemble_core::signature::canonical::Canonical::Code,
        ..Settings::default()
    };
    all.push(MethodParams::new(Method::Sif, &code)?);
    for params in all {
        // The slow one has enough after a while.
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
    Ok(())
}
