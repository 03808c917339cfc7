//! Rows of `pairs` before they are formatted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use resemble_core::{ContentId, Measures, Relation, Score, rank};
use resemble_proto::message::{Discount, FileDates, Newer, PairFigures, PairOrder, PairRow};
use resemble_proto::number::Fraction;
use resemble_relate::judge::matched::Match;
use resemble_relate::nominate::evidence::Counts;
use resemble_relate::scope::ScopedFile;

/// A pair of files before its row is made. `a` has the lesser path.
pub(super) struct PairDraft<'a> {
    a: &'a ScopedFile,
    b: &'a ScopedFile,
    matched: &'a Match,
    /// `None` if a file is too small to judge.
    score: Option<Score>,
    /// The least possible score, by which rows are ranked. Rows without a rank are last.
    rank: Option<Score>,
    /// True if `b` is the first of the two files that `matched` compares.
    is_swapped: bool,
    /// The number of files with these bytes, if the row represents a set of identical files.
    pub(super) copies: Option<u64>,
}

/// Texts that many rows share, stored once.
#[derive(Default)]
pub(super) struct RowTexts {
    /// The reasons of discounts. The key has the percentages before and after the discount, and the
    /// number of contents.
    reasons: HashMap<(Option<u8>, Option<u8>, u32), Arc<str>>,
    stated: StatedDates,
}

/// The date that each document states, in seconds since 1970. The key is the content of the
/// document.
pub(super) type StatedDates = HashMap<ContentId, i64>;

impl RowTexts {
    pub(super) fn of(stated: StatedDates) -> Self {
        Self {
            stated,
            ..Self::default()
        }
    }

    fn dates(&self, file: &ScopedFile) -> FileDates {
        FileDates::of(file.mtime, self.stated.get(&file.content).copied())
    }
}

impl PairDraft<'_> {
    /// Returns the measures, seen from `a`.
    fn seen(&self, measures: Measures) -> Measures {
        if self.is_swapped {
            measures.swapped()
        } else {
            measures
        }
    }

    /// Returns the score after the discount for common text. If the score counts rare content only,
    /// the containment is discounted instead.
    fn discount(&self, known: &mut RowTexts) -> Discount {
        let Match {
            measures,
            rare,
            rarity,
            ..
        } = self.matched;
        let raw = if rare.is_some() {
            measures.containment()
        } else {
            self.score
        };
        let (Some(raw), Some(rarity)) = (raw, rarity) else {
            return Discount::default();
        };
        let (raw, left) = (Fraction::from(raw), Fraction::from(rarity.discounted(raw)));
        Counts::discount(raw, left, || {
            let percents = (raw.percent(false), left.percent(false), rarity.contents);
            let reason = known.reasons.entry(percents);
            let made = || Counts::reason(raw, left, rarity.contents).into();
            Arc::clone(reason.or_insert_with(made))
        })
    }

    /// Compares rows by rank.
    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        // Few rows have equal ranks, so the rest of the key is computed only for these.
        let by_rank = other.rank.cmp(&self.rank);
        by_rank.then_with(|| {
            let rank_of = |row: &Self| row.rank.unwrap_or(Score::ZERO);
            let least = |row: &Self| row.seen(row.matched.least());
            let (ours, theirs) = (least(self), least(other));
            let order = rank::compare(
                (rank_of(self), &ours, self.a.path.as_bytes()),
                (rank_of(other), &theirs, other.a.path.as_bytes()),
            );
            order.then_with(|| self.b.path.cmp(&other.b.path))
        })
    }

    /// Returns the key by which [`PairOrder::Worth`] sorts rows.
    fn worth(&self) -> (u8, Reverse<u64>) {
        let class = match self.matched.relation {
            Some(Relation::Identical | Relation::SameText) => 1,
            Some(_) => 0,
            None if self.rank.is_some() => 2,
            None => 3,
        };
        let measures = self.matched.least();
        let raw = measures.containment().unwrap_or(Score::ZERO);
        let rarity = self.matched.rarity.as_ref();
        let left = rarity.map_or(raw, |rarity| rarity.discounted(raw));
        let share = if raw.get() > 0.0 {
            left.get() / raw.get()
        } else {
            1.0
        };
        (
            class,
            Reverse((measures.shared_bytes.0 as f64 * share) as u64),
        )
    }

    /// Sorts rows by the requested order.
    pub(super) fn sort(rows: &mut [Self], order: PairOrder) {
        match order {
            PairOrder::Score => rows.sort_unstable_by(Self::compare),
            PairOrder::Worth => rows.sort_unstable_by(|one, other| {
                let by_worth = one.worth().cmp(&other.worth());
                by_worth.then_with(|| one.compare(other))
            }),
        }
    }

    /// Returns the row. `known` stores texts that several rows have.
    pub(super) fn to_answer(&self, known: &mut RowTexts) -> PairRow {
        let measures = self.seen(self.matched.measures);
        let told = PairFigures {
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
            owner_a: None,
            owner_b: None,
            a: self.a.path.clone(),
            b: self.b.path.clone(),
            told: if self.is_swapped {
                told.swapped()
            } else {
                told
            },
            identical: self.matched.relation == Some(Relation::Identical),
            layer: self.matched.layer,
            copies: self.copies,
            age: Newer::of(known.dates(self.a), known.dates(self.b)),
            score: Fraction::from(self.score),
            a_in_b: Fraction::from(measures.a_in_b),
            b_in_a: Fraction::from(measures.b_in_a),
            resemblance: Fraction::from(measures.resemblance),
            shared_bytes: measures.shared_bytes.0,
            discount: self.discount(known),
        }
    }
}

/// Returns the row of two files. `matched` has the measures of the pair (one, other).
pub(super) fn row<'a>(
    (one, other): (&'a ScopedFile, &'a ScopedFile),
    (score, rank): (Option<Score>, Option<Score>),
    matched: &'a Match,
) -> PairDraft<'a> {
    let is_swapped = one.path > other.path;
    let (one, other) = if is_swapped {
        (other, one)
    } else {
        (one, other)
    };
    PairDraft {
        a: one,
        b: other,
        matched,
        copies: None,
        score,
        rank,
        is_swapped,
    }
}
