//! `Mod_n`: fingerprints that n divides.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `Mod_n`", after Broder et al. 1997: "selects all fingerprinted
//! shingles whose value modulo n is zero".
//!
//! **Figures.** With S(D) the kept fingerprints of D: similarity |S(A) ∩ S(B)| / |S(A) ∪ S(B)|, containment |S(A) ∩ S(B)| /
//! |S(A)|. Whether a window is kept depends on the window alone, so both are unbiased (as ratios of random sums,
//! up to terms of 1/size) and the sample of a part is the part of the sample.
//!
//! **Cost.** Time: a rolling hash and a division a byte, whatever the window. Size: one fingerprint in n windows; grows with
//! the file.
//!
//! **Sees** parts in wholes, whatever the sizes, and many scattered edits. **Blind** below some ten times n bytes, where
//! a file may have no fingerprint at all; to what happens to repeats; to order.

use crate::signature::score::Overlap;

/// Whether a fingerprint is kept.
#[inline]
pub const fn keeps(value: u64, n: u64) -> bool {
    value.is_multiple_of(n)
}

/// The common fingerprints of two samples, each ascending and distinct. `BSW_n` is compared in the same way.
pub fn overlap(a: &[u64], b: &[u64]) -> Overlap {
    Overlap::of_sets(a, b)
}
