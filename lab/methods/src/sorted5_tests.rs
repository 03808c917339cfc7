use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::select::sign;
use crate::signature::Form;
use crate::vocabulary::Dictionary;
use crate::{
    FeatureExtractor, Judged, Method, MethodParams, MethodSignature, Scheme, Settings, Signer,
    Supplies, score,
};

fn of_bits(bits: u32) -> (MethodParams, Sorted5Params) {
    let settings = Settings {
        bits: Some(bits),
        ..Settings::default()
    };
    let params = MethodParams::new(Method::Sorted5, &settings).expect("right");
    let Scheme::Sorted5(own) = params.scheme.clone() else {
        unreachable!()
    };
    (params, own)
}

fn values(signature: &MethodSignature) -> &[(u64, u64)] {
    match &signature.0 {
        Form::Counted { fingerprints, .. } => fingerprints,
        _ => panic!("another form"),
    }
}

/// Tests the example of section 2.2: the paragraph "Additionaly, we sort…" and its four chunks.
#[test]
fn the_chunks_of_the_papers_own_paragraph() {
    let text = "Additionaly, we sort the words inside each chunk. This at the first sight may look";
    let params = Sorted5Params::default();
    let mut sorted = Sorted::new(&params);
    let mut all = Vec::new();
    let mut sink = |run: &WordRing| {
        let words: Vec<&[u8]> = run.words().collect();
        all.push(String::from_utf8(words.join(&b' ')).expect("ASCII"));
    };
    sorted.update(text.as_bytes(), &mut sink);
    sorted.finish(&mut sink);
    assert_eq!(
        all[..4],
        [
            "additionaly sort the we words",
            "inside sort the we words",
            "each inside sort the words",
            "chunk each inside the words",
        ]
    );
    assert_eq!(all.len(), 15 - 4);
    // The expected hashes are from another implementation of MD5: printf 'additionaly sort the we
    // words' | md5sum.
    let mut hashes = Vec::new();
    let mut chunker = SortedChunker::new(&params);
    chunker.update(text.as_bytes(), &mut |hash| hashes.push(hash));
    chunker.finish(&mut |hash| hashes.push(hash));
    assert_eq!(hashes.len(), 11);
    assert_eq!(format!("{:016x}", hashes[0]), MD5_OF_THE_FIRST);
}

const MD5_OF_THE_FIRST: &str = "531cfe941d41d4c2";

#[test]
fn words_that_change_places_make_no_difference_within_a_chunk() {
    let (params, own) = of_bits(24);
    let (a, b) = (b"one two three four five", b"five one four two three");
    assert_eq!(
        exact(&own, a, b),
        Overlap {
            common: 1,
            a: 1,
            b: 1
        }
    );
    assert_eq!(sign(&params, a), sign(&params, b));
    assert!(sign(&params, b"one two three four").is_empty());
    // A document is a set of chunks, so a repeat counts once.
    let repeated = "one two three four five ".repeat(9);
    assert_eq!(sign(&params, repeated.as_bytes()).occurrences(), 1);
}

/// A document that is contained in a larger one has a similarity of 100 %. The reverse similarity
/// follows from the common count and the total of the larger document (section 2.1).
#[test]
fn similarity_is_of_the_first_document_and_the_reverse_follows() {
    let (params, _) = of_bits(28);
    let words: Vec<String> = (0..400).map(|i| format!("w{i}")).collect();
    let (template, thesis) = (words[..104].join(" "), words.join(" "));
    let (a, b) = (
        sign(&params, template.as_bytes()),
        sign(&params, thesis.as_bytes()),
    );
    let scores = score(&params, &a, &b);
    assert_eq!(scores.score, Judged::Value(1.0));
    assert_eq!(scores.b_in_a, Ok(Judged::Value(100.0 / 396.0)));
    assert_eq!(score(&params, &b, &a).score, Judged::Value(100.0 / 396.0));
}

