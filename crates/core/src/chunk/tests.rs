//! The fast path, compared with the oracle.

use proptest::prelude::*;

use resemble_testutil::random::noise;

use super::*;

const SIZES: [u32; 6] = [ChunkParams::LEAST_AVERAGE, 256, 1015, 4096, 8192, 16384];

fn params() -> impl Strategy<Value = ChunkParams> {
    proptest::sample::select(&SIZES).prop_map(|size| ChunkParams::scaled(size).unwrap())
}

/// Makes bytes that are like text in the properties that affect chunks: few values, repeated words
/// and lines.
fn text(seed: u64, len: usize) -> Vec<u8> {
    let words: Vec<Vec<u8>> = (1..200u64)
        .map(|i| {
            noise(i, 1 + (i % 9) as usize)
                .iter()
                .map(|byte| b'a' + byte % 26)
                .collect()
        })
        .collect();
    let mut out = Vec::with_capacity(len + 10);
    for choice in noise(seed, len) {
        out.extend_from_slice(&words[usize::from(choice) % words.len()]);
        out.push(if choice % 11 == 0 { b'\n' } else { b' ' });
        if out.len() >= len {
            break;
        }
    }
    out.truncate(len);
    out
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    let kind = (0..5usize, any::<u64>(), 0..60_000usize, 1..65usize);
    kind.prop_map(|(kind, seed, len, period)| match kind {
        0 => noise(seed, len),
        1 => text(seed, len),
        2 => vec![seed as u8; len],
        3 => noise(seed, period)
            .iter()
            .copied()
            .cycle()
            .take(len)
            .collect(),
        // A mixture of the kinds above.
        _ => [
            noise(seed, len / 4),
            vec![0; len / 3],
            text(seed, len / 5),
            vec![255; len / 7],
            noise(seed, period).repeat(len / 8 / period),
        ]
        .concat(),
    })
}

/// Returns the lengths of the chunks of `data` when it arrives in pieces that end at `splits`.
fn streamed(data: &[u8], params: &ChunkParams, splits: &[usize]) -> Vec<usize> {
    let mut chunker = Chunker::new(params);
    let mut lens = Vec::new();
    let mut sink = |cut: Cut| lens.extend(vec![cut.len as usize; cut.count as usize]);
    let mut from = 0;
    for &to in splits {
        let to = to.clamp(from, data.len());
        chunker.update(&data[from..to], &mut sink);
        from = to;
    }
    chunker.update(&data[from..], &mut sink);
    chunker.finish(&mut sink);
    lens
}

