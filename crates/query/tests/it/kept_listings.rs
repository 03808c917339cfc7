//! A kept listing equals a newly computed one, even if changes have been committed since.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use resemble_core::Params;
use resemble_index::{Footprint, Index, MergeWork, Options, Snapshot};
use resemble_query::find::{Similar, Subject, listing};
use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};
use resemble_scan::parts::PartReader;
use resemble_testutil::TempTree;
use resemble_testutil::prose::{edited, paragraphs, prose};
use resemble_testutil::random::noise;

use crate::scene::fake::{Fake, Record, fake, member, text_of};

/// The number of contents above which a piece is boilerplate. It is so low that a few steps make a
/// header boilerplate or ordinary again.
const LIMIT: u32 = 5;

/// The content of a file.
#[derive(Clone, Debug)]
enum Says {
    /// A version of one of a few texts. It has five edits for each unit of the second number.
    Version(u64, usize),
    /// A text that no other file has, below a header that other files have.
    Headed(u64),
    /// Random bytes, which are not a text.
    Binary(u64),
    /// A document with a version of a text.
    Document(u64, u64, usize),
    /// An archive with these versions.
    Archive(u64, Vec<(u64, usize)>),
}

impl Says {
    fn bytes(&self) -> Vec<u8> {
        let version = |text: u64, edits: usize| edited(&prose(text, 4000), edits as u64, 5 * edits);
        match self {
            Self::Version(text, edits) => version(*text, *edits),
            Self::Headed(own) => [
                paragraphs(1, 8).into_bytes(),
                paragraphs(100 + own, 3).into_bytes(),
            ]
            .concat(),
            Self::Binary(seed) => [noise(7, 6000), noise(10 + seed, 600 * *seed as usize)].concat(),
            Self::Document(key, text, edits) => fake(*key, &[text_of(version(*text, *edits))]),
            Self::Archive(key, held) => {
                let names = (0..).map(|n: u32| n.to_string());
                let members = held.iter().zip(names);
                let records: Vec<Record> = members
                    .map(|((text, edits), name)| member(&name, version(*text, *edits)))
                    .collect();
                fake(*key, &records)
            }
        }
    }
}

/// A step that changes the tree, or only the index.
#[derive(Clone, Debug)]
enum Step {
    Write(String, Says),
    Remove(String),
    Move(String, String),
    Link(String, String),
    /// Writes or removes this number of files that have the header.
    Headed(u64, bool),
    /// Writes this many near-copies of a text.
    Family(u64, u64),
    /// Removes the second root (`false`), or adds it again (`true`).
    Root(bool),
    Merge,
}

fn name() -> impl Strategy<Value = String> {
    let dir = prop::sample::select(vec!["one/a", "one/b", "one", "two/a", "two"]);
    (dir, 0..5u8).prop_map(|(dir, n)| format!("{dir}/{n}"))
}

