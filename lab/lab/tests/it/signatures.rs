//! Tests of published methods on files: which signatures are cached, computed again, or removed.

use crate::requests::method_request;
use crate::scene::Scene;
use resemble_lab::figure::Figure;
use resemble_lab::method::{SignatureCache, answer, sign_file};
use resemble_lab::question::{
    MethodLimits, MethodPairRow, MethodPairs, MethodQuestion, MethodRequest, MethodRow,
};
use resemble_methods::{Method, MethodParams, sign};
use resemble_proto::message::Answer;
use resemble_query::Snapshot;
use resemble_testutil::random::Random;

fn text(seed: u32, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed.into());
    let mut out = Vec::new();
    while out.len() < len {
        // The word "with" contains anchors of sif.
        out.extend_from_slice(format!("{:08x} with ", random.draw() >> 32).as_bytes());
    }
    out.truncate(len);
    out
}

fn request(scene: &Scene, method: Method, question: MethodQuestion) -> MethodRequest {
    method_request(scene, "", &MethodParams::paper(method), question)
}

fn all_pairs() -> MethodQuestion {
    MethodQuestion::Pairs(MethodPairs {
        exact: false,
        score: resemble_lab::question::MethodScore::Paper,
        limits: MethodLimits {
            min: Figure::new(0.0),
            ..MethodLimits::default()
        },
    })
}

fn ask(
    scene: &Scene,
    method: Method,
    question: MethodQuestion,
    cache: SignatureCache<'_>,
) -> Answer<MethodRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    answer(&snapshot, &request(scene, method, question), None, cache).expect("an answer")
}

fn names(answer: &Answer<MethodRow>) -> Vec<(String, String)> {
    let pair = |row: &MethodRow| match row {
        MethodRow::Pair(MethodPairRow { a, b, .. }) => {
            let name = |path: &resemble_proto::path::PathText| {
                path.as_path()
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned()
            };
            Some((name(a), name(b)))
        }
        _ => None,
    };
    answer.rows.iter().filter_map(pair).collect()
}

#[test]
fn what_was_signed_once_is_not_read_again() {
    let mut scene = Scene::new();
    let base = text(1, 60_000);
    scene.write("a", &base);
    scene.write("b", &base[..40_000]);
    scene.write("c", text(2, 60_000));
    scene.scan();
    for method in Method::ALL {
        let commits = || scene.index.snapshot().expect("a snapshot").generation();
        let cache = SignatureCache::in_index(&scene.index);
        let before = commits();
        let first = ask(&scene, method, all_pairs(), cache);
        // Fingerprints of sif have only 22 bits, so unrelated files may have one in common. So only
        // the first pair is checked.
        let best = ("a".to_owned(), "b".to_owned());
        assert_eq!(names(&first).first(), Some(&best), "{method}");
        assert_eq!(commits(), before + 1, "{method}");
        // The files are moved away, but the index still has them. So the answer must be made from
        // cached signatures.
        for name in ["a", "b", "c"] {
            std::fs::rename(scene.root().join(name), scene.temp.path(name)).expect("moved");
        }
        let second = ask(&scene, method, all_pairs(), cache);
        assert_eq!(
            (second.rows, second.errors.len()),
            (first.rows, 0),
            "{method}"
        );
        assert_eq!(commits(), before + 1, "{method}");
        // No signature with these parameters is cached, so each file gives an error.
        let params = MethodParams::parse("mod.bytes-20.n-7.v1", None).expect("params");
        let other = MethodRequest {
            params,
            ..request(&scene, method, all_pairs())
        };
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let unreadable =
            answer(&snapshot, &other, None, SignatureCache::nowhere()).expect("an answer");
        assert_eq!(
            (unreadable.rows.len(), unreadable.errors.len()),
            (0, 3),
            "{method}"
        );
        for name in ["a", "b", "c"] {
            std::fs::rename(scene.temp.path(name), scene.root().join(name)).expect("moved");
        }
    }
}

/// Two questions that began on the same state of the index write to the same records. Neither
/// question removes signatures that the other one has cached.
#[test]
fn two_questions_at_a_time_cache_what_both_have_signed() {
    let mut scene = Scene::new();
    for folder in ["one", "other"] {
        scene.write(&format!("{folder}/a"), text(1, 20_000));
        scene.write(&format!("{folder}/b"), text(folder.len() as u32, 20_000));
    }
    scene.scan();
    let cache = SignatureCache::in_index(&scene.index);
    let request = |within: &str| {
        method_request(
            &scene,
            within,
            &MethodParams::paper(Method::Mod),
            all_pairs(),
        )
    };
    let ask = |snapshot: &Snapshot, within: &str| {
        answer(snapshot, &request(within), None, cache).expect("an answer")
    };
    let before = scene.index.snapshot().expect("a snapshot");
    ask(&before, "one");
    ask(&before, "other");
    let now = scene.index.snapshot().expect("a snapshot");
    let nowhere = SignatureCache::nowhere();
    let signed = answer(&now, &request(""), None, nowhere).expect("an answer");
    std::fs::rename(scene.root(), scene.temp.path("away")).expect("moved");
    let cached = ask(&now, "");
    assert_eq!((cached.rows, cached.errors), (signed.rows, Vec::new()));
    let stored = now.records("method.kept/").expect("records");
    assert_eq!(stored.len(), 1, "one block");
}

