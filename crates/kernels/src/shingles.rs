//! Hashes the words of a block, and joins them to shingles.
//!
//! Each word adds three results: its hash, the hash of the five words that end with this word, and
//! two polynomials of all words so far. The digest of the text is made from the polynomials.
//!
//! There are two steps, so that the processor works on many words at a time. The letters of
//! hundreds of words are put side by side in a [`WordBatch`]. Then all these words are hashed and
//! joined together. Hashing a word does not depend on the words before it, and joining depends on
//! only a few of them. With AVX-512 and the byte permutations of VBMI, `vbmi` does both steps for
//! eight words at a time.

mod batch;
#[cfg(target_arch = "x86_64")]
mod vbmi;
mod waiting;

pub use batch::WordBatch;

use crate::letters::BLOCK;

/// The number of words in a shingle.
pub const SHINGLE: usize = 5;

/// The maximum number of letters that are hashed at once.
pub const MOST_LETTERS: usize = 16;

/// The number of bytes that the words of a block can take: the block, and [`MOST_LETTERS`] bytes
/// after it.
pub const WINDOW: usize = BLOCK + MOST_LETTERS;

/// The maximum number of words of a block.
const MOST_WORDS: usize = BLOCK / 2;

/// The multiplier with which words are joined to a shingle. It is odd.
pub const OF_WORD: u64 = 0xbf58_476d_1ce4_e5b9;

/// The multipliers with which all words of a text are joined. They are odd.
const OF_ALL: [u64; 2] = [0xd6e8_feb8_6659_fd93, 0xff51_afd7_ed55_8cd5];

/// The constants for the first eight and for the second eight of sixteen letters. The letters are
/// mixed with [`MIXED`] and then multiplied by [`OF_LETTERS`].
const MIXED: [u64; 2] = [OF_SHINGLE, 0x94d0_49bb_1331_11eb];
const OF_LETTERS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

/// The multiplier of a shingle. It is odd.
pub const OF_SHINGLE: u64 = 0x9e37_79b9_7f4a_7c15;

/// In each of eight bytes, the bit by which small letters differ from capitals. [`small`] sets this
/// bit in every ASCII letter, so capitals become small letters. Digits do not change, and `_`
/// becomes a value that no other letter has.
const SMALL: u64 = 0x2020_2020_2020_2020;

/// A shingle can be sampled only if its hash is below this number. Then the first
/// [`crate::fingerprint::Fingerprint::BASE_LEVEL`] bits of the hash are zero.
const SAMPLED: u64 = 1 << (64 - crate::fingerprint::Fingerprint::BASE_LEVEL as u32);

/// Returns the hash of a word after up to 16 more letters; `before` is the hash of the letters
/// before them. The hash is strong, so shingles need little more mixing.
///
/// The letters must already be in one case: see [`small`].
#[inline]
pub const fn fold(before: u64, sixteen: u128) -> u64 {
    WordEnd::new(before, sixteen).hash()
}

/// The input of the hash of a word: its last letters, 16 at most, and the hash of all letters
/// before them. All letters are in one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordEnd {
    low: u64,
    high: u64,
}

impl WordEnd {
    /// Joins the hash of the letters before the last 16 with these 16.
    #[inline]
    pub const fn new(before: u64, sixteen: u128) -> Self {
        Self {
            low: before ^ sixteen as u64,
            high: (sixteen >> 64) as u64,
        }
    }

    /// Makes the end of a word of one or more ASCII letters. This function is not inlined, because
    /// loops that seldom call it would then keep fewer values in registers. That would cost 4 % of
    /// the time of a text.
    #[inline(never)]
    pub fn of(letters: &[u8]) -> Self {
        match letters.first_chunk() {
            Some(first) if letters.len() > MOST_LETTERS => {
                Self::of_long(fold(0, small(u128::from_le_bytes(*first))), letters)
            }
            _ => {
                let letters = letters.iter().rev();
                let all = letters.fold(0, |all, &letter| all << 8 | u128::from(letter));
                Self::new(0, small(all))
            }
        }
    }

    /// Makes the end of a word of more than [`MOST_LETTERS`] letters, whose first 16 hash to
    /// `before`.
    #[inline]
    fn of_long(before: u64, letters: &[u8]) -> Self {
        let (mut before, mut at) = (before, MOST_LETTERS);
        while at + MOST_LETTERS < letters.len()
            && let Some(part) = letters[at..].first_chunk()
        {
            before = fold(before, small(u128::from_le_bytes(*part)));
            at += MOST_LETTERS;
        }
        // The load includes letters before the last ones, which are then shifted out. This avoids a
        // copy of variable length.
        let last = letters.last_chunk().unwrap_or(&[0; MOST_LETTERS]);
        let rest = u128::from_le_bytes(*last) >> (8 * (at + MOST_LETTERS - letters.len()));
        Self::new(before, small(rest))
    }

