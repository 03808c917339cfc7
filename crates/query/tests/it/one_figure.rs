//! Every verb is asked about every pair of a mixed tree: one figure, one unit, one relation.
//!
//! A measure is a function of two contents, so nothing may depend on the verb, on which of the two
//! is asked about, on their names, or on the order in which they were indexed. The tree is made
//! twice, with names in the opposite order and scanned in another one. Files are called by what is
//! behind the `-` of their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use resemble_core::{Params, Relation};
use resemble_extract::Role;
use resemble_proto::message::{FindOptions, MeasureUnit, PairsRequest, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::pairs::pairs_with_parts;
use resemble_query::why::compare_with_parts;
use resemble_testutil::prose::{lines, sentences};
use resemble_testutil::random::{Random, noise};

use crate::scene::Scene;
use crate::scene::fake::{Fake, Record, fake, member, packed, part, text_of};

/// Words of letters from `first` on; of scripts without blanks each letter is one.
fn script(first: u32, letters: usize, blanks: bool, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut word = || {
        let length = if blanks { 3 + random.below(6) } else { 1 };
        let letter = |random: &mut Random| {
            char::from_u32(first + random.below(letters) as u32).expect("a letter")
        };
        (0..length).map(|_| letter(&mut random)).collect::<String>()
    };
    (0..500).map(|_| word()).collect()
}

/// A text in a script and a revision of it: every 40th word is another one, and more at the end.
fn revised(first: u32, letters: usize, blanks: bool, seed: u64) -> [String; 2] {
    let text = script(first, letters, blanks, seed);
    let others = script(first, letters, blanks, seed + 1000);
    let mut revision = text.clone();
    for at in (20..text.len()).step_by(40) {
        revision[at].clone_from(&others[at]);
    }
    revision.extend_from_slice(&others[..60]);
    let between = if blanks { " " } else { "" };
    [text.join(between), revision.join(between)]
}

/// A document of a program that puts the same template into each.
fn document(number: usize, text: &str) -> Vec<u8> {
    // What is told to be left out comes before the text, scrambled alike.
    let template = noise(77, 6000);
    let name = [template, vec![number as u8]].concat();
    fake(60, &[Record::Skip(name), text_of(text)])
}

fn archive(key: u64, members: &[(&str, &[u8])]) -> Vec<u8> {
    let members = members.iter().map(|(name, bytes)| member(name, bytes));
    fake(key, &members.collect::<Vec<Record>>())
}

/// The same members in a packed tar, last first.
fn tar(key: u64, members: &[(&str, &[u8])]) -> Vec<u8> {
    let all: Vec<u8> = members
        .iter()
        .flat_map(|(_, bytes)| bytes.to_vec())
        .collect();
    let parts = members.iter().rev();
    let parts = parts.map(|(name, bytes)| part(Role::Member, Some(0), name, bytes));
    let records: Vec<Record> = [packed("a.tar", all)].into_iter().chain(parts).collect();
    fake(key, &records)
}

fn mail(key: u64, text: &str, attachments: &[(&str, &[u8])]) -> Vec<u8> {
    let attachments = attachments.iter().map(|(name, bytes)| member(name, bytes));
    let records: Vec<Record> = [text_of(text)].into_iter().chain(attachments).collect();
    fake(key, &records)
}

/// What the files are called, and what is in them.
#[allow(clippy::too_many_lines)]
fn mixed() -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut add = |name: &str, bytes: &[u8]| {
        assert!(files.insert(name.to_owned(), bytes.to_vec()).is_none());
    };
    let scripts = [
        ("latin", 0x61, 26, true),
        ("greek", 0x3b1, 17, true),
        ("russian", 0x430, 32, true),
        ("hebrew", 0x5d0, 27, true),
        ("hindi", 0x915, 37, true),
        ("chinese", 0x4e00, 3000, false),
        ("thai", 0xe01, 40, false),
    ];
    for (seed, (name, first, letters, blanks)) in (1..).zip(scripts) {
        let [text, revision] = revised(first, letters, blanks, seed);
        add(&format!("{name}.txt"), text.as_bytes());
        add(&format!("{name} revised.txt"), revision.as_bytes());
    }
    // Another encoding.
    let german = revised(0xe0, 20, true, 30)
        .map(|text| -> Vec<u8> { text.chars().map(|letter| letter as u8).collect() });
    add("latin-1.txt", &german[0]);
    add("latin-1 revised.txt", &german[1]);
    // Sources, a table, a log, a page, a drawing.
    let source = sentences(40, 40)
        .replace(" end.", "();\n\tif (x) {")
        .into_bytes();
    let mut patched = source.clone();
    patched.splice(2000..2400, *b"/* nothing is left of it */");
    add("source.c", &source);
    add("patched.c", &patched);
    let table = |from: u32, to: u32| -> String {
        (from..to)
            .map(|n| format!("{n},{},{}\n", n * 7919 % 1009, n * n % 997))
            .collect::<Vec<_>>()
            .concat()
    };
    add("table.csv", table(0, 400).as_bytes());
    add("longer table.csv", table(0, 520).as_bytes());
    let log = lines(41, 80);
    add("a.log", log.as_bytes());
    add(
        "rotated.log",
        [&log[2000..], &lines(42, 30)].concat().as_bytes(),
    );
    let letter = sentences(43, 40);
    let page = |text: &str| {
        let text = text.replace(". ", ".</p>\n<p class=\"body\">");
        format!("<!DOCTYPE html><html><head></head><body><p>{text}</p></body></html>")
    };
    add("letter.txt", letter.as_bytes());
    add("letter.html", page(&letter).as_bytes());
    add(
        "letter edited.html",
        page(&letter.replacen("end. ", "fin. ", 4)).as_bytes(),
    );
    let drawing = |seed: u64| -> String {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let points = (0..300).map(|_| format!("L {} {} ", random.below(999), random.below(999)));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"{}\"/></svg>",
            points.collect::<Vec<_>>().concat()
        )
    };
    let (one, other) = (drawing(44), drawing(45));
    add("drawing.svg", one.as_bytes());
    add("two drawings.svg", [one, other].concat().as_bytes());
    // Documents of one program, and what says the same in other formats.
    let more = sentences(46, 12);
    add("letter.docx", &document(1, &letter));
    add("letter.pdf", &document(2, &letter));
    add("report.docx", &document(3, &sentences(47, 40)));
    add(
        "edited report.docx",
        &document(4, &format!("{}{more}", sentences(47, 40))),
    );
    add("letter.txt.gz", &fake(5, &[packed("letter.txt", &letter)]));
    // Binaries.
    let image = [&b"\0"[..], &noise(48, 9000)].concat();
    add("image.bin", &image);
    add("cut image.bin", &image[2500..]);
    add("image.bin.gz", &fake(6, &[packed("image.bin", &image)]));
    // Archives and mails.
    let report = sentences(47, 40);
    let folder: [(&str, &[u8]); 3] = [
        ("letter.txt", letter.as_bytes()),
        ("docs/report.txt", report.as_bytes()),
        ("image.bin", &image),
    ];
    let edited = letter.replacen("end.", "fin.", 6);
    let later: [(&str, &[u8]); 3] = [("letter.txt", edited.as_bytes()), folder[1], folder[2]];
    add("folder.zip", &archive(7, &folder));
    add("folder.tar.gz", &tar(8, &folder));
    add("later folder.zip", &archive(9, &later));
    add(
        "letters.zip",
        &archive(10, &[folder[0], ("second.txt", more.as_bytes())]),
    );
    add(
        "letters.tar.gz",
        &tar(11, &[folder[0], ("second.txt", more.as_bytes())]),
    );
    add(
        "strangers.zip",
        &archive(12, &[("x.txt", sentences(49, 40).as_bytes())]),
    );
    let nested = fake(
        13,
        &[
            member("folder.zip", archive(7, &folder)),
            part(Role::Member, Some(0), "letter.txt", &letter),
            part(Role::Member, Some(0), "docs/report.txt", &report),
            part(Role::Member, Some(0), "image.bin", &image),
            member("second.txt", &more),
        ],
    );
    add("nested.zip", &nested);
    let body = sentences(50, 20);
    add("mail.eml", &mail(14, &body, &[]));
    add("mail with letter.eml", &mail(15, &body, &[folder[0]]));
    add("mail with image.eml", &mail(16, &body, &[folder[2]]));
    add(
        "forwarded.eml",
        &mail(17, &format!("{more}{body}"), &[folder[0]]),
    );
    add("body.txt", body.as_bytes());
    // Few bytes.
    add("few.txt", b"only a few words are in here");
    add("few more.txt", b"only a few words are in here as well");
    files
}