#[test]
fn a_file_that_changed_is_compared_as_it_is_and_not_kept_as_it_was() {
    let mut scene = Scene::new();
    let base = text(1, 60_000);
    scene.write("a", &base);
    scene.write("b", text(2, 60_000));
    scene.scan();
    // The file changes after it was indexed.
    scene.write("b", &base[..50_000]);
    let changed = ask(
        &scene,
        Method::Mod,
        all_pairs(),
        SignatureCache::in_index(&scene.index),
    );
    assert_eq!(names(&changed).len(), 1);
    scene.write("b", text(2, 60_000));
    let restored = ask(
        &scene,
        Method::Mod,
        all_pairs(),
        SignatureCache::in_index(&scene.index),
    );
    assert_eq!(names(&restored).len(), 0);
}

#[test]
fn signatures_go_with_their_contents() {
    let mut scene = Scene::new();
    for number in 0..20 {
        scene.write(&format!("f{number}"), text(number, 9_000));
    }
    scene.scan();
    ask(
        &scene,
        Method::Sif,
        all_pairs(),
        SignatureCache::in_index(&scene.index),
    );
    let stored = |scene: &Scene| {
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let records = snapshot.records("method.kept/sif").expect("records");
        records
            .iter()
            .map(|(_, record)| record.len())
            .sum::<usize>()
    };
    let before = stored(&scene);
    for number in 0..19 {
        std::fs::remove_file(scene.root().join(format!("f{number}"))).expect("removed");
    }
    scene.write("new", text(99, 9_000));
    scene.scan();
    ask(
        &scene,
        Method::Sif,
        all_pairs(),
        SignatureCache::in_index(&scene.index),
    );
    assert!(stored(&scene) * 5 < before, "{} {before}", stored(&scene));
}

#[test]
fn only_so_many_parameters_are_kept() {
    let mut scene = Scene::new();
    scene.write("a", text(1, 20_000));
    scene.scan();
    for n in 10..40 {
        let request = MethodRequest {
            params: MethodParams::parse(&format!("mod.bytes-20.n-{n}.v1"), None).expect("params"),
            ..request(&scene, Method::Mod, all_pairs())
        };
        let snapshot = scene.index.snapshot().expect("a snapshot");
        answer(
            &snapshot,
            &request,
            None,
            SignatureCache::in_index(&scene.index),
        )
        .expect("an answer");
    }
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let stored = snapshot.records("method.kept/").expect("records");
    assert_eq!(stored.len(), 8);
    assert!(stored.iter().any(|(name, _)| name.contains("n-39")));
}

#[test]
fn damaged_records_cost_time_and_nothing_else() {
    let mut scene = Scene::new();
    let base = text(1, 60_000);
    scene.write("a", &base);
    scene.write("b", &base[..40_000]);
    scene.scan();
    let groups = || MethodQuestion::Groups(MethodLimits::default());
    let pairs = ask(
        &scene,
        Method::Sif,
        all_pairs(),
        SignatureCache::in_index(&scene.index),
    );
    let sets = ask(
        &scene,
        Method::Sif,
        groups(),
        SignatureCache::in_index(&scene.index),
    );
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let records = snapshot.records("method.").expect("records");
    drop(snapshot);
    for (name, value) in records {
        for damage in [&b""[..], &[0xff; 40], &value[..value.len() / 2]] {
            scene.index.put_record(&name, damage).expect("written");
            assert_eq!(
                ask(
                    &scene,
                    Method::Sif,
                    all_pairs(),
                    SignatureCache::in_index(&scene.index)
                )
                .rows,
                pairs.rows,
                "{name}"
            );
            let again = ask(&scene, Method::Sif, groups(), SignatureCache::nowhere());
            assert_eq!(again.rows, sets.rows, "{name}");
        }
        scene.index.put_record(&name, &value).expect("written");
    }
}

#[test]
fn a_file_is_signed_as_its_bytes_are() {
    let scene = Scene::new();
    // The content is read in several pieces. The file `sparse` has a hole where `plain` has zeros.
    let bytes = [text(1, 400_000), vec![0; 3 << 20], text(2, 100_000)].concat();
    scene.write("plain", &bytes);
    let sparse = scene.root().join("sparse");
    {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::create(&sparse).expect("a file");
        file.write_all_at(&bytes[..400_000], 0).expect("written");
        let tail = bytes.len() - 100_000;
        file.write_all_at(&bytes[tail..], tail as u64)
            .expect("written");
    }
    for method in Method::ALL {
        let params = MethodParams::paper(method);
        let plain = sign_file(&scene.root().join("plain"), &params).expect("signed");
        assert_eq!(plain.signature, sign(&params, &bytes), "{method}");
        let holes = sign_file(&sparse, &params).expect("signed");
        assert_eq!(
            (holes.content, holes.size),
            (plain.content, plain.size),
            "{method}"
        );
    }
}
