//! Compares the measures with naive implementations of their definitions.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::similarity::{CommonShingles, Template};
use crate::words::canonical;

/// Returns the words of a text. Scripts without blanks would need more code, but no test has such
/// scripts.
fn words(text: &str) -> Vec<String> {
    let canonical = String::from_utf8(canonical(text.as_bytes())).expect("UTF-8");
    canonical.split_whitespace().map(str::to_owned).collect()
}

/// Like `shingles` in the accuracy scripts: every shingle of the words, in order.
fn shingles(words: &[String]) -> Vec<&[String]> {
    if words.is_empty() {
        return Vec::new();
    }
    words.windows(SHINGLE.min(words.len())).collect()
}

/// Like `cover_words` in the accuracy scripts: the number of words of a that are covered by b.
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

/// Makes a template of the shingles that these texts have in common.
fn marked(texts: &[&str]) -> Templates {
    let mut common = CommonShingles::new(texts.len(), 1.0);
    for text in texts {
        common.add(Some(text.as_bytes()));
    }
    let mut templates = Templates::new(&Params::default());
    templates.add(&Template {
        shingles: common.found(),
        ..Template::default()
    });
    templates
}

/// Returns for each word of a text whether it is in one of these shingles.
fn lie_in(text: &[String], runs: &HashSet<&[String]>) -> Vec<bool> {
    let mut lie = vec![false; text.len()];
    for (at, shingle) in shingles(text).into_iter().enumerate() {
        if runs.contains(shingle) {
            lie[at..at + shingle.len()].fill(true);
        }
    }
    lie
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
    /// A word in five consecutive words of a template is neither shared nor missing. The shingle of
    /// those five words is in no set.
    #[test]
    fn what_is_template_is_neither_shared_nor_missing(
        frames in prop::collection::vec(text(), 1..4),
        a in text(),
        b in text(),
        piece in text(),
    ) {
        let a = format!("{} {a} {piece}", frames.concat());
        let b = format!("{piece} {b} {}", frames.join(" "));
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        let templates = marked(&frames);
        let of_frames: Vec<Vec<String>> = frames.iter().map(|text| words(text)).collect();
        let sets = |words| shingles(words).into_iter().collect::<HashSet<_>>();
        let mut template = sets(&of_frames[0]);
        for other in &of_frames[1..] {
            let other = sets(other);
            template.retain(|run| other.contains(run));
        }
        let (one, other) = (words(&a), words(&b));
        let (in_a, in_b) = (sets(&one), sets(&other));
        let count = |of: &[String], them: &HashSet<&[String]>| {
            let (out, covered) = (lie_in(of, &template), lie_in(of, them));
            let left = out.iter().filter(|&&out| !out).count() as u64;
            let shared = out.iter().zip(&covered).filter(|&(&out, &is)| is && !out).count();
            (left, shared as u64)
        };
        let ((words_a, covered_a), (words_b, covered_b)) =
            (count(&one, &in_b), count(&other, &in_a));
        let distinct = |of: &HashSet<&[String]>| of.difference(&template).count() as u64;
        let of = |text: &str| ShingledText::without(templates.shingles(), &[text.as_bytes()]);
        let found = CommonText::of(&of(&a), &of(&b));
        prop_assert_eq!(found.words, (words_a, words_b));
        prop_assert_eq!(found.covered, (covered_a, covered_b));
        prop_assert_eq!(found.distinct, (distinct(&in_a), distinct(&in_b)));
        let shared: HashSet<&[String]> = in_a.intersection(&in_b).copied().collect();
        prop_assert_eq!(found.shared, distinct(&shared));

        // The bytes without templates have exactly the words that no template covers, in the same
        // order.
        let payload = templates.payload(a.as_bytes()).into_owned();
        let out = lie_in(&one, &template);
        let kept = one.iter().zip(&out).filter(|&(_, &out)| !out).map(|(word, _)| word.clone());
        prop_assert_eq!(words(&String::from_utf8_lossy(&payload)), kept.collect::<Vec<_>>());

        // All other measures are the measures of the remaining words.
        let provable = |text: &str| {
            Provable::without(&templates, ContentKind::Text, text.as_bytes().to_vec())
        };
        let (one, other) = (provable(&a), provable(&b));
        let are_equal = one.bytes() == other.bytes();
        prop_assert_eq!(one.size(), ByteLen(payload.len() as u64));
        let sizes = (one.size(), other.size());
        let proven = one.measure(&other, Unit::Words);
        prop_assert_eq!(proven.measures, found.measures(sizes));
        prop_assert_eq!(other.measure(&one, Unit::Words), proven.swapped());
        let member = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            ProvableMembers::without(&templates, vec![(ContentKind::Text, bytes)])
        };
        let (one, other) = (member(&a), member(&b));
        prop_assert_eq!((one.size(), other.size()), sizes);
        let held = one.measure(&other, Unit::Words).measures;
        let close = |one: Option<Score>, other: Option<Score>| match (one, other) {
            (Some(one), Some(other)) => (one.get() - other.get()).abs() < 1e-5,
            (one, other) => one == other,
        };
        prop_assert!(close(held.a_in_b, proven.measures.a_in_b) || are_equal);
    }

    #[test]
    fn words_are_measured_by_the_definition(
        a in text(),
        b in text(),
        from in 0usize..100,
        take in 0usize..100,
    ) {
        // The second text contains a piece of the first.
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
        // Exchanging the texts exchanges the sides of the measure.
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

/// A sample represents the nearest words. So the share of a header depends on its number of words,
/// not on the number of its samples.
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
