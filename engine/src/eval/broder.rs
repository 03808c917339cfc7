//! Broder, Glassman, Manasse & Zweig 1997, *Syntactic clustering of the Web*: "Status", on any folder.
//!
//! The folder is streamed: names, sketches and pairs are in files of the work folder, and of a document some 100 bytes are in
//! memory. Experiments that need texts take those of a bounded [`Collection`].

mod estimates;
mod stream;
mod supers;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use resemble_core::signature::changes::{Edit, Spread, edited};
use resemble_core::signature::shingle::wording;
use resemble_core::signature::{Method, MethodParams, Scheme, sign};

use super::{Clock, Collection, Report, Section, Table, percent};
use crate::ask::{AskError, bytes_of};
use crate::phases::{Batch, Clusters, Document, Eliminated, Kept, PhaseError, Plan, Policy};

/// Texts that come later.
const LATER: usize = 1000;

/// Shingles that are listed.
const COMMONEST: usize = 20;

/// What is measured besides figures.
pub struct Meters<'a> {
    /// Seconds since some moment.
    pub wall: Clock<'a>,
    /// Seconds of the processor that this process has used.
    pub cpu: Clock<'a>,
    /// The most memory that it has had, in bytes; `None`: it cannot be told.
    pub peak: &'a dyn Fn() -> Option<u64>,
}

impl std::fmt::Debug for Meters<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meters")
    }
}

/// One phase: processor and wall seconds, bytes that were sorted on disk, bytes of what it keeps.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    cpu: f64,
    wall: f64,
    sorted: u64,
    file: u64,
}

/// The phases of the paper's table, with its CPU-days.
const STAGES: [(&str, f64); 6] = [
    ("Sketching", 4.6),
    ("Duplicate Elimination", 0.3),
    ("Shingle Merging", 1.7),
    ("ID-ID Pair Formation", 0.7),
    ("ID-ID Merging", 2.6),
    ("Cluster Formation", 0.5),
];

/// Runs something and measures it.
fn timed<T>(
    meters: &Meters<'_>,
    stage: &mut Stage,
    run: impl FnOnce() -> Result<T, AskError>,
) -> Result<T, AskError> {
    let (cpu, wall) = ((meters.cpu)(), (meters.wall)());
    let done = run()?;
    stage.cpu += (meters.cpu)() - cpu;
    stage.wall += (meters.wall)() - wall;
    Ok(done)
}

/// What came of the whole folder.
struct Whole {
    found: stream::Found,
    stages: [Stage; 6],
    eliminated: Eliminated,
    entries: u64,
    distinct: u64,
    formed: u64,
    pairs: u64,
    kept: Kept,
    clusters: Clusters,
    names: Names,
}

/// The names of the documents, in a file.
struct Names {
    path: PathBuf,
    out: BufWriter<File>,
    offsets: Vec<u64>,
    end: u64,
}

impl Names {
    fn new(work: &Path) -> Result<Self, AskError> {
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

    fn push(&mut self, name: &Path) -> Result<(), AskError> {
        let bytes = name.as_os_str().as_bytes();
        self.offsets.push(self.end);
        self.end += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|source| failed(&self.path, source))
    }

