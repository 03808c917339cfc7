//! The measures against their definitions, computed as plainly as they are written.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::words::canonical;

/// The words of a text; none of the tests' has a script without blanks.
fn words(text: &str) -> Vec<String> {
    let canonical = String::from_utf8(canonical(text.as_bytes())).expect("UTF-8");
    canonical.split_whitespace().map(str::to_owned).collect()
}

/// `Shingles` of the accuracy scripts, in order.
fn shingles(words: &[String]) -> Vec<&[String]> {
    if words.is_empty() {
        return Vec::new();
    }
    words.windows(SHINGLE.min(words.len())).collect()
}

/// `cover_words` of the accuracy scripts: the covered words of a.
fn cover_words(a: &[String], b: &[String]) -> u64 {
    let of_b: HashSet<&[String]> = shingles(b).into_iter().collect();
    let (mut covered, mut end) = (0, 0);
    for (at, shingle) in shingles(a).into_iter().enumerate() {
        if of_b.contains(shingle) {
            let last = (at + SHINGLE).min(a.len());
            covered += last - at.max(end);
            end = last;
        }
    }
    covered as u64
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["a", "b", "C", "dd", "é", "Мир", "x_1", "дом\u{301}"]);
    let gap = prop::sample::select(vec![" ", "\n", ", ", " - "]);
    let words = prop::collection::vec((word, gap), 0..120);
    words.prop_map(|all| {
        all.into_iter()
            .flat_map(|(word, gap)| [word, gap])
            .collect()
    })
}

proptest! {
    #[test]
    fn words_are_measured_by_the_definition(
        a in text(),
        b in text(),
        from in 0usize..100,
        take in 0usize..100,
    ) {
        // The second has a piece of the first.
        let piece: String = a.chars().skip(from).take(take).collect();
        let b = format!("{b} {piece}");
        let (one, other) = (words(&a), words(&b));
        let (sa, sb) = (ShingledText::of(a.as_bytes()), ShingledText::of(b.as_bytes()));
        let found = CommonText::of(&sa, &sb);
        prop_assert_eq!(found.words, (one.len() as u64, other.len() as u64));
        prop_assert_eq!(found.covered, (cover_words(&one, &other), cover_words(&other, &one)));
        let sets = |words| shingles(words).into_iter().collect::<HashSet<_>>();
        let (in_a, in_b) = (sets(&one), sets(&other));
        prop_assert_eq!(found.distinct, (in_a.len() as u64, in_b.len() as u64));
        prop_assert_eq!(found.shared, in_a.intersection(&in_b).count() as u64);
        // Sides exchange with their texts.
        let swapped = CommonText::of(&sb, &sa);
        prop_assert_eq!(swapped.covered, (found.covered.1, found.covered.0));
        prop_assert_eq!(swapped.bytes, (found.bytes.1, found.bytes.0));
        let sizes = (ByteLen(a.len() as u64), ByteLen(b.len() as u64));
        prop_assert_eq!(
            swapped.measures((sizes.1, sizes.0)),
            found.measures(sizes).swapped()
        );
        let measures = found.measures(sizes);
        prop_assert!(measures.shared_bytes <= sizes.0.min(sizes.1));
    }
}

#[test]
fn the_same_words_are_the_same_text_and_no_whole() {
    let text = resemble_testutil::prose::words(0, 200);
    let wrapped = text.to_uppercase().replace(' ', "\n");
    let (a, b) = (
        ShingledText::of(text.as_bytes()),
        ShingledText::of(wrapped.as_bytes()),
    );
    let found = CommonText::of(&a, &b);
    assert!(found.is_same);
    let size = ByteLen(text.len() as u64);
    let measures = found.measures((size, size));
    assert_eq!(measures.a_in_b, Some(Score::ALL_BUT_IDENTICAL));
    assert_eq!(measures.resemblance, Some(Score::ALL_BUT_IDENTICAL));
    assert_eq!(measures.shared_bytes, size);
    let other = text.replacen(' ', " not ", 1);
    assert!(!CommonText::of(&a, &ShingledText::of(other.as_bytes())).is_same);
}

#[test]
fn one_long_word_is_one_word() {
    let long = "0123456789abcdef".repeat(8);
    let prose = |from| resemble_testutil::prose::words(from, 60);
    let text = |from| format!("{} {long} {}", prose(from), prose(from + 5000));
    let (a, b) = (text(0), text(20_000));
    let common = CommonText::of(
        &ShingledText::of(a.as_bytes()),
        &ShingledText::of(b.as_bytes()),
    );
    assert_eq!((common.shared, common.covered), (0, (0, 0)));
}

#[test]
fn few_words_are_one_shingle() {
    let of = |text: &str| ShingledText::of(text.as_bytes());
    let found = CommonText::of(&of("One two three"), &of("one TWO three!"));
    assert_eq!((found.shared, found.covered), (1, (3, 3)));
    let found = CommonText::of(&of("one two three"), &of("one two three four five six"));
    assert_eq!(found.covered, (0, 0));
    let found = CommonText::of(&of(""), &of("one two three four five six"));
    assert_eq!((found.covered, found.words), ((0, 0), (0, 6)));
}

/// A sample speaks for the words that stand nearest to it: what is said of a header is said of as
/// many words as it has, whatever the number of its samples.
#[test]
fn a_header_is_as_long_as_its_words() {
    for seed in 0..20 {
        let header = resemble_testutil::prose::words(1000 * seed, 300);
        let text = format!(
            "{header}{}",
            resemble_testutil::prose::words(50_000 + 1000 * seed, 200)
        );
        let samples = |text: &str| {
            let params = &Params::default().shingles;
            let (signature, _) = crate::words::sample(text.as_bytes(), params);
            signature.expect("a text")
        };
        let (of_header, of_all) = (samples(&header), samples(&text));
        let of_header: HashSet<Fingerprint> = of_header.at_level(of_all.level).collect();
        let text = ShingledText::of(text.as_bytes());
        let worth = |sample| f64::from(u8::from(of_header.contains(&sample)));
        let share = text.share_nearest(of_all.level, worth);
        assert!((share - 0.6).abs() < 0.06, "{share}");
        assert!((text.share_nearest(of_all.level, |_| 1.0) - 1.0).abs() < 1e-9);
        assert!(text.share_nearest(of_all.level, |_| 0.0) < 1e-9);
        assert!(text.share_nearest(60, |_| 1.0) < 1e-9, "there is no sample");
    }
}
