//! `find --all` lists two files that have a passage in common, even if the passage is a small part
//! of both files.

use resemble_core::Relation;
use resemble_proto::message::{FindOptions, FindRow};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, listing};
use resemble_testutil::prose::paragraphs;
use resemble_testutil::random::Random;

use crate::scene::Scene;

fn found(scene: &Scene, name: &str, options: &FindOptions) -> Vec<FindRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let subject = scene.subject(name);
    let answer = find::find(&snapshot, &subject, &PathText::from(name), options);
    answer.expect("an answer").rows
}

/// Returns options that include rows without a relation.
fn every() -> FindOptions {
    FindOptions {
        all: true,
        ..FindOptions::default()
    }
}

fn names(rows: &[FindRow]) -> Vec<String> {
    let name = |row: &FindRow| row.path.as_path().file_name().map(ToOwned::to_owned);
    let names = rows.iter().filter_map(name);
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// Returns `words` words of a text, from the word number `from` on.
fn passage(text: &str, from: usize, words: usize) -> String {
    let all: Vec<&str> = text.split_whitespace().collect();
    all[from..from + words].join(" ")
}

/// Returns `count` words that depend on the seed.
fn words(seed: u64, count: usize) -> String {
    passage(&paragraphs(seed, count / 40 + 1), 0, count)
}

#[test]
fn a_quotation_inside_another_text_finds_its_source() {
    for seed in 0..20 {
        let source = words(1_000 * seed, 9_000);
        let quoted = passage(&source, seed as usize * 300, 80);
        let letter = format!(
            "{} {quoted} {}",
            words(1_000 * seed + 1, 250),
            words(1_000 * seed + 2, 250)
        );
        let files = [
            ("source", source),
            ("letter", letter),
            ("stranger", words(1_000 * seed + 3, 5_000)),
        ];
        let scene = Scene::of(&files);
        for (asked, other) in [("letter", "source"), ("source", "letter")] {
            let rows = found(&scene, asked, &every());
            assert_eq!(names(&rows), [other], "{seed}");
            assert_eq!(found(&scene, asked, &FindOptions::default()), []);
            assert_eq!((rows[0].relation, rows[0].estimate), (None, false));
            let shared = rows[0].shared_bytes as usize;
            assert!(
                shared.abs_diff(quoted.len()) < 20,
                "{shared} of {}",
                quoted.len()
            );
            // A listing has no entry for such a pair. An entry's name would show the share, which
            // is near zero.
            let snapshot = scene.index.snapshot().expect("a snapshot");
            let (entries, _) = listing(&snapshot, &scene.subject(asked), true).expect("a listing");
            assert_eq!(entries, []);
        }
    }
}

/// Common phrases that are short and scattered over two texts are not a passage, even if they have
/// many bytes in total.
#[test]
fn strangers_with_the_same_phrases_are_no_quotation() {
    let phrase = |n: u64| words(n, 6);
    let text = |seed: u64| {
        let parts = (0..40).map(|n| format!("{} {}", phrase(n), words(seed + n, 150)));
        parts.collect::<Vec<String>>().join(" ")
    };
    let scene = Scene::of(&[("a", text(5_000)), ("b", text(9_000))]);
    assert_eq!(found(&scene, "a", &every()), []);
}

/// A passage that many unrelated files have is not a quotation.
#[test]
fn boilerplate_is_no_quotation() {
    let notice = words(77, 60);
    let file = |n: u64| format!("{notice} {}", words(1_000 + n, 900));
    let named: Vec<(String, String)> = (0..400).map(|n| (n.to_string(), file(n))).collect();
    let files: Vec<(&str, String)> = named
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    let scene = Scene::of(&files);
    assert_eq!(found(&scene, "7", &every()), []);
}

#[test]
fn a_file_that_is_too_small_to_judge_quotes_what_it_is_cut_from() {
    let mut shown = 0;
    for seed in 0..20 {
        let source = words(1_000 * seed, 2_000);
        let note = passage(&source, 500, 13);
        assert!(note.len() < 256);
        let scene = Scene::of(&[
            ("source", source),
            ("note", note),
            ("stranger", words(1_000 * seed + 3, 13)),
        ]);
        let rows = found(&scene, "note", &every());
        shown += usize::from(names(&rows) == ["source"]);
        let is_judged = |row: &FindRow| row.relation.is_some() || row.a_in_b != Fraction::NONE;
        assert!(rows.len() <= 1 && !rows.iter().any(is_judged), "{rows:?}");
    }
    // A small file may have no sample: one shingle in eight is sampled, and this file has only
    // nine.
    assert!(shown >= 10, "{shown} of 20");
}

/// If the question has a minimum share or a minimum number of bytes, quotations below this minimum
/// are not listed.
#[test]
fn who_asks_for_more_is_not_shown_quotations() {
    let source = words(5, 9_000);
    let letter = format!("{} {}", words(6, 600), passage(&source, 3_000, 60));
    let scene = Scene::of(&[("source", source), ("letter", letter)]);
    let usual = every();
    assert_eq!(names(&found(&scene, "letter", &usual)), ["source"]);
    for options in [
        FindOptions {
            min: Fraction::from_millionths(250_000),
            ..usual.clone()
        },
        FindOptions {
            min_shared: Some(2_000),
            ..usual
        },
    ] {
        assert_eq!(found(&scene, "letter", &options), []);
    }
}

#[test]
fn a_relation_needs_no_passage() {
    let source = words(5, 400);
    let scene = Scene::of(&[("a", source.clone()), ("b", source + " and more")]);
    let rows = found(&scene, "a", &every());
    assert_eq!(rows[0].relation, Some(Relation::Near));
}

/// In scripts whose letters have several bytes, a passage of 500 bytes has few words: about 36 in
/// Russian and 24 in Georgian. The source of such a passage is still found.
#[test]
fn a_quotation_in_letters_of_several_bytes_finds_its_source() {
    let alphabets = [
        "абвгдежзиклмнопрст",
        "αβγδεζηθικλμνξοπρσ",
        "აბგდევზთიკლმნოპჟრს",
        "가나다라마바사아자차",
    ];
    for alphabet in alphabets {
        let letters: Vec<char> = alphabet.chars().collect();
        let mut random = Random::new(4);
        let mut text = String::new();
        while text.len() < 60_000 {
            for _ in 0..3 + random.below(8) {
                text.push(letters[random.below(letters.len())]);
            }
            text.push(' ');
        }
        let words: Vec<&str> = text.split(' ').collect();
        let mut files = vec![("source".to_owned(), text.clone())];
        for turn in 0..50 {
            let from = turn * words.len() / 51;
            let mut quoted = String::new();
            for word in &words[from..] {
                if quoted.len() >= 500 {
                    break;
                }
                quoted += word;
                quoted.push(' ');
            }
            files.push((format!("quoted{turn}"), quoted));
        }
        let files: Vec<(&str, String)> = files
            .iter()
            .map(|(name, text)| (&**name, text.clone()))
            .collect();
        let scene = Scene::of(&files);
        for (name, _) in &files[1..] {
            let rows = found(&scene, name, &every());
            assert_eq!(
                names(&rows).first().map(String::as_str),
                Some("source"),
                "{name}"
            );
        }
    }
}

/// Only the most promising passages are read. The choice does not depend on the order of scans.
#[test]
fn what_is_cut_is_the_same_whatever_was_scanned_first() {
    let source = words(70_000, 6_000);
    let letter = |at: usize| {
        let quoted = passage(&source, at * 25, 60);
        let number = 2 * at as u64;
        format!(
            "{} {quoted} {}",
            words(71_000 + number, 3_000),
            words(71_001 + number, 3_000)
        )
    };
    let asked_of = |order: &mut dyn Iterator<Item = usize>| {
        let mut scene = Scene::of(&[("source", source.clone())]);
        for at in order {
            scene.write(&format!("letter{at:03}"), letter(at));
            scene.scan();
        }
        let mut found = names(&found(&scene, "source", &every()));
        found.sort();
        found
    };
    let found = asked_of(&mut (0..200));
    assert!(found.len() < 200, "nothing was cut");
    assert_eq!(asked_of(&mut (0..200).rev()), found);
}
