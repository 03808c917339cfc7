//! `pairs` shows the same figures for two files as `find`, and also states whether they are
//! measured or estimated.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use resemble_core::{Params, Relation};
use resemble_proto::message::{Answer, FindOptions, FindRow, MeasureUnit, PairRow, PairsRequest};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_testutil::prose::{sentences, words};
use resemble_testutil::random::Random;

use crate::plain::pairs;
use crate::scene::Scene;

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length).map(|_| random.draw() as u8).collect()
}

fn asked(scene: &Scene, change: impl FnOnce(&mut PairsRequest)) -> Answer<PairRow> {
    let mut request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    change(&mut request);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    pairs(&snapshot, &request).expect("an answer")
}

fn name(path: &PathText) -> String {
    let name = path.as_path().file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

/// What a verb reports about two files, as seen from the first file.
type Said = (Option<Relation>, MeasureUnit, bool, [Fraction; 3], u64);

fn found(scene: &Scene, subject: &str, unit: MeasureUnit) -> BTreeMap<String, Said> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let path = scene.path(subject);
    let subject = Subject::indexed(&snapshot, &path, &Params::default());
    let subject = subject.expect("readable").expect("indexed");
    let options = FindOptions {
        unit,
        ..FindOptions::default()
    };
    let answer = find::find(&snapshot, &subject, &PathText::from("asked"), &options);
    let said = |row: &FindRow| {
        let shares = [row.a_in_b, row.b_in_a, row.resemblance];
        let said = (
            row.relation,
            row.unit,
            row.estimate,
            shares,
            row.shared_bytes,
        );
        (name(&row.path), said)
    };
    answer.expect("an answer").rows.iter().map(said).collect()
}

#[test]
fn pairs_say_what_find_says() {
    let mut scene = Scene::new();
    let text = sentences(1, 60);
    scene.write("text", &text);
    scene.write("capitals", text.to_uppercase());
    scene.write(
        "part",
        format!("{}{}", &text[..text.len() / 2], sentences(2, 20)),
    );
    let page = text.replace(". ", ".<p>\n");
    scene.write(
        "page",
        format!("<!DOCTYPE html><html><body>{page}</body></html>"),
    );
    let bytes = noise(1, 40_000);
    scene.write("bytes", &bytes);
    scene.write(
        "bytes-moved",
        [&bytes[9_000..], &bytes[..9_000], &noise(2, 5_000)[..]].concat(),
    );
    scene.write(
        "bytes-part",
        [&bytes[3_000..20_000], &noise(3, 30_000)[..]].concat(),
    );
    scene.write(
        "text-in-bytes",
        [&[0; 100][..], text.as_bytes(), &noise(4, 3_000)].concat(),
    );
    scene.scan();
    for unit in [MeasureUnit::Words, MeasureUnit::Bytes] {
        let rows = asked(&scene, |request| request.unit = unit).rows;
        let mut compared = 0;
        for row in &rows {
            let shares = [row.a_in_b, row.b_in_a, row.resemblance];
            let said = (
                row.told.relation,
                row.told.unit,
                row.told.estimate,
                shares,
                row.shared_bytes,
            );
            let (a, b) = (name(&row.a), name(&row.b));
            if let Some(found) = found(&scene, &a, unit).get(&b) {
                assert_eq!(&said, found, "{a} and {b} in {unit:?}");
                assert!(!row.told.estimate, "{a} and {b} in {unit:?}");
                compared += 1;
            }
        }
        assert!(compared >= 8, "{compared} of {} in {unit:?}", rows.len());
    }
}

/// If a question asks for estimates, every row of different contents has an estimate with an
/// interval. The intervals of the two containments have two lower ends. Rows are sorted by the
/// larger of these.
#[test]
fn estimates_have_intervals_and_are_ranked_by_their_lower_ends() {
    let mut scene = Scene::new();
    let text = sentences(1, 400);
    let bytes = noise(1, 40_000);
    for part in [20, 40, 60, 80, 95] {
        let end = text.len() * part / 100;
        scene.write(&format!("text-{part}"), &text[..end]);
        scene.write(&format!("bytes-{part}"), &bytes[..40_000 * part / 100]);
    }
    scene.write("text", &text);
    scene.write("copy", &text);
    scene.scan();
    let proven = asked(&scene, |request| request.exact = true);
    assert!(proven.rows.iter().all(|row| row.told.interval.is_none()));
    let estimated = asked(&scene, |request| request.estimate = true);
    let mut least = Vec::new();
    let (mut held, mut looked_at) = (0, 0);
    for row in &estimated.rows {
        assert_eq!(row.told.estimate, !row.identical, "{row:?}");
        assert_eq!(row.told.interval.is_some(), row.told.estimate, "{row:?}");
        let Some(interval) = row.told.interval else {
            continue;
        };
        least.push(interval.a_in_b[0].max(interval.b_in_a[0]));
        let of = |other: &&PairRow| (&other.a, &other.b) == (&row.a, &row.b);
        let exact = proven.rows.iter().find(of).expect("it is proven as well");
        let figures = [
            (interval.a_in_b, row.a_in_b, exact.a_in_b),
            (interval.b_in_a, row.b_in_a, exact.b_in_a),
            (interval.resemblance, row.resemblance, exact.resemblance),
        ];
        for ([low, high], estimate, truth) in figures {
            assert!(low <= estimate && estimate <= high, "{row:?}");
            assert!(high < Fraction::ONE, "{row:?}");
            looked_at += 1;
            held += usize::from(low <= truth && truth <= high);
        }
    }
    assert!(least.is_sorted_by(|one, next| one >= next), "{least:?}");
    assert!(looked_at >= 60, "{looked_at}");
    assert!(held * 100 >= looked_at * 90, "{held} of {looked_at}");
}

