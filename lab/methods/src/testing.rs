//! Test data for the tests of several methods.

use proptest::prelude::*;

use crate::feature::{Feature, Features};
use crate::features::FeatureExtractor;
use crate::shingles::mix;
use crate::{Method, MethodParams, Settings};

/// Returns the random number with index `i` in the stream of this seed.
pub(crate) fn random(seed: u64, i: u64) -> u64 {
    mix(mix(seed).wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Returns a text of random words, which are hardly ever repeated.
pub(crate) fn prose(words: u64, seed: u64) -> Vec<u8> {
    (0..words)
        .flat_map(|i| {
            let number = random(seed, i);
            let letters = 2 + number % 8;
            (0..letters)
                .map(move |at| b'a' + (random(number, at) % 26) as u8)
                .chain([if i % 9 == 8 { b'\n' } else { b' ' }])
        })
        .collect()
}

/// Returns random bytes.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64).map(|i| random(seed, i) as u8).collect()
}

/// Returns the parameters of each paper. For most methods, also returns smaller parameters, so that
/// every case occurs in short texts.
pub(crate) fn all_params() -> Vec<MethodParams> {
    let mut all: Vec<MethodParams> = Method::ALL.map(MethodParams::paper).into();
    let set = |method, settings: Settings| MethodParams::new(method, &settings).expect("in range");
    let fine = Settings {
        rate: Some(4),
        ..Settings::default()
    };
    for method in [Method::Bsw, Method::BswMin, Method::Mod, Method::Sif] {
        all.push(set(method, fine.clone()));
    }
    for method in [Method::BswMin, Method::Mod, Method::Min, Method::Sketch] {
        let words = Settings {
            words: Some(2),
            n: Some(3),
            canonical: crate::canonical::Canonical::Code,
            ..Settings::default()
        };
        all.push(set(method, words));
    }
    for (method, n, sizes) in [
        (Method::Shingle, None, None),
        (Method::Shingle, Some(5), None),
        (Method::Shingle, None, Some(3)),
        (Method::SuperShingle, None, None),
    ] {
        let is_mod = n.is_none() && sizes.is_none();
        let small = Settings {
            words: Some(2),
            rate: is_mod.then_some(3),
            n,
            sizes,
            seed: Some(std::sync::Arc::new(crate::shingle::Seed::new("s"))),
            ..Settings::default()
        };
        all.push(set(method, small));
    }
    let small_chunks = Settings {
        rate: Some(60),
        ..Settings::default()
    };
    all.push(set(Method::Tttd, small_chunks));
    let documents = Settings {
        canonical: crate::canonical::Canonical::Text,
        ..Settings::default()
    };
    all.push(set(Method::Tttd, documents));
    let dense = Settings {
        rate: Some(2),
        most: Some(16),
        window: Some(8),
        ..Settings::default()
    };
    all.push(set(Method::Sif, dense));
    all
}

/// Returns the features of bytes that are passed in these pieces.
pub(crate) fn features_of_pieces<'a>(
    params: &MethodParams,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Features {
    let mut all: Vec<Feature> = Vec::new();
    let mut extractor = FeatureExtractor::new(params);
    for piece in pieces {
        extractor.update(piece, &mut |feature| all.push(feature));
    }
    extractor.finish(&mut |feature| all.push(feature));
    Features(all)
}

/// Generates bytes like those of files: prose, noise, runs of one byte.
pub(crate) fn contents() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        (1u64..200, 0u64..4).prop_map(|(words, seed)| prose(words, seed)),
        (1usize..800, 0u64..4).prop_map(|(len, seed)| noise(len, seed)),
        (1usize..800, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
        prop::collection::vec(prop::sample::select(b"ab /*\"1".to_vec()), 0..200),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}