/// What is said of a pair, seen from the one whose name is less.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    relation: Option<Relation>,
    unit: MeasureUnit,
    shares: [Fraction; 3],
    /// `None`: it tells something else.
    shared: Option<u64>,
}

impl Said {
    fn agrees(&self, other: &Self) -> bool {
        let is_same_shared = self
            .shared
            .is_none_or(|shared| other.shared == Some(shared));
        let all = |said: &Self| (said.relation, said.unit, said.shares);
        all(self) == all(other) && is_same_shared
    }

    fn turned(self, swap: bool) -> Self {
        let [a, b, resemblance] = self.shares;
        let shares = if swap {
            [b, a, resemblance]
        } else {
            self.shares
        };
        Self {
            relation: match self.relation {
                Some(Relation::Contains) if swap => Some(Relation::Contained),
                Some(Relation::Contained) if swap => Some(Relation::Contains),
                relation => relation,
            },
            shares,
            ..self
        }
    }
}

/// What the verbs say of each pair, by the names of both.
#[derive(Default)]
struct Answers(BTreeMap<(String, String), Vec<(&'static str, Said)>>);

impl Answers {
    fn add(&mut self, verb: &'static str, a: &str, b: &str, said: Said) {
        let swap = a > b;
        let key = if swap { (b, a) } else { (a, b) };
        let key = (key.0.to_owned(), key.1.to_owned());
        self.0
            .entry(key)
            .or_default()
            .push((verb, said.turned(swap)));
    }
}

/// The mixed tree, with names in this order, scanned in two steps.
fn scene(files: &BTreeMap<String, Vec<u8>>, backwards: bool) -> Scene {
    let mut scene = Scene::with_parts();
    let all: Vec<(usize, &String)> = files.keys().enumerate().collect();
    let number = |at: usize| if backwards { 99 - at } else { at };
    let mut write = |is_first: bool| {
        for &(at, name) in &all {
            if (at % 3 == 0) == is_first {
                scene.write(&format!("{:02}-{name}", number(at)), &files[name]);
            }
        }
        scene.scan();
    };
    write(!backwards);
    write(backwards);
    scene
}

/// What is behind the number of a file of the tree; `None`: a member.
fn plain(scene: &Scene, path: &PathText) -> Option<String> {
    let below = path.as_path().strip_prefix(scene.root()).expect("in it");
    let name = below
        .to_str()
        .expect("a name")
        .split_once('-')
        .expect("a number")
        .1;
    (!name.contains('!')).then(|| name.to_owned())
}

fn ask_find(scene: &Scene, all: &[String], said: &mut Answers) {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    for path in all {
        let subject = Subject::indexed(&snapshot, &scene.path(path), &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let subject = subject.with_part_reader(Some(Arc::new(Fake)));
        let own = PathText::from(scene.path(path));
        let name = plain(scene, &own).expect("a file");
        let within = Scope {
            within: vec![PathText::from(scene.root())],
            ..Scope::default()
        };
        for (verb, scope) in [("find", Scope::default()), ("find --in", within)] {
            let options = FindOptions {
                text: true,
                scope,
                ..FindOptions::default()
            };
            let answer = find::find(&snapshot, &subject, &own, &options).expect("an answer");
            for row in answer.rows {
                assert!(!row.estimate, "{row:?}");
                let Some(other) = plain(scene, &row.path) else {
                    continue;
                };
                let found = Said {
                    relation: row.relation,
                    unit: row.unit,
                    shares: [row.a_in_b, row.b_in_a, row.resemblance],
                    shared: Some(row.shared_bytes),
                };
                said.add(verb, &name, &other, found);
            }
        }
        let (listed, _) = find::listing(&snapshot, &subject, true).expect("a listing");
        for similar in listed {
            let Some(other) = plain(scene, &PathText::from(similar.shown)) else {
                continue;
            };
            let measures = similar.measures;
            let found = Said {
                relation: similar.relation,
                unit: similar.unit.into(),
                shares: [measures.a_in_b, measures.b_in_a, measures.resemblance]
                    .map(Fraction::from),
                shared: Some(measures.shared_bytes.0),
            };
            said.add(".similar", &name, &other, found);
        }
    }
}

fn ask_why(scene: &Scene, all: &[String], said: &mut Answers) {
    for (at, a) in all.iter().enumerate() {
        for b in &all[at + 1..] {
            let paths = (scene.path(a), scene.path(b));
            let params = Params::default();
            let comparison = compare_with_parts(&paths.0, &paths.1, &params, Some(&Fake));
            let comparison = comparison.expect("readable");
            let (measures, unit) = comparison.shared.told();
            let found = Said {
                relation: comparison.shared.relation,
                unit: unit.into(),
                shares: [measures.a_in_b, measures.b_in_a, measures.resemblance]
                    .map(Fraction::from),
                shared: Some(measures.shared_bytes.0),
            };
            let name = |path| plain(scene, &PathText::from(path)).expect("a file");
            said.add("why", &name(paths.0), &name(paths.1), found);
        }
    }
}

fn ask_pairs(scene: &Scene, said: &mut Answers) {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let request = PairsRequest {
        scope: Scope {
            within: vec![PathText::from(scene.root())],
            ..Scope::default()
        },
        text: true,
        ..PairsRequest::default()
    };
    let answer = pairs_with_parts(&snapshot, &request, Some(&Fake)).expect("an answer");
    assert_eq!(answer.errors, []);
    for row in &answer.rows {
        let name = |path| plain(scene, path).expect("a file");
        let (a, b) = (name(&row.a), name(&row.b));
        // Of single files that are no texts it has estimates.
        let is_text = |name: &str| !name.contains("image.bin") && !name.contains("drawing");
        assert!(!row.estimate || !is_text(&a) && !is_text(&b), "{row:?}");
        // Its shared bytes are those of common chunks.
        if !row.estimate {
            let found = Said {
                relation: row.relation,
                unit: row.unit,
                shares: [row.a_in_b, row.b_in_a, row.resemblance],
                shared: None,
            };
            said.add("pairs", &a, &b, found);
        }
    }
}

#[test]
fn every_verb_says_the_same_of_every_pair() {
    let files = mixed();
    let mut said = Answers::default();
    for backwards in [false, true] {
        let scene = scene(&files, backwards);
        let mut all: Vec<String> = resemble_testutil::names(scene.root())
            .into_iter()
            .map(|name| name.into_string().expect("a name"))
            .collect();
        all.sort();
        assert_eq!(all.len(), files.len());
        ask_why(&scene, &all, &mut said);
        ask_find(&scene, &all, &mut said);
        ask_pairs(&scene, &mut said);
    }
    let mut wrong: Vec<String> = Vec::new();
    for ((a, b), all) in &said.0 {
        let known = all[0].1;
        let others = all.iter().filter(|(_, said)| !said.agrees(&known));
        if let Some((verb, other)) = others.clone().next() {
            let verbs: Vec<&str> = others.map(|(verb, _)| *verb).collect();
            wrong.push(format!(
                "{a} | {b}: {:?} {known:?}, {verb} {other:?} ({verbs:?})",
                all[0].0
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} contradictions:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let found = |a: &str, b: &str| said.0[&(a.to_owned(), b.to_owned())].clone();
    let verbs = |a: &str, b: &str| {
        found(a, b)
            .iter()
            .map(|(verb, _)| *verb)
            .collect::<Vec<_>>()
    };
    let relation = |a: &str, b: &str| found(a, b)[0].1.relation;
    assert_eq!(
        relation("folder.tar.gz", "folder.zip"),
        Some(Relation::SameText)
    );
    assert_eq!(
        relation("letters.tar.gz", "letters.zip"),
        Some(Relation::SameText)
    );
    assert_eq!(
        relation("folder.zip", "later folder.zip"),
        Some(Relation::Near)
    );
    assert_eq!(
        relation("folder.zip", "letter.txt"),
        Some(Relation::Contains)
    );
    assert!(verbs("folder.zip", "letter.txt").contains(&"find"));
    assert_eq!(relation("folder.zip", "nested.zip"), Some(Relation::Near));
    assert_eq!(
        relation("letter.docx", "letter.pdf"),
        Some(Relation::SameText)
    );
    for stranger in ["folder.zip", "letters.zip", "mail with image.eml"] {
        assert_eq!(relation(stranger, "strangers.zip"), None, "{stranger}");
    }
    assert_eq!(relation("letter.docx", "report.docx"), None);
    // Every revision is found from both sides.
    for (name, _) in files.iter().filter(|(name, _)| name.contains(" revised")) {
        let base = name.replace(" revised", "");
        let asked = verbs(name, &base);
        let finds = asked.iter().filter(|verb| **verb == "find").count();
        assert_eq!(finds, 4, "{name}: {asked:?}");
    }
}
