//! Texts with equal or nearly equal words are reported with the right relation, and measured in
//! words.

use std::path::Path;
use std::sync::Arc;

use resemble_core::similarity::{Templates, Unit};
use resemble_core::{Params, Relation, Score};
use resemble_proto::message::{Differs, FindOptions, FindRow, Layer, MeasureUnit, PairsRequest};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::why::compare_with_parts;

use crate::plain::pairs;
use crate::scene::Scene;
use crate::scene::fake::{Fake, fake, text_of};
use resemble_testutil::prose::sentences;

/// Returns the text as an HTML page, in capitals and with other line breaks.
fn page(text: &str) -> String {
    let lines = text.to_uppercase().replace(' ', "\n<p>");
    format!("<!DOCTYPE html><html><body><p>{lines}</body></html>")
}

fn rows(scene: &Scene, name: &str, exact: bool, text: bool) -> Vec<FindRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let path = scene.path(name);
    let subject = Subject::indexed(&snapshot, &path, &Params::default());
    let subject = subject.expect("readable").expect("indexed");
    let subject = subject.with_part_reader(Some(Arc::new(Fake)));
    let options = FindOptions {
        exact,
        text,
        ..FindOptions::default()
    };
    let name = PathText::from("asked");
    let answer = find::find(&snapshot, &subject, &name, &options).expect("an answer");
    assert_eq!(answer.errors, []);
    answer.rows
}

fn only(rows: &[FindRow]) -> &FindRow {
    assert_eq!(rows.len(), 1, "{rows:?}");
    &rows[0]
}

#[test]
fn texts_that_differ_in_layout_alone_are_the_same_text() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("plain.txt", &text);
    scene.write("page.html", page(&text));
    scene.write("other.txt", sentences(2, 40));
    scene.scan();
    for exact in [false, true] {
        for name in ["plain.txt", "page.html"] {
            let rows = rows(&scene, name, exact, true);
            let row = only(&rows);
            assert_eq!(row.relation, Some(Relation::SameText), "{name} {exact}");
            assert_eq!(row.layer, Layer::Text);
            // Only files with equal bytes have a share of 1.
            let all = Fraction::from_millionths(999_999);
            assert_eq!((row.a_in_b, row.b_in_a), (all, all));
            assert_eq!(row.interval, None, "it is known");
        }
    }
    // Neither file is a document that must be taken apart, so the files are compared by their words
    // even without `text`.
    for exact in [false, true] {
        let relation = only(&rows(&scene, "plain.txt", exact, false)).relation;
        assert_eq!(relation, Some(Relation::SameText), "{exact}");
    }
}

#[test]
fn one_word_makes_another_text() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("a.txt", &text);
    scene.write("b.txt", text.replacen("end", "fin", 1));
    // Each page has too few words to be judged, although the file is large.
    let few = "a few words alone and nothing else";
    scene.write(
        "c.html",
        format!("<html><style>{}</style>{few}", sentences(6, 40)),
    );
    scene.write(
        "d.html",
        format!("<html><style>{}</style>{few}", sentences(7, 40)),
    );
    scene.scan();
    let near = rows(&scene, "a.txt", false, true);
    assert_eq!(only(&near).relation, Some(Relation::Near));
    let small = rows(&scene, "c.html", false, true);
    assert!(
        small
            .iter()
            .all(|row| row.relation != Some(Relation::SameText)),
        "{small:?}"
    );
}

#[test]
fn exact_figures_of_documents_are_those_of_their_words() {
    let mut scene = Scene::with_parts();
    let (text, more) = (sentences(1, 60), sentences(2, 20));
    scene.write("a.docx", fake(1, &[text_of(&text)]));
    // In `b.pdf`, a quarter of the text is new, and all line ends are at other places.
    scene.write(
        "b.pdf",
        fake(
            2,
            &[text_of(format!("{}{}", text.replace(' ', "\n"), more))],
        ),
    );
    scene.scan();
    let exact = rows(&scene, "a.docx", true, true);
    assert_eq!(rows(&scene, "a.docx", false, true), exact);
    let row = only(&exact);
    assert_eq!(
        (row.layer, row.interval, row.estimate),
        (Layer::Text, None, false)
    );
    assert_eq!(row.a_in_b, Fraction::from_millionths(999_999));
    let share = row.b_in_a.score().expect("judged").get();
    assert!((share - 0.75).abs() < 0.02, "{share}");
    // The explanation has the same figures.
    let comparison = compare_with_parts(
        &scene.path("a.docx"),
        &scene.path("b.pdf"),
        (&Params::default(), &Templates::default()),
        Some(&Fake),
    )
    .expect("read");
    let (measures, unit) = comparison.shared.told();
    assert_eq!(
        (measures.b_in_a.map(Score::get), unit),
        (Some(share), Unit::Words)
    );
    assert_eq!(comparison.shared.relation, row.relation);
}

