//! Eight lanes a vector with AVX2.
//!
//! 1. *The four functions* of RFC 1321 in the forms with the fewest instructions after the newest
//!    word, x, is there.
//! 2. *Two vectors* of lanes take turns, while the sixteen registers last: a step is a chain of
//!    instructions of which each waits for the one before.
//! 3. *Words to lanes*: the eight lanes' half blocks are eight rows of eight words, wanted as
//!    columns.
#![allow(unsafe_code)]
#![allow(clippy::many_single_char_names)] // those of RFC 1321

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_loadu_si256,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use crate::ids::ChunkHash;

use super::constants::{BLOCK, SINES, word};
use super::lanes::{self, LaneState};
use super::portable;

/// Lanes a vector.
const WIDTH: usize = 8;

/// Whether this processor has all that the kernel uses.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
}

pub(super) fn md5_many(messages: &[&[u8]], out: &mut Vec<ChunkHash>) {
    match messages.len() {
        // Fewer are faster one by one.
        0..=2 => portable::md5_many(messages, out),
        3..=8 => lanes::md5_many(messages, out, compress::<1, 8>),
        _ => lanes::md5_many(messages, out, compress::<2, 16>),
    }
}

/// Takes all lanes `blocks` blocks further.
fn compress<const VECTORS: usize, const LANES: usize>(
    state: &mut LaneState<LANES>,
    inputs: &[&[u8]; LANES],
    blocks: usize,
) {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the function enables.
    unsafe { compress_avx2::<VECTORS, LANES>(state, inputs, blocks) }
}

// The functions of RFC 1321, section 3.4.
const F: u8 = 0;
const G: u8 = 1;
const H: u8 = 2;
const I: u8 = 3;

/// A word of the state, or of the blocks, of all lanes.
type WordOfAvx2<const VECTORS: usize> = [__m256i; VECTORS];

#[target_feature(enable = "avx2")]
fn compress_avx2<const VECTORS: usize, const LANES: usize>(
    state: &mut LaneState<LANES>,
    inputs: &[&[u8]; LANES],
    blocks: usize,
) {
    const { assert!(LANES == VECTORS * WIDTH) };
    assert!(
        inputs.iter().all(|input| input.len() / BLOCK >= blocks),
        "enough blocks"
    );
    let [mut a, mut b, mut c, mut d] = [0, 1, 2, 3].map(|i| load_word::<VECTORS>(&state[i]));
    for block in 0..blocks {
        let mut m = [[_mm256_setzero_si256(); VECTORS]; 16];
        for (v, inputs) in inputs
            .as_chunks::<WIDTH>()
            .0
            .iter()
            .enumerate()
            .take(VECTORS)
        {
            for half in 0..2 {
                // SAFETY: each input has more than `block` blocks.
                let columns = unsafe { columns(inputs, 2 * block + half) };
                for (word, column) in m[8 * half..].iter_mut().zip(columns) {
                    word[v] = column;
                }
            }
        }
        let before = (a, b, c, d);
        for i in (0..16).step_by(4) {
            step::<VECTORS, F, 7, 25>(&mut a, b, c, d, &m, i);
            step::<VECTORS, F, 12, 20>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, F, 17, 15>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, F, 22, 10>(&mut b, c, d, a, &m, i + 3);
        }
        for i in (16..32).step_by(4) {
            step::<VECTORS, G, 5, 27>(&mut a, b, c, d, &m, i);
            step::<VECTORS, G, 9, 23>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, G, 14, 18>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, G, 20, 12>(&mut b, c, d, a, &m, i + 3);
        }
        for i in (32..48).step_by(4) {
            step::<VECTORS, H, 4, 28>(&mut a, b, c, d, &m, i);
            step::<VECTORS, H, 11, 21>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, H, 16, 16>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, H, 23, 9>(&mut b, c, d, a, &m, i + 3);
        }
        for i in (48..64).step_by(4) {
            step::<VECTORS, I, 6, 26>(&mut a, b, c, d, &m, i);
            step::<VECTORS, I, 10, 22>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, I, 15, 17>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, I, 21, 11>(&mut b, c, d, a, &m, i + 3);
        }
        add(&mut a, before.0);
        add(&mut b, before.1);
        add(&mut c, before.2);
        add(&mut d, before.3);
    }
    for (of_lanes, word) in state.iter_mut().zip([a, b, c, d]) {
        for (lanes, vector) in of_lanes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(word) {
            // SAFETY: the array has the size of a vector; the store needs no alignment.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector) };
        }
    }
}

/// a = b + ((a + FUNCTION(b, c, d) + word + sine) rotated), in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn step<const VECTORS: usize, const FUNCTION: u8, const LEFT: i32, const RIGHT: i32>(
    a: &mut WordOfAvx2<VECTORS>,
    b: WordOfAvx2<VECTORS>,
    c: WordOfAvx2<VECTORS>,
    d: WordOfAvx2<VECTORS>,
    m: &[WordOfAvx2<VECTORS>; 16],
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
                // No bit is in both, so the halves can be added apart; one does not need x.
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

#[inline]
#[target_feature(enable = "avx2")]
fn add<const VECTORS: usize>(a: &mut WordOfAvx2<VECTORS>, b: WordOfAvx2<VECTORS>) {
    for v in 0..VECTORS {
        a[v] = _mm256_add_epi32(a[v], b[v]);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_word<const VECTORS: usize>(lanes: &[u32]) -> WordOfAvx2<VECTORS> {
    let mut word = [_mm256_setzero_si256(); VECTORS];
    for (vector, lanes) in word.iter_mut().zip(lanes.as_chunks::<WIDTH>().0) {
        // SAFETY: the array has the size of a vector; the load needs no alignment.
        *vector = unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) };
    }
    word
}

/// Word k of half block number `half` of each input, for each k.
///
/// # Safety
///
/// Each input must have more than `half` half blocks.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn columns(inputs: &[&[u8]; WIDTH], half: usize) -> [__m256i; WIDTH] {
    let mut rows = [_mm256_setzero_si256(); WIDTH];
    for (row, input) in rows.iter_mut().zip(inputs) {
        // SAFETY: the input has that half block, which has the size of a vector; the load needs no
        // alignment.
        *row = unsafe { _mm256_loadu_si256(input.as_ptr().add(half * BLOCK / 2).cast()) };
    }
    // Four by four within the halves of the vectors…
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
