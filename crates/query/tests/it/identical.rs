//! Tests sets of identical files. The answer from an index, the answer from the trees and the
//! definition of a set must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::plain::groups;
use proptest::prelude::*;
use resemble_core::Params;
use resemble_proto::message::{
    Groups, GroupsRequest, OnlyGroups, Scope, SoftError, SoftErrorKind, Whole,
};
use resemble_proto::path::PathText;
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_scan::ingest::{Observer, Progress, Report, Unobserved};
use resemble_testutil::random::{Random, noise};
use resemble_testutil::{TempTree, in_a_process_of_its_own};

pub(crate) fn index(cache: Option<PathBuf>) -> LocalIndex {
    let options = LocalOptions {
        cache,
        cache_bytes: LocalOptions::CACHE_BYTES,
        params: Params::default(),
        own: Vec::new(),
        part_reader: None,
        catalogues: None,
    };
    LocalIndex::open(options).expect("an index")
}

fn request(within: &[&Path]) -> GroupsRequest {
    GroupsRequest {
        scope: Scope {
            within: within.iter().map(|path| PathText::from(*path)).collect(),
            ..Scope::default()
        },
        only: OnlyGroups::Identical,
        ..GroupsRequest::default()
    }
}

fn direct(request: &GroupsRequest) -> Whole<Groups> {
    let answer = index(None).identical(request, &mut Unobserved);
    answer.expect("an answer")
}

fn paths_of(request: &GroupsRequest) -> Vec<PathBuf> {
    let paths = request.scope.within.iter().chain(&request.of);
    paths.map(|path| path.as_path().to_owned()).collect()
}

/// Returns the answer of a command that has an index, with an error for each entry that could not
/// be listed.
fn indexed(request: &GroupsRequest) -> Whole<Groups> {
    let mut local = index(None);
    let report: Report = local
        .refresh(&paths_of(request), &mut Unobserved)
        .expect("looked at");
    let snapshot = local.snapshot().expect("a snapshot");
    let scratch = TempTree::new();
    let mut answer = groups(&snapshot, request, scratch.root()).expect("an answer");
    let unlisted = report.errors.iter().filter(|error| {
        let file = snapshot.file_at(&error.path).expect("read");
        file.is_none()
    });
    answer.errors.extend(unlisted.map(|error| {
        let source = std::io::Error::from_raw_os_error(error.errno);
        SoftError::of_io(PathText::from(error.path.as_path()), &source)
    }));
    answer.errors.sort();
    answer
}

fn sets(answer: &Whole<Groups>) -> Vec<(u64, Vec<PathBuf>)> {
    let sets = answer.body.identical.iter();
    sets.map(|set| {
        let paths = set.paths.iter().map(|path| path.as_path().to_owned());
        (set.size, paths.collect())
    })
    .collect()
}

/// Finds the sets of identical files by their definition: reads every file and compares all bytes.
fn by_definition(roots: &[&Path]) -> Vec<(u64, Vec<PathBuf>)> {
    let mut least: BTreeMap<(u64, u64), Vec<u8>> = BTreeMap::new();
    let mut dirs: Vec<PathBuf> = roots.iter().map(|root| (*root).to_owned()).collect();
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let stat = fs::symlink_metadata(&path).expect("a stat");
            if stat.is_dir() {
                dirs.push(path);
            } else if stat.is_file() {
                let path = path.as_os_str().as_bytes().to_vec();
                let names = least
                    .entry((stat.dev(), stat.ino()))
                    .or_insert(path.clone());
                *names = path.min(names.clone());
            }
        }
    }
    let mut equal: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for path in least.into_values() {
        if let Ok(bytes) = fs::read(OsStr::from_bytes(&path)) {
            equal.entry(bytes).or_default().insert(path);
        }
    }
    let several = equal
        .into_iter()
        .filter(|(bytes, paths)| !bytes.is_empty() && paths.len() > 1);
    let mut sets: Vec<(u64, Vec<PathBuf>)> = several
        .map(|(bytes, paths)| {
            let paths = paths.into_iter();
            let paths = paths.map(|path| OsStr::from_bytes(&path).into()).collect();
            (bytes.len() as u64, paths)
        })
        .collect();
    sets.sort_by_key(|(size, paths)| {
        let overhead = size * (paths.len() as u64 - 1);
        let first = paths[0].as_os_str().as_bytes().to_vec();
        (u64::MAX - overhead, u64::MAX - size, first)
    });
    sets
}

