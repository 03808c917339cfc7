//! MD5 with AVX2: eight lanes in a vector.
//!
//! 1. *The four functions* of RFC 1321 are written so that as few instructions as possible must
//!    wait for the newest word, x.
//! 2. *Two vectors* of lanes take turns, because each instruction of a step waits for the
//!    instruction before. Sixteen registers do not allow more vectors.
//! 3. *Words to lanes*: the half blocks of the eight lanes are eight rows of eight words. These
//!    rows are transposed to columns.
#![allow(unsafe_code)]
#![allow(clippy::many_single_char_names)] // those of RFC 1321

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_loadu_si256,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::Md5Digest;
use super::constants::{BLOCK, SINES, word};
use super::kernel::kernel;
use super::lanes::{self, LaneState};
use super::portable;

/// The number of lanes in a vector.
const WIDTH: usize = 8;

/// Returns whether this processor has all instructions of the kernel.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
}

pub(super) fn md5_many(messages: &[&[u8]], out: &mut Vec<Md5Digest>) {
    match messages.len() {
        // It is faster to hash this small number of messages one by one.
        0..=2 => portable::md5_many(messages, out),
        3..=8 => lanes::md5_many(messages, out, compress::<1, 8>),
        _ => lanes::md5_many(messages, out, compress::<2, 16>),
    }
}

// Numbers that identify the four functions of RFC 1321, section 3.4.
const F: u8 = 0;
const G: u8 = 1;
const H: u8 = 2;
const I: u8 = 3;

kernel!(
    "avx2",
    __m256i,
    zero = _mm256_setzero_si256,
    add = _mm256_add_epi32,
    load = _mm256_loadu_si256,
    store = _mm256_storeu_si256
);

/// a = b + ((a + FUNCTION(b, c, d) + word + sine) rotated), in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn step<const VECTORS: usize, const FUNCTION: u8, const LEFT: i32, const RIGHT: i32>(
    a: &mut Word<VECTORS>,
    b: Word<VECTORS>,
    c: Word<VECTORS>,
    d: Word<VECTORS>,
    m: &[Word<VECTORS>; 16],
    i: usize,
) {
    const { assert!(LEFT + RIGHT == 32) };
    let sine = _mm256_set1_epi32(SINES[i].cast_signed());
    for v in 0..VECTORS {
        let (x, y, z) = (b[v], c[v], d[v]);
        let sum = _mm256_add_epi32(_mm256_add_epi32(a[v], m[word(i)][v]), sine);
        let sum = match FUNCTION {
            F => {
                let f = _mm256_xor_si256(z, _mm256_and_si256(x, _mm256_xor_si256(y, z)));
                _mm256_add_epi32(sum, f)
            }
            G => {
                // The two halves of the function have no bit in common, so they can be added
                // separately. One half does not depend on x.
                let sum = _mm256_add_epi32(sum, _mm256_andnot_si256(z, y));
                _mm256_add_epi32(sum, _mm256_and_si256(x, z))
            }
            H => _mm256_add_epi32(sum, _mm256_xor_si256(x, _mm256_xor_si256(y, z))),
            _ => {
                let not_z = _mm256_xor_si256(z, _mm256_set1_epi32(-1));
                let i = _mm256_xor_si256(y, _mm256_or_si256(x, not_z));
                _mm256_add_epi32(sum, i)
            }
        };
        let turned = _mm256_or_si256(
            _mm256_slli_epi32::<LEFT>(sum),
            _mm256_srli_epi32::<RIGHT>(sum),
        );
        a[v] = _mm256_add_epi32(turned, x);
    }
}

/// Returns word k of half block number `piece` of each input, for each k.
///
/// # Safety
///
/// Each input must have more than `piece` half blocks.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn columns(inputs: &[&[u8]; WIDTH], piece: usize) -> [__m256i; WIDTH] {
    let mut rows = [_mm256_setzero_si256(); WIDTH];
    for (row, input) in rows.iter_mut().zip(inputs) {
        // SAFETY: the input has this half block, which has the size of a vector. The load needs no
        // alignment.
        *row = unsafe { _mm256_loadu_si256(input.as_ptr().add(piece * BLOCK / 2).cast()) };
    }
    // Transposes four by four within the halves of the vectors…
    let mut halves = [[_mm256_setzero_si256(); 4]; 2];
    for (halves, rows) in halves.iter_mut().zip(rows.as_chunks::<4>().0) {
        let low = _mm256_unpacklo_epi32(rows[0], rows[1]);
        let high = _mm256_unpackhi_epi32(rows[0], rows[1]);
        let low_2 = _mm256_unpacklo_epi32(rows[2], rows[3]);
        let high_2 = _mm256_unpackhi_epi32(rows[2], rows[3]);
        *halves = [
            _mm256_unpacklo_epi64(low, low_2),
            _mm256_unpackhi_epi64(low, low_2),
            _mm256_unpacklo_epi64(high, high_2),
            _mm256_unpackhi_epi64(high, high_2),
        ];
    }
    // …and then the halves.
    let mut columns = [_mm256_setzero_si256(); WIDTH];
    for k in 0..4 {
        let [a, b] = halves.map(|halves| halves[k]);
        columns[k] = _mm256_permute2x128_si256::<0x20>(a, b);
        columns[k + 4] = _mm256_permute2x128_si256::<0x31>(a, b);
    }
    columns
}
