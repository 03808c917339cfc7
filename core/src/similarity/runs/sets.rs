//! Resemblance on whole sets: word shingles and byte windows.

use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::window::{Roll, windows};

/// Words in a shingle (Broder 1997 uses w = 10 on the web and defines it for any w).
const SHINGLE: usize = 5;

/// So many window hashes of a file are in memory at a time (8 bytes each).
const SLICE: usize = 16 << 20;

/// Shared / union of the sets of word-5-shingles. A word is `[A-Za-z0-9_]+` on the bytes, in ASCII
/// lower case; one to four words are one shingle, no word is none.
///
/// Shingles are compared by 64-bit hashes: among a million of them a false equality has a chance
/// of 10^-7, and then moves the figure by 10^-6.
pub(super) fn resemblance_of_words(a: &[u8], b: &[u8]) -> f64 {
    let (a, b) = (shingles(a), shingles(b));
    ratio(common(&a, &b), a.len(), b.len())
}

/// Shared / union of the sets of 64-byte windows, by 64-bit hashes as above. The sets of large
/// files are made and compared in slices of the space of hashes.
pub(super) fn resemblance_of_windows(a: &[u8], b: &[u8]) -> f64 {
    let slices = windows(a, LEAST_RUN)
        .max(windows(b, LEAST_RUN))
        .div_ceil(SLICE)
        .max(1) as u64;
    let (mut shared, mut of_a, mut of_b) = (0, 0, 0);
    for slice in 0..slices {
        let (a, b) = (
            window_hashes(a, slice, slices),
            window_hashes(b, slice, slices),
        );
        shared += common(&a, &b);
        of_a += a.len();
        of_b += b.len();
    }
    ratio(shared, of_a, of_b)
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

/// The distinct hashes of the windows that fall in one slice of several, sorted.
fn window_hashes(data: &[u8], slice: u64, slices: u64) -> Vec<u64> {
    let mut roll = Roll::new(data, LEAST_RUN);
    let mut hashes = Distinct::new();
    for at in 0..windows(data, LEAST_RUN) {
        roll.seek(at);
        let hash = roll.hash();
        if slices == 1 || hash % slices == slice {
            hashes.add(hash);
        }
    }
    hashes.sorted()
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

    #[test]
    fn slices_add_up() {
        let data: Vec<u8> = (0..5000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let whole = window_hashes(&data, 0, 1).len();
        let parts: usize = (0..3)
            .map(|slice| window_hashes(&data, slice, 3).len())
            .sum();
        assert_eq!(whole, parts);
    }
}