/// If a file has changed since the scan, its figures are marked as estimates. A question for exact
/// figures also reports the file as an error.
#[test]
fn what_is_no_longer_there_is_an_estimate() {
    let mut scene = Scene::new();
    let text = sentences(1, 200);
    let bytes = noise(1, 40_000);
    for (name, other) in [("text", "text-2"), ("old", "old-2")] {
        scene.write(name, format!("{name} {text}"));
        scene.write(other, format!("{text} {other}"));
    }
    scene.write("bytes", &bytes);
    scene.write("bytes-2", &bytes[..30_000]);
    scene.scan();
    fs::write(scene.path("old"), "something else").expect("it is written");
    fs::write(scene.path("bytes"), "something else").expect("it is written");
    for exact in [false, true] {
        let answer = asked(&scene, |request| request.exact = exact);
        let estimates = answer.rows.iter().filter(|row| row.told.estimate);
        let of: Vec<(String, String)> = estimates.map(|row| (name(&row.a), name(&row.b))).collect();
        assert!(
            of.iter()
                .all(|(a, b)| [a, b].into_iter().any(|n| n == "old" || n == "bytes"))
        );
        assert!(of.contains(&("bytes".into(), "bytes-2".into())), "{of:?}");
        assert!(of.contains(&("old".into(), "old-2".into())), "{of:?}");
        let told = |row: &PairRow| row.told.interval.is_some() == row.told.estimate;
        assert!(answer.rows.iter().all(told), "{:?}", answer.rows);
        let proven = answer.rows.iter().filter(|row| !row.told.estimate);
        assert!(proven.clone().any(|row| name(&row.b) == "text-2"));
        let errors: Vec<String> = answer
            .errors
            .iter()
            .map(|error| name(&error.path))
            .collect();
        let expected: &[&str] = if exact { &["bytes", "old"] } else { &[] };
        assert_eq!(errors, expected);
    }
}

/// A text that only near-copies of one file have is not boilerplate, even if there are very many.
/// Here any two of 320 near-copies are a pair.
#[test]
fn a_family_of_hundreds_stays_together() {
    let mut scene = Scene::new();
    let page = words(0, 150);
    for at in 0..320 {
        let line = words(10_000 + 20 * at, 8);
        let cut = 8 * (9 + (at * 7) % 130);
        scene.write(
            &format!("{at:03}"),
            format!("{}{line}{}", &page[..cut], &page[cut + 64..]),
        );
    }
    scene.scan();
    let answer = asked(&scene, |_| ());
    assert_eq!(answer.header.near_copies, None);
    let rows = answer.rows;
    assert_eq!(rows.len(), 320 * 319 / 2);
    assert!(
        rows.iter()
            .all(|row| row.a_in_b > Fraction::from_millionths(700_000))
    );
}

