//! Tests clusters of files in four phases: which results are kept, which are merged, and which are
//! replaced.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::requests::method_request;
use crate::scene::Scene;
use resemble_lab::error::{LabError, MethodError};
use resemble_lab::figure::Figure;
use resemble_lab::method::clusters::groups;
use resemble_lab::method::sets::GroupsAnswer;
use resemble_lab::method::{SignatureCache, answer, sign_file};
use resemble_lab::phases::{
    ClusterBatch, ClusterLink, ClusterPlan, PhaseResults, Policy, SketchedDocument,
};
use resemble_lab::question::{
    MethodClusters, MethodFind, MethodLimits, MethodQuestion, MethodRequest, MethodRow,
};
use resemble_methods::{Method, MethodParams, sign};
use resemble_proto::message::Answer;
use resemble_relate::LARGEST_READ;
use resemble_testutil::random::Random;

/// Returns words that are all different.
fn words(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let word = |_| format!("w{:x}", random.draw() >> 40);
    (0..count).map(word).collect()
}

fn text(seed: u64, count: usize) -> String {
    words(seed, count).join(" ")
}

fn edited(text: &str, every: usize) -> String {
    let words = text.split(' ').enumerate();
    words
        .map(|(at, word)| {
            if at % every == every - 1 {
                "changed"
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes two families of texts. Each has a base, a copy, a text with other markup, an edited text
/// and a part. Also writes an unrelated text, a text that is too small, and an empty file.
fn collection(scene: &Scene) {
    for family in 1..3 {
        let base = text(family, 3000);
        scene.write(&format!("{family}/base"), &base);
        scene.write(&format!("{family}/copy"), &base);
        scene.write(
            &format!("{family}/dressed"),
            base.to_uppercase().replace(' ', ",\n"),
        );
        scene.write(&format!("{family}/edited"), edited(&base, 60));
        scene.write(&format!("{family}/part"), &base[..base.len() / 5]);
    }
    scene.write("stranger", text(9, 3000));
    scene.write("small", "not ten words");
    scene.write("empty", "");
}

fn request(scene: &Scene, params: &MethodParams, question: MethodQuestion) -> MethodRequest {
    method_request(scene, "", params, question)
}

fn ask(
    scene: &Scene,
    method: Method,
    asked: &MethodClusters,
    folder: &Path,
    stays: bool,
) -> Answer<MethodRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let question = MethodQuestion::Clusters(asked.clone());
    let request = request(scene, &MethodParams::paper(method), question);
    let cache = SignatureCache::in_index(&scene.index).with_folder(folder, stays);
    answer(&snapshot, &request, None, cache).expect("an answer")
}

/// Returns the clusters as sets of names.
fn sets(answer: Answer<MethodRow>) -> BTreeSet<BTreeSet<String>> {
    let grouping = GroupsAnswer::of_rows(answer.rows);
    let name = |file: u32| {
        let path = grouping.files[file as usize].path.as_path().to_owned();
        let mut parts = path
            .iter()
            .rev()
            .map(|part| part.to_string_lossy().into_owned());
        let (last, above) = (parts.next(), parts.next());
        format!("{}/{}", above.expect("a folder"), last.expect("a name"))
    };
    groups(&grouping, 0.0, None, None)
        .iter()
        .map(|group| {
            let members = group.members.iter().map(|member| member.file);
            std::iter::once(group.reference)
                .chain(members)
                .map(name)
                .collect()
        })
        .collect()
}

fn named(sets: &[&[&str]]) -> BTreeSet<BTreeSet<String>> {
    sets.iter()
        .map(|set| set.iter().map(|&name| name.to_owned()).collect())
        .collect()
}

fn families() -> BTreeSet<BTreeSet<String>> {
    named(&[
        &["1/base", "1/copy", "1/dressed", "1/edited"],
        &["2/base", "2/copy", "2/dressed", "2/edited"],
    ])
}

fn kept_files(folder: &Path) -> Vec<PathBuf> {
    let clusters = std::fs::read_dir(folder.join("clusters")).expect("clusters");
    let mut files: Vec<PathBuf> = clusters
        .flat_map(|dir| std::fs::read_dir(dir.expect("a folder").path()).expect("listed"))
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    files
}

fn numbers_of(files: &[PathBuf]) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt;
    files
        .iter()
        .map(|path| std::fs::metadata(path).expect("a stat").ino())
        .collect()
}

#[test]
fn families_are_found_and_a_policy_repeats_the_last_phase_alone() {
    let mut scene = Scene::new();
    collection(&scene);
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let ask = |method, asked: &MethodClusters| ask(&scene, method, asked, folder.path(), true);
    let usual = MethodClusters::default();
    for method in [Method::Shingle, Method::SuperShingle] {
        assert_eq!(sets(ask(method, &usual)), families(), "{method}");
    }
    let files = kept_files(folder.path());
    let before = numbers_of(&files);
    assert_eq!(files.len(), 2 * 6, "{files:?}");
    // The files are moved away, because the next question must not read a file. The question must
    // not write a file either.
    for name in ["1", "2", "stranger"] {
        std::fs::rename(scene.path(name), scene.temp.path(name)).expect("moved");
    }
    let contained = MethodClusters {
        contained: Figure::new(0.9),
        ..usual.clone()
    };
    let with_parts = sets(ask(Method::Shingle, &contained));
    assert!(
        with_parts.iter().all(|set| set.len() == 5),
        "{with_parts:?}"
    );
    let strict = MethodClusters {
        min: Figure::new(0.999),
        ..usual
    };
    let equal = named(&[
        &["1/base", "1/copy", "1/dressed"],
        &["2/base", "2/copy", "2/dressed"],
    ]);
    for method in [Method::Shingle, Method::SuperShingle] {
        assert_eq!(sets(ask(method, &strict)), equal, "{method}");
    }
    assert_eq!(numbers_of(&files), before);
}

#[test]
fn what_comes_is_merged_and_what_goes_makes_anew() {
    let mut scene = Scene::new();
    collection(&scene);
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let usual = MethodClusters::default();
    let methods = [Method::Shingle, Method::SuperShingle];
    for method in methods {
        ask(&scene, method, &usual, folder.path(), true);
    }
    let late = edited(&text(1, 3000), 90);
    scene.write("late", &late);
    scene.scan();
    // The files of the first question are moved away, because they must not be read again.
    for name in ["1", "2", "stranger"] {
        std::fs::rename(scene.path(name), scene.temp.path(name)).expect("moved");
    }
    for method in methods {
        let answered = ask(&scene, method, &usual, folder.path(), true);
        assert_eq!(answered.errors.len(), 0, "{:?}", answered.errors);
        let sets = sets(answered);
        let with = sets.iter().find(|set| set.contains("tree/late"));
        assert!(
            with.is_some_and(|set| set.len() == 5 && set.contains("1/base")),
            "{sets:?}"
        );
    }
    for name in ["1", "2", "stranger"] {
        std::fs::rename(scene.temp.path(name), scene.path(name)).expect("moved");
    }
    std::fs::remove_file(scene.path("late")).expect("gone");
    scene.scan();
    for method in methods {
        let answered = ask(&scene, method, &usual, folder.path(), true);
        let fresh = tempfile::tempdir().expect("a folder");
        let anew = ask(&scene, method, &usual, fresh.path(), true);
        assert_eq!(answered.rows, anew.rows);
        assert_eq!(sets(answered), families());
    }
}

#[test]
fn damage_costs_time_and_nothing_is_left_where_nothing_is_kept() {
    let mut scene = Scene::new();
    collection(&scene);
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let usual = MethodClusters::default();
    let first = ask(&scene, Method::Shingle, &usual, folder.path(), true);
    for file in kept_files(folder.path()) {
        let whole = std::fs::read(&file).expect("read");
        for damage in [whole.len() / 2, 30, 0] {
            let mut bytes = whole.clone();
            bytes.truncate(damage + 20);
            if let Some(byte) = bytes.get_mut(damage) {
                *byte ^= 0x55;
            }
            std::fs::write(&file, &bytes).expect("written");
            let again = ask(&scene, Method::Shingle, &usual, folder.path(), true);
            assert_eq!(again.rows, first.rows, "{}", file.display());
        }
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let answered = ask(&scene, Method::Shingle, &usual, temporary.path(), false);
    assert_eq!(answered.rows, first.rows);
    assert_eq!(
        std::fs::read_dir(temporary.path()).expect("listed").count(),
        0
    );
}

#[test]
fn a_named_folder_is_kept_and_not_made_anew_for_others() {
    let mut scene = Scene::new();
    collection(&scene);
    scene.scan();
    let temporary = tempfile::tempdir().expect("a folder");
    let work = tempfile::tempdir().expect("a folder");
    let asked = MethodClusters {
        work: Some(work.path().join("mine")),
        ..MethodClusters::default()
    };
    let answered = ask(&scene, Method::Shingle, &asked, temporary.path(), false);
    assert_eq!(sets(answered), families());
    assert!(work.path().join("mine/pairs").exists());
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let question = MethodQuestion::Clusters(asked);
    let other = request(&scene, &MethodParams::paper(Method::SuperShingle), question);
    let refused =
        answer(&snapshot, &other, None, SignatureCache::nowhere()).expect_err("other parameters");
    assert!(
        refused
            .to_string()
            .contains("keeps clusters of shingle.words-10"),
        "{refused}"
    );
}

#[test]
fn common_shingles_are_ignored_and_listed_with_their_words() {
    let mut scene = Scene::new();
    let header = text(77, 40);
    for seed in 0..12 {
        scene.write(
            &format!("f{seed:02}"),
            format!("{header} {}", text(100 + seed, 60)),
        );
    }
    scene.scan();
    let folder = tempfile::tempdir().expect("a folder");
    let params = MethodParams::parse("shingle.words-10.rate-1.v1", None).expect("params");
    let ask = |common| {
        let question = MethodQuestion::Clusters(MethodClusters {
            min: Figure::new(0.2),
            common: Some(common),
            ..MethodClusters::default()
        });
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let cache = SignatureCache::nowhere().with_folder(folder.path(), true);
        let request = request(&scene, &params, question);
        GroupsAnswer::of_rows(
            answer(&snapshot, &request, None, cache)
                .expect("an answer")
                .rows,
        )
    };
    // Each text has 91 shingles, of which 31 are from the header. So two texts have 31 of 151
    // shingles in common, which is 21 %.
    let all = ask(0);
    assert!(
        all.common.is_empty() && all.links.len() == 66,
        "{}",
        all.links.len()
    );
    let some = ask(11);
    assert!(some.links.is_empty(), "{:?}", some.links);
    assert_eq!((some.common[0].all, some.common[0].documents), (31, 12));
    let expected = some.common[0].text.as_deref().expect("words");
    assert!(
        header.contains(expected) && expected.split(' ').count() == 10,
        "{expected}"
    );
    assert_eq!(ask(12).links.len(), 66);
}

/// Tests a sentence of the paper: "The input can be any document; … whether it was part of the
/// initial clustering or not; whether it has changed or not."
#[test]
fn any_text_is_looked_up_on_the_fly() {
    let mut scene = Scene::new();
    collection(&scene);
    scene.scan();
    // One of the texts has changed since it was indexed, and another text is not in the index.
    let elsewhere = scene.temp.path("elsewhere");
    std::fs::write(&elsewhere, edited(&text(2, 3000), 45)).expect("written");
    scene.write("2/base", edited(&text(2, 3000), 50));
    for (path, method) in [
        (&elsewhere, Method::Shingle),
        (&scene.path("2/base"), Method::Shingle),
        (&elsewhere, Method::SuperShingle),
    ] {
        let params = MethodParams::paper(method);
        let signed = sign_file(path, &params).expect("signed");
        assert!(signed.size < LARGEST_READ);
        let question = MethodQuestion::Find(MethodFind {
            signature: signed.signature,
            content: signed.content,
            name: path.as_path().into(),
            contained: Figure::NONE,
            limits: MethodLimits::default(),
        });
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let answered = answer(
            &snapshot,
            &request(&scene, &params, question),
            None,
            SignatureCache::nowhere(),
        );
        let rows = answered.expect("an answer").rows;
        assert!(rows.len() >= 2, "{method}: {rows:?}");
        for row in &rows {
            let MethodRow::Find(row) = row else {
                panic!("{row:?}");
            };
            assert!(row.path.as_path().starts_with(scene.path("2")), "{row:?}");
            let interval = row.interval.as_ref().expect("an interval");
            let [low, high] = interval.resemblance;
            assert!(low <= row.resemblance && row.resemblance <= high, "{row:?}");
            assert_eq!(interval.a_in_b.is_some(), method == Method::Shingle);
        }
    }
}

#[test]
fn what_cannot_be_told_is_refused_before_any_file_is_read() {
    let scene = Scene::new();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    for (id, contained) in [
        ("mod.bytes-20.n-100.v1", Figure::NONE),
        ("shingle.words-10.n-100.v1", Figure::new(0.5)),
        (
            "super-shingle.words-10.rate-25.length-4.v1",
            Figure::new(0.5),
        ),
    ] {
        let params = MethodParams::parse(id, None).expect("params");
        let question = MethodQuestion::Clusters(MethodClusters {
            contained,
            ..MethodClusters::default()
        });
        let refused = answer(
            &snapshot,
            &request(&scene, &params, question),
            None,
            SignatureCache::nowhere(),
        );
        let is_refused = matches!(
            refused,
            Err(LabError::Method(
                MethodError::Refused(_) | MethodError::Question(_)
            ))
        );
        assert!(is_refused, "{id}");
    }
}

/// The phases also accept documents that are not in an index. (`eval broder` uses this for the
/// figures of the paper's table.)
#[test]
fn documents_of_any_source_go_through_the_phases() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = ClusterPlan::new(MethodParams::paper(Method::Shingle));
    let mut batch = ClusterBatch::begin(folder.path(), &plan).expect("a batch");
    for seed in 0..30u64 {
        let bytes = edited(&text(seed / 3, 3000), 200 + seed as usize);
        let document = SketchedDocument {
            content: resemble_core::hash::content::digest(bytes.as_bytes()),
            words: [0; 16],
            size: bytes.len() as u64,
            sketch: sign(&plan.params, bytes.as_bytes()),
        };
        batch.add(&document).expect("added");
    }
    let (kept, eliminated) = batch.settle().expect("settled");
    assert_eq!(eliminated.shingle, 0);
    let mut links: Vec<ClusterLink> = Vec::new();
    let clusters = kept
        .cluster(&Policy::PAPER, &mut |link| links.push(link))
        .expect("clusters");
    assert_eq!((clusters.sets().len(), links.len()), (10, 30));
    drop(kept);
    let again = PhaseResults::open(folder.path(), &plan).expect("kept");
    assert_eq!(
        again
            .cluster(&Policy::PAPER, &mut |_| ())
            .expect("clusters"),
        clusters
    );
}
