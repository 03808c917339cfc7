//! Spells the words of a text one by one, so that they can be sorted, looked up or stemmed.

use crate::words::sink::Sink;
use crate::words::tokenizer::Tokenizer;

/// The number of bytes at which a word is split, so that memory is bounded.
const LONGEST: usize = 256;

/// Spells the words of a text that arrives in pieces of any size. [`crate::words`] defines a word.
/// Words are passed on in UTF-8.
#[derive(Clone, Debug, Default)]
pub struct WordTexts {
    tokens: Tokenizer,
    word: Vec<u8>,
}

struct WordSpeller<'a, F> {
    word: &'a mut Vec<u8>,
    sink: &'a mut F,
}

impl WordTexts {
    /// Takes the next bytes; `sink` receives the words that are complete.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) {
        let word = &mut self.word;
        self.tokens.update(bytes, &mut WordSpeller { word, sink });
    }

    /// Ends the text; `sink` receives the last words. The next bytes begin another text.
    pub fn finish(&mut self, sink: &mut impl FnMut(&[u8])) {
        let word = &mut self.word;
        self.tokens.finish(&mut WordSpeller { word, sink });
        self.word.clear();
    }
}

impl<F: FnMut(&[u8])> WordSpeller<'_, F> {
    #[inline]
    fn end(&mut self) {
        if !self.word.is_empty() {
            (self.sink)(self.word);
            self.word.clear();
        }
    }
}

impl<F: FnMut(&[u8])> Sink for WordSpeller<'_, F> {
    fn letter(&mut self, letter: u32) {
        let letter = char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.word
            .extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        if self.word.len() >= LONGEST {
            self.end();
        }
    }

    fn end_word(&mut self) {
        self.end();
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
        assert_eq!(words(&[b"CAF\xc9 \xff"]), ["café", "ÿ"]);
        assert!(
            words(&[&vec![b'a'; 10_000]])
                .iter()
                .all(|word| word.len() <= LONGEST)
        );
    }

    proptest! {
        /// The words are the same words that are hashed, for pieces of any size.
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
