//! The measures of pairs are stored in the index, so that a repeated question reads no file.

use std::fs;
use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_index::Snapshot;
use resemble_proto::message::{
    CompareOptions, CompareRequest, Comparison, FindOptions, FindRow, SoftErrorKind, Whole,
};
use resemble_proto::path::PathText;
use resemble_query::find::{Similar, Subject, find, listing};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_relate::findings::MemoryCache;
use resemble_scan::ingest::Unobserved;
use resemble_testutil::prose::{edited, overwritten, prose};
use resemble_testutil::random::noise;

use crate::plain::compare;
use crate::scene::Scene;

/// Returns the files `text` and `other`, and ten versions of each. `other` is not a text. A
/// question about `text` or `other` reads enough bytes to start a second thread. Five more files
/// share a passage with `text`, which is too short for a relation.
fn versions(bytes: usize) -> Vec<(String, Vec<u8>)> {
    let (text, other) = (prose(1, bytes), noise(2, bytes));
    let mut files = vec![
        ("text".to_owned(), text.clone()),
        ("other".into(), other.clone()),
    ];
    for n in 1..=10 {
        files.push((format!("text{n:02}"), edited(&text, n as u64, 3 * n)));
        files.push((format!("other{n:02}"), overwritten(&other, bytes / n)));
    }
    for n in 1..=5 {
        let stranger = [&text[..bytes / 8], &prose(100 + n, bytes)].concat();
        files.push((format!("stranger{n}"), stranger));
    }
    files
}

fn scene(files: &[(String, Vec<u8>)]) -> Scene {
    let mut scene = Scene::new();
    for (name, bytes) in files {
        scene.write(name, bytes);
    }
    scene.scan();
    scene
}

fn subject(snapshot: &Snapshot, path: &Path) -> Subject {
    let subject = Subject::remembered(snapshot, path).expect("readable");
    subject.expect("indexed")
}

fn found(snapshot: &Snapshot, path: &Path) -> Vec<FindRow> {
    let subject = subject(snapshot, path);
    let options = FindOptions {
        all: true,
        ..FindOptions::default()
    };
    let answer = find(snapshot, &subject, &PathText::from(path), &options);
    answer.expect("an answer").rows
}

/// A file that vanishes before it is read causes an error in the answer. Its row is an estimate.
#[test]
fn what_has_vanished_since_is_said() {
    let text = prose(1, 20_000);
    let scene = scene(&[
        ("a".to_owned(), text.clone()),
        ("b".to_owned(), edited(&text, 2, 3)),
        ("c".to_owned(), edited(&text, 3, 3)),
    ]);
    let snapshot = scene.snapshot();
    fs::remove_file(scene.path("b")).expect("removed");
    let path = scene.path("a");
    let subject = subject(&snapshot, &path);
    let name = PathText::from(path.as_path());
    let answer = find(&snapshot, &subject, &name, &FindOptions::default()).expect("an answer");
    assert_eq!(answer.rows.len(), 2);
    let kinds = answer
        .errors
        .iter()
        .map(|error| (error.kind, error.path.as_path()));
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, [(SoftErrorKind::NotFound, &*scene.path("b"))]);
}

fn listed(snapshot: &Snapshot, path: &Path) -> Vec<Similar> {
    let listed = listing(snapshot, &subject(snapshot, path), true);
    listed.expect("an answer").0
}

/// Returns the rows with only the last name of each path, so that rows of different scenes can be
/// compared.
fn named(rows: Vec<Similar>) -> Vec<Similar> {
    let name = |path: &Path| path.file_name().map(PathBuf::from).unwrap_or_default();
    let named = rows.into_iter().map(|row| Similar {
        path: name(&row.path),
        shown: name(&row.shown),
        // The files of each scene are new, so their times are not compared.
        changed: 0,
        ..row
    });
    named.collect()
}

