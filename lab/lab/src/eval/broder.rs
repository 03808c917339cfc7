//! Repeats the section "Status" of Broder, Glassman, Manasse & Zweig 1997, *Syntactic clustering of
//! the Web*, on any folder.
//!
//! The folder is streamed: names, sketches and pairs are written to files of the work folder. Only
//! about 100 bytes of each document are in memory. Sections that need whole texts use the texts of
//! a [`Collection`] of limited size.

mod estimates;
mod further;
mod scale;
mod status;
mod stream;
mod supers;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use resemble_methods::{Method, MethodParams};

use super::{Collection, Meters, Page};
use crate::error::{LabError, PhaseError};
use crate::phases::{
    ClusterBatch, ClusterPlan, Clusters, Eliminated, PhaseResults, Policy, SketchedDocument,
};

pub use scale::report as of_made_texts;

/// The costs of one phase: processor and wall seconds, the bytes that it sorts on disk, and the
/// bytes of its file.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    cpu: f64,
    wall: f64,
    sorted: u64,
    file: u64,
}

/// Runs a function and returns its result. The times of the run are added to a stage.
fn timed<T>(
    meters: &Meters<'_>,
    stage: &mut Stage,
    run: impl FnOnce() -> Result<T, LabError>,
) -> Result<T, LabError> {
    let (cpu, wall) = ((meters.cpu)(), (meters.wall)());
    let done = run()?;
    stage.cpu += (meters.cpu)() - cpu;
    stage.wall += (meters.wall)() - wall;
    Ok(done)
}

/// The results of clustering the whole folder.
struct ClusteredFolder {
    totals: stream::FolderTotals,
    stages: [Stage; 6],
    eliminated: Eliminated,
    entries: u64,
    distinct: u64,
    formed: u64,
    pairs: u64,
    results: PhaseResults,
    clusters: Clusters,
    names: DocumentNames,
}

/// The names of the documents, which are stored in a file.
struct DocumentNames {
    path: PathBuf,
    out: BufWriter<File>,
    offsets: Vec<u64>,
    end: u64,
}

impl DocumentNames {
    fn new(work: &Path) -> Result<Self, LabError> {
        let path = work.join("names");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(|source| failed(&path, source))?;
        Ok(Self {
            path,
            out: BufWriter::new(file),
            offsets: Vec::new(),
            end: 0,
        })
    }

    fn push(&mut self, name: &Path) -> Result<(), LabError> {
        let bytes = name.as_os_str().as_bytes();
        self.offsets.push(self.end);
        self.end += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|source| failed(&self.path, source))
    }

    fn at(&mut self, id: u32) -> Result<PathBuf, LabError> {
        let from = self.offsets.get(id as usize).copied().unwrap_or(self.end);
        let to = self
            .offsets
            .get(id as usize + 1)
            .copied()
            .unwrap_or(self.end);
        let mut bytes = vec![0; (to - from) as usize];
        let read = self.out.flush();
        let read = read.and_then(|()| self.out.get_ref().read_exact_at(&mut bytes, from));
        read.map_err(|source| failed(&self.path, source))?;
        Ok(std::ffi::OsString::from_vec(bytes).into())
    }
}

fn failed(path: &Path, source: std::io::Error) -> LabError {
    let path = path.to_owned();
    PhaseError::Folder { path, source }.into()
}

/// Makes the report, or returns `None` for a folder without texts. The files of the phases are
/// written to the folder `work`, which is cleared at the end. Sorting takes `memory` bytes.
///
/// # Errors
///
/// Fails if the folder cannot be listed, or the work folder cannot be written.
pub fn report(
    folder: &Path,
    work: &Path,
    memory: u64,
    most_bytes: u64,
    seeds: u64,
    meters: &Meters<'_>,
) -> Result<Option<Page>, LabError> {
    let made = sections(folder, work, memory, most_bytes, seeds, meters);
    clear(work)?;
    made
}

/// Removes everything that the experiment has written to the work folder.
fn clear(work: &Path) -> Result<(), LabError> {
    let folders = [work.join("regular"), work.join("super")];
    for folder in &folders {
        if folder.exists() {
            ClusterBatch::forget(folder)?;
            std::fs::remove_dir(folder).map_err(|source| failed(folder, source))?;
        }
    }
    let names = work.join("names");
    if names.exists() {
        std::fs::remove_file(&names).map_err(|source| failed(&names, source))?;
    }
    Ok(())
}

