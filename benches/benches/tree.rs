//! Measures a whole tree: a first scan, a second scan without changes, the size of the index, and a
//! question. `cat`, `md5sum` and (if it is installed) `ssdeep` read the same files in the same run.
//!
//! ```sh
//! RESEMBLE_BENCH_TREE=/usr/src/linux cargo bench -p resemble-benches --bench tree
//! ```
//!
//! Without the variable, the tree is `/usr/share/doc`. Everything is run twice, and only the second
//! run is measured. So the page cache is warm for all programs.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use resemble_core::Params;
use resemble_core::params::SamplingParams;
use resemble_index::{Entry, Index, Options};
use resemble_query::find::{Subject, listing};
use resemble_scan::ingest::{Ingest, IngestOptions, Report, RootOptions, Target, Unobserved};
use resemble_scan::parts::{self, Formats, Limits, PartReader};

/// The number of questions that are asked.
const ASKED: usize = 2_000;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // This program also runs as the worker process that takes files apart.
    if let Some(code) = parts::worker() {
        return Ok(code);
    }
    let tree = std::env::var_os("RESEMBLE_BENCH_TREE").unwrap_or(OsString::from("/usr/share/doc"));
    let tree = std::fs::canonicalize(tree)?;
    println!("tree {}", tree.display());
    for (name, script) in [
        ("stat walk (find -size -0)", "find \"$1\" -type f -size -0"),
        (
            "xargs -P2 cat",
            "find \"$1\" -type f -print0 | xargs -0 -P2 -n 500 cat",
        ),
        (
            "xargs -P2 md5sum",
            "find \"$1\" -type f -print0 | xargs -0 -P2 -n 500 md5sum",
        ),
        (
            "ssdeep -r",
            "command -v ssdeep >/dev/null && ssdeep -r \"$1\"",
        ),
    ] {
        match peer(script, &tree) {
            Some(time) => println!("{name:32} {:9.2} s", time.as_secs_f64()),
            None => println!("{name:32}  not here"),
        }
    }

    let state = tempfile::tempdir()?;
    let file = state.path().join("index.redb");
    let nothing = SamplingParams::NOTHING;
    let chunks_alone = Params {
        sampling: nothing,
        shingles: nothing,
        posted: nothing,
        ..Params::default()
    };
    first_scan("chunks alone", &tree, &file, &chunks_alone, None)?;
    let formats: Arc<dyn PartReader> = Arc::new(Formats::new(Limits::default(), Vec::new()));
    first_scan(
        "first scan",
        &tree,
        &file,
        &Params::default(),
        Some(&formats),
    )?;
    println!(
        "{:32} {:9.1} MiB",
        "resemble: peak memory",
        peak_memory_kib()? as f64 / 1024.0
    );

    let begin = Instant::now();
    let index = open(&file)?;
    let report = scan(&index, &tree, None)?;
    println!(
        "{:32} {:9.2} s  {} files read",
        "resemble: restart",
        begin.elapsed().as_secs_f64(),
        report.progress.files_read
    );
    questions(&index, &tree)?;
    close(index)?;
    Ok(ExitCode::SUCCESS)
}

/// Scans the tree twice, each time into a new index, and prints the time and the result of the
/// second scan.
fn first_scan(
    name: &str,
    tree: &Path,
    file: &Path,
    params: &Params,
    part_reader: Option<&Arc<dyn PartReader>>,
) -> Result<(), Box<dyn Error>> {
    let mut last = None;
    for _ in 0..2 {
        drop(std::fs::remove_file(file));
        let (begin, before) = (Instant::now(), cpu_seconds()?);
        let (index, _) = Index::open(file, params, &Options::default())?;
        let index = Arc::new(index);
        let report = scan(&index, tree, part_reader.cloned())?;
        let scanned = (begin.elapsed(), cpu_seconds()? - before);
        let begin = Instant::now();
        close(index)?;
        last = Some((scanned, begin.elapsed(), report));
    }
    let Some(((scanned, cpu), closed, report)) = last else {
        return Ok(());
    };
    let bytes = report.progress.bytes_read;
    println!(
        "{:32} {:9.2} s, {cpu:.2} s of CPU  {} files, {:.1} MB read, {} errors",
        format!("resemble: {name}"),
        scanned.as_secs_f64(),
        report.progress.files,
        bytes as f64 / 1e6,
        report.error_count,
    );
    println!("{:32} {:9.2} s", "  closing it", closed.as_secs_f64());
    let disk = std::fs::metadata(file)?.blocks() * 512;
    println!(
        "{:32} {:9.1} MB  {:.2} % of the bytes read",
        "  index on disk",
        disk as f64 / 1e6,
        disk as f64 * 100.0 / bytes.max(1) as f64
    );
    Ok(())
}

