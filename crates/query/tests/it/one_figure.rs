//! Asks every verb about every pair of a tree with all kinds of files. All verbs must report the
//! same figures, unit and relation of a pair.
//!
//! A measure is a function of two contents. So it must not depend on the verb, the direction, the
//! names, or the order of scans. The tree is made twice. In the second tree, the order of the names
//! and the order of the steps of the scan are reversed. A name consists of a number, a `-` and a
//! part that is the same in both trees. Files are identified by that part.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use resemble_core::{Params, Relation};
use resemble_proto::message::{
    CompareOptions, CompareRequest, Comparison, DirsRequest, FindOptions, GroupsRequest,
    MeasureUnit, PairFigures, PairsRequest, Scope, SoftErrorKind, Whole,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::dirs::dirs_with_parts;
use resemble_query::find::{self, Subject};
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_query::why::{self, compare_with_parts};
use resemble_relate::findings::MemoryCache;
use resemble_scan::ingest::Unobserved;
use resemble_testutil::prose::sentences;
use resemble_trees::compare;

use crate::plain::pairs_with_parts;
use crate::scene::Scene;
use crate::scene::fake::{Fake, fake, text_of};

use self::mixed::mixed;

pub(crate) mod mixed;
mod repeated;
mod trees;

/// What a verb reports about a pair. The file with the lesser name comes first. A field is `None`
/// if the verb does not report it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    told: Option<(Option<Relation>, MeasureUnit)>,
    shares: [Fraction; 2],
    resemblance: Option<Fraction>,
    shared: Option<u64>,
}

impl Said {
    fn agrees(&self, other: &Self) -> bool {
        fn agree<T: Copy + PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        self.shares == other.shares
            && agree(self.told, other.told)
            && agree(self.resemblance, other.resemblance)
            && agree(self.shared, other.shared)
    }

    fn turned(self, swap: bool) -> Self {
        if !swap {
            return self;
        }
        let [a, b] = self.shares;
        let told = self.told.map(|(relation, unit)| {
            let relation = match relation {
                Some(Relation::Contains) => Some(Relation::Contained),
                Some(Relation::Contained) => Some(Relation::Contains),
                relation => relation,
            };
            (relation, unit)
        });
        Self {
            told,
            shares: [b, a],
            ..self
        }
    }
}

/// What all verbs report, by the names of both files.
#[derive(Default)]
struct Answers(
    BTreeMap<(String, String), Vec<(&'static str, Said)>>,
    /// The pairs of files for which some verb has a row about a member of one file instead.
    BTreeSet<(String, String)>,
);

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

impl Answers {
    /// Records that a row is about a member of another file. Then the other file itself needs no
    /// row.
    fn add_member(&mut self, scene: &Scene, name: &str, member: &PathText) {
        let path = String::from_utf8_lossy(member.as_bytes()).into_owned();
        let file = path.split('!').next().unwrap_or_default();
        let other = plain(scene, &PathText::from(Path::new(file))).expect("a file");
        let (a, b) = (name.to_owned(), other);
        self.1.insert(if a > b { (b, a) } else { (a, b) });
    }
}

/// Writes the files under numbered names in either order, and scans the tree in two steps.
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

/// Returns a file's name without its number. Returns `None` for a member.
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
    let snapshot = scene.snapshot();
    for path in all {
        let subject = Subject::indexed(&snapshot, &scene.path(path), &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let subject = subject.with_part_reader(Some(Arc::new(Fake)));
        let own = PathText::from(scene.path(path));
        let name = plain(scene, &own).expect("a file");
        let within = scene.scope();
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
                    said.add_member(scene, &name, &row.path);
                    continue;
                };
                let found = Said {
                    told: Some((row.relation, row.unit)),
                    shares: [row.a_in_b, row.b_in_a].map(Fraction::from),
                    resemblance: Some(row.resemblance),
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
                told: Some((similar.relation, similar.unit.into())),
                shares: [measures.a_in_b, measures.b_in_a].map(Fraction::from),
                resemblance: Some(Fraction::from(measures.resemblance)),
                shared: Some(measures.shared_bytes.0),
            };
            said.add(".similar", &name, &other, found);
        }
    }
}

