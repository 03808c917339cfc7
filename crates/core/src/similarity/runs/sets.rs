//! Resemblance on whole sets: word shingles and byte windows.

use crate::params::Params;
use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::blocks::Blocks;
use crate::similarity::runs::mark::{Among, marked};
use crate::similarity::runs::window::windows;

/// Words in a shingle.
const SHINGLE: usize = Params::SHINGLE;

/// Shared / union of the sets of word-5-shingles. A word is `[A-Za-z0-9_]+` on the bytes, in ASCII
/// lower case; one to four words are one shingle, no word is none.
///
/// Shingles are compared by 64-bit hashes: among a million of them a false equality has a chance
/// of 10^-7, and then moves the figure by 10^-6.
pub(super) fn resemblance_of_words(a: &[u8], b: &[u8]) -> f64 {
    ShingleSets::of(a, b).resemblance()
}

/// The sets of word-5-shingles of two files: how many they have in common, and how many each has.
pub(super) struct ShingleSets {
    pub(super) shared: usize,
    pub(super) in_a: usize,
    pub(super) in_b: usize,
}

impl ShingleSets {
    pub(super) fn of(a: &[u8], b: &[u8]) -> Self {
        let parts = parts_for(a.len().max(b.len()));
        let (a, b) = (shingles(a, parts), shingles(b, parts));
        Self {
            shared: a.common(&b),
            in_a: a.len(),
            in_b: b.len(),
        }
    }

    pub(super) fn resemblance(&self) -> f64 {
        ratio(self.shared, self.in_a, self.in_b)
    }
}

/// Shared / union of the sets of 64-byte windows, on the bytes: a window counts where it stands for
/// the first time.
///
/// `shared` are the positions of the windows of a that b has too.
pub(super) fn resemblance_of_windows(a: &Blocks<'_>, b: &Blocks<'_>, mut shared: Bits) -> f64 {
    let repeated = |blocks: &Blocks<'_>| marked(blocks.data(), blocks, Among::Earlier);
    let distinct =
        |blocks: &Blocks<'_>, repeated: &Bits| windows(blocks.data(), LEAST_RUN) - repeated.len();
    let in_b = distinct(b, &repeated(b));
    let in_a = repeated(a);
    shared.remove(&in_a);
    ratio(shared.len(), distinct(a, &in_a), in_b)
}

fn ratio(shared: usize, a: usize, b: usize) -> f64 {
    shared as f64 / (a + b - shared).max(1) as f64
}

/// Values of which only the distinct ones are kept, so that a file of one word sixty million times
/// takes the memory of one value.
struct Distinct {
    /// By the low bits of the values: each small enough to be sorted in the cache.
    parts: Vec<Part>,
}

#[derive(Clone)]
struct Part {
    values: Vec<u64>,
    /// Sorted and thinned out when there are so many.
    limit: usize,
}

impl Distinct {
    /// Values in a part between one clearing up and the next, at least.
    const ROOM: usize = 1 << 13;

    /// An empty set in so many parts, a power of two.
    fn new(parts: usize) -> Self {
        let part = Part {
            values: Vec::new(),
            limit: Self::ROOM,
        };
        Self {
            parts: vec![part; parts],
        }
    }

    #[inline]
    fn add(&mut self, value: u64) {
        let number = value as usize & (self.parts.len() - 1);
        let part = &mut self.parts[number];
        if part.values.len() >= part.limit {
            part.clear_up();
            // Twice what is left: all clearing up together costs no more than the last one.
            part.limit = (2 * part.values.len()).max(Self::ROOM);
        }
        part.values.push(value);
    }

    /// Clears up for good; needed before the figures below.
    fn sorted(mut self) -> Self {
        self.parts.iter_mut().for_each(Part::clear_up);
        self
    }

    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.values.len()).sum()
    }

    /// How many values two sets of as many parts have in common.
    fn common(&self, other: &Self) -> usize {
        let parts = self.parts.iter().zip(&other.parts);
        parts.map(|(a, b)| common(&a.values, &b.values)).sum()
    }
}

impl Part {
    fn clear_up(&mut self) {
        self.values.sort_unstable();
        self.values.dedup();
    }
}

/// How many parts the shingles of a text of so many bytes are kept in.
fn parts_for(bytes: usize) -> usize {
    if bytes < 1 << 18 { 1 } else { 256 }
}