/// Like [`streamed`], on a given platform, for pieces of these lengths. Every second piece is
/// scanned with samples.
fn sampled(
    platform: RollingPlatform,
    data: &[u8],
    params: &ChunkParams,
    pieces: &[usize],
) -> Vec<usize> {
    let scanner = Scanner::with(params.backup_divisor, 5, platform);
    let mut chunker = Chunker::with(scanner, params);
    let mut lens = Vec::new();
    let mut sink = |cut: Cut| lens.extend(vec![cut.len as usize; cut.count as usize]);
    let mut rest = data;
    for (number, &piece) in pieces.iter().enumerate() {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        if number % 2 == 0 {
            chunker.update(now, &mut sink);
        } else {
            chunker.scan(now, &mut sink, &mut |_| ());
        }
        rest = later;
    }
    chunker.scan(rest, &mut sink, &mut |_| ());
    chunker.finish(&mut sink);
    lens
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn fast_is_oracle(data in data(), params in params()) {
        prop_assert_eq!(streamed(&data, &params, &[]), oracle::chunks(&data, &params));
    }

    #[test]
    fn pieces_do_not_matter(
        data in data(),
        params in params(),
        steps in proptest::collection::vec(0..3000usize, 0..40),
    ) {
        let splits = steps.iter().scan(0, |at, step| {
            *at += step;
            Some(*at)
        });
        let splits: Vec<usize> = splits.collect();
        prop_assert_eq!(streamed(&data, &params, &splits), streamed(&data, &params, &[]));
    }

    #[test]
    fn cuts_are_the_same_with_samples_and_without(
        data in data(),
        params in params(),
        pieces in proptest::collection::vec(0..20_000usize, 0..12),
    ) {
        for platform in RollingPlatform::available() {
            let cuts = sampled(platform, &data, &params, &pieces);
            prop_assert_eq!(cuts, oracle::chunks(&data, &params), "{:?}", platform);
        }
    }

    #[test]
    fn cutting_one_by_one_is_the_same(data in data(), params in params()) {
        let mut rest = &data[..];
        let mut lens = Vec::new();
        while !rest.is_empty() {
            lens.push(cut(rest, &params));
            rest = &rest[lens[lens.len() - 1]..];
        }
        prop_assert_eq!(lens, oracle::chunks(&data, &params));
    }

    #[test]
    fn holes_are_zeros(
        before in data(),
        after in data(),
        hole in 0..200_000u64,
        more in 0..200u64,
        params in params(),
    ) {
        let mut chunker = Chunker::new(&params);
        let mut lens = Vec::new();
        let mut sink = |cut: Cut| lens.extend(vec![cut.len as usize; cut.count as usize]);
        let before = &before[..before.len() / 4];
        let after = &after[..after.len() / 4];
        chunker.update(before, &mut sink);
        chunker.zeros(hole, &mut sink);
        chunker.zeros(more, &mut sink);
        chunker.update(after, &mut sink);
        chunker.finish(&mut sink);
        let zeros = vec![0; (hole + more) as usize];
        let whole = [before, &zeros, after].concat();
        prop_assert_eq!(lens, streamed(&whole, &params, &[]));
    }

    /// The picker cuts as the oracle does if matches are at random distances, at Tmin or at Tmax.
    #[test]
    fn picker_is_oracle(
        steps in proptest::collection::vec((0..6usize, 1..200usize, any::<bool>()), 0..60),
        tail in 0..500usize,
    ) {
        let params = ChunkParams { min: 70, max: 300, main_divisor: 20, backup_divisor: 10 };
        let mut at = 0;
        let mut hits = Vec::new();
        for (kind, step, main) in steps {
            // Hits are often exactly at Tmin, just before it, at Tmax, or just beyond it.
            at += match kind { 0 => 70, 1 => 69, 2 => 300, 3 => 301, 4 => 1, _ => step };
            hits.push((at, main));
        }
        check_picker(&params, at + tail, &hits)?;
    }
}

fn check_picker(
    params: &ChunkParams,
    size: usize,
    hits: &[(usize, bool)],
) -> Result<(), TestCaseError> {
    let expected = oracle::chunks_by(size, params, |p| {
        let at = hits.binary_search_by_key(&p, |&(at, _)| at).ok()?;
        // H = D-1 matches both divisors; H = D'-1 matches only D'.
        Some(
            if hits[at].1 {
                params.main_divisor
            } else {
                params.backup_divisor
            } - 1,
        )
    });
    let mut picker = Picker::new(params);
    let mut cuts = Vec::new();
    for &(at, main) in hits {
        picker.hit(at as u64, main, &mut |cut| cuts.push(cut as usize));
    }
    picker.advance(size as u64, &mut |cut| cuts.push(cut as usize));
    let mut lens: Vec<usize> = Vec::new();
    let mut start = 0;
    for cut in cuts.into_iter().chain([size]).filter(|&cut| cut > 0) {
        if cut > start {
            lens.push(cut - start);
        }
        start = cut;
    }
    prop_assert_eq!(lens, expected);
    Ok(())
}

/// Finds a window that matches D, or only D', by trial and error.
fn matching_window(params: &ChunkParams, main: bool) -> [u8; 64] {
    for seed in 1.. {
        let window: [u8; 64] = noise(seed, 64).try_into().unwrap();
        let h = (crate::hash::rolling::hash_window(&window) >> 32) as u32;
        let matches = |divisor: u32| h % divisor == divisor - 1;
        if matches(params.backup_divisor) && matches(params.main_divisor) == main {
            return window;
        }
    }
    unreachable!()
}

#[test]
fn matches_in_real_bytes_at_the_thresholds() {
    for size in SIZES {
        let params = ChunkParams::scaled(size).unwrap();
        let (min, max) = (params.min as usize, params.max as usize);
        let (main, backup) = (
            matching_window(&params, true),
            matching_window(&params, false),
        );
        for end in [min - 1, min, min + 1, max - 1, max, max + 1] {
            for first in [main, backup] {
                for second in [main, backup] {
                    let mut data = vec![7; 3 * max];
                    data[end - 64..end].copy_from_slice(&first);
                    data[end + min - 64..end + min].copy_from_slice(&second);
                    let expected = oracle::chunks(&data, &params);
                    assert_eq!(streamed(&data, &params, &[]), expected);
                    // The first piece ends inside the matching window, or exactly at its end.
                    for split in [end - 63, end - 1, end] {
                        assert_eq!(streamed(&data, &params, &[split]), expected);
                    }
                }
            }
        }
    }
}

