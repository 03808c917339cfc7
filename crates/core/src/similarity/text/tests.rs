//! Comparison of texts.
#![allow(clippy::float_cmp)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use resemble_testutil::prose::words;

use super::*;
use crate::similarity::proof::{CommonText, ShingledText};
use crate::similarity::{CommonShingles, Template, Templates};

/// Converts texts to the chains that several of them have. Also returns the frequency of each
/// chain.
fn numbered(texts: &[&str]) -> (Vec<Text>, Vec<Commonness>) {
    numbered_without(&TemplateShingles::default(), texts)
}

/// Like [`numbered`], without the template.
fn numbered_without(template: &TemplateShingles, texts: &[&str]) -> (Vec<Text>, Vec<Commonness>) {
    let mut read: Vec<ReadText> = texts
        .iter()
        .map(|text| TextCutter::default().read(text.as_bytes(), template))
        .collect();
    let seen = SeenShingles::for_bytes(texts.iter().map(|text| text.len() as u64).sum());
    for text in &read {
        seen.note(text.shingles());
    }
    let mut holders: BTreeMap<u64, (BTreeSet<usize>, u32)> = BTreeMap::new();
    for (at, text) in read.iter_mut().enumerate() {
        text.forget_lone(&seen);
        for &shingle in text.shingles() {
            let (texts, times) = holders.entry(shingle).or_default();
            texts.insert(at);
            *times += 1;
        }
    }
    holders.retain(|_, (texts, _)| texts.len() > 1);
    let times: Vec<u32> = holders.values().map(|&(_, times)| times).collect();
    let contents: Vec<u32> = holders
        .values()
        .map(|(texts, _)| texts.len() as u32)
        .collect();
    let number: BTreeMap<u64, u32> = holders.keys().copied().zip(0..).collect();
    let texts = read.into_iter().map(|text| {
        let numbers = text.shingles().iter();
        let numbers = numbers.map(|shingle| number.get(shingle).map_or(0, |number| number + 1));
        let numbers: Vec<u32> = numbers.collect();
        text.numbered(numbers)
    });
    let texts: Vec<NumberedText> = texts.collect();
    let chains = Chains::of(texts.iter(), &times);
    let common = chains.firsts().iter().zip(chains.lengths());
    let common = common.map(|(&first, &shingles)| Commonness {
        shingles,
        texts: contents[first as usize],
        contents: contents[first as usize],
    });
    let common: Vec<Commonness> = common.collect();
    let texts = texts.into_iter();
    let texts = texts.map(|text| text.chained(&chains, |chain| common[chain as usize].texts));
    (texts.collect(), common)
}

/// The common part of texts is one chain, unless one of the texts also has a part of it elsewhere.
#[test]
fn shingles_that_never_stand_apart_are_a_chain() {
    let run = words(0, 30);
    let own = |at: usize| words(1000 + 100 * at, 20);
    let whole = |at: usize| format!("{}{run}{}", own(at), own(at + 50));
    let lengths = |texts: &[&str]| {
        let (_, common) = numbered(texts);
        let lengths = common.iter().map(|common| (common.shingles, common.texts));
        lengths.collect::<Vec<_>>()
    };
    assert_eq!(lengths(&[&whole(1), &whole(2)]), [(26, 2)]);
    let part = format!("{}{}", own(3), words(10, 12));
    let texts = [whole(1), whole(2), part];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(lengths(&texts), [(10, 2), (8, 3), (8, 2)]);
    // A chain ends where its continuation differs, or where a text has shingles of its own.
    let twice = format!("{run}{run}");
    assert_eq!(lengths(&[&twice, &whole(1)]), [(26, 2)]);
    assert_eq!(lengths(&[&twice, &twice]), [(26, 2), (4, 2)]);
}

fn proof(a: &str, b: &str) -> Proof {
    proof_among(&[a, b])
}

/// Returns the comparison of the first two texts.
fn proof_among(texts: &[&str]) -> Proof {
    proof_of(numbered(texts))
}

