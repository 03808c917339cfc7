//! Tests catalogues of whole trees, with archives and documents. An index finds the same relations
//! in a catalogue as in the tree that it records.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_catalogue::{self as catalogue, CatalogueError, Details, Samples};
use resemble_core::Params;
use resemble_core::hash::content::digest;
use resemble_index::{Index, Look, Snapshot};
use resemble_proto::catalogued;
use resemble_proto::message::{FindOptions, FindRow, Scope};
use resemble_proto::number::Fraction;
use resemble_query::find::{Subject, find};

use crate::scene::Scene;
use crate::scene::fake::{Fake, fake, member, packed, text_of};
use resemble_testutil::TempTree;
use resemble_testutil::prose::words;
use resemble_testutil::random::letters as text;

fn written(snapshot: &Snapshot, roots: &[PathBuf], text: bool) -> Vec<u8> {
    with_samples(snapshot, roots, text, Samples::All)
}

fn with_samples(snapshot: &Snapshot, roots: &[PathBuf], text: bool, samples: Samples) -> Vec<u8> {
    let details = Details {
        label: "tree".to_owned(),
        created: 0,
        names: true,
        text,
        samples,
    };
    let mut bytes = Vec::new();
    catalogue::write(snapshot, roots, &details, &mut |piece| {
        bytes.extend_from_slice(piece);
        ControlFlow::Continue(())
    })
    .expect("written");
    bytes
}

fn load(index: &Index, root: &Path, bytes: &[u8]) -> Result<(), CatalogueError> {
    let temp = TempTree::new();
    let file = temp.write("tree.cat", bytes);
    catalogue::load(index, root, catalogue::open(&file)?).map(drop)
}

fn rows(snapshot: &Snapshot, subject: &Path, within: &Path) -> Vec<FindRow> {
    found(snapshot, subject, within, false)
}

fn all_rows(snapshot: &Snapshot, subject: &Path, within: &Path) -> Vec<FindRow> {
    found(snapshot, subject, within, true)
}

fn found(snapshot: &Snapshot, subject: &Path, within: &Path, all: bool) -> Vec<FindRow> {
    let subject = Subject::remembered(snapshot, subject).expect("readable");
    let options = FindOptions {
        scope: Scope {
            within: vec![within.into()],
            ..Scope::default()
        },
        text: true,
        all,
        ..FindOptions::default()
    };
    let subject = subject.expect("a file");
    let subject = subject.with_part_reader(Some(Arc::new(Fake)));
    let answer = find(snapshot, &subject, &"x".into(), &options);
    answer.expect("an answer").rows
}

/// Writes a document, nested archives, a compressed file, and files with the same contents.
fn scene() -> Scene {
    let mut scene = Scene::with_parts();
    let (a, b, c) = (text(1, 20_000), text(2, 9_000), text(3, 15_000));
    let inner = fake(5, &[member("deep.txt", &c)]);
    scene.write("doc", fake(1, &[text_of(&a)]));
    scene.write(
        "archive",
        fake(2, &[member("b.txt", &b), member("in", inner)]),
    );
    scene.write("packed", fake(3, &[packed("c.txt", &c)]));
    scene.write("sub/a.txt", &a);
    scene.write("sub/b.txt", &b);
    scene.write("sub/copy of archive", fake(2, &[member("b.txt", &b)]));
    scene.write("plain", text(9, 4_000));
    scene.scan();
    scene
}

