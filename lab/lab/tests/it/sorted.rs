//! Tests of sorted5: arrays and signatures must give the same answers after any change of the
//! files.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use resemble_lab::error::LabError;
use resemble_lab::figure::Figure;
use resemble_lab::method::{SignatureCache, answer};
use resemble_lab::question::{
    MethodFind, MethodLimits, MethodPairs, MethodQuestion, MethodRow, MethodScore,
};
use resemble_methods::{Method, MethodParams, Settings, sign};
use resemble_proto::message::Answer;
use resemble_testutil::random::Random;

use crate::requests::method_request;
use crate::scene::Scene;

/// Returns a cache that keeps signatures in the index, and arrays in the subfolder `arrays` of this
/// folder.
fn with_arrays<'a>(scene: &'a Scene, folder: &'a Path) -> SignatureCache<'a> {
    SignatureCache::in_index(&scene.index).with_folder(folder, true)
}

/// Returns a cache with a folder in which no file may remain.
fn temporary(folder: &Path) -> SignatureCache<'_> {
    SignatureCache::nowhere().with_folder(folder, false)
}

fn params() -> MethodParams {
    // With so few bits, many hashes collide.
    let settings = Settings {
        bits: Some(10),
        ..Settings::default()
    };
    MethodParams::new(Method::Sorted5, &settings).expect("right")
}

