use md5::{Digest, Md5};
use proptest::prelude::*;

use super::*;
use crate::rabin::tests::by_division;
use crate::testing::{contents, noise};
use resemble_core::chunk::oracle;

fn feature(chunk: &[u8]) -> Feature {
    let hash = ChunkHash(Md5::digest(chunk).into());
    Feature::chunk(name(hash), chunk.len() as u64)
}

/// Finds the chunks by the algorithm of section 2.2, word for word.
fn by_the_paper(bytes: &[u8], params: SlidingWindow) -> Vec<Feature> {
    let (mut all, mut start) = (Vec::new(), 0);
    for k in params.window as usize..=bytes.len() {
        let fingerprint = by_division(&bytes[k - params.window as usize..k]);
        if fingerprint % u64::from(params.divisor) == u64::from(params.remainder) {
            all.push(feature(&bytes[start..k]));
            start = k;
        }
    }
    if start < bytes.len() {
        all.push(feature(&bytes[start..]));
    }
    all
}

fn bsw(bytes: &[u8], params: SlidingWindow, size: usize) -> Vec<Feature> {
    let (mut all, mut chunks) = (Vec::new(), BswChunks::new(params));
    bytes
        .chunks(size)
        .for_each(|piece| chunks.update(piece, &mut |f| all.push(f)));
    chunks.finish(&mut |f| all.push(f));
    all
}

fn tttd(bytes: &[u8], params: &ChunkParams, size: usize) -> Vec<Feature> {
    let (mut all, mut chunks) = (Vec::new(), TttdChunks::new(params));
    bytes
        .chunks(size)
        .for_each(|piece| chunks.update(piece, &mut |f| all.push(f)));
    chunks.finish(&mut |f| all.push(f));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_sliding_window_is_the_papers(
        bytes in contents(),
        window in 1u32..60,
        divisor in 2u32..80,
        remainder in 0u32..2,
        size in 1usize..200,
    ) {
        let params = SlidingWindow { window, divisor, remainder };
        prop_assert_eq!(bsw(&bytes, params, size), by_the_paper(&bytes, params));
    }

    #[test]
    fn tttd_is_its_oracle(bytes in contents(), copies in 1usize..12, size in 1usize..5000) {
        let bytes = bytes.repeat(copies);
        let params = ChunkParams::scaled(200).expect("in range");
        let mut rest = &bytes[..];
        let expected: Vec<Feature> = oracle::chunks(&bytes, &params)
            .into_iter()
            .map(|len| {
                let (chunk, more) = rest.split_at(len);
                rest = more;
                feature(chunk)
            })
            .collect();
        prop_assert_eq!(tttd(&bytes, &params, size), expected);
    }

    #[test]
    fn small_chunks_of_tttd_are_its_oracle(
        bytes in contents(),
        average in 40u32..145,
        size in 1usize..500,
    ) {
        let params = scaled(average).expect("in range");
        let mut rest = &bytes[..];
        let hash = |p: usize| Some((by_division(&bytes[p.checked_sub(16)?..p]) >> 32) as u32);
        let expected: Vec<Feature> = oracle::chunks_by(bytes.len(), &params, hash)
            .into_iter()
            .map(|len| {
                let (chunk, more) = rest.split_at(len);
                rest = more;
                feature(chunk)
            })
            .collect();
        prop_assert_eq!(tttd(&bytes, &params, size), expected);
    }

    #[test]
    fn merging_and_the_table_agree(
        a in prop::collection::btree_map((0u64..30, 1u64..4), 1u64..5, 0..40),
        b in prop::collection::btree_map((0u64..30, 1u64..4), 1u64..5, 0..40),
    ) {
        let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().collect(), b.into_iter().collect());
        let merged = common_by_merging(&a, &b);
        prop_assert_eq!(ChunkTable::new(&a).common(&b), merged);
        prop_assert_eq!(common_by_merging(&b, &a), merged);
    }
}

#[test]
fn mean_lengths_are_what_was_asked_for() {
    let bytes = noise(3_000_000, 1);
    let mean = |features: &[Feature]| bytes.len() as f64 / features.len() as f64;
    let of_bsw = mean(&bsw(&bytes, SlidingWindow::default(), 65_536));
    assert!((950.0..1080.0).contains(&of_bsw), "{of_bsw}");
    let of_tttd = mean(&tttd(&bytes, &ChunkParams::PAPER, 65_536));
    assert!((950.0..1080.0).contains(&of_tttd), "{of_tttd}");
    for average in [40, 100, 144] {
        let params = scaled(average).expect("in range");
        let ratio = mean(&tttd(&bytes, &params, 65_536)) / f64::from(average);
        assert!((0.9..1.1).contains(&ratio), "{average}: {ratio}");
    }
    let (small, index) = (
        scaled(144).expect("small"),
        scaled(145).expect("of the index"),
    );
    assert_eq!((small.min, index.min), (65, 66));
    assert_eq!((scaled(39), scaled(1015)), (None, Some(ChunkParams::PAPER)));
}

/// Tests what the paper says about TTTD: "It overcomes the problems of the simple sliding window
/// algorithm with respect to repetitive text (e.g. long strings of the same character)."
#[test]
fn a_run_of_one_character_is_one_chunk_or_one_a_byte() {
    let run = vec![b'-'; 20_000];
    let whole = SlidingWindow::default();
    let lens = |params| {
        bsw(&run, params, 999)
            .iter()
            .map(|f| f.len)
            .collect::<Vec<_>>()
    };
    assert_eq!(lens(whole), [20_000]);
    // If the fingerprint of the run has the remainder, there is a cut at every byte from the first
    // window on.
    let remainder = (by_division(&[b'-'; 48]) % 1015) as u32;
    let cut = lens(SlidingWindow { remainder, ..whole });
    assert_eq!((cut.len(), cut[0], cut[1]), (20_000 - 47, 48, 1));
    // A hole is cut at the maximum length, because otherwise it would be hashed to its end.
    let hole = vec![0; (5 << 20) / 2];
    let lens: Vec<u64> = bsw(&hole, whole, 99_999).iter().map(|f| f.len).collect();
    assert_eq!(lens, [1 << 20, 1 << 20, 1 << 19]);
    let of_tttd = tttd(&run, &ChunkParams::PAPER, 999);
    assert!(of_tttd.iter().all(|f| f.len <= 2800), "{of_tttd:?}");
}
