//! `compare`, `covered` and `dirs` return the same rows with any memory bound.

use resemble_proto::message::{
    CompareOptions, CompareRequest, Comparison, Coverage, CoveredRequest, DirRow, DirsRequest,
    Scope, Whole,
};
use resemble_proto::path::PathText;
use resemble_relate::findings::MemoryCache;
use resemble_trees::covered::covered;

use crate::plain::{compare, dirs};
use crate::scene::Scene;
use resemble_testutil::prose::overwritten as edited;
use resemble_testutil::random::letters as text;

/// The number of files on a side. A question with a memory bound looks up fewer files in one step.
const FILES: u64 = 300;

/// Writes two trees. Each file of the first tree has a later version in the second tree. Half of
/// these versions are at another path. One file in ten begins with a common header. Another tenth
/// of the files ends with the text of another file.
fn scene() -> Scene {
    let mut scene = Scene::new();
    let header = text(1, 600);
    for n in 0..FILES {
        let own = text(100 + n, 1500);
        let bytes = match n % 10 {
            0 => [header.clone(), own].concat(),
            1 => [own, text(100 + n / 2, 1500)].concat(),
            _ => own,
        };
        let (dir, moved) = (n % 7, if n % 2 == 0 { "at" } else { "moved" });
        scene.write(&format!("a/{dir}/at-{n}"), &bytes);
        scene.write(
            &format!("b/{dir}/{moved}-{n}"),
            edited(&bytes, 100 + n as usize % 1000),
        );
    }
    scene.scan();
    scene
}

struct Rows {
    compare: Whole<Comparison>,
    covered: Whole<Coverage>,
    dirs: Vec<DirRow>,
}

fn rows(scene: &Scene, memory: Option<u64>) -> Rows {
    let snapshot = scene.snapshot();
    let [a, b] = ["a", "b"].map(|side| PathText::from(scene.path(side)));
    let options = CompareOptions {
        memory,
        ..CompareOptions::default()
    };
    let of_dirs = DirsRequest {
        scope: Scope {
            within: vec![a.clone(), b.clone()],
            ..Scope::default()
        },
        memory,
        ..DirsRequest::default()
    };
    let of_covered = CoveredRequest {
        dir: a.clone(),
        by: vec![b.clone()],
        by_digest: false,
        memory,
    };
    let of_compare = CompareRequest { a, b, options };
    let scratch = scene.temp.folder("scratch");
    let asked = dirs(&snapshot, &of_dirs, &scratch);
    let left = std::fs::read_dir(&scratch).expect("a folder");
    assert_eq!(left.count(), 0, "nothing is left");
    Rows {
        compare: compare(&snapshot, &of_compare, &MemoryCache::default()).expect("an answer"),
        covered: covered(&snapshot, &of_covered, None).expect("an answer"),
        dirs: asked.expect("an answer").rows,
    }
}

#[test]
fn memory_changes_no_row() {
    let scene = scene();
    let plenty = rows(&scene, None);
    let found = (
        plenty.compare.body.summary.classes.edited > 100,
        plenty.covered.body.near.len() > 200,
        plenty.dirs.iter().any(|row| row.a_in_b != row.b_in_a),
    );
    assert_eq!(found, (true, true, true), "there is something to lose");
    for memory in [1, 64 << 20] {
        let bounded = rows(&scene, Some(memory));
        assert!(bounded.compare == plenty.compare, "compare, {memory} bytes");
        assert!(bounded.covered == plenty.covered, "covered, {memory} bytes");
        assert!(bounded.dirs == plenty.dirs, "dirs, {memory} bytes");
    }
}
