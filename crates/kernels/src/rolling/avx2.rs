//! Tests the hashes with AVX2, eight at a time. The hashes themselves are made in plain Rust. AVX2
//! would not be faster: a 64-bit product takes eight AVX2 instructions, and a gather is as slow as
//! separate loads.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi64_si128, _mm256_add_epi32, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_min_epu32,
    _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256, _mm256_permute4x64_epi64,
    _mm256_set1_epi32, _mm256_shuffle_ps, _mm256_sll_epi32, _mm256_srl_epi32,
};

use super::{BLOCK, Criteria};

/// Returns whether this processor has all instructions of the kernel.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Sets a bit for each hash that meets the criteria, or has H = 2^32-1.
pub(super) fn matches(hashes: &[u64], count: usize, criteria: &Criteria, bits: &mut [u64]) {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the function enables.
    unsafe { matches_avx2(hashes, count, criteria, bits) }
}

#[target_feature(enable = "avx2")]
fn matches_avx2(hashes: &[u64], count: usize, criteria: &Criteria, bits: &mut [u64]) {
    let broadcast = |n: u32| _mm256_set1_epi32(n.cast_signed());
    let inverse = broadcast(criteria.inverse_32());
    let quotient_limit = broadcast(criteria.quotient_limit_32());
    let sample_limit = broadcast(criteria.sample_limit_32());
    let right = amount(criteria.shift);
    let left = amount(32 - criteria.shift);
    let at_most = |n: __m256i, limit| _mm256_cmpeq_epi32(_mm256_min_epu32(n, limit), n);
    let eight = |hashes: &[u64; 8]| {
        let (halves, _) = hashes.as_chunks::<4>();
        let [low, high] = [0, 1].map(|k| _mm256_castsi256_ps(load(&halves[k])));
        // Takes the high halves. The shuffle takes pairs from the two vectors in turn, and the
        // permutation puts the pairs in order.
        let high = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
        let high = _mm256_permute4x64_epi64::<0b11_01_10_00>(high);
        // Computes (H+1)·x as H·x + x.
        let product = _mm256_add_epi32(_mm256_mullo_epi32(high, inverse), inverse);
        // A shift by all 32 bits gives zero. Zero is right for an odd divisor, which needs no
        // rotation.
        let quotient = _mm256_or_si256(
            _mm256_srl_epi32(product, right),
            _mm256_sll_epi32(product, left),
        );
        let cut = at_most(quotient, quotient_limit);
        let sample = at_most(high, sample_limit);
        let hits = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(cut, sample)));
        u64::from(hits.cast_unsigned())
    };
    let (blocks, _) = hashes.as_chunks::<BLOCK>();
    for (block, bits) in blocks.iter().zip(&mut bits[..count.div_ceil(BLOCK)]) {
        let (eights, _) = block.as_chunks::<8>();
        *bits = (0..8).fold(0, |bits, k| bits | eight(&eights[k]) << (8 * k));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn amount(shift: u32) -> __m128i {
    _mm_cvtsi64_si128(i64::from(shift))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(array: &[u64; 4]) -> __m256i {
    // SAFETY: the array has the size of a vector; the load needs no alignment.
    unsafe { _mm256_loadu_si256(array.as_ptr().cast()) }
}
