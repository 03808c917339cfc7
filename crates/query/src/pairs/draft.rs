//! Rows of `pairs` before they are an answer.

use std::path::Path;

use resemble_core::{Measures, Relation, Score, rank};
use resemble_proto::message::PairRow;
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::judge::matched::Match;
use crate::scope::ScopedFile;

/// A pair of files before it is an answer; `a` has the lesser path.
pub(super) struct PairDraft<'a> {
    a: &'a Path,
    b: &'a Path,
    matched: &'a Match,
    score: Score,
    relation: Option<Relation>,
    measures: Measures,
    /// So many files have the bytes of both, if the row is that of all of them.
    pub(super) copies: Option<u64>,
}

impl PairDraft<'_> {
    /// The order of rows.
    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        rank::compare(
            (
                self.score,
                &self.measures,
                self.a.as_os_str().as_encoded_bytes(),
            ),
            (
                other.score,
                &other.measures,
                other.a.as_os_str().as_encoded_bytes(),
            ),
        )
        .then_with(|| {
            self.b
                .as_os_str()
                .as_encoded_bytes()
                .cmp(other.b.as_os_str().as_encoded_bytes())
        })
    }

    pub(super) fn to_answer(&self) -> PairRow {
        PairRow {
            a: PathText::from(self.a),
            b: PathText::from(self.b),
            relation: self.relation,
            unit: self.matched.unit.into(),
            estimate: self.matched.is_estimate,
            identical: self.matched.relation == Some(Relation::Identical),
            layer: self.matched.layer,
            copies: self.copies,
            score: Fraction::from(self.score),
            a_in_b: Fraction::from(self.measures.a_in_b),
            b_in_a: Fraction::from(self.measures.b_in_a),
            resemblance: Fraction::from(self.measures.resemblance),
            shared_bytes: self.measures.shared_bytes.0,
            discount: self.matched.discount.clone(),
        }
    }
}

/// The row of two files; the measures are those of (one, other).
pub(super) fn row<'a>(
    (one, other): (&'a ScopedFile, &'a ScopedFile),
    score: Score,
    matched: &'a Match,
) -> PairDraft<'a> {
    let raw = |member: &'a ScopedFile| member.path.as_os_str().as_encoded_bytes();
    let swapped = raw(one) > raw(other);
    let (one, other) = if swapped { (other, one) } else { (one, other) };
    PairDraft {
        a: &one.path,
        b: &other.path,
        matched,
        copies: None,
        score,
        relation: if swapped {
            matched.relation.map(Relation::swapped)
        } else {
            matched.relation
        },
        measures: if swapped {
            matched.measures.swapped()
        } else {
            matched.measures
        },
    }
}