#[test]
fn what_archives_hold_comes_with_them() {
    let scene = scene();
    let live = scene.index.snapshot().expect("a snapshot");
    let bytes = written(&live, &[scene.root()], true);
    let other = Index::in_memory(&Params::default()).expect("an index");
    let at = catalogued::of_label("tree");
    load(&other, &at, &bytes).expect("loaded");
    let there = other.snapshot().expect("a snapshot");
    assert_eq!(there.check().expect("readable"), Vec::<String>::new());
    let (ours, theirs) = (
        live.totals().expect("totals"),
        there.totals().expect("totals"),
    );
    assert_eq!(
        (ours.files, ours.contents, ours.parts),
        (theirs.files, theirs.contents, theirs.parts)
    );
    assert!(written(&there, std::slice::from_ref(&at), true) == bytes);
    for name in ["doc", "archive", "archive!b.txt", "sub/a.txt", "sub/b.txt"] {
        let here = rows(&live, &scene.path(name), &scene.root());
        let mut recorded = rows(&there, &at.join(name), &at);
        assert!(!here.is_empty(), "{name}");
        for row in &mut recorded {
            let below = row
                .path
                .as_path()
                .strip_prefix(&at)
                .expect("in the catalogue");
            row.path = scene.root().join(below).into();
        }
        // The files of a catalogue cannot be read, so pairs of such files are estimated.
        let related = |rows: &[FindRow]| -> Vec<_> {
            let rows = rows.iter().map(|row| (row.path.clone(), row.relation));
            rows.collect()
        };
        assert_eq!(related(&here), related(&recorded), "{name}");
        assert!(here.iter().all(|row| !row.estimate), "{here:?}");
    }
    // If a catalogue is written without parts, it has only files.
    let plain = Index::in_memory(&Params::default()).expect("an index");
    load(&plain, &at, &written(&live, &[scene.root()], false)).expect("loaded");
    let totals = plain
        .snapshot()
        .expect("a snapshot")
        .totals()
        .expect("totals");
    assert_eq!((totals.files, totals.parts), (ours.files, 0));
}

/// The index has both the tree and its catalogue. Nothing in the catalogue changes the data of the
/// tree's files.
#[test]
fn a_catalogue_changes_nothing_of_what_is_here() {
    let scene = scene();
    let before = scene.dump();
    let live = scene.index.snapshot().expect("a snapshot");
    let bytes = written(&live, &[scene.root()], true);
    let parts = live.totals().expect("totals").parts;
    drop(live);
    let at = catalogued::of_label("tree");
    load(&scene.index, &at, &bytes).expect("loaded");
    assert_eq!(scene.dump(), before);
    let both = scene.index.snapshot().expect("a snapshot");
    assert_eq!(
        both.totals().expect("totals").parts,
        parts,
        "each content has its parts once"
    );
    let found = rows(&both, &scene.path("plain"), &at);
    assert_eq!(found.len(), 1, "{found:?}");
    drop(both);

    // The catalogue is forged: the MD5 of one chunk is changed, and the digest is computed again.
    let live = scene.index.snapshot().expect("a snapshot");
    let plain = live
        .file_at(&scene.path("plain"))
        .expect("readable")
        .expect("a file");
    let content = plain.state.content().expect("read");
    let md5 = live.chunks(content).expect("chunks").0[0].hash.0;
    let mut lie = bytes[..bytes.len() - 32].to_vec();
    let place = lie
        .windows(16)
        .position(|window| window == md5)
        .expect("its chunk");
    lie[place] ^= 0xff;
    let checksum = digest(&lie);
    lie.extend_from_slice(&checksum.0);
    load(&scene.index, &at, &lie).expect("well-formed");
    assert_eq!(scene.dump(), before);
    drop(live);
    catalogue::unload_stray(&scene.index, &[]).expect("gone");
    scene.assert_as_fresh("after the catalogue went");
    let totals = scene
        .index
        .snapshot()
        .expect("a snapshot")
        .totals()
        .expect("totals");
    assert_eq!(totals.parts, parts);
}

/// A content that was indexed only by its bytes gets the parts that a catalogue records. It stays
/// `Look::Unseen`, so a file with that content is still taken apart later.
#[test]
fn what_was_not_looked_into_is_looked_into_later() {
    let with_parts = scene();
    let bytes = {
        let snapshot = with_parts.index.snapshot().expect("a snapshot");
        written(&snapshot, &[with_parts.root()], true)
    };
    let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
    // This catalogue of the same files has no parts.
    let plain = {
        let snapshot = with_parts.index.snapshot().expect("a snapshot");
        written(&snapshot, &[with_parts.root()], false)
    };
    let (first, second) = (catalogued::of_label("a"), catalogued::of_label("b"));
    load(&index, &first, &plain).expect("loaded");
    load(&index, &second, &bytes).expect("loaded");
    let snapshot = index.snapshot().expect("a snapshot");
    let file = snapshot
        .file_at(&second.join("archive"))
        .expect("readable")
        .expect("a file");
    let content = file.state.content().expect("a content");
    let row = snapshot.content(content).expect("readable").expect("a row");
    assert_eq!(row.look, Look::Unseen);
    assert!(
        row.parts > 0,
        "and the question sees what the catalogue says is in it"
    );
    assert!(!rows(&snapshot, &second.join("sub/b.txt"), &second).is_empty());
}

