//! Catalogues that carry signatures of a published method: what is asked of one is answered as of the tree itself.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_engine::AskError;
use resemble_engine::method::{MethodError, answer};
use resemble_engine::portable::{self, Details};
use resemble_index::{Change, Index};
use resemble_methods::shingle::Seed;
use resemble_methods::{Method, MethodParams, Settings, sign};
use resemble_proto::catalogued;
use resemble_proto::figure::Figure;
use resemble_proto::message::{
    MethodBar, MethodClusters, MethodFind, MethodPairs, MethodQuestion, MethodRequest, Scope,
};

mod scene;
use scene::{Scene, text};

const SECRET: &str = "kept by few";

fn params(method: Method, seed: Option<&str>) -> MethodParams {
    let rate = (method == Method::Shingle).then_some(3);
    let settings = Settings {
        rate,
        seed: seed.map(Seed::new).map(Into::into),
        ..Settings::default()
    };
    MethodParams::new(method, &settings).expect("known")
}

/// Texts and edits of them, copies, an empty file.
fn tree() -> Scene {
    let mut scene = Scene::new();
    for number in 0..4 {
        let first = text(number, 20_000);
        let cut = [
            &first[..9_000],
            &text(number + 50, 800)[..],
            &first[9_500..],
        ]
        .concat();
        scene.write(&format!("{number}/first"), &first);
        scene.write(&format!("{number}/edited"), cut);
    }
    scene.write("copy", text(2, 20_000));
    scene.write("empty", "");
    scene.scan();
    scene
}

fn question(
    within: &Path,
    params: &MethodParams,
    seed: Option<&str>,
    question: MethodQuestion,
) -> MethodRequest {
    MethodRequest {
        params: params.to_string(),
        anchors: None,
        seed: seed.map(str::to_owned),
        dictionary: None,
        lemmas: None,
        shards: None,
        scope: Scope {
            within: vec![within.into()],
            ..Scope::default()
        },
        question,
    }
}

/// The rows as JSON, errors too, with TREE for what they are below.
fn asked(
    index: &Index,
    within: &Path,
    params: &MethodParams,
    seed: Option<&str>,
    asks: MethodQuestion,
) -> Result<String, AskError> {
    let snapshot = index.snapshot().expect("a snapshot");
    let request = question(within, params, seed, asks);
    let told = answer(&snapshot, &request, None, index)?;
    let name = serde_json::to_string(&within.to_string_lossy()).expect("a text");
    let rows = serde_json::to_string(&(told.rows, told.errors)).expect("rows");
    let rows = rows.replace(name.trim_matches('"'), "TREE");
    // In dumps a catalogue is called what people call it.
    Ok(match catalogued::shown(within) {
        Some(shown) => rows.replace(&format!("{}/", shown.display()), "TREE/"),
        None => rows,
    })
}

fn all_questions(params: &MethodParams) -> Vec<MethodQuestion> {
    use base64::Engine as _;
    let subject = sign(params, &text(1, 20_000)[3_000..]).encode();
    let any = MethodBar {
        min: Figure::new(0.0),
        ..MethodBar::default()
    };
    let mut all = vec![
        MethodQuestion::Find(MethodFind {
            signature: base64::engine::general_purpose::STANDARD.encode(subject),
            content: resemble_core::hash::content::digest(b"?").to_string(),
            recorded: None,
            name: "x".into(),
            inode: None,
            bar: any,
        }),
        MethodQuestion::Pairs(MethodPairs {
            score: resemble_proto::message::MethodScore::Paper,
            exact: false,
            bar: any,
        }),
        MethodQuestion::Groups(any),
        MethodQuestion::Dump,
    ];
    if params.method() == Method::Shingle {
        all.push(MethodQuestion::Clusters(MethodClusters::default()));
    }
    all
}

/// A catalogue of the tree, with the signatures of these parameters.
fn exported(index: &Index, root: &Path, params: &MethodParams, seed: Option<&str>) -> Vec<u8> {
    asked(index, root, params, seed, MethodQuestion::Sign).expect("signed");
    let snapshot = index.snapshot().expect("a snapshot");
    let details = Details {
        label: "tree".to_owned(),
        names: true,
        method: Some(params.to_string()),
        ..Details::default()
    };
    let mut bytes = Vec::new();
    portable::write(&snapshot, &[root.to_owned()], &details, &mut |piece| {
        bytes.extend_from_slice(piece);
        ControlFlow::Continue(())
    })
    .expect("written");
    bytes
}

fn load(index: &Index, bytes: &[u8]) -> PathBuf {
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("tree.cat");
    fs::write(&file, bytes).expect("a file");
    let root = catalogued::of_label("tree");
    let catalogue = portable::open(&file).expect("a catalogue");
    portable::load(index, &root, catalogue).expect("loaded");
    root
}

