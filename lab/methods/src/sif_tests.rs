use proptest::prelude::*;

use super::*;
use crate::testing::{contents, noise, prose};
use crate::{Method, MethodParams, Settings};
use crate::{score, sign};

/// Computes the F of one window as the paper prints it, in integers that do not overflow.
fn by_powers(window: &[u8], params: &SifParams) -> u64 {
    let modulus = 1u128 << params.bits;
    let power = |exponent: usize| {
        (0..exponent).fold(1u128, |power, _| {
            power * u128::from(params.multiplier) % modulus
        })
    };
    let sum: u128 = window
        .iter()
        .enumerate()
        .map(|(i, &t)| u128::from(t) * power(window.len() - 1 - i))
        .sum();
    (sum % modulus) as u64
}

/// Finds all kept fingerprints by following the paper literally.
fn by_the_paper(bytes: &[u8], params: &SifParams) -> Vec<u64> {
    let (mut kept, mut at, width) = (Vec::new(), 0, params.window as usize);
    while at + width <= bytes.len() {
        let window = &bytes[at..at + width];
        let f = by_powers(window, params);
        let padding = window.iter().all(|&b| b == 0) || window.iter().all(|&b| b == 0x80);
        if f.is_multiple_of(1 << params.zeros) && !padding {
            kept.push(f >> params.zeros);
            at += width;
        } else {
            at += 1;
        }
    }
    kept
}

fn scanned(bytes: &[u8], params: &SifParams, size: usize) -> Vec<u64> {
    let (mut all, mut scanner) = (Vec::new(), SifScanner::new(*params));
    for piece in bytes.chunks(size) {
        scanner.update(piece, |f| all.push(f));
    }
    all
}

/// A prime that is 1 modulo 8. The following constants are primes that are 3, 5 and 7 modulo 8, and
/// 255 modulo 256.
const P_1: u32 = 917_097_817;
const P_3: u32 = 917_097_931;
const P_5: u32 = SifParams::MULTIPLIER;
const P_7: u32 = 917_097_967;
const P_255_OF_256: u32 = 917_100_799;