/// Returns the processor time of this process and of the child processes that it has waited for.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no name in stat")?;
    let ticks = fields.split_whitespace().skip(11).take(4);
    let ticks = ticks.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    // The kernel always reports these times in hundredths of a second, whatever its internal clock
    // rate.
    Ok(ticks / 100.0)
}

fn open(file: &Path) -> Result<Arc<Index>, Box<dyn Error>> {
    let (index, _) = Index::open(file, &Params::default(), &Options::default())?;
    Ok(Arc::new(index))
}

fn close(index: Arc<Index>) -> Result<(), Box<dyn Error>> {
    Arc::try_unwrap(index)
        .map_err(|_| "the index is still in use")?
        .close()?;
    Ok(())
}

fn scan(
    index: &Arc<Index>,
    tree: &Path,
    part_reader: Option<Arc<dyn PartReader>>,
) -> Result<Report, Box<dyn Error>> {
    let options = IngestOptions {
        roots: vec![RootOptions {
            text: part_reader.is_some(),
            ..RootOptions::new(tree)
        }],
        part_reader,
        ..IngestOptions::default()
    };
    let mut ingest = Ingest::new(Arc::clone(index), options);
    Ok(ingest.reconcile(&[Target::subtree(tree)], &mut Unobserved)?)
}

/// Runs the script twice and returns the time of the second run. Returns `None` if the program of
/// the script is not installed.
fn peer(script: &str, tree: &Path) -> Option<Duration> {
    let mut time = None;
    for _ in 0..2 {
        let begin = Instant::now();
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .arg(tree)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !command.status().ok()?.success() {
            return None;
        }
        time = Some(begin.elapsed());
    }
    time
}

/// Times the question behind `FILE/.similar` for files that are spread over the tree. Each question
/// takes a fresh snapshot, as the overlay does.
fn questions(index: &Arc<Index>, tree: &Path) -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    index.snapshot()?.walk(tree, &mut |path, entry| {
        if matches!(entry, Entry::File(_)) {
            paths.push(path.to_path_buf());
        }
        ControlFlow::Continue(())
    })?;
    let step = (paths.len() / ASKED).max(1);
    let mut times: Vec<(Duration, usize, &PathBuf)> = Vec::new();
    for path in paths.iter().step_by(step) {
        let begin = Instant::now();
        let snapshot = index.snapshot()?;
        let Some(subject) = Subject::remembered(&snapshot, path)? else {
            continue;
        };
        let (_, total) = listing(&snapshot, &subject, true)?;
        times.push((begin.elapsed(), total, path));
    }
    times.sort();
    let at = |share: f64| {
        times[((times.len() - 1) as f64 * share) as usize]
            .0
            .as_secs_f64()
            * 1e3
    };
    println!(
        "{:32} p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, most {:.2} ms ({} asked)",
        "resemble: listing of one file",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        times.len()
    );
    if let Some((time, total, path)) = times.last() {
        println!(
            "{:32} {:.2?}, {total} neighbours: {}",
            "  the slowest",
            time,
            path.display()
        );
    }
    Ok(())
}

/// Returns the largest amount of memory that this process has had, in KiB.
fn peak_memory_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line
        .and_then(|line| line.trim().split(' ').next())
        .ok_or("no VmHWM")?
        .parse()?)
}
