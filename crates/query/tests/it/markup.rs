//! Tests files full of markup: drawings, templates, configurations, notebooks and minified scripts.
//! A part of such a file is found, alone or inside a text. Either of the two may be classified as
//! text or as data.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use resemble_core::ContentKind;
use resemble_proto::message::{FindOptions, FindRow, MeasureUnit, PairsRequest};
use resemble_proto::path::PathText;
use resemble_query::find::{self, listing};
use resemble_testutil::prose::{paragraphs, sentences};
use resemble_testutil::random::Random;

use crate::plain::pairs;
use crate::scene::Scene;

fn rows(scene: &Scene, name: &str) -> Vec<FindRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let options = FindOptions {
        all: true,
        ..FindOptions::default()
    };
    let answer = find::find(
        &snapshot,
        &scene.subject(name),
        &PathText::from(name),
        &options,
    );
    answer.expect("an answer").rows
}

fn name(path: &PathText) -> String {
    let name = path.as_path().file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

/// Returns the names of the files that `find --all` lists for a file.
fn found(scene: &Scene, asked: &str) -> BTreeSet<String> {
    rows(scene, asked)
        .iter()
        .map(|row| name(&row.path))
        .collect()
}

/// Returns the pairs that `pairs` lists, each with the lesser name first.
fn paired(scene: &Scene) -> BTreeSet<(String, String)> {
    let request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let answer = pairs(&snapshot, &request).expect("an answer");
    let pairs = answer.rows.iter().map(|row| (name(&row.a), name(&row.b)));
    pairs.collect()
}

fn are_paired(scene: &Scene, a: &str, b: &str) -> bool {
    let (a, b) = (a.min(b), a.max(b));
    paired(scene).contains(&(a.to_owned(), b.to_owned()))
}

/// Returns a drawing: lines of numbers and names with almost no words.
fn drawing(seed: u64, shapes: usize) -> String {
    let mut random = Random::new(seed);
    let mut drawing =
        "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">\n".to_owned();
    for _ in 0..shapes {
        let mut number = || format!("{}.{:03}", random.below(900), random.below(1000));
        let points: Vec<String> = (0..4)
            .map(|_| format!("{},{}", number(), number()))
            .collect();
        let _ = write!(
            drawing,
            "<path\n   id=\"path{}\"\n   style=\"stroke-width:{};fill:#{:06x}\"\n   \
             d=\"M {} Z\" />\n",
            number().replace('.', ""),
            number(),
            seed & 0xff_ffff,
            points.join(" ")
        );
    }
    drawing + "</svg>\n"
}

/// Returns a page of forms, with many tags and attributes, and labels of one or two words.
fn template(seed: u64, fields: usize) -> String {
    let mut random = Random::new(seed);
    let of = paragraphs(seed, 40);
    let words: Vec<&str> = of.split_whitespace().collect();
    let mut page = "<!DOCTYPE html>\n<html>\n<head><title>x</title></head>\n<body>\n".to_owned();
    for at in 0..fields {
        let mut word = || words[random.below(words.len())].trim_matches(['.', ',']);
        let _ = write!(
            page,
            "<div class=\"{} {}\" id=\"{}-{at}\">\n  <label for=\"{}\">{} {}</label>\n  \
             <input type=\"text\" name=\"{}\" value=\"{{{{ form.{}.{} }}}}\" \
             data-{}=\"{}\">\n</div>\n",
            word(),
            word(),
            word(),
            word(),
            word(),
            word(),
            word(),
            word(),
            word(),
            word(),
            word(),
        );
    }
    page + "</body>\n</html>\n"
}

/// Returns the lines of a text from the share `from` of its length to the share `to`.
fn part(text: &str, from: f64, to: f64) -> &str {
    let at = |share: f64| {
        let at = (text.len() as f64 * share) as usize;
        text[..at].rfind('\n').map_or(0, |end| end + 1)
    };
    &text[at(from)..at(to)]
}

#[test]
fn a_part_of_a_drawing_inside_a_text_is_found() {
    for seed in 0..4 {
        let drawing = drawing(seed, 60);
        assert_eq!(ContentKind::of_whole(drawing.as_bytes()), ContentKind::Data);
        let prose = paragraphs(90 + seed, 12);
        let (before, after) = prose.split_at(prose.len() / 2);
        let text = format!("{before}\n{}\n{after}", part(&drawing, 0.4, 0.6));
        assert_eq!(ContentKind::of_whole(text.as_bytes()), ContentKind::Text);
        let (stranger, other) = (paragraphs(50 + seed, 12), self::drawing(40 + seed, 60));
        let files = [
            ("drawing", &*drawing),
            ("text", &text),
            ("other", &other),
            ("stranger", &stranger),
        ];
        let scene = Scene::of(&files);
        assert_eq!(
            found(&scene, "drawing"),
            BTreeSet::from(["text".to_owned()])
        );
        assert_eq!(
            found(&scene, "text"),
            BTreeSet::from(["drawing".to_owned()])
        );
        let both = ("drawing".to_owned(), "text".to_owned());
        assert_eq!(paired(&scene), BTreeSet::from([both]));
        assert_eq!(rows(&scene, "text")[0].unit, MeasureUnit::Bytes);
    }
}

/// The second half of a drawing has no header, so it is not recognised as a drawing.
#[test]
fn a_drawing_without_its_beginning_is_listed() {
    let drawing = drawing(7, 40);
    let end = part(&drawing, 0.5, 1.0);
    let mut lines: Vec<&str> = part(&drawing, 0.1, 0.9).split_inclusive("/>\n").collect();
    lines.reverse();
    let reversed = lines.concat();
    let scene = Scene::of::<&str>(&[("drawing", &drawing), ("end", end), ("reversed", &reversed)]);
    let both = BTreeSet::from(["end".to_owned(), "reversed".to_owned()]);
    assert_eq!(found(&scene, "drawing"), both);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let (entries, _) = listing(&snapshot, &scene.subject("drawing"), true).expect("a listing");
    assert_eq!(entries.len(), 2);
    for other in ["end", "reversed"] {
        assert!(are_paired(&scene, "drawing", other), "{other}");
    }
}

/// If a drawing contains enough prose, it counts as a text. Without prose, it does not count as a
/// text, because it has almost no words.
#[test]
fn a_drawing_with_prose_in_it_is_found() {
    let drawing = drawing(8, 40);
    let (head, shapes) = drawing.split_at(drawing.find("<path").expect("a shape"));
    let prose = sentences(8, 20);
    let mut prose = prose.lines();
    let mut with_prose = head.to_owned();
    for (at, shape) in shapes.split_inclusive("/>\n").enumerate() {
        with_prose += shape;
        if at % 2 == 0
            && let Some(text) = prose.next()
        {
            let _ = writeln!(with_prose, "<desc>{text}</desc>");
        }
    }
    let kind = ContentKind::of_whole(with_prose.as_bytes());
    assert_eq!(kind, ContentKind::Text);
    let scene = Scene::of::<&str>(&[("drawing", &drawing), ("with", &with_prose)]);
    let only = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(found(&scene, "drawing"), only("with"));
    assert_eq!(found(&scene, "with"), only("drawing"));
}

/// The part is half of each file, without the file's beginning and end.
#[test]
fn a_part_of_a_configuration_a_notebook_or_a_script_is_found() {
    let mut random = Random::new(5);
    let mut number = || random.below(1 << 20);
    let mut xml = "<?xml version=\"1.0\"?>\n<beans>\n".to_owned();
    let mut notebook = "{\n \"cells\": [\n".to_owned();
    let mut script =
        "/*! A licence of some words that everybody may read and no more. */\n".to_owned();
    for _ in 0..60 {
        let (a, b, c) = (number(), number(), number());
        let _ = writeln!(
            xml,
            "<bean id=\"b{a}\" class=\"org.c{b}\"><p name=\"n{c}\" ref=\"{a}\"/></bean>"
        );
        let _ = writeln!(
            notebook,
            "  {{\"cell_type\": \"code\", \"execution_count\": {a},\n   \
             \"source\": [\"x{b} = load({c})\\n\"]}},"
        );
        let _ = write!(
            script,
            "function f{a}(t,e){{return t.x{b}&&e.y{c}(t)||{a}}}"
        );
        if a % 3 == 0 {
            script.push('\n');
        }
    }
    for (kind, whole) in [("xml", xml), ("notebook", notebook), ("script", script)] {
        let middle = part(&whole, 0.3, 0.8);
        let stranger = drawing(9, 40);
        let scene = Scene::of::<&str>(&[
            ("whole", &whole),
            ("middle", middle),
            ("stranger", &stranger),
        ]);
        let only = |name: &str| BTreeSet::from([name.to_owned()]);
        assert_eq!(found(&scene, "middle"), only("whole"), "{kind}");
        assert_eq!(found(&scene, "whole"), only("middle"), "{kind}");
        assert!(are_paired(&scene, "whole", "middle"), "{kind}");
    }
}

#[test]
fn a_part_of_a_template_is_found() {
    for seed in 0..4 {
        let page = template(seed, 30);
        let fragment = part(&page, 0.2, 0.8);
        let other = template(20 + seed, 30);
        let scene =
            Scene::of::<&str>(&[("page", &page), ("fragment", fragment), ("other", &other)]);
        let only = |name: &str| BTreeSet::from([name.to_owned()]);
        assert_eq!(found(&scene, "fragment"), only("page"), "{seed}");
        assert_eq!(found(&scene, "page"), only("fragment"), "{seed}");
        assert!(are_paired(&scene, "page", "fragment"), "{seed}");
    }
}
