//! Sets of positions in a file.

use std::ops::Range;

/// A set of numbers below a limit, stored as one bit for each number.
#[derive(Clone)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// Makes an empty set of numbers below `count`.
    pub(super) fn new(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
            count,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    #[inline]
    pub(super) fn clear(&mut self, at: usize) {
        self.words[at / 64] &= !(1 << (at % 64));
    }

    #[inline]
    pub(super) fn has(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Adds all numbers of a range.
    pub(super) fn set_range(&mut self, range: Range<usize>) {
        debug_assert!(range.end <= self.count);
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        let head = !0 << (range.start % 64);
        let tail = !0 >> (63 - (range.end - 1) % 64);
        if first == last {
            self.words[first] |= head & tail;
        } else {
            self.words[first] |= head;
            self.words[first + 1..last].fill(!0);
            self.words[last] |= tail;
        }
    }

    /// Removes the members of another set with the same limit.
    pub(super) fn remove(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Removes all members that are not in another set with the same limit.
    pub(super) fn retain(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Counts the members.
    pub(super) fn len(&self) -> usize {
        let ones = self.words.iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// Returns the least member from `from` on.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        self.find(from, 0)
    }

    /// Returns the runs of consecutive members, in order.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.find(at, 0)?;
            at = self.find(start, !0).unwrap_or(self.count);
            Some(start..at)
        })
    }

    /// Returns the first number from `from` on whose bit is set after `^ flip`.
    fn find(&self, from: usize, flip: u64) -> Option<usize> {
        let first = self.words.get(from / 64)?;
        let mut word = (first ^ flip) & (!0 << (from % 64));
        let mut number = from / 64;
        while word == 0 {
            number += 1;
            word = self.words.get(number)? ^ flip;
        }
        let at = number * 64 + word.trailing_zeros() as usize;
        (at < self.count).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_come_back_as_they_were_set() {
        for (count, ranges) in [
            (3, vec![0..1, 2..3]),
            (64, vec![0..1, 3..64]),
            (65, vec![0..1, 2..65]),
            (300, vec![5..63, 64..128, 129..130, 191..257, 299..300]),
            (256, vec![60..70, 72..256]),
        ] {
            let mut bits = Bits::new(count);
            for range in &ranges {
                bits.set_range(range.clone());
            }
            assert_eq!(bits.ranges().collect::<Vec<_>>(), ranges);
            assert_eq!(
                bits.len(),
                ranges.iter().map(ExactSizeIterator::len).sum::<usize>()
            );
            for at in 0..count {
                let next = ranges.iter().flat_map(Clone::clone).find(|&one| one >= at);
                assert_eq!(bits.next(at), next);
            }
            bits.remove(&bits.clone());
            assert_eq!((bits.next(0), bits.len()), (None, 0));
        }
    }
}
