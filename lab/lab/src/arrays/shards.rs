//! Divides work among processes of the running program.
//!
//! A process gets its number and a folder to work in. A file in the folder describes the job, and
//! each process writes its results to files, too. Building divides the values into ranges, and
//! searching divides the documents into ranges. The machines of a cluster would divide the work in
//! the same way (section 4.5 of the paper).
//!
//! If one process fails, the whole work fails, and the error contains what that process wrote to
//! standard error. A worker is killed when the process that started it ends.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::process::Signal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::build::{self, BuildJob, Range};
use super::search::{MOST_VALUES, pairs_of_places};
use super::{ArraysError, CommonChunks, MappedParts};

/// The first argument of a worker process.
const WORKER: &str = "arrays-worker";

/// The name of the file that describes the job.
const JOB: &str = "job";

/// The job of a search for pairs of documents.
#[derive(Debug, Serialize, Deserialize)]
struct SearchJob {
    parts: Vec<PathBuf>,
    /// The numbers of all documents that the search includes.
    numbers: Vec<u32>,
    /// The bits of the least similarity, so that the number is passed on without rounding.
    least: u64,
    ranges: Vec<Range>,
}

/// Makes all parts of a job. A single part is made by this process. If there are several parts,
/// each part is made by a process of its own.
pub(super) fn build(work: &Path, folder: &Path, job: &BuildJob) -> Result<(), ArraysError> {
    if job.parts.len() == 1 {
        return build::part(work, folder, job, 0);
    }
    put(work, job)?;
    run("build", work, folder, job.parts.len())
}

/// Searches for pairs. A process is started for each range of documents.
pub(super) fn search(
    work: &Path,
    set: &MappedParts,
    numbers: &[u32],
    least: f64,
    ranges: Vec<Range>,
) -> Result<Vec<CommonChunks>, ArraysError> {
    let job = SearchJob {
        parts: set.paths().to_vec(),
        numbers: numbers.to_vec(),
        least: least.to_bits(),
        ranges,
    };
    put(work, &job)?;
    run("search", work, work, job.ranges.len())?;
    let mut found = Vec::new();
    for at in 0..job.ranges.len() {
        let path = work.join(found_name(at));
        let bytes = fs::read(&path).map_err(ArraysError::io("read", &path))?;
        let (rows, _) = bytes.as_chunks::<12>();
        let number = |row: &[u8; 12], at: usize| {
            row[at..]
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        found.extend(rows.iter().map(|row| CommonChunks {
            a: number(row, 0),
            b: number(row, 4),
            common: number(row, 8),
        }));
    }
    found.sort_unstable();
    Ok(found)
}

fn found_name(at: usize) -> String {
    format!("found-{at:03}")
}

fn put(work: &Path, job: &impl Serialize) -> Result<(), ArraysError> {
    let path = work.join(JOB);
    let text = serde_json::to_vec(job).map_err(|e| ArraysError::Worker(e.to_string()))?;
    fs::write(&path, text).map_err(ArraysError::io("write", &path))
}

fn get<J: DeserializeOwned>(work: &Path) -> Result<J, ArraysError> {
    let path = work.join(JOB);
    let text = fs::read(&path).map_err(ArraysError::io("read", &path))?;
    serde_json::from_slice(&text).map_err(|e| ArraysError::Worker(e.to_string()))
}

/// The worker processes. Dropping this value kills those that still run.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Starts `count` worker processes and waits until all have ended.
fn run(what: &str, work: &Path, folder: &Path, count: usize) -> Result<(), ArraysError> {
    let failed = |error: std::io::Error| ArraysError::Worker(error.to_string());
    let mut children = Children(Vec::new());
    for at in 0..count {
        // This link leads to the program that is running. The path of the program may lead to
        // another version by now.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(WORKER)
            .arg(what)
            .arg(work)
            .arg(folder)
            .arg(at.to_string());
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        children.0.push(command.spawn().map_err(failed)?);
    }
    for mut child in children.0.drain(..).map(|child| Children(vec![child])) {
        let Some(child) = child.0.pop() else { continue };
        let ended = child.wait_with_output().map_err(failed)?;
        if !ended.status.success() {
            let reason = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(ArraysError::Worker(format!("{} ({reason})", ended.status)));
        }
    }
    Ok(())
}

/// Checks whether the program was started as a worker. If so, does the worker's job and returns its
/// exit status. Every program that uses arrays calls this function first.
pub fn worker() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != WORKER {
        return None;
    }
    let arguments: Vec<OsString> = arguments.collect();
    // The results are useless once the process that started this one has ended, so the kernel kills
    // this process then.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    Some(match work(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            drop(writeln!(std::io::stderr(), "{error}"));
            ExitCode::from(2)
        }
    })
}

fn work(arguments: &[OsString]) -> Result<(), ArraysError> {
    let none = || ArraysError::Worker("the arguments of the worker are wrong".to_owned());
    let [what, work, folder, at] = arguments else {
        return Err(none());
    };
    let (work, folder) = (Path::new(work), Path::new(folder));
    let at: usize = at
        .to_str()
        .and_then(|at| at.parse().ok())
        .ok_or_else(none)?;
    match what.to_str() {
        Some("build") => build::part(work, folder, &get::<BuildJob>(work)?, at),
        Some("search") => look_up(work, &get(work)?, at),
        _ => Err(none()),
    }
}

fn look_up(work: &Path, job: &SearchJob, at: usize) -> Result<(), ArraysError> {
    let range = job.ranges.get(at);
    let range = range.ok_or_else(|| ArraysError::Worker("there is no such range".to_owned()))?;
    let places = range.from as usize..range.to as usize;
    if places.end > job.numbers.len() {
        return Err(ArraysError::Worker("there is no such range".to_owned()));
    }
    let set = MappedParts::open(&job.parts)?;
    let least = f64::from_bits(job.least);
    let found = pairs_of_places(&set, &job.numbers, places, least, 1, MOST_VALUES)?;
    let mut bytes = Vec::with_capacity(found.len() * 12);
    for CommonChunks { a, b, common } in found {
        for number in [a, b, common] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let path = work.join(found_name(at));
    fs::write(&path, bytes).map_err(ArraysError::io("write", &path))
}
