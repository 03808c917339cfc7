//! Finds the letters of words among 64 bytes: one bit for each byte.
//!
//! Words have about six bytes, and a byte-by-byte loop spends most of its time on the branches at
//! the ends of words. A mask of 64 bytes shows where all words of the block begin and end.
#![allow(unsafe_code)]

/// The number of bytes that are classified together.
pub const BLOCK: usize = 64;

/// One bit for each byte of a block; the lowest bit is the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Letters, digits and `_`.
    pub words: u64,
    /// Non-ASCII bytes.
    pub wide: u64,
}

/// Classifies a block.
#[cfg(not(target_arch = "x86_64"))]
pub fn classify(block: &[u8; BLOCK]) -> Classes {
    by_table(block)
}

/// Classifies a block.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn classify(block: &[u8; BLOCK]) -> Classes {
    // SAFETY: SSE2 is part of every processor of this architecture.
    unsafe { classify_sse2(block) }
}

/// Classifies sixteen bytes at a time.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn classify_sse2(block: &[u8; BLOCK]) -> Classes {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8, _mm_sub_epi8,
    };
    let broadcast = |byte: u8| _mm_set1_epi8(byte.cast_signed());
    // Finds the bytes that have one of `count` consecutive values from `first` on.
    let among = |bytes: __m128i, first: u8, count: u8| {
        let from_first = _mm_sub_epi8(bytes, broadcast(first));
        _mm_cmpeq_epi8(_mm_min_epu8(from_first, broadcast(count - 1)), from_first)
    };
    let bits = |bytes: __m128i| u64::from(_mm_movemask_epi8(bytes).cast_unsigned());
    let (quarters, _) = block.as_chunks::<16>();
    let (mut words, mut wide) = (0, 0);
    for (number, quarter) in quarters.iter().enumerate() {
        let (halves, _) = quarter.as_chunks::<8>();
        let [low, high] = [0, 1].map(|k| i64::from_le_bytes(halves[k]));
        let bytes = _mm_set_epi64x(high, low);
        let letters = among(_mm_or_si128(bytes, broadcast(0x20)), b'a', 26);
        let digits = among(bytes, b'0', 10);
        let line = _mm_cmpeq_epi8(bytes, broadcast(b'_'));
        let all = _mm_or_si128(_mm_or_si128(letters, digits), line);
        words |= bits(all) << (16 * number);
        wide |= bits(bytes) << (16 * number);
    }
    Classes { words, wide }
}

/// Classifies a block by the definition, byte by byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn by_table(block: &[u8; BLOCK]) -> Classes {
    let (mut words, mut wide) = (0, 0);
    for (at, &byte) in block.iter().enumerate() {
        words |= u64::from(byte.is_ascii_alphanumeric() || byte == b'_') << at;
        wide |= u64::from(!byte.is_ascii()) << at;
    }
    Classes { words, wide }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place() {
        for byte in 0..=255 {
            for at in 0..BLOCK {
                let mut block = [b' '; BLOCK];
                block[at] = byte;
                assert_eq!(classify(&block), by_table(&block), "{byte} at {at}");
            }
        }
        let all: Vec<u8> = (0..=255).collect();
        for block in all.as_chunks::<BLOCK>().0 {
            assert_eq!(classify(block), by_table(block));
        }
    }
}
