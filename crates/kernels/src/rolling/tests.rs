//! Compares the scan with the definition on every platform.

use super::matcher::STEP;
use super::{
    BLOCK, Criteria, Divisor, Hit, Matcher, RollingPlatform, SEGMENT, Scanner, WINDOW, hash_window,
    table,
};
use crate::fingerprint::Fingerprint;
use crate::random::{Random, noise};

const LEVEL: u8 = 5;

/// D' of the paper.
const PAPER: u32 = 270;

/// Makes bytes like those of files: noise, text-like pieces of few values, runs and repetitions.
fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut next = || (random.draw() >> 33) as usize;
    let mut bytes = Vec::with_capacity(len + 4096);
    while bytes.len() < len {
        let stretch = 1 + next() % 3000;
        match next() % 4 {
            0 => bytes.extend((0..stretch).map(|_| next() as u8)),
            1 => bytes.extend((0..stretch).map(|_| b"etaoin shrdlu\n\0\xff"[next() % 16])),
            2 => {
                let byte = [0, 0, 0xff, b' ', next() as u8][next() % 5];
                bytes.extend(std::iter::repeat_n(byte, stretch));
            }
            _ => {
                let from = bytes.len() - stretch.min(bytes.len());
                bytes.extend_from_within(from..);
            }
        }
    }
    bytes.truncate(len);
    bytes
}

/// Returns the hits by the definition, with real divisions. Each window is hashed separately.
fn expected(bytes: &[u8], backup_divisor: u32, level: u8) -> Vec<Hit> {
    let (d, main) = (u64::from(backup_divisor), 2 * u64::from(backup_divisor));
    let mut hits = Vec::new();
    for (start, window) in bytes.windows(WINDOW).enumerate() {
        let hash = hash_window(window.try_into().unwrap());
        let high = hash >> 32;
        let cut = if high % main == main - 1 {
            Some(Divisor::Main)
        } else if high % d == d - 1 {
            Some(Divisor::Backup)
        } else {
            None
        };
        let sample = Fingerprint::of_hash(hash).filter(|sample| sample.level() >= level);
        if cut.is_some() || sample.is_some() {
            hits.push(Hit {
                end: (start + WINDOW) as u64,
                cut,
                sample,
            });
        }
    }
    hits
}

fn scanned<'a>(scanner: &mut Scanner, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for piece in pieces {
        scanner.scan(piece, &mut |hit| hits.push(hit));
    }
    hits
}

#[test]
fn the_table_is_pinned() {
    assert_eq!(table::ENTERING[0], 0x21ab_4a1b_bdb7_70bd);
    assert_eq!(table::ENTERING[1], 0x8aca_36a8_8cae_a86d);
    assert_eq!(table::ENTERING[255], 0x97d4_c0b2_c1cc_160f);
    let mut window = [0; WINDOW];
    window.copy_from_slice(
        &b"the quick brown fox jumps over the lazy dog; pack my box with five"[..64],
    );
    assert_eq!(hash_window(&window), 0x44c3_4eb6_fdaf_0fe8);
    assert_eq!(table::MULTIPLIER % 8, 5);
}

#[test]
fn windows_of_equal_bytes_are_no_samples_and_match_none_of_the_papers_divisors() {
    let criteria = Criteria::new(PAPER, Fingerprint::BASE_LEVEL);
    for byte in 0..=255 {
        let hash = hash_window(&[byte; WINDOW]);
        assert_eq!(criteria.sample(hash), None, "byte {byte}");
        assert_eq!(criteria.divisor(hash), None, "byte {byte}");
    }
}

#[test]
fn divisibility_is_that_of_division() {
    let divisors = (1..=600).chain([
        675,
        1090,
        2179,
        4358,
        65_535,
        65_536,
        65_537,
        1 << 20,
        4_462_850,
        (1 << 31) - 1,
        1 << 31,
        u32::MAX - 1,
        u32::MAX,
    ]);
    for divisor in divisors {
        let criteria = Criteria::new(divisor, LEVEL);
        let d = u64::from(divisor);
        let last = (1 << 32) / d * d;
        let some = [
            0,
            1,
            2,
            d - 1,
            d,
            d + 1,
            2 * d,
            3 * d,
            1 << 31,
            last,
            last - d,
            (1 << 32) - 1,
        ];
        for n in some
            .into_iter()
            .flat_map(|n| [n.saturating_sub(1), n, n + 1])
            .chain([1 << 32])
        {
            if !(1..=1 << 32).contains(&n) {
                continue;
            }
            let expected = n.is_multiple_of(d).then(|| {
                if (n / d).is_multiple_of(2) {
                    Divisor::Main
                } else {
                    Divisor::Backup
                }
            });
            // The low half of the hash has no effect.
            for low in [0, u64::from(u32::MAX)] {
                assert_eq!(
                    criteria.divisor((n - 1) << 32 | low),
                    expected,
                    "{n} by {divisor}"
                );
            }
        }
    }
}

