//! Checks statements of the paper for which it gives no figures: other policies, common shingles,
//! super shingles, later batches.

use std::path::Path;

use resemble_core::hash::content::digest;
use resemble_methods::changes::{Edit, Spread, edited};
use resemble_methods::shingle::wording;
use resemble_methods::{Scheme, sign};
use resemble_relate::bytes_of;

use super::super::{Collection, Meters, Section, Table, percent};
use super::status::{counted, megabytes};
use super::{ClusteredFolder, Stage, supers, timed};
use crate::error::LabError;
use crate::phases::{ClusterBatch, ClusterPlan, Clusters, PhaseResults, Policy, SketchedDocument};

/// The maximum number of documents in the later batch.
const LATER: usize = 1000;

/// The number of most frequent shingles that are listed.
const COMMONEST: usize = 20;

/// Clusters the same results under other policies. In the words of the paper: "Repeating the final
/// phase of the clustering algorithm for each different policy."
pub(super) fn policies(whole: &ClusteredFolder, meters: &Meters<'_>) -> Result<Section, LabError> {
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
            whole.results.cluster(&policy, &mut |_| ())
        })?;
        let [(sets, documents), _] = counted(&whole.results, &clusters)?;
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

pub(super) fn commonest(
    whole: &mut ClusteredFolder,
    plan: &ClusterPlan,
) -> Result<Section, LabError> {
    let (ignored, all) = (
        whole.results.ignored()?.len(),
        whole.results.commonest(COMMONEST)?,
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
        "{ignored} shingles are in more than {} documents that run and are ignored. The paper's \
         were \"nearly all mechanically generated\".",
        plan.common.unwrap_or(0)
    );
    Ok(Section::new("The commonest shingles", text).table(table))
}

pub(super) fn by_super_shingles(
    whole: &ClusteredFolder,
    work: &Path,
    plan: &ClusterPlan,
    meters: &Meters<'_>,
) -> Result<Section, LabError> {
    let place = work.join("super");
    ClusterBatch::forget(&place)?;
    let plan = ClusterPlan {
        params: supers::params()?,
        ..plan.clone()
    };
    let mut batch = supers::batch(&whole.results, &place, &plan)?;
    let (mut merging, mut one, mut checked) =
        (Stage::default(), Stage::default(), Stage::default());
    batch.eliminate()?;
    let (entries, _) = timed(meters, &mut merging, || {
        let entries = batch.merge_shingles()?;
        batch.form_pairs()?;
        batch.merge_pairs()?;
        Ok(entries)
    })?;
    let results = PhaseResults::open(&place, &plan)?;
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
    let [_, _, shingles, triples, _] = whole.results.bytes()?;
    let cpu = whole.stages[2..].iter().map(|stage| stage.cpu).sum();
    row(
        "resemblance 50 %",
        &whole.clusters,
        (0, 0),
        cpu,
        shingles + triples,
    );
    let [_, _, lists, ..] = results.bytes()?;
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
            results.cluster(&policy, &mut |link| {
                links += 1;
                let value = link.estimates.resemblance.value.value();
                below += u64::from(value.is_none_or(|value| value < 0.5));
            })
        })?;
        if resemblance == 0.0 {
            // Without a threshold the clusters do not depend on estimates of resemblance.
            clusters = timed(meters, stage, || results.cluster_by_one())?;
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
        "{entries} super shingles. \"The entire third phase of the basic algorithm … is not \
         needed.\" Links are those between the first document of a list and the others; with the \
         check all pairs of a list are looked at."
    );
    Ok(Section::new("Super shingles: clusters", text).table(table))
}

/// Returns the numbers of all documents that are in a cluster, ascending.
pub(super) fn members(clusters: &Clusters) -> Vec<u32> {
    let mut all: Vec<u32> = clusters.sets().into_iter().flatten().collect();
    all.sort_unstable();
    all
}

/// Adds a second batch of documents to the results, and measures its costs. Only the new documents
/// are sketched.
pub(super) fn later(
    collection: &Collection,
    work: &Path,
    plan: &ClusterPlan,
    whole: &ClusteredFolder,
    meters: &Meters<'_>,
) -> Result<Section, LabError> {
    let place = work.join("regular");
    let [mut opening, mut sketching, mut rest] = [Stage::default(); 3];
    let mut batch = timed(meters, &mut opening, || ClusterBatch::begin(&place, plan))?;
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
            batch.add(&SketchedDocument {
                content: digest(&bytes),
                words: [0; 16],
                size: bytes.len() as u64,
                sketch: sign(&plan.params, &bytes),
            })?;
        }
        Ok(())
    })?;
    let (results, _) = timed(meters, &mut rest, || batch.settle())?;
    let clusters = results.cluster(&Policy::PAPER, &mut |_| ())?;
    let old = whole.results.documents();
    let joined = (old..results.documents()).filter(|&id| clusters.0[id as usize] < old);
    let text = format!(
        "{} edited texts join {old} documents (seeds 1 to {}): {:.2} s for opening what is kept, \
         {:.2} s for sketching them, {:.2} s for merging them in (phases 2 and 3); all at once \
         took {:.1} s. {} of them join a cluster of what was there.",
        texts.len(),
        texts.len(),
        opening.wall,
        sketching.wall,
        rest.wall,
        whole.stages.iter().map(|stage| stage.wall).sum::<f64>(),
        joined.count()
    );
    Ok(Section::new("A later batch", text))
}