    fn at(&mut self, id: u32) -> Result<PathBuf, AskError> {
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

fn failed(path: &Path, source: std::io::Error) -> AskError {
    let path = path.to_owned();
    PhaseError::Folder { path, source }.into()
}

/// The whole of it; none of a folder without texts. `work` is a folder for what does not fit into `memory` bytes; nothing stays there.
///
/// # Errors
///
/// If the folder cannot be listed or the work folder not be written.
pub fn report(
    folder: &Path,
    work: &Path,
    memory: u64,
    most_bytes: u64,
    meters: &Meters<'_>,
) -> Result<Option<Report>, AskError> {
    let made = sections(folder, work, memory, most_bytes, meters);
    let folders = [work.join("regular"), work.join("super")];
    for folder in &folders {
        if folder.exists() {
            Batch::forget(folder)?;
            std::fs::remove_dir(folder).map_err(|source| failed(folder, source))?;
        }
    }
    let names = work.join("names");
    if names.exists() {
        std::fs::remove_file(&names).map_err(|source| failed(&names, source))?;
    }
    made
}

fn sections(
    folder: &Path,
    work: &Path,
    memory: u64,
    most_bytes: u64,
    meters: &Meters<'_>,
) -> Result<Option<Report>, AskError> {
    let plan = Plan {
        memory,
        ..Plan::new(MethodParams::paper(Method::Shingle))
    };
    let mut whole = phases(folder, work, &plan, meters)?;
    if whole.found.documents == 0 {
        return Ok(None);
    }
    let mut sections = vec![
        headline(&whole),
        status(&whole)?,
        stages(&whole)?,
        policies(&whole, meters)?,
        commonest(&mut whole, &plan)?,
    ];
    sections.push(by_super_shingles(&whole, work, &plan, meters)?);
    sections.push(supers::recall(&whole.kept, whole.pairs)?);
    // Texts that fit into memory, for what needs them.
    let collection = Collection::read(folder, most_bytes.min(memory / 4))?;
    sections.push(supers::blindness(&collection)?);
    sections.push(estimates::section(&collection)?);
    sections.push(later(&collection, work, &plan, &whole, meters)?);
    let about = format!(
        "{} texts of {:.1} MB in {}; beside them {} files that are no text, empty or unreadable. {}; {} bytes of memory for sorting.\n\nTimes are of this machine and run; everything else is the same on every run.{}",
        whole.found.documents,
        whole.found.bytes as f64 / 1e6,
        folder.file_name().unwrap_or_default().to_string_lossy(),
        whole.found.others,
        plan.id(),
        memory,
        match (meters.peak)() {
            Some(peak) => format!(
                " Most memory of the process: {:.0} MiB.",
                peak as f64 / (1 << 20) as f64
            ),
            None => String::new(),
        }
    );
    Ok(Some(Report {
        name: "broder".to_owned(),
        title: "Syntactic clustering (Broder, Glassman, Manasse & Zweig 1997)".to_owned(),
        about,
        sections,
        files: Vec::new(),
    }))
}

/// The four phases, one by one.
fn phases(folder: &Path, work: &Path, plan: &Plan, meters: &Meters<'_>) -> Result<Whole, AskError> {
    let mut stages = [Stage::default(); 6];
    let place = work.join("regular");
    Batch::forget(&place)?;
    let mut batch = Batch::begin(&place, plan)?;
    let mut names = Names::new(work)?;
    let found = timed(meters, &mut stages[0], || {
        stream::documents(folder, &plan.params, &mut |name, document| {
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
    let (kept, clusters) = timed(meters, &mut stages[5], || {
        let kept = Kept::open(&place, plan)?;
        let clusters = kept.cluster(&Policy::PAPER, &mut |_| ())?;
        Ok((kept, clusters))
    })?;
    let [_, _, shingles, triples, _] = kept.bytes()?;
    (stages[2].file, stages[4].file) = (shingles, triples);
    Ok(Whole {
        found,
        stages,
        eliminated,
        entries,
        distinct,
        formed,
        pairs,
        kept,
        clusters,
        names,
    })
}

/// Sizes of clusters: how many, and how many documents in them; all, and those of identical documents alone.
fn counted(kept: &Kept, clusters: &Clusters) -> Result<[(u64, u64); 2], AskError> {
    let digests = kept.digests()?;
    let (mut all, mut identical) = ((0, 0), (0, 0));
    for set in clusters.sets() {
        let is_identical = set
            .iter()
            .all(|&id| digests[id as usize] == digests[set[0] as usize]);
        let counts = [Some(&mut all), is_identical.then_some(&mut identical)];
        for (sets, documents) in counts.into_iter().flatten() {
            *sets += 1;
            *documents += set.len() as u64;
        }
    }
    Ok([all, identical])
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn headline(whole: &Whole) -> Section {
    let mut table = Table::new(
        "headline",
        &["", "paper, 1996", "sketching alone", "all phases"],
    );
    let cpu = |stages: &[Stage]| stages.iter().map(|stage| stage.cpu).sum::<f64>().max(1e-9);
    let (first, all) = (cpu(&whole.stages[..1]), cpu(&whole.stages));
    let (bytes, documents) = (whole.found.bytes as f64, whole.found.documents as f64);
    // 150 GB and 30,000,000 documents in 10.5 CPU-days.
    let days = 10.5 * 86_400.0;
    let mb = |seconds: f64| format!("{:.1}", bytes / 1e6 / seconds);
    let hourly = |seconds: f64| format!("{:.2} million", documents / seconds * 3600.0 / 1e6);
    table.row([
        "MB/s per core".to_owned(),
        format!("{:.2}", 150e3 / days),
        mb(first),
        mb(all),
    ]);
    table.row([
        "documents per hour per core".to_owned(),
        format!("{:.2} million", 30e6 / days * 3600.0 / 1e6),
        hourly(first),
        hourly(all),
    ]);
    let seconds = |cpu: f64| format!("{cpu:.1} s");
    table.row([
        "CPU time".to_owned(),
        "10.5 days".to_owned(),
        seconds(first),
        seconds(all),
    ]);
    Section::new(
        "Headline",
        "Seconds of the processor, reading the files included.",
    )
    .table(table)
}

fn status(whole: &Whole) -> Result<Section, AskError> {
    let [(clusters, inside), (identical, in_identical)] = counted(&whole.kept, &whole.clusters)?;
    let documents = whole.found.documents;
    let mut table = Table::new("status", &["", "paper", "here"]);
    let of = |part: u64| {
        format!(
            "{part} ({} %)",
            percent(part as f64 / documents.max(1) as f64)
        )
    };
    let each = |bytes: u64, of: u64| bytes as f64 / of.max(1) as f64;
    let [_, sketches, shingles, triples, _] = whole.kept.bytes()?;
    let list = 4 * (inside + clusters);
    let entries = |bytes: u64| {
        format!(
            "{}, {:.1} bytes an entry",
            megabytes(bytes),
            each(bytes, whole.entries)
        )
    };
    let kept_bytes = whole.stages[2].sorted.max(whole.stages[2].file) * 2;
    let rows: [(&str, &str, String); 18] = [
        ("documents", "30,000,000", documents.to_string()),
        (
            "their bytes",
            "150 GB, 5 KB each",
            format!(
                "{}, {:.0} each",
                megabytes(whole.found.bytes),
                each(whole.found.bytes, documents)
            ),
        ),
        (
            "their names",
            "1.8 GB, 60 bytes each",
            format!(
                "{}, {:.0} bytes each",
                megabytes(whole.found.names),
                each(whole.found.names, documents)
            ),
        ),
        (
            "shingles kept, 1 in 25",
            "600 million, 20 a document",
            format!(
                "{} of documents that run, {:.1} each",
                whole.entries,
                each(whole.entries, documents - whole.eliminated.shingle)
            ),
        ),
        ("different ones", "", whole.distinct.to_string()),
        (
            "raw sketches",
            "3 GB, 5 bytes a shingle",
            format!(
                "{}, {:.1} bytes a document",
                megabytes(sketches),
                each(sketches, documents)
            ),
        ),
        (
            "sorted <shingle, ID>",
            "5.5 GB, 9 bytes an entry",
            entries(shingles),
        ),
        (
            "… at the maximum",
            "10 GB, two copies",
            megabytes(kept_bytes),
        ),
        ("<ID, ID, 1> formed", "", whole.formed.to_string()),
        (
            "… on disk at the maximum",
            "20 GB",
            megabytes(whole.stages[4].sorted + triples),
        ),
        (
            "<ID, ID, count> in the end",
            "6 GB",
            format!("{}, {} pairs", megabytes(triples), whole.pairs),
        ),
        ("the list of the clusters", "below 100 MB", megabytes(list)),
        (
            "clusters at 50 % resemblance",
            "3.6 million",
            clusters.to_string(),
        ),
        ("documents in them", "12.3 million (41 %)", of(inside)),
        (
            "clusters of identical documents alone",
            "2.1 million",
            identical.to_string(),
        ),
        ("documents in these", "5.3 million (18 %)", of(in_identical)),
        (
            "other clusters",
            "1.5 million",
            (clusters - identical).to_string(),
        ),
        (
            "documents in these",
            "7 million (23 %)",
            of(inside - in_identical),
        ),
    ];
    for (what, paper, here) in rows {
        table.row([what.to_owned(), paper.to_owned(), here]);
    }
    let Eliminated {
        identical,
        lexical,
        shingle,
    } = whole.eliminated;
    let text = format!(
        "Eliminated, because another document stands for them: {identical} identical, {lexical} lexically equivalent (these included), {shingle} shingle equivalent (all included). What hangs together by nothing but identity counts as identical here, too."
    );
    Ok(Section::new("Status", text).table(table))
}

fn stages(whole: &Whole) -> Result<Section, AskError> {
    let mut table = Table::new(
        "phases",
        &[
            "phase",
            "paper, CPU-days",
            "share %",
            "here, CPU seconds",
            "share %",
            "wall seconds",
            "sorted on disk",
            "written",
        ],
    );
    let total = whole
        .stages
        .iter()
        .map(|stage| stage.cpu)
        .sum::<f64>()
        .max(1e-9);
    let days: f64 = STAGES.iter().map(|(_, days)| days).sum();
    for ((name, of_paper), stage) in STAGES.iter().zip(&whole.stages) {
        table.row([
            (*name).to_owned(),
            of_paper.to_string(),
            percent(of_paper / days),
            format!("{:.2}", stage.cpu),
            percent(stage.cpu / total),
            format!("{:.2}", stage.wall),
            megabytes(stage.sorted),
            megabytes(stage.file),
        ]);
    }
    let wall: f64 = whole.stages.iter().map(|stage| stage.wall).sum();
    table.row([
        "Total".to_owned(),
        "~10.5".to_owned(),
        "100".to_owned(),
        format!("{total:.2}"),
        "100".to_owned(),
        format!("{wall:.2}"),
        String::new(),
        String::new(),
    ]);
    Ok(Section::new("Time and disk by phase", "Sketching reads every document.").table(table))
}

/// "Repeating the final phase of the clustering algorithm for each different policy."
fn policies(whole: &Whole, meters: &Meters<'_>) -> Result<Section, AskError> {
    let mut table = Table::new(
        "policies",
        &[
            "policy",
            "clusters",
            "documents in them",
            "largest",
            "seconds",
        ],
    );
    let policy = |resemblance, containment| Policy {
        resemblance,
        containment,
        every: false,
    };
    for (name, policy) in [
        ("resemblance 25 %", policy(0.25, None)),
        ("resemblance 50 %", policy(0.5, None)),
        ("resemblance 75 %", policy(0.75, None)),
        ("resemblance 90 %", policy(0.9, None)),
        (
            "resemblance 50 % or containment 75 %",
            policy(0.5, Some(0.75)),
        ),
        (
            "resemblance 50 % or containment 90 %",
            policy(0.5, Some(0.9)),
        ),
    ] {
        let mut stage = Stage::default();
        let clusters = timed(meters, &mut stage, || {
            whole.kept.cluster(&policy, &mut |_| ())
        })?;
        let [(sets, documents), _] = counted(&whole.kept, &clusters)?;
        let largest = clusters.sets().iter().map(Vec::len).max().unwrap_or(0);
        table.row([
            name.to_owned(),
            sets.to_string(),
            documents.to_string(),
            largest.to_string(),
            format!("{:.2}", stage.wall),
        ]);
    }
    Ok(Section::new(
        "Other policies",
        "Each repeats the last phase alone, on the kept <ID, ID, count>.",
    )
    .table(table))
}

fn commonest(whole: &mut Whole, plan: &Plan) -> Result<Section, AskError> {
    let (ignored, all) = (
        whole.kept.ignored()?.len(),
        whole.kept.commonest(COMMONEST)?,
    );
    let mut table = Table::new("commonest", &["documents", "ignored", "words"]);
    for (shingle, documents, id) in all {
        let name = whole.names.at(id)?;
        let text = match &plan.params.scheme {
            Scheme::Shingle(params) => {
                let bytes = bytes_of(&name).unwrap_or_default();
                wording(params, &bytes, &[shingle])
                    .pop()
                    .map(|(_, text)| text)
            }
            _ => None,
        };
        table.row([
            documents.to_string(),
            if plan.common.is_some_and(|common| documents > common) {
                "yes"
            } else {
                ""
            }
            .to_owned(),
            text.unwrap_or_else(|| format!("{shingle:010x}")),
        ]);
    }
    let text = format!(
        "{ignored} shingles are in more than {} documents that run and are ignored. The paper's were \"nearly all mechanically generated\".",
        plan.common.unwrap_or(0)
    );
    Ok(Section::new("The commonest shingles", text).table(table))
}

fn by_super_shingles(
    whole: &Whole,
    work: &Path,
    plan: &Plan,
    meters: &Meters<'_>,
) -> Result<Section, AskError> {
    let place = work.join("super");
    Batch::forget(&place)?;
    let plan = Plan {
        params: supers::params()?,
        ..plan.clone()
    };
    let mut batch = supers::batch(&whole.kept, &place, &plan)?;
    let (mut merging, mut one, mut checked) =
        (Stage::default(), Stage::default(), Stage::default());
    batch.eliminate()?;
    let (entries, _) = timed(meters, &mut merging, || {
        let entries = batch.merge_shingles()?;
        batch.form_pairs()?;
        batch.merge_pairs()?;
        Ok(entries)
    })?;
    let kept = Kept::open(&place, &plan)?;
    let mut table = Table::new(
        "super-clusters",
        &[
            "clusters by",
            "clusters",
            "documents in them",
            "of those by resemblance %",
            "links",
            "below 50 % resemblance",
            "phases 2 to 4, CPU seconds",
            "disk",
        ],
    );
    let regular: Vec<u32> = members(&whole.clusters);
    let mut row = |name: &str, clusters: &Clusters, links: (u64, u64), seconds: f64, disk: u64| {
        let inside = members(clusters);
        let both = regular
            .iter()
            .filter(|id| inside.binary_search(id).is_ok())
            .count();
        let shown = |count: u64| {
            if count == 0 && name.starts_with("res") {
                String::new()
            } else {
                count.to_string()
            }
        };
        table.row([
            name.to_owned(),
            clusters.sets().len().to_string(),
            inside.len().to_string(),
            percent(both as f64 / regular.len().max(1) as f64),
            shown(links.0),
            shown(links.1),
            format!("{seconds:.2}"),
            megabytes(disk),
        ]);
    };
    let [_, _, shingles, triples, _] = whole.kept.bytes()?;
    let cpu = whole.stages[2..].iter().map(|stage| stage.cpu).sum();
    row(
        "resemblance 50 %",
        &whole.clusters,
        (0, 0),
        cpu,
        shingles + triples,
    );
    let [_, _, lists, ..] = kept.bytes()?;
    for (name, resemblance, stage) in [
        ("one common super shingle", 0.0, &mut one),
        ("the same, checked: resemblance 50 %", 0.5, &mut checked),
    ] {
        let policy = Policy {
            resemblance,
            ..Policy::PAPER
        };
        let (mut links, mut below) = (0, 0);
        let mut counted = Stage::default();
        let stage_of_links = if resemblance > 0.0 {
            &mut *stage
        } else {
            &mut counted
        };
        let mut clusters = timed(meters, stage_of_links, || {
            kept.cluster(&policy, &mut |link| {
                links += 1;
                let value = link.told.resemblance.value.value();
                below += u64::from(value.is_none_or(|value| value < 0.5));
            })
        })?;
        if resemblance == 0.0 {
            // Without a look at any resemblance.
            clusters = timed(meters, stage, || kept.cluster_by_one())?;
        }
        row(
            name,
            &clusters,
            (links, below),
            merging.cpu + stage.cpu,
            lists,
        );
    }
    let text = format!(
        "{entries} super shingles. \"The entire third phase of the basic algorithm … is not needed.\" Links are those between the first document of a list and the others; with the check all pairs of a list are looked at."
    );
    Ok(Section::new("Super shingles: clusters", text).table(table))
}

/// The documents in clusters, ascending.
fn members(clusters: &Clusters) -> Vec<u32> {
    let mut all: Vec<u32> = clusters.sets().into_iter().flatten().collect();
    all.sort_unstable();
    all
}

/// A later batch: only what is new is sketched.
fn later(
    collection: &Collection,
    work: &Path,
    plan: &Plan,
    whole: &Whole,
    meters: &Meters<'_>,
) -> Result<Section, AskError> {
    let place = work.join("regular");
    let [mut opening, mut sketching, mut rest] = [Stage::default(); 3];
    let mut batch = timed(meters, &mut opening, || Batch::begin(&place, plan))?;
    let texts: Vec<_> = collection.texts.iter().take(LATER).collect();
    timed(meters, &mut sketching, || {
        for (seed, text) in (1..).zip(&texts) {
            let words = text.bytes.len() / 60;
            let bytes = edited(
                &text.bytes,
                Edit::Insert,
                Spread::Random,
                words / 20 + 1,
                seed,
            );
            batch.add(&Document {
                content: resemble_core::hash::content::digest(&bytes),
                words: [0; 16],
                size: bytes.len() as u64,
                sketch: sign(&plan.params, &bytes),
            })?;
        }
        Ok(())
    })?;
    let (kept, _) = timed(meters, &mut rest, || batch.settle())?;
    let clusters = kept.cluster(&Policy::PAPER, &mut |_| ())?;
    let old = whole.kept.documents();
    let joined = (old..kept.documents()).filter(|&id| clusters.0[id as usize] < old);
    let text = format!(
        "{} edited texts come to {old} documents: {:.2} s for opening what is kept, {:.2} s for sketching them, {:.2} s for merging them in (phases 2 and 3); all at once took {:.1} s. {} of them join a cluster of what was there. That the result is that of clustering from nothing is a test.",
        texts.len(),
        opening.wall,
        sketching.wall,
        rest.wall,
        whole.stages.iter().map(|stage| stage.wall).sum::<f64>(),
        joined.count()
    );
    Ok(Section::new("A later batch", text))
}
