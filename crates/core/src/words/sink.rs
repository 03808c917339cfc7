//! The receiver of the words of a text.

use crate::hash::shingles::{Runs, WINDOW, letters};

/// The lower case of each ASCII byte in words; 0 for a separator.
pub(super) const FOLDED: [u8; 128] = {
    let mut table = [0u8; 128];
    let mut at = 0u8;
    while at < 128 {
        table[at as usize] = match at {
            b'A'..=b'Z' => at + 32,
            b'a'..=b'z' | b'0'..=b'9' | b'_' => at,
            _ => 0,
        };
        at += 1;
    }
    table
};

/// Returns whether an ASCII byte is part of words.
pub(crate) const fn is_letter(byte: u8) -> bool {
    byte < 128 && FOLDED[byte as usize] != 0
}

/// Receives the words of a text, letter by letter.
pub(crate) trait Sink {
    /// Takes the next letter of a word: the code point of its lower case.
    fn letter(&mut self, letter: u32);

    /// Makes the current character wait for its marks. It waits until the next character waits or
    /// [`Self::release`] is called, and its letters are passed on only then. `joins` is true if the
    /// current character belongs to the character that waits already.
    fn hold(&mut self, _joins: bool) {}

    /// Declares that the waiting character waits no longer, because all its letters were passed on.
    fn release(&mut self) {}

    /// Ends the word at a separator, if a word was begun.
    fn end_word(&mut self);

    /// Ends the word, if a word was begun. The next word begins at once, without a separator.
    fn break_word(&mut self) {
        self.end_word();
    }

    /// Takes a whole word of ASCII letters, in the same case as in the file. No word is open.
    fn ascii_word(&mut self, letters: &[u8]) {
        for &byte in letters {
            self.letter(u32::from(FOLDED[usize::from(byte & 0x7f)]));
        }
        self.end_word();
    }

    /// Takes a whole word of 1 to 16 ASCII letters between two separators, while no word is open.
    fn short_word(&mut self, word: Short) {
        self.ascii_word(&word.letters.to_le_bytes()[..word.length]);
    }

    /// Takes as many whole ASCII words as it can from the start of the bytes, and returns the
    /// number of their bytes. No word is open before or after this call.
    fn blocks(&mut self, _bytes: &[u8]) -> usize {
        0
    }

    /// Takes whole words of 1 to 16 ASCII letters: the runs of set bits in `words`, which has a bit
    /// for each byte of the window.
    fn short_words(&mut self, window: &[u8; WINDOW], words: u64) {
        for (from, to) in Runs::of(words) {
            self.short_word(Short::at(window, from, to - from));
        }
    }
}

/// A word of 1 to 16 ASCII letters as a number. The first letter is in the lowest byte, and zeros
/// follow the last letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// The letters, in the same case as in the file.
    pub(crate) letters: u128,
    pub(crate) length: usize,
}

impl Short {
    /// Reads the word at a place in a window. The word begins in the block of the window.
    #[inline]
    fn at(window: &[u8; WINDOW], from: usize, length: usize) -> Self {
        Self {
            letters: letters(window, from, length),
            length,
        }
    }
}