/// If edits are everywhere in a file, its old and its new version have no chunk in common. They are
/// still found by the samples that a thinned catalogue keeps.
#[test]
fn samples_are_thinned_until_the_catalogue_is_small_enough() {
    let mut scene = Scene::new();
    let mut bytes = 0;
    for file in 0..12 {
        let old = text(file, 16_000);
        // Replaces one word in forty.
        let words = old.split(|byte| *byte == b' ').enumerate();
        let edited: Vec<&[u8]> = words
            .map(|(at, word)| if at % 40 == 7 { &b"another"[..] } else { word })
            .collect();
        scene.write(&format!("disk/{file}"), &old);
        scene.write(&format!("here/{file}"), edited.join(&b' '));
        bytes += old.len();
    }
    scene.scan();
    let live = scene.index.snapshot().expect("a snapshot");
    let disk = [scene.path("disk")];
    let sizes: Vec<usize> = [1_000_000, 40_000, 30_000, 10_000]
        .into_iter()
        .map(|part| {
            let part = Fraction::from_millionths(part);
            let samples = Samples::Within { part, small: 0 };
            with_samples(&live, &disk, true, samples).len()
        })
        .collect();
    assert_eq!(sizes[0], written(&live, &disk, true).len());
    assert!(
        sizes[1] * 100 <= bytes * 4 && sizes[0] > sizes[1],
        "{sizes:?}"
    );
    assert!(
        sizes[2] * 100 <= bytes * 3 && sizes[1] > sizes[2],
        "{sizes:?}"
    );
    let least = with_samples(&live, &disk, true, Samples::AtMost(16));
    assert_eq!(sizes[3], least.len(), "nothing is thinner");

    let at = catalogued::of_label("tree");
    let part = Fraction::from_millionths(30_000);
    let thin = with_samples(&live, &disk, true, Samples::Within { part, small: 0 });
    let small = thin.len() as u64 * 2;
    let whole = with_samples(&live, &disk, true, Samples::Within { part, small });
    assert_eq!(sizes[0], whole.len(), "it is small as it is");
    drop(live);
    load(&scene.index, &at, &thin).expect("loaded");
    let both = scene.index.snapshot().expect("a snapshot");
    for file in 0..12 {
        let found = rows(&both, &scene.path(&format!("here/{file}")), &at);
        assert_eq!(found.len(), 1, "{file}: {found:?}");
        assert_eq!(found[0].path.as_path(), at.join(file.to_string()));
    }
}

/// An answer about a catalogue depends only on the files in it. Other files with the same contents
/// in the index do not affect the answer.
#[test]
fn a_catalogue_is_answered_from_by_what_is_in_it() {
    let header = words(0, 200);
    let subject = format!("{header} {}", words(10_000, 150));
    let mut with_the_disk = Scene::new();
    for n in 0..120 {
        let own = words(10_000 + 1000 * n, 300);
        with_the_disk.write(&format!("disk/{n}"), format!("{header} {own}"));
    }
    let mut alone = Scene::new();
    for scene in [&mut with_the_disk, &mut alone] {
        scene.write("subject", &subject);
        scene.scan();
    }
    let live = with_the_disk.index.snapshot().expect("a snapshot");
    let bytes = written(&live, &[with_the_disk.path("disk")], true);
    let at = catalogued::of_label("disk");
    let answers = [&with_the_disk, &alone].map(|scene| {
        load(&scene.index, &at, &bytes).expect("loaded");
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let rows = all_rows(&snapshot, &scene.path("subject"), &at).into_iter();
        let figures = rows.map(|row| (row.path, row.a_in_b, row.discount));
        figures.collect::<Vec<_>>()
    });
    assert!(answers[0].iter().any(|row| row.2.reason.is_some()));
    assert_eq!(answers[0], answers[1]);
}