fn why(scene: &Scene, a: &Path, b: &Path) -> why::Comparison {
    let terms = (&Params::default(), &*scene.templates);
    compare_with_parts(a, b, terms, Some(&Fake)).expect("readable")
}

fn ask_why(scene: &Scene, all: &[String], said: &mut Answers) {
    for (at, a) in all.iter().enumerate() {
        for b in &all[at + 1..] {
            let paths = (scene.path(a), scene.path(b));
            let comparison = why(scene, &paths.0, &paths.1);
            let (measures, unit) = comparison.shared.told();
            let found = Said {
                told: Some((comparison.shared.relation, unit.into())),
                shares: [measures.a_in_b, measures.b_in_a].map(Fraction::from),
                resemblance: Some(Fraction::from(measures.resemblance)),
                shared: Some(measures.shared_bytes.0),
            };
            let name = |path| plain(scene, &PathText::from(path)).expect("a file");
            said.add("why", &name(paths.0), &name(paths.1), found);
        }
    }
}

fn ask_pairs(scene: &Scene, archives: bool, said: &mut Answers) {
    let snapshot = scene.snapshot();
    let request = PairsRequest {
        scope: scene.scope(),
        text: true,
        archives,
        ..PairsRequest::default()
    };
    let answer = pairs_with_parts(&snapshot, &request, Some(&Fake)).expect("an answer");
    assert_eq!(answer.errors, []);
    for row in &answer.rows {
        let name = |path| plain(scene, path).expect("a file");
        let (a, b) = (name(&row.a), name(&row.b));
        // Only pairs of images and pairs of drawings may have estimates.
        let is_text = |name: &str| !name.contains("image.bin") && !name.contains("drawing");
        assert!(
            !row.told.estimate || !is_text(&a) && !is_text(&b),
            "{row:?}"
        );
        // Rows with estimates are not compared: their shared bytes are only those of common chunks.
        if !row.told.estimate {
            let found = Said {
                told: Some((row.told.relation, row.told.unit)),
                shares: [row.a_in_b, row.b_in_a].map(Fraction::from),
                resemblance: Some(row.resemblance),
                shared: None,
            };
            said.add("pairs", &a, &b, found);
        }
    }
}

/// Returns the index of a command that has no cache.
fn local() -> LocalIndex {
    LocalIndex::open(LocalOptions {
        catalogues: None,
        part_reader: Some(Arc::new(Fake)),
        cache: None,
        cache_bytes: 0,
        params: Params::default(),
        own: Vec::new(),
    })
    .expect("an index")
}

/// Returns the request to compare two trees or two files.
fn comparison(scene: &Scene, a: &str, b: &str) -> CompareRequest {
    CompareRequest {
        a: PathText::from(scene.path(a)),
        b: PathText::from(scene.path(b)),
        options: CompareOptions {
            text: true,
            ..CompareOptions::default()
        },
    }
}

/// Returns the comparison of two trees by the index. Checks that a repeated question and a scan of
/// the disk give the same answer.
fn compared(scene: &Scene, a: &str, b: &str) -> Whole<Comparison> {
    let snapshot = scene.snapshot();
    let request = comparison(scene, a, b);
    let cache = MemoryCache::default();
    let ask = || compare::compare_with_parts(&snapshot, &request, Some(&Fake), &cache);
    let by_index = ask().expect("an answer");
    assert_eq!(
        ask().expect("an answer"),
        by_index,
        "what is remembered differs"
    );
    let by_disk = local().compare(&request, &scene.templates, &mut Unobserved);
    assert_eq!(
        by_disk.expect("an answer"),
        by_index,
        "{a}, {b}: the two ways differ"
    );
    by_index
}

/// Returns what `compare` reports about two files.
fn told_by_compare(shares: [Fraction; 2], shared: u64, told: PairFigures) -> Said {
    assert!(!told.estimate);
    Said {
        told: Some((told.relation, told.unit)),
        shares,
        resemblance: None,
        shared: Some(shared),
    }
}

