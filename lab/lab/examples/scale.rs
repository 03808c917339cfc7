//! Runs the methods of two papers on many synthetic texts: the phases of Broder et al. 1997 and the
//! steps of Kasprzak et al. 2008. Prints the results as tables for `lab/results`.
//!
//! ```text
//! cargo run --release -p resemble-lab --example scale -- broder WORDS TEXTS FOLDER
//! cargo run --release -p resemble-lab --example scale -- kasprzak WORDS TEXTS FOLDER
//! cargo run --release -p resemble-lab --example scale -- theses WORDS TEXTS
//! ```
//!
//! The words of the texts are drawn from the first 2 MiB of the texts in the folder WORDS.
//! Temporary files are written to FOLDER. `theses` prints the texts of `kasprzak`, one on each
//! line, for `lab/database.py`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use resemble_lab::eval::made::MadeTexts;
use resemble_lab::eval::{Collection, Meters, broder, kasprzak, page};

/// The seed from which all texts are made.
const SEED: u64 = 1997;

/// The number of bytes of text from which words are drawn.
const WORDS: u64 = 2 << 20;

/// The memory for sorting, in bytes.
const MEMORY: u64 = 512 << 20;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The program may have been started as a worker that makes or searches arrays. In that case it
    // does only this work.
    if let Some(ended) = resemble_lab::arrays::worker() {
        return Ok(ended);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let began = Instant::now();
    let wall = || began.elapsed().as_secs_f64();
    let report = match args[..] {
        ["broder", words, texts, folder] => {
            let meters = Meters {
                wall: &wall,
                cpu: &|| cpu(2),
                peak: &|| Some(peak("VmHWM:")),
            };
            let work = made_folder(folder)?;
            broder::of_made_texts(&made(words)?, texts.parse()?, work, MEMORY, &meters)?
        }
        ["kasprzak", words, texts, folder] => {
            let meters = Meters {
                wall: &wall,
                cpu: &|| cpu(4),
                peak: &|| Some(peak("VmHWM:").saturating_sub(peak("RssFile:"))),
            };
            let processes = std::thread::available_parallelism()?.get() as u32;
            let work = made_folder(folder)?;
            kasprzak::of_made_texts(&made(words)?, texts.parse()?, work, processes, &meters)?
        }
        ["theses", words, texts] => {
            let (texts, mut out) = (texts.parse()?, BufWriter::new(std::io::stdout().lock()));
            let made = made(words)?;
            for thesis in 0..texts {
                let mut text = made.thesis(thesis);
                text.retain(|&byte| byte != b'\n');
                text.push(b'\n');
                out.write_all(&text)?;
            }
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {
            return Err(
                "broder WORDS TEXTS FOLDER, kasprzak WORDS TEXTS FOLDER or theses WORDS TEXTS"
                    .into(),
            );
        }
    };
    let build = if cfg!(debug_assertions) {
        "development"
    } else {
        "release"
    };
    let load = load()?;
    println!("# run/run\n\there\nseed\t{SEED}\nbuild\t{build}\nload at the end\t{load}\n");
    print!("{}", page::results_of(&report));
    Ok(ExitCode::SUCCESS)
}

fn made(words: &str) -> Result<MadeTexts, Box<dyn Error>> {
    // Files are opened from the root folder, so the path of this folder must be absolute.
    let collection = Collection::read(&std::path::absolute(words)?, WORDS)?;
    Ok(MadeTexts::new(&collection, SEED).ok_or("no words")?)
}

fn made_folder(folder: &str) -> std::io::Result<&Path> {
    fs::create_dir_all(folder)?;
    Ok(Path::new(folder))
}

/// Returns the sum of the first `fields` of four processor times, in seconds. The first two times
/// are those of this process. The other two are those of its child processes that have ended.
fn cpu(fields: usize) -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces and parentheses.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest.split_whitespace().skip(11).take(fields);
    ticks.filter_map(|one| one.parse::<u64>().ok()).sum::<u64>() as f64 / 100.0
}

/// Returns the value of a line of `/proc/self/status`, in bytes.
fn peak(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// Returns the average number of runnable threads of the machine in the last 15 minutes.
fn load() -> Result<String, Box<dyn Error>> {
    let load = fs::read_to_string("/proc/loadavg")?;
    Ok(load
        .split_whitespace()
        .nth(2)
        .unwrap_or_default()
        .to_owned())
}
