//! Texts held against each other.
#![allow(clippy::float_cmp)]

use proptest::prelude::*;

use resemble_testutil::prose::words;

use super::*;
use crate::similarity::proof::{CommonText, ShingledText};

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
    table.compare(&texts[0], &texts[1])
}

#[test]
fn a_text_in_another_is_covered_whole() {
    let (part, rest) = (words(0, 100), words(5000, 300));
    let found = proof(&part, &format!("{rest}{part}{rest}"));
    assert_eq!(found.a_in_b, 1.0);
    assert_eq!(found.longest, 800);
    assert!((found.b_in_a - 100.0 / 700.0).abs() < 1e-9);
    assert!(found.is_evidence());
}

#[test]
fn a_phrase_is_no_evidence() {
    let phrase = "permission is hereby granted free of charge ";
    let found = proof(
        &format!("{}{phrase}", words(0, 200)),
        &format!("{phrase}{}", words(900, 200)),
    );
    assert_eq!(found.longest as usize, phrase.len());
    assert!(found.a_in_b < 0.05 && found.b_in_a < 0.05, "{found:?}");
    assert!(!found.is_evidence());
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
    let found = table.compare(&texts[0], &texts[1]);
    assert!(found.longest >= 64 && found.rare < RARE, "{found:?}");
    assert!(!found.is_evidence());
    assert!(found.kinship < 0.01, "{found:?}");
}

#[test]
fn no_words_and_few_words() {
    assert_eq!(proof("", ""), Proof::default());
    assert_eq!(proof(" .-", "a b c").resemblance, 0.0);
    let same = proof("One, two", "one TWO");
    assert_eq!((same.resemblance, same.a_in_b, same.longest), (1.0, 1.0, 8));
}

proptest! {
    /// What is said of many texts along one is what is said of two.
    #[test]
    fn a_table_says_what_two_texts_say(
        a in "([a-cA-C_é]{1,3}[ .]){0,60}",
        b in "([a-cA-C_é]{1,3}[ .]){0,60}",
        common in "([a-c]{1,2} ){0,40}",
    ) {
        let (a, b) = (format!("{a}{common}"), format!("{common}{b}"));
        let found = proof(&a, &b);
        let of = |text: &str| ShingledText::of(text.as_bytes());
        let two = CommonText::of(&of(&a), &of(&b));
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        prop_assert_eq!(found.a_in_b, share(two.covered.0, two.words.0));
        prop_assert_eq!(found.b_in_a, share(two.covered.1, two.words.1));
        let union = two.distinct.0 + two.distinct.1 - two.shared;
        prop_assert_eq!(found.resemblance, share(two.shared, union));
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
            covered += if length >= 5 { length } else { 0 };
        }
        let found = proof(&a, &b);
        let total = b.len() / 8;
        prop_assert!((found.b_in_a - covered as f64 / total as f64).abs() < 1e-9);
    }
}
