//! Runs the four phases on any number of synthetic texts, which are never written to disk.

use std::path::Path;

use resemble_methods::{Method, MethodParams};

use super::super::made::{FAMILY, MadeTexts};
use super::super::{Meters, Page, Section, Table, percent};
use super::{ClusteredFolder, Stage, TakeDocument, clear, phases, status, stream};
use crate::error::LabError;
use crate::phases::ClusterPlan;

/// Makes the report about `documents` texts. The files of the phases are written to the folder
/// `work`, which is cleared at the end. Sorting takes `memory` bytes.
///
/// # Errors
///
/// Fails if the work folder cannot be written.
pub fn report(
    texts: &MadeTexts,
    documents: u32,
    work: &Path,
    memory: u64,
    meters: &Meters<'_>,
) -> Result<Page, LabError> {
    let made = sections(texts, documents, work, memory, meters);
    clear(work)?;
    Ok(Page {
        name: "broder".to_owned(),
        title: format!("Syntactic clustering of {documents} made texts"),
        about: format!("{memory} bytes of memory for sorting."),
        sections: made?,
        files: Vec::new(),
    })
}

fn sections(
    texts: &MadeTexts,
    documents: u32,
    work: &Path,
    memory: u64,
    meters: &Meters<'_>,
) -> Result<Vec<Section>, LabError> {
    let plan = ClusterPlan {
        memory,
        ..ClusterPlan::new(MethodParams::paper(Method::Shingle))
    };
    let mut making = Stage::default();
    let read = |take: TakeDocument<'_>| {
        let costs = (meters, &mut making);
        stream::made(texts, documents, &plan.params, costs, take)
    };
    let mut whole = phases(read, work, &plan, meters)?;
    // Here the first phase includes making the texts, unlike the first phase of the paper. So the
    // time for making them is subtracted.
    whole.stages[0].cpu -= making.cpu;
    whole.stages[0].wall -= making.wall;
    Ok(vec![
        status::headline(&whole),
        status::status(&whole)?,
        status::stages(&whole),
        families(&whole, meters)?,
    ])
}

/// Compares the clusters with the families in which the texts were made.
fn families(whole: &ClusteredFolder, meters: &Meters<'_>) -> Result<Section, LabError> {
    let sets = whole.clusters.sets();
    let is_mixed = |set: &&Vec<u32>| set.iter().any(|id| id / FAMILY != set[0] / FAMILY);
    let mixed = sets.iter().filter(is_mixed).count();
    let inside: usize = sets.iter().map(Vec::len).sum();
    let wall: f64 = whole.stages.iter().map(|stage| stage.wall).sum();
    let peak = (meters.peak)().unwrap_or(0);
    let disk: u64 = (whole.stages.iter())
        .map(|stage| stage.sorted + stage.file)
        .sum();
    let mut table = Table::new("families", &["", "here"]);
    let of = percent(inside as f64 / whole.totals.documents.max(1) as f64);
    for (what, here) in [
        ("clusters of two families", mixed.to_string()),
        ("documents in a cluster", format!("{of} %")),
        (
            "common shingles",
            whole.results.ignored()?.len().to_string(),
        ),
        ("wall time", format!("{wall:.0} s")),
        ("written in all phases", status::megabytes(disk)),
        ("most memory", format!("{} MiB", peak >> 20)),
    ] {
        table.row([what.to_owned(), here]);
    }
    Ok(Section::new("Families", "").table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_families() {
        let made = MadeTexts::of_letters(1);
        let meters = Meters {
            wall: &|| 0.0,
            cpu: &|| 0.0,
            peak: &|| None,
        };
        let work = tempfile::tempdir().expect("a folder");
        let page = report(&made, 800, work.path(), 1 << 16, &meters).expect("a page");
        let tables = page.sections.iter().flat_map(|section| &section.tables);
        let rows: Vec<&Vec<String>> = tables.flat_map(|table| &table.rows).collect();
        let here = |what: &str| {
            let row = rows.iter().find(|row| row[0] == what);
            row.and_then(|row| row.last()).expect(what).as_str()
        };
        assert_eq!(here("documents"), "800");
        assert_eq!(here("clusters of two families"), "0");
        let clusters: u32 = here("clusters at 50 % resemblance")
            .parse()
            .expect("a number");
        assert!((95..=115).contains(&clusters), "{clusters}");
        let left = std::fs::read_dir(work.path()).expect("the folder");
        assert_eq!(left.count(), 0);
    }
}