#[test]
fn what_differs_only_in_numbers_is_said_to() {
    let mut scene = Scene::with_parts();
    let bill = |number: u32, sum: &str| {
        format!(
            "Bill no. {number} of the firm.\n{}In all {sum} are due.\n",
            sentences(4, 30)
        )
    };
    scene.write("may.txt", bill(17, "1,204.50"));
    scene.write("june.txt", bill(18, "973.00"));
    scene.write("may.pdf", fake(1, &[text_of(bill(17, "1,204.50"))]));
    scene.scan();
    let rows = rows(&scene, "june.txt", true, true);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row.differs, Some(Differs::OnlyInNumbers), "{row:?}");
        assert_eq!(row.numbers, Some(2));
    }
}

#[test]
fn the_explanation_says_what_layout_hides() {
    let scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("plain.txt", &text);
    scene.write("page.html", page(&text));
    let at = |name: &str| scene.path(name);
    let compare = |a: &Path, b: &Path| {
        let terms = (&Params::default(), &Templates::default());
        compare_with_parts(a, b, terms, Some(&Fake)).expect("read")
    };
    let shared = compare(&at("plain.txt"), &at("page.html")).shared;
    assert_eq!(shared.relation, Some(Relation::SameText));
    assert_eq!(shared.measures.a_in_b, Some(Score::ZERO));
    let words = shared.words.expect("they share all words");
    assert_eq!(words.a_in_b, Some(Score::ALL_BUT_IDENTICAL));
    let line = shared
        .summary()
        .into_iter()
        .find(|(name, _)| *name == "a in b");
    assert!(line.is_some_and(|(_, line)| line == "99% of its words"));
}

/// Returns the names of each pair of a tree, with the larger containment in words.
fn pairs_of_words(scene: &Scene) -> Vec<(String, String, f64)> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let options = PairsRequest {
        scope: scene.scope(),
        unit: MeasureUnit::Words,
        ..PairsRequest::default()
    };
    let name = |path: &PathText| {
        let name = path.as_path().file_name().expect("a name");
        name.to_string_lossy().into_owned()
    };
    let rows = pairs(&snapshot, &options).expect("an answer").rows;
    let score = |share: Fraction| share.score().map_or(0.0, Score::get);
    rows.iter()
        .map(|row| (name(&row.a), name(&row.b), score(row.score)))
        .collect()
}

#[test]
fn a_few_words_in_common_are_found_in_small_texts_whether_sampled_or_not() {
    let mut scene = Scene::new();
    // Two sentences of each small text are in the large one. Some of the small texts have samples
    // in these sentences, and others have no samples there.
    let large = sentences(1, 12);
    let lines: Vec<&str> = large.lines().collect();
    for at in 0..11 {
        let shared = lines[at..at + 2].join("\n");
        scene.write(
            &format!("small-{at:02}"),
            format!("{}{shared}\n", sentences(100 + at as u64, 2)),
        );
    }
    scene.write("large", &large);
    scene.scan();
    let found = pairs_of_words(&scene);
    let with_large = found.iter().filter(|(a, _, _)| a == "large");
    for (_, small, share) in with_large.clone() {
        // The two sentences have 26 words. One more word on each side may be equal by chance.
        let shared = (share * 52.0).round();
        assert!((26..=28).contains(&(shared as u32)), "{small}: {share}");
    }
    assert_eq!(with_large.count(), 11, "{found:?}");
}

#[test]
fn pairs_know_the_same_text() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("plain.txt", &text);
    scene.write("page.html", page(&text));
    scene.scan();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let options = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let answer = pairs(&snapshot, &options).expect("an answer");
    assert_eq!(answer.rows.len(), 1, "{:?}", answer.rows);
    assert_eq!(answer.rows[0].a_in_b, Fraction::from_millionths(999_999));
}
