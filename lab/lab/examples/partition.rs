//! Measures the partitioning of Forman et al. 2005, section 2.5, on synthetic chunk lists. Also
//! measures the memory of a process that cuts a file into chunks.
//!
//! ```text
//! cargo run --release -p resemble-lab --example partition -- [FILES] [FOLDER]
//! cargo run --release -p resemble-lab --example partition -- chunk [MIB]
//! ```
//!
//! There are FILES (by default 15,000,000) files of five chunks each. Each family of four files has
//! three chunks in common. All files have one more chunk in common. The files for sorting the
//! entries are in FOLDER.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use resemble_lab::eval::partition::{ChunkEntry, Partition};
use resemble_methods::changes::Random;
use resemble_methods::{Method, MethodParams, Signer};

/// The number of files that have the same three chunks in common.
const FAMILY: u32 = 4;

/// The memory for sorting, in bytes.
const MEMORY: u64 = 256 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == "chunk") {
        let mib = args.get(1).map_or(Ok(256), |mib| mib.parse())?;
        return chunk(mib);
    }
    let files = args.first().map_or(Ok(15_000_000), |files| files.parse())?;
    let temporary = std::env::temp_dir();
    let folder = args.get(1).map_or(&*temporary, |folder| Path::new(folder));
    let entries = (0..files).flat_map(|file| {
        let family = u64::from(file / FAMILY);
        let of_family = (0..3).map(move |at| Random(family * 3 + at).draw());
        let own = (0..2).map(move |at| Random((u64::from(file) * 2 + at) | 1 << 63).draw());
        let chunks = of_family.chain(own).chain([0]);
        chunks.map(move |chunk| ChunkEntry { chunk, file })
    });
    let start = Instant::now();
    let found = Partition::of(files, entries, MEMORY, folder)?;
    let seconds = start.elapsed().as_secs_f64();
    let (parts, connected) = found.several();
    let is_right = (0..files).all(|file| found.least[file as usize] == file / FAMILY * FAMILY);
    println!(
        "{files} files, {} entries, {} distinct chunks, {} connect files: {parts} parts of \
         {connected} files, {} in {seconds:.0} s",
        u64::from(files) * 6,
        found.chunks,
        found.connecting,
        if is_right { "as made" } else { "NOT AS MADE" },
    );
    println!("most memory: {} MB", peak()? / 1000);
    Ok(())
}

/// Cuts random bytes into chunks by TTTD, one buffer at a time.
fn chunk(mib: usize) -> Result<(), Box<dyn Error>> {
    let mut random = Random(2005);
    let mut buffer = vec![0u8; 1 << 18];
    let mut signer = Signer::new(&MethodParams::paper(Method::Tttd));
    let before = peak()?;
    for _ in 0..mib * 4 {
        for word in buffer.as_chunks_mut::<8>().0 {
            *word = random.draw().to_le_bytes();
        }
        signer.update(&buffer);
    }
    let chunks = signer.finish().occurrences();
    println!(
        "{mib} MiB, {chunks} chunks; most memory: {} MB, {} MB before",
        peak()? / 1000,
        before / 1000
    );
    Ok(())
}

/// Returns the maximum memory that this process has used so far, in kilobytes.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(number.ok_or("no VmHWM")?.parse::<u64>()? * 1024 / 1000)
}
