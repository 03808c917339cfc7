//! For each length of super shingles, measures the share of similar documents that they find. Shows
//! why super shingles do not find containment.

use std::collections::BTreeMap;
use std::sync::Arc;

use resemble_methods::judged::Overlap;
use resemble_methods::shingle::{Seed, sketch};
use resemble_methods::super_shingle::{DEFAULT_LENGTH, of_sketch, super_shingles};
use resemble_methods::{Method, MethodParams, Settings, score, sign};

use super::super::{Collection, Draws, Plot, Random, Section, Table, percent};
use crate::error::{LabError, MethodError};
use crate::phases::{ClusterBatch, ClusterPlan, PhaseResults, Policy, SketchedDocument};

/// The lengths of super shingles that are compared.
const LENGTHS: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// The approximate number of pairs of similar documents that are tested.
const LINKS: u64 = 60_000;

/// The number of texts from which parts are cut.
const TEXTS: usize = 300;

/// The numbers of equal pieces into which a text is cut. The first piece is the part that is
/// compared with the text.
const PARTS: [usize; 5] = [1, 2, 4, 8, 16];

/// The parameters of super shingles of the default length.
pub(super) fn params() -> Result<MethodParams, LabError> {
    let settings = Settings::default();
    Ok(MethodParams::new(Method::SuperShingle, &settings).map_err(MethodError::from)?)
}

/// Begins a batch of the clustering in another folder. The batch contains super shingles that are
/// made of the sketches in `results`.
pub(super) fn batch(
    results: &PhaseResults,
    folder: &std::path::Path,
    plan: &ClusterPlan,
) -> Result<ClusterBatch, LabError> {
    let mut batch = ClusterBatch::begin(folder, plan)?;
    let mut id = 0;
    results.each(&mut |content, words, size| {
        let signature = results.sketch(id)?;
        id += 1;
        let sketch = of_sketch(&signature, DEFAULT_LENGTH).unwrap_or(signature);
        batch.add(&SketchedDocument {
            content,
            words,
            size,
            sketch,
        })
    })?;
    Ok(batch)
}

/// Measures the share of similar documents that have a super shingle in common, for each length of
/// super shingles. One table divides the pairs of documents by the length of the shorter sketch.
/// Another table divides them by the resemblance of the two documents.
pub(super) fn recall(results: &PhaseResults, pairs: u64) -> Result<Section, LabError> {
    // If there are many links, that is, pairs of similar documents, only some are tested. A hash of
    // the two documents selects the links.
    let every = (pairs / LINKS).max(1);
    let mut chosen = Vec::new();
    results.cluster(&Policy::PAPER, &mut |link| {
        let drawn = Random(u64::from(link.a) << 32 | u64::from(link.b)).draw();
        if drawn.is_multiple_of(every) {
            chosen.push((
                link.a,
                link.b,
                link.estimates.resemblance.value.value().unwrap_or(0.0),
            ));
        }
    })?;
    // The keys of `classes` are classes of the shorter sketch's length. The keys of `by_share` are
    // tenths of the resemblance. Each value has the number of links. It also has, for each length
    // of super shingles, the number of links that they find.
    let mut classes: BTreeMap<u32, (u64, [u64; LENGTHS.len()])> = BTreeMap::new();
    let mut by_share: BTreeMap<u32, (u64, [u64; LENGTHS.len()])> = BTreeMap::new();
    for &(a, b, resemblance) in &chosen {
        let (a, b) = (results.sketch(a)?, results.sketch(b)?);
        let (Some((_, a)), Some((_, b))) = (sketch(&a), sketch(&b)) else {
            continue;
        };
        let class = a.len().min(b.len()).max(1).ilog2();
        let share = (resemblance * 10.0) as u32;
        let finds = LENGTHS.map(|length| {
            let of = |values| super_shingles(values, length as usize);
            u64::from(Overlap::of_sets(&of(a), &of(b)).common > 0)
        });
        for (links, found) in [
            classes.entry(class).or_default(),
            by_share.entry(share).or_default(),
        ] {
            *links += 1;
            found
                .iter_mut()
                .zip(finds)
                .for_each(|(all, one)| *all += one);
        }
    }
    let columns: Vec<String> = LENGTHS
        .iter()
        .map(|length| format!("length {length} %"))
        .collect();
    let table = |name,
                 first: &str,
                 rows: &BTreeMap<u32, (u64, [u64; LENGTHS.len()])>,
                 label: &dyn Fn(u32) -> String| {
        let mut heads = vec![first, "links"];
        heads.extend(columns.iter().map(String::as_str));
        let mut table = Table::new(name, &heads);
        for (&class, (links, found)) in rows {
            let shares = found.iter().map(|&one| percent(one as f64 / *links as f64));
            table.row([label(class), links.to_string()].into_iter().chain(shares));
        }
        table
    };
    let mut plot = Plot::new(
        "super-recall",
        "Recall of super shingles by length of the document",
        "shingles of the shorter sketch, at least",
        "similar pairs found, %",
    );
    plot.log_x = true;
    for (at, length) in LENGTHS.iter().enumerate() {
        let points = classes.iter().map(|(&class, (links, found))| {
            (
                (1u64 << class) as f64,
                found[at] as f64 / *links as f64 * 100.0,
            )
        });
        plot.curve(format!("length {length}"), points);
    }
    let by_length = table(
        "super-recall-by-length",
        "shingles kept",
        &classes,
        &|class| format!("{}-{}", 1u64 << class, (2u64 << class) - 1),
    );
    let by_share = table(
        "super-recall-by-resemblance",
        "resemblance",
        &by_share,
        &|share| {
            if share >= 10 {
                "100 %".to_owned()
            } else {
                format!("{}-{} %", share * 10, share * 10 + 9)
            }
        },
    );
    let of_default = LENGTHS.iter().position(|&length| length == DEFAULT_LENGTH);
    let share = |class: &(u64, [u64; LENGTHS.len()])| {
        percent(class.1[of_default.unwrap_or_default()] as f64 / class.0.max(1) as f64)
    };
    let ends = match (classes.first_key_value(), classes.last_key_value()) {
        (Some((first, shortest)), Some((last, longest))) if first < last => format!(
            " Length {DEFAULT_LENGTH}, the default, finds {} % of the {} links of the shortest \
             class, and {} % of the {} of the longest.",
            share(shortest),
            shortest.0,
            share(longest),
            longest.0
        ),
        _ => String::new(),
    };
    let text = format!(
        "Of {} links of at least 50 % resemblance between documents with different sketches (one \
         in {every} of all that phase 4 made), the share that has a common super shingle.{ends} \
         Paper: \"Super shingles do not work well for short documents\".",
        chosen.len()
    );
    Ok(Section::new("Super shingles: recall", text)
        .plot(plot)
        .table(by_length)
        .table(by_share))
}

