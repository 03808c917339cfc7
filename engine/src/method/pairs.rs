//! `pairs --method`: all against all.

use resemble_proto::message::{
    Answer, MethodBar, MethodPairRow, MethodPairs, MethodRow, MethodScore,
};
use resemble_proto::path::PathText;

use super::signed::Signed;
use super::{Asked, Bar, Told, sorted};
use crate::ask::AskError;
use crate::members::Member;

pub(super) fn pairs(
    asked: &Asked<'_>,
    question: &MethodPairs,
) -> Result<Answer<MethodRow>, AskError> {
    let signed = Signed::of(asked, &mut asked.kept())?;
    let rows = rows(asked, &signed, question.score, question.bar, question.exact)?;
    let rows = rows.into_iter().map(MethodRow::Pair).collect();
    let errors = asked.errors(signed.errors);
    Ok(Answer::fresh(rows, errors).cut(question.bar.top))
}

/// A row for each two files of a pair that the bar lets through, and for any two of equal bytes; best first.
pub(super) fn rows(
    asked: &Asked<'_>,
    signed: &Signed,
    score: MethodScore,
    bar: MethodBar,
    exact: bool,
) -> Result<Vec<MethodPairRow>, AskError> {
    let bar = Bar::new(asked.params.method().thresholds().pairs, score, bar);
    let mut found = sorted::pairs(asked, signed, &bar)?;
    if exact {
        found = sorted::exactly(asked, signed, found, &bar);
    }
    let holders = |at: usize| asked.members.holders(signed.contents[at].id);
    let mut rows = Vec::new();
    for pair in &found {
        for one in holders(pair.a) {
            for other in holders(pair.b) {
                rows.push(row((one, other), pair.told, score, false));
            }
        }
    }
    for (at, signature) in signed.signatures.iter().enumerate() {
        let holders: Vec<&Member> = holders(at).collect();
        if holders.len() > 1 {
            let told = Told::both_ways(asked.params, signature, signature);
            for (place, &one) in holders.iter().enumerate() {
                let others = holders[place + 1..].iter();
                rows.extend(others.map(|&other| row((one, other), told, score, true)));
            }
        }
    }
    sort(&mut rows, score);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
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
    (one, other): (&Member, &Member),
    told: Told,
    score: MethodScore,
    identical: bool,
) -> (Told, MethodPairRow) {
    let name = |member: &Member| PathText::from(member.path.as_path());
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
