//! Sixteen lanes a vector with AVX-512.
//!
//! 1. *The four functions* of RFC 1321 are one instruction each: any function of three bits is
//!    `vpternlog` with the truth table as its operand. So is the rotation.
//! 2. *Several vectors* of lanes take turns: a step is four instructions of which each waits for
//!    the one before, and the processor can start several at a time.
//! 3. *Words to lanes*: the sixteen lanes' blocks are sixteen rows of sixteen words, wanted as
//!    columns.
#![allow(unsafe_code)]
#![allow(clippy::many_single_char_names)] // those of RFC 1321

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_loadu_si512, _mm512_rol_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_si512, _mm512_ternarylogic_epi32,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use crate::ids::ChunkHash;

use super::constants::{BLOCK, SINES, word};
use super::lanes::{self, LaneState};
use super::portable;

/// Lanes a vector.
const WIDTH: usize = 16;

/// Whether this processor has all that the kernel uses.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
}

pub(super) fn md5_many(messages: &[&[u8]], out: &mut Vec<ChunkHash>) {
    match messages.len() {
        // Fewer are faster one by one.
        0..=3 => portable::md5_many(messages, out),
        4..=16 => lanes::md5_many(messages, out, compress::<1, 16>),
        17..=32 => lanes::md5_many(messages, out, compress::<2, 32>),
        _ => lanes::md5_many(messages, out, compress::<3, 48>),
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
    unsafe { compress_avx512::<VECTORS, LANES>(state, inputs, blocks) }
}

// Truth tables of the functions F, G, H, I: bit 4x+2y+z is the value at (x, y, z).
const F: i32 = 0xca;
const G: i32 = 0xe4;
const H: i32 = 0x96;
const I: i32 = 0x39;

/// A word of the state, or of the blocks, of all lanes.
type WordOfAvx512<const VECTORS: usize> = [__m512i; VECTORS];

#[target_feature(enable = "avx512f")]
fn compress_avx512<const VECTORS: usize, const LANES: usize>(
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
        let mut m = [[_mm512_setzero_si512(); VECTORS]; 16];
        for (v, inputs) in inputs
            .as_chunks::<WIDTH>()
            .0
            .iter()
            .enumerate()
            .take(VECTORS)
        {
            // SAFETY: each input has more than `block` blocks.
            let columns = unsafe { columns(inputs, block) };
            for (word, column) in m.iter_mut().zip(columns) {
                word[v] = column;
            }
        }
        let before = (a, b, c, d);
        for i in (0..16).step_by(4) {
            step::<VECTORS, F, 7>(&mut a, b, c, d, &m, i);
            step::<VECTORS, F, 12>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, F, 17>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, F, 22>(&mut b, c, d, a, &m, i + 3);
        }
        for i in (16..32).step_by(4) {
            step::<VECTORS, G, 5>(&mut a, b, c, d, &m, i);
            step::<VECTORS, G, 9>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, G, 14>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, G, 20>(&mut b, c, d, a, &m, i + 3);
        }
        for i in (32..48).step_by(4) {
            step::<VECTORS, H, 4>(&mut a, b, c, d, &m, i);
            step::<VECTORS, H, 11>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, H, 16>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, H, 23>(&mut b, c, d, a, &m, i + 3);
        }
        for i in (48..64).step_by(4) {
            step::<VECTORS, I, 6>(&mut a, b, c, d, &m, i);
            step::<VECTORS, I, 10>(&mut d, a, b, c, &m, i + 1);
            step::<VECTORS, I, 15>(&mut c, d, a, b, &m, i + 2);
            step::<VECTORS, I, 21>(&mut b, c, d, a, &m, i + 3);
        }
        add(&mut a, before.0);
        add(&mut b, before.1);
        add(&mut c, before.2);
        add(&mut d, before.3);
    }
    for (of_lanes, word) in state.iter_mut().zip([a, b, c, d]) {
        for (lanes, vector) in of_lanes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(word) {
            // SAFETY: the array has the size of a vector; the store needs no alignment.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
        }
    }
}

