//! The scan with AVX-512: 64 windows at a time, in order and without strips.
//!
//! 1. *The table* is looked up in eight planes, one for each byte of its values: a plane's 256
//!    bytes are four registers, and two permutations and a blend look up 64 bytes in it; one is
//!    enough if all are ASCII. Unpacking the planes makes the 64-bit values.
//! 2. *The sums*: with P\[i\] the sum of T\[byte j\]·B^-j of all bytes up to i, the hash of the
//!    window that ends with i is (P\[i\] - P\[i-64\])·B^i. B is odd, so it has an inverse. Powers
//!    are counted anew with every few blocks ([`BLOCKS`]): a small table has all of them, and only
//!    the sums that go on to the next few are multiplied, by the power of so many bytes.
//! 3. *The lanes* are eight runs of eight bytes. A vector has the first bytes of all of them, the
//!    next the second ones, and so on: most of a sum is made without moving anything between lanes.
//!    Hashes are in this order too, and few are looked at ([`place`]).
//! 4. *The start* needs no case of its own: all of this is linear, so if everything before the
//!    first byte counts as nothing, every window that lies within the bytes comes out right.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_cmple_epu32_mask,
    _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_movepi8_mask, _mm512_mullo_epi32,
    _mm512_mullo_epi64, _mm512_permutex2var_epi8, _mm512_permutex2var_epi32,
    _mm512_permutexvar_epi8, _mm512_permutexvar_epi64, _mm512_rorv_epi32, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_epi64,
    _mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpacklo_epi8,
    _mm512_unpacklo_epi16, _mm512_unpacklo_epi32,
};

use std::ops::ControlFlow;

use super::table::{ENTERING, MULTIPLIER, power};
use super::{BLOCK, CARRY, Criteria};

/// Whether this processor has all that the kernels use.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vbmi")
}

/// Hands the windows of `bytes` (one or more) to `found` that meet the criteria, and perhaps a few
/// that do not, by number and hash, until that has enough of them; how many were looked at.
pub(super) fn find(
    bytes: &[u8],
    criteria: &Criteria,
    found: &mut impl FnMut(usize, u64) -> ControlFlow<()>,
) -> usize {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the function enables.
    unsafe { find_vbmi(bytes, criteria, found) }
}

/// Numbers that vectors are loaded from: such as straddle two cache lines take twice as long.
#[repr(align(64))]
struct Aligned<T>(T);

/// Byte k of all table entries, for each k.
static PLANES: Aligned<[[[u8; BLOCK]; 4]; 8]> = Aligned({
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
});

/// The byte of a block that goes to each place before the look-up, so that the unpacked values come
/// out run by run: unpacking takes pairs of neighbours from each of the four quarters.
static ORDER: Aligned<[u8; BLOCK]> = Aligned({
    let mut order = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        let (quarter, pair, one) = (at / 16, at % 16 / 2, at % 2);
        order[at] = place(8 * pair + 2 * quarter + one) as u8;
        at += 1;
    }
    order
});

/// Where the hash of each window of a block stands: rows and columns change places.
const fn place(window: usize) -> usize {
    window % 8 * 8 + window / 8
}

/// The bit of each window from where its hash stands to its number.
const fn in_order(bits: u64) -> u64 {
    // Rows and columns of 8 by 8 bits change places (Hacker's Delight, section 7-3).
    let swapped = (bits ^ bits >> 7) & 0x00aa_00aa_00aa_00aa;
    let bits = bits ^ swapped ^ swapped << 7;
    let swapped = (bits ^ bits >> 14) & 0x0000_cccc_0000_cccc;
    let bits = bits ^ swapped ^ swapped << 14;
    let swapped = (bits ^ bits >> 28) & 0x0000_0000_f0f0_f0f0;
    bits ^ swapped ^ swapped << 28
}

/// So many blocks go by the same powers.
const BLOCKS: usize = 8;

/// Powers for each byte of a few blocks, in the order of the lanes.
const fn powers(base: u64) -> [[[u64; 8]; 8]; BLOCKS] {
    let mut powers = [[[0; 8]; 8]; BLOCKS];
    let (mut power, mut at) = (1u64, 0);
    while at < BLOCKS * BLOCK {
        powers[at / BLOCK][at % 8][at % BLOCK / 8] = power;
        power = power.wrapping_mul(base);
        at += 1;
    }
    powers
}

/// The inverse of B modulo 2^64.
const INVERSE: u64 = {
    // Newton's iteration doubles the right bits; an odd number is its own inverse modulo 8.
    let (mut inverse, mut round) = (MULTIPLIER, 0);
    while round < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
};

static DIVIDING: Aligned<[[[u64; 8]; 8]; BLOCKS]> = Aligned(powers(INVERSE));
static MULTIPLYING: Aligned<[[[u64; 8]; 8]; BLOCKS]> = Aligned(powers(MULTIPLIER));

/// What one block leaves to the next.
struct BlockState {
    /// Which of the few blocks is next.
    number: usize,
    /// P at the bytes of the block.
    sums: [__m512i; 8],
    /// P at its last byte, in all lanes.
    last: __m512i,
}