fn proof_of((texts, common): (Vec<Text>, Vec<Commonness>)) -> Proof {
    let mut table = Table::new(1000);
    table.lay(&texts[0], |chain| common[chain as usize]);
    table.compare(&texts[0], &texts[1])
}

fn shares(proof: &Proof) -> (f64, f64) {
    let (covered, words) = (proof.common.covered, proof.common.words);
    (share(covered.0, words.0), share(covered.1, words.1))
}

#[test]
fn a_text_in_another_is_covered_whole() {
    let (part, rest) = (words(0, 100), words(5000, 300));
    let found = proof(&part, &format!("{rest}{part}{rest}"));
    assert_eq!(shares(&found), (1.0, 100.0 / 700.0));
    assert_eq!(found.common.longest, 800);
    assert!(found.is_evidence());
}

#[test]
fn a_phrase_is_no_evidence() {
    let phrase = "permission is hereby granted free of charge ";
    let found = proof(
        &format!("{}{phrase}", words(0, 200)),
        &format!("{phrase}{}", words(900, 200)),
    );
    assert_eq!(found.common.longest as usize, phrase.len());
    assert!(found.containment() < 0.05, "{found:?}");
    assert!(!found.is_evidence());
}

/// All rows of all dumps begin with the same words.
#[test]
fn what_both_repeat_is_no_evidence() {
    let dump = |from: usize| -> String {
        let row = |at: usize| format!("{}{}", words(90_000, 12), words(from + 9 * at, 9));
        (0..40).map(row).collect()
    };
    let found = proof(&dump(0), &dump(5000));
    assert!(
        found.common.longest >= 64 && shares(&found).0 > 0.5,
        "{found:?}"
    );
    assert!(!found.is_evidence());
    assert!(proof(&dump(0), &dump(180)).is_evidence());
    // The repeated piece is no evidence for a text that has it only once, either.
    let once = format!("{}{}", words(90_000, 12), words(7000, 400));
    assert!(!proof(&dump(0), &once).is_evidence());
    assert!(!proof(&once, &dump(0)).is_evidence());
}

/// Records with the same keys share short runs by chance.
#[test]
fn records_need_a_long_run() {
    let record = |at: usize, city: usize| -> String {
        let (name, city) = (words(at, 1), words(80_000 + city, 1));
        format!(
            "id {at} name {name}city {city}year 2024 month {} mail {name}\n",
            at % 12
        )
    };
    let records = |from: usize| -> String {
        (from..from + 300)
            .map(|at| record(at, at * at % 40))
            .collect()
    };
    let found = proof(&records(1000), &records(2001));
    assert!(
        shares(&found).0 >= 0.1 && found.scattered >= 140.0,
        "{found:?}"
    );
    assert!(!found.is_evidence());
    assert!(proof(&records(1000), &records(1100)).is_evidence());
}