fn ask_compare(scene: &Scene, all: &[String], by_disk: bool, said: &mut Answers) {
    let snapshot = scene.snapshot();
    let mut local = local();
    for (at, a) in all.iter().enumerate() {
        for b in &all[at + 1..] {
            let request = comparison(scene, a, b);
            let answer = if by_disk {
                let answer = local.compare(&request, &scene.templates, &mut Unobserved);
                answer.expect("an answer")
            } else {
                let cache = MemoryCache::default();
                let answer = compare::compare_with_parts(&snapshot, &request, Some(&Fake), &cache);
                answer.expect("an answer")
            };
            let [row] = &answer.body.entries[..] else {
                panic!("{a}, {b}: {:?}", answer.body.entries);
            };
            let found = told_by_compare([row.a_in_b, row.b_in_a], row.shared_bytes, row.told);
            let name = |name| plain(scene, &PathText::from(scene.path(name))).expect("a file");
            said.add("compare", &name(a), &name(b), found);
        }
    }
}

fn ask_groups(scene: &Scene, said: &mut Answers) {
    let snapshot = scene.snapshot();
    let request = GroupsRequest {
        scope: scene.scope(),
        text: true,
        ..GroupsRequest::default()
    };
    let scratch = scene.temp.root();
    let answer = groups_with_parts(&snapshot, &request, Some(&Fake), KnownPairs::None, scratch);
    let name = |path: &PathText| plain(scene, path).expect("a file");
    for cluster in answer.expect("an answer").body.clusters {
        let mut add = |a: &PathText, b: &PathText, estimate: bool, shares, shared| {
            assert!(!estimate, "{}, {}", a.display(), b.display());
            let found = Said {
                told: None,
                shares,
                resemblance: None,
                shared,
            };
            said.add("groups", &name(a), &name(b), found);
        };
        for link in &cluster.links {
            let shares = [link.a_in_b, link.b_in_a];
            add(
                &link.a,
                &link.b,
                link.estimate,
                shares,
                Some(link.shared_bytes),
            );
        }
        for member in &cluster.members {
            if member.path != cluster.center {
                let shares = [member.a_in_b, member.b_in_a];
                add(&member.path, &cluster.center, member.estimate, shares, None);
            }
        }
    }
}

/// Returns the names of all files of the tree.
fn names(scene: &Scene) -> Vec<String> {
    let names = resemble_testutil::names(scene.root()).into_iter();
    let mut all: Vec<String> = names
        .map(|name| name.into_string().expect("a name"))
        .collect();
    all.sort();
    all
}

/// Asks every verb about all files of the tree.
fn ask_all(scene: &Scene, by_disk: bool, said: &mut Answers) {
    let all = names(scene);
    ask_why(scene, &all, said);
    ask_find(scene, &all, said);
    ask_pairs(scene, true, said);
    ask_pairs(scene, false, said);
    ask_compare(scene, &all, by_disk, said);
    ask_groups(scene, said);
}

