//! Compares the answers with measures that are computed in a second way. `docs/accuracy.md` reports
//! such comparisons for large corpora. Here a small corpus is used in every run.
//!
//! * Two files never share more bytes than the smaller file has.
//! * Measures equal the definitions to four digits, in words and in bytes.
//! * Related texts are found even if their case, line width or markup differ. Unrelated texts are
//!   not found.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use resemble_core::Relation;
use resemble_proto::message::{Answer, MeasureUnit, PairRow, PairScore, PairsRequest};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::plain::pairs;
use crate::scene::Scene;
use resemble_testutil::random::Random;

/// Returns prose of an author. Each author has different words, and a few of them are frequent.
fn prose(author: u64, from: usize, words: usize) -> String {
    let mut text = String::new();
    for at in from..from + words {
        let mut n = Random::new(author << 32 | at as u64).draw();
        let rank = (n % 70) * (n / 70 % 70);
        n = Random::new(author << 20 | rank).draw();
        for _ in 0..2 + n % 8 {
            n = Random::new(n).draw();
            text.push(char::from(b'a' + (n % 26) as u8));
        }
        text.push(if at % 11 == 10 { '\n' } else { ' ' });
    }
    text
}

/// Returns texts of five authors, variants of the first three texts, and three small texts. Each
/// item is the name, the bytes and the author.
fn corpus() -> Vec<(String, Vec<u8>, u64)> {
    let mut all = Vec::new();
    let mut add = |name: String, text: String, author| all.push((name, text.into_bytes(), author));
    for author in 1..=5u64 {
        add(format!("{author}-base.txt"), prose(author, 0, 1500), author);
    }
    for author in 1..=3u64 {
        let base = prose(author, 0, 1500);
        let other = |words| prose(author + 10, 0, words);
        let words: Vec<&str> = base.split_whitespace().collect();
        let mut changes = vec![
            ("append", format!("{base}{}", other(150))),
            ("cut", base[..base.len() * 3 / 10].to_owned()),
            (
                "block",
                format!("{}{}{}", other(900), &base[4000..4500], other(30)),
            ),
            (
                "reorder",
                words
                    .chunks(60)
                    .rev()
                    .map(|part| part.join(" "))
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
            ("case", base.to_uppercase()),
            (
                "wrapped",
                words
                    .chunks(7)
                    .map(|line| line.join("  "))
                    .collect::<Vec<_>>()
                    .join("\n\t"),
            ),
            (
                "html",
                format!(
                    "<!DOCTYPE html><html><body><p class=\"x\">{}</p></body></html>",
                    words.join("</b> <b>")
                ),
            ),
        ];
        let noisy: Vec<String> = words
            .iter()
            .enumerate()
            .map(|(at, word)| {
                if at % 40 == 17 {
                    "changed".to_owned()
                } else {
                    (*word).to_owned()
                }
            })
            .collect();
        changes.push(("noise", noisy.join(" ")));
        for (change, text) in changes {
            add(format!("{author}-{change}.txt"), text, author);
        }
    }
    // Two texts that only share a phrase, and a text of a few words.
    add(
        "phrase-1.txt".into(),
        format!(
            "{} permission is hereby granted free of charge",
            prose(21, 0, 300)
        ),
        21,
    );
    add(
        "phrase-2.txt".into(),
        format!(
            "permission is hereby granted free of charge {}",
            prose(22, 0, 300)
        ),
        22,
    );
    add("scrap.txt".into(), prose(1, 700, 30), 1);
    all
}

struct Asked {
    scene: Scene,
    files: Vec<(String, Vec<u8>, u64)>,
}

impl Asked {
    fn new() -> Self {
        let mut scene = Scene::new();
        let files = corpus();
        for (name, bytes, _) in &files {
            scene.write(name, bytes);
        }
        scene.scan();
        Self { scene, files }
    }

    fn pairs(&self, change: impl FnOnce(&mut PairsRequest)) -> Answer<PairRow> {
        let mut options = PairsRequest {
            scope: self.scene.scope(),
            ..PairsRequest::default()
        };
        change(&mut options);
        let snapshot = self.scene.index.snapshot().expect("a snapshot");
        pairs(&snapshot, &options).expect("an answer")
    }

    fn file(&self, path: &PathText) -> &(String, Vec<u8>, u64) {
        let path = PathBuf::from(path.as_path());
        let name = path.file_name().expect("a name").to_string_lossy();
        self.files
            .iter()
            .find(|file| file.0 == name)
            .expect("a file of the corpus")
    }
}

/// Returns the share of a's bytes in runs of at least 64 that b has, too.
fn cover(a: &[u8], b: &[u8]) -> f64 {
    let windows: HashSet<&[u8]> = b.windows(64).collect();
    let (mut covered, mut end) = (0, 0);
    for (at, window) in a.windows(64).enumerate() {
        if windows.contains(window) {
            covered += at + 64 - at.max(end);
            end = at + 64;
        }
    }
    covered as f64 / a.len() as f64
}

/// Returns the words of a text in lower case, without markup.
fn words(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let mut plain = String::new();
    let mut in_tag = false;
    for letter in text.chars() {
        in_tag |= letter == '<' && text.starts_with("<!doctype");
        plain.push(if in_tag { ' ' } else { letter });
        in_tag &= letter != '>';
    }
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| !word.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

/// Returns the word-5-shingles in order.
fn shingles(words: &[String]) -> impl Iterator<Item = &[String]> {
    words.windows(5.min(words.len().max(1)))
}

/// Returns the share of a's words in runs of at least five that b has, too.
fn cover_words(a: &[String], b: &[String]) -> f64 {
    let of_b: HashSet<&[String]> = shingles(b).collect();
    let (mut covered, mut end) = (0, 0);
    for (at, shingle) in shingles(a).enumerate() {
        if of_b.contains(shingle) {
            let last = (at + 5).min(a.len());
            covered += last - at.max(end);
            end = last;
        }
    }
    covered as f64 / a.len() as f64
}

/// Returns the size of the intersection divided by the size of the union.
fn ratio<T: Eq + std::hash::Hash>(a: impl Iterator<Item = T>, b: impl Iterator<Item = T>) -> f64 {
    let (a, b): (HashSet<T>, HashSet<T>) = (a.collect(), b.collect());
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// Computes by definition the share of a in b and of b in a, and the resemblance.
fn truth(unit: MeasureUnit, a: &[u8], b: &[u8]) -> [f64; 3] {
    match unit {
        MeasureUnit::Bytes => [
            cover(a, b),
            cover(b, a),
            ratio(a.windows(64), b.windows(64)),
        ],
        MeasureUnit::Words => {
            let (a, b) = (words(a), words(b));
            [
                cover_words(&a, &b),
                cover_words(&b, &a),
                ratio(shingles(&a), shingles(&b)),
            ]
        }
    }
}

fn value(share: Fraction) -> Option<f64> {
    share.millionths().map(|n| f64::from(n) / 1e6)
}

#[track_caller]
fn agrees(share: Fraction, truth: f64, what: &str) {
    let Some(share) = value(share) else { return };
    assert!(
        (share - truth).abs() < 0.000_051,
        "{what}: {share}, and in truth {truth}"
    );
}

#[test]
fn shared_bytes_are_never_more_than_the_smaller_file() {
    let asked = Asked::new();
    let mut proven = 0;
    for row in asked.pairs(|_| ()).rows {
        let (a, b) = (asked.file(&row.a), asked.file(&row.b));
        let smaller = a.1.len().min(b.1.len()) as u64;
        assert!(row.shared_bytes <= smaller, "{} and {}", a.0, b.0);
        proven += usize::from(row.shared_bytes > 0);
    }
    assert!(proven > 5, "{proven} rows share bytes");
}

/// Checks the containments and the resemblance in both units. In words, also checks them without
/// `exact`.
#[test]
fn measures_are_the_definitions() {
    let asked = Asked::new();
    for (exact, unit) in [
        (false, MeasureUnit::Words),
        (true, MeasureUnit::Words),
        (true, MeasureUnit::Bytes),
    ] {
        let answer = asked.pairs(|options| (options.exact, options.unit) = (exact, unit));
        // Variants with another case, line width or markup have the same words but few common
        // bytes. So there are fewer rows in bytes.
        let least = if unit == MeasureUnit::Words { 60 } else { 30 };
        assert!(answer.rows.len() > least, "{} rows", answer.rows.len());
        for row in answer.rows {
            let (a, b) = (asked.file(&row.a), asked.file(&row.b));
            let what = format!("{} and {} in {unit:?}", a.0, b.0);
            let [a_in_b, b_in_a, resemblance] = truth(unit, &a.1, &b.1);
            agrees(row.resemblance, resemblance, &what);
            agrees(row.a_in_b, a_in_b, &what);
            agrees(row.b_in_a, b_in_a, &what);
        }
    }
}

#[test]
fn related_texts_are_found_and_strangers_are_not() {
    let asked = Asked::new();
    let rows = asked.pairs(|_| ()).rows;
    for row in &rows {
        let (a, b) = (asked.file(&row.a), asked.file(&row.b));
        // The text that a variant adds has an author who wrote nothing else. So texts of different
        // authors must not be related.
        assert_eq!(a.2, b.2, "{} and {} are strangers: {row:?}", a.0, b.0);
    }
    let score = |a: &str, b: &str| {
        let both = [a, b];
        let is = |row: &&PairRow| {
            let names = [&asked.file(&row.a).0[..], &asked.file(&row.b).0[..]];
            names == both || names == [b, a]
        };
        rows.iter().find(is).and_then(|row| value(row.score))
    };
    for author in 1..=3 {
        let base = format!("{author}-base.txt");
        for change in [
            "append", "cut", "reorder", "case", "wrapped", "html", "noise", "block",
        ] {
            let found = score(&base, &format!("{author}-{change}.txt"));
            let least = match change {
                "case" | "wrapped" | "html" => 0.999,
                "append" | "cut" => 0.98,
                "reorder" | "noise" => 0.8,
                _ => 0.03,
            };
            assert!(
                found.is_some_and(|found| found >= least),
                "{author}-{change}: {found:?}"
            );
        }
    }
    // The scrap is too small to be judged. It was read, so it has a row, at the end. The row has no
    // score, so a question with a minimum does not list it.
    let scrap = rows
        .iter()
        .find(|row| asked.file(&row.b).0 == "scrap.txt" && asked.file(&row.a).0 == "1-base.txt");
    let scrap = scrap.expect("the scrap is found");
    assert!(asked.file(&scrap.b).1.len() < 256);
    assert_eq!(
        (value(scrap.b_in_a), value(scrap.resemblance)),
        (None, None)
    );
    let judged = rows.iter().take_while(|row| value(row.score).is_some());
    let judged = judged.count();
    assert!(rows[judged..].iter().all(|row| row.score.is_none()));
    assert!(rows[judged..].contains(scrap), "{scrap:?}");
    for score in [PairScore::Discounted, PairScore::Resemblance] {
        let rows = asked.pairs(|options| options.score = score).rows;
        let scrap = rows.iter().find(|row| row.b == scrap.b && row.a == scrap.a);
        assert!(scrap.is_some_and(|row| row.score.is_none()), "{scrap:?}");
    }
    let with_min = asked.pairs(|options| options.min = Fraction::from_millionths(1));
    let is_judged = |row: &PairRow| !row.score.is_none();
    assert!(with_min.rows.iter().all(is_judged));
}

/// A set of identical files has one row, of any size. A file that resembles them has a row with
/// each of them.
#[test]
fn identical_files_are_one_row_unless_all_are_asked_for() {
    let mut scene = Scene::new();
    for name in ["d", "b", "c", "a"] {
        scene.write(name, prose(1, 0, 300));
    }
    for name in ["two-a", "two-b"] {
        scene.write(name, prose(2, 0, 300));
    }
    scene.write("part", prose(1, 0, 200));
    scene.scan();
    let asked = Asked {
        scene,
        files: Vec::new(),
    };
    let rows = |all| {
        let answer = asked.pairs(|options| options.all = all);
        let name = |path: &PathText| {
            let path = path.as_path().file_name().expect("a name").to_owned();
            path.into_string().expect("a name")
        };
        let pair = |row: &PairRow| (name(&row.a), name(&row.b), row.copies);
        let is_identical = |row: &&PairRow| row.told.relation == Some(Relation::Identical);
        let identical: Vec<_> = answer.rows.iter().filter(is_identical).map(pair).collect();
        assert!(answer.rows.iter().all(|row| !row.told.estimate));
        (identical, answer.rows.len())
    };
    let (identical, all) = rows(false);
    let name = |name: &str| name.to_owned();
    assert_eq!(
        identical,
        [
            (name("a"), name("b"), Some(4)),
            (name("two-a"), name("two-b"), None),
        ]
    );
    assert_eq!(all, 2 + 4);
    let (identical, all) = rows(true);
    assert!(identical.iter().all(|row| row.2.is_none()));
    assert_eq!((identical.len(), all), (6 + 1, 7 + 4));
}

#[test]
fn rare_text_sorts_before_frames() {
    let mut scene = Scene::new();
    // All pages have the same frame. `page-00-old.txt` is a version of `page-00.txt`.
    let frame = prose(40, 0, 300);
    for page in 0..20 {
        scene.write(
            &format!("page-{page:02}.txt"),
            format!("{frame}{}", prose(50 + page, 0, 100)),
        );
    }
    let own = prose(50, 0, 90) + &prose(90, 0, 12);
    scene.write("page-00-old.txt", format!("{frame}{own}"));
    scene.scan();
    let asked = Asked {
        scene,
        files: Vec::new(),
    };
    let answer = asked.pairs(|options| options.score = PairScore::Discounted);
    let first = &answer.rows[0];
    let name = |path: &PathText| path.lossy().into_owned();
    assert!(name(&first.a).ends_with("page-00-old.txt") && name(&first.b).ends_with("page-00.txt"));
    let second = value(answer.rows[1].score).unwrap_or(0.0);
    assert!(
        value(first.score).is_some_and(|score| score > 2.0 * second),
        "{first:?}, then {second}"
    );
}

/// The order of the rows does not change their figures.
#[test]
fn the_discount_of_a_row_is_that_of_its_containment_however_rows_are_sorted() {
    let mut scene = Scene::new();
    let frame = prose(40, 0, 200);
    for page in 0..100 {
        let own = prose(50 + page, 0, 200);
        scene.write(&format!("page-{page:02}.txt"), format!("{frame}{own}"));
    }
    scene.scan();
    let asked = Asked {
        scene,
        files: Vec::new(),
    };
    let discounts = |score| {
        let answer = asked.pairs(|options| options.score = score);
        let rows = answer.rows.into_iter();
        let all = rows.map(|row| {
            (
                (row.a.lossy().into_owned(), row.b.lossy().into_owned()),
                row,
            )
        });
        all.map(|(pair, row)| (pair, (row.a_in_b, row.b_in_a, row.discount)))
            .collect::<BTreeMap<_, _>>()
    };
    let by_containment = discounts(PairScore::Containment);
    let told = by_containment.values().filter(|row| row.2.reason.is_some());
    assert!(told.count() > 100);
    assert_eq!(discounts(PairScore::Discounted), by_containment);
}

/// The words are the same if a file is cut inside a character, or if a disk has damaged a byte.
#[test]
fn what_is_broken_off_within_a_letter_is_in_the_whole() {
    let letters: Vec<char> = ('а'..='я').collect();
    let mut random = Random::new(7);
    let word = |random: &mut Random| -> String {
        let length = 3 + random.below(7);
        (0..length)
            .map(|_| letters[random.below(letters.len())])
            .collect()
    };
    let words: Vec<String> = (0..900).map(|_| word(&mut random)).collect();
    let whole = words.join(" ").into_bytes();
    let mut scene = Scene::new();
    scene.write("whole.txt", &whole);
    // Returns a position inside a letter that has two bytes.
    let within_a_letter = |from: usize| (from..whole.len()).find(|&at| whole[at] & 0xc0 == 0x80);
    let (begin, end) = (within_a_letter(2000), within_a_letter(7000));
    let (begin, end) = (begin.expect("a letter"), end.expect("a letter"));
    scene.write("part.txt", &whole[begin..end]);
    let mut damaged = whole.clone();
    damaged[end] = b'?';
    scene.write("damaged.txt", &damaged);
    scene.scan();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let rows = pairs(&snapshot, &request).expect("an answer").rows;
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        assert_eq!(row.told.unit, MeasureUnit::Words);
        let shares = [row.a_in_b, row.b_in_a].map(value);
        assert!(shares.iter().any(|share| *share > Some(0.98)), "{row:?}");
    }
}