/// Writes a content of a given kind. The contents of two kinds may have the same size, beginning or
/// end.
fn write(path: &Path, kind: usize) {
    let long = |middle: u8| {
        let mut bytes = noise(1, 200_000);
        bytes[100_000] = middle;
        bytes
    };
    let huge = |at: usize| {
        let mut bytes = noise(2, (1 << 20) + 70_000);
        bytes[at] ^= 1;
        bytes
    };
    let bytes = match kind {
        0 => Vec::new(),
        1 => b"a".to_vec(),
        2 => b"b".to_vec(),
        3 => noise(3, 4096),
        4 => [noise(3, 4095), vec![1]].concat(),
        5 => long(0),
        6 => long(1),
        7 => noise(1, 199_999),
        8 => huge(0),
        9 => huge(600_000),
        10 => huge((1 << 20) + 69_999),
        11 => vec![0; 300_000],
        // Both kinds have the size of kind 11 and consist of holes. Kind 13 also has some other
        // bytes.
        12 | 13 => {
            let file = fs::File::create(path).expect("a file");
            file.set_len(300_000).expect("a length");
            if kind == 13 {
                file.write_all_at(b"data", 200_000).expect("written");
            }
            return;
        }
        _ => noise(kind as u64, 1000),
    };
    fs::write(path, bytes).expect("written");
}

const NAMES: [&[u8]; 8] = [
    b"plain",
    b"two words",
    b"-rf",
    b"line\nbreak",
    b"\xff\xfe",
    "\u{202e}umlaut \u{e4}".as_bytes(),
    b"a.txt",
    b"a",
];

const FOLDERS: [&str; 5] = ["", "a", "a/b", "a.b", "z/\n"];

#[derive(Clone, Debug)]
enum Made {
    File(usize),
    Link(usize),
    Symlink,
    Locked(usize),
}

fn made() -> impl Strategy<Value = Vec<(usize, usize, Made)>> {
    let what = prop_oneof![
        12 => (0usize..15).prop_map(Made::File),
        3 => (0usize..60).prop_map(Made::Link),
        1 => Just(Made::Symlink),
        2 => (0usize..15).prop_map(Made::Locked),
    ];
    proptest::collection::vec((0..FOLDERS.len(), 0..NAMES.len(), what), 1..40)
}

