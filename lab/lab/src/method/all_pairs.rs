//! Finds all pairs of signatures that a threshold accepts.
//!
//! An inverted index of the keys nominates the pairs, because two signatures without a common key
//! have nothing in common by any method. The common keys of a pair are counted at the same time. If
//! the figure of a method is a share of keys, the number of common keys bounds the figure. So with
//! a threshold of 70 %, the many pairs that share only a licence header are dropped without being
//! scored.
//!
//! **Cost.** All lists are read, so the time is quadratic in the number of signatures that share a
//! key. The keys are in memory twice. Even a very long list is used, because the papers' figures
//! include everything that two files have in common.

use resemble_index::ContentRow;
use resemble_methods::{Method, MethodParams, MethodSignature};
use resemble_proto::message::SoftError;
use resemble_relate::parallel::in_parallel;

use super::scores::RowThreshold;
use super::{MethodContext, PairScores};
use crate::error::LabError;

/// The indices of two signatures, and their scores. `a` is the lesser index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredPair {
    /// The index of the first signature.
    pub a: usize,
    /// The index of the second signature.
    pub b: usize,
    /// The scores of (a, b).
    pub scores: PairScores,
}

/// The pairs of contents from which rows are made.
pub(super) struct FoundPairs {
    /// The contents of the question's files in the order of their ids, without empty and unreadable
    /// ones.
    pub(super) contents: Vec<ContentRow>,
    /// The pairs that the threshold accepts. Their numbers are indices of `contents`.
    pub(super) found: Vec<ScoredPair>,
    /// The contents that several files have, as indices of `contents`. Each has its scores against
    /// itself.
    pub(super) equal: Vec<(usize, PairScores)>,
    /// Files that could not be read.
    pub(super) errors: Vec<SoftError>,
}

/// Returns the contents that several files have, each with its scores against itself.
pub(super) fn equal(
    context: &MethodContext<'_>,
    contents: &[ContentRow],
    scores: impl Fn(usize) -> PairScores,
) -> Vec<(usize, PairScores)> {
    let has_several = |at: &usize| context.scoped.holders(contents[*at].id).nth(1).is_some();
    let several = (0..contents.len()).filter(has_several);
    several.map(|at| (at, scores(at))).collect()
}

/// Returns the pairs that the threshold accepts, in the order of their indices.
///
/// # Errors
///
/// No error is possible. The result has the type of the function that distributes work over
/// threads.
pub fn all_pairs(
    params: &MethodParams,
    signatures: &[MethodSignature],
    threshold: &RowThreshold,
) -> Result<Vec<ScoredPair>, LabError> {
    let lists = KeyLists::of(signatures);
    let least = match params.method() {
        // For these methods, the figure is at most the number of common keys, divided by the number
        // of keys of the larger signature.
        Method::BswMin | Method::Mod | Method::Min | Method::Sketch => threshold.least_figure(),
        // For the other methods, the number of common keys does not bound the figure. For example,
        // two samples V_i are compared at one modulus, and the score of super shingles counts
        // shingles.
        Method::Tttd
        | Method::Bsw
        | Method::Sif
        | Method::SifAnchors
        | Method::Shingle
        | Method::SuperShingle
        | Method::Sorted5 => 0.0,
    };
    let start = || (vec![0u32; signatures.len()], Vec::new(), Vec::new());
    let work =
        |b: usize, (counts, candidates, found): &mut (Vec<u32>, Vec<u32>, Vec<ScoredPair>)| {
            for &list in lists.of_signature(b) {
                // Only the signatures before `b` are candidates, so that each pair is found once.
                for &a in lists
                    .members(list)
                    .iter()
                    .take_while(|&&a| (a as usize) < b)
                {
                    if counts[a as usize] == 0 {
                        candidates.push(a);
                    }
                    counts[a as usize] += 1;
                }
            }
            for a in candidates.drain(..) {
                let a = a as usize;
                let common = std::mem::take(&mut counts[a]);
                let larger = signatures[a].len().max(signatures[b].len());
                if f64::from(common) / (larger as f64) < least {
                    continue;
                }
                let scores = PairScores::both_ways(params, &signatures[a], &signatures[b]);
                if threshold.accepts(&scores) {
                    found.push(ScoredPair { a, b, scores });
                }
            }
            Ok::<_, LabError>(())
        };
    let mut found: Vec<ScoredPair> = in_parallel(signatures.len(), start, work)?
        .into_iter()
        .flat_map(|(_, _, found)| found)
        .collect();
    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Ok(found)
}