impl BlockState {
    /// Of nothing but the bytes before the first window.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    fn after(before: &[u8], out: &mut [u64; BLOCK]) -> Self {
        let zero = _mm512_setzero_si512();
        let mut state = Self {
            number: 0,
            sums: [zero; 8],
            last: zero,
        };
        // One byte more than needed stands before them. It is in no window that is kept.
        let mut block = [0; BLOCK];
        block[BLOCK - CARRY..].copy_from_slice(before);
        step(&mut state, &block, out);
        state
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn find_vbmi(
    bytes: &[u8],
    criteria: &Criteria,
    found: &mut impl FnMut(usize, u64) -> ControlFlow<()>,
) -> usize {
    let (before, bytes) = bytes.split_at(CARRY);
    let test = HitTest::new(criteria);
    let mut hashes = Aligned([0; BLOCK]);
    let Aligned(hashes) = &mut hashes;
    let mut state = BlockState::after(before, hashes);
    let mut padded = [0; BLOCK];
    for first in (0..bytes.len()).step_by(BLOCK) {
        let rest = &bytes[first..];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        step(&mut state, block, hashes);
        let mut bits = test.hits(hashes);
        if bits == 0 {
            continue;
        }
        bits = in_order(bits) & u64::MAX >> BLOCK.saturating_sub(rest.len());
        while bits != 0 {
            let index = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if found(first + index, hashes[place(index)]).is_break() {
                return first + index + 1;
            }
        }
    }
    bytes.len()
}

/// The hashes of the 64 windows that end in `block`, each at its [`place`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn step(state: &mut BlockState, block: &[u8; BLOCK], out: &mut [u64; BLOCK]) {
    if state.number == BLOCKS {
        state.number = 0;
        let to_next = _mm512_set1_epi64(const { power((BLOCKS * BLOCK) as u32).cast_signed() });
        state.last = _mm512_mullo_epi64(state.last, to_next);
        for sum in &mut state.sums {
            *sum = _mm512_mullo_epi64(*sum, to_next);
        }
    }
    let (dividing, multiplying) = (&DIVIDING.0[state.number], &MULTIPLYING.0[state.number]);
    state.number += 1;
    // The sums within each run.
    let mut sums = look_up(block);
    let mut sum = _mm512_setzero_si512();
    for (value, powers) in sums.iter_mut().zip(dividing) {
        sum = _mm512_add_epi64(sum, _mm512_mullo_epi64(*value, load(powers)));
        *value = sum;
    }
    // Of whole runs with one, two, four runs before each.
    let zero = _mm512_setzero_si512();
    let two = _mm512_add_epi64(sum, _mm512_alignr_epi64::<7>(sum, zero));
    let four = _mm512_add_epi64(two, _mm512_alignr_epi64::<6>(two, zero));
    let all = _mm512_add_epi64(four, _mm512_alignr_epi64::<4>(four, zero));
    let before = _mm512_add_epi64(state.last, _mm512_alignr_epi64::<7>(all, zero));
    let of_block = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), all);
    state.last = _mm512_add_epi64(state.last, of_block);

    let (out, _) = out.as_chunks_mut::<8>();
    for k in 0..8 {
        let sum = _mm512_add_epi64(sums[k], before);
        let of_window = _mm512_sub_epi64(sum, state.sums[k]);
        state.sums[k] = sum;
        let hash = _mm512_mullo_epi64(of_window, load(&multiplying[k]));
        // SAFETY: the array has the size of a vector; the store needs no alignment.
        unsafe { _mm512_storeu_si512(out[k].as_mut_ptr().cast(), hash) };
    }
}

/// The table values of the bytes of a block, those of each run in a lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(block: &[u8; BLOCK]) -> [__m512i; 8] {
    let bytes = _mm512_permutexvar_epi8(load(&ORDER.0), load(block));
    // The permutation looks at the low seven bits; the eighth chooses between its results.
    let upper = _mm512_movepi8_mask(bytes);
    let ascii = |[a, b, ..]: &[[u8; BLOCK]; 4]| _mm512_permutex2var_epi8(load(a), bytes, load(b));
    let planes = if upper == 0 {
        PLANES.0.each_ref().map(ascii)
    } else {
        PLANES.0.each_ref().map(|plane| {
            let [.., c, d] = plane;
            let high = _mm512_permutex2var_epi8(load(c), bytes, load(d));
            _mm512_mask_blend_epi8(upper, ascii(plane), high)
        })
    };
    // Two bytes, four bytes, eight bytes of each value.
    let pair = |k: usize| {
        let (a, b) = (planes[k], planes[k + 1]);
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
static HIGH_HALVES: Aligned<[u32; 16]> =
    Aligned([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]);

/// [`Criteria`] in all lanes.
struct HitTest {
    inverse: __m512i,
    shift: __m512i,
    quotient_limit: __m512i,
    sample_limit: __m512i,
    high_halves: __m512i,
}

impl HitTest {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(criteria: &Criteria) -> Self {
        let broadcast = |n: u32| _mm512_set1_epi32(n.cast_signed());
        Self {
            inverse: broadcast(criteria.inverse_32()),
            shift: broadcast(criteria.shift),
            quotient_limit: broadcast(criteria.quotient_limit_32()),
            sample_limit: broadcast(criteria.sample_limit_32()),
            high_halves: load(&HIGH_HALVES.0),
        }
    }

    /// A bit for each of sixteen hashes that matches D', has H = 2^32-1, or may be a sample.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sixteen(&self, hashes: &[u64; 16]) -> u64 {
        let (halves, _) = hashes.as_chunks::<8>();
        let high = _mm512_permutex2var_epi32(load(&halves[0]), self.high_halves, load(&halves[1]));
        // (H+1)·x as H·x + x.
        let product = _mm512_mullo_epi32(high, self.inverse);
        let quotient = _mm512_rorv_epi32(_mm512_add_epi32(product, self.inverse), self.shift);
        let cut = _mm512_cmple_epu32_mask(quotient, self.quotient_limit);
        let sample = _mm512_cmple_epu32_mask(high, self.sample_limit);
        u64::from(cut | sample)
    }

    /// The same for all hashes of a block.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn hits(&self, block: &[u64; BLOCK]) -> u64 {
        let (sixteens, _) = block.as_chunks::<16>();
        (0..4).fold(0, |bits, k| bits | self.sixteen(&sixteens[k]) << (16 * k))
    }
}