#[test]
fn a_second_question_reads_no_file() {
    let scene = scene(&versions(20_000));
    let snapshot = || scene.index.snapshot().expect("a snapshot");
    for (name, quotations) in [("text", 5), ("other", 0)] {
        let path = scene.path(name);
        let rows = found(&snapshot(), &path);
        let related = rows.iter().filter(|row| row.relation.is_some()).count();
        assert_eq!((related, rows.len() - related), (10, quotations), "{name}");
        assert!(rows.iter().all(|row| !row.estimate), "{rows:?}");
    }
    scene.index.write_measures().expect("written");
    let sizes = scene.index.table_sizes().expect("sizes");
    let measures = sizes.iter().find(|(name, _)| name == "measures");
    assert!(measures.expect("a table").1.rows > 20);
    let rows = ["text", "other"].map(|name| found(&snapshot(), &scene.path(name)));
    // This question is about the other file of the same pair.
    let back = found(&snapshot(), &scene.path("text01"));
    fs::remove_dir_all(scene.root()).expect("no tree any more");
    let again = ["text", "other"].map(|name| found(&snapshot(), &scene.path(name)));
    assert_eq!(again, rows);
    let pair = |rows: &[FindRow], name: &str| {
        let path = PathText::from(scene.path(name));
        let row = rows.iter().find(|row| row.path == path);
        row.cloned().expect("a row")
    };
    let (there, back) = (pair(&rows[0], "text01"), pair(&back, "text"));
    assert_eq!((there.a_in_b, there.b_in_a), (back.b_in_a, back.a_in_b));
    // The files are gone, so pairs without stored measures are now estimates. That shows that the
    // earlier questions read the files.
    let unknown = found(&snapshot(), &scene.path("text02"));
    let known = PathText::from(scene.path("text"));
    for row in unknown {
        let is_known = row.path == known || row.path == PathText::from(scene.path("text01"));
        assert_eq!(row.estimate, !is_known, "{row:?}");
    }
}

