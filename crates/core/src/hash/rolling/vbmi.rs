//! The scan with AVX-512: 64 windows at a time, in order and without strips.
//!
//! 1. *The table* is looked up in eight planes, one for each byte of its values: a plane's 256
//!    bytes are four registers, and two permutations and a blend look up 64 bytes in it. Unpacking
//!    the planes makes the 64-bit values.
//! 2. *The sums*: with `S_n`\[i\] the hash of the n bytes up to i, `S_2n`\[i\] is `S_n`\[i\] +
//!    `S_n`\[i-n\]·B^n; three such steps make `S_8`. From there the recurrence goes by whole
//!    vectors: h\[i\] = h\[i-8\]·B^8 + `S_8`\[i\] - `S_8`\[i-64\]·B^64.
//! 3. *The start* needs no case of its own: all of this is linear, so if everything before the
//!    first byte counts as nothing, every window that lies within the bytes comes out right.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_cmple_epu32_mask,
    _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_movepi8_mask, _mm512_mullo_epi32,
    _mm512_mullo_epi64, _mm512_permutex2var_epi8, _mm512_permutex2var_epi32,
    _mm512_permutexvar_epi8, _mm512_rorv_epi32, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_unpackhi_epi8,
    _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpacklo_epi8, _mm512_unpacklo_epi16,
    _mm512_unpacklo_epi32,
};

use std::ops::ControlFlow;

use super::table::{ENTERING, power};
use super::{BLOCK, CARRY, Criteria, Divisor};

/// Whether this processor has all that the kernels use.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vbmi")
}

/// All window hashes of `bytes`, 63 fewer than bytes. What follows them in `hashes` is overwritten.
pub(super) fn hashes(bytes: &[u8], hashes: &mut [u64]) {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the function enables.
    unsafe { hashes_vbmi(bytes, hashes) }
}

/// A bit for each of the hashes that meets the criteria, or has H = 2^32-1.
pub(super) fn matches(hashes: &[u64], count: usize, criteria: &Criteria, bits: &mut [u64]) {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the function enables.
    unsafe { matches_avx512(hashes, count, criteria, bits) }
}

/// [`super::Matcher::find`], of one window or more.
pub(super) fn find(
    bytes: &[u8],
    criteria: &Criteria,
    found: &mut impl FnMut(usize, Divisor) -> ControlFlow<()>,
) -> usize {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the function enables.
    unsafe { find_vbmi(bytes, criteria, found) }
}

/// Byte k of all table entries, for each k.
static PLANES: [[[u8; BLOCK]; 4]; 8] = {
    let mut planes = [[[0; BLOCK]; 4]; 8];
    let mut byte = 0;
    while byte < 256 {
        let entry = ENTERING[byte].to_le_bytes();
        let mut k = 0;
        while k < 8 {
            planes[k][byte / BLOCK][byte % BLOCK] = entry[k];
            k += 1;
        }
        byte += 1;
    }
    planes
};

/// Where each byte of a block goes before the look-up, so that the unpacked values come out in
/// order: unpacking takes pairs of neighbours from each of the four quarters.
static ORDER: [u8; BLOCK] = {
    let mut order = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        let (quarter, pair, one) = (at / 16, at % 16 / 2, at % 2);
        order[at] = (8 * pair + 2 * quarter + one) as u8;
        at += 1;
    }
    order
};

/// What one block leaves to the next.
struct BlockState {
    /// The last vector of table values, of `S_2` and of `S_4`.
    values: __m512i,
    sums2: __m512i,
    sums4: __m512i,
    /// `S_8` of the whole block.
    sums8: [__m512i; 8],
    /// The last eight hashes.
    hash: __m512i,
}