/// The signatures that have each key. Keys of only one signature are left out.
#[derive(Debug)]
struct KeyLists {
    /// The end of each key's signatures in `members`.
    ends: Vec<u32>,
    members: Vec<u32>,
    /// The end of each signature's lists in `of`.
    of_ends: Vec<u32>,
    of: Vec<u32>,
}

impl KeyLists {
    fn of(signatures: &[MethodSignature]) -> Self {
        let mut keys: Vec<(u64, u32)> = Vec::new();
        for (place, signature) in (0u32..).zip(signatures) {
            let from = keys.len();
            keys.extend(signature.keys().into_iter().map(|key| (key, place)));
            keys[from..].sort_unstable();
            let mut distinct = from;
            for at in from..keys.len() {
                if at == from || keys[at] != keys[distinct - 1] {
                    keys[distinct] = keys[at];
                    distinct += 1;
                }
            }
            keys.truncate(distinct);
        }
        keys.sort_unstable();
        let (mut ends, mut members, mut of) = (Vec::new(), Vec::new(), Vec::new());
        for list in keys.chunk_by(|a, b| a.0 == b.0) {
            if list.len() > 1 {
                let number = ends.len() as u32;
                members.extend(list.iter().map(|&(_, place)| place));
                of.extend(list.iter().map(|&(_, place)| (place, number)));
                ends.push(members.len() as u32);
            }
        }
        of.sort_unstable();
        let mut of_ends = vec![0; signatures.len()];
        for &(place, _) in &of {
            of_ends[place as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut of_ends {
            sum += *end;
            *end = sum;
        }
        Self {
            ends,
            members,
            of_ends,
            of: of.into_iter().map(|(_, number)| number).collect(),
        }
    }

    fn members(&self, list: u32) -> &[u32] {
        range(&self.ends, &self.members, list as usize)
    }

    fn of_signature(&self, place: usize) -> &[u32] {
        range(&self.of_ends, &self.of, place)
    }
}

fn range<'a>(ends: &[u32], all: &'a [u32], at: usize) -> &'a [u32] {
    let from = if at == 0 { 0 } else { ends[at - 1] };
    &all[from as usize..ends[at] as usize]
}

#[cfg(test)]
mod tests {
    use crate::figure::Figure;
    use crate::question::{MethodLimits, MethodScore};
    use proptest::prelude::*;
    use resemble_methods::select::select;
    use resemble_methods::{Features, Threshold};

    use super::*;

    fn threshold(min: f64) -> RowThreshold {
        let asked = MethodLimits {
            min: Figure::new(min),
            ..MethodLimits::default()
        };
        RowThreshold::new(Threshold::Score(0.5), MethodScore::Paper, asked)
    }

    proptest! {
        /// The pairs that are found must be the same as if every pair were scored.
        #[test]
        fn no_pair_is_missed_and_none_made_up(
            files in prop::collection::vec(prop::collection::vec(0u64..60, 0..40), 0..14),
            min in prop::sample::select(vec![0.0, 0.1, 0.5, 0.7, 1.0]),
        ) {
            for method in Method::ALL {
                let params = MethodParams::paper(method);
                // Each value is a multiple of `Mod_n`'s n, so all values are in the sample.
                let signatures: Vec<_> = files
                    .iter()
                    .map(|file| {
                        let values = file.iter().map(|value| value * 100);
                        select(&params, &Features::of_values(values))
                    })
                    .collect();
                let threshold = threshold(min);
                let mut naive = Vec::new();
                for a in 0..files.len() {
                    for b in a + 1..files.len() {
                        let scores = PairScores::both_ways(&params, &signatures[a], &signatures[b]);
                        if threshold.accepts(&scores) {
                            naive.push(ScoredPair { a, b, scores });
                        }
                    }
                }
                let found = all_pairs(&params, &signatures, &threshold).expect("no failure");
                prop_assert_eq!(found, naive, "{}", method);
            }
        }
    }
}
