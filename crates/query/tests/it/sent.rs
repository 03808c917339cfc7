//! If a client sends bytes, they are compared like a file that consists of these bytes.

use std::path::Path;
use std::sync::Arc;

use resemble_core::Params;
use resemble_proto::message::{FindOptions, FindRow, Newer};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject, read_with_parts};

use crate::one_figure::mixed::mixed;
use crate::scene::Scene;
use crate::scene::fake::Fake;

/// Returns the rows, except those about files whose names begin with the subject's name. Paths are
/// relative to the root, because each scene has another root.
fn rows(scene: &Scene, subject: Subject, own: &Path) -> Vec<FindRow> {
    let subject = subject.with_part_reader(Some(Arc::new(Fake)));
    let name = PathText::from(own.file_name().expect("a name").as_ref() as &Path);
    let options = FindOptions {
        text: true,
        ..FindOptions::default()
    };
    let snapshot = scene.snapshot();
    let answer = find::find(&snapshot, &subject, &name, &options).expect("an answer");
    let others = answer.rows.into_iter().filter_map(|row| {
        let below = row.path.as_path().strip_prefix(scene.root());
        let path = PathText::from(below.expect("in the tree"));
        let is_own = path.as_bytes().starts_with(name.as_bytes());
        (!is_own).then(|| FindRow {
            path,
            age: Newer::default(),
            ..row
        })
    });
    let mut others: Vec<_> = others.collect();
    others.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    others
}

#[test]
fn bytes_are_measured_as_the_file_that_holds_them() {
    let files = mixed();
    let scene = |left_out: Option<&String>| {
        let mut scene = Scene::with_parts();
        for (name, bytes) in files.iter().filter(|(name, _)| Some(*name) != left_out) {
            scene.write(name, bytes);
        }
        scene.scan();
        scene
    };
    let all = scene(None);
    let mut proven = 0;
    let is_plain = |name: &str| name.ends_with("txt") || name.ends_with("rs");
    for (at, (name, bytes)) in files.iter().enumerate() {
        if at % 4 > 0 && is_plain(name) {
            continue;
        }
        // This index does not have the file.
        let others = scene(Some(name));
        let path = all.path(name);
        let read = read_with_parts(&path, &Params::default(), Some(&Fake)).expect("readable");
        let subject = Subject::of_digest(read.digest)
            .with_others(read.others)
            .holding(read.held)
            .with_bytes(&path, bytes.clone());
        let found = rows(&others, subject, &path);
        let subject = Subject::indexed(&all.snapshot(), &path, &Params::default());
        let known = rows(&all, subject.expect("readable").expect("indexed"), &path);
        assert_eq!(found, known, "{name}");
        assert!(found.iter().all(|row| !row.estimate), "{name}: {found:?}");
        proven += found.len();
    }
    assert!(proven > 50, "{proven}");
}
