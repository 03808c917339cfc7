//! A text in stretches: the counts of each stretch, and their sum for the whole text.
//!
//! The state of a [`Shingler`] is a sum over its words, except for the few bytes and words around
//! its position. So the sums of all stretches add up to the sum of the text. The words of an
//! unchanged stretch need not be found again.

use super::{Folding, LineLayout, Shingler, Tokenizer};
use crate::hash::shingles::{SHINGLE, name_of_both};

/// The state of a shingler in the words around its position. Two shinglers with equal states make
/// the same shingles from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShinglerStanding {
    tokens: Tokenizer,
    folding: Folding,
}

/// Sums over the words that end in a stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordSums {
    words: u64,
    /// The two sums from which the digest of these words is made.
    all: [u64; 2],
    /// The number of letters of these words. Only the first 16 letters of a word are counted.
    length: u64,
    /// The number of bytes that continue a character.
    continued: u64,
}

impl WordSums {
    /// Adds the sums of the next stretch.
    pub(crate) fn and(self, next: &Self) -> Self {
        Self {
            words: self.words + next.words,
            all: name_of_both(self.all, next.all, next.words),
            length: self.length + next.length,
            continued: self.continued + next.continued,
        }
    }
}

impl Shingler {
    /// Returns whether the text is known to be plain words: no table, no encoded data, and not
    /// mostly markup.
    pub(crate) fn is_in_words(&self) -> bool {
        self.is_text() == Some(true)
            && !self.may_be_mostly_markup()
            && matches!(self.layout, Some(LineLayout::Plain))
    }

    /// Returns the state in a text of plain words, right after [`Self::take_sums`].
    pub(crate) fn standing(&self) -> ShinglerStanding {
        ShinglerStanding {
            tokens: self.tokens.standing(),
            folding: self.folding.clone(),
        }
    }

    /// Continues from the state of another shingler. This shingler must have read the beginning of
    /// the same text.
    pub(crate) fn go_on(&mut self, standing: &ShinglerStanding) {
        self.tokens = standing.tokens.clone();
        self.folding = standing.folding.clone();
        self.counted_before = self.folding.chain.words;
    }

    /// Takes the sums over the words since the last call.
    pub(crate) fn take_sums(&mut self) -> WordSums {
        let chain = &mut self.folding.chain;
        let sums = WordSums {
            words: chain.words - self.counted_before,
            all: std::mem::take(&mut chain.all),
            length: std::mem::take(&mut self.folding.length),
            continued: self.tokens.take_continued(),
        };
        chain.words = chain.words.min(SHINGLE as u64);
        self.counted_before = chain.words;
        sums
    }

    /// Sets the sums over all words of the text so far.
    pub(crate) fn put_sums(&mut self, sums: &WordSums) {
        let chain = &mut self.folding.chain;
        (chain.words, chain.all) = (sums.words, sums.all);
        self.folding.length = sums.length;
        self.tokens.set_continued(sums.continued);
        self.counted_before = 0;
    }
}
