//! The topmost useful pairs.
//!
//! A copied tree makes a pair of every directory with its copy, and one of each with every
//! directory above its copy. One row says it all: the topmost. But topmost alone would always name
//! the roots. Two rules choose. *Below* means that each side of a pair is, or lies in, the same
//! side of another. *Clearly better* is a figure that misses at most half of what the other misses,
//! which itself misses more than a tenth: beside 95 % nothing is clearly better, beside 60 % are 80
//! %, and beside those 90 %.
//!
//! 1. **Loose pairs go.** A pair is loose if one below it keeps nine tenths of its shared bytes
//!    (seen from the side that lies in the other with the larger share), and is clearly better, or
//!    clearly more alike, or more alike by a quarter. Alike is what both share over what both have
//!    (Dice's coefficient, by bytes). `(a, /)` shares as much as `(a, /backup/a)`, and says less.
//! 2. **Lower pairs fold.** From above, a pair goes if one that stays is above it, unless its
//!    larger containment is clearly better than that one's.

use std::collections::HashMap;

use super::forest::{Forest, Node};
use super::holdings::Share;
use super::pairs::Pair;

/// The pairs that remain, in the order given. The pairs are distinct.
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
    // Whatever is above a pair has a lesser sum of depths.
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

/// The places of the pairs above one. Sides in preorder stay so upwards, as long as neither holds
/// the other.
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

/// Rule 1.
pub(super) fn is_loose(upper: &Pair, lower: &Pair) -> bool {
    let from_a = upper.a_in_b() >= upper.b_in_a();
    let kept = |pair: &Pair| u128::from(if from_a { pair.shared_a } else { pair.shared_b });
    let (more, less) = (alike(lower), alike(upper));
    kept(lower) * 10 >= kept(upper) * 9
        && (is_clearly_better(lower, upper)
            || is_clearly_more(more, less)
            || u64::from(more.millionths()) * 4 >= u64::from(less.millionths()) * 5)
}

/// Rule 2.
pub(super) fn is_clearly_better(lower: &Pair, upper: &Pair) -> bool {
    is_clearly_more(lower.containment(), upper.containment())
}

/// What both sides share of what both have.
fn alike(pair: &Pair) -> Share {
    let shared = pair.shared_a.saturating_add(pair.shared_b);
    Share::of(shared, pair.bytes_a.saturating_add(pair.bytes_b))
}

fn is_clearly_more(one: Share, other: Share) -> bool {
    let missed = |share: Share| Share::ALL.millionths() - share.millionths();
    missed(other) > 100_000 && missed(one) * 2 <= missed(other)
}
