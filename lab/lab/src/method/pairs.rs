//! `pairs --method`: all against all.

use crate::question::{MethodBar, MethodPairRow, MethodPairs, MethodRow, MethodScore};
use resemble_index::ContentRow;
use resemble_proto::message::{Answer, SoftError};
use resemble_proto::path::PathText;

use super::all_pairs::{Found, all_pairs};
use super::signed::Signed;
use super::{Asked, Bar, Told, sorted};
use crate::error::LabError;
use resemble_query::scope::ScopedFile;

pub(super) fn pairs(
    asked: &Asked<'_>,
    question: &MethodPairs,
) -> Result<Answer<MethodRow>, LabError> {
    let (rows, errors) = rows(asked, question.score, question.bar, question.exact)?;
    let rows = rows.into_iter().map(MethodRow::Pair).collect();
    Ok(Answer::fresh(rows, asked.errors(errors)).cut(question.bar.top))
}

/// What rows are made of.
pub(super) struct Pairs {
    /// Of the files that take part, ascending.
    pub(super) contents: Vec<ContentRow>,
    /// The pairs that the bar lets through, by their places among the contents.
    pub(super) found: Vec<Found>,
    /// The contents that several files have, by their places, with what is told of such a content
    /// and itself.
    pub(super) equal: Vec<(usize, Told)>,
    /// Files that could not be read.
    pub(super) errors: Vec<SoftError>,
}

/// Those of the contents that several files have, with what is told of each and itself.
pub(super) fn equal(
    asked: &Asked<'_>,
    contents: &[ContentRow],
    told: impl Fn(usize) -> Told,
) -> Vec<(usize, Told)> {
    let has_several = |at: &usize| asked.members.holders(contents[*at].id).nth(1).is_some();
    let several = (0..contents.len()).filter(has_several);
    several.map(|at| (at, told(at))).collect()
}

/// By signatures, all in memory.
fn by_signatures(asked: &Asked<'_>, bar: &Bar) -> Result<Pairs, LabError> {
    let signed = Signed::of(asked, &mut asked.cached())?;
    let signatures = &signed.signatures;
    let told = |at: usize| Told::both_ways(asked.params, &signatures[at], &signatures[at]);
    Ok(Pairs {
        found: all_pairs(asked.params, signatures, bar)?,
        equal: equal(asked, &signed.contents, told),
        contents: signed.contents,
        errors: signed.errors,
    })
}

/// A row for each two files of a pair that the bar lets through, and for any two of equal bytes,
/// best first; the files that could not be read.
pub(super) fn rows(
    asked: &Asked<'_>,
    score: MethodScore,
    bar: MethodBar,
    exact: bool,
) -> Result<(Vec<MethodPairRow>, Vec<SoftError>), LabError> {
    let bar = Bar::new(asked.params.method().thresholds().pairs, score, bar);
    let pairs = match sorted::pairs(asked, &bar)? {
        Some(pairs) => pairs,
        None => by_signatures(asked, &bar)?,
    };
    let mut found = pairs.found;
    if exact {
        found = sorted::exactly(asked, &pairs.contents, found, &bar);
    }
    let holders = |at: usize| asked.members.holders(pairs.contents[at].id);
    let mut rows = Vec::new();
    for pair in &found {
        for one in holders(pair.a) {
            for other in holders(pair.b) {
                rows.push(row((one, other), pair.told, score, false));
            }
        }
    }
    for (at, told) in pairs.equal {
        let holders: Vec<&ScopedFile> = holders(at).collect();
        for (place, &one) in holders.iter().enumerate() {
            let others = holders[place + 1..].iter();
            rows.extend(others.map(|&other| row((one, other), told, score, true)));
        }
    }
    sort(&mut rows, score);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Ok((rows, pairs.errors))
}

/// The order of answers.
pub(super) fn sort(rows: &mut [(Told, MethodPairRow)], score: MethodScore) {
    rows.sort_by(|(told, row), (other, other_row)| {
        told.compare(other, score)
            .then_with(|| row.a.as_bytes().cmp(other_row.a.as_bytes()))
            .then_with(|| row.b.as_bytes().cmp(other_row.b.as_bytes()))
    });
}

fn row(
    (one, other): (&ScopedFile, &ScopedFile),
    told: Told,
    score: MethodScore,
    identical: bool,
) -> (Told, MethodPairRow) {
    let name = |member: &ScopedFile| PathText::from(member.path.as_path());
    named((name(one), name(other)), told, score, identical)
}

/// The row of two names; `told` is of them in this order.
pub(super) fn named(
    (one, other): (PathText, PathText),
    told: Told,
    score: MethodScore,
    identical: bool,
) -> (Told, MethodPairRow) {
    let is_swapped = one.as_bytes() > other.as_bytes();
    let (a, b, told) = if is_swapped {
        (other, one, told.swapped())
    } else {
        (one, other, told)
    };
    let row = MethodPairRow {
        a,
        b,
        score: told.score(score),
        a_in_b: told.a_in_b,
        b_in_a: told.b_in_a,
        resemblance: told.resemblance,
        shared_bytes: told.shared_bytes,
        identical,
    };
    (told, row)
}