/// Returns words of a small vocabulary, in an order that depends on the seed.
fn text(seed: u64, words: usize) -> String {
    let mut random = Random::new(seed);
    let word = |_| format!("word{}", random.below(32));
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

fn ask(
    scene: &Scene,
    within: &str,
    question: MethodQuestion,
    cache: SignatureCache<'_>,
) -> Answer<MethodRow> {
    let request = method_request(scene, within, &params(), question);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    answer(&snapshot, &request, None, cache).expect("an answer")
}

fn questions() -> Vec<MethodQuestion> {
    let limits = |min| MethodLimits {
        min: Figure::new(min),
        ..MethodLimits::default()
    };
    let find = |text: &str| {
        let signature = sign(&params(), text.as_bytes());
        MethodQuestion::Find(MethodFind {
            signature,
            content: resemble_core::hash::content::digest(text.as_bytes()),
            name: "subject".into(),
            contained: Figure::NONE,
            limits: limits(0.0),
        })
    };
    let pairs = |min, exact, score| {
        MethodQuestion::Pairs(MethodPairs {
            score,
            exact,
            limits: limits(min),
        })
    };
    vec![
        pairs(0.0, false, MethodScore::Paper),
        pairs(0.3, false, MethodScore::Paper),
        pairs(0.1, false, MethodScore::Resemblance),
        pairs(0.0, true, MethodScore::Paper),
        MethodQuestion::Groups(limits(0.2)),
        find(&text(1, 300)),
        find(&text(99, 40)),
        find(""),
    ]
}

/// Checks that answers with arrays equal answers without arrays.
fn same_answers(scene: &Scene, cache: SignatureCache<'_>) {
    for within in ["", "sub"] {
        if !scene.root().join(within).exists() {
            continue;
        }
        for question in questions() {
            let by_arrays = ask(scene, within, question.clone(), cache);
            let by_signatures = ask(scene, within, question.clone(), SignatureCache::nowhere());
            assert_eq!(by_arrays.rows, by_signatures.rows, "{question:?}");
            assert_eq!(by_arrays.errors, by_signatures.errors, "{question:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Files are added, changed and removed. Some of these changes are not indexed.
    #[test]
    fn the_arrays_say_what_the_signatures_say(
        steps in prop::collection::vec((0u8..4, 0u64..8, 0u64..6, 1usize..400), 1..12),
    ) {
        let mut scene = Scene::new();
        let folder = tempfile::tempdir().expect("a folder");
        scene.write("sub/first", text(1, 300));
        scene.scan();
        for batch in steps.chunks(3) {
            let mut unseen = Vec::new();
            for &(what, file, seed, words) in batch {
                let name = if file % 2 == 0 { format!("f{file}") } else { format!("sub/f{file}") };
                match what {
                    0 => drop(std::fs::remove_file(scene.root().join(&name))),
                    1 => unseen.push((name, seed, words)),
                    _ => scene.write(&name, text(seed, words)),
                }
            }
            scene.scan();
            // These changes are made after the scan, so the index does not have them.
            for (name, seed, words) in unseen {
                if scene.root().join(&name).exists() {
                    scene.write(&name, text(seed, words));
                }
            }
            let cache = with_arrays(&scene, folder.path());
            same_answers(&scene, cache);
        }
    }
}

#[test]
fn damage_and_a_folder_that_cannot_be_written_cost_time_only() {
    let mut scene = Scene::new();
    for number in 0..12 {
        scene.write(
            &format!("f{number}"),
            text(number / 3, 200 + number as usize),
        );
    }
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let arrays = folder.path().join("arrays");
    let cache = with_arrays(&scene, folder.path());
    same_answers(&scene, cache);
    let state = || {
        let inner = std::fs::read_dir(&arrays).expect("listed").next();
        inner.expect("a state").expect("an entry").path()
    };
    let part = || {
        let mut files = std::fs::read_dir(state()).expect("listed").flatten();
        let is_part = |path: &PathBuf| path.extension().is_some_and(|end| end == "arrays");
        files
            .find_map(|entry| Some(entry.path()).filter(is_part))
            .expect("a part")
    };
    let whole = std::fs::read(part()).expect("read");
    for cut in [0, 100, 511, 600, whole.len() - 1] {
        std::fs::write(part(), &whole[..cut]).expect("written");
        same_answers(&scene, cache);
        assert_eq!(std::fs::read(part()).expect("read"), whole);
    }
    // This damage does not show in the header. It is noticed when the damaged bytes are read, and
    // the next question repairs it.
    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged[last] = 0xff;
    std::fs::write(part(), &damaged).expect("written");
    for question in questions().into_iter().take(5) {
        let by_arrays = ask(&scene, "", question.clone(), cache);
        assert_eq!(
            by_arrays.rows,
            ask(&scene, "", question, SignatureCache::nowhere()).rows
        );
    }
    assert_eq!(std::fs::read(part()).expect("read"), whole);
    std::fs::write(state().join("current"), "nonsense").expect("written");
    same_answers(&scene, cache);
    // The folder for the arrays cannot be made, because a file already has this name.
    let blocked = folder.path().join("blocked");
    std::fs::write(&blocked, "").expect("written");
    same_answers(&scene, with_arrays(&scene, &blocked));
}

/// Tests files with equal bytes, in several scopes. Some of the files are too short for a chunk.
/// After the cached signatures are removed, the arrays must be enough for the answers.
#[test]
fn copies_need_no_signatures() {
    let mut scene = Scene::new();
    for (name, text) in [
        ("a", text(1, 200)),
        ("b", text(1, 200)),
        ("sub/c", text(1, 200)),
        ("sub/d", text(2, 90)),
        ("short", "only three words".to_owned()),
        ("sub/short", "only three words".to_owned()),
        ("empty", String::new()),
    ] {
        scene.write(name, text);
    }
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let cache = with_arrays(&scene, folder.path());
    same_answers(&scene, cache);
    let first: Vec<_> = questions()
        .into_iter()
        .map(|question| ask(&scene, "", question, cache).rows)
        .collect();
    // The cached signatures are removed, and the files are moved away.
    let snapshot = scene.index.snapshot().expect("a snapshot");
    for (name, _) in snapshot.records("method.kept/").expect("records") {
        scene
            .index
            .put_records(&[(&name, None)])
            .expect("forgotten");
    }
    std::fs::rename(scene.root(), folder.path().join("away")).expect("renamed");
    for (question, first) in questions().into_iter().zip(first) {
        let is_exact = matches!(&question, MethodQuestion::Pairs(pairs) if pairs.exact);
        let again = ask(&scene, "", question.clone(), cache);
        assert_eq!(again.errors, [], "{question:?}");
        if !is_exact {
            assert_eq!(again.rows, first, "{question:?}");
        }
    }
    std::fs::rename(folder.path().join("away"), scene.root()).expect("renamed back");
}

/// The arrays are needed, because several processes are requested. If the processes fail, the
/// question fails and no file remains. (In this test each process runs the test program, which
/// makes no arrays.)
#[test]
fn a_temporary_folder_goes_also_after_a_failure() {
    let mut scene = Scene::new();
    scene.write("a", text(1, 200));
    scene.write("b", text(1, 210));
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let ask = |shards, folder: &Path| {
        let mut request = method_request(&scene, "", &params(), questions().remove(0));
        request.shards = Some(shards);
        answer(&snapshot, &request, None, temporary(folder))
    };
    let alone = ask(1, folder.path()).expect("an answer");
    assert_eq!(alone.rows.len(), 1);
    let error = ask(2, folder.path()).expect_err("no arrays");
    assert!(matches!(error, LabError::Arrays(_)), "{error}");
    let left = std::fs::read_dir(folder.path()).expect("listed");
    assert_eq!(left.count(), 0);
    ask(2, &folder.path().join("none")).expect_err("no folder");
}

/// Many documents are compared by temporary arrays. If the arrays cannot be made, signatures are
/// compared, and the rows are the same.
#[test]
fn many_documents_are_compared_by_temporary_arrays() {
    let folder = tempfile::tempdir().expect("a folder");
    let modified = || std::fs::metadata(folder.path()).and_then(|folder| folder.modified());
    let before = modified().expect("a date");
    let mut scene = Scene::new();
    for number in 0..1000 {
        // Every tenth document resembles the previous one.
        let (seed, words) = if number % 10 == 9 {
            (number - 1, 45)
        } else {
            (number, 40)
        };
        scene.write(&format!("{number:04}"), text(seed, words));
    }
    scene.scan();
    let question = || questions().remove(1);
    let by_arrays = ask(&scene, "", question(), temporary(folder.path()));
    // The folder has changed, so temporary arrays were made in it.
    assert!(modified().expect("a date") > before);
    let left = std::fs::read_dir(folder.path()).expect("listed");
    assert_eq!(left.count(), 0);
    let none = folder.path().join("none");
    let by_signatures = ask(&scene, "", question(), temporary(&none));
    assert!(by_arrays.rows.len() >= 100, "{}", by_arrays.rows.len());
    assert_eq!(by_arrays.rows, by_signatures.rows);
}
