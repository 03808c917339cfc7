//! Sorts postings by their keys. The postings are already in the order of their contents.
//!
//! New contents get ascending ids, and segments are in the order of their ids. So the postings of a
//! batch, or of several segments one after another, need only a sort by key. Postings with equal
//! keys must keep their order. Keys are bits of hashes, so they can be sorted by a few digits, the
//! lowest digit first (Knuth, TAOCP vol. 3, section 5.2.5). This needs no comparison and no
//! unpredictable branch. The digits are the highest bits of the keys. The sort uses as many of
//! these bits as the count of postings has, and a few more. After this sort, one key in some dozens
//! is out of place, and is moved past its neighbour (section 5.2.1).
use std::ops::Range;

use super::block::Posting;

/// Fewer postings than this are sorted by comparing keys.
const FEW: usize = 512;

/// The maximum number of bits of a digit. For each value of a digit, postings are written to a
/// separate place in memory. A wider digit would scatter these writes.
const DIGIT: u32 = 11;

/// A key is sorted by as many bits as the count of postings has, and by this number of further
/// bits. With these further bits, nearly all keys differ.
const BESIDES: u32 = 3;

/// Sorts postings by their keys. Postings with equal keys keep their order. `spare` is overwritten.
pub(crate) fn sort_by_key(postings: &mut Vec<Posting>, spare: &mut Vec<Posting>) {
    if postings.len() < FEW {
        postings.sort_by_key(|posting| posting.0);
        return;
    }
    let (least, greatest) = (postings.iter())
        .fold((u64::MAX, 0), |(least, greatest), &(key, _)| {
            (least.min(key), greatest.max(key))
        });
    let bits = u64::BITS - (greatest - least).leading_zeros();
    let telling = (postings.len().ilog2() + BESIDES).min(bits);
    sort_by_bits(postings, spare, least, bits - telling..bits);
    // An attacker can choose keys whose highest bits are equal. To move keys one by one would then
    // take too long. So all bits are sorted.
    if !insert_each(postings) {
        sort_by_bits(postings, spare, least, 0..bits);
    }
}

/// Sorts postings by the given bits of their keys, digit by digit. Keys are taken relative to
/// `least`.
fn sort_by_bits(
    postings: &mut Vec<Posting>,
    spare: &mut Vec<Posting>,
    least: u64,
    bits: Range<u32>,
) {
    let passes = (bits.end - bits.start).div_ceil(DIGIT);
    let width = (bits.end - bits.start).div_ceil(passes.max(1));
    spare.clear();
    spare.resize(postings.len(), (0, 0));
    for pass in 0..passes {
        let shift = bits.start + pass * width;
        let digit = |key: u64| ((key - least) >> shift) as usize & ((1 << width) - 1);
        let mut places = [0; 1 << DIGIT];
        for &(key, _) in &*postings {
            places[digit(key)] += 1;
        }
        let mut sum = 0;
        for place in &mut places[..1 << width] {
            sum += std::mem::replace(place, sum);
        }
        for &posting in &*postings {
            let place = &mut places[digit(posting.0)];
            spare[*place] = posting;
            *place += 1;
        }
        std::mem::swap(postings, spare);
    }
}

/// Moves each posting before all postings with greater keys. If too many postings must be moved,
/// gives up and returns `false`.
fn insert_each(postings: &mut [Posting]) -> bool {
    let mut moved = 0;
    for at in 1..postings.len() {
        let posting = postings[at];
        let mut to = at;
        while to > 0 && postings[to - 1].0 > posting.0 && moved < postings.len() {
            postings[to] = postings[to - 1];
            to -= 1;
            moved += 1;
        }
        postings[to] = posting;
    }
    moved < postings.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_stable_sort(
            shift in 0u32..64,
            alike in any::<bool>(),
            above in 0u64..1000,
            keys in prop::collection::vec(any::<u64>(), 0..2 * FEW),
        ) {
            // Some of these keys differ only in their lowest bits.
            let keys = keys.into_iter().map(|key| match key % 4 {
                0 if alike => key >> 52,
                _ => (key >> shift).saturating_add(above),
            });
            let mut postings: Vec<Posting> = keys.zip(0..).collect();
            let mut expected = postings.clone();
            expected.sort_by_key(|posting| posting.0);
            sort_by_key(&mut postings, &mut Vec::new());
            prop_assert_eq!(postings, expected);
        }
    }
}
