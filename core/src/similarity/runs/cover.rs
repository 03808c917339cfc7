//! Containment of bytes, exactly.

use crate::ids::Score;
use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::window::{Roll, WindowTable, windows};

/// So many windows of the smaller file are in memory at a time (16 bytes each).
const SEGMENT: usize = 8 << 20;

/// The share of a's bytes that lie in some run of at least 64 bytes that b has too, and the share
/// of b's bytes in runs that a has. An empty file has nothing to share: 0.
///
/// A byte counts once however many runs hold it, and every occurrence of a repeated run counts,
/// in a as in b.
pub fn cover(a: &[u8], b: &[u8]) -> (Score, Score) {
    let (in_a, in_b) = covered(a, b);
    (share(in_a, a), share(in_b, b))
}

/// The covered part of a file as a score.
pub(super) fn share(covered: usize, of: &[u8]) -> Score {
    Score::new(covered as f64 / of.len().max(1) as f64)
}

/// The covered bytes of both files.
pub(super) fn covered(a: &[u8], b: &[u8]) -> (usize, usize) {
    if a.len() <= b.len() {
        covered_by_segments(a, b, SEGMENT)
    } else {
        let (in_b, in_a) = covered_by_segments(b, a, SEGMENT);
        (in_a, in_b)
    }
}

/// The windows of the smaller file go into a table, one segment of them at a time; the windows of
/// the larger stream by, are looked up and leave a mark, so that the smaller file's windows can
/// be asked afterwards which of them were met.
fn covered_by_segments(smaller: &[u8], larger: &[u8], segment: usize) -> (usize, usize) {
    let (few, many) = (windows(smaller, LEAST_RUN), windows(larger, LEAST_RUN));
    let mut in_larger = Bits::new(many);
    let mut in_smaller = 0;
    let mut end = 0;
    for from in (0..few).step_by(segment) {
        let to = (from + segment).min(few);
        let part = &smaller[from..to + LEAST_RUN - 1];
        let mut table = WindowTable::new(part, LEAST_RUN, 1);
        let mut roll = Roll::new(part, LEAST_RUN);
        for at in 0..to - from {
            roll.seek(at);
            table.insert(roll.hash(), at);
        }
        let mut met = Bits::new(table.slots());
        let mut roll = Roll::new(larger, LEAST_RUN);
        for at in 0..many {
            roll.seek(at);
            if let Some(slot) = table.find(roll.hash(), &larger[at..at + LEAST_RUN]) {
                in_larger.set(at);
                met.set(slot);
            }
        }
        let mut roll = Roll::new(part, LEAST_RUN);
        for at in 0..to - from {
            roll.seek(at);
            let slot = table.find(roll.hash(), &part[at..at + LEAST_RUN]);
            if slot.is_some_and(|slot| met.get(slot)) {
                count(from + at, &mut in_smaller, &mut end);
            }
        }
    }
    let (mut covered, mut end) = (0, 0);
    for at in 0..many {
        if in_larger.get(at) {
            count(at, &mut covered, &mut end);
        }
    }
    (in_smaller, covered)
}

/// Adds the bytes of the window at `at` that lie beyond `end`, the end of those counted before.
fn count(at: usize, covered: &mut usize, end: &mut usize) {
    *covered += at + LEAST_RUN - at.max(*end);
    *end = at + LEAST_RUN;
}

/// A set of small numbers.
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    #[inline]
    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    #[inline]
    fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_do_not_change_the_answer() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u8
        };
        let base: Vec<u8> = (0..3000).map(|_| next()).collect();
        let mut other = base[100..900].to_vec();
        other.extend((0..300).map(|_| next()));
        other.extend_from_slice(&base[2000..2070]);
        other.extend_from_slice(&base[..500]);
        let whole = covered_by_segments(&other, &base, SEGMENT);
        assert_eq!(whole, (other.len() - 300, 970));
        for segment in [1, 7, 64, 500, 1000] {
            assert_eq!(
                covered_by_segments(&other, &base, segment),
                whole,
                "{segment}"
            );
        }
    }
}
