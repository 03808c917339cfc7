//! All shingles of a text in order, and the end of each of its words, for comparisons of whole
//! texts.

use crate::ids::WordsDigest;
use crate::words::{Folding, Short, Sink, tokenize, tokenize_all};

/// The words of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectedWords {
    /// The shingle that begins with each word except the last four words. A text of one to four
    /// words has one shingle.
    pub(crate) shingles: Vec<u64>,
    /// For each word, the length of all words up to its end, in bytes of UTF-8. If a separator ends
    /// a word, it counts as one more byte.
    pub(crate) ends: Vec<u32>,
    /// The digest of all words in order, if the text has enough words to be judged.
    pub(crate) digest: Option<WordsDigest>,
    /// The share of the text's words that recur ([`RECURRING_IN`]). This share is high in tables
    /// and dumps, whose records repeat the same words.
    pub(crate) recurring: f32,
    /// The number of words for each value of the first bits of a word's hash.
    pub(super) counts: Vec<u32>,
}

/// A word recurs if at least one in this many words of the text is that word.
const RECURRING_IN: u32 = 40;

/// The minimum number of words for which recurring words can be determined.
const LEAST_WORDS: u32 = 150;

/// The number of bits of a word's hash by which occurrences of words are counted.
const COUNTED_BITS: u32 = 10;

/// Returns the share of words that recur, from the counts of all words.
///
/// In a short text, many words recur by chance. Among 200 words, every word that occurs five times
/// recurs. So one standard error is subtracted from the count of a word. In the accuracy tasks T4
/// and T6, 208 texts have 150 to 400 words. Without this correction, 15 % of them would be taken
/// for records. With it, only 1 text is. All 144 tables, dumps and logs of T13 are taken for
/// records in both cases.
fn recurring(counts: &[u32]) -> f32 {
    let all: u32 = counts.iter().sum();
    if all < LEAST_WORDS {
        return 0.0;
    }
    let of_all = f64::from(all) / f64::from(RECURRING_IN);
    let recurs = |count: f64| count - count.sqrt() >= of_all;
    let often = counts.iter().filter(|&&count| recurs(f64::from(count)));
    often.sum::<u32>() as f32 / all as f32
}

impl CollectedWords {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // Hardly any text has more than twice this number of words. So the lists grow once at most.
        let words = bytes.len() / 8;
        let mut collected = Self {
            shingles: Vec::with_capacity(words),
            ends: Vec::with_capacity(words),
            ..Self::default()
        };
        collected.collect(bytes);
        collected
    }

    /// Collects the words of a text, in place of the words of the previous text.
    pub(crate) fn collect(&mut self, bytes: &[u8]) {
        self.collect_by(|collector| tokenize(bytes, collector));
    }

    /// Like [`Self::collect`], with the words of markup.
    pub(crate) fn collect_all(&mut self, bytes: &[u8]) {
        self.collect_by(|collector| tokenize_all(bytes, collector));
    }

    fn collect_by(&mut self, tokenize: impl FnOnce(&mut WordCollector<'_>)) {
        self.shingles.clear();
        self.ends.clear();
        self.counts.clear();
        self.counts.resize(1 << COUNTED_BITS, 0);
        let mut collector = WordCollector {
            folding: Folding::default(),
            of_word: 0,
            length: 0,
            words: self,
        };
        tokenize(&mut collector);
        let folding = collector.folding;
        self.shingles.extend(folding.short());
        self.digest = folding.digest();
        self.recurring = recurring(&self.counts);
    }
}

/// Returns the length of a letter in UTF-8.
fn utf8_bytes(letter: u32) -> u32 {
    char::from_u32(letter).map_or(1, char::len_utf8) as u32
}

struct WordCollector<'a> {
    folding: Folding,
    /// Length of the current word.
    of_word: u32,
    /// Length of all words before the current one.
    length: u32,
    words: &'a mut CollectedWords,
}

impl WordCollector<'_> {
    fn word(&mut self, shingle: Option<u64>, length: u32) {
        self.words.shingles.extend(shingle);
        let word = self.folding.chain.last() >> (u64::BITS - COUNTED_BITS);
        self.words.counts[word as usize] += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_prose_text_is_no_table_of_records() {
        // The counts of words in a paragraph of 188 words. The articles, prepositions and the
        // subject occur often.
        let often = [12, 10, 8, 7, 6, 6, 5, 5, 5];
        let prose: Vec<u32> = often.into_iter().chain([1; 124]).collect();
        assert!(recurring(&prose) < 0.2, "{}", recurring(&prose));
        // The counts of words in twelve records with ten keys each.
        let records: Vec<u32> = [12; 10].into_iter().chain([1; 120]).collect();
        assert!((recurring(&records) - 0.5).abs() < 1e-6);
    }
}
