//! Defines the scores that a method gives a pair of files, in the form of answers. Also defines the
//! threshold that a pair must reach to have a row.

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
    /// The figure that the paper of the method defines.
    pub figure: Figure,
    /// The share of `a` that is in `b`. It is [`Fraction::NONE`] if `a` is too small to judge, or
    /// if the method has no such measure.
    pub a_in_b: Fraction,
    /// The share of `b` that is in `a`.
    pub b_in_a: Fraction,
    /// The resemblance: what both files share, divided by what either of them has.
    pub resemblance: Fraction,
    /// The number of bytes in common chunks, if the method cuts files into chunks.
    pub shared_bytes: Option<u64>,
}

impl PairScores {
    /// Returns the scores of the files `a` and `b`, of which `a` is the subject of a question.
    pub fn of(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> Self {
        Self::of_scores(&score(params, a, b))
    }

    /// Computes the scores of sorted5 from the number of common chunks.
    pub fn of_overlap(overlap: Overlap) -> Self {
        Self::of_scores(&Scores::of_shares(overlap))
    }

    /// Computes the scores of sorted5 for two files of which neither is the subject. See
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

    /// Returns the scores of two files of which neither is the subject. If the figure depends on
    /// which file is the subject, it is the larger of the two possible figures.
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

    /// Returns the scores of (b, a).
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            a_in_b: self.b_in_a,
            b_in_a: self.a_in_b,
            ..self
        }
    }

    /// Returns the score of this kind, by which answers are sorted.
    pub fn score(&self, score: MethodScore) -> Figure {
        let share = |share: Fraction| Figure::from(share.score().map(Score::get));
        match score {
            MethodScore::Paper => self.figure,
            MethodScore::Containment => share(self.a_in_b.max(self.b_in_a)),
            MethodScore::Resemblance => share(self.resemblance),
        }
    }

    /// Compares two pairs for the order of answers: the highest score is first, then the highest
    /// `a_in_b`, then the highest resemblance. The caller orders pairs that are equal in all three
    /// by their paths.
    pub fn compare(&self, other: &Self, score: MethodScore) -> Ordering {
        let key = |scores: &Self| (scores.score(score), scores.a_in_b, scores.resemblance);
        key(other).cmp(&key(self))
    }
}

/// The least scores that a pair needs for a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowThreshold {
    /// The kind of score that `min` is about.
    score: MethodScore,
    /// The least score.
    min: Figure,
    /// The fewest bytes in common chunks. This limit is used only if the method cuts files into
    /// chunks.
    bytes: u64,
}

impl RowThreshold {
    /// Creates the threshold that the user set. If the user set no threshold, this is the threshold
    /// of the paper, which applies to the paper's figure.
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

    /// Returns whether a pair has a row. It has no row if the files have nothing in common, or if
    /// one of them is too small to judge.
    pub fn accepts(&self, scores: &PairScores) -> bool {
        let score = scores.score(self.score);
        score.value().is_some_and(|value| value > 0.0)
            && score >= self.min
            && scores.shared_bytes.is_none_or(|bytes| bytes >= self.bytes)
    }

    /// Returns the threshold for the paper's own score. Returns 0 if the threshold is for another
    /// score.
    pub(super) fn least_figure(&self) -> f64 {
        match self.score {
            MethodScore::Paper => self.min.value().unwrap_or(0.0),
            _ => 0.0,
        }
    }
}