    /// Returns the hash of the word.
    #[inline]
    pub const fn hash(self) -> u64 {
        let x = (self.low ^ MIXED[0]).wrapping_mul(OF_LETTERS[0]);
        let y = (self.high ^ MIXED[1]).wrapping_mul(OF_LETTERS[1]);
        let z = (x ^ x >> 32) ^ (y ^ y >> 29).rotate_left(17);
        let z = z.wrapping_mul(OF_WORD);
        z ^ z >> 31
    }
}

/// Converts ASCII letters to one case. In each letter and `_`, bit 6 is set and is copied to bit 5.
/// In digits, and in the zeros after the letters, bit 6 is not set.
#[inline]
pub const fn small(letters: u128) -> u128 {
    letters | letters >> 1 & ((SMALL as u128) << 64 | SMALL as u128)
}

/// Returns the hash of a shingle.
#[inline]
pub const fn hash(shingle: u64) -> u64 {
    (shingle ^ shingle >> 32).wrapping_mul(OF_SHINGLE)
}

/// The last words of a text, and the sums over all its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShingleChain {
    /// The number of words so far.
    pub words: u64,
    /// The hashes of the last words, the oldest first.
    last: [u64; SHINGLE],
    /// The last [`SHINGLE`] words, joined.
    pub shingle: u64,
    /// All words, joined once by each of two multipliers.
    pub all: [u64; 2],
}

impl ShingleChain {
    /// Returns the hash of the last word.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.last[SHINGLE - 1]
    }

    /// Appends the hash of a word.
    #[inline]
    pub fn push(&mut self, word: u64) {
        let [gone, a, b, c, d] = self.last;
        self.last = [a, b, c, d, word];
        self.join(word, gone);
    }

    #[inline]
    const fn join(&mut self, word: u64, gone: u64) {
        let change = word.wrapping_sub(gone.wrapping_mul(const { power(OF_WORD, SHINGLE as u64) }));
        self.shingle = self.shingle.wrapping_mul(OF_WORD).wrapping_add(change);
        self.words += 1;
        let [one, other] = self.all;
        self.all = [
            one.wrapping_mul(OF_ALL[0]).wrapping_add(word),
            other.wrapping_mul(OF_ALL[1]).wrapping_add(word),
        ];
    }
}

/// Returns the polynomials of all words of two consecutive runs. The second run has `words` words.
pub fn name_of_both(before: [u64; 2], behind: [u64; 2], words: u64) -> [u64; 2] {
    std::array::from_fn(|k| {
        let moved = before[k].wrapping_mul(power(OF_ALL[k], words));
        moved.wrapping_add(behind[k])
    })
}

const fn power(of: u64, exponent: u64) -> u64 {
    let (mut power, mut square, mut left) = (1u64, of, exponent);
    while left > 0 {
        if left & 1 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    power
}

/// Yields the start and the end of each run of set bits, in order. No run reaches the highest bit.
#[derive(Debug)]
pub struct Runs {
    begins: u64,
    /// A mask of the places after the last bit of each run.
    ends: u64,
}

impl Runs {
    /// Finds the runs of set bits in a mask, from the lowest bit on.
    #[inline]
    pub const fn of(mask: u64) -> Self {
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

/// Returns where the first run of more than [`MOST_LETTERS`] set bits begins.
#[inline]
pub const fn first_long_run(mask: u64) -> Option<usize> {
    match long_runs(mask) {
        0 => None,
        begin => Some(begin.trailing_zeros() as usize),
    }
}

/// Returns the set bits that are followed by at least [`MOST_LETTERS`] set bits.
#[inline]
const fn long_runs(mask: u64) -> u64 {
    let two = mask & mask >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    let sixteen = eight & eight >> 8;
    sixteen & mask >> 16
}

/// Returns the letters of the word at a place in a window. The first letter is in the lowest byte,
/// and unused bytes are zero. Capitals are not converted.
#[inline]
pub fn letters(window: &[u8; WINDOW], from: usize, length: usize) -> u128 {
    let from = from % BLOCK;
    // The default is never used: a window has enough bytes after the block.
    let bytes = window[from..].first_chunk().unwrap_or(&[0; MOST_LETTERS]);
    // There is no branch, because the length of a word is unpredictable.
    u128::from_le_bytes(*bytes) & MASK[length % MASK.len()]
}

/// The masks that keep the first bytes of a number.
const MASK: [u128; 2 * MOST_LETTERS] = {
    let mut masks = [u128::MAX; 2 * MOST_LETTERS];
    let mut length = 0;
    while length < MOST_LETTERS {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

#[cfg(test)]
mod tests;
