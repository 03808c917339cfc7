//! The words of a block hashed, and joined to shingles.
//!
//! Three things are made of each word: its hash; the hash of the five words that end with it; and
//! two polynomials of all words so far, which name the text.
//!
//! A block of 64 bytes is taken at once. That is a third faster than word by word: no call, no
//! branch on the length of a word, and nothing that is written to memory in one width and read back
//! in another, which a processor waits for. Vectors of eight words (AVX-512, gathered) were tried
//! and are no faster: a block has eleven words, and among identifiers of more than 16 letters five.
use crate::hash::letters::BLOCK;
use crate::params::Params;

/// Words in a shingle.
pub(crate) const SHINGLE: usize = Params::SHINGLE;

/// The most letters of a word that is hashed here.
pub(crate) const MOST_LETTERS: usize = 16;

/// A block, and what a word that begins in it may be loaded from behind it.
pub(crate) const WINDOW: usize = BLOCK + MOST_LETTERS;

/// The most words of a block.
pub(crate) const MOST_WORDS: usize = BLOCK / 2;

/// Multiplier of the words of a shingle, odd.
pub(crate) const OF_WORD: u64 = 0xbf58_476d_1ce4_e5b9;

/// Multipliers of all words, odd.
const OF_ALL: [u64; 2] = [0xd6e8_feb8_6659_fd93, 0xff51_afd7_ed55_8cd5];

/// What a word's first and last eight letters are mixed with, and multiplied by.
const MIXED: [u64; 2] = [OF_SHINGLE, 0x94d0_49bb_1331_11eb];
const OF_LETTERS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

/// Multiplier of a shingle, odd.
pub(crate) const OF_SHINGLE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Set in every letter of ASCII: capitals become small letters, digits stay, and `_` is like
/// nothing else.
const SMALL: u64 = 0x2020_2020_2020_2020;

/// A shingle may be sampled if its hash is below this: as many zero bits as
/// [`crate::ids::Fingerprint::BASE_LEVEL`].
const SAMPLED: u64 = 1 << (64 - crate::ids::Fingerprint::BASE_LEVEL as u32);

/// The hash of up to 16 more letters of a word: words are hashed well, so that shingles need little
/// more.
///
/// The letters come in one case: see [`small`].
#[inline]
pub(crate) const fn fold(before: u64, sixteen: u128) -> u64 {
    let (low, high) = (sixteen as u64, (sixteen >> 64) as u64);
    let x = (before ^ low ^ MIXED[0]).wrapping_mul(OF_LETTERS[0]);
    let y = (high ^ MIXED[1]).wrapping_mul(OF_LETTERS[1]);
    let z = (x ^ x >> 32) ^ (y ^ y >> 29).rotate_left(17);
    let z = z.wrapping_mul(OF_WORD);
    z ^ z >> 31
}

/// Letters of ASCII in one case. Letters and `_` have the bit above that of small letters; the
/// zeros behind them stay zeros.
#[inline]
pub(crate) const fn small(letters: u128) -> u128 {
    letters | letters >> 1 & ((SMALL as u128) << 64 | SMALL as u128)
}

/// The hash of a shingle.
#[inline]
pub(crate) const fn hash(shingle: u64) -> u64 {
    (shingle ^ shingle >> 32).wrapping_mul(OF_SHINGLE)
}

/// What each word changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShingleChain {
    /// Words so far.
    pub(crate) words: u64,
    /// The last of them, the oldest first.
    last: [u64; SHINGLE],
    /// The last words joined.
    pub(crate) shingle: u64,
    /// All words joined, twice.
    pub(crate) all: [u64; 2],
}

impl ShingleChain {
    /// The word before the next one.
    #[inline]
    pub(crate) const fn last(&self) -> u64 {
        self.last[SHINGLE - 1]
    }

    /// The next word.
    #[inline]
    pub(crate) fn push(&mut self, word: u64) {
        let [gone, a, b, c, d] = self.last;
        self.last = [a, b, c, d, word];
        self.join(word, gone);
    }

    #[inline]
    const fn join(&mut self, word: u64, gone: u64) {
        let change = word.wrapping_sub(gone.wrapping_mul(power(OF_WORD, SHINGLE)));
        self.shingle = self.shingle.wrapping_mul(OF_WORD).wrapping_add(change);
        self.words += 1;
        let [one, other] = self.all;
        self.all = [
            one.wrapping_mul(OF_ALL[0]).wrapping_add(word),
            other.wrapping_mul(OF_ALL[1]).wrapping_add(word),
        ];
    }
}

const fn power(of: u64, exponent: usize) -> u64 {
    let (mut power, mut left) = (1u64, exponent);
    while left > 0 {
        power = power.wrapping_mul(of);
        left -= 1;
    }
    power
}

/// Where runs of ones begin and end, in order. None reaches the highest bit.
pub(crate) struct Runs {
    begins: u64,
    /// The zeros behind them.
    ends: u64,
}

