//! Super shingles: runs of shingles in a sorted sketch.
//!
//! **Paper.** Broder, Glassman, Manasse & Zweig 1997, "Super shingles": "We compute super shingles
//! by sorting the sketch's shingles and then shingling the shingles. The document's meta-sketch is
//! then determined by its set of super shingles."
//!
//! **Figures.** Two documents with a common super shingle are *near*. Their score is then their
//! resemblance, which is estimated from the sketches ("If we want a higher threshold we can compute
//! their actual resemblance"). Without a common super shingle, the score is 0, whatever the
//! sketches are. The paper does not give the length of a super shingle: see [`DEFAULT_LENGTH`].
//!
//! **Refuses containment.** The sorted sketch of the larger document has further shingles between
//! those of the smaller document. So no sequence of shingles stays complete.
//!
//! **Is blind** to short documents: a sketch with fewer shingles than the length has no super
//! shingle. If a sketch has only a few super shingles, it loses them with the first edits.

use crate::shingle::{ShingleParams, sketch};
use crate::shingles::mix;
use crate::signature::{Form, MethodSignature};

/// The default number of shingles in a super shingle. Let k be this number, r the resemblance of a
/// pair, and n the number of shingles in the union of both sketches. The pair then has a common
/// super shingle at about n · r^k places. 4 is the smallest k with which unrelated files (r below
/// 10 %) hardly ever have a common super shingle. If the union has 100 shingles, a pair with a
/// resemblance of 50 % has about six common super shingles.
pub const DEFAULT_LENGTH: u32 = 4;

/// The parameters of super shingles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuperParams {
    /// The parameters of the sketch, which always has a modulus.
    pub shingles: ShingleParams,
    /// The number of shingles of a super shingle.
    pub length: u32,
}

/// Returns the distinct super shingles of an ascending sketch, in ascending order. They have 64
/// bits, because a single common super shingle makes two documents near. A million documents have
/// 20 million super shingles. With 40 bits, hundreds of pairs of super shingles would be equal by
/// accident.
pub fn super_shingles(sketch: &[u64], length: usize) -> Vec<u64> {
    let mut all: Vec<u64> = sketch
        .windows(length.max(1))
        .map(|run| {
            run.iter()
                .fold(length as u64, |all, &shingle| mix(all ^ shingle))
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Turns a sketch into a signature of super shingles with this length. Returns `None` if the
/// signature is not a sketch, or is a `V_i` with i above 0.
pub fn of_sketch(signature: &MethodSignature, length: u32) -> Option<MethodSignature> {
    let shingles = sketch(signature)
        .filter(|(level, _)| *level == 0)?
        .1
        .to_vec();
    Some(MethodSignature(Form::Super {
        length: length as u8,
        shingles,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::judged::Overlap;

    proptest! {
        /// A sketch has one super shingle for each run of its sorted shingles. So two sketches have
        /// a super shingle in common exactly if they have a whole run in common.
        #[test]
        fn a_common_one_is_a_common_run(
            a in prop::collection::btree_set(0u64..40, 0..30),
            b in prop::collection::btree_set(0u64..40, 0..30),
            length in 1usize..6,
        ) {
            let runs = |set: &BTreeSet<u64>| {
                let sorted: Vec<u64> = set.iter().copied().collect();
                sorted.windows(length).map(<[u64]>::to_vec).collect::<BTreeSet<_>>()
            };
            let supers = |set: &BTreeSet<u64>| {
                super_shingles(&set.iter().copied().collect::<Vec<_>>(), length)
            };
            prop_assert_eq!(supers(&a).len(), runs(&a).len());
            let common = Overlap::of_sets(&supers(&a), &supers(&b)).common;
            prop_assert_eq!(common as usize, runs(&a).intersection(&runs(&b)).count());
        }
    }
}