/// Compares texts with their own parts, by regular sketches and by super shingles.
pub(super) fn blindness(collection: &Collection, seeds: u64) -> Result<Section, LabError> {
    let texts = collection
        .texts
        .iter()
        .filter(|text| text.bytes.len() >= 3000);
    let texts: Vec<_> = texts.take(TEXTS).collect();
    let columns = [
        "part of the text",
        "texts",
        "contained at 90 % by MOD_25 %",
        "resemblance above 50 % by MOD_25 %",
        "a common super shingle %",
    ];
    let mut table = Table::new("super-containment", &columns);
    let mut said = Vec::new();
    let mut draws: [[Draws; 4]; PARTS.len()] = Default::default();
    for seed in 0..seeds {
        let seeded = Settings {
            seed: Some(Arc::new(Seed::new(&seed.to_string()))),
            ..Settings::default()
        };
        let params = |method| MethodParams::new(method, &seeded).map_err(MethodError::from);
        let (regular, supers) = (params(Method::Shingle)?, params(Method::SuperShingle)?);
        let wholes: Vec<_> = texts
            .iter()
            .map(|text| [&regular, &supers].map(|params| sign(params, &text.bytes)))
            .collect();
        for (parts, draws) in PARTS.into_iter().zip(&mut draws) {
            let (mut judged, mut contained, mut similar, mut found) = (0u32, 0u32, 0u32, 0u32);
            for (text, [whole, whole_supers]) in texts.iter().zip(&wholes) {
                let part = &text.bytes[..text.bytes.len() / parts];
                let scores = score(&regular, &sign(&regular, part), whole);
                let (Ok(in_b), Some(resemblance)) = (scores.a_in_b, scores.score.value()) else {
                    continue;
                };
                let Some(in_b) = in_b.value() else { continue };
                judged += 1;
                contained += u32::from(in_b >= 0.9);
                similar += u32::from(resemblance >= 0.5);
                let scores = score(&supers, &sign(&supers, part), whole_supers);
                found += u32::from(scores.score.value().is_some_and(|score| score > 0.0));
            }
            draws[0].push(f64::from(judged));
            for (draws, count) in draws[1..].iter_mut().zip([contained, similar, found]) {
                draws.push(f64::from(count) / f64::from(judged.max(1)));
            }
        }
    }
    for (parts, [judged, contained, similar, found]) in PARTS.into_iter().zip(&draws) {
        let part = match parts {
            1 => "whole".to_owned(),
            more => format!("1/{more}"),
        };
        if parts > 1 {
            said.push(format!("{part}: {contained} and {found} %"));
        }
        table.row([
            part,
            judged.rounded(0),
            contained.to_string(),
            similar.to_string(),
            found.to_string(),
        ]);
    }
    let text = format!(
        "The first part of a text in the whole, under {seeds} permutations. Contained at 90 % by \
         regular sketches, and a common super shingle: {}. Paper: \"Super shingles cannot detect \
         containment\".",
        said.join("; ")
    );
    Ok(Section::new("Super shingles: blind to containment", text).table(table))
}
