//! Texts held against each other.
#![allow(clippy::float_cmp)]

use std::collections::HashSet;

use proptest::prelude::*;

use resemble_testutil::prose::words;

use super::*;

fn counted(texts: &mut [Text]) {
    let parts = (0..3).map(|part| ShingleCounts::of_part(texts.iter(), part, 3));
    let counts = ShingleCounts::join(parts.collect::<Vec<_>>());
    for text in texts {
        text.count(&counts);
    }
}

fn proof(a: &str, b: &str) -> Proof {
    let mut texts = [a, b].map(|text| Text::of(text.as_bytes()));
    counted(&mut texts);
    let mut table = Table::new(1000);
    table.lay(&texts[0]);
    table.compare(&texts[0], &texts[1], Unit::Words)
}

#[test]
fn a_text_in_another_is_covered_whole() {
    let (part, rest) = (words(0, 100), words(5000, 300));
    let found = proof(&part, &format!("{rest}{part}{rest}"));
    assert_eq!(found.a_in_b, 1.0);
    assert_eq!(found.longest, 800);
    assert!((found.b_in_a - 100.0 / 700.0).abs() < 1e-9);
    assert!(found.is_evidence(Unit::Bytes));
}

#[test]
fn a_phrase_is_no_evidence() {
    let phrase = "permission is hereby granted free of charge ";
    let found = proof(
        &format!("{}{phrase}", words(0, 200)),
        &format!("{phrase}{}", words(900, 200)),
    );
    assert_eq!(found.longest as usize, phrase.len());
    assert_eq!((found.a_in_b, found.b_in_a), (0.0, 0.0));
    assert!(!found.is_evidence(Unit::Bytes));
}

#[test]
fn what_many_have_is_no_evidence() {
    let heading = words(7, 12);
    let mut texts: Vec<Text> = (1..400)
        .map(|at| Text::of(format!("{heading}{}", words(at * 300, 120)).as_bytes()))
        .collect();
    counted(&mut texts);
    let mut table = Table::new(1000);
    table.lay(&texts[0]);
    let found = table.compare(&texts[0], &texts[1], Unit::Words);
    assert!(found.longest >= 64 && found.rare < RARE, "{found:?}");
    assert!(!found.is_evidence(Unit::Bytes));
    assert!(found.kinship < 0.01, "{found:?}");
}

#[test]
fn no_words_and_few_words() {
    assert_eq!(proof("", ""), Proof::default());
    assert_eq!(proof(" .-", "a b c").resemblance, 0.0);
    let same = proof("One, two", "one TWO");
    assert_eq!((same.resemblance, same.longest), (1.0, 8));
    assert!(!same.is_evidence(Unit::Bytes));
}

/// The distinct shingles of words on the raw bytes.
fn naive(text: &str) -> HashSet<Vec<String>> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let width = Params::SHINGLE.min(words.len().max(1));
    words.windows(width).map(<[String]>::to_vec).collect()
}

proptest! {
    #[test]
    fn resemblance_is_the_definition(
        // Few words, so that shingles repeat; letters beyond ASCII, so that both forms differ.
        a in "([a-cA-C_é]{1,3}[ .]){0,60}",
        b in "([a-cA-C_é]{1,3}[ .]){0,60}",
        common in "([a-c]{1,2} ){0,40}",
    ) {
        let (a, b) = (format!("{a}{common}"), format!("{common}{b}"));
        let found = proof(&a, &b);
        let (of_a, of_b) = (naive(&a), naive(&b));
        let shared = of_a.intersection(&of_b).count() as f64;
        let union = of_a.union(&of_b).count().max(1) as f64;
        prop_assert!((found.resemblance - shared / union).abs() < 1e-12);
        let words = (shared / of_a.len().max(1) as f64, shared / of_b.len().max(1) as f64);
        prop_assert!((found.words.0 - words.0).abs() < 1e-12);
        prop_assert!((found.words.1 - words.1).abs() < 1e-12);
    }

    #[test]
    fn runs_of_distinct_words_are_all_found(
        blocks in prop::collection::vec((0usize..6, 3usize..30), 1..6),
    ) {
        // b is made of pieces of a and of words of its own.
        let a = words(0, 240);
        let mut b = String::new();
        let mut covered = 0;
        for (number, &(at, length)) in blocks.iter().enumerate() {
            b.push_str(&words(10_000 + 100 * number, 7));
            b.push_str(&words(at * 40, length));
            covered += if length >= 8 { length } else { 0 };
        }
        let found = proof(&a, &b);
        let total = b.len() / 8;
        prop_assert!((found.b_in_a - covered as f64 / total as f64).abs() < 1e-9);
    }
}
