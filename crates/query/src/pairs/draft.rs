//! Rows of `pairs` before they are an answer.

use std::path::Path;

use resemble_core::{Measures, Relation, Score, rank};
use resemble_proto::message::{Discount, FiguresTold, PairRow};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::judge::matched::Match;
use crate::nominate::evidence::Counts;
use crate::scope::ScopedFile;

/// A pair of files before it is an answer; `a` has the lesser path.
pub(super) struct PairDraft<'a> {
    a: &'a Path,
    b: &'a Path,
    matched: &'a Match,
    score: Score,
    /// What the score is at least: by that rows are ranked.
    rank: Score,
    /// `b` is the first of what was matched.
    is_swapped: bool,
    /// So many files have the bytes of both, if the row is that of all of them.
    pub(super) copies: Option<u64>,
}

impl PairDraft<'_> {
    /// Measures of what was matched, seen from `a`.
    fn seen(&self, measures: Measures) -> Measures {
        if self.is_swapped {
            measures.swapped()
        } else {
            measures
        }
    }

    /// What is left of the score without common text. A score that is the share of what is rare
    /// has none of that in it: there it is that of the containment.
    fn discount(&self) -> Discount {
        let Match {
            measures,
            rare,
            rarity,
            read,
            ..
        } = self.matched;
        let Some(rarity) = rarity else {
            return Discount::default();
        };
        let raw = if rare.is_some() {
            let read = read.map(|(containment, _)| containment);
            measures.containment().or(read).unwrap_or(self.score)
        } else {
            self.score
        };
        let left = Fraction::from(rarity.discounted(raw));
        Counts::in_words(Fraction::from(raw), left, rarity.contents)
    }

    /// The order of rows.
    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        rank::compare(
            (
                self.rank,
                &self.seen(self.matched.least()),
                self.a.as_os_str().as_encoded_bytes(),
            ),
            (
                other.rank,
                &other.seen(other.matched.least()),
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
        let measures = self.seen(self.matched.measures);
        let told = FiguresTold {
            relation: self.matched.relation,
            unit: self.matched.unit.into(),
            estimate: self.matched.is_estimate,
            interval: self
                .matched
                .interval
                .as_deref()
                .map(|&interval| interval.into()),
        };
        PairRow {
            a: PathText::from(self.a),
            b: PathText::from(self.b),
            told: if self.is_swapped {
                told.swapped()
            } else {
                told
            },
            identical: self.matched.relation == Some(Relation::Identical),
            layer: self.matched.layer,
            copies: self.copies,
            score: Fraction::from(self.score),
            a_in_b: Fraction::from(measures.a_in_b),
            b_in_a: Fraction::from(measures.b_in_a),
            resemblance: Fraction::from(measures.resemblance),
            shared_bytes: measures.shared_bytes.0,
            discount: self.discount(),
        }
    }
}

/// The row of two files; the measures are those of (one, other).
pub(super) fn row<'a>(
    (one, other): (&'a ScopedFile, &'a ScopedFile),
    (score, rank): (Score, Score),
    matched: &'a Match,
) -> PairDraft<'a> {
    let raw = |member: &'a ScopedFile| member.path.as_os_str().as_encoded_bytes();
    let is_swapped = raw(one) > raw(other);
    let (one, other) = if is_swapped {
        (other, one)
    } else {
        (one, other)
    };
    PairDraft {
        a: &one.path,
        b: &other.path,
        matched,
        copies: None,
        score,
        rank,
        is_swapped,
    }
}
