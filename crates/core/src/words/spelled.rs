//! The words of a text one by one, spelled out: for whoever sorts them, looks them up or takes
//! their stems.

use crate::words::tokenizer::{Sink, Tokenizer};
use crate::words::{LONG, is_cut};

/// A word of more bytes is several: no word of any text needs more memory.
const LONGEST: usize = 256;

/// Where letters begin that Unicode leaves to everybody.
const PRIVATE: u32 = 0xe000;

/// Spells the words of a text that is handed over in pieces of any size. What a word is:
/// [`crate::words`]. Words are UTF-8; a byte that is none is the letter of this number, so that
/// texts in other encodings agree with themselves.
#[derive(Clone, Debug, Default)]
pub struct WordTexts {
    tokens: Tokenizer,
    word: SpelledWord,
}

/// The word under way.
#[derive(Clone, Debug, Default)]
struct SpelledWord {
    text: Vec<u8>,
    /// Letters since the last separator, and the last four of them.
    letters: u32,
    window: u32,
}

struct WordSpeller<'a, F> {
    word: &'a mut SpelledWord,
    sink: &'a mut F,
}

impl WordTexts {
    /// Takes the next bytes; `sink` gets the words that are complete.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) {
        let word = &mut self.word;
        self.tokens.update(bytes, &mut WordSpeller { word, sink });
    }

    /// Ends the text: `sink` gets the last words. What comes next is another text.
    pub fn finish(&mut self, sink: &mut impl FnMut(&[u8])) {
        let word = &mut self.word;
        self.tokens.finish(&mut WordSpeller { word, sink });
        self.word = SpelledWord::default();
    }
}

impl<F: FnMut(&[u8])> WordSpeller<'_, F> {
    #[inline]
    fn end(&mut self) {
        if !self.word.text.is_empty() {
            (self.sink)(&self.word.text);
            self.word.text.clear();
        }
    }

    /// Adds a letter, without checking whether a word without end is cut behind it.
    #[inline]
    fn push(&mut self, letter: u32) {
        let word = &mut self.word.text;
        if letter < 128 && (letter as u8 == b'_' || (letter as u8).is_ascii_alphanumeric()) {
            word.push((letter as u8).to_ascii_lowercase());
        } else {
            // Only some bits are left of a character that broke off. They become a character for
            // private use.
            let number = if letter < 128 {
                PRIVATE + letter
            } else {
                letter
            };
            let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            word.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if word.len() >= LONGEST {
            self.end();
        }
    }
}

impl<F: FnMut(&[u8])> Sink for WordSpeller<'_, F> {
    fn letter(&mut self, letter: u32) {
        self.push(letter);
        let word = &mut *self.word;
        word.letters += 1;
        word.window = word.window << 8 | (letter | 0x20) & 0xff;
        if word.letters > LONG && is_cut(word.window) {
            self.end();
        }
    }

    fn end_word(&mut self) {
        self.end();
        self.word.letters = 0;
    }

    /// A cut has been found already: but for its length this is one word.
    fn piece(&mut self, letters: &[u8], last: bool) {
        for &letter in letters {
            self.push(letter.into());
        }
        self.end();
        if last {
            self.word.letters = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::WordHashes;

    fn words(pieces: &[&[u8]]) -> Vec<String> {
        let (mut texts, mut all) = (WordTexts::default(), Vec::new());
        let mut sink = |word: &[u8]| all.push(String::from_utf8(word.to_vec()).expect("UTF-8"));
        for piece in pieces {
            texts.update(piece, &mut sink);
        }
        texts.finish(&mut sink);
        all
    }

    #[test]
    fn words_are_spelled_in_lower_case() {
        let text = "Additionaly, we SORT the: words_2 Čeština\nüber-\t漢字";
        let expected = [
            "additionaly",
            "we",
            "sort",
            "the",
            "words_2",
            "čeština",
            "über",
            "漢",
            "字",
        ];
        assert_eq!(words(&[text.as_bytes()]), expected);
        assert_eq!(words(&[b"caf\xe9 \xff"]), ["caf\u{e009}", "ÿ"]);
        assert!(
            words(&[&vec![b'a'; 10_000]])
                .iter()
                .all(|word| word.len() <= LONGEST)
        );
    }

    proptest! {
        /// The same words that the hashes are of, in pieces of any size.
        #[test]
        fn pieces_make_no_difference_and_the_words_are_those_that_are_hashed(
            text in "([a-dA-D_0]{1,6}|[a-zé漢]{14,90}|a{200,600})\
                (([ ,.\n]|\u{e9}){1,3}([a-dA-D_0]{1,6}|[a-zé漢]{14,90}|a{200,600})){0,12}",
            size in 1usize..200,
        ) {
            let bytes = text.as_bytes();
            let whole = words(&[bytes]);
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(&words(&pieces), &whole);
            let (mut hashes, mut count) = (WordHashes::default(), 0);
            hashes.update(bytes, &mut |_| count += 1);
            hashes.finish(&mut |_| count += 1);
            if whole.iter().all(|word| word.len() < LONGEST - 4) {
                prop_assert_eq!(whole.len(), count);
            }
        }
    }
}