/// For a large family, a listing shows the hundred best near-copies and the number of all
/// near-copies. `find` shows more near-copies, but it measures only a limited number.
#[test]
fn the_copies_that_are_not_shown_are_counted() {
    for (copies, rows) in [(320, 319), (1400, 511)] {
        let mut scene = Scene::new();
        let page = words(0, 300);
        for at in 0..copies {
            let line = words(10_000 + 20 * at, 8);
            let cut = 8 * (9 + (at * 7) % 280);
            let copy = format!("{}{line}{}", &page[..cut], &page[cut..]);
            scene.write(&format!("{at:04}"), copy);
        }
        for at in 0..20 {
            scene.write(&format!("other{at}"), words(50_000 + 400 * at, 300));
        }
        scene.scan();
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let path = scene.path("0007");
        let subject = Subject::indexed(&snapshot, &path, &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let (listed, total) = find::listing(&snapshot, &subject, true).expect("a listing");
        assert_eq!((listed.len(), total), (100, copies - 1));
        let within = vec![PathText::from(scene.root())];
        for within in [Vec::new(), within] {
            let mut options = FindOptions::default();
            options.scope.within = within;
            let answer = find::find(&snapshot, &subject, &PathText::from("asked"), &options);
            let answer = answer.expect("an answer");
            assert_eq!(answer.rows.len(), rows);
            assert!(answer.rows.iter().all(|row| !row.estimate));
            let counts = (answer.header.shown as usize, answer.header.total as usize);
            assert_eq!(counts, (rows, copies - 1));
        }
    }
}

/// In a family of thousands, each near-copy has a pair with the first near-copy, and pairs with its
/// neighbours. So the number of pairs grows linearly. The header of the answer states the size of
/// the family.
#[test]
fn a_family_of_thousands_is_held_together_by_the_first() {
    const COPIES: usize = 1500;
    let mut scene = Scene::new();
    let page = words(0, 60);
    for at in 0..COPIES {
        scene.write(
            &format!("{at:04}"),
            format!("{page}{}", words(10_000 + 20 * at, 8)),
        );
    }
    scene.scan();
    let answer = asked(&scene, |_| ());
    assert_eq!(answer.header.near_copies, Some(COPIES as u64));
    let rows = answer.rows;
    assert!(rows.len() < 20 * COPIES, "{} rows", rows.len());
    let first = rows.iter().filter(|row| name(&row.a) == "0000");
    assert_eq!(first.count(), COPIES - 1);
}

/// Returns a Russian text with one word for each word of another text.
fn russian(text: &str) -> String {
    const WORDS: &str = "заседание открыл председатель который приветствовал членов общества \
        и гостей протокол прошлого года был прочитан принят без замечаний казначей сообщил \
        что взносы поступили вовремя расходы на ремонт крыши оказались больше чем ожидалось \
        зимой дорога через лес закрыта для всех кроме лесника летом здесь поют соловьи \
        никто не знает куда они улетают осенью";
    let known: Vec<&str> = WORDS.split_whitespace().collect();
    let word = |word: &str| {
        let sum = word
            .bytes()
            .fold(7usize, |sum, byte| sum * 31 % 65_521 + usize::from(byte));
        known[sum % known.len()]
    };
    let words: Vec<&str> = text.split_whitespace().map(word).collect();
    words.join(" ")
}

/// Texts in different encodings have the same figures, even without an option.
#[test]
fn texts_in_other_encodings_have_the_same_figures() {
    let mut scene = Scene::new();
    let text = russian(&sentences(1, 60));
    let edited = russian(&format!("{}{}", sentences(2, 20), &sentences(1, 45)));
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect()
    };
    let windows = |text: &str| -> Vec<u8> {
        let byte = |letter: char| match letter as u32 {
            code @ 0x430..=0x44f => (code - 0x430 + 0xe0) as u8,
            code => code as u8,
        };
        text.chars().map(byte).collect()
    };
    scene.write("base", &text);
    scene.write("edited-a-utf8", &edited);
    scene.write("edited-b-utf16", utf16(&edited));
    scene.write("edited-c-windows", windows(&edited));
    scene.write("noise", [&[0xff, 0xfe][..], &noise(1, 9_000)].concat());
    scene.scan();
    let rows = asked(&scene, |request| request.text = false).rows;
    assert_eq!(rows.len(), 6, "{rows:?}");
    let of_base: Vec<&PairRow> = rows.iter().filter(|row| name(&row.a) == "base").collect();
    assert_eq!(of_base.len(), 3);
    for row in &of_base {
        assert_eq!(row.told.unit, MeasureUnit::Words);
        assert!(!row.told.estimate);
        let shares = |row: &PairRow| [row.a_in_b, row.b_in_a, row.resemblance];
        assert_eq!(shares(row), shares(of_base[0]), "{}", name(&row.b));
    }
    let others = rows.iter().filter(|row| name(&row.a) != "base");
    for row in others {
        assert_eq!(row.told.relation, Some(Relation::SameText), "{row:?}");
    }
}

/// The row of two files depends on their common text, and on the number of other files that have
/// that text. It does not depend on text that only unrelated files share.
#[test]
fn strangers_neither_bring_nor_take_a_row() {
    const GROUPS: u64 = 8;
    const OF_ONE: u64 = 66;
    let mut scene = Scene::new();
    // Each text has one of eight sentences. So each sentence is in 66 texts, and counts only in
    // part.
    for at in 0..GROUPS * OF_ONE {
        let (own, common) = (sentences(1000 + at, 24), sentences(at % GROUPS, 1));
        scene.write(&format!("{at:04}"), format!("{common}{own}"));
    }
    scene.scan();
    let rows = |scene: &Scene| -> BTreeSet<(String, String)> {
        let rows = asked(scene, |_| ()).rows.into_iter();
        let rows = rows.map(|row| (name(&row.a), name(&row.b)));
        rows.filter(|row| !row.0.starts_with('x')).collect()
    };
    let before = rows(&scene);
    let all = GROUPS * OF_ONE * (OF_ONE - 1) / 2;
    assert_eq!(
        before.len() as u64,
        all,
        "all that have a sentence in common"
    );
    for at in 0..60 {
        scene.write(
            &format!("x{at:02}"),
            sentences(90_000 + at / 2, 24) + &sentences(at + 50, 2),
        );
    }
    scene.scan();
    assert_eq!(rows(&scene), before);
}