impl Runs {
    #[inline]
    pub(crate) const fn of(mask: u64) -> Self {
        Self {
            begins: mask & !(mask << 1),
            ends: mask << 1 & !mask,
        }
    }
}

impl Iterator for Runs {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let Self { begins, ends } = *self;
        if begins == 0 {
            return None;
        }
        self.begins = begins & (begins - 1);
        self.ends = ends & ends.wrapping_sub(1);
        let (from, to) = (begins.trailing_zeros(), ends.trailing_zeros());
        Some((from as usize, to as usize))
    }
}

/// The letters of the word at a place in a window, the first lowest; behind them it is zero. As in
/// the file: capitals are capitals.
#[inline]
pub(crate) fn letters(window: &[u8; WINDOW], from: usize, length: usize) -> u128 {
    let from = from % BLOCK;
    // Never the default: a window has as many bytes behind the block.
    let bytes = window[from..].first_chunk().unwrap_or(&[0; MOST_LETTERS]);
    // No branch: the length of a word is anyone's guess.
    u128::from_le_bytes(*bytes) & MASK[length % MASK.len()]
}

/// The first so many bytes of a number.
const MASK: [u128; 2 * MOST_LETTERS] = {
    let mut masks = [u128::MAX; 2 * MOST_LETTERS];
    let mut length = 0;
    while length < MOST_LETTERS {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// The shingles of a block whose hashes are low enough to be sampled.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    hashes: [u64; MOST_WORDS],
    count: usize,
}

impl Default for Chosen {
    fn default() -> Self {
        Self {
            hashes: [0; MOST_WORDS],
            count: 0,
        }
    }
}

impl Chosen {
    /// Their hashes, in order.
    #[inline]
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes[..self.count]
    }
}

/// Joins the words of a block: the runs of ones in `words`, each of 1 to [`MOST_LETTERS`] letters
/// of ASCII.
///
/// In two passes, so that the processor works on many words at a time: hashing them needs nothing
/// of what came before, and joining them little else.
pub(crate) fn join(
    window: &[u8; WINDOW],
    words: u64,
    chain: &mut ShingleChain,
    chosen: &mut Chosen,
) {
    let mut hashes = [0; SHINGLE + MOST_WORDS];
    hashes[..SHINGLE].copy_from_slice(&chain.last);
    let mut count = 0;
    for (from, to) in Runs::of(words) {
        hashes[SHINGLE + count % MOST_WORDS] = fold(0, small(letters(window, from, to - from)));
        count += 1;
    }
    let mut joined = *chain;
    let mut some = 0;
    for (&gone, &word) in hashes.iter().zip(&hashes[SHINGLE..SHINGLE + count]) {
        joined.join(word, gone);
        let shingle = hash(joined.shingle);
        chosen.hashes[some % MOST_WORDS] = shingle;
        // Two conditions as numbers: a branch would be wrong for every eighth word.
        let whole = usize::from(joined.words >= SHINGLE as u64);
        some += whole * usize::from(shingle < SAMPLED);
    }
    joined.last.copy_from_slice(&hashes[count..count + SHINGLE]);
    *chain = joined;
    chosen.count = some;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words of 1 to 16 letters and blanks between them.
    fn window() -> impl Strategy<Value = ([u8; WINDOW], u64)> {
        let word = (1..=MOST_LETTERS, 1usize..4, any::<u64>());
        prop::collection::vec(word, 0..30).prop_map(|words| {
            let mut bytes = Vec::new();
            for (letters, blanks, seed) in words {
                let letter = |at: usize| b"abcXYZ019_"[(seed >> (3 * at)) as usize % 10];
                bytes.extend((0..letters).map(letter));
                bytes.extend(std::iter::repeat_n(b' ', blanks));
            }
            let mut window = [b' '; WINDOW];
            let length = bytes.len().min(WINDOW);
            window[..length].copy_from_slice(&bytes[..length]);
            let mut mask = 0;
            for (at, byte) in window[..BLOCK].iter().enumerate() {
                mask |= u64::from(*byte != b' ') << at;
            }
            // The word that goes on behind the block is none of it.
            (window, mask & u64::MAX >> mask.leading_ones().min(63))
        })
    }

    proptest! {
        #[test]
        fn words_of_a_block_are_joined_as_one_by_one(
            blocks in prop::collection::vec(window(), 1..6),
        ) {
            let (mut at_once, mut one_by_one) = (ShingleChain::default(), ShingleChain::default());
            let mut chosen = Chosen::default();
            for (window, words) in &blocks {
                join(window, *words, &mut at_once, &mut chosen);
                let mut sampled = Vec::new();
                for (from, to) in Runs::of(*words) {
                    one_by_one.push(fold(0, small(letters(window, from, to - from))));
                    let shingle = hash(one_by_one.shingle);
                    if one_by_one.words >= SHINGLE as u64 && shingle < SAMPLED {
                        sampled.push(shingle);
                    }
                }
                prop_assert_eq!(at_once, one_by_one);
                prop_assert_eq!(chosen.hashes(), &sampled[..]);
            }
        }
    }
}
