//! Picks anchors for sif from the texts in folders. This program made
//! `lab/methods/src/anchors.txt`:
//!
//! ```text
//! cargo run --release -p resemble-methods --example anchors -- FOLDER… > anchors.txt
//! ```
//!
//! The program takes up to 8 MiB from each folder: the first 64 KiB of each of several texts. These
//! texts are spread evenly over the sorted list of files.

#![allow(clippy::print_stdout)]

#[path = "../../../crates/core/examples/folder/mod.rs"]
mod folder;

use std::error::Error;
use std::fs;
use std::path::Path;

use resemble_core::ContentKind;
use resemble_methods::anchors::{Anchors, pick};

const OF_FOLDER: usize = 8 << 20;
const OF_FILE: usize = 64 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut texts = Vec::new();
    for folder in std::env::args().skip(1) {
        let files = folder::files(Path::new(&folder))?;
        let step = (files.len() / 2000).max(1);
        let mut taken = 0;
        for file in files.iter().step_by(step) {
            let mut bytes = fs::read(file)?;
            bytes.truncate(OF_FILE);
            if ContentKind::of(&bytes) == ContentKind::Text && taken < OF_FOLDER {
                taken += bytes.len();
                texts.push(bytes);
            }
        }
    }
    let anchors = Anchors::new(pick(&texts, 200, 50))?;
    print!("{}", anchors.to_text());
    Ok(())
}
