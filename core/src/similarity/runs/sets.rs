//! Resemblance on whole sets: word shingles and byte windows.

use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::blocks::Blocks;
use crate::similarity::runs::mark::{Among, marked};
use crate::similarity::runs::window::windows;

/// Words in a shingle (Broder 1997 uses w = 10 on the web and defines it for any w).
const SHINGLE: usize = 5;

/// Shared / union of the sets of word-5-shingles. A word is `[A-Za-z0-9_]+` on the bytes, in ASCII
/// lower case; one to four words are one shingle, no word is none.
///
/// Shingles are compared by 64-bit hashes: among a million of them a false equality has a chance
/// of 10^-7, and then moves the figure by 10^-6.
pub(super) fn resemblance_of_words(a: &[u8], b: &[u8]) -> f64 {
    let (a, b) = (shingles(a), shingles(b));
    ratio(common(&a, &b), a.len(), b.len())
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

/// Values of which only the distinct ones are kept, so that a file of one byte sixty million times
/// takes the memory of one value.
struct Distinct {
    values: Vec<u64>,
    /// Sorted and thinned out when there are so many.
    limit: usize,
}

impl Distinct {
    /// Values between one clearing up and the next, at least.
    const ROOM: usize = 1 << 20;

    fn new() -> Self {
        Self {
            values: Vec::new(),
            limit: Self::ROOM,
        }
    }

    #[inline]
    fn add(&mut self, value: u64) {
        if self.values.len() >= self.limit {
            self.clear_up();
            // Twice what is left: all clearing up together costs no more than the last one.
            self.limit = (2 * self.values.len()).max(Self::ROOM);
        }
        self.values.push(value);
    }

    fn clear_up(&mut self) {
        self.values.sort_unstable();
        self.values.dedup();
    }

    /// The distinct values, sorted.
    fn sorted(mut self) -> Vec<u64> {
        self.clear_up();
        self.values
    }
}

/// The distinct hashes of the word shingles, sorted.
fn shingles(data: &[u8]) -> Vec<u64> {
    let words = data
        .split(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.iter().fold(0, |hash, byte| {
                mix(hash, u64::from(byte.to_ascii_lowercase()))
            })
        });
    let join = |words: &[u64]| {
        words
            .iter()
            .fold(words.len() as u64, |hash, &word| mix(hash, word))
    };
    let mut shingles = Distinct::new();
    // The last words, the latest at the end.
    let mut last = [0; SHINGLE];
    let mut count = 0;
    for word in words {
        last.rotate_left(1);
        last[SHINGLE - 1] = word;
        count += 1;
        if count >= SHINGLE {
            shingles.add(join(&last));
        }
    }
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
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                (i, j, count) = (i + 1, j + 1, count + 1);
            }
        }
    }
    count
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
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
        assert_eq!(shingles(b"").len(), 0);
        assert_eq!(shingles(b" .-").len(), 0);
        assert_eq!(shingles(b"a b c d").len(), 1);
        assert_eq!(shingles(b"a b c d e").len(), 1);
        assert_eq!(shingles(b"a b c d e f").len(), 2);
        assert_eq!(resemblance_of_words(b"a b", b"a b c"), 0.0);
        assert_eq!(resemblance_of_words(b"", b""), 0.0);
    }

    #[test]
    fn the_example_of_the_paper() {
        // (a, rose, is, a, rose, is, a, rose): the four 5-shingles are three distinct ones.
        assert_eq!(shingles(b"a rose is a rose is a rose").len(), 3);
    }
}
