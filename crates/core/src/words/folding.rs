//! Letters to words, words to shingles: all that is kept of a text while it goes by.

use crate::hash::shingles::{SHINGLE, ShingleChain, WordEnd, fold, hash, small};
use crate::ids::WordsDigest;
use crate::params::LEAST_JUDGED;
use crate::words::Short;

/// So many letters of a word count for how much of a file is text: a longer run is a hash, a line
/// of encoded data or an identifier made by a program.
const COUNTED: u64 = 16;

/// A shingle is sampled once more for so many bytes that only continue letters of its last word,
/// and at most so often more. A Russian word has some six such bytes, a Georgian one twelve, and a
/// character of Chinese two.
const CONTINUED: u8 = 5;
const MOST_MORE: u8 = 3;

/// Hashes letters to words and words to shingles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folding {
    /// The hash of the letters before the last up to 16, these, and how many bytes they are.
    word: u64,
    sixteen: u128,
    bytes: usize,
    /// Letters of the word under way.
    letters: u64,
    /// Bytes of UTF-8 that only continue these.
    continued: u8,
    pub(super) chain: ShingleChain,
    /// The letters of all words so far, of each at most [`COUNTED`].
    pub(super) length: u64,
}

impl Folding {
    /// Takes a letter.
    #[inline]
    pub(crate) fn letter(&mut self, letter: u32) {
        if letter < 128 {
            self.byte(letter as u8 | 0x20);
        } else {
            let bytes = letter.to_le_bytes();
            let length = 4 - letter.leading_zeros() as usize / 8;
            for &byte in &bytes[..length] {
                self.byte(byte);
            }
            // Apart from letters of ASCII that have these bytes.
            self.byte(0xff);
            let continued = 1 + u8::from(letter > 0x7ff) + u8::from(letter > 0xffff);
            self.continued = self.continued.saturating_add(continued);
        }
        self.letters += 1;
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if self.bytes == 16 {
            self.word = fold(self.word, self.sixteen);
            (self.sixteen, self.bytes) = (0, 0);
        }
        self.sixteen |= u128::from(byte) << (8 * self.bytes);
        self.bytes += 1;
    }

    /// Whether a word is under way.
    #[inline]
    pub(crate) const fn in_word(&self) -> bool {
        self.bytes > 0
    }

    /// Ends the word, if there is one: the shingle that it completes, if it does.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<u64> {
        let word = self.take_word()?;
        self.add(word)
    }

    /// How often the shingle that ends with the word under way is sampled besides, each time by
    /// another hash.
    ///
    /// A letter beyond ASCII has two bytes and more, so 500 bytes have half as many words, and of
    /// these as many samples are wanted. Which letters a shingle has is told by its last word.
    #[inline]
    pub(super) fn times_more(&self) -> u8 {
        (self.continued / CONTINUED).min(MOST_MORE)
    }

    /// Ends the word, if there is one: its hash.
    #[inline]
    pub(super) fn take_word(&mut self) -> Option<u64> {
        self.take_end().map(WordEnd::hash)
    }

    /// Ends the word, if there is one: what its hash is made of.
    #[inline]
    pub(super) fn take_end(&mut self) -> Option<WordEnd> {
        if !self.in_word() {
            return None;
        }
        let end = WordEnd::new(self.word, self.sixteen);
        self.length += self.letters.min(COUNTED);
        (self.word, self.sixteen, self.bytes) = (0, 0, 0);
        (self.letters, self.continued) = (0, 0);
        Some(end)
    }

    /// A whole word at once.
    #[inline]
    pub(crate) fn short_word(&mut self, word: Short) -> Option<u64> {
        self.length += word.length as u64;
        self.add(fold(0, small(word.letters)))
    }

    /// A word of letters of ASCII, at least one.
    pub(crate) fn ascii_word(&mut self, letters: &[u8]) -> Option<u64> {
        let end = self.ascii_end(letters);
        self.add(end.hash())
    }

    /// What the hash of a word of letters of ASCII, at least one, is made of.
    pub(super) fn ascii_end(&mut self, letters: &[u8]) -> WordEnd {
        self.length += (letters.len() as u64).min(COUNTED);
        WordEnd::of(letters)
    }

    /// The next word.
    #[inline]
    fn add(&mut self, word: u64) -> Option<u64> {
        self.chain.push(word);
        self.shingle()
    }

    /// The shingle that the last word completed, if it did.
    #[inline]
    pub(super) fn shingle(&self) -> Option<u64> {
        (self.chain.words >= SHINGLE as u64).then(|| hash(self.chain.shingle))
    }

    /// The digest that names the words, if they have enough bytes to be judged.
    pub(crate) fn digest(&self) -> Option<WordsDigest> {
        let length = self.length + self.chain.words;
        (length >= LEAST_JUDGED.0).then(|| {
            let mut digest = [0; 16];
            digest[..8].copy_from_slice(&hash(self.chain.all[0] ^ length).to_le_bytes());
            digest[8..].copy_from_slice(
                &hash(self.chain.all[1].wrapping_add(self.chain.words)).to_le_bytes(),
            );
            WordsDigest(digest)
        })
    }

    /// The one shingle of a text of one to four words.
    pub(crate) fn short(&self) -> Option<u64> {
        (1..SHINGLE as u64)
            .contains(&self.chain.words)
            .then(|| hash(self.chain.shingle))
    }
}
