//! What takes the words of a text.

use crate::hash::shingles::{Runs, WINDOW, letters};

/// What an ASCII byte is: 0 separates words, others are themselves in lower case.
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

/// Whether a byte of ASCII is a part of words.
pub(crate) const fn is_letter(byte: u8) -> bool {
    byte < 128 && FOLDED[byte as usize] != 0
}

/// Takes the words of a text, letter by letter.
pub(crate) trait Sink {
    /// The next letter of a word, in lower case: its code point.
    fn letter(&mut self, letter: u32);

    /// The character under way waits for what may belong to it, until the next one waits or
    /// [`Self::release`]; `joins`: it belongs to the one that waits already. Its letters come then.
    fn hold(&mut self, _joins: bool) {}

    /// No character waits any more.
    fn release(&mut self) {}

    /// The word, if one was begun, is over: something separates it from the next.
    fn end_word(&mut self);

    /// The word, if one was begun, is over, and the next begins at once.
    fn break_word(&mut self) {
        self.end_word();
    }

    /// A whole word of letters of ASCII, as in the file. No word is under way.
    fn ascii_word(&mut self, letters: &[u8]) {
        for &byte in letters {
            self.letter(u32::from(FOLDED[usize::from(byte & 0x7f)]));
        }
        self.end_word();
    }

    /// A whole word of 1 to 16 letters of ASCII, from one separator to the next. No word is under
    /// way.
    fn short_word(&mut self, word: Short) {
        self.ascii_word(&word.letters.to_le_bytes()[..word.length]);
    }

    /// Whole words of ASCII at once, as many as the sink likes to take: how many bytes were taken.
    /// No word is under way, neither before nor behind these.
    fn blocks(&mut self, _bytes: &[u8]) -> usize {
        0
    }

    /// Whole words of 1 to 16 letters of ASCII: the runs of ones in `words`, a bit for each byte of
    /// the window.
    fn short_words(&mut self, window: &[u8; WINDOW], words: u64) {
        for (from, to) in Runs::of(words) {
            self.short_word(Short::at(window, from, to - from));
        }
    }
}

/// A word of 1 to 16 letters of ASCII as a number, the first letter lowest; behind its letters it
/// is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// The letters as they are in the file, capitals included.
    pub(crate) letters: u128,
    pub(crate) length: usize,
}

impl Short {
    /// The word at a place in a window that begins in its block.
    #[inline]
    fn at(window: &[u8; WINDOW], from: usize, length: usize) -> Self {
        Self {
            letters: letters(window, from, length),
            length,
        }
    }
}