/// Checks the lists of all verbs. If `why` calls a pair related, every verb that lists all pairs
/// must have a row for it. Verbs other than `pairs` may have a row for a member instead. If `why`
/// does not call a pair related, `find`, `.similar` and `groups` must not have a row for it.
fn assert_one_list(said: &Answers) {
    let mut wrong: Vec<String> = Vec::new();
    for ((a, b), all) in &said.0 {
        let told = |verb: &str| {
            all.iter()
                .find(|(by, _)| *by == verb)
                .map(|(_, said)| said.told)
        };
        let relation = told("why").flatten().and_then(|told| told.0);
        for verb in ["find", "find --in", ".similar", "pairs"] {
            let is_row = told(verb).is_some();
            let by_member = verb != "pairs" && said.1.contains(&(a.clone(), b.clone()));
            if relation.is_some() && !is_row && !by_member {
                wrong.push(format!("{a} | {b}: {relation:?}, and no row of {verb}"));
            }
        }
        for verb in ["find", "find --in", ".similar", "groups"] {
            if relation.is_none() && told(verb).is_some() {
                wrong.push(format!("{a} | {b}: no relation, and a row of {verb}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn assert_no_contradiction(said: &Answers) {
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
}

/// Asks all verbs after a template was marked. The template is the frame with which many of the
/// texts begin.
#[test]
fn every_verb_leaves_out_the_same_template() {
    let frame = sentences(990, 12);
    let framed = |(name, bytes): (String, Vec<u8>)| {
        let is_text = Path::new(&name).extension().is_some_and(|of| of == "txt");
        let is_plain = is_text && !name.contains("few");
        let bytes = if is_plain {
            [frame.as_bytes(), b"\n", &bytes].concat()
        } else {
            bytes
        };
        (name, bytes)
    };
    let mut files: BTreeMap<String, Vec<u8>> = mixed().into_iter().map(framed).collect();
    for at in 0..2 {
        let own = sentences(991 + at, 20);
        files.insert(
            format!("framed {at}.txt"),
            format!("{frame}{own}").into_bytes(),
        );
    }
    let same = fake(992, &[text_of(&files["framed 0.txt"])]);
    files.insert("same text.docx".to_owned(), same);
    let mut said = Answers::default();
    for backwards in [false, true] {
        let mut scene = scene(&files, backwards);
        let all = names(&scene);
        let framed: Vec<&str> = all
            .iter()
            .filter(|name| name.contains("framed"))
            .map(String::as_str)
            .collect();
        scene.mark(&framed);
        ask_all(&scene, backwards, &mut said);
    }
    assert_no_contradiction(&said);
    let of = |a: &str, b: &str| &said.0[&(a.to_owned(), b.to_owned())];
    let strangers = of("framed 0.txt", "framed 1.txt");
    assert!(
        strangers
            .iter()
            .all(|(verb, _)| ["why", "compare"].contains(verb))
    );
    assert!(
        strangers
            .iter()
            .all(|(_, said)| said.told.is_some_and(|(told, _)| told.is_none()))
    );
    let size = Some(files["framed 0.txt"].len() as u64);
    for (verb, said) in of("framed 0.txt", "same text.docx") {
        assert!(
            said.shared.is_none() || said.shared == size,
            "{verb}: {said:?}"
        );
    }
    for (name, _) in files.iter().filter(|(name, _)| name.contains(" revised")) {
        let base = name.replace(" revised", "");
        let verbs: Vec<&str> = of(name, &base).iter().map(|(verb, _)| *verb).collect();
        assert!(
            verbs.contains(&"find") && verbs.contains(&"pairs"),
            "{name}: {verbs:?}"
        );
    }
}

#[test]
fn every_verb_says_the_same_of_every_pair() {
    let files = mixed();
    let mut said = Answers::default();
    for backwards in [false, true] {
        let scene = scene(&files, backwards);
        assert_eq!(names(&scene).len(), files.len());
        ask_all(&scene, backwards, &mut said);
    }
    assert_no_contradiction(&said);
    assert_one_list(&said);
    let found = |a: &str, b: &str| said.0[&(a.to_owned(), b.to_owned())].clone();
    let verbs = |a: &str, b: &str| {
        found(a, b)
            .iter()
            .map(|(verb, _)| *verb)
            .collect::<Vec<_>>()
    };
    let relation = |a: &str, b: &str| found(a, b)[0].1.told.expect("told").0;
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
    assert_eq!(
        relation("records.json", "third of records.json"),
        Some(Relation::Shares)
    );
    for way in ["accents apart.txt", "accents hidden.txt", "accents.html"] {
        let same_text = Some(Relation::SameText);
        assert_eq!(
            relation(way.min("accents.txt"), way.max("accents.txt")),
            same_text
        );
    }
    for whole in ["accents.txt", "accents apart.txt", "accents.html"] {
        let [near, _] = found(whole, "half of accents.html")[0].1.shares;
        assert_eq!(
            relation(whole, "half of accents.html"),
            Some(Relation::Contains)
        );
        assert!(near.millionths() > Some(450_000), "{near:?}");
        assert!(verbs(whole, "half of accents.html").contains(&"find"));
    }
    // In both trees, `find` finds each revision for its base, and the base for the revision.
    for (name, _) in files.iter().filter(|(name, _)| name.contains(" revised")) {
        let base = name.replace(" revised", "");
        let asked = verbs(name, &base);
        let finds = asked.iter().filter(|verb| **verb == "find").count();
        assert_eq!(finds, 4, "{name}: {asked:?}");
    }
}