/// a = b + ((a + FUNCTION(b, c, d) + word + sine) rotated by TURN), in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn step<const VECTORS: usize, const FUNCTION: i32, const TURN: i32>(
    a: &mut WordOfAvx512<VECTORS>,
    b: WordOfAvx512<VECTORS>,
    c: WordOfAvx512<VECTORS>,
    d: WordOfAvx512<VECTORS>,
    m: &[WordOfAvx512<VECTORS>; 16],
    i: usize,
) {
    let sine = _mm512_set1_epi32(SINES[i].cast_signed());
    for v in 0..VECTORS {
        let function = _mm512_ternarylogic_epi32::<FUNCTION>(b[v], c[v], d[v]);
        // The other three are there long before the function's value is.
        let sum = _mm512_add_epi32(_mm512_add_epi32(a[v], m[word(i)][v]), sine);
        let sum = _mm512_rol_epi32::<TURN>(_mm512_add_epi32(sum, function));
        a[v] = _mm512_add_epi32(sum, b[v]);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add<const VECTORS: usize>(a: &mut WordOfAvx512<VECTORS>, b: WordOfAvx512<VECTORS>) {
    for v in 0..VECTORS {
        a[v] = _mm512_add_epi32(a[v], b[v]);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_word<const VECTORS: usize>(lanes: &[u32]) -> WordOfAvx512<VECTORS> {
    let mut word = [_mm512_setzero_si512(); VECTORS];
    for (vector, lanes) in word.iter_mut().zip(lanes.as_chunks::<WIDTH>().0) {
        // SAFETY: the array has the size of a vector; the load needs no alignment.
        *vector = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
    }
    word
}

/// Word k of block number `block` of each input, for each k.
///
/// # Safety
///
/// Each input must have more than `block` blocks.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn columns(inputs: &[&[u8]; WIDTH], block: usize) -> [__m512i; WIDTH] {
    let mut rows = [_mm512_setzero_si512(); WIDTH];
    for (row, input) in rows.iter_mut().zip(inputs) {
        // SAFETY: the input has that block, which has the size of a vector; the load needs no
        // alignment.
        *row = unsafe { _mm512_loadu_si512(input.as_ptr().add(block * BLOCK).cast()) };
    }
    // Four by four within the quarters of the vectors…
    let mut quarters = [[_mm512_setzero_si512(); 4]; 4];
    for (quarters, rows) in quarters.iter_mut().zip(rows.as_chunks::<4>().0) {
        let low = _mm512_unpacklo_epi32(rows[0], rows[1]);
        let high = _mm512_unpackhi_epi32(rows[0], rows[1]);
        let low_2 = _mm512_unpacklo_epi32(rows[2], rows[3]);
        let high_2 = _mm512_unpackhi_epi32(rows[2], rows[3]);
        *quarters = [
            _mm512_unpacklo_epi64(low, low_2),
            _mm512_unpackhi_epi64(low, low_2),
            _mm512_unpacklo_epi64(high, high_2),
            _mm512_unpackhi_epi64(high, high_2),
        ];
    }
    // …and then the quarters.
    let mut columns = [_mm512_setzero_si512(); WIDTH];
    for k in 0..4 {
        let [a, b, c, d] = quarters.map(|quarters| quarters[k]);
        let (ab_even, ab_odd) = (
            _mm512_shuffle_i32x4::<0x88>(a, b),
            _mm512_shuffle_i32x4::<0xdd>(a, b),
        );
        let (cd_even, cd_odd) = (
            _mm512_shuffle_i32x4::<0x88>(c, d),
            _mm512_shuffle_i32x4::<0xdd>(c, d),
        );
        columns[k] = _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even);
        columns[k + 4] = _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd);
        columns[k + 8] = _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even);
        columns[k + 12] = _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd);
    }
    columns
}
