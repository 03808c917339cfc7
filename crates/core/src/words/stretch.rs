//! A text in stretches: what is counted of each, and put together for all.
//!
//! All that a [`Shingler`] knows of a text is a sum over its words, but for the few bytes and words
//! around where it stands. So the sums of stretches make that of the text, and a stretch that has
//! not changed is not looked at again.

use super::{Folding, LineLayout, Shingler, Tokenizer};
use crate::hash::shingles::{SHINGLE, name_of_both};

/// Where a shingler stands in the words around it: two that stand alike make the same shingles from
/// there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShinglerStanding {
    tokens: Tokenizer,
    folding: Folding,
}

/// What the words of a stretch come to: of those that end in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordSums {
    words: u64,
    /// What names them.
    all: [u64; 2],
    /// Their letters, as far as they count.
    length: u64,
    /// Bytes that only continue a character.
    continued: u64,
}

impl WordSums {
    /// The sums of this stretch and the next one.
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
    /// Whether it is known that this is text in words alone: no table, no encoded data, and not
    /// mostly markup.
    pub(crate) fn is_in_words(&self) -> bool {
        self.is_text() == Some(true)
            && !self.may_be_mostly_markup()
            && matches!(self.layout, Some(LineLayout::Plain))
    }

    /// Where it stands, of a text that is in words, right after [`Self::take_sums`].
    pub(crate) fn standing(&self) -> ShinglerStanding {
        ShinglerStanding {
            tokens: self.tokens.standing(),
            folding: self.folding.clone(),
        }
    }

    /// Goes on from where another shingler stood, in a text of which it knows the beginning.
    pub(crate) fn go_on(&mut self, standing: &ShinglerStanding) {
        self.tokens = standing.tokens.clone();
        self.folding = standing.folding.clone();
        self.counted_before = self.folding.chain.words;
    }

    /// Takes out what the words since the last call come to.
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

    /// Puts in what all words of the text so far come to.
    pub(crate) fn put_sums(&mut self, sums: &WordSums) {
        let chain = &mut self.folding.chain;
        (chain.words, chain.all) = (sums.words, sums.all);
        self.folding.length = sums.length;
        self.tokens.set_continued(sums.continued);
        self.counted_before = 0;
    }
}
