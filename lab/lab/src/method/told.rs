//! What a method says of a pair, in the terms of answers, and what of that is worth a row.

use std::cmp::Ordering;

use crate::figure::Figure;
use crate::question::{MethodBar, MethodScore};
use resemble_core::Score;
use resemble_methods::judged::Overlap;
use resemble_methods::{Judged, MethodParams, MethodSignature, Refused, Scores, Threshold, score};
use resemble_proto::number::Fraction;

/// What a method says of a pair (a, b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The paper's figure.
    pub figure: Figure,
    /// How much of a lies in b; none: too small to judge, or nothing that the method can tell.
    pub a_in_b: Fraction,
    /// How much of b lies in a.
    pub b_in_a: Fraction,
    /// How much of both is common.
    pub resemblance: Fraction,
    /// Bytes in common chunks, of methods that know chunks.
    pub shared_bytes: Option<u64>,
}

impl Told {
    /// Of a file that is asked about (a) and another.
    pub fn of(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> Self {
        Self::of_scores(&score(params, a, b))
    }

    /// Of sorted5, from what was counted.
    pub fn of_overlap(overlap: Overlap) -> Self {
        Self::of_scores(&Scores::of_shares(overlap))
    }

    /// The same as [`Self::both_ways`].
    pub fn of_overlap_both_ways(overlap: Overlap) -> Self {
        let told = Self::of_overlap(overlap);
        let back = Figure::from(overlap.b_in_a().value());
        Self {
            figure: told.figure.max(back),
            ..told
        }
    }

    fn of_scores(scores: &Scores) -> Self {
        let share = |told: Result<Judged, Refused>| {
            let judged = told.ok().and_then(Judged::value);
            Fraction::from(judged.map(Score::new))
        };
        Self {
            figure: Figure::from(scores.score.value()),
            a_in_b: share(scores.a_in_b),
            b_in_a: share(scores.b_in_a),
            resemblance: share(scores.resemblance),
            shared_bytes: scores.shared_bytes,
        }
    }

    /// Of two files of which neither is asked about: where the figure depends on that, the larger
    /// one.
    pub fn both_ways(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> Self {
        let told = Self::of(params, a, b);
        if params.method().is_symmetric() {
            return told;
        }
        let back = Figure::from(score(params, b, a).score.value());
        Self {
            figure: told.figure.max(back),
            ..told
        }
    }

    /// The same of (b, a).
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            a_in_b: self.b_in_a,
            b_in_a: self.a_in_b,
            ..self
        }
    }

    /// What sorts.
    pub fn score(&self, score: MethodScore) -> Figure {
        let share = |share: Fraction| Figure::from(share.score().map(Score::get));
        match score {
            MethodScore::Paper => self.figure,
            MethodScore::Containment => share(self.a_in_b.max(self.b_in_a)),
            MethodScore::Resemblance => share(self.resemblance),
        }
    }

    /// The order of answers: score down, then `a_in_b`, then resemblance; paths decide what is
    /// left.
    pub fn compare(&self, other: &Self, score: MethodScore) -> Ordering {
        let key = |told: &Self| (told.score(score), told.a_in_b, told.resemblance);
        key(other).cmp(&key(self))
    }
}

/// What is worth a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// What is bounded.
    score: MethodScore,
    /// From here on.
    min: Figure,
    /// With so many bytes in common chunks, of methods that know chunks.
    bytes: u64,
}

impl Bar {
    /// What is asked for; else the paper's threshold, which is one of the paper's figure.
    pub fn new(threshold: Threshold, score: MethodScore, asked: MethodBar) -> Self {
        let off = Self {
            score: MethodScore::Paper,
            min: Figure::NONE,
            bytes: asked.min_shared.unwrap_or(0),
        };
        match (asked.min.value(), threshold) {
            (Some(_), _) => Self {
                score,
                min: asked.min,
                ..off
            },
            (None, Threshold::Score(min)) => Self {
                min: Figure::new(min),
                ..off
            },
            (None, Threshold::SharedBytes(bytes)) => Self {
                bytes: asked.min_shared.unwrap_or(bytes),
                ..off
            },
        }
    }

    /// Whether a pair has a row. What has nothing in common, or is too small to judge, never has.
    pub fn lets_through(&self, told: &Told) -> bool {
        let score = told.score(self.score);
        score.value().is_some_and(|value| value > 0.0)
            && score >= self.min
            && told.shared_bytes.is_none_or(|bytes| bytes >= self.bytes)
    }

    /// The least figure of the paper that passes, if that is what is bounded.
    pub(super) fn least_figure(&self) -> f64 {
        match self.score {
            MethodScore::Paper => self.min.value().unwrap_or(0.0),
            _ => 0.0,
        }
    }
}
