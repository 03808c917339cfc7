use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use resemble_catalogue::{self as catalogue, Details};
use resemble_core::Params;
use resemble_index::Index;
use resemble_proto::catalogued;
use resemble_scan::ingest::{Cause, Ingest, IngestOptions, RootOptions, Scope, Target, Unobserved};

use resemble_testutil::{TempTree, prose};

use super::*;
use crate::alerts::baselines::Baselines;

/// A tree and an index of it.
struct Scene {
    tree: TempTree,
    index: Arc<Index>,
    ingest: Ingest,
}

impl Scene {
    fn new() -> Self {
        let tree = TempTree::new();
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let roots = vec![RootOptions::new(tree.root())];
        let options = IngestOptions {
            roots,
            ..IngestOptions::default()
        };
        let ingest = Ingest::new(Arc::clone(&index), options);
        Self {
            tree,
            index,
            ingest,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tree.path(name)
    }

    /// Writes lines that depend on `seed`, and then `ending`. Files of different seeds share
    /// nothing.
    fn write(&self, name: &str, seed: u32, lines: u32, ending: &str) {
        let text = prose::lines(seed.into(), lines as usize);
        self.tree.write(name, text + ending);
    }

    fn scan(&mut self) -> Snapshot {
        let everything = Target::Path {
            path: self.tree.root().to_owned(),
            scope: Scope::Subtree,
            cause: Cause::Modified,
            read_now: true,
        };
        self.ingest
            .reconcile(&[everything], &mut Unobserved)
            .unwrap();
        self.index.snapshot().unwrap()
    }

    /// Loads a catalogue of a directory of the tree into the index.
    fn keep_catalogue(&mut self, dir: &str) {
        let details = Details {
            label: "disk".to_owned(),
            names: true,
            ..Details::default()
        };
        let mut bytes = Vec::new();
        let roots = [self.path(dir)];
        catalogue::write(&self.scan(), &roots, &details, &mut |piece| {
            bytes.extend_from_slice(piece);
            ControlFlow::Continue(())
        })
        .unwrap();
        let elsewhere = TempTree::new();
        let file = elsewhere.write("disk.cat", bytes);
        let catalogue = catalogue::open(&file).unwrap();
        catalogue::load(&self.index, &catalogued::of_label("disk"), catalogue).unwrap();
    }

    fn assess(&mut self, name: &str, before: &Snapshot, files: usize) -> Verdict {
        let after = self.scan();
        let mut burst = Burst::default();
        for n in 0..files {
            burst.add(&self.path(&format!("new/{n}")), None, Instant::now());
        }
        let before = Baselines::new(before.clone()).of(&self.path(name)).unwrap();
        Novelty::new(after).assess(&self.path(name), &before, &burst)
    }
}

fn partners(verdict: &Verdict) -> Vec<&Path> {
    match verdict {
        Verdict::Resembles { partners, .. } => partners.iter().map(|p| p.path.as_path()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_copy_and_a_near_copy_are_news() {
    let mut tree = Scene::new();
    tree.write("a", 1, 200, "");
    let before = tree.scan();
    tree.write("copy", 1, 200, "");
    let verdict = tree.assess("copy", &before, 1);
    assert_eq!(partners(&verdict), [tree.path("a")]);
    fs::remove_file(tree.path("copy")).unwrap();
    tree.write("near", 1, 200, "and a little more");
    let verdict = tree.assess("near", &before, 1);
    assert_eq!(partners(&verdict), [tree.path("a")]);
    tree.write("other", 2, 200, "");
    assert_eq!(tree.assess("other", &before, 1), Verdict::Nothing);
}

#[test]
fn files_of_kept_catalogues_are_no_partners() {
    let mut tree = Scene::new();
    tree.write("disk/a", 1, 200, "");
    tree.keep_catalogue("disk");
    let before = tree.scan();
    tree.write("copy", 1, 200, "");
    let verdict = tree.assess("copy", &before, 1);
    assert_eq!(partners(&verdict), [tree.path("disk/a")]);
    for name in ["disk/a", "copy"] {
        fs::remove_file(tree.path(name)).unwrap();
    }
    let before = tree.scan();
    tree.write("copy", 1, 200, "");
    assert_eq!(tree.assess("copy", &before, 1), Verdict::Nothing);
}

#[test]
fn a_draft_that_is_saved_again_is_no_news() {
    let mut tree = Scene::new();
    tree.write("draft-1", 1, 200, "");
    tree.write("draft-2", 1, 200, "one");
    let before = tree.scan();
    tree.write("draft-2", 1, 200, "one and two");
    assert_eq!(tree.assess("draft-2", &before, 1), Verdict::Nothing);
}

#[test]
fn a_change_that_makes_a_file_like_another_is_news() {
    let mut tree = Scene::new();
    tree.write("a", 1, 200, "");
    tree.write("b", 2, 200, "");
    let before = tree.scan();
    tree.write("b", 1, 200, "the end");
    assert_eq!(partners(&tree.assess("b", &before, 1)), [tree.path("a")]);
}

#[test]
fn the_backup_that_an_editor_makes_is_no_news() {
    let mut tree = Scene::new();
    tree.write("report", 1, 200, "");
    let before = tree.scan();
    fs::rename(tree.path("report"), tree.path("report~")).unwrap();
    tree.write("report", 1, 200, "a new end");
    assert_eq!(tree.assess("report", &before, 1), Verdict::Nothing);
}

#[test]
fn a_backup_beside_its_file_is_no_news_however_it_was_made() {
    for backup in [
        "report~",
        "report.~2~",
        "report.bak",
        "report.orig",
        "#report#",
        ".report.swp",
    ] {
        let mut tree = Scene::new();
        tree.write("report", 1, 200, "");
        let before = tree.scan();
        tree.write(backup, 1, 200, "a new");
        tree.write("report", 1, 200, "a new end");
        for name in [backup, "report"] {
            let verdict = tree.assess(name, &before, 2);
            assert_eq!(verdict, Verdict::Nothing, "{name} of {backup}");
        }
        // For another file, the backup is news only as a part of a copied tree.
        tree.write("other", 1, 200, "another end");
        let before = tree.scan();
        tree.write(backup, 1, 200, "a newer end");
        let new = Baseline {
            neighbours: Arc::default(),
            ..Baselines::new(before).of(&tree.path(backup)).unwrap()
        };
        let after = tree.scan();
        let verdict = Novelty::new(after).assess(&tree.path(backup), &new, &Burst::default());
        assert_eq!(partners(&verdict), [tree.path("other")], "{backup}");
        let is_in_tree_only = matches!(
            verdict,
            Verdict::Resembles {
                only_in_tree: true,
                ..
            }
        );
        assert!(is_in_tree_only, "{backup}");
    }
    let mut tree = Scene::new();
    tree.write("report", 1, 200, "");
    let before = tree.scan();
    for name in ["d/report~", "report2~", "copy.bak", ".swp", "~"] {
        tree.write(name, 1, 200, "");
        let verdict = tree.assess(name, &before, 1);
        let is_news = matches!(
            verdict,
            Verdict::Resembles {
                only_in_tree: false,
                ..
            }
        );
        assert!(is_news, "{name}: {verdict:?}");
        fs::remove_file(tree.path(name)).unwrap();
    }
}

#[test]
fn a_git_operation_is_quiet_and_a_copied_work_tree_is_not() {
    let mut tree = Scene::new();
    tree.write("proj/a", 1, 200, "");
    tree.write("proj/.git/index", 9, 10, "");
    let before = tree.scan();
    tree.write("proj/b", 1, 200, "of the other branch");
    tree.write("proj/.git/index", 9, 11, "");
    assert_eq!(tree.assess("proj/b", &before, 1), Verdict::Quiet);
    tree.write("copy/a", 1, 200, "");
    tree.write("copy/.git/index", 9, 10, "");
    assert_ne!(
        partners(&tree.assess("copy/a", &before, 2)),
        [] as [&Path; 0]
    );
}

#[test]
fn what_builds_make_counts_in_a_tree_only() {
    let mut tree = Scene::new();
    tree.write("p/.gitignore", 7, 0, "target/\n");
    tree.write("p/a", 1, 200, "");
    let before = tree.scan();
    tree.write("p/target/a.o", 1, 200, "");
    let verdict = tree.assess("p/target/a.o", &before, 1);
    assert!(
        matches!(
            verdict,
            Verdict::Resembles {
                only_in_tree: true,
                ..
            }
        ),
        "{verdict:?}"
    );
    tree.write("p/.hg/store/a", 1, 200, "");
    let verdict = tree.assess("p/.hg/store/a", &before, 1);
    assert!(
        matches!(
            verdict,
            Verdict::Resembles {
                only_in_tree: true,
                ..
            }
        ),
        "{verdict:?}"
    );
}

/// A user with write access to a watched tree could make `.gitignore` a link to any file. The
/// daemon would read that file, and its alerts would reveal the file's contents to the user.
#[test]
fn ignore_files_are_not_read_through_links() {
    let mut tree = Scene::new();
    tree.write("elsewhere", 7, 0, "target/\n");
    tree.write("p/a", 1, 200, "");
    std::os::unix::fs::symlink(tree.path("elsewhere"), tree.path("p/.gitignore")).unwrap();
    let before = tree.scan();
    tree.write("p/target/a.o", 1, 200, "");
    let verdict = tree.assess("p/target/a.o", &before, 1);
    let is_news = |verdict: &Verdict| {
        matches!(
            verdict,
            Verdict::Resembles {
                only_in_tree: false,
                ..
            }
        )
    };
    assert!(is_news(&verdict), "{verdict:?}");
    // If a `.gitignore` is too large, its rules are not used. The size limit could cut a line so
    // that another rule results.
    fs::remove_file(tree.path("p/.gitignore")).unwrap();
    tree.write("p/.gitignore", 7, 0, &"target/\n".repeat(200_000));
    let verdict = tree.assess("p/target/a.o", &before, 1);
    assert!(is_news(&verdict), "{verdict:?}");
}

#[test]
fn small_files_count_in_a_tree_only() {
    let mut tree = Scene::new();
    tree.write("a", 1, 3, "");
    let before = tree.scan();
    tree.write("b", 1, 3, "");
    let verdict = tree.assess("b", &before, 1);
    assert!(
        matches!(
            verdict,
            Verdict::Resembles {
                only_in_tree: true,
                ..
            }
        ),
        "{verdict:?}"
    );
    fs::write(tree.path("c"), "").unwrap();
    fs::write(tree.path("d"), "").unwrap();
    assert_eq!(tree.assess("d", &before, 1), Verdict::Nothing);
}

#[test]
fn files_that_came_together_in_numbers_are_not_compared_with_each_other() {
    let mut tree = Scene::new();
    tree.write("old", 1, 200, "");
    let before = tree.scan();
    for n in 0..25 {
        tree.write(&format!("new/{n}"), 5, 200, &format!("number {n}"));
    }
    assert_eq!(tree.assess("new/3", &before, 25), Verdict::Nothing);
    assert_ne!(tree.assess("new/3", &before, 2), Verdict::Nothing);
    tree.write("new/x", 1, 200, "like the old one");
    assert_eq!(
        partners(&tree.assess("new/x", &before, 25)),
        [tree.path("old")]
    );
}

/// The files with one content are looked up once for all copies. A look-up for each of the 500
/// copies would read 250,000 paths.
#[test]
fn many_copies_of_a_file_are_looked_up_once() {
    const COPIES: usize = 500;
    let mut tree = Scene::new();
    for n in 0..COPIES {
        tree.write(&format!("d{n}/copy"), 1, 60, "");
    }
    let mut novelty = Novelty::new(tree.scan());
    for n in 0..COPIES {
        let path = tree.path(&format!("d{n}/copy"));
        let verdict = novelty.assess(&path, &Baseline::default(), &Burst::default());
        assert_eq!(partners(&verdict).len(), MOST_PARTNERS);
    }
    assert_eq!(novelty.looked_up, COPIES);
    assert_eq!(novelty.compared, COPIES * MOST_HOLDERS);
}

#[test]
fn copies_of_a_file_had_the_same_neighbours() {
    let mut tree = Scene::new();
    for (name, ending) in [("a", ""), ("copy", ""), ("near", "another end")] {
        tree.write(name, 1, 200, ending);
    }
    let mut baselines = Baselines::new(tree.scan());
    let [one, other] = ["a", "copy"].map(|name| baselines.of(&tree.path(name)).unwrap());
    assert!(!one.neighbours.is_empty());
    assert!(
        Arc::ptr_eq(&one.neighbours, &other.neighbours),
        "they are looked up once"
    );
}

#[test]
fn a_copy_is_found_although_the_copies_known_before_are_gone() {
    let mut tree = Scene::new();
    tree.write("a", 1, 60, "");
    tree.write("b", 1, 60, "");
    let mut novelty = Novelty::new(tree.scan());
    let mut resembles = |tree: &Scene, name: &str, after: Snapshot| {
        novelty.look_at(after);
        let none = (Baseline::default(), Burst::default());
        let verdict = novelty.assess(&tree.path(name), &none.0, &none.1);
        partners(&verdict)
            .iter()
            .map(|path| path.to_path_buf())
            .collect::<Vec<_>>()
    };
    let after = tree.scan();
    assert_eq!(resembles(&tree, "b", after), [tree.path("a")]);
    tree.write("c", 1, 60, "");
    fs::remove_file(tree.path("a")).unwrap();
    let after = tree.scan();
    assert_eq!(resembles(&tree, "b", after), [tree.path("c")]);
}
