//! Compares sets of features from another program as if they were files. This is the option
//! `--features` of `find`, `pairs` and `groups`.
//!
//! [`resemble_methods::lines`] defines the format of a line and a feature.

use crate::figure::Figure;
use crate::question::{MethodFileRow, MethodFindRow, MethodLimits, MethodPairRow, MethodScore};
use resemble_methods::Method;
use resemble_methods::collate::Collator;
use resemble_methods::lines::NamedFeatures;
use resemble_methods::select::select;
use resemble_methods::{MethodParams, MethodSignature};
use resemble_proto::path::PathText;

use super::all_pairs::all_pairs;
use super::find::{self, acceptance, interval, sorted_rows};
use super::pairs::{named, sort};
use super::sets::GroupsAnswer;
use super::{PairScores, RowThreshold, check_score};
use crate::error::{LabError, MethodError};

/// Returns the pairs of sets within the limits, best first. The caller applies the limit `top`.
/// Sets with the same features are not called identical, because nothing is known about their
/// bytes.
///
/// # Errors
///
/// Fails if the method does not have this score.
pub fn pairs(
    params: &MethodParams,
    sets: &[NamedFeatures],
    score: MethodScore,
    limits: MethodLimits,
) -> Result<Vec<MethodPairRow>, LabError> {
    check_score(params, score).map_err(MethodError::from)?;
    let signatures: Vec<MethodSignature> = sets
        .iter()
        .map(|set| select(params, &set.features))
        .collect();
    let threshold = RowThreshold::new(params.method().thresholds().pairs, score, limits);
    let found = all_pairs(params, &signatures, &threshold)?;
    let name = |at: usize| PathText::from_bytes(sets[at].name.clone());
    let mut rows: Vec<_> = found
        .iter()
        .map(|pair| named((name(pair.a), name(pair.b)), pair.scores, score, false))
        .collect();
    sort(&mut rows, score);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Returns the sets that are similar to the set with this name, best first, or `None` if no set has
/// this name. The caller applies the limit `top`. A set also has a row if at least the share
/// `contained` of one of the two sets is in the other set.
pub fn find(
    params: &MethodParams,
    sets: &[NamedFeatures],
    name: &PathText,
    contained: Figure,
    limits: MethodLimits,
) -> Option<Vec<MethodFindRow>> {
    let subject = sets.iter().find(|set| set.name == name.as_bytes())?;
    let own = select(params, &subject.features);
    let accepts = acceptance(params, contained, limits);
    let mut rows = Vec::new();
    for set in sets.iter().filter(|set| set.name != subject.name) {
        let other = select(params, &set.features);
        let scores = PairScores::of(params, &own, &other);
        if accepts(&scores) {
            let names = (name.clone(), PathText::from_bytes(set.name.clone()));
            let scores = (scores, interval(params, &own, &other));
            rows.push(find::named(names, scores, set.features.0.len() as u64));
        }
    }
    Some(sorted_rows(rows))
}

/// Returns the rows from which groups of sets are made. The size of a set is the number of its
/// features.
///
/// # Errors
///
/// No error is possible. The result has the type of [`pairs`], which refuses some scores.
pub fn groups(
    params: &MethodParams,
    mut sets: Vec<NamedFeatures>,
    limits: MethodLimits,
) -> Result<GroupsAnswer, LabError> {
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    let mut grouping = GroupsAnswer::default();
    grouping.files.extend(sets.iter().map(|set| MethodFileRow {
        path: PathText::from_bytes(set.name.clone()),
        size: set.features.0.len() as u64,
        text: false,
    }));
    if matches!(params.method(), Method::Sif | Method::SifAnchors) {
        let mut collator = Collator::default();
        for set in &sets {
            collator.add(select(params, &set.features).keys());
        }
        grouping.sets = Some(collator.finish());
    } else {
        grouping.pairs = pairs(params, &sets, MethodScore::Paper, limits)?;
    }
    Ok(grouping)
}
