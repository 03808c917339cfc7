//! Finds the words that common shingles cover, and adds them up.

use std::ops::Range;

use crate::ids::ByteLen;
use crate::similarity::proof::SHINGLE;
use crate::similarity::too_small;

/// The length of each word of a text in bytes of UTF-8, including one byte for a separator. The
/// length of a template word is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::similarity) struct WordLengths {
    /// The length of each word; [`Self::LONG`] if the length is in `long`.
    short: Vec<u8>,
    /// For each word of at least [`Self::LONG`] bytes, its place and its length.
    long: Vec<(u32, u32)>,
    /// The number of template words.
    of_template: usize,
}

impl WordLengths {
    const LONG: u8 = u8::MAX;

    /// Computes the lengths from the end of each word and the ranges of template words.
    pub(in crate::similarity) fn of(ends: &[u32], of_template: &[Range<usize>]) -> Self {
        let mut lengths = Self::default();
        lengths.extend(ends, of_template);
        lengths
    }

    /// Adds the words of another text.
    pub(super) fn extend(&mut self, ends: &[u32], of_template: &[Range<usize>]) {
        let (first, first_long) = (self.short.len(), self.long.len());
        self.short.reserve_exact(ends.len());
        let mut start = 0;
        for &end in ends {
            let length = end - start;
            start = end;
            if length >= u32::from(Self::LONG) {
                self.long.push((self.short.len() as u32, length));
            }
            self.short.push(length.min(u32::from(Self::LONG)) as u8);
        }
        for words in of_template {
            self.short[first + words.start..first + words.end].fill(0);
            self.of_template += words.len();
        }
        if !of_template.is_empty() {
            let short = &self.short;
            let mut at = 0;
            self.long.retain(|&(place, _)| {
                at += 1;
                at <= first_long || short[place as usize] > 0
            });
        }
    }

    pub(super) const fn memory(&self) -> usize {
        self.short.capacity() + 8 * self.long.capacity()
    }

    /// Counts the words that are not template.
    pub(in crate::similarity) const fn words(&self) -> u64 {
        (self.short.len() - self.of_template) as u64
    }

    /// Counts all words.
    pub(super) const fn places(&self) -> usize {
        self.short.len()
    }

    /// Counts the words in a range that are not template.
    pub(super) fn count(&self, words: Range<usize>) -> u64 {
        if self.of_template == 0 {
            return words.len() as u64;
        }
        let lengths = self.short[words].iter();
        lengths.filter(|&&length| length > 0).count() as u64
    }

    /// Returns whether a range of words has enough words to be judged, not counting template words.
    pub(in crate::similarity) fn are_enough(&self, words: Range<usize>) -> bool {
        self.of_template == 0 || !too_small(ByteLen(self.sum(words)))
    }

    /// Returns the length of a range of words.
    pub(in crate::similarity) fn sum(&self, words: Range<usize>) -> u64 {
        const LANES: u64 = 0x00ff_00ff_00ff_00ff;
        // Most runs have a few words: eight are added at a time, in four lanes of 16 bits.
        let (eights, rest) = self.short[words.clone()].as_chunks();
        let of_eight = |&lengths: &[u8; 8]| {
            let lengths = u64::from_le_bytes(lengths);
            let lanes = (lengths & LANES) + (lengths >> 8 & LANES);
            lanes.wrapping_mul(0x0001_0001_0001_0001) >> 48
        };
        let rest: u64 = rest.iter().map(|&length| u64::from(length)).sum();
        let short = eights.iter().map(of_eight).sum::<u64>() + rest;
        if self.long.is_empty() {
            return short;
        }
        let from = self
            .long
            .partition_point(|&(place, _)| (place as usize) < words.start);
        let long = self.long[from..].iter();
        let long = long.take_while(|&&(place, _)| (place as usize) < words.end);
        let beyond = long.map(|&(_, length)| u64::from(length - u32::from(Self::LONG)));
        short + beyond.sum::<u64>()
    }
}

/// Adds up the words that common shingles cover. The shingles must be added in the order of their
/// places. All measures in words use this walk.
pub(in crate::similarity) struct CoverWalk<'a> {
    lengths: &'a WordLengths,
    end: usize,
    /// The number of words up to the end of the current text.
    pub(super) until: usize,
    pub(in crate::similarity) covered: Covered,
}

impl<'a> CoverWalk<'a> {
    pub(in crate::similarity) fn of(lengths: &'a WordLengths) -> Self {
        Self {
            lengths,
            end: 0,
            until: lengths.places(),
            covered: Covered::default(),
        }
    }

    /// Adds the next run of consecutive shingles, which may be empty, and returns the bytes that it
    /// covers. In a text of one to four words, the only shingle covers all words.
    pub(in crate::similarity) fn add(&mut self, shingles: Range<usize>) -> u64 {
        if shingles.is_empty() {
            return 0;
        }
        let from = shingles.start.max(self.end);
        self.end = (shingles.end + SHINGLE - 1).min(self.until);
        let bytes = self.lengths.sum(from..self.end);
        self.covered.words += self.lengths.count(from..self.end);
        self.covered.bytes += bytes;
        let run = bytes + self.lengths.sum(shingles.start..from);
        self.covered.longest = self.covered.longest.max(run);
        run
    }
}

/// The sums over the common runs in one of two texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::similarity) struct Covered {
    pub(in crate::similarity) words: u64,
    pub(in crate::similarity) bytes: u64,
    /// The number of bytes of the longest run.
    pub(in crate::similarity) longest: u64,
}