fn build(tree: &TempTree, made: &[(usize, usize, Made)]) {
    for folder in FOLDERS {
        tree.folder(folder);
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for (folder, name, what) in made {
        let path = tree
            .path(FOLDERS[*folder])
            .join(OsStr::from_bytes(NAMES[*name]));
        if fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        match what {
            Made::File(kind) | Made::Locked(kind) => {
                write(&path, *kind);
                let file = fs::File::options().write(true).open(&path).expect("open");
                let age = Duration::from_secs(1_000_000 + 100 * files.len() as u64);
                file.set_modified(SystemTime::UNIX_EPOCH + age)
                    .expect("a time");
                if matches!(what, Made::Locked(_)) {
                    lock(&path, 0);
                }
                files.push(path);
            }
            Made::Link(at) => {
                if let Some(target) = files.get(at % files.len().max(1)) {
                    // The link may fail: the kernel can forbid users to link files that they cannot
                    // read.
                    fs::hard_link(target, &path).ok();
                }
            }
            Made::Symlink => symlink("plain", &path).expect("a link"),
        }
    }
}

fn lock(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    fn all_ways_agree(made in made(), locked in 0..FOLDERS.len(), limits in 0..4u64) {
        let tree = TempTree::new();
        build(&tree, &made);
        let folder = tree.path(FOLDERS[locked]);
        if locked > 2 {
            lock(&folder, 0);
        }
        let root = tree.root();
        let mut question = request(&[root]);
        let answer = direct(&question);
        prop_assert_eq!(&answer, &indexed(&question));
        prop_assert_eq!(sets(&answer), by_definition(&[root]));
        // Now the question has several roots, nested and unsorted, and a maximum number of rows. In
        // some cases it also has patterns and a minimum size.
        question.scope.within = ["a", "", "a/b", "a.b"].iter()
            .map(|name| PathText::from(tree.path(name).components().collect::<PathBuf>().as_path()))
            .collect();
        question.scope.min_size = limits * 500;
        question.top = Some(limits);
        if limits % 2 == 1 {
            question.scope.exclude = vec!["a.txt".to_owned(), "a/".to_owned()];
        }
        prop_assert_eq!(direct(&question), indexed(&question));
        // Now the question asks for the set of one file.
        question.top = None;
        for name in &NAMES[..3] {
            let of = root.join(OsStr::from_bytes(name));
            if fs::symlink_metadata(&of).is_ok_and(|stat| stat.is_file()) {
                question.of = Some(PathText::from(of.as_path()));
                prop_assert_eq!(direct(&question), indexed(&question));
            }
        }
        lock(&folder, 0o755);
    }
}

#[test]
fn the_trees_the_index_and_the_definition_agree() {
    // Root can read everything, so the test runs in a process of another user.
    let name = "identical::the_trees_the_index_and_the_definition_agree";
    if !in_a_process_of_its_own(name, true) {
        all_ways_agree();
    }
}

/// An unreadable file has ten names, and each of them must be found. Each name needs another round
/// of reading, and there must be a last round.
#[test]
fn every_name_of_an_unreadable_file_is_known() {
    let name = "identical::every_name_of_an_unreadable_file_is_known";
    if in_a_process_of_its_own(name, true) {
        return;
    }
    let tree = TempTree::new();
    let first = tree.write("a", [7; 600]);
    for name in 0..9 {
        fs::hard_link(&first, tree.path(format!("{name}"))).expect("a link");
    }
    lock(&first, 0);
    let mut question = request(&[tree.root()]);
    assert_eq!(direct(&question), indexed(&question));
    question.scope.min_size = 601;
    let answer = indexed(&question);
    let looked = answer.header.looked.expect("said");
    assert_eq!((looked.files, looked.skipped), (0, 10));
    assert_eq!(direct(&question), answer);
}

/// Two files have the same size, beginning and end, but different middles. No other file has this
/// size.
#[test]
fn another_middle_is_another_file() {
    let tree = TempTree::new();
    for (name, kind) in [
        ("one", 5),
        ("other", 6),
        ("shorter", 7),
        ("huge", 8),
        ("huge2", 9),
    ] {
        write(&tree.path(name), kind);
    }
    let answer = direct(&request(&[tree.root()]));
    assert_eq!(sets(&answer), []);
    let summary = &answer.body.summary;
    assert_eq!((summary.files, summary.sets, summary.overhead), (5, 0, 0));
    write(&tree.path("three"), 6);
    let answer = direct(&request(&[tree.root()]));
    let expected = vec![tree.path("other"), tree.path("three")];
    assert_eq!(sets(&answer), [(200_000, expected)]);
    assert_eq!(answer.body.summary.overhead, 200_000);
    assert_eq!(answer.header.total, 1);
}

/// An observer that writes to a file at each report, until the first file is read.
struct Meddler(PathBuf, Random);

impl Observer for Meddler {
    fn progress(&mut self, progress: &Progress) {
        if progress.files_read == 0 {
            let file = fs::File::options().write(true).open(&self.0).expect("open");
            let byte = [self.1.draw() as u8];
            file.write_all_at(&byte, 10).expect("written");
        }
    }
}

/// One of three equal files changes while they are read. It is in no set, and the answer is marked
/// as not fresh.
#[test]
fn a_file_that_changes_is_not_claimed_to_be_identical() {
    let tree = TempTree::new();
    for name in ["a", "b", "c"] {
        write(&tree.path(name), 8);
        let file = fs::File::options()
            .write(true)
            .open(tree.path(name))
            .expect("open");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
    }
    let mut meddler = Meddler(tree.path("b"), Random::new(1));
    let answer = index(None).identical(&request(&[tree.root()]), &mut meddler);
    let answer = answer.expect("an answer");
    let size = (1 << 20) + 70_000;
    assert_eq!(
        sets(&answer),
        [(size, vec![tree.path("a"), tree.path("c")])]
    );
    assert_eq!((answer.header.fresh, answer.header.pending), (false, 1));
    assert_eq!(answer.body.summary.files, 3);
}

#[test]
fn what_is_asked_about_must_be_among_the_files() {
    let tree = TempTree::with_folders(&["in", "out"]);
    write(&tree.path("in/a"), 3);
    write(&tree.path("in/b"), 3);
    write(&tree.path("out/c"), 3);
    write(&tree.path("in/empty"), 0);
    fs::hard_link(tree.path("in/b"), tree.path("out/b")).expect("a link");
    let about = |name: &str| GroupsRequest {
        of: Some(PathText::from(tree.path(name).as_path())),
        ..request(&[&tree.path("in")])
    };
    let found = |name: &str| {
        let answer = direct(&about(name));
        assert_eq!(answer, indexed(&about(name)), "{name}");
        let kinds = answer.errors.iter().map(|error| error.kind);
        (answer.body.identical.len(), kinds.collect::<Vec<_>>())
    };
    assert_eq!(found("in/a"), (1, vec![]));
    // `out/b` is not in the scope, but it is another name of `in/b`.
    assert_eq!(found("out/b"), (1, vec![]));
    assert_eq!(found("in/empty"), (0, vec![]));
    assert_eq!(found("out/c"), (0, vec![SoftErrorKind::NotFound]));
}

#[test]
fn only_what_is_asked_for_is_made() {
    let tree = TempTree::new();
    let text = resemble_testutil::prose::prose(1, 9000);
    tree.write("a", &text);
    tree.write("b", &text);
    tree.write("c", resemble_testutil::prose::overwritten(&text, 3000));
    let mut all = request(&[tree.root()]);
    all.only = OnlyGroups::All;
    let all = indexed(&all).body;
    assert_eq!((all.identical.len(), all.clusters.len()), (1, 1));
    let mut near = request(&[tree.root()]);
    near.only = OnlyGroups::Near;
    let near = indexed(&near);
    assert_eq!((near.header.total, near.body.summary.sets), (1, 0));
    assert_eq!(
        (&near.body.clusters, near.body.identical.len()),
        (&all.clusters, 0)
    );
    let identical = indexed(&request(&[tree.root()]));
    assert_eq!(
        (identical.header.total, identical.body.summary.clusters),
        (1, 0)
    );
    assert_eq!(
        (&identical.body.identical, identical.body.clusters.len()),
        (&all.identical, 0)
    );
}

/// A question that is only about identical files adds nothing to the cache.
#[test]
fn nothing_is_kept() {
    let tree = TempTree::with_folders(&["docs"]);
    write(&tree.path("docs/a"), 5);
    write(&tree.path("docs/b"), 5);
    let cache = tree.path("cache/cache.redb");
    let docs = [tree.path("docs")];
    let local = index(Some(cache.clone()));
    assert!(!local.knows(&docs));
    let answer = local.identical(&request(&[&docs[0]]), &mut Unobserved);
    assert_eq!(answer.expect("an answer").body.identical.len(), 1);
    let totals = local
        .snapshot()
        .expect("a snapshot")
        .totals()
        .expect("totals");
    assert_eq!((totals.files, totals.contents), (0, 0));
    assert!(!local.knows(&docs));
    // The folder of the cache is left out, even if the question names it.
    for (named, files) in [(tree.root(), 2), (&tree.path("cache"), 0)] {
        let answer = local.identical(&request(&[named]), &mut Unobserved);
        assert_eq!(answer.expect("an answer").body.summary.files, files);
    }
    local.close();
    let mut local = index(Some(cache));
    local.refresh(&docs, &mut Unobserved).expect("looked at");
    assert!(local.knows(&docs) && !local.knows(&[tree.root().to_owned()]));
}
