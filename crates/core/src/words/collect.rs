//! All shingles of a text in order, and how far each of its words reaches: for whoever holds whole
//! texts against each other.

use crate::ids::WordsDigest;
use crate::words::{Folding, Short, Sink, tokenize};

/// The words of a text.
pub(crate) struct CollectedWords {
    /// The shingle that begins with each word. A text of one to four words has one shingle.
    pub(crate) shingles: Vec<u64>,
    /// For each word the bytes in UTF-8 of all words up to its end, each with one for what
    /// separates it from the next.
    pub(crate) ends: Vec<u32>,
    /// What names all words in order, if they are enough to judge.
    pub(crate) digest: Option<WordsDigest>,
}

/// The length of a letter in UTF-8.
fn utf8_bytes(letter: u32) -> u32 {
    char::from_u32(letter).map_or(1, char::len_utf8) as u32
}

/// Collects the words of a text.
pub(crate) fn collect_words(bytes: &[u8]) -> CollectedWords {
    let mut collector = WordCollector {
        folding: Folding::default(),
        of_word: 0,
        length: 0,
        shingles: Vec::new(),
        ends: Vec::new(),
    };
    tokenize(bytes, &mut collector);
    let WordCollector {
        folding,
        mut shingles,
        ends,
        ..
    } = collector;
    shingles.extend(folding.short());
    CollectedWords {
        shingles,
        ends,
        digest: folding.digest(),
    }
}

struct WordCollector {
    folding: Folding,
    /// Length of the word under way.
    of_word: u32,
    /// Length of all words before.
    length: u32,
    shingles: Vec<u64>,
    ends: Vec<u32>,
}

impl WordCollector {
    fn word(&mut self, shingle: Option<u64>, length: u32) {
        self.shingles.extend(shingle);
        self.length = self.length.saturating_add(length);
        self.ends.push(self.length);
    }

    fn end(&mut self, separator: u32) {
        if self.folding.in_word() {
            let shingle = self.folding.word();
            let length = std::mem::take(&mut self.of_word).saturating_add(separator);
            self.word(shingle, length);
        }
    }
}

impl Sink for WordCollector {
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
