//! Hashes the words of a text one by one, for shingles of another length than
//! [`Params::SHINGLE`](crate::Params::SHINGLE).

use crate::words::Folding;
use crate::words::sink::Sink;
use crate::words::tokenizer::Tokenizer;

/// Hashes the words of a text that arrives in pieces of any size. [`crate::words`] defines a word.
#[derive(Clone, Debug, Default)]
pub struct WordHashes {
    tokens: Tokenizer,
    folding: Folding,
}

struct WordHasher<'a, F> {
    folding: &'a mut Folding,
    sink: &'a mut F,
}

impl WordHashes {
    /// Drops the current text; the next bytes begin another text.
    pub fn reset(&mut self) {
        self.tokens.reset();
        self.folding = Folding::default();
    }

    /// Takes the next bytes; `sink` receives the hashes of the words that are complete.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(u64)) {
        let folding = &mut self.folding;
        self.tokens.update(bytes, &mut WordHasher { folding, sink });
    }

    /// Ends the text; `sink` receives the hashes of the last words. The next bytes begin another
    /// text.
    pub fn finish(&mut self, sink: &mut impl FnMut(u64)) {
        let folding = &mut self.folding;
        self.tokens.finish(&mut WordHasher { folding, sink });
        self.folding = Folding::default();
    }
}

impl<F: FnMut(u64)> WordHasher<'_, F> {
    #[inline]
    fn word(&mut self) {
        if let Some(word) = self.folding.take_word() {
            (self.sink)(word);
        }
    }
}

impl<F: FnMut(u64)> Sink for WordHasher<'_, F> {
    #[inline]
    fn letter(&mut self, letter: u32) {
        self.folding.letter(letter);
    }

    #[inline]
    fn end_word(&mut self) {
        self.word();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::shingles::{OF_WORD, SHINGLE, hash};
    use crate::ids::Fingerprint;
    use crate::words::Shingler;

    fn words(pieces: &[&[u8]]) -> Vec<u64> {
        let (mut all, mut words) = (Vec::new(), WordHashes::default());
        for piece in pieces {
            words.update(piece, &mut |word| all.push(word));
        }
        words.finish(&mut |word| all.push(word));
        all
    }

    proptest! {
        /// The words are those that the shingles of the default measure are made of.
        #[test]
        fn words_make_the_shingles_of_the_default_measure(
            bytes in prop::collection::vec(
                prop::sample::select(b"abcdefgh_XYZ019 .\n<>\xc3\xa9\xe4\xbd\xa0\xff".to_vec()),
                0..2000,
            ),
            cut in 0usize..2000,
        ) {
            let mut shingles = Vec::new();
            let mut shingler = Shingler::new();
            shingler.update(&bytes, &mut |f| shingles.push(f));
            shingler.finish(&mut |f| shingles.push(f));
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let all = words(&[head, tail]);
            let made: Vec<Fingerprint> = if all.is_empty() {
                Vec::new()
            } else {
                all.windows(SHINGLE.min(all.len()))
                    .map(|run| {
                        let join = |h: u64, word: &u64| h.wrapping_mul(OF_WORD).wrapping_add(*word);
                        run.iter().fold(0, join)
                    })
                    .filter_map(|run| Fingerprint::of_hash(hash(run)))
                    .collect()
            };
            prop_assert_eq!(made, shingles);
        }
    }

    #[test]
    fn case_blanks_and_stops_make_no_word() {
        assert_eq!(words(&[b"A b, (C)"]), words(&[b"a\nB c."]));
        assert_eq!(words(&[b"one two"]).len(), 2);
    }
}
