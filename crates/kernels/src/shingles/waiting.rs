//! The words that wait to be hashed and joined, and the hashes of their shingles.

use crate::shingles::{MOST_WORDS, WordEnd};

/// The maximum number of words that are joined at once.
pub(super) const ROOM: usize = 512;

/// The number of blocks whose letters are located before their words are taken.
pub(super) const AHEAD: usize = 8;

/// Extra room, because a vector for all words of a block is written even if the block has only one
/// word.
const BEYOND: usize = MOST_WORDS;

/// The waiting words of a text, in order.
///
/// Invariant: unless the buffer is full, there is room for the words of [`AHEAD`] blocks.
#[derive(Clone)]
pub(super) struct WordBuffer {
    pub(super) low: [u64; ROOM + BEYOND],
    pub(super) high: [u64; ROOM + BEYOND],
    pub(super) count: usize,
    /// Blocks with long words, noted by `vbmi`.
    #[cfg(target_arch = "x86_64")]
    pub(super) long: [LongWords; ROOM],
}

/// A block with a word of more than [`MOST_LETTERS`](super::MOST_LETTERS) letters.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct LongWords {
    /// The start of the block.
    pub(super) at: usize,
    /// The number of the block's first word in the batch.
    pub(super) first: usize,
    pub(super) words: u64,
}

/// The hashes of shingles that are low enough to be sampled, in order.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) hashes: [u64; ROOM + BEYOND],
    pub(super) count: usize,
}

impl WordBuffer {
    pub(super) const EMPTY: Self = Self {
        low: [0; ROOM + BEYOND],
        high: [0; ROOM + BEYOND],
        count: 0,
        #[cfg(target_arch = "x86_64")]
        long: [LongWords {
            at: 0,
            first: 0,
            words: 0,
        }; ROOM],
    };

    /// Returns whether the words must be joined before the next ones are added.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.count + AHEAD * MOST_WORDS > ROOM
    }

    /// Adds a word.
    #[inline]
    pub(super) const fn push(&mut self, word: WordEnd) {
        let at = self.count % ROOM;
        (self.low[at], self.high[at]) = (word.low, word.high);
        self.count = at + 1;
    }

    /// Returns a waiting word.
    #[inline]
    pub(super) const fn get(&self, number: usize) -> WordEnd {
        WordEnd {
            low: self.low[number],
            high: self.high[number],
        }
    }

    /// Replaces a waiting word.
    #[inline]
    pub(super) const fn set(&mut self, number: usize, word: WordEnd) {
        (self.low[number], self.high[number]) = (word.low, word.high);
    }
}

impl Chosen {
    pub(super) const EMPTY: Self = Self {
        hashes: [0; ROOM + BEYOND],
        count: 0,
    };
}
