//! A question ends when its caller stops waiting.

use std::fmt::Debug;
use std::ops::ControlFlow;

use resemble_core::{Params, StopFlag};
use resemble_index::ReadError;
use resemble_proto::message::{
    CompareOptions, CompareRequest, CoveredRequest, DirsRequest, FindOptions, GroupsRequest,
    MarkRequest, PairsRequest, Scope,
};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::templates::{Store, TemplateError};
use resemble_query::{Snapshot, dump};
use resemble_relate::AskError;
use resemble_relate::findings::MemoryCache;
use resemble_trees::covered;

use crate::plain;
use crate::scene::Scene;

/// Writes two folders. For each file of one folder, the other folder has another version.
fn two_versions() -> Scene {
    let mut scene = Scene::new();
    for n in 0..8 {
        let words: Vec<String> = (0..400).map(|at| format!("word{n}x{at} ")).collect();
        let text = words.concat();
        scene.write(&format!("one/{n}.txt"), &text);
        scene.write(&format!("two/{n}.txt"), text.replace("x7", "y7"));
    }
    scene.scan();
    scene
}

fn is_cancelled<T: Debug>(question: &str, answer: &Result<T, AskError>) {
    assert!(
        matches!(answer, Err(AskError::Cancelled)),
        "{question}: {answer:?}"
    );
}

#[test]
fn every_question_ends_when_it_is_cancelled() {
    let scene = two_versions();
    let stop = StopFlag::default();
    let snapshot = scene.index.snapshot().unwrap().with_stop(stop.clone());
    let params = &Params::default();
    let (one, two) = (scene.path("one"), scene.path("two"));
    let scope = Scope {
        within: vec![PathText::from(scene.root().as_path())],
        ..Scope::default()
    };
    let subject = Subject::remembered(&snapshot, &scene.path("one/1.txt"));
    let subject = subject.unwrap().unwrap();
    let digest = find::read_now(&scene.path("one/1.txt"), params).unwrap();
    let whole_index = FindOptions::default();
    let among = FindOptions {
        scope: scope.clone(),
        ..FindOptions::default()
    };
    let of_pairs = PairsRequest {
        scope: scope.clone(),
        ..PairsRequest::default()
    };
    let of_groups = GroupsRequest {
        scope: scope.clone(),
        ..GroupsRequest::default()
    };
    let of_dirs = DirsRequest {
        scope: scope.clone(),
        ..DirsRequest::default()
    };
    let of_compare = CompareRequest {
        a: one.as_path().into(),
        b: two.as_path().into(),
        options: CompareOptions::default(),
    };
    let of_covered = CoveredRequest {
        dir: one.as_path().into(),
        by: vec![two.as_path().into()],
        by_digest: false,
        memory: None,
    };
    let store = Store::new(scene.temp.root(), params);
    let of_mark = MarkRequest {
        files: vec![scene.path("one/1.txt").as_path().into()],
        ..MarkRequest::default()
    };
    let scratch = scene.temp.root();
    let name = PathText::from(scene.path("one/1.txt").as_path());
    let ask = |snapshot: &Snapshot| {
        (
            find::find(snapshot, &subject, &name, &whole_index),
            find::find(snapshot, &subject, &name, &among),
            find::holders::candidates(
                snapshot,
                std::slice::from_ref(&digest),
                None,
                &scope,
                &[],
                true,
            ),
            plain::pairs(snapshot, &of_pairs),
            plain::groups(snapshot, &of_groups, scratch),
            plain::order(snapshot, &of_groups, scratch),
            plain::dirs(snapshot, &of_dirs, scratch),
            plain::compare(snapshot, &of_compare, &MemoryCache::default()),
            covered::covered(snapshot, &of_covered, None),
        )
    };
    let answered = ask(&snapshot);
    assert!(!answered.0.unwrap().rows.is_empty());
    assert!(!answered.3.unwrap().rows.is_empty());

    stop.set();
    let cancelled = ask(&snapshot);
    is_cancelled("find", &cancelled.0);
    is_cancelled("find --in", &cancelled.1);
    is_cancelled("holders", &cancelled.2);
    is_cancelled("pairs", &cancelled.3);
    is_cancelled("groups", &cancelled.4);
    is_cancelled("order", &cancelled.5);
    is_cancelled("dirs", &cancelled.6);
    is_cancelled("compare", &cancelled.7);
    is_cancelled("covered", &cancelled.8);
    let marked = plain::mark(&snapshot, &store, &of_mark, scratch);
    assert!(
        matches!(
            marked,
            Err(TemplateError::Index(ReadError::Stopped) | TemplateError::Ask(AskError::Cancelled))
        ),
        "{marked:?}"
    );
}

#[test]
fn a_question_ends_in_the_middle() {
    let scene = two_versions();
    let stop = StopFlag::default();
    let snapshot = scene.index.snapshot().unwrap().with_stop(stop.clone());
    let mut lines = 0;
    let dumped = dump::dump(&snapshot, &[scene.root()], &mut |_| {
        lines += 1;
        stop.set();
        ControlFlow::Continue(())
    });
    assert!(matches!(dumped, Err(ReadError::Stopped)), "{dumped:?}");
    // The rows that were read before the stop may still be reported, but not all rows.
    assert!(lines < 10, "{lines} lines of 19");
}
