//! Ranges of common chunks name equal bytes.

use super::*;

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

fn slice<'d>(data: &'d [u8], range: &Range<u64>) -> &'d [u8] {
    &data[range.start as usize..range.end as usize]
}

#[test]
fn chunk_ranges_join_and_name_equal_bytes() {
    let params = Params::default();
    let a = noise(1, 100_000);
    let mut b = a.clone();
    b.splice(50_000..50_010, *b"0123456789ab");
    let digest = |bytes: &[u8]| resemble_core::Digest::of(bytes, &params);
    let ranges = by_chunks(&digest(&a).chunks, &digest(&b).chunks);
    assert_eq!(ranges.len(), 2, "{ranges:?}");
    for range in &ranges {
        assert_eq!(slice(&a, &range.a), slice(&b, &range.b));
    }
    assert!(ranges.iter().map(|r| r.a.end - r.a.start).sum::<u64>() > 90_000);
}

/// A chunk that follows itself five times here and twice there is shared twice.
#[test]
fn chunk_ranges_of_repeated_chunks_are_as_long_in_both() {
    let params = Params::default();
    let period = noise(9, 3000);
    for (in_a, in_b) in [(40, 12), (12, 40)] {
        let (a, b) = (
            period.repeat(in_a),
            [noise(3, 5000), period.repeat(in_b)].concat(),
        );
        let digest = |bytes: &[u8]| resemble_core::Digest::of(bytes, &params);
        let ranges = by_chunks(&digest(&a).chunks, &digest(&b).chunks);
        assert!(!ranges.is_empty());
        for range in &ranges {
            assert_eq!(slice(&a, &range.a), slice(&b, &range.b), "{range:?}");
        }
    }
}