#[test]
fn what_many_have_is_no_evidence() {
    let heading = words(7, 12);
    let texts: Vec<String> = (1..400)
        .map(|at| format!("{heading}{}", words(at * 300, 120)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = proof_among(&texts);
    assert!(found.common.longest >= 64 && found.rare < RARE, "{found:?}");
    assert!(!found.is_evidence());
    assert!(found.kinship < 0.01, "{found:?}");
}

/// Returns the number of shared shingles over the number of shingles that at least one text has.
fn resemblance(proof: &Proof) -> f64 {
    let (shared, distinct) = (proof.common.shared, proof.common.distinct);
    share(shared, distinct.0 + distinct.1 - shared)
}

#[test]
fn no_words_and_few_words() {
    assert!(!proof("", "").is_evidence());
    assert_eq!(resemblance(&proof(" .-", "a b c")), 0.0);
    let same = proof("One, two", "one TWO");
    assert_eq!(shares(&same), (1.0, 1.0));
    assert_eq!((resemblance(&same), same.common.longest), (1.0, 8));
}

/// A Han character has three bytes, so a run of 24 such characters is long.
#[test]
fn a_run_is_measured_in_bytes() {
    let han = |from: u32, count: u32| -> String {
        let letters = (from..from + count).filter_map(|n| char::from_u32(0x4e00 + n));
        letters.collect()
    };
    let run = han(10_000, 24);
    let of = |from| format!("{}{run}{}", han(from, 150), han(from + 500, 150));
    let found = proof(&of(0), &of(2000));
    assert!(
        found.common.longest >= 64 && found.containment() < 0.1,
        "{found:?}"
    );
    assert!(found.is_evidence());
    assert!(!proof(&han(0, 200), &han(3000, 200)).is_evidence());
}

/// A partly reworded text shares many short runs with the original.
#[test]
fn many_short_runs_are_evidence() {
    let (mut one, mut other) = (String::new(), String::new());
    for at in 0..30 {
        one.push_str(&words(1000 + at * 20, 12));
        other.push_str(&words(1000 + at * 20, 6));
        other.push_str(&words(9000 + at * 20, 6));
    }
    let found = proof(&one, &other);
    assert!(found.common.longest < 64, "{found:?}");
    assert!(found.is_evidence(), "{found:?}");
}

/// A phrase that one text repeats is a long run in that text only.
#[test]
fn repetition_makes_no_run() {
    let phrase = "no no no no no no ";
    let found = proof(
        &format!("{}{}", words(0, 300), phrase.repeat(40)),
        &format!("{phrase}{}", words(900, 300)),
    );
    assert!(!found.is_evidence(), "{found:?}");
}

proptest! {
    /// A comparison by a table gives the same counts as a comparison of two texts.
    #[test]
    fn a_table_says_what_two_texts_say(
        a in "([a-cA-C_é]{1,3}[ .]){0,60}",
        b in "([a-cA-C_é]{1,3}[ .]){0,60}",
        common in "([a-c]{1,2} ){0,40}",
        frame in "([a-c]{1,2} ){0,40}",
    ) {
        let (a, b) = (format!("{a}{common}{frame}"), format!("{frame}{common}{b}"));
        let mut marked = CommonShingles::new(1, 1.0);
        marked.add(Some(frame.as_bytes()));
        let mut templates = Templates::default();
        templates.add(&Template {
            shingles: marked.found(),
            ..Template::default()
        });
        let found = proof_of(numbered_without(templates.shingles(), &[&a, &b]));
        let of = |text: &str| ShingledText::without(templates.shingles(), &[text.as_bytes()]);
        let two = CommonText::of(&of(&a), &of(&b));
        prop_assert_eq!(found.common, two);
    }

    /// `Table::candidate`, which does not always walk the laid-out text, agrees with the whole
    /// comparison.
    #[test]
    fn a_candidate_is_what_a_whole_comparison_says(
        runs in prop::collection::vec((0usize..40, 1usize..40, any::<bool>()), 1..12),
        many in 0usize..90,
    ) {
        let (mut a, mut b) = (words(0, 120), String::new());
        for (number, &(at, length, is_repeated)) in runs.iter().enumerate() {
            b.push_str(&words(at * 3, length));
            b.push_str(&words(20_000 + 100 * number, 40));
            if is_repeated {
                a.push_str(&words(at * 3, length));
            }
        }
        // The other texts begin like `a`. The more such texts there are, the weaker the beginning
        // is as evidence.
        let others: Vec<String> = (0..many)
            .map(|at| format!("{}{}", words(0, 40), words(50_000 + at * 300, 20)))
            .collect();
        let texts = [&a[..], &b].into_iter().chain(others.iter().map(String::as_str));
        let texts: Vec<&str> = texts.collect();
        let (texts, common) = numbered(&texts);
        for (one, other) in [(0, 1), (1, 0)] {
            let mut table = Table::new(80);
            table.lay(&texts[one], |chain| common[chain as usize]);
            let whole = table.compare(&texts[one], &texts[other]);
            let found = table.candidate(&texts[one], &texts[other]);
            prop_assert_eq!(found, whole.is_candidate().then_some(whole));
        }
    }

    #[test]
    fn runs_of_distinct_words_are_all_found(
        blocks in prop::collection::vec((0usize..6, 3usize..30), 1..6),
    ) {
        // b consists of pieces of a and of other words.
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
        prop_assert!((shares(&found).1 - covered as f64 / total as f64).abs() < 1e-9);
    }
}
