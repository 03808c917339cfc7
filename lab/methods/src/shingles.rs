//! Computes fingerprints of runs of w words.
//!
//! This is the w-shingling of Broder 1997, for which the methods were first defined. Cherkasova et
//! al. 2009 say in section 2: "contiguous terms, where each term is a word".
//! [`resemble_core::words`] defines a word. A text of fewer than w words has no shingle.
//!
//! The fingerprint is a polynomial in the 64-bit hashes of the words. The polynomial is updated
//! with each word and mixed at the end. So the time for a word does not depend on w.

use resemble_core::words::WordHashes;

/// The odd multiplier of the polynomial.
const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// Computes the shingles of a text that is passed in pieces of any size.
#[derive(Clone, Debug)]
pub struct Shingles {
    words: WordHashes,
    run: HashRing,
}

/// The last words of the text, as hashes.
#[derive(Clone, Debug)]
struct HashRing {
    /// The power of `MULTIPLIER` whose exponent is the number of words of a shingle.
    power: u64,
    ring: Vec<u64>,
    at: usize,
    missing: usize,
    value: u64,
}

impl HashRing {
    #[inline]
    fn push(&mut self, word: u64) -> Option<u64> {
        let gone = std::mem::replace(&mut self.ring[self.at], word);
        self.at = (self.at + 1) % self.ring.len();
        self.value = self
            .value
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(word)
            .wrapping_sub(gone.wrapping_mul(self.power));
        self.missing = self.missing.saturating_sub(1);
        (self.missing == 0).then(|| mix(self.value))
    }

    fn reset(&mut self) {
        self.ring.fill(0);
        (self.at, self.missing, self.value) = (0, self.ring.len(), 0);
    }
}

/// Mixes 64 bits by a bijection that removes patterns (the finaliser of splitmix64; Steele, Lea &
/// Flood 2014).
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Shingles {
    /// Creates the state for shingles with this number of words.
    ///
    /// # Panics
    ///
    /// Panics if `words` is 0.
    pub fn new(words: usize) -> Self {
        assert!(words > 0, "a shingle has a word");
        Self {
            words: WordHashes::default(),
            run: HashRing {
                power: (0..words).fold(1, |power: u64, _| power.wrapping_mul(MULTIPLIER)),
                ring: vec![0; words],
                at: 0,
                missing: words,
                value: 0,
            },
        }
    }

    /// Adds the next bytes. `sink` receives the shingles that are complete.
    pub fn update(&mut self, bytes: &[u8], mut sink: impl FnMut(u64)) {
        let run = &mut self.run;
        self.words.update(bytes, &mut |word| {
            if let Some(shingle) = run.push(word) {
                sink(shingle);
            }
        });
    }

    /// Ends the text. `sink` receives the last shingles. The next bytes begin another text.
    pub fn finish(&mut self, mut sink: impl FnMut(u64)) {
        let run = &mut self.run;
        self.words.finish(&mut |word| {
            if let Some(shingle) = run.push(word) {
                sink(shingle);
            }
        });
        self.run.reset();
    }

    /// Begins another text.
    pub fn reset(&mut self) {
        self.words.reset();
        self.run.reset();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns, for each run of words, the index of the first run with the same words. So equal
    /// runs have equal numbers.
    fn by_words(text: &str, width: usize) -> Vec<usize> {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let runs: Vec<&[&str]> = words.windows(width).collect();
        runs.iter()
            .map(|run| runs.iter().position(|other| other == run).expect("itself"))
            .collect()
    }

    proptest! {
        #[test]
        fn shingles_are_equal_exactly_where_their_words_are(
            text in "([abc]{1,2} ){0,60}",
            width in 1usize..8,
            size in 1usize..50,
        ) {
            let mut shingles = Shingles::new(width);
            for _twice in 0..2 {
                let mut all = Vec::new();
                for piece in text.as_bytes().chunks(size) {
                    shingles.update(piece, |s| all.push(s));
                }
                shingles.finish(|s| all.push(s));
                let first: Vec<usize> = all
                    .iter()
                    .map(|s| all.iter().position(|other| other == s).expect("itself"))
                    .collect();
                prop_assert_eq!(first, by_words(&text, width));
            }
        }
    }
}