/// The lower case of the bytes of words; 0 for those between words.
const LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let one = byte as u8;
        if one.is_ascii_alphanumeric() || one == b'_' {
            lower[byte] = one.to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// Hands on a hash of each word: of its bytes in eights, which differ for different words as no
/// byte of a word is 0.
fn words(data: &[u8], mut each: impl FnMut(u64)) {
    let (mut hash, mut eight, mut in_word) = (0, 0, false);
    for &byte in data.iter().chain(&[0]) {
        let byte = u64::from(LOWER[usize::from(byte)]);
        if byte != 0 {
            in_word = true;
            if eight >> 56 != 0 {
                hash = mix(hash, eight);
                eight = 0;
            }
            eight = eight << 8 | byte;
        } else if in_word {
            each(mix(hash, eight));
            (hash, eight, in_word) = (0, 0, false);
        }
    }
}

/// The distinct hashes of the word shingles.
fn shingles(data: &[u8], parts: usize) -> Distinct {
    let join = |words: &[u64]| {
        words
            .iter()
            .fold(words.len() as u64, |hash, &word| mix(hash, word))
    };
    let mut shingles = Distinct::new(parts);
    // The last words, the latest at the end.
    let mut last = [0; SHINGLE];
    let mut count = 0;
    words(data, |word| {
        last.rotate_left(1);
        last[SHINGLE - 1] = word;
        count += 1;
        if count >= SHINGLE {
            shingles.add(join(&last));
        }
    });
    if (1..SHINGLE).contains(&count) {
        shingles.add(join(&last[SHINGLE - count..]));
    }
    shingles.sorted()
}

/// One step of a 64-bit hash: the two multiplications of splitmix64 around the input.
const fn mix(hash: u64, next: u64) -> u64 {
    let mut z = (hash ^ next).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How many values two sorted sets have in common.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (left, right) = (a[i], b[j]);
        // No branches: which is less is anyone's guess.
        i += usize::from(left <= right);
        j += usize::from(right <= left);
        count += usize::from(left == right);
    }
    count
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use resemble_testutil::random::Random;

    use super::*;

    #[test]
    fn words_are_ascii_alphanumerics_in_lower_case() {
        assert_eq!(
            resemblance_of_words(b"One, TWO_3 four five six", b"one two_3\nFour-five\0six"),
            1.0
        );
        assert_eq!(resemblance_of_words("\u{e9}one".as_bytes(), b"one"), 1.0);
    }

    #[test]
    fn few_words_are_one_shingle_and_none_is_none() {
        assert_eq!(shingles(b"", 1).len(), 0);
        assert_eq!(shingles(b" .-", 1).len(), 0);
        assert_eq!(shingles(b"a b c d", 1).len(), 1);
        assert_eq!(shingles(b"a b c d e", 1).len(), 1);
        assert_eq!(shingles(b"a b c d e f", 1).len(), 2);
        assert_eq!(resemblance_of_words(b"a b", b"a b c"), 0.0);
        assert_eq!(resemblance_of_words(b"", b""), 0.0);
    }

    #[test]
    fn the_example_of_the_paper() {
        // (a, rose, is, a, rose, is, a, rose): the four 5-shingles are three distinct ones.
        assert_eq!(shingles(b"a rose is a rose is a rose", 1).len(), 3);
    }

    #[test]
    fn parts_add_up() {
        let text = |seed| -> Vec<u8> {
            let mut random = Random::new(seed);
            let mut word = || format!("word_{} ", random.below(12));
            (0..60_000).map(|_| word()).collect::<String>().into_bytes()
        };
        let (a, b) = (text(1), text(2));
        let count = |parts| {
            let (a, b) = (shingles(&a, parts), shingles(&b, parts));
            (a.len(), b.len(), a.common(&b))
        };
        let whole = count(1);
        assert!(0 < whole.2 && whole.2 < whole.0.min(whole.1));
        assert_eq!(count(8), whole);
        assert_eq!(count(256), whole);
    }

    #[test]
    fn words_of_every_length_differ() {
        let texts: Vec<String> = (1..40)
            .map(|len| "ab".repeat(len)[..len].to_owned())
            .collect();
        let all = texts.join("-") + "-" + &texts.join("+").to_uppercase();
        let mut hashes = Vec::new();
        words(all.as_bytes(), |hash| hashes.push(hash));
        assert_eq!(hashes.len(), 2 * texts.len());
        assert_eq!(hashes[..texts.len()], hashes[texts.len()..]);
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
    }
}