fn says() -> impl Strategy<Value = Says> {
    let version = (0..3u64, 0..4usize);
    prop_oneof![
        6 => version.clone().prop_map(|(text, edits)| Says::Version(text, edits)),
        2 => (0..9u64).prop_map(Says::Headed),
        2 => (0..4u64).prop_map(Says::Binary),
        2 => (0..3u64, version.clone()).prop_map(|(key, (text, edits))| {
            Says::Document(key, text, edits)
        }),
        2 => (0..3u64, prop::collection::vec(version, 1..4))
            .prop_map(|(key, held)| Says::Archive(key, held)),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    let folder = prop::sample::select(vec!["one/a", "one/b", "two/a", "one/c"]);
    let moved = prop_oneof![
        (name(), name()),
        (folder.clone(), folder).prop_map(|(a, b)| (a.to_owned(), b.to_owned())),
    ];
    prop_oneof![
        8 => (name(), says()).prop_map(|(name, says)| Step::Write(name, says)),
        2 => name().prop_map(Step::Remove),
        3 => moved.prop_map(|(from, to)| Step::Move(from, to)),
        1 => (name(), name()).prop_map(|(from, to)| Step::Link(from, to)),
        1 => (3..8u64, any::<bool>()).prop_map(|(files, there)| Step::Headed(files, there)),
        1 => (0..3u64, 3..9u64).prop_map(|(text, files)| Step::Family(text, files)),
        1 => any::<bool>().prop_map(Step::Root),
        1 => Just(Step::Merge),
    ]
}

/// Two watched roots, and the kept listings of all files in them.
struct Watched {
    temp: TempTree,
    index: Arc<Index>,
    ingest: Ingest,
    kept: BTreeMap<PathBuf, (Listed, Footprint)>,
    /// The number of kept listings that their footprints showed to be valid.
    stood: usize,
}

type Listed = (Vec<Similar>, usize);

impl Watched {
    fn new() -> Self {
        let temp = TempTree::new();
        let options = Options {
            boilerplate_limit: LIMIT,
            ..Options::default()
        };
        let index = Index::in_memory_with(&Params::default(), &options).expect("an index");
        let index = Arc::new(index);
        let roots = ["one", "two"].map(|name| RootOptions {
            text: true,
            ..RootOptions::new(temp.folder(name))
        });
        for below in ["one/a", "one/b", "two/a"] {
            temp.folder(below);
        }
        let options = IngestOptions {
            roots: roots.to_vec(),
            part_reader: Some(Arc::new(Fake)),
            ..IngestOptions::default()
        };
        Self {
            ingest: Ingest::new(Arc::clone(&index), options),
            index,
            temp,
            kept: BTreeMap::new(),
            stood: 0,
        }
    }

    fn scan(&mut self) {
        let roots = self.ingest.options().roots.clone();
        let targets: Vec<Target> = roots
            .iter()
            .map(|root| Target::subtree(&root.path))
            .collect();
        let report = self.ingest.reconcile(&targets, &mut Unobserved);
        report.expect("reconciled");
    }

    fn step(&mut self, step: &Step) {
        let path = |name: &str| self.temp.path(name);
        let ready = |path: &Path| path.parent().is_some_and(Path::is_dir) && !path.is_dir();
        match step {
            Step::Write(name, says) => {
                // A file whose name ends in 1 is replaced as an editor does. Other files are
                // overwritten in place.
                if ready(&path(name)) {
                    if name.ends_with('1') {
                        fs::remove_file(path(name)).ok();
                    }
                    self.temp.write(path(name), says.bytes());
                }
            }
            Step::Remove(name) => drop(fs::remove_file(path(name))),
            Step::Move(from, to) => {
                let (from, to) = (path(from), path(to));
                if to.parent().is_some_and(Path::is_dir) && fs::rename(&from, &to).is_ok() {
                    let renamed = Target::Renamed {
                        from,
                        to,
                        modified: false,
                    };
                    self.ingest
                        .reconcile(&[renamed], &mut Unobserved)
                        .expect("reconciled");
                }
            }
            Step::Link(from, to) => drop(fs::hard_link(path(from), path(to))),
            Step::Headed(files, there) => {
                for n in 0..*files {
                    let path = path(&format!("two/headed-{n}"));
                    if *there {
                        self.temp.write(path, Says::Headed(20 + n).bytes());
                    } else {
                        fs::remove_file(path).ok();
                    }
                }
            }
            Step::Family(text, files) => {
                for n in 0..*files {
                    let says = Says::Version(*text, 10 + n as usize);
                    self.temp
                        .write(path(&format!("two/family-{n}")), says.bytes());
                }
            }
            Step::Root(watched) => {
                let two = path("two");
                let mut roots = self.ingest.options().roots.clone();
                roots.retain(|root| root.path != two);
                if *watched {
                    roots.push(RootOptions {
                        text: true,
                        ..RootOptions::new(&two)
                    });
                } else {
                    self.ingest.forget(&two).expect("forgotten");
                }
                self.ingest.set_roots(roots);
            }
            Step::Merge => self.index.merge(MergeWork::All).expect("merged"),
        }
        self.scan();
    }

    /// Compares each kept listing whose footprint is untouched with a new listing. Both must be
    /// equal. Then keeps new listings of the other files.
    fn compare(&mut self) {
        let now = self.index.snapshot().expect("a snapshot");
        let mut kept = std::mem::take(&mut self.kept);
        for path in paths(&now) {
            let old = kept.remove(&path);
            let standing = old.filter(|(_, footprint)| now.is_untouched(&mut footprint.clone()));
            let fresh = listed(&now, &path);
            if let Some((listed, mut footprint)) = standing {
                assert_eq!(listed, fresh, "{}", path.display());
                self.stood += 1;
                assert!(now.is_untouched(&mut footprint));
                self.kept.insert(path, (listed, footprint));
                continue;
            }
            let noting = now.clone().noting();
            let listed = listed(&noting, &path);
            assert_eq!(listed, fresh, "{}", path.display());
            if let Some(footprint) = noting.footprint() {
                self.kept.insert(path, (listed, footprint));
            }
        }
        // The remaining kept listings are those of removed files. They must not count as valid.
        for (path, (_, mut footprint)) in kept {
            assert!(!now.is_untouched(&mut footprint), "{}", path.display());
        }
    }
}

/// Returns the paths of all files of the index.
fn paths(snapshot: &Snapshot) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let all = snapshot.walk(Path::new("/"), &mut |path, entry| {
        if matches!(entry, resemble_index::Entry::File(_)) {
            paths.push(path.to_owned());
        }
        std::ops::ControlFlow::Continue(())
    });
    all.expect("readable");
    paths
}

