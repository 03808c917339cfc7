//! For unreadable files, the figures are estimates. Every verb shows the same estimate and
//! interval.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use resemble_core::Params;
use resemble_proto::message::{
    CompareOptions, CompareRequest, EstimateInterval, FindOptions, GroupsRequest, PairsRequest,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_relate::findings::MemoryCache;
use resemble_testutil::prose::sentences;
use resemble_trees::compare;

use crate::plain::pairs_with_parts;
use crate::scene::Scene;
use crate::scene::fake::{Fake, fake, member};

/// The shares of two files, and the interval of each share. The file below `a` comes first.
type Figures = ([Fraction; 2], Option<[[Fraction; 2]; 2]>);

/// For each file below `a`, the figures that each verb shows for the file and its counterpart below
/// `b`.
type Answers = BTreeMap<String, Vec<(&'static str, Figures)>>;

fn figures(a: Fraction, b: Fraction, interval: Option<EstimateInterval>) -> Figures {
    let ends = interval.map(|interval| [interval.a_in_b, interval.b_in_a]);
    ([a, b], ends)
}

fn scene() -> Scene {
    let mut scene = Scene::with_parts();
    let text = |seed, more: &str| format!("{}{more}", sentences(seed, 300));
    let archive = |key, more: &str| {
        let members = [
            member("one.txt", text(10, more)),
            member("two.txt", text(20, more)),
        ];
        fake(key, &members)
    };
    for (side, key, more) in [("a", 1, ""), ("b", 2, &*sentences(99, 60))] {
        scene.write(&format!("{side}/text"), text(1, more));
        scene.write(&format!("{side}/archive.zip"), archive(key, more));
    }
    scene.scan();
    scene
}

/// Asks `find`, `pairs`, `groups` and `compare`.
fn ask(scene: &Scene) -> Answers {
    let mut said = Answers::new();
    let name = |path: &PathText| {
        let path = path.as_path().strip_prefix(scene.root());
        path.expect("in it").to_str().expect("a name").to_owned()
    };
    let mut add = |verb, a: &str, b: &str, figures| {
        if let Some(name) = a.strip_prefix("a/")
            && b.strip_prefix("b/") == Some(name)
        {
            said.entry(name.to_owned())
                .or_default()
                .push((verb, figures));
        }
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let within = scene.scope();
    for path in ["a/text", "a/archive.zip"] {
        let subject = Subject::indexed(&snapshot, &scene.path(path), &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let subject = subject.with_part_reader(Some(Arc::new(Fake)));
        let options = FindOptions {
            text: true,
            ..FindOptions::default()
        };
        let own = PathText::from(scene.path(path));
        let answer = find::find(&snapshot, &subject, &own, &options).expect("an answer");
        for row in answer.rows {
            assert_eq!(row.interval.is_some(), row.estimate, "{row:?}");
            let found = figures(row.a_in_b, row.b_in_a, row.interval);
            add("find", path, &name(&row.path), found);
        }
    }
    let request = PairsRequest {
        scope: within.clone(),
        text: true,
        archives: true,
        ..PairsRequest::default()
    };
    let answer = pairs_with_parts(&snapshot, &request, Some(&Fake)).expect("an answer");
    for row in answer.rows {
        assert_eq!(row.told.interval.is_some(), row.told.estimate, "{row:?}");
        let found = figures(row.a_in_b, row.b_in_a, row.told.interval);
        add("pairs", &name(&row.a), &name(&row.b), found);
    }
    let request = GroupsRequest {
        scope: within,
        text: true,
        ..GroupsRequest::default()
    };
    let answer = groups_with_parts(
        &snapshot,
        &request,
        Some(&Fake),
        KnownPairs::None,
        scene.temp.root(),
    );
    for cluster in answer.expect("an answer").body.clusters {
        for link in &cluster.links {
            assert_eq!(link.interval.is_some(), link.estimate, "{link:?}");
            let found = figures(link.a_in_b, link.b_in_a, link.interval);
            add("groups", &name(&link.a), &name(&link.b), found);
        }
        for member in &cluster.members {
            assert_eq!(member.interval.is_some(), member.estimate, "{member:?}");
            let center = &cluster.center;
            let found = figures(member.a_in_b, member.b_in_a, member.interval);
            add("a member", &name(&member.path), &name(center), found);
            let interval = member.interval.map(EstimateInterval::swapped);
            let found = figures(member.b_in_a, member.a_in_b, interval);
            add("a member", &name(center), &name(&member.path), found);
        }
    }
    let request = CompareRequest {
        a: PathText::from(scene.path("a")),
        b: PathText::from(scene.path("b")),
        options: CompareOptions {
            text: true,
            ..CompareOptions::default()
        },
    };
    let cache = MemoryCache::default();
    let answer = compare::compare_with_parts(&snapshot, &request, Some(&Fake), &cache);
    for row in answer.expect("an answer").body.entries {
        assert_eq!(row.told.interval.is_some(), row.told.estimate, "{row:?}");
        if let (Some(a), Some(b)) = (&row.a, &row.b) {
            let [a, b] =
                [("a", a), ("b", b)].map(|(side, path)| format!("{side}/{}", path.lossy()));
            let found = figures(row.a_in_b, row.b_in_a, row.told.interval);
            add("compare", &a, &b, found);
        }
    }
    said
}

#[test]
fn what_is_gone_has_one_estimate_and_one_interval_in_every_verb() {
    // As long as the files can be read, the pairs are measured, and every verb shows the same
    // figures.
    let proven = ask(&scene());
    let scene = scene();
    for name in ["text", "archive.zip"] {
        fs::write(scene.path("b").join(name), "something else").expect("written");
    }
    let estimated = ask(&scene);
    for name in ["text", "archive.zip"] {
        let truth = &proven[name][0].1;
        assert!(truth.1.is_none(), "{truth:?}");
        assert!(
            proven[name].iter().all(|(_, said)| said == truth),
            "{proven:?}"
        );
        let said = &estimated[name];
        let verbs: Vec<&str> = said.iter().map(|(verb, _)| *verb).collect();
        assert_eq!(verbs, ["find", "pairs", "groups", "a member", "compare"]);
        assert!(
            said.iter().all(|(_, figures)| *figures == said[0].1),
            "{name}: {said:?}"
        );
        let (shares, ends) = said[0].1;
        let ends = ends.expect("an estimate").into_iter();
        for ((share, truth), [low, high]) in shares.into_iter().zip(truth.0).zip(ends) {
            assert!(low <= share && share <= high, "{said:?}");
            assert!(low <= truth && truth <= high, "{said:?}, {truth:?}");
            assert!(Fraction::ZERO < low && high < Fraction::ONE, "{said:?}");
        }
    }
}
