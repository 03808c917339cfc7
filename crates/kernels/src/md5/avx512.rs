//! MD5 with AVX-512: sixteen lanes in a vector.
//!
//! 1. *The four functions* of RFC 1321 are one instruction each: `vpternlog` computes any function
//!    of three bits from its truth table. The rotation is one instruction, too.
//! 2. *Several vectors* of lanes take turns. Each of the four instructions of a step waits for the
//!    instruction before. The processor can start several independent instructions at a time.
//! 3. *Words to lanes*: the blocks of the sixteen lanes are sixteen rows of sixteen words. These
//!    rows are transposed to columns.
#![allow(unsafe_code)]
#![allow(clippy::many_single_char_names)] // those of RFC 1321

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_loadu_si512, _mm512_rol_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_si512, _mm512_ternarylogic_epi32,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::Md5Digest;
use super::constants::{BLOCK, SINES, word};
use super::kernel::kernel;
use super::lanes::{self, LaneState};
use super::portable;

/// The number of lanes in a vector.
const WIDTH: usize = 16;

/// Returns whether this processor has all instructions of the kernel.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
}

pub(super) fn md5_many(messages: &[&[u8]], out: &mut Vec<Md5Digest>) {
    match messages.len() {
        // It is faster to hash this small number of messages one by one.
        0..=3 => portable::md5_many(messages, out),
        4..=16 => lanes::md5_many(messages, out, compress::<1, 16>),
        17..=32 => lanes::md5_many(messages, out, compress::<2, 32>),
        _ => lanes::md5_many(messages, out, compress::<3, 48>),
    }
}

// Truth tables of the functions F, G, H, I: bit 4x+2y+z is the value at (x, y, z).
const F: i32 = 0xca;
const G: i32 = 0xe4;
const H: i32 = 0x96;
const I: i32 = 0x39;

kernel!(
    "avx512f",
    __m512i,
    zero = _mm512_setzero_si512,
    add = _mm512_add_epi32,
    load = _mm512_loadu_si512,
    store = _mm512_storeu_si512
);

/// a = b + ((a + FUNCTION(b, c, d) + word + sine) rotated by LEFT), in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn step<const VECTORS: usize, const FUNCTION: i32, const LEFT: i32, const RIGHT: i32>(
    a: &mut Word<VECTORS>,
    b: Word<VECTORS>,
    c: Word<VECTORS>,
    d: Word<VECTORS>,
    m: &[Word<VECTORS>; 16],
    i: usize,
) {
    const { assert!(LEFT + RIGHT == 32) };
    let sine = _mm512_set1_epi32(SINES[i].cast_signed());
    for v in 0..VECTORS {
        let function = _mm512_ternarylogic_epi32::<FUNCTION>(b[v], c[v], d[v]);
        // The other three summands are available long before the function's value.
        let sum = _mm512_add_epi32(_mm512_add_epi32(a[v], m[word(i)][v]), sine);
        let sum = _mm512_rol_epi32::<LEFT>(_mm512_add_epi32(sum, function));
        a[v] = _mm512_add_epi32(sum, b[v]);
    }
}

/// Returns word k of block number `piece` of each input, for each k.
///
/// # Safety
///
/// Each input must have more than `piece` blocks.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn columns(inputs: &[&[u8]; WIDTH], piece: usize) -> [__m512i; WIDTH] {
    let mut rows = [_mm512_setzero_si512(); WIDTH];
    for (row, input) in rows.iter_mut().zip(inputs) {
        // SAFETY: the input has this block, which has the size of a vector. The load needs no
        // alignment.
        *row = unsafe { _mm512_loadu_si512(input.as_ptr().add(piece * BLOCK).cast()) };
    }
    // Transposes four by four within the quarters of the vectors…
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