#[test]
#[allow(clippy::large_stack_arrays)] // 33 KiB
fn kernels_let_every_match_through_and_clear_all_other_bits() {
    for platform in RollingPlatform::available() {
        for divisor in [1, 2, 3, 270, 1 << 16, 1 << 31, u32::MAX] {
            for level in [3, 32, 33, 63] {
                let criteria = Criteria::new(divisor, level);
                let mut hashes = [1 << 40; SEGMENT + BLOCK];
                // The extremes of H, the multiples around them, and hashes with few one bits.
                let d = u64::from(divisor);
                for (i, hash) in hashes.iter_mut().enumerate().step_by(5) {
                    let high =
                        [u64::from(u32::MAX), 0, d - 1, (1 << 32) / d * d - 1, 2 * d][i % 7 % 5];
                    *hash = (high << 32) | if i % 2 == 0 { 0 } else { 1 << (i % 32) };
                }
                for count in [1, 5, 63, 64, 65, 1000, SEGMENT] {
                    let mut bits = [u64::MAX; SEGMENT / BLOCK];
                    platform.matches(&hashes, count, &criteria, &mut bits);
                    for (i, &hash) in hashes[..count.next_multiple_of(BLOCK)].iter().enumerate() {
                        let what = format!("{platform:?}, {hash:#x}, D' {divisor}, level {level}");
                        let found = bits[i / BLOCK] >> (i % BLOCK) & 1 == 1;
                        let hit = criteria
                            .divisor(hash)
                            .or(criteria.sample(hash).map(|_| Divisor::Main));
                        if i >= count {
                            assert!(!found, "{what}: beyond the end");
                        } else if hit.is_some() {
                            assert!(found, "{what}");
                        } else if found {
                            // Kernels that test in 32 bits cannot distinguish these two values of
                            // H.
                            assert!(
                                hash >> 32 == u64::from(u32::MAX) || hash >> 32 == 0,
                                "{what}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_scan_finds_what_the_definition_says() {
    let all = bytes(3 * SEGMENT + 777, 2);
    for platform in RollingPlatform::available() {
        for divisor in [1, 2, 3, 39, 64, 270, 545, 1 << 20, u32::MAX] {
            for level in [3, 5, 9, 20] {
                let mut scanner = Scanner::with(divisor, level, platform);
                let hits = scanned(&mut scanner, std::iter::once(&all[..]));
                let what = format!("{platform:?}, D' {divisor}, level {level}");
                assert!(hits == expected(&all, divisor, level), "{what}");
                assert_eq!(scanner.position(), all.len() as u64, "{what}");
            }
        }
    }
}

#[test]
fn every_length_around_the_edges_of_windows_blocks_strips_and_segments() {
    let all = bytes(2 * SEGMENT + 200, 3);
    let edges = [
        0,
        64,
        127,
        128,
        192,
        63 + 6 * 64,
        63 + 12 * 64,
        SEGMENT,
        SEGMENT + 63,
        2 * SEGMENT,
    ];
    for platform in RollingPlatform::available() {
        let mut scanner = Scanner::with(7, 3, platform);
        for edge in edges {
            for len in edge.saturating_sub(3)..edge + 4 {
                // The bytes are at the end of an allocation of their own, so reading a byte after
                // them would be an error.
                let bytes = all[..len].to_vec();
                scanner.reset();
                let hits = scanned(&mut scanner, std::iter::once(&bytes[..]));
                assert!(hits == expected(&bytes, 7, 3), "{platform:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn a_matcher_finds_the_first_and_the_last_of_what_a_scan_finds() {
    let all = bytes(2 * STEP + 300, 5);
    let lengths = [
        0,
        1,
        63,
        64,
        65,
        126,
        127,
        128,
        191,
        192,
        255,
        256,
        257,
        320,
        321,
        STEP + 62,
        STEP + 63,
        all.len(),
    ];
    for platform in RollingPlatform::available() {
        for divisor in [1, 2, 7, 40, 270, 2000, 1 << 31, u32::MAX] {
            let matcher = Matcher::new(divisor, platform);
            for length in lengths {
                // The bytes are at the end of an allocation of their own, so reading a byte after
                // them would be an error.
                let bytes = all[..length].to_vec();
                let hits = expected(&bytes, divisor, 63);
                let mut cuts = hits
                    .iter()
                    .filter_map(|hit| Some((hit.end as usize - WINDOW, hit.cut?)));
                let main = cuts.clone().find(|&(_, cut)| cut == Divisor::Main);
                let last = cuts.next_back();
                let what = format!("{platform:?}, D' {divisor}, {length} bytes");
                let number = |hit: Option<(usize, Divisor)>| Some(hit?.0);
                assert_eq!(matcher.first_main(&bytes), number(main), "{what}");
                assert_eq!(matcher.last_backup(&bytes), number(last), "{what}");
            }
        }
    }
}

#[test]
fn the_pieces_do_not_matter() {
    let all = bytes(20_000, 4);
    let expected = expected(&all, 270, LEVEL);
    for platform in RollingPlatform::available() {
        let mut scanner = Scanner::with(270, LEVEL, platform);
        for size in [
            1, 2, 31, 62, 63, 64, 65, 100, 126, 127, 1000, 4096, 4097, 19_999,
        ] {
            scanner.reset();
            let hits = scanned(&mut scanner, all.chunks(size));
            assert!(hits == expected, "{platform:?}, pieces of {size}");
        }
        // Pieces of all sizes, including empty ones.
        scanner.reset();
        let mut at = 0;
        let pieces = (0..).map_while(|i: usize| {
            let rest = all.get(at..).filter(|rest| !rest.is_empty())?;
            let piece = &rest[..rest.len().min(i * 37 % 150)];
            at += piece.len();
            Some(piece)
        });
        assert!(
            scanned(&mut scanner, pieces) == expected,
            "{platform:?}, pieces of all sizes"
        );
    }
}

#[test]
fn zeros_are_zeros_however_they_come() {
    let data = bytes(300, 5);
    for platform in RollingPlatform::available() {
        // The zero window matches divisor 1, and no divisor of the paper.
        for divisor in [1, 270] {
            for zeros in [0, 1, 62, 63, 64, 65, 200, 5000] {
                for before in [0, 10, 64, 300] {
                    let mut all = data[..before].to_vec();
                    all.resize(before + zeros, 0);
                    all.extend_from_slice(&data);
                    let mut scanner = Scanner::with(divisor, LEVEL, platform);
                    let mut hits = Vec::new();
                    scanner.scan(&data[..before], &mut |hit| hits.push(hit));
                    scanner.scan_zeros(zeros as u64, &mut |hit| hits.push(hit));
                    scanner.scan(&data, &mut |hit| hits.push(hit));
                    let what = format!("{platform:?}, D' {divisor}, {zeros} after {before}");
                    assert!(hits == expected(&all, divisor, LEVEL), "{what}");
                }
            }
        }
    }
}

#[test]
fn an_exabyte_of_zeros_is_passed_over_at_once() {
    let mut scanner = Scanner::new(PAPER, LEVEL);
    assert_eq!(scanner.zero_window(), None);
    let data = bytes(3000, 6);
    let mut hits = Vec::new();
    scanner.scan_zeros(1 << 60, &mut |hit| hits.push(hit));
    assert_eq!(hits, []);
    scanner.scan(&data, &mut |hit| hits.push(hit));
    let mut tail = vec![0; WINDOW];
    tail.extend_from_slice(&data);
    let moved = expected(&tail, 270, LEVEL).into_iter().map(|hit| Hit {
        end: hit.end - WINDOW as u64 + (1 << 60),
        ..hit
    });
    assert!(hits.into_iter().eq(moved));
}

#[test]
fn a_level_raised_holds_until_the_next_file() {
    let all = bytes(9000, 7);
    let mut scanner = Scanner::with(270, 3, RollingPlatform::detect());
    let low = scanned(&mut scanner, std::iter::once(&all[..]));
    assert!(low == expected(&all, 270, 3));

    scanner.reset();
    let mut hits = scanned(&mut scanner, std::iter::once(&all[..4000]));
    scanner.raise_level(8);
    scanner.raise_level(6);
    assert_eq!(scanner.level(), 8);
    hits.extend(scanned(&mut scanner, std::iter::once(&all[4000..])));
    let (low, high) = (expected(&all, 270, 3), expected(&all, 270, 8));
    let first = low.into_iter().filter(|hit| hit.end <= 4000);
    assert!(
        hits.into_iter()
            .eq(first.chain(high.into_iter().filter(|hit| hit.end > 4000)))
    );

    scanner.reset();
    assert_eq!((scanner.level(), scanner.position()), (3, 0));
}

#[test]
fn hits_come_as_often_as_chance_says() {
    // In noise, one window in 270 is a cut and one window in 32 is a sample, within four standard
    // deviations.
    let noise = noise(1, 1 << 20);
    let mut scanner = Scanner::new(PAPER, LEVEL);
    let hits = scanned(&mut scanner, noise.chunks(10_000));
    let near = |count: usize, share: f64| {
        let (count, expected) = (count as f64, noise.len() as f64 * share);
        assert!(
            (count - expected).abs() < 4.0 * expected.sqrt(),
            "{count}, not {expected}"
        );
    };
    near(
        hits.iter().filter(|hit| hit.cut.is_some()).count(),
        1.0 / 270.0,
    );
    near(
        hits.iter()
            .filter(|hit| hit.cut == Some(Divisor::Main))
            .count(),
        1.0 / 540.0,
    );
    near(
        hits.iter().filter(|hit| hit.sample.is_some()).count(),
        1.0 / 32.0,
    );
    let both = hits
        .iter()
        .filter(|hit| hit.cut.is_some() && hit.sample.is_some())
        .count();
    near(both, 1.0 / (270.0 * 32.0));
}
