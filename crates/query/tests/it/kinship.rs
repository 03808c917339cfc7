//! Tests the kinship of binary files in `pairs`, `find`, `groups` and `compare`. Two builds of one
//! program are a pair. Two programs that were made by one compiler are not a pair, although they
//! share much code.

use std::collections::BTreeSet;

use resemble_core::similarity::Templates;
use resemble_core::{Digest, Params};
use resemble_proto::message::{
    Cluster, CompareOptions, CompareRequest, FindOptions, GroupsRequest, PairRow, PairScore,
    PairsRequest, Scope,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_relate::findings::MemoryCache;
use resemble_scan::ingest::Unobserved;
use resemble_testutil::random::{Random, noise};

use crate::plain::{compare, groups, pairs};
use crate::scene::Scene;

const PROGRAMS: usize = 24;

fn asked(scene: &Scene, score: PairScore) -> Vec<PairRow> {
    let request = PairsRequest {
        scope: scene.scope(),
        score,
        ..PairsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    pairs(&snapshot, &request).expect("an answer").rows
}

fn name(path: &PathText) -> String {
    let name = path.as_path().file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

fn names(rows: &[PairRow]) -> Vec<(String, String)> {
    let names = rows.iter().map(|row| (name(&row.a), name(&row.b)));
    names.collect()
}

/// Returns code in runs of about 200 bytes. After each run are four bytes that differ between
/// builds, like the distance of a jump.
fn code(seed: u64, length: usize, build: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut distances = noise((seed << 8) + build + 1, length).into_iter();
    let mut code = Vec::with_capacity(length);
    while code.len() < length {
        code.extend(noise(random.draw(), 120 + random.below(160)));
        code.extend(distances.by_ref().take(4));
    }
    code
}

/// Returns a build of a program: its code, functions of a library that other programs share, names
/// that all programs have, and padding.
fn program(at: usize, build: u64) -> Vec<u8> {
    let mut random = Random::new(at as u64);
    let mut bytes = [&[0x7f, b'E', b'L', b'F', 0][..], &[0; 300]].concat();
    bytes.extend(code(1_000 + at as u64, 15_000 + random.below(9_000), build));
    for step in [0, 1, 3] {
        let function = (at + step) % PROGRAMS;
        bytes.extend(noise(500 + function as u64, 300));
        bytes.extend(noise((at as u64) << 20 | build, 12));
    }
    bytes.extend([0; 700]);
    bytes.extend(noise(7, 3_000));
    bytes
}

#[test]
fn builds_are_pairs_and_programs_of_one_compiler_are_strangers() {
    let mut scene = Scene::new();
    for at in 0..PROGRAMS {
        for build in 0..2 {
            scene.write(&format!("{at:02}-{build}"), program(at, build));
        }
    }
    scene.scan();
    let expected: BTreeSet<(String, String)> = (0..PROGRAMS)
        .map(|at| (format!("{at:02}-0"), format!("{at:02}-1")))
        .collect();
    for score in [PairScore::Containment, PairScore::Discounted] {
        let rows = asked(&scene, score);
        assert!(rows.iter().all(|row| !row.told.estimate));
        let found: BTreeSet<(String, String)> = names(&rows).into_iter().collect();
        assert_eq!(found, expected);
    }
}

/// A pair of files, and the share of each that lies in the other file. The lesser name comes first.
type Row = ((String, String), [Fraction; 2]);

fn row(a: &PathText, b: &PathText, shares: [Fraction; 2]) -> Row {
    let (a, b) = (name(a), name(b));
    if a < b {
        ((a, b), shares)
    } else {
        ((b, a), [shares[1], shares[0]])
    }
}

/// Returns the rows of `pairs` that have a relation.
fn related_pairs(scene: &Scene) -> BTreeSet<Row> {
    let rows = asked(scene, PairScore::Containment);
    let related = rows.iter().filter(|row| row.told.relation.is_some());
    related
        .map(|found| row(&found.a, &found.b, [found.a_in_b, found.b_in_a]))
        .collect()
}

/// Returns the rows of `find` for each of these files. The file is either indexed or read as if it
/// were outside of the index.
fn found(scene: &Scene, files: &[String], is_indexed: bool, scope: &Scope) -> BTreeSet<Row> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let options = FindOptions {
        scope: scope.clone(),
        ..FindOptions::default()
    };
    let mut rows = BTreeSet::new();
    for file in files {
        let path = scene.path(file);
        let subject = if is_indexed {
            let subject = Subject::indexed(&snapshot, &path, &Params::default());
            subject.expect("readable").expect("indexed")
        } else {
            let bytes = std::fs::read(&path).expect("readable");
            let digest = Digest::of(&bytes, &Params::default());
            Subject::of_digest(digest).with_bytes("-".as_ref(), bytes)
        };
        let own = PathText::from(path);
        let answer = find::find(&snapshot, &subject, &own, &options).expect("an answer");
        let others = answer
            .rows
            .iter()
            .filter(|found| name(&found.path) != *file);
        rows.extend(others.map(|found| row(&own, &found.path, [found.a_in_b, found.b_in_a])));
    }
    rows
}

fn clusters(scene: &Scene, memory: Option<u64>) -> Vec<Cluster> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let request = GroupsRequest {
        scope: scene.scope(),
        memory,
        ..GroupsRequest::default()
    };
    let answer = groups(&snapshot, &request, scene.temp.root());
    answer.expect("an answer").body.clusters
}

fn linked(scene: &Scene, memory: Option<u64>) -> BTreeSet<Row> {
    let clusters = clusters(scene, memory);
    let links = clusters.iter().flat_map(|cluster| &cluster.links);
    links
        .map(|link| row(&link.a, &link.b, [link.a_in_b, link.b_in_a]))
        .collect()
}

/// All verbs agree on which files are kin. `find` (for indexed and other files) and `groups` (with
/// any memory bound) show the same pairs as `pairs`, and no other pairs.
#[test]
fn every_verb_tells_builds_from_programs_of_one_compiler() {
    let mut scene = Scene::new();
    let mut files = Vec::new();
    for at in 0..PROGRAMS {
        for build in 0..2 {
            let file = format!("{at:02}-{build}");
            // The runtime is at least a third of each file. If kinship were ignored, most rows
            // would be about unrelated files.
            let runtime = noise(9, 14_000);
            scene.write(&file, [program(at, build), runtime].concat());
            files.push(file);
        }
    }
    scene.scan();
    let pairs = related_pairs(&scene);
    let builds = |at: usize| (format!("{at:02}-0"), format!("{at:02}-1"));
    let names: Vec<(String, String)> = pairs.iter().map(|row| row.0.clone()).collect();
    assert_eq!(names, (0..PROGRAMS).map(builds).collect::<Vec<_>>());
    for is_indexed in [true, false] {
        for scope in [Scope::default(), scene.scope()] {
            let found = found(&scene, &files, is_indexed, &scope);
            assert_eq!(found, pairs, "indexed: {is_indexed}, {scope:?}");
        }
    }
    for memory in [None, Some(1 << 20)] {
        assert_eq!(linked(&scene, memory), pairs, "{memory:?}");
    }
}

/// Returns the related pairs that `compare` reports for the folders `a` and `b`. They include all
/// further relatives of each file. Files are identified by their names. Pairs of equal files are
/// left out.
fn compared(scene: &Scene) -> BTreeSet<Row> {
    let request = CompareRequest {
        a: PathText::from(scene.path("a")),
        b: PathText::from(scene.path("b")),
        options: CompareOptions::default(),
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let by_index = compare(&snapshot, &request, &MemoryCache::default()).expect("an answer");
    let mut local = LocalIndex::open(LocalOptions {
        catalogues: None,
        part_reader: None,
        cache: None,
        cache_bytes: 0,
        params: Params::default(),
        own: Vec::new(),
    })
    .expect("an index");
    let by_disk = local.compare(&request, &Templates::default(), &mut Unobserved);
    assert_eq!(by_disk.expect("an answer"), by_index, "the two ways differ");
    let mut rows = BTreeSet::new();
    for entry in &by_index.body.entries {
        let (Some(own), partner) = (entry.a.as_ref().or(entry.b.as_ref()), &entry.b) else {
            continue;
        };
        if let (Some(a), Some(b)) = (&entry.a, partner)
            && name(a) != name(b)
        {
            assert!(entry.told.relation.is_some() && !entry.told.estimate);
            rows.insert(row(a, b, [entry.a_in_b, entry.b_in_a]));
        }
        for other in &entry.others {
            assert!(other.told.relation.is_some() && !other.told.estimate);
            let shares = [other.a_in_b, other.b_in_a];
            rows.insert(row(own, &other.path, shares));
        }
    }
    rows
}

/// `compare` reports the same pairs as `pairs`. The programs may be on one side or on both sides.
#[test]
fn compare_tells_builds_from_programs_of_one_compiler() {
    let mut scene = Scene::new();
    let runtime = noise(9, 14_000);
    for at in 0..PROGRAMS {
        for (build, side) in [(0, "a"), (1, "b")] {
            let program = program(at, build);
            scene.write(
                &format!("{side}/{side}-{at:02}"),
                [&program[..], &runtime].concat(),
            );
        }
    }
    // Nine small programs are on both sides. Each has a function that other files contain, too. The
    // functions are in two, three or four other files, in turn. A function is evidence only if few
    // files have it.
    for at in 0..9u64 {
        let function = noise(50_000 + at, 300);
        let own = noise(51_000 + at, 500);
        for side in ["a", "b"] {
            scene.write(&format!("{side}/both-{at}"), [&function[..], &own].concat());
        }
        for other in 0..2 + at % 3 {
            let side = if other % 2 == 0 { "a" } else { "b" };
            let rest = noise(52_000 + 10 * at + other, 3_000);
            scene.write(
                &format!("{side}/{side}-user-{at}-{other}"),
                [&function[..], &rest].concat(),
            );
        }
    }
    scene.scan();
    let is_across = |(a, b): &(String, String)| {
        let side = |name: &str| name.split('-').next().map(ToOwned::to_owned);
        side(a) != side(b)
    };
    let expected: BTreeSet<Row> = related_pairs(&scene)
        .into_iter()
        .filter(|row| is_across(&row.0))
        .collect();
    let small = expected.iter().filter(|row| row.0.1.starts_with("both-"));
    let small: BTreeSet<u64> = small
        .map(|row| row.0.1[5..].parse().expect("a number"))
        .collect();
    assert!((1..9).contains(&small.len()), "{small:?}");
    let builds = expected.iter().filter(|row| !row.0.1.starts_with("both-"));
    assert_eq!(builds.count(), PROGRAMS);
    assert_eq!(compared(&scene), expected);
}

/// Returns the names of the files of each group.
fn grouped(scene: &Scene, memory: Option<u64>) -> BTreeSet<Vec<String>> {
    let clusters = clusters(scene, memory);
    let members = clusters.iter().map(|cluster| {
        let mut names: Vec<String> = cluster.members.iter().map(|one| name(&one.path)).collect();
        names.sort_unstable();
        names
    });
    members.collect()
}

/// All drivers that are compiled together contain the same framework. So two drivers of one build
/// have more bytes in common than two builds of one driver. But each group consists of the builds
/// of one driver.
#[test]
fn groups_are_of_builds_and_not_of_a_framework() {
    const DRIVERS: u64 = 8;
    let mut scene = Scene::new();
    for at in 0..DRIVERS {
        for build in 0..2 {
            let framework = noise(60_000 + build, 14_000);
            let own = code(61_000 + at, 9_000, build);
            scene.write(&format!("{at}-{build}"), [framework, own].concat());
        }
    }
    scene.scan();
    let pairs = related_pairs(&scene);
    let most = pairs.iter().max_by_key(|row| row.1[0]).expect("a row");
    let build = |name: &str| name[2..].to_owned();
    assert_eq!(
        build(&most.0.0),
        build(&most.0.1),
        "strangers have most: {most:?}"
    );
    let builds = (0..DRIVERS).map(|at| vec![format!("{at}-0"), format!("{at}-1")]);
    let expected: BTreeSet<Vec<String>> = builds.collect();
    for memory in [None, Some(1 << 20)] {
        assert_eq!(grouped(&scene, memory), expected, "{memory:?}");
    }
}

/// All versions of a file are in one group. It does not matter whether each version was made from
/// the previous version or from the first version.
#[test]
fn versions_are_one_group_however_many() {
    let edited = |bytes: &[u8], seed: u64, edits: u64| {
        let mut random = Random::new(seed);
        let mut bytes = bytes.to_vec();
        for _ in 0..edits {
            let at = random.below(bytes.len() - 40);
            bytes[at..at + 40].copy_from_slice(&noise(random.draw(), 40));
        }
        bytes
    };
    let mut scene = Scene::new();
    let mut expected = BTreeSet::new();
    for count in 2..20u64 {
        let (mut last, first) = (noise(70_000 + count, 20_000), noise(71_000 + count, 20_000));
        let (mut chain, mut copies) = (Vec::new(), Vec::new());
        for at in 0..count {
            let seed = 100 * count + at;
            last = edited(&last, 72_000 + seed, 9);
            let file = format!("chain-{count}-{at:02}");
            scene.write(&file, &last);
            chain.push(file);
            let file = format!("copies-{count}-{at:02}");
            scene.write(&file, edited(&first, 74_000 + seed, 9));
            copies.push(file);
        }
        expected.extend([chain, copies]);
    }
    scene.scan();
    assert_eq!(grouped(&scene, None), expected);
}

/// Files may be small and have few windows, or many files may have the same windows: they still are
/// pairs. A file and another file that contains it are a pair, too.
#[test]
fn small_files_copies_and_what_is_packed_stay_pairs() {
    let mut scene = Scene::new();
    // These programs share code, names and padding. So their windows are in many files.
    for at in 0..PROGRAMS {
        scene.write(&format!("program-{at:02}"), program(at, 0));
    }
    for at in 0..8u64 {
        let mut icon = noise(20_000 + at, 700);
        scene.write(&format!("icon-{at}-a"), &icon);
        icon[350..358].fill(7);
        scene.write(&format!("icon-{at}-b"), &icon);
    }
    let font = noise(30_000, 2_500);
    for at in 0..70u64 {
        let end = noise(31_000 + at, 60);
        scene.write(&format!("font-{at:02}"), [&font[..], &end].concat());
    }
    let packed = noise(40_000, 4_000);
    scene.write("packed", &packed);
    scene.write(
        "pack",
        [&noise(40_001, 50_000)[..], &packed, &noise(40_002, 9_000)].concat(),
    );
    scene.scan();
    let found = names(&asked(&scene, PairScore::Containment));
    let of = |start: &str| {
        let found = found.iter();
        let of = found.filter(|(a, b)| a.starts_with(start) && b.starts_with(start));
        of.count()
    };
    let is_icon = |(a, b): &&(String, String)| a.starts_with("icon-") && a[..6] == b[..6];
    assert_eq!(found.iter().filter(is_icon).count(), 8);
    assert_eq!(of("font-"), 70 * 69 / 2);
    assert_eq!(of("pack"), 1);
    assert_eq!(of("program-"), 0);
    assert_eq!(found.len(), 8 + 70 * 69 / 2 + 1);
}

/// In the order of kinship, files that share rare bytes are first. Files that share more bytes
/// follow, because many files have those bytes.
#[test]
fn kinship_sorts_what_is_no_text() {
    let mut scene = Scene::new();
    let (library, own) = (noise(1, 20_000), noise(2, 12_000));
    for at in 0..10u64 {
        let rest = noise(100 + at, 10_000);
        scene.write(&format!("user-{at}"), [&library[..], &rest].concat());
    }
    for build in 0..2u64 {
        let rest = noise(200 + build, 18_000);
        scene.write(&format!("build-{build}"), [&own[..], &rest].concat());
    }
    scene.scan();
    let by_containment = asked(&scene, PairScore::Containment);
    let by_kinship = asked(&scene, PairScore::Discounted);
    let builds = ("build-0".to_owned(), "build-1".to_owned());
    assert_eq!(by_containment.len(), 10 * 9 / 2 + 1);
    assert_eq!(names(&by_containment).last(), Some(&builds));
    assert_eq!(by_kinship.len(), by_containment.len());
    assert_eq!(names(&by_kinship).first(), Some(&builds));
    for row in &by_kinship {
        assert!(row.score < row.a_in_b, "the lower end: {row:?}");
    }
}
