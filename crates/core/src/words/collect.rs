//! All shingles of a text in order, and how far each of its words reaches: for whoever holds whole
//! texts against each other.

use crate::ids::WordsDigest;
use crate::words::{Folding, Short, Sink, tokenize};

/// The words of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectedWords {
    /// The shingle that begins with each word. A text of one to four words has one shingle.
    pub(crate) shingles: Vec<u64>,
    /// For each word the bytes in UTF-8 of all words up to its end, each with one for what
    /// separates it from the next.
    pub(crate) ends: Vec<u32>,
    /// What names all words in order, if they are enough to judge.
    pub(crate) digest: Option<WordsDigest>,
}

impl CollectedWords {
    /// The words of a text.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut words = Self::default();
        words.collect(bytes);
        words
    }

    /// Collects the words of a text in the place of those of another.
    pub(crate) fn collect(&mut self, bytes: &[u8]) {
        self.shingles.clear();
        self.ends.clear();
        let mut collector = WordCollector {
            folding: Folding::default(),
            of_word: 0,
            length: 0,
            words: self,
        };
        tokenize(bytes, &mut collector);
        let folding = collector.folding;
        self.shingles.extend(folding.short());
        self.digest = folding.digest();
    }
}

/// The length of a letter in UTF-8.
fn utf8_bytes(letter: u32) -> u32 {
    char::from_u32(letter).map_or(1, char::len_utf8) as u32
}

struct WordCollector<'a> {
    folding: Folding,
    /// Length of the word under way.
    of_word: u32,
    /// Length of all words before.
    length: u32,
    words: &'a mut CollectedWords,
}

impl WordCollector<'_> {
    fn word(&mut self, shingle: Option<u64>, length: u32) {
        self.words.shingles.extend(shingle);
        self.length = self.length.saturating_add(length);
        self.words.ends.push(self.length);
    }

    fn end(&mut self, separator: u32) {
        if self.folding.in_word() {
            let shingle = self.folding.word();
            let length = std::mem::take(&mut self.of_word).saturating_add(separator);
            self.word(shingle, length);
        }
    }
}

impl Sink for WordCollector<'_> {
    fn letter(&mut self, letter: u32) {
        self.folding.letter(letter);
        self.of_word = self.of_word.saturating_add(utf8_bytes(letter));
    }

    fn end_word(&mut self) {
        self.end(1);
    }

    fn break_word(&mut self) {
        self.end(0);
    }

    fn ascii_word(&mut self, letters: &[u8]) {
        let shingle = self.folding.ascii_word(letters);
        self.word(shingle, letters.len() as u32 + 1);
    }

    fn short_word(&mut self, word: Short) {
        let shingle = self.folding.short_word(word);
        self.word(shingle, word.length as u32 + 1);
    }
}
