//! Compares the results with the figures that the paper prints: its main figures, those of the
//! section "Status", and the time of each phase.

use super::super::{Section, Table, percent};
use super::{ClusteredFolder, Stage};
use crate::error::LabError;
use crate::phases::{Clusters, Eliminated, PhaseResults};

/// The phases in the paper's table, with the CPU-days that they took.
const STAGES: [(&str, f64); 6] = [
    ("Sketching", 4.6),
    ("Duplicate Elimination", 0.3),
    ("Shingle Merging", 1.7),
    ("ID-ID Pair Formation", 0.7),
    ("ID-ID Merging", 2.6),
    ("Cluster Formation", 0.5),
];

/// Counts clusters and the documents in them. The first pair of counts is about all clusters, the
/// second about clusters whose documents are all identical.
pub(super) fn counted(
    results: &PhaseResults,
    clusters: &Clusters,
) -> Result<[(u64, u64); 2], LabError> {
    let digests = results.digests()?;
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

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

pub(super) fn headline(whole: &ClusteredFolder) -> Section {
    let mut table = Table::new(
        "headline",
        &["", "paper, 1996", "sketching alone", "all phases"],
    );
    let cpu = |stages: &[Stage]| stages.iter().map(|stage| stage.cpu).sum::<f64>().max(1e-9);
    let (first, all) = (cpu(&whole.stages[..1]), cpu(&whole.stages));
    let (bytes, documents) = (whole.totals.bytes as f64, whole.totals.documents as f64);
    // The paper took 10.5 CPU-days for 150 GB and 30,000,000 documents.
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

pub(super) fn status(whole: &ClusteredFolder) -> Result<Section, LabError> {
    let [(clusters, inside), (identical, in_identical)] = counted(&whole.results, &whole.clusters)?;
    let documents = whole.totals.documents;
    let mut table = Table::new("status", &["", "paper", "here"]);
    let of = |part: u64| {
        format!(
            "{part} ({} %)",
            percent(part as f64 / documents.max(1) as f64)
        )
    };
    let each = |bytes: u64, of: u64| bytes as f64 / of.max(1) as f64;
    let [_, sketches, shingles, triples, _] = whole.results.bytes()?;
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
                megabytes(whole.totals.bytes),
                each(whole.totals.bytes, documents)
            ),
        ),
        (
            "their names",
            "1.8 GB, 60 bytes each",
            format!(
                "{}, {:.0} bytes each",
                megabytes(whole.totals.names),
                each(whole.totals.names, documents)
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
        "Eliminated, because another document stands for them: {identical} identical, {lexical} \
         lexically equivalent (these included), {shingle} shingle equivalent (all included). A \
         cluster of equal documents alone counts as identical."
    );
    Ok(Section::new("Status", text).table(table))
}

pub(super) fn stages(whole: &ClusteredFolder) -> Section {
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
    let text = format!(
        "Sketching, which reads every document, takes {} % of the processor time (paper: {} %).",
        percent(whole.stages[0].cpu / total),
        percent(STAGES[0].1 / days)
    );
    Section::new("Time and disk by phase", text).table(table)
}
