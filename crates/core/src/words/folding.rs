//! Computes the hashes of words from their letters, and the hashes of shingles from their words.
//! While the bytes of a text arrive, only its [`Folding`] is kept.

use crate::hash::shingles::{SHINGLE, ShingleChain, WordEnd, fold, hash, small};
use crate::ids::WordsDigest;
use crate::params::LEAST_JUDGED;
use crate::words::Short;

/// The maximum number of letters of one word that count towards the share of words in a file. A
/// longer run of letters is a hash, a line of encoded data or a generated identifier.
const COUNTED: u64 = 16;

/// A shingle can have extra samples: one for every `CONTINUED` bytes in its last word that continue
/// a letter, and at most `MOST_MORE`. A Russian word has about six such bytes, a Georgian word
/// twelve, and a Chinese character two.
const CONTINUED: u8 = 5;
const MOST_MORE: u8 = 3;

/// Computes the hashes of words and shingles from the letters of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folding {
    /// The word so far, in three fields: the hash of the word without its last bytes (16 at most),
    /// these last bytes, and their number.
    word: u64,
    sixteen: u128,
    bytes: usize,
    /// The number of letters of the current word.
    letters: u64,
    /// The number of bytes of these letters in UTF-8, without the first byte of each.
    continued: u8,
    pub(super) chain: ShingleChain,
    /// The total number of letters of all words so far. At most [`COUNTED`] letters of each word
    /// count.
    pub(super) length: u64,
}

impl Folding {
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
            // Without this byte, the letter would have the same bytes as some ASCII letters.
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

    /// Returns whether a word has begun.
    #[inline]
    pub(crate) const fn in_word(&self) -> bool {
        self.bytes > 0
    }

    /// Ends the word, if there is one, and returns the shingle that the word completes.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<u64> {
        let word = self.take_word()?;
        self.add(word)
    }

    /// Returns the number of extra samples of the shingle that ends with the current word. Each
    /// extra sample has another hash.
    ///
    /// A letter beyond ASCII has two bytes or more. So 500 bytes of such letters have half as many
    /// words as 500 bytes of ASCII. They need twice as many samples for each word. Only the last
    /// word of a shingle determines the number.
    #[inline]
    pub(super) fn times_more(&self) -> u8 {
        (self.continued / CONTINUED).min(MOST_MORE)
    }

    /// Ends the word, if there is one, and returns its hash.
    #[inline]
    pub(super) fn take_word(&mut self) -> Option<u64> {
        self.take_end().map(WordEnd::hash)
    }

    /// Ends the word, if there is one, and returns the bytes from which its hash is computed.
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

    /// Adds a whole word at once, and returns the shingle that it completes.
    #[inline]
    pub(crate) fn short_word(&mut self, word: Short) -> Option<u64> {
        self.length += word.length as u64;
        self.add(fold(0, small(word.letters)))
    }

    /// Adds a word of ASCII letters, at least one, and returns the shingle that it completes.
    pub(crate) fn ascii_word(&mut self, letters: &[u8]) -> Option<u64> {
        let end = self.ascii_end(letters);
        self.add(end.hash())
    }

    /// Returns the bytes from which the hash of a word of ASCII letters is computed. There is at
    /// least one letter.
    pub(super) fn ascii_end(&mut self, letters: &[u8]) -> WordEnd {
        self.length += (letters.len() as u64).min(COUNTED);
        WordEnd::of(letters)
    }

    #[inline]
    fn add(&mut self, word: u64) -> Option<u64> {
        self.chain.push(word);
        self.shingle()
    }

    /// Returns the shingle that ends with the last word, if there were words enough for one.
    #[inline]
    pub(super) fn shingle(&self) -> Option<u64> {
        (self.chain.words >= SHINGLE as u64).then(|| hash(self.chain.shingle))
    }

    /// Returns the digest of the words, if they have enough letters to be judged.
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

    /// Returns the only shingle of a text of one to four words; `None` for any other text.
    pub(crate) fn short(&self) -> Option<u64> {
        (1..SHINGLE as u64)
            .contains(&self.chain.words)
            .then(|| hash(self.chain.shingle))
    }
}
