//! Computes the paper's figure, and the measures that the method has, from two signatures.

use crate::judged::{Judged, Overlap};
use crate::method::{Measure, Method, Refused};
use crate::scheme::{MethodParams, Scheme};
use crate::shingle::{Estimates, Sample, estimates};
use crate::signature::{Form, MethodSignature};
use crate::{chunked, min_n, mod_n, sif, sketch_n, sorted5};

/// The scores of a pair (a, b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The figure of the method's paper.
    pub score: Judged,
    /// The share of `a` that is in `b`, if the method has this measure.
    pub a_in_b: Result<Judged, Refused>,
    /// The share of `b` that is in `a`, if the method has this measure.
    pub b_in_a: Result<Judged, Refused>,
    /// The size of the intersection divided by the size of the union, if the method has this
    /// measure.
    pub resemblance: Result<Judged, Refused>,
    /// The number of bytes in common chunks, which is a lower bound of the common bytes. It is
    /// `None` if the method does not cut files into chunks.
    pub shared_bytes: Option<u64>,
}

impl Scores {
    /// Returns the scores of sorted5. The figure is the share of the first document that is in the
    /// second document.
    pub fn of_shares(overlap: Overlap) -> Self {
        Self {
            score: overlap.a_in_b(),
            a_in_b: Ok(overlap.a_in_b()),
            b_in_a: Ok(overlap.b_in_a()),
            resemblance: Ok(overlap.resemblance()),
            shared_bytes: None,
        }
    }

    /// Returns the scores of a method whose only measure is the resemblance.
    fn of_resemblance(method: Method, resemblance: Judged) -> Self {
        let refused = Err(Refused::Containment { method });
        Self {
            score: resemblance,
            a_in_b: refused,
            b_in_a: refused,
            resemblance: Ok(resemblance),
            shared_bytes: None,
        }
    }

    fn too_small(params: &MethodParams) -> Self {
        let of = |measure| params.tells(measure).map(|()| Judged::TooSmall);
        Self {
            score: Judged::TooSmall,
            a_in_b: of(Measure::Containment),
            b_in_a: of(Measure::Containment),
            resemblance: of(Measure::Resemblance),
            shared_bytes: None,
        }
    }

    fn of_sketches(params: &MethodParams, estimates: Estimates) -> Self {
        let contained = |estimate: Option<crate::shingle::Estimate>| {
            params.tells(Measure::Containment)?;
            Ok(estimate.map_or(Judged::TooSmall, |estimate| estimate.value))
        };
        Self {
            score: estimates.resemblance.value,
            a_in_b: contained(estimates.a_in_b),
            b_in_a: contained(estimates.b_in_a),
            resemblance: Ok(estimates.resemblance.value),
            shared_bytes: None,
        }
    }
}

/// Returns the scores of a pair of signatures. The time grows with the lengths of the signatures.
///
/// The signatures must be of this method and have these parameters. Otherwise they cannot be
/// compared, and every score is [`Judged::TooSmall`]. (Signatures are stored by their params ids,
/// so only a mistake of a caller can cause this.)
pub fn score(params: &MethodParams, a: &MethodSignature, b: &MethodSignature) -> Scores {
    let method = params.method();
    match (&params.scheme, &a.0, &b.0) {
        (Scheme::Mod { .. } | Scheme::BswMin { .. }, Form::Set(a), Form::Set(b)) => {
            let overlap = mod_n::overlap(a, b);
            Scores {
                score: overlap.resemblance(),
                ..Scores::of_shares(overlap)
            }
        }
        (Scheme::Min { n, .. }, Form::Set(a), Form::Set(b)) => {
            Scores::of_resemblance(method, min_n::resemblance(a, b, *n as usize))
        }
        (Scheme::Sketch { .. }, Form::Slots(a), Form::Slots(b)) => {
            Scores::of_resemblance(method, sketch_n::resemblance(a, b))
        }
        (
            Scheme::Sif(_) | Scheme::SifAnchors(_),
            Form::Counted {
                level: level_a,
                fingerprints: a,
            },
            Form::Counted {
                level: level_b,
                fingerprints: b,
            },
        ) => {
            let common = sif::Common::of((*level_a, a), (*level_b, b));
            Scores {
                score: common.figure(),
                a_in_b: Ok(common.distinct.a_in_b()),
                b_in_a: Ok(common.distinct.b_in_a()),
                resemblance: Ok(common.distinct.resemblance()),
                shared_bytes: None,
            }
        }
        (
            Scheme::Sorted5(_),
            Form::Counted {
                fingerprints: a, ..
            },
            Form::Counted {
                fingerprints: b, ..
            },
        ) => Scores::of_shares(sorted5::overlap(a, b)),
        (Scheme::Tttd(_) | Scheme::Bsw(_), Form::Chunks(a), Form::Chunks(b)) => {
            let common = chunked::common_by_merging(a, b);
            let overlap = Overlap {
                common,
                a: chunked::bytes(a),
                b: chunked::bytes(b),
            };
            Scores {
                score: overlap.a_in_b().max(overlap.b_in_a()),
                a_in_b: Ok(overlap.a_in_b()),
                b_in_a: Ok(overlap.b_in_a()),
                resemblance: Ok(overlap.resemblance()),
                shared_bytes: Some(common),
            }
        }
        (Scheme::Shingle(shingles), ..) => match estimates(shingles.sample, a, b, &[]) {
            Some(estimates) => Scores::of_sketches(params, estimates),
            None => Scores::too_small(params),
        },
        (Scheme::SuperShingle(_), Form::Super { .. }, Form::Super { .. }) => {
            match estimates(Sample::Mod(1), a, b, &[]) {
                Some(estimates) => {
                    let scores = Scores::of_sketches(params, estimates);
                    let (a, b) = (a.keys(), b.keys());
                    let score = if a.is_empty() || b.is_empty() {
                        Judged::TooSmall
                    } else if Overlap::of_sets(&a, &b).common > 0 {
                        scores.score
                    } else {
                        Judged::Value(0.0)
                    };
                    Scores { score, ..scores }
                }
                None => Scores::too_small(params),
            }
        }
        _ => Scores::too_small(params),
    }
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
