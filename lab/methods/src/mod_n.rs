//! The method `Mod_n`: keeps the fingerprints that n divides.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `Mod_n`", after Broder et al. 1997:
//! "selects all fingerprinted shingles whose value modulo n is zero".
//!
//! **Figures.** Let S(D) be the kept fingerprints of D. The similarity is |S(A) ∩ S(B)| / |S(A) ∪
//! S(B)|, and the containment is |S(A) ∩ S(B)| / |S(A)|. Whether a window is kept depends only on
//! the window itself. So both figures are unbiased (as ratios of random sums, up to terms of
//! 1/size). The sample of a part is a part of the sample of the whole.
//!
//! **Cost.** Each byte takes a rolling hash and a multiplication, whatever the window is. One of n
//! fingerprints is kept, so the size of a signature grows with the file.
//!
//! **Sees** parts in wholes of any size, and many scattered edits. **Is blind** to the number of
//! repeats and to order. It is also blind to files of fewer than about ten times n bytes, which may
//! have no fingerprint at all.

use crate::judged::Overlap;

/// Recognizes multiples of n without a division. A division would take as long as all other work
/// for a byte.
///
/// Let n = o · 2^s with an odd o. For a number x, compute x/o modulo 2^64 and rotate it right by s.
/// The number x is a multiple of n exactly when the result is at most ⌊(2^64-1)/n⌋ (Granlund &
/// Montgomery 1994, section 9).
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    inverse: u64,
    shift: u32,
    greatest: u64,
}

impl Divisor {
    /// Creates the divisor n. If n is 0, it is taken as 1.
    pub const fn new(n: u32) -> Self {
        let n = if n == 0 { 1 } else { n as u64 };
        let shift = n.trailing_zeros();
        let odd = n >> shift;
        // Each round of Newton's iteration doubles the number of correct bits. It starts with three
        // correct bits, because o is its own inverse modulo 8.
        let (mut inverse, mut round) = (odd, 0);
        while round < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
            round += 1;
        }
        Self {
            inverse,
            shift,
            greatest: u64::MAX / n,
        }
    }

    /// Returns whether n divides this value.
    #[inline]
    pub const fn divides(self, value: u64) -> bool {
        value.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.greatest
    }
}

/// Returns the overlap of two samples. The values of a sample must be distinct and in ascending
/// order. Samples of `BSW_n` are compared in the same way.
pub fn overlap(a: &[u64], b: &[u64]) -> Overlap {
    Overlap::of_sets(a, b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Divisor;

    proptest! {
        #[test]
        fn multiples_are_told(
            n in prop_oneof![1u32..300, any::<u32>()],
            factor in any::<u32>(),
            more in prop_oneof![Just(0u64), 0u64..9, any::<u64>()],
        ) {
            let value = (u64::from(n) * u64::from(factor)).wrapping_add(more);
            let divisor = Divisor::new(n);
            prop_assert_eq!(divisor.divides(value), value.is_multiple_of(u64::from(n.max(1))));
            prop_assert!(divisor.divides(0));
        }
    }
}
