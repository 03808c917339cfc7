//! The scores of a pair of files by a method, as in answers, and the threshold above which a pair
//! has a row.

use std::cmp::Ordering;

use crate::figure::Figure;
use crate::question::{MethodLimits, MethodScore};
use resemble_core::Score;
use resemble_methods::judged::Overlap;
use resemble_methods::{Judged, MethodParams, MethodSignature, Refused, Scores, Threshold, score};
use resemble_proto::number::Fraction;

/// The scores of a pair of files (a, b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairScores {
    /// The paper's figure.
    pub figure: Figure,
    /// Share of a that is in b. `None` if a is too small to judge or the method has no such figure.
    pub a_in_b: Fraction,
    /// Share of b that is in a.
    pub b_in_a: Fraction,
    /// Shared over union of both files.
    pub resemblance: Fraction,
    /// Bytes in common chunks, if the method knows chunks.
    pub shared_bytes: Option<u64>,
}

impl PairScores {
    /// The scores of a file that is asked about (a) and another one.
    pub fn of(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> Self {
        Self::of_scores(&score(params, a, b))
    }

    /// The scores by sorted5, from the chunks that were counted.
    pub fn of_overlap(overlap: Overlap) -> Self {
        Self::of_scores(&Scores::of_shares(overlap))
    }

    /// The scores by sorted5 of two files, neither of which is the subject; see
    /// [`Self::both_ways`].
    pub fn of_overlap_both_ways(overlap: Overlap) -> Self {
        let scores = Self::of_overlap(overlap);
        let back = Figure::from(overlap.b_in_a().value());
        Self {
            figure: scores.figure.max(back),
            ..scores
        }
    }

    fn of_scores(scores: &Scores) -> Self {
        let share = |judged: Result<Judged, Refused>| {
            let value = judged.ok().and_then(Judged::value);
            Fraction::from(value.map(Score::new))
        };
        Self {
            figure: Figure::from(scores.score.value()),
            a_in_b: share(scores.a_in_b),
            b_in_a: share(scores.b_in_a),
            resemblance: share(scores.resemblance),
            shared_bytes: scores.shared_bytes,
        }
    }

    /// The scores of two files, neither of which is the subject. A figure that depends on the
    /// subject is the larger of the two.
    pub fn both_ways(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> Self {
        let scores = Self::of(params, a, b);
        if params.method().is_symmetric() {
            return scores;
        }
        let back = Figure::from(score(params, b, a).score.value());
        Self {
            figure: scores.figure.max(back),
            ..scores
        }
    }

    /// The scores of (b, a).
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            a_in_b: self.b_in_a,
            b_in_a: self.a_in_b,
            ..self
        }
    }

    /// The score by which answers are sorted.
    pub fn score(&self, score: MethodScore) -> Figure {
        let share = |share: Fraction| Figure::from(share.score().map(Score::get));
        match score {
            MethodScore::Paper => self.figure,
            MethodScore::Containment => share(self.a_in_b.max(self.b_in_a)),
            MethodScore::Resemblance => share(self.resemblance),
        }
    }

    /// The order of answers: the highest score first, then the highest `a_in_b`, then the highest
    /// resemblance. Pairs that are equal in all three are ordered by their paths elsewhere.
    pub fn compare(&self, other: &Self, score: MethodScore) -> Ordering {
        let key = |scores: &Self| (scores.score(score), scores.a_in_b, scores.resemblance);
        key(other).cmp(&key(self))
    }
}

/// The least scores of a pair that has a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowThreshold {
    /// The score that `min` bounds.
    score: MethodScore,
    /// The least score.
    min: Figure,
    /// The fewest bytes in common chunks, if the method knows chunks.
    bytes: u64,
}

impl RowThreshold {
    /// The threshold that is asked for, or else the paper's, which bounds the paper's figure.
    pub fn new(threshold: Threshold, score: MethodScore, asked: MethodLimits) -> Self {
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

    /// Returns whether a pair has a row. A pair with nothing in common, or with a file that is too
    /// small to judge, never has one.
    pub fn accepts(&self, scores: &PairScores) -> bool {
        let score = scores.score(self.score);
        score.value().is_some_and(|value| value > 0.0)
            && score >= self.min
            && scores.shared_bytes.is_none_or(|bytes| bytes >= self.bytes)
    }

    /// The least figure of the paper that a pair needs; 0 if another score is bounded.
    pub(super) fn least_figure(&self) -> f64 {
        match self.score {
            MethodScore::Paper => self.min.value().unwrap_or(0.0),
            _ => 0.0,
        }
    }
}
