use std::fs;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::{Details, Samples, open, write};
use super::*;
use crate::tests::made::{Made, Tree, catalogue, file_of, tree, usual};

/// An index, and the path in it at which catalogues are loaded.
struct Scene {
    dir: tempfile::TempDir,
    index: Index,
    root: PathBuf,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            index: Index::in_memory(&Params::default()).expect("an index"),
            root: catalogued::of_label("disk"),
        }
    }

    fn load(&self, bytes: &[u8]) -> Result<Loaded, CatalogueError> {
        self.load_by(bytes, HEAVY)
    }

    fn load_by(&self, bytes: &[u8], heavy: usize) -> Result<Loaded, CatalogueError> {
        let file = self.dir.path().join("file");
        fs::write(&file, bytes).expect("a file");
        load_by(&self.index, &self.root, open(&file)?, heavy)
    }

    /// Writes the tree of the index as a catalogue again, and returns its bytes.
    fn written(&self, created: i64) -> Vec<u8> {
        let snapshot = self.index.snapshot().expect("a snapshot");
        assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
        let details = Details {
            label: "disk".to_owned(),
            created,
            names: true,
            text: true,
            samples: Samples::All,
        };
        let mut out = Vec::new();
        let mut sink = |piece: &[u8]| {
            out.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        write(
            &snapshot,
            std::slice::from_ref(&self.root),
            &details,
            &mut sink,
        )
        .expect("it is written");
        out
    }
}

#[test]
fn only_what_differs_is_written() {
    let scene = Scene::new();
    let old = usual();
    let first = scene.load(&catalogue(&old, Samples::All)).expect("loaded");
    assert!(first.changes > 200, "{first:?}");
    let again = scene.load(&catalogue(&old, Samples::All)).expect("loaded");
    assert_eq!((again.changes, again.files), (0, first.files));
    let mut new = old;
    new.names
        .insert(vec![b"a".to_vec()], Made::File(250, 200, 1));
    new.names.remove(&file_of(30, 0).0);
    let (name, _) = file_of(40, 0);
    new.names.insert(name, Made::File(40, 201, 2));
    let bytes = catalogue(&new, Samples::All);
    let loaded = scene.load(&bytes).expect("loaded");
    assert_eq!(loaded.changes, 3, "{loaded:?}");
    assert!(scene.written(0) == bytes);
}

/// A catalogue of several trees has no entry for the folder that contains them.
#[test]
fn one_of_several_trees_takes_the_place_of_another() {
    let scene = Scene::new();
    let mut old = usual();
    old.names.remove(&Vec::new());
    scene.load(&catalogue(&old, Samples::All)).expect("loaded");
    let there = scene.written(0);
    let again = scene.load(&catalogue(&old, Samples::All)).expect("loaded");
    assert_eq!(again.changes, 0);
    assert!(scene.written(0) == there);
    let is_of_gone = |names: &[Vec<u8>]| names.first().is_some_and(|name| name == b"d3");
    old.names.retain(|names, _| !is_of_gone(names));
    let loaded = scene.load(&catalogue(&old, Samples::All)).expect("loaded");
    assert_eq!(loaded.changes, 1, "the folder that is gone");
    old.names.insert(Vec::new(), Made::Dir);
    assert!(scene.written(0) == catalogue(&old, Samples::All));
}

/// If a catalogue cannot be loaded, the previous tree stays. If there was no tree, there is still
/// no tree.
#[test]
fn a_forged_one_leaves_what_was_there() {
    let mut bytes = catalogue(&usual(), Samples::All);
    // The totals state a wrong number of files, but the digest is made correct.
    let end = bytes.len() - 32 - 6;
    bytes.truncate(bytes.len() - 32);
    bytes[end] ^= 1;
    let checksum = digest(&bytes);
    bytes.extend_from_slice(&checksum.0);
    for heavy in [HEAVY, 2_000, 1] {
        let scene = Scene::new();
        let loaded = scene.load_by(&bytes, heavy);
        assert!(loaded.is_err(), "{loaded:?}");
        let totals = scene.index.snapshot().and_then(|it| it.totals());
        let totals = totals.expect("totals");
        assert_eq!((totals.files, totals.contents), (0, 0));
        let mut old = usual();
        old.names
            .insert(vec![b"old".to_vec()], Made::File(250, 200, 1));
        let old = catalogue(&old, Samples::All);
        scene.load(&old).expect("loaded");
        let loaded = scene.load_by(&bytes, heavy);
        assert!(loaded.is_err(), "{loaded:?}");
        assert!(scene.written(0) == old);
        let top = scene
            .index
            .snapshot()
            .and_then(|it| it.list(Path::new("/")));
        assert_eq!(top.expect("names").len(), 1, "nothing beside it");
    }
}

/// During a replacement, every reader sees either the whole old tree or the whole new tree.
#[test]
fn the_old_one_is_there_until_the_new_one_is() {
    let scene = Scene::new();
    let old = usual();
    scene.load(&catalogue(&old, Samples::All)).expect("loaded");
    let below = old.names.iter().filter(|(name, _)| !name.is_empty());
    let names = below
        .map(|(name, made)| {
            (
                [vec![b"other".to_vec()], name.clone()].concat(),
                made.clone(),
            )
        })
        .collect();
    let new = Tree {
        names,
        ..old.clone()
    }
    .sound();
    let bytes = catalogue(&new, Samples::All);
    let entries = |index: &Index| {
        let mut names = Vec::new();
        let snapshot = index.snapshot().expect("a snapshot");
        let mut note = |path: &Path, _: &Entry| {
            names.push(path.to_owned());
            ControlFlow::Continue(())
        };
        snapshot.walk(&scene.root, &mut note).expect("a walk");
        names
    };
    let before = entries(&scene.index);
    let done = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut seen = vec![before.clone()];
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let now = entries(&scene.index);
                if seen.last() != Some(&now) {
                    seen.push(now);
                }
            }
            seen
        });
        scene.load_by(&bytes, 2_000).expect("loaded");
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        looker.join().expect("it looked")
    });
    let after = entries(&scene.index);
    assert!(
        seen.iter().all(|it| *it == before || *it == after),
        "{seen:?}"
    );
    assert!(scene.written(0) == bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// After any sequence of earlier catalogues, the index has the tree of the last one. Writing
    /// that tree gives the same bytes.
    #[test]
    fn the_new_one_is_there_whatever_was(
        trees in prop::collection::vec(tree(), 1..4),
        heavy in prop::sample::select(vec![HEAVY, 3_000, 1]),
    ) {
        let scene = Scene::new();
        let apart = trees[0].apart.clone();
        for tree in trees {
            // A content has the same parts in every catalogue, so all trees use one list of parts.
            let tree = Tree { apart: apart.clone(), ..tree.sound() };
            let bytes = catalogue(&tree, Samples::All);
            scene.load_by(&bytes, heavy).expect("loaded");
            prop_assert!(scene.written(tree.created) == bytes);
        }
    }
}