fn sections(
    folder: &Path,
    work: &Path,
    memory: u64,
    most_bytes: u64,
    seeds: u64,
    meters: &Meters<'_>,
) -> Result<Option<Page>, LabError> {
    let plan = ClusterPlan {
        memory,
        ..ClusterPlan::new(MethodParams::paper(Method::Shingle))
    };
    let read = |take: TakeDocument<'_>| stream::documents(folder, &plan.params, take);
    let mut whole = phases(read, work, &plan, meters)?;
    if whole.totals.documents == 0 {
        return Ok(None);
    }
    let mut sections = vec![
        status::headline(&whole),
        status::status(&whole)?,
        status::stages(&whole),
        further::policies(&whole, meters)?,
        further::commonest(&mut whole, &plan)?,
    ];
    sections.push(further::by_super_shingles(&whole, work, &plan, meters)?);
    sections.push(supers::recall(&whole.results, whole.pairs)?);
    // The following sections need whole texts, so they use the texts that fit into memory.
    let collection = Collection::read(folder, most_bytes.min(memory / 4))?;
    sections.push(supers::blindness(&collection, seeds)?);
    sections.push(estimates::section(&collection, seeds)?);
    sections.push(further::later(&collection, work, &plan, &whole, meters)?);
    let about = format!(
        "{} texts of {:.1} MB in {}; beside them {} files that are no text, empty or unreadable. \
         {}; {} bytes of memory for sorting.\n\nTimes are of this machine and run; everything \
         else is the same on every run.{}",
        whole.totals.documents,
        whole.totals.bytes as f64 / 1e6,
        folder.file_name().unwrap_or_default().to_string_lossy(),
        whole.totals.others,
        plan.id(),
        memory,
        match (meters.peak)() {
            Some(peak) => format!(
                " Most memory of the process: {:.0} MiB.",
                peak as f64 / f64::from(1 << 20)
            ),
            None => String::new(),
        }
    );
    Ok(Some(Page {
        name: "broder".to_owned(),
        title: "Syntactic clustering (Broder, Glassman, Manasse & Zweig 1997)".to_owned(),
        about,
        sections,
        files: Vec::new(),
    }))
}

/// A function that receives the name of a document and its sketch.
type TakeDocument<'a> = &'a mut dyn FnMut(&Path, &SketchedDocument) -> Result<(), LabError>;

/// Runs the four phases one after the other. `read` passes every document to the function that it
/// gets.
fn phases(
    read: impl FnOnce(TakeDocument<'_>) -> Result<stream::FolderTotals, LabError>,
    work: &Path,
    plan: &ClusterPlan,
    meters: &Meters<'_>,
) -> Result<ClusteredFolder, LabError> {
    let mut stages = [Stage::default(); 6];
    let place = work.join("regular");
    ClusterBatch::forget(&place)?;
    let mut batch = ClusterBatch::begin(&place, plan)?;
    let mut names = DocumentNames::new(work)?;
    let totals = timed(meters, &mut stages[0], || {
        read(&mut |name, document| {
            names.push(name)?;
            batch.add(document)
        })
    })?;
    stages[0].file = batch.sketch_bytes();
    let eliminated = timed(meters, &mut stages[1], || batch.eliminate())?;
    let (entries, distinct) = timed(meters, &mut stages[2], || batch.merge_shingles())?;
    let formed = timed(meters, &mut stages[3], || batch.form_pairs())?;
    let pairs = timed(meters, &mut stages[4], || batch.merge_pairs())?;
    let sorted = batch.sorted_bytes();
    stages[1].sorted = sorted.iter().take(3).sum();
    stages[2].sorted = sorted.get(3).copied().unwrap_or(0);
    stages[4].sorted = sorted.get(4).copied().unwrap_or(0);
    let (results, clusters) = timed(meters, &mut stages[5], || {
        let results = PhaseResults::open(&place, plan)?;
        let clusters = results.cluster(&Policy::PAPER, &mut |_| ())?;
        Ok((results, clusters))
    })?;
    let [_, _, shingles, triples, _] = results.bytes()?;
    (stages[2].file, stages[4].file) = (shingles, triples);
    Ok(ClusteredFolder {
        totals,
        stages,
        eliminated,
        entries,
        distinct,
        formed,
        pairs,
        results,
        clusters,
        names,
    })
}