/// The paper keeps a *set* of A's hashes, which may give less than the exact figure. Counts of A's
/// real chunks never give less.
#[test]
fn the_hashed_set_can_be_below_exact() {
    // Only the upper bits of the hashes are used, so the first two chunks of A have the same value.
    let (a, b) = ([0x0100u64, 0x01ff, 0x0200], [0x0100u64, 0x01ff]);
    let exact = overlap_of_sorted(&a, &b)
        .a_in_b()
        .value()
        .expect("a figure");
    let upper = |chunks: &[u64]| hashed(56, chunks.iter().copied());
    let set = |chunks: &[u64]| -> Vec<u64> { upper(chunks).into_iter().map(|v| v.0).collect() };
    let by_sets = overlap_of_sorted(&set(&a), &set(&b)).a_in_b().value();
    let by_real = overlap(&upper(&a), &upper(&b)).a_in_b().value();
    assert!((exact - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(by_sets, Some(0.5));
    assert_eq!(by_real, Some(exact));
}

#[test]
fn a_dictionary_leaves_words_out() {
    let dictionary = Arc::new(Dictionary::parse(b"one two three four five six"));
    let settings = Settings {
        dictionary: Some(Arc::clone(&dictionary)),
        ..Settings::default()
    };
    let params = MethodParams::new(Method::Sorted5, &settings).expect("right");
    let (a, b) = (
        &b"one two xxx three four five"[..],
        &b"one two three four five"[..],
    );
    assert_eq!(sign(&params, a), sign(&params, b));
    let id = params.to_string();
    let supplies = Supplies {
        dictionary: Some(dictionary),
        ..Supplies::default()
    };
    assert_eq!(MethodParams::parse_with(&id, &supplies), Ok(params));
    assert!(MethodParams::parse(&id, None).is_err());
}

#[test]
fn params_ids_are_read_back() {
    for (settings, id) in [
        (Settings::default(), "sorted5.words-5.bits-24.hash-md5.v1"),
        (
            Settings {
                bits: Some(12),
                hash: Some(ChunkHashing::Xxh3),
                stem: Some("german".parse().expect("a language")),
                ..Settings::default()
            },
            "sorted5.words-5.bits-12.hash-xxh3.stem-german.v1",
        ),
    ] {
        let params = MethodParams::new(Method::Sorted5, &settings).expect("right");
        assert_eq!(params.to_string(), id);
        assert_eq!(MethodParams::parse(id, None), Ok(params));
    }
    for bits in [7, 33] {
        let settings = Settings {
            bits: Some(bits),
            ..Settings::default()
        };
        assert!(MethodParams::new(Method::Sorted5, &settings).is_err());
    }
    assert!(MethodParams::parse("sorted5.words-5.bits-24.hash-sha1.v1", None).is_err());
}

/// Finds the chunks by a naive algorithm: by splitting a text into words, and sorting each run of
/// words.
fn naive(text: &str, words: usize) -> BTreeSet<Vec<&str>> {
    let all: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    all.windows(words)
        .map(|window| {
            let mut sorted = window.to_vec();
            sorted.sort_unstable();
            sorted
        })
        .collect()
}

proptest! {
    #[test]
    fn chunks_are_those_of_the_naive_reference(
        text in "([abc]{1,2} ){0,60}",
        words in 1u32..8,
        size in 1usize..50,
    ) {
        let own = Sorted5Params { words, ..Sorted5Params::default() };
        let found = chunks(&own, text.as_bytes());
        let found: BTreeSet<Vec<u8>> = found.into_iter().map(Vec::from).collect();
        let expected = naive(&text, words as usize);
        let expected: BTreeSet<Vec<u8>> =
            expected.into_iter().map(|words| words.join(" ").into_bytes()).collect();
        prop_assert_eq!(found, expected);
        // The text is read in pieces, twice in a row, with every hash function. The signature must
        // equal that of the whole text, and count its distinct chunks.
        for hash in ChunkHashing::ALL {
            let settings = Settings { words: Some(words), hash: Some(hash), ..Settings::default() };
            let params = MethodParams::new(Method::Sorted5, &settings).expect("right");
            let whole = sign(&params, text.as_bytes());
            let mut signer = Signer::new(&params);
            for _twice in 0..2 {
                for piece in text.as_bytes().chunks(size) {
                    signer.update(piece);
                }
                prop_assert_eq!(&signer.finish(), &whole);
            }
            let mut features = BTreeSet::new();
            let mut extractor = FeatureExtractor::new(&params);
            extractor.update(text.as_bytes(), &mut |feature| { features.insert(feature.value); });
            extractor.finish(&mut |feature| { features.insert(feature.value); });
            prop_assert_eq!(features.len() as u64, whole.occurrences(), "{}", hash);
        }
    }

    /// With 8 bits, nearly every chunk collides with another one.
    #[test]
    fn no_estimate_is_below_exact_and_none_above_the_whole(
        a in "([abcd]{1,2} ){0,200}",
        b in "([abcd]{1,2} ){0,200}",
        bits in prop::sample::select(vec![8u32, 10, 16, 24, 32]),
    ) {
        let (params, own) = of_bits(bits);
        let real = exact(&own, a.as_bytes(), b.as_bytes());
        let (sa, sb) = (sign(&params, a.as_bytes()), sign(&params, b.as_bytes()));
        let estimate = overlap(values(&sa), values(&sb));
        prop_assert_eq!((estimate.a, estimate.b), (real.a, real.b));
        prop_assert!(estimate.common >= real.common);
        prop_assert!(estimate.common <= real.a.min(real.b));
        let back = overlap(values(&sb), values(&sa));
        prop_assert_eq!((back.common, back.a, back.b), (estimate.common, estimate.b, estimate.a));
        prop_assert_eq!(MethodSignature::decode(&sa.encode()), Ok(sa));
    }

    #[test]
    fn values_are_counted_as_a_map_counts(
        chunks in prop::collection::btree_set(any::<u64>(), 0..200),
        bits in 8u32..=32,
    ) {
        let mut map = BTreeMap::new();
        for chunk in &chunks {
            *map.entry(chunk >> (64 - bits)).or_insert(0u64) += 1;
        }
        prop_assert_eq!(hashed(bits, chunks.iter().copied()), map.into_iter().collect::<Vec<_>>());
    }
}