#[test]
fn threads_change_nothing() {
    let files = versions(60_000);
    let mut answers = Vec::new();
    for _ in 0..4 {
        let scene = scene(&files);
        let snapshot = scene.index.snapshot().expect("a snapshot");
        answers.push(["text", "other"].map(|name| named(listed(&snapshot, &scene.path(name)))));
    }
    assert!(answers[0].iter().all(|rows| rows.len() == 10));
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

/// A listing measures only some pairs; the other rows are estimates. When the same listing is
/// requested again, it measures no further pairs. Otherwise it would be slow again, and its figures
/// would change.
#[test]
fn which_rows_are_estimates_does_not_depend_on_how_often_one_asks() {
    let text = prose(3, 4 << 20);
    let mut files = vec![("text".to_owned(), text.clone())];
    files.extend((1..=5).map(|n| (format!("text{n}"), edited(&text, n, 40))));
    let scene = scene(&files);
    let snapshot = || scene.index.snapshot().expect("a snapshot");
    let first = listed(&snapshot(), &scene.path("text"));
    let estimates = first.iter().filter(|row| row.is_estimate).count();
    assert_eq!((first.len(), estimates), (5, 2), "{first:?}");
    assert_eq!(listed(&snapshot(), &scene.path("text")), first);
    // Measures that one question has stored are used by all other questions.
    let all = found(&snapshot(), &scene.path("text"));
    assert!(all.iter().all(|row| !row.estimate));
    let later = listed(&snapshot(), &scene.path("text"));
    assert!(later.iter().all(|row| !row.is_estimate));
}

#[test]
fn the_next_command_reads_no_file_either() {
    let temp = tempfile::tempdir().expect("a folder");
    let tree = temp.path().canonicalize().expect("a folder").join("tree");
    let cache = temp.path().join("cache/cache.redb");
    fs::create_dir(&tree).expect("a folder");
    for (name, bytes) in versions(20_000) {
        fs::write(tree.join(name), bytes).expect("a file");
    }
    let open = || {
        let options = LocalOptions {
            cache: Some(cache.clone()),
            cache_bytes: LocalOptions::CACHE_BYTES,
            params: Params::default(),
            own: Vec::new(),
            part_reader: None,
            catalogues: None,
        };
        let mut local = LocalIndex::open(options).expect("open");
        assert_eq!(local.take_note(), None);
        local
    };
    let ask = |local: &LocalIndex, name: &str| {
        let snapshot = local.snapshot().expect("a snapshot");
        found(&snapshot, &tree.join(name))
    };
    let mut local = open();
    let paths = [tree.clone()];
    local.refresh(&paths, &mut Unobserved).expect("looked at");
    let rows = ask(&local, "text");
    assert!(!rows.is_empty() && rows.iter().all(|row| !row.estimate));
    local.close();
    let local = open();
    let others = ask(&local, "other");
    assert!(!others.is_empty() && others.iter().all(|row| !row.estimate));
    // Drops the index without closing it, as if the command was killed.
    drop(local);
    fs::remove_dir_all(&tree).expect("no tree any more");
    let local = open();
    assert_eq!(ask(&local, "text"), rows);
    assert!(ask(&local, "other").iter().all(|row| row.estimate));
    local.close();
}

/// Calls `write` for each file of two trees. Each file of `b` is an edited copy of a file of `a`.
fn two_trees(write: impl Fn(String, Vec<u8>)) {
    for (name, bytes) in versions(20_000) {
        write(format!("b/{name}"), overwritten(&bytes, 4000));
        write(format!("a/{name}"), bytes);
    }
}

fn request(a: PathBuf, b: PathBuf) -> CompareRequest {
    CompareRequest {
        a: PathText::from(a),
        b: PathText::from(b),
        options: CompareOptions::default(),
    }
}

#[test]
fn a_second_comparison_reads_no_file() {
    let mut scene = Scene::new();
    two_trees(|name, bytes| scene.write(&name, bytes));
    scene.scan();
    let request = request(scene.path("a"), scene.path("b"));
    let ask = |index: &resemble_index::Index| {
        let snapshot = index.snapshot().expect("a snapshot");
        // The new cache holds no earlier answer, so only stored measures can help.
        compare(&snapshot, &request, &MemoryCache::default()).expect("an answer")
    };
    let first = ask(&scene.index);
    let other = Scene::new();
    let mut ingest = other.ingest;
    ingest.set_roots(vec![resemble_scan::ingest::RootOptions::new(scene.root())]);
    let all = [resemble_scan::ingest::Target::subtree(scene.root())];
    ingest.reconcile(&all, &mut Unobserved).expect("scanned");
    fs::remove_dir_all(scene.root()).expect("no tree any more");
    assert_eq!(ask(&scene.index), first);
    assert_ne!(ask(&other.index), first, "the first one did read the files");
}

#[test]
fn the_next_command_compares_by_what_this_one_measured() {
    let temp = tempfile::tempdir().expect("a folder");
    let tree = temp.path().canonicalize().expect("a folder");
    for folder in ["a", "b"] {
        fs::create_dir(tree.join(folder)).expect("a folder");
    }
    two_trees(|name, bytes| fs::write(tree.join(name), bytes).expect("a file"));
    let request = request(tree.join("a"), tree.join("b"));
    let cache = temp.path().join("cache/cache.redb");
    let compared = |cache: Option<&Path>| -> (Whole<Comparison>, u64) {
        let options = LocalOptions {
            cache: cache.map(Path::to_owned),
            cache_bytes: LocalOptions::CACHE_BYTES,
            params: Params::default(),
            own: Vec::new(),
            part_reader: None,
            catalogues: None,
        };
        let mut local = LocalIndex::open(options).expect("open");
        let sizes = local.index().table_sizes().expect("sizes");
        let measures = sizes.iter().find(|(name, _)| name == "measures");
        let rows = measures.expect("a table").1.rows;
        let answer = local.compare(&request, &Templates::default(), &mut Unobserved);
        local.close();
        (answer.expect("an answer"), rows)
    };
    let (first, before) = compared(Some(&cache));
    assert_eq!(before, 0);
    fs::write(tree.join("a/text"), prose(9, 9000)).expect("another file");
    let (second, before) = compared(Some(&cache));
    assert!(before >= 20, "{before} pairs are kept");
    assert_ne!(second, first);
    assert_eq!(second, compared(None).0);
}

/// 400 files share a phrase, but are otherwise unrelated. A listing reads fewer than half of these
/// files to find that out. `find --all` reads more than twice as many files as the listing.
#[test]
fn a_listing_reads_nothing_that_it_cannot_list() {
    let phrase = prose(9, 700);
    let mut scene = Scene::new();
    for n in 0..400 {
        let text = [&phrase[..], &prose(1000 + n, 2500)].concat();
        scene.write(&format!("{n:03}"), text);
    }
    let subject_text = fs::read(scene.path("000")).expect("a file");
    scene.write("version", edited(&subject_text, 1, 5));
    scene.scan();
    let measures = || {
        scene.index.write_measures().expect("written");
        let sizes = scene.index.table_sizes().expect("sizes");
        sizes
            .iter()
            .find(|(name, _)| name == "measures")
            .expect("a table")
            .1
            .rows
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let names =
        |rows: &[Similar]| -> Vec<PathBuf> { rows.iter().map(|row| row.path.clone()).collect() };
    let rows = listed(&snapshot, &scene.path("000"));
    assert_eq!(names(&rows), [scene.path("version")]);
    let read = measures();
    assert!(read < 150, "{read} of 400");
    found(&snapshot, &scene.path("000"));
    assert!(measures() > 2 * read);
}
