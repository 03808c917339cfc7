//! `pairs --method`: compares all files with each other.

use crate::question::{MethodLimits, MethodPairRow, MethodPairs, MethodRow, MethodScore};
use resemble_proto::message::{Answer, SoftError};
use resemble_proto::path::PathText;
use resemble_relate::scope::ScopedFile;

use super::all_pairs::{FoundPairs, all_pairs, equal};
use super::signed::Signed;
use super::{MethodContext, PairScores, RowThreshold, sorted};
use crate::error::LabError;

pub(super) fn pairs(
    context: &MethodContext<'_>,
    question: &MethodPairs,
) -> Result<Answer<MethodRow>, LabError> {
    let (rows, errors) = rows(context, question.score, question.limits, question.exact)?;
    let rows = rows.into_iter().map(MethodRow::Pair).collect();
    Ok(Answer::fresh(rows, context.errors(errors)).cut(question.limits.top))
}

/// Finds the pairs by comparing signatures, which are all in memory.
fn by_signatures(
    context: &MethodContext<'_>,
    threshold: &RowThreshold,
) -> Result<FoundPairs, LabError> {
    let signed = Signed::of(context, &mut context.cached())?;
    let signatures = &signed.signatures;
    let scores =
        |at: usize| PairScores::both_ways(context.params, &signatures[at], &signatures[at]);
    Ok(FoundPairs {
        found: all_pairs(context.params, signatures, threshold)?,
        equal: equal(context, &signed.contents, scores),
        contents: signed.contents,
        errors: signed.errors,
    })
}

/// Returns the rows, best first, and the files that could not be read. Two files have a row if the
/// threshold accepts their contents as a pair, or if their bytes are equal.
pub(super) fn rows(
    context: &MethodContext<'_>,
    score: MethodScore,
    limits: MethodLimits,
    exact: bool,
) -> Result<(Vec<MethodPairRow>, Vec<SoftError>), LabError> {
    let threshold = RowThreshold::new(context.params.method().thresholds().pairs, score, limits);
    let pairs = match sorted::pairs(context, &threshold)? {
        Some(pairs) => pairs,
        None => by_signatures(context, &threshold)?,
    };
    let mut found = pairs.found;
    if exact {
        found = sorted::exactly(context, &pairs.contents, found, &threshold);
    }
    let holders = |at: usize| context.scoped.holders(pairs.contents[at].id);
    let mut rows = Vec::new();
    for pair in &found {
        for one in holders(pair.a) {
            for other in holders(pair.b) {
                rows.push(row((one, other), pair.scores, score, false));
            }
        }
    }
    for (at, scores) in pairs.equal {
        let holders: Vec<&ScopedFile> = holders(at).collect();
        for (place, &one) in holders.iter().enumerate() {
            let others = holders[place + 1..].iter();
            rows.extend(others.map(|&other| row((one, other), scores, score, true)));
        }
    }
    sort(&mut rows, score);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Ok((rows, pairs.errors))
}

/// Sorts rows into the order of answers.
pub(super) fn sort(rows: &mut [(PairScores, MethodPairRow)], score: MethodScore) {
    rows.sort_by(|(scores, row), (other, other_row)| {
        scores
            .compare(other, score)
            .then_with(|| row.a.as_bytes().cmp(other_row.a.as_bytes()))
            .then_with(|| row.b.as_bytes().cmp(other_row.b.as_bytes()))
    });
}

fn row(
    (one, other): (&ScopedFile, &ScopedFile),
    scores: PairScores,
    score: MethodScore,
    identical: bool,
) -> (PairScores, MethodPairRow) {
    let name = |file: &ScopedFile| file.path.clone();
    named((name(one), name(other)), scores, score, identical)
}

/// Makes the row for two names. `scores` are the scores of (`one`, `other`). They are swapped if
/// the row names `other` first.
pub(super) fn named(
    (one, other): (PathText, PathText),
    scores: PairScores,
    score: MethodScore,
    identical: bool,
) -> (PairScores, MethodPairRow) {
    let is_swapped = one.as_bytes() > other.as_bytes();
    let (a, b, scores) = if is_swapped {
        (other, one, scores.swapped())
    } else {
        (one, other, scores)
    };
    let row = MethodPairRow {
        a,
        b,
        score: scores.score(score),
        a_in_b: scores.a_in_b,
        b_in_a: scores.b_in_a,
        resemblance: scores.resemblance,
        shared_bytes: scores.shared_bytes,
        identical,
    };
    (scores, row)
}
