//! Computes Broder's values of shingles: 40-bit Rabin fingerprints of runs of words, which are then
//! permuted.
//!
//! **Paper.** Broder, Glassman, Manasse & Zweig 1997, "Estimating the resemblance and the
//! containment": "a 40 bit fingerprint function, based on Rabin fingerprints, enhanced to behave as
//! a random permutation".
//!
//! ```text
//! word  ─► 40 bits (of its 64-bit hash); core/words says what a word is
//! run   ─► (1 word1 … wordw) mod P; P irreducible, of degree 40, drawn at random (Rabin 1981)
//! value ─► π(run); three rounds of x ↦ (x + k)·o, x ^= x >> 20, a bijection of 40 bits
//! ```
//!
//! 1. **Coefficients are words, not letters.** A run of w words is a polynomial whose coefficients
//!    are the hashes of the words. A step by one word takes ten look-ups, whatever w is. The
//!    letters of a word are read once and not w times.
//! 2. **A leading 1** (Broder 1993). Without it, a run whose words all hash to zero would have the
//!    value 0.
//! 3. **Why a permutation.** A Rabin value is linear: runs that differ in one place have values
//!    that differ by a constant. Rules such as "the smallest values" or "multiples of 25" would
//!    favour some of these runs. Each round adds a constant, multiplies by an odd number and folds
//!    the high half into the low half. Each of these steps can be undone in 40 bits, so two
//!    different values never become equal.
//! 4. **A seed** ([`crate::shingle::Seed`]) determines the constants of the rounds. Without knowing
//!    the constants, nobody can find the kept shingles, or change only these shingles. The paper
//!    says about its own sketches: "the security of our approach is rather limited, since we have a
//!    single, static sketching policy" (section "Intellectual property and plagiarism").

/// The number of bits of a shingle value.
pub const BITS: u32 = 40;

/// A mask of all bits of a shingle value.
const MASK: u64 = (1 << BITS) - 1;

/// P without its leading term. It was drawn at random and tested to be irreducible.
pub const POLYNOMIAL: u64 = 0x7c_ece5_72d9;

/// Returns `value` · x mod P.
const fn times_x(value: u64) -> u64 {
    let doubled = value << 1;
    (doubled & MASK) ^ if doubled >> BITS == 1 { POLYNOMIAL } else { 0 }
}

/// The products of a 40-bit value with a fixed power of x, for each value of each of its five
/// bytes.
type Tables = [[u64; 256]; 5];

/// Returns the tables for multiplication by x^`power`.
const fn tables(power: u32) -> Tables {
    let mut tables = [[0; 256]; 5];
    let mut bit = 0;
    while bit < BITS {
        let mut value = 1u64 << bit;
        let mut step = 0;
        while step < power {
            value = times_x(value);
            step += 1;
        }
        let table = (bit / 8) as usize;
        let low = 1usize << (bit % 8);
        // If this bit is the highest bit of a number, the product of the number is a sum of
        // products that are already in the table.
        let mut byte = 0;
        while byte < low {
            tables[table][low + byte] = value ^ tables[table][byte];
            byte += 1;
        }
        bit += 1;
    }
    tables
}

/// The tables that multiply by x^40, which is a step of one word.
static ONE_ON: Tables = tables(BITS);

#[inline]
fn times(tables: &Tables, value: u64) -> u64 {
    let bytes = value.to_le_bytes();
    tables[0][usize::from(bytes[0])]
        ^ tables[1][usize::from(bytes[1])]
        ^ tables[2][usize::from(bytes[2])]
        ^ tables[3][usize::from(bytes[3])]
        ^ tables[4][usize::from(bytes[4])]
}

/// The constants of the three rounds. Each round has a number to add and an odd number to multiply
/// by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation([(u64, u64); 3]);

impl Default for Permutation {
    /// The fixed permutation, with constants that were drawn at random.
    fn default() -> Self {
        Self::new([
            0xc2_029a_3a1d,
            0xf5_f8be_1a3b,
            0xea_d85d_25c7,
            0x1f_ca9e_ba05,
            0xd5_87f0_2403,
            0x5a_b6c2_1421,
        ])
    }
}

impl Permutation {
    /// Creates a permutation from six numbers. Their low 40 bits are used, and every second number
    /// is made odd.
    pub const fn new(numbers: [u64; 6]) -> Self {
        let n = numbers;
        Self([
            (n[0] & MASK, n[1] & MASK | 1),
            (n[2] & MASK, n[3] & MASK | 1),
            (n[4] & MASK, n[5] & MASK | 1),
        ])
    }

    /// Returns the image of a value of 40 bits.
    #[inline]
    pub const fn apply(&self, value: u64) -> u64 {
        let [first, second, third] = self.0;
        round(round(round(value, first), second), third)
    }
}

#[inline]
const fn round(value: u64, (add, multiply): (u64, u64)) -> u64 {
    let value = value.wrapping_add(add).wrapping_mul(multiply) & MASK;
    value ^ value >> (BITS / 2)
}

/// Computes the values of runs of w words. The words are passed one after another.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The tables for multiplication by x^(40·w), which remove the word that leaves the run.
    leaving: Box<Tables>,
    /// The leading 1, multiplied by x^(40·w).
    leading: u64,
    permutation: Permutation,
    ring: Vec<u64>,
    at: usize,
    missing: usize,
    value: u64,
}