fn listed(snapshot: &Snapshot, path: &Path) -> Listed {
    let subject = Subject::remembered(snapshot, path).expect("readable");
    let part_reader: Arc<dyn PartReader> = Arc::new(Fake);
    let subject = subject.map(|subject| subject.with_part_reader(Some(part_reader)));
    let (mut listed, total) = subject.map_or_else(Default::default, |subject| {
        listing(snapshot, &subject, true).expect("an answer")
    });
    // The overlay shows no dates of similar files. So footprints do not cover the times of these
    // files, and the times are not compared.
    for similar in &mut listed {
        similar.changed = 0;
    }
    (listed, total)
}

fn run(steps: &[Step]) -> Watched {
    let mut watched = Watched::new();
    for (name, says) in [
        ("one/0", Says::Version(0, 0)),
        ("one/a/0", Says::Version(0, 1)),
        ("one/b/0", Says::Version(1, 1)),
        ("two/0", Says::Version(1, 2)),
        ("two/a/0", Says::Headed(0)),
        ("one/b/2", Says::Headed(1)),
        ("one/2", Says::Archive(5, vec![(2, 0), (2, 1)])),
        ("two/2", Says::Document(6, 2, 1)),
        ("two/3", Says::Binary(1)),
        ("two/4", Says::Binary(2)),
    ] {
        watched.temp.write(name, says.bytes());
    }
    watched.scan();
    watched.compare();
    for step in steps {
        watched.step(step);
        watched.compare();
    }
    watched
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn a_kept_listing_is_the_one_that_would_be_found(
        steps in prop::collection::vec(steps(), 1..14)
    ) {
        run(&steps);
    }
}

/// A file with the same bytes and another time leaves all kept listings valid.
#[test]
fn a_new_time_leaves_listings_alone() {
    let mut watched = run(&[]);
    let old = fs::File::options()
        .write(true)
        .open(watched.temp.path("one/a/0"));
    let then = std::time::SystemTime::UNIX_EPOCH;
    old.and_then(|file| file.set_modified(then))
        .expect("a new time");
    let stood = watched.stood;
    watched.scan();
    watched.compare();
    assert_eq!(watched.stood - stood, watched.kept.len());
}

/// A write to an unrelated file leaves every kept listing valid. The kept listings are about texts,
/// packed or extracted contents, and files that are mostly boilerplate.
#[test]
fn a_commit_elsewhere_leaves_listings_alone() {
    let more = [20, 21, 22, 23, 24].map(|n| Step::Write(format!("two/{n}"), Says::Headed(n)));
    let mut watched = run(&more);
    let files = watched.kept.len();
    assert_eq!(files, 15, "every listing has a footprint");
    assert!(
        watched
            .kept
            .values()
            .all(|(listed, _)| listed.1 > 0 || files > 0)
    );
    let stood = watched.stood;
    watched.step(&Step::Write("one/a/1".into(), Says::Version(77, 0)));
    watched.compare();
    assert_eq!(watched.stood - stood, files);
    // All kept listings also stay valid when the unrelated file is changed, renamed and removed.
    for step in [
        Step::Write("one/a/1".into(), Says::Version(78, 0)),
        Step::Move("one/a/1".into(), "one/b/1".into()),
        Step::Remove("one/b/1".into()),
    ] {
        let stood = watched.stood;
        watched.step(&step);
        watched.compare();
        assert_eq!(watched.stood - stood, files, "{step:?}");
    }
}