impl BlockState {
    /// Of nothing but the bytes before the first window.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    fn after(before: &[u8], out: &mut [u64; BLOCK]) -> Self {
        let zero = _mm512_setzero_si512();
        let mut state = Self {
            values: zero,
            sums2: zero,
            sums4: zero,
            sums8: [zero; 8],
            hash: zero,
        };
        // One byte more than needed stands before them. It is in no window that is kept.
        let mut block = [0; BLOCK];
        block[BLOCK - CARRY..].copy_from_slice(before);
        step(&mut state, &block, out);
        state
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn hashes_vbmi(bytes: &[u8], hashes: &mut [u64]) {
    let (before, bytes) = bytes.split_at(CARRY);
    let (out, _) = hashes.as_chunks_mut();
    let mut state = BlockState::after(before, &mut out[0]);
    let (blocks, rest) = bytes.as_chunks();
    for (block, out) in blocks.iter().zip(&mut *out) {
        step(&mut state, block, out);
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        step(&mut state, &block, &mut out[blocks.len()]);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn find_vbmi(
    bytes: &[u8],
    criteria: &Criteria,
    found: &mut impl FnMut(usize, Divisor) -> ControlFlow<()>,
) -> usize {
    let (before, bytes) = bytes.split_at(CARRY);
    let test = CutTest::new(criteria);
    let mut hashes = [0; BLOCK];
    let mut state = BlockState::after(before, &mut hashes);
    let mut padded = [0; BLOCK];
    for first in (0..bytes.len()).step_by(BLOCK) {
        let rest = &bytes[first..];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        step(&mut state, block, &mut hashes);
        let mut bits = test.cuts(&hashes) & u64::MAX >> BLOCK.saturating_sub(rest.len());
        while bits != 0 {
            let index = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if let Some(divisor) = criteria.divisor(hashes[index])
                && found(first + index, divisor).is_break()
            {
                return first + index + 1;
            }
        }
    }
    bytes.len()
}

/// The hashes of the 64 windows that end in `block`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn step(state: &mut BlockState, block: &[u8; BLOCK], out: &mut [u64; BLOCK]) {
    let times =
        |vector, factor: u64| _mm512_mullo_epi64(vector, _mm512_set1_epi64(factor.cast_signed()));
    let values = look_up(block);
    let (out, _) = out.as_chunks_mut::<8>();
    for (k, out) in out.iter_mut().enumerate() {
        let before = _mm512_alignr_epi64::<7>(values[k], state.values);
        let sums2 = _mm512_add_epi64(values[k], times(before, const { power(1) }));
        state.values = values[k];

        let before = _mm512_alignr_epi64::<6>(sums2, state.sums2);
        let sums4 = _mm512_add_epi64(sums2, times(before, const { power(2) }));
        state.sums2 = sums2;

        let before = _mm512_alignr_epi64::<4>(sums4, state.sums4);
        let sums8 = _mm512_add_epi64(sums4, times(before, const { power(4) }));
        state.sums4 = sums4;

        let leaving = times(state.sums8[k], const { power(64) });
        let change = _mm512_sub_epi64(sums8, leaving);
        state.sums8[k] = sums8;
        state.hash = _mm512_add_epi64(times(state.hash, const { power(8) }), change);
        // SAFETY: the array has the size of a vector; the store needs no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), state.hash) };
    }
}

/// The table values of the bytes of a block, in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(block: &[u8; BLOCK]) -> [__m512i; 8] {
    let bytes = _mm512_permutexvar_epi8(load(&ORDER), load(block));
    // The permutation looks at the low seven bits; the eighth chooses between its results.
    let upper = _mm512_movepi8_mask(bytes);
    let plane = |k: usize| {
        let [a, b, c, d] = &PLANES[k];
        let low = _mm512_permutex2var_epi8(load(a), bytes, load(b));
        let high = _mm512_permutex2var_epi8(load(c), bytes, load(d));
        _mm512_mask_blend_epi8(upper, low, high)
    };
    // Two bytes, four bytes, eight bytes of each value.
    let pair = |k: usize| {
        let (a, b) = (plane(k), plane(k + 1));
        [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)]
    };
    let four = |k: usize| {
        let ([a0, a1], [b0, b1]) = (pair(k), pair(k + 2));
        [
            _mm512_unpacklo_epi16(a0, b0),
            _mm512_unpackhi_epi16(a0, b0),
            _mm512_unpacklo_epi16(a1, b1),
            _mm512_unpackhi_epi16(a1, b1),
        ]
    };
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (four(0), four(4));
    [
        _mm512_unpacklo_epi32(a0, b0),
        _mm512_unpackhi_epi32(a0, b0),
        _mm512_unpacklo_epi32(a1, b1),
        _mm512_unpackhi_epi32(a1, b1),
        _mm512_unpacklo_epi32(a2, b2),
        _mm512_unpackhi_epi32(a2, b2),
        _mm512_unpacklo_epi32(a3, b3),
        _mm512_unpackhi_epi32(a3, b3),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<const N: usize, T>(array: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == size_of::<__m512i>()) };
    // SAFETY: the array has the size of a vector; the load needs no alignment.
    unsafe { _mm512_loadu_si512(array.as_ptr().cast()) }
}