impl Runs {
    /// Begins the first text. A run has `words` words.
    ///
    /// # Panics
    ///
    /// Panics if `words` is 0.
    pub fn new(words: usize, permutation: Permutation) -> Self {
        assert!(words > 0, "a shingle has a word");
        let leaving = Box::new(tables(BITS * words as u32));
        Self {
            leading: leaving[0][1],
            leaving,
            permutation,
            ring: vec![0; words],
            at: 0,
            missing: words,
            value: 0,
        }
    }

    /// Adds the hash of the next word. Returns the value of the run that ends with this word.
    /// Returns `None` until the first run is complete.
    #[inline]
    pub fn push(&mut self, word: u64) -> Option<u64> {
        let word = word >> (64 - BITS);
        let gone = std::mem::replace(&mut self.ring[self.at], word);
        self.at += 1;
        if self.at == self.ring.len() {
            self.at = 0;
        }
        self.value = times(&ONE_ON, self.value) ^ word ^ times(&self.leaving, gone);
        self.missing = self.missing.saturating_sub(1);
        (self.missing == 0).then(|| self.permutation.apply(self.value ^ self.leading))
    }

    /// Begins another text.
    pub fn reset(&mut self) {
        self.ring.fill(0);
        (self.at, self.missing, self.value) = (0, self.ring.len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Computes the value of a run by long division.
    fn by_division(words: &[u64]) -> u64 {
        let modulus = 1u64 << BITS | POLYNOMIAL;
        let bits = words
            .iter()
            .flat_map(|word| (0..BITS).rev().map(move |bit| word >> (24 + bit) & 1));
        std::iter::once(1).chain(bits).fold(0, |rest, bit| {
            let rest = rest << 1 | bit;
            if rest >> BITS == 1 {
                rest ^ modulus
            } else {
                rest
            }
        })
    }

    /// Returns the odd number o' with o·o' = 1 modulo 2^40.
    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |inverse, _| {
            inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)))
        }) & MASK
    }

    fn undo(permutation: Permutation, value: u64) -> u64 {
        permutation
            .0
            .iter()
            .rev()
            .fold(value, |value, &(add, odd)| {
                let value = value ^ value >> 20;
                value.wrapping_mul(inverse(odd)).wrapping_sub(add) & MASK
            })
    }

    proptest! {
        #[test]
        fn rolling_is_long_division(
            words in prop::collection::vec(prop_oneof![any::<u64>(), Just(0)], 0..60),
            width in 1usize..20,
        ) {
            let permutation = Permutation::default();
            let mut runs = Runs::new(width, permutation);
            for _twice in 0..2 {
                let all: Vec<u64> = words.iter().filter_map(|&word| runs.push(word)).collect();
                let naive: Vec<u64> = words
                    .windows(width)
                    .map(|run| permutation.apply(by_division(run)))
                    .collect();
                prop_assert_eq!(all, naive);
                runs.reset();
            }
        }

        /// The permutation is a bijection for any seed, because it has an inverse.
        #[test]
        fn the_permutation_is_a_bijection_of_40_bits(
            numbers in any::<[u64; 6]>(),
            value in 0u64..1 << BITS,
        ) {
            for permutation in [Permutation::default(), Permutation::new(numbers)] {
                let there = permutation.apply(value);
                prop_assert!(there < 1 << BITS);
                prop_assert_eq!(undo(permutation, there), value);
            }
        }
    }

    /// Values that differ in only one or two bits are spread over all residues and sizes.
    #[test]
    fn neighbours_are_sampled_as_strangers_are() {
        let permutation = Permutation::default();
        let kept = |m: u64, step: u64| {
            let all = (0..1u64 << 16).map(|i| permutation.apply(i.wrapping_mul(step) & MASK));
            all.filter(|value| value.is_multiple_of(m)).count()
        };
        // The number of kept values must be within 4 standard deviations of the expected number,
        // such as 65,536 / 25.
        for step in [1, 25, 32, 1 << 8, 1 << 20, 1 << 24] {
            for (m, mean) in [(25, 2621.4), (32, 2048.0)] {
                let off = kept(m, step) as f64 - mean;
                assert!(off.abs() < 4.0 * f64::sqrt(mean), "{step} {m}: {off}");
            }
        }
    }

    fn product(a: u64, b: u64) -> u64 {
        (0..BITS).rev().fold(0, |all, bit| {
            times_x(all) ^ if b >> bit & 1 == 1 { a } else { 0 }
        })
    }

    /// Performs Rabin's test: x^(2^40) = x, and neither x^(2^20) - x nor x^(2^8) - x has a common
    /// factor with P.
    #[test]
    fn the_polynomial_is_irreducible() {
        let (mut power, mut at) = (2u64, Vec::new());
        for i in 1..=BITS {
            power = product(power, power);
            if i == 8 || i == 20 {
                at.push(power);
            }
        }
        assert_eq!(power, 2);
        for power in at {
            let (mut a, mut b) = (1u64 << BITS | POLYNOMIAL, power ^ 2);
            while b != 0 {
                while a != 0 && a.leading_zeros() <= b.leading_zeros() {
                    a ^= b << (b.leading_zeros() - a.leading_zeros());
                }
                std::mem::swap(&mut a, &mut b);
            }
            assert_eq!(a, 1);
        }
    }

    #[test]
    fn short_runs_never_collide() {
        let all: HashSet<u64> = (0..1u64 << 16).map(|i| by_division(&[i << 24])).collect();
        assert_eq!(all.len(), 1 << 16);
        assert_ne!(by_division(&[0; 10]), 0);
    }
}