#[test]
fn a_cut_at_every_tmin_and_none_at_all() {
    let params = ChunkParams::PAPER;
    let mut block = vec![7; params.min as usize];
    let len = block.len();
    block[len - 64..].copy_from_slice(&matching_window(&params, true));
    let data = block.repeat(50);
    assert_eq!(oracle::chunks(&data, &params), [len; 50]);
    assert_eq!(streamed(&data, &params, &[]), [len; 50]);
    let never = vec![7; 10 * params.max as usize];
    assert_eq!(streamed(&never, &params, &[]), [params.max as usize; 10]);
}

/// Tests divisors that a window of zeros matches: D' = 1 matches every H, and D = 2 every odd H.
#[test]
fn holes_whose_window_matches() {
    for params in [
        ChunkParams {
            min: 100,
            max: 350,
            main_divisor: 2,
            backup_divisor: 1,
        },
        ChunkParams {
            min: 65,
            max: 65,
            main_divisor: 2,
            backup_divisor: 1,
        },
    ] {
        for hole in [0u64, 1, 62, 63, 64, 99, 100, 101, 350, 351, 1000, 5003] {
            let mut chunker = Chunker::new(&params);
            let mut lens = Vec::new();
            let mut sink = |cut: Cut| lens.extend(vec![cut.len as usize; cut.count as usize]);
            chunker.update(&noise(3, 217), &mut sink);
            chunker.zeros(hole, &mut sink);
            chunker.update(&noise(4, 217), &mut sink);
            chunker.finish(&mut sink);
            let whole = [noise(3, 217), vec![0; hole as usize], noise(4, 217)].concat();
            assert_eq!(lens, oracle::chunks(&whole, &params), "{params:?} {hole}");
        }
    }
}

#[test]
fn a_hole_is_one_cut_however_large() {
    let mut chunker = Chunker::new(&ChunkParams::PAPER);
    let mut cuts = Vec::new();
    chunker.update(b"before", &mut |cut| cuts.push(cut));
    chunker.zeros(1 << 50, &mut |cut| cuts.push(cut));
    chunker.finish(&mut |cut| cuts.push(cut));
    assert_eq!(cuts.len(), 3, "{cuts:?}");
    assert_eq!(cuts[2].end(), (1 << 50) + 6);
    assert_eq!(cuts[1].len, 2800);
}

#[test]
fn windows_that_can_cut_lie_within_their_chunk() {
    let least = ChunkParams::scaled(ChunkParams::LEAST_AVERAGE).unwrap();
    assert!(least.min as usize > Params::WINDOW);
    assert!(ChunkParams::scaled(ChunkParams::LEAST_AVERAGE - 1).is_none());
    for average in [
        145,
        146,
        540,
        1014,
        1015,
        1016,
        4096,
        8192,
        16384,
        1 << 20,
        16 << 20,
    ] {
        let p = ChunkParams::scaled(average).unwrap();
        assert!(
            p.min < p.max && p.main_divisor == 2 * p.backup_divisor,
            "{p:?}"
        );
    }
}

#[test]
fn nothing_has_no_chunks() {
    assert_eq!(cut(&[], &ChunkParams::PAPER), 0);
    assert_eq!(streamed(&[], &ChunkParams::PAPER, &[]), [0; 0]);
    assert_eq!(oracle::chunks(&[], &ChunkParams::PAPER), [0; 0]);
    assert_eq!(streamed(&[1], &ChunkParams::PAPER, &[]), [1]);
}

#[test]
fn ideal_data_has_chunks_of_the_expected_size() {
    let data = noise(99, 3_000_000);
    let lens = streamed(&data, &ChunkParams::PAPER, &[]);
    let mean = data.len() / lens.len();
    // A simulation with ideal hashes gives chunks of 982 bytes on average.
    assert!((960..1005).contains(&mean), "{mean}");
}
