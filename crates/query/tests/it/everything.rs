//! A question about a directory that holds all indexed files is a question about the entire index.

use std::sync::Arc;

use resemble_core::Params;
use resemble_proto::message::{Answer, FindOptions, FindRow, Scope};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_relate::scope;

use crate::one_figure::mixed::mixed;
use crate::scene::Scene;
use crate::scene::fake::Fake;

fn ask(scene: &Scene, name: &str, scope: Scope) -> Answer<FindRow> {
    let snapshot = scene.snapshot();
    let path = scene.path(name);
    let subject = Subject::indexed(&snapshot, &path, &Params::default());
    let subject = subject.expect("a readable file").expect("it is indexed");
    let subject = subject.with_part_reader(Some(Arc::new(Fake)));
    let options = FindOptions {
        scope,
        text: true,
        ..FindOptions::default()
    };
    find::find(&snapshot, &subject, &PathText::from(path), &options).expect("an answer")
}

#[test]
fn the_whole_index_named_as_a_directory_has_the_same_answer_as_its_list_of_files() {
    let files = mixed();
    let mut scene = Scene::with_parts();
    for (name, bytes) in &files {
        scene.write(name, bytes);
    }
    scene.write("small", "a few bytes");
    scene.scan();
    let within = vec![PathText::from(scene.root())];
    let whole = Scope {
        within: within.clone(),
        ..Scope::default()
    };
    // A scope with a pattern is a list of files, even if every file matches the pattern.
    let listed = Scope {
        within,
        include: vec!["*".into()],
        ..Scope::default()
    };
    let snapshot = scene.snapshot();
    assert!(scope::is_everything(&snapshot, &whole).expect("it is readable"));
    assert!(!scope::is_everything(&snapshot, &listed).expect("it is readable"));
    for name in files.keys() {
        let answers = [&whole, &listed].map(|scope| ask(&scene, name, scope.clone()));
        assert_eq!(answers[0], answers[1], "{name}");
    }
}

#[test]
fn a_directory_beside_which_there_is_something_is_not_the_whole_index() {
    let mut scene = Scene::new();
    for name in ["a/one", "a/below/two", "b/three"] {
        scene.write(name, "text");
    }
    scene.scan();
    let is_everything = |names: &[&str]| {
        let within = names.iter().map(|name| scene.root().join(name));
        let scope = Scope {
            within: within.map(PathText::from).collect(),
            ..Scope::default()
        };
        scope::is_everything(&scene.snapshot(), &scope).expect("it is readable")
    };
    assert!(is_everything(&["a", "b"]) && is_everything(&["b/three", "a"]));
    assert!(!is_everything(&["a"]) && !is_everything(&["a/below", "b"]));
    assert!(is_everything(&["a/below", "a/one", "b"]) && is_everything(&["", "b/none"]));
}