#[test]
fn every_question_is_answered_without_the_tree() {
    for method in [
        Method::Shingle,
        Method::SuperShingle,
        Method::Sif,
        Method::Min,
        Method::Sorted5,
    ] {
        let seed = (method == Method::Shingle).then_some(SECRET);
        let params = params(method, seed);
        let scene = tree();
        let bytes = exported(&scene.index, &scene.root(), &params, seed);
        let other = Index::in_memory(&Params::default()).expect("an index");
        let at = load(&other, &bytes);
        for asks in all_questions(&params) {
            let here =
                asked(&scene.index, &scene.root(), &params, seed, asks.clone()).expect("an answer");
            let there = asked(&other, &at, &params, seed, asks).expect("an answer");
            assert!(here == there, "{method}");
            assert!(here.contains("TREE"), "{method}");
        }
        // And what was exported of a catalogue is what it was exported as.
        assert!(exported(&other, &at, &params, seed) == bytes, "{method}");
    }
}

#[test]
fn other_parameters_and_other_seeds_are_refused() {
    let own = params(Method::Shingle, Some(SECRET));
    let scene = tree();
    let bytes = exported(&scene.index, &scene.root(), &own, Some(SECRET));
    let other = Index::in_memory(&Params::default()).expect("an index");
    let at = load(&other, &bytes);
    let ask = |seed: Option<&str>, method| {
        let params = params(method, seed);
        asked(&other, &at, &params, seed, MethodQuestion::Dump)
    };
    for seed in [None, Some("another")] {
        let refused = ask(seed, Method::Shingle);
        assert!(
            matches!(&refused, Err(AskError::Method(MethodError::OtherSeed { catalogue })) if catalogue == Path::new("tree:")),
            "{refused:?}"
        );
    }
    let refused = ask(None, Method::Sif).expect_err("refused").to_string();
    assert!(
        refused.starts_with("tree: carries signatures of shingle"),
        "{refused}"
    );
    // Taken out, it carries nothing.
    portable::unload(&other, &at).expect("unloaded");
    let refused = ask(Some(SECRET), Method::Shingle)
        .expect_err("refused")
        .to_string();
    assert!(
        refused.starts_with("tree: carries signatures of no method"),
        "{refused}"
    );
}

/// Who tries out many parameters does not lose what nobody could make again.
#[test]
fn signatures_of_a_catalogue_stay_while_it_does() {
    let own = params(Method::Shingle, None);
    let scene = tree();
    let bytes = exported(&scene.index, &scene.root(), &own, None);
    let other = tree();
    let at = load(&other.index, &bytes);
    let before = asked(&other.index, &at, &own, None, MethodQuestion::Dump).expect("an answer");
    for rate in 10..30 {
        let settings = Settings {
            rate: Some(rate),
            ..Settings::default()
        };
        let params = MethodParams::new(Method::Shingle, &settings).expect("known");
        asked(
            &other.index,
            &other.root(),
            &params,
            None,
            MethodQuestion::Sign,
        )
        .expect("signed");
    }
    let after = asked(&other.index, &at, &own, None, MethodQuestion::Dump).expect("an answer");
    assert!(before == after);
    let kept = |id: &str| {
        let snapshot = other.index.snapshot().expect("a snapshot");
        !snapshot
            .records(&format!("method.kept/{id}/"))
            .expect("records")
            .is_empty()
    };
    let of_rate = |rate| {
        MethodParams::new(
            Method::Shingle,
            &Settings {
                rate: Some(rate),
                ..Settings::default()
            },
        )
        .expect("known")
        .to_string()
    };
    assert!(kept(&of_rate(29)) && !kept(&of_rate(10)));
}

/// What live files hold is signed from their bytes: whatever a catalogue says of it.
#[test]
fn live_files_are_signed_by_their_bytes() {
    let own = params(Method::Shingle, None);
    let scene = tree();
    let bytes = exported(&scene.index, &scene.root(), &own, None);
    let here = asked(
        &scene.index,
        &scene.root(),
        &own,
        None,
        MethodQuestion::Dump,
    )
    .expect("an answer");
    // Another index has half of the files alive and nothing signed.
    let mut other = tree();
    fs::remove_dir_all(other.path("0")).expect("removed");
    fs::remove_dir_all(other.path("1")).expect("removed");
    other.scan();
    let at = load(&other.index, &bytes);
    let records = |index: &Index| {
        index
            .snapshot()
            .expect("a snapshot")
            .records("method.kept/")
            .expect("records")
    };
    let signed: usize = records(&other.index)
        .iter()
        .map(|(_, block)| block.len())
        .sum();
    let all: usize = records(&scene.index)
        .iter()
        .map(|(_, block)| block.len())
        .sum();
    assert!(signed > 0 && signed * 3 < all * 2, "{signed} of {all}");
    let there = asked(&other.index, &at, &own, None, MethodQuestion::Dump).expect("an answer");
    assert!(here == there);
    // With the live files gone the catalogue's are what there is: signed once, they are kept.
    other
        .index
        .apply(vec![Change::Remove(other.root())])
        .expect("removed");
    let there = asked(&other.index, &at, &own, None, MethodQuestion::Dump).expect("an answer");
    assert!(here == there);
}