fn with(multiplier: u32) -> SifParams {
    SifParams {
        multiplier,
        ..SifParams::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn fingerprints_are_the_papers(
        bytes in contents(),
        window in 8u32..70,
        zeros in 1u32..6,
        bits in 30u32..33,
        multiplier in prop::sample::select(vec![P_1, P_3, P_5, P_7, P_255_OF_256]),
        size in 1usize..300,
    ) {
        let params = SifParams { window, zeros, bits, multiplier, most: None };
        prop_assert_eq!(scanned(&bytes, &params, size), by_the_paper(&bytes, &params));
    }
}

#[test]
fn the_default_is_5_modulo_8_and_prime() {
    assert_eq!(P_5 % 8, 5);
    assert!(SifParams::is_multiplier(P_5));
    assert_eq!(
        (P_1 % 8, P_3 % 8, P_7 % 8, P_255_OF_256 % 256),
        (1, 3, 7, 255)
    );
    for other in [0, 1, 2, 3, 25, P_1, P_3, P_7] {
        assert!(!SifParams::is_multiplier(other), "{other}");
    }
    assert!(SifParams::is_multiplier(5) && SifParams::is_multiplier(13));
}

#[test]
fn p_7_modulo_8_keeps_50_blanks_and_3_and_7_keep_50_at_signs() {
    let kept = |p, byte: u8| scanned(&[byte; 50], &with(p), 50).len();
    assert_eq!([P_1, P_3, P_5, P_7].map(|p| kept(p, b' ')), [0, 0, 0, 1]);
    assert_eq!([P_1, P_3, P_5, P_7].map(|p| kept(p, b'@')), [0, 1, 0, 1]);
    // Runs of other common bytes have no kept fingerprint.
    assert_eq!(
        kept(P_5, b'_') + kept(P_5, b'-') + kept(P_5, b'=') + kept(P_5, b'*'),
        0
    );
}

#[test]
fn nul_and_0x80_would_be_kept_with_every_p_and_are_passed_over() {
    for p in [P_1, P_3, P_5, P_7] {
        let selected: Vec<u8> = (0..=255)
            .filter(|&byte| by_powers(&[byte; 50], &with(p)).is_multiple_of(256))
            .collect();
        assert!(
            selected.contains(&0) && selected.contains(&0x80),
            "{p}: {selected:?}"
        );
        assert_eq!(scanned(&[0; 5000], &with(p), 5000), []);
        assert_eq!(scanned(&[0x80; 5000], &with(p), 5000), []);
        if p == P_5 {
            assert_eq!(selected, [0, 0x80]);
        }
    }
    // A window in which a single byte differs is not padding.
    let mut almost = vec![0; 49];
    almost.push(1);
    let params = SifParams {
        zeros: 0,
        ..with(P_5)
    };
    assert_eq!(scanned(&almost, &params, 7), [1]);
}

#[test]
fn seventy_underlines_give_one_fingerprint_at_most() {
    let underlines = |count| scanned(&vec![b'_'; count], &with(P_255_OF_256), 33).len();
    assert_eq!(
        [49, 50, 70, 99, 100, 1000].map(underlines),
        [0, 1, 1, 1, 2, 20]
    );
    // All of the 21 windows have the required zeros, but only one fingerprint is kept.
    assert_eq!(by_powers(&[b'_'; 50], &with(P_255_OF_256)) % 256, 0);
}

#[test]
fn there_are_three_or_four_fingerprints_a_kilobyte() {
    for bytes in [prose(200_000, 1), noise(1_000_000, 2)] {
        let rate = scanned(&bytes, &SifParams::default(), 65_536).len() as f64 * 1024.0
            / bytes.len() as f64;
        // The expected number is 1024 / (256 + 50 - 1) = 3.36.
        assert!((3.2..3.5).contains(&rate), "{rate}");
    }
}

#[test]
fn fingerprints_have_bits_less_zeros() {
    for bits in 30..=32 {
        let params = SifParams {
            bits,
            ..SifParams::default()
        };
        let all = scanned(&noise(2_000_000, 3), &params, 65_536);
        let greatest = all.iter().max().expect("some");
        assert_eq!(64 - greatest.leading_zeros(), bits - 8);
    }
}

/// Tests an observation of the paper: "It matched with 160% similarity another file that happened
/// to contain two slightly different versions."
#[test]
fn two_versions_in_one_file_are_more_than_all_of_the_query() {
    let params = MethodParams::paper(Method::Sif);
    let query = prose(4000, 4);
    let second = [&query[..query.len() * 3 / 5], &prose(1500, 5)].concat();
    let folder = [&prose(500, 6)[..], &query, &prose(500, 7), &second].concat();
    let scores = score(&params, &sign(&params, &query), &sign(&params, &folder));
    let figure = scores.score.value().expect("large enough");
    assert!((1.5..1.7).contains(&figure), "{figure}");
    assert!(
        scores
            .a_in_b
            .expect("a measure")
            .value()
            .expect("large enough")
            <= 1.0
    );
    let back = score(&params, &sign(&params, &folder), &sign(&params, &query));
    assert!(back.score.value().expect("large enough") < 0.6);
}

#[test]
fn density_by_size_bounds_a_signature_and_misses_small_files_inside() {
    let settings = Settings {
        most: Some(64),
        ..Settings::default()
    };
    let dense = MethodParams::paper(Method::Sif);
    let thin = MethodParams::new(Method::Sif, &settings).expect("in range");
    let large = prose(300_000, 8);
    let signature = sign(&thin, &large);
    assert!((20..=64).contains(&signature.len()), "{}", signature.len());
    // At the level of the large file, no fingerprint of the small file is left.
    let small = &large[1_000_000..1_003_000];
    let figure = |params: &MethodParams, a: &[u8], b: &[u8]| {
        score(params, &sign(params, a), &sign(params, b)).score
    };
    assert!(figure(&dense, small, &large).value().expect("enough") > 0.8);
    assert_eq!(figure(&thin, small, &large), Judged::TooSmall);
    // Two large files can still be compared.
    let half = figure(&thin, &large[..large.len() / 2], &large)
        .value()
        .expect("enough");
    assert!(half > 0.9, "{half}");
}