/// The high halves of sixteen 64-bit values.
static HIGH_HALVES: [u32; 16] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];

/// [`Criteria`] in all lanes.
struct CutTest {
    inverse: __m512i,
    shift: __m512i,
    quotient_limit: __m512i,
    sample_limit: __m512i,
    high_halves: __m512i,
}

impl CutTest {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(criteria: &Criteria) -> Self {
        let broadcast = |n: u32| _mm512_set1_epi32(n.cast_signed());
        Self {
            inverse: broadcast(criteria.inverse_32()),
            shift: broadcast(criteria.shift),
            quotient_limit: broadcast(criteria.quotient_limit_32()),
            sample_limit: broadcast(criteria.sample_limit_32()),
            high_halves: load(&HIGH_HALVES),
        }
    }

    /// Which of sixteen hashes match D' or have H = 2^32-1, and which have an H of a sample.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sixteen(&self, hashes: &[u64; 16]) -> [u64; 2] {
        let (halves, _) = hashes.as_chunks::<8>();
        let high = _mm512_permutex2var_epi32(load(&halves[0]), self.high_halves, load(&halves[1]));
        // (H+1)·x as H·x + x.
        let product = _mm512_mullo_epi32(high, self.inverse);
        let quotient = _mm512_rorv_epi32(_mm512_add_epi32(product, self.inverse), self.shift);
        [
            u64::from(_mm512_cmple_epu32_mask(quotient, self.quotient_limit)),
            u64::from(_mm512_cmple_epu32_mask(high, self.sample_limit)),
        ]
    }

    /// A bit for each hash of a block that matches D', or has H = 2^32-1.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn cuts(&self, block: &[u64; BLOCK]) -> u64 {
        let (sixteens, _) = block.as_chunks::<16>();
        (0..4).fold(0, |bits, k| {
            bits | self.sixteen(&sixteens[k])[0] << (16 * k)
        })
    }

    /// A bit for each hash of a block that matches D', has H = 2^32-1, or may be a sample.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn hits(&self, block: &[u64; BLOCK]) -> u64 {
        let (sixteens, _) = block.as_chunks::<16>();
        (0..4).fold(0, |bits, k| {
            let [cut, sample] = self.sixteen(&sixteens[k]);
            bits | (cut | sample) << (16 * k)
        })
    }
}

#[target_feature(enable = "avx512f")]
fn matches_avx512(hashes: &[u64], count: usize, criteria: &Criteria, bits: &mut [u64]) {
    let test = CutTest::new(criteria);
    let (blocks, _) = hashes.as_chunks::<BLOCK>();
    for (block, bits) in blocks.iter().zip(&mut bits[..count.div_ceil(BLOCK)]) {
        *bits = test.hits(block);
    }
}
