//! Tests that ranges of common chunks have equal bytes.

use resemble_testutil::random::noise;

use super::*;

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

/// One file repeats a chunk five times, and the other file repeats it twice. The chunk is shared
/// twice.
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
