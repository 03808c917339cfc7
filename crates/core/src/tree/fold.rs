//! The topmost useful pairs.
//!
//! In a copied tree, every directory makes a pair with its copy, and with every directory above its
//! copy. One pair is enough: the topmost. But the topmost pair alone would always be the roots. So
//! two rules choose the pairs that are kept. A pair (c, d) is *below* another pair (a, b) on two
//! conditions: c is equal to a or is in a, and d is equal to b or is in b. A share *misses* the
//! difference between 100 % and the share. A share is *clearly better* than another share on two
//! conditions: it misses at most half as much, and the other share misses more than a tenth.
//! Nothing is clearly better than 95 %. But 80 % is clearly better than 60 %, and 90 % is clearly
//! better than 80 %.
//!
//! 1. **Loose pairs are removed.** A pair is loose because of a pair below it if two conditions
//!    hold. First, the lower pair has at least nine tenths of the upper pair's shared bytes. The
//!    bytes are counted on the side of the upper pair's larger containment. Second, the lower pair
//!    is clearly better, or clearly more alike, or more alike by a quarter. How *alike* two
//!    directories are is measured by Dice's coefficient: the shared bytes of both directories,
//!    divided by all bytes of both directories. For example, `(/a, /backup)` shares as much as
//!    `(/a, /backup/a)`, but is less precise.
//! 2. **Lower pairs are folded.** From the top down, a pair is removed if a remaining pair is above
//!    it. But the lower pair stays if its larger containment is clearly better.

use std::collections::HashMap;

use super::forest::{Forest, Node};
use super::holdings::Share;
use super::pairs::Pair;

/// Returns the pairs that remain after both rules, in the given order. The pairs must be distinct.
pub fn fold(forest: &Forest, pairs: &[Pair]) -> Vec<Pair> {
    let places: HashMap<(Node, Node), usize> = pairs
        .iter()
        .enumerate()
        .map(|(at, pair)| ((pair.a, pair.b), at))
        .collect();
    let mut loose = vec![false; pairs.len()];
    for pair in pairs {
        above(forest, &places, pair, &mut |upper| {
            loose[upper] = loose[upper] || is_loose(&pairs[upper], pair);
        });
    }
    // A pair above another one has a lesser sum of depths, so it is visited first.
    let mut order: Vec<usize> = (0..pairs.len()).filter(|&at| !loose[at]).collect();
    order.sort_by_key(|&at| forest.depth(pairs[at].a) + forest.depth(pairs[at].b));
    let mut stays = vec![false; pairs.len()];
    for at in order {
        let mut folded = false;
        above(forest, &places, &pairs[at], &mut |upper| {
            folded = folded || stays[upper] && !is_clearly_better(&pairs[at], &pairs[upper]);
        });
        stays[at] = !folded;
    }
    let kept = pairs.iter().zip(stays);
    kept.filter_map(|(pair, stays)| stays.then_some(*pair))
        .collect()
}

/// Calls `found` with the position of each pair above `pair`. The first directory of a pair
/// precedes the second directory in preorder. Their ancestors are in the same order, unless one
/// ancestor contains the other.
fn above(
    forest: &Forest,
    places: &HashMap<(Node, Node), usize>,
    pair: &Pair,
    found: &mut dyn FnMut(usize),
) {
    for above in forest.pairs_above((pair.a, pair.b)) {
        if above != (pair.a, pair.b)
            && let Some(&at) = places.get(&above)
        {
            found(at);
        }
    }
}

/// Returns whether the upper pair is loose because of the lower one (rule 1).
pub(super) fn is_loose(upper: &Pair, lower: &Pair) -> bool {
    let from_a = upper.a_in_b() >= upper.b_in_a();
    let kept = |pair: &Pair| u128::from(if from_a { pair.shared_a } else { pair.shared_b });
    let (more, less) = (alike(lower), alike(upper));
    kept(lower) * 10 >= kept(upper) * 9
        && (is_clearly_better(lower, upper)
            || is_clearly_more(more, less)
            || u64::from(more.millionths()) * 4 >= u64::from(less.millionths()) * 5)
}

/// Returns whether the lower pair is clearly better than the upper one (rule 2).
pub(super) fn is_clearly_better(lower: &Pair, upper: &Pair) -> bool {
    is_clearly_more(lower.containment(), upper.containment())
}

/// Returns how alike two directories are: the shared bytes of both directories, divided by all
/// bytes of both directories.
fn alike(pair: &Pair) -> Share {
    let shared = pair.shared_a.saturating_add(pair.shared_b);
    Share::of(shared, pair.bytes_a.saturating_add(pair.bytes_b))
}

fn is_clearly_more(one: Share, other: Share) -> bool {
    let missed = |share: Share| Share::ALL.millionths() - share.millionths();
    missed(other) > 100_000 && missed(one) * 2 <= missed(other)
}
