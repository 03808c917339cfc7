//! An archive and a single file are compared by the archive's members, even if the file is only a
//! small part of the archive.

use std::collections::BTreeSet;
use std::sync::Arc;

use resemble_core::similarity::Templates;
use resemble_core::{Params, Relation};
use resemble_proto::message::{
    Cluster, CompareOptions, CompareRequest, Comparison, FindOptions, FindRow, GroupsRequest,
    Layer, SoftErrorKind, Whole,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_relate::findings::MemoryCache;
use resemble_scan::ingest::Unobserved;
use resemble_testutil::prose::sentences;
use resemble_trees::compare::compare_with_parts;

use crate::scene::Scene;
use crate::scene::fake::{Fake, fake, member, text_of};

/// The number of members of the archive. The index keeps only 96 samples of all members together,
/// so at most a third of the members have a sample.
const MEMBERS: u64 = 300;

fn held(n: u64) -> String {
    sentences(5000 + n, 40)
}

/// Returns a scene with two folders. One folder has an archive, and the other has files. Some of
/// the files have the content of a member, or a version of it.
fn scene() -> Scene {
    let mut scene = Scene::with_parts();
    let members: Vec<_> = (0..MEMBERS)
        .map(|n| member(&format!("{n}.txt"), held(n)))
        .collect();
    scene.write("a/all.zip", fake(1, &members));
    scene.write("b/equal.txt", held(17));
    scene.write("b/document.doc", fake(2, &[text_of(held(40))]));
    let edited = held(80).replacen(". ", ". Somebody added this. ", 3);
    scene.write("b/edited.txt", edited);
    scene.write("b/stranger.txt", sentences(9000, 40));
    scene.write("b/small.txt", &held(90)[..200]);
    scene.scan();
    scene
}

/// For each file: its name, the share of the file that is in the archive, and the share of the
/// archive that is in the file. The last field is true if these shares are estimates.
type Shares = Vec<(String, Fraction, Fraction, bool)>;

fn name(path: &PathText) -> String {
    let name = path.as_path().file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

fn asked(scene: &Scene, from_disk: bool) -> Whole<Comparison> {
    let [a, b] = ["a", "b"].map(|side| PathText::from(scene.path(side)));
    let options = CompareOptions {
        text: true,
        ..CompareOptions::default()
    };
    let request = CompareRequest { a, b, options };
    if from_disk {
        let mut local = LocalIndex::open(LocalOptions {
            catalogues: None,
            part_reader: Some(Arc::new(Fake)),
            cache: None,
            cache_bytes: 0,
            params: Params::default(),
            own: Vec::new(),
        })
        .expect("an index");
        let answer = local.compare(&request, &Templates::default(), &mut Unobserved);
        answer.expect("an answer")
    } else {
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let cache = MemoryCache::default();
        let answer = compare_with_parts(&snapshot, &request, Some(&Fake), &cache);
        answer.expect("an answer")
    }
}

fn compared(scene: &Scene, from_disk: bool) -> (Comparison, Shares) {
    let comparison = asked(scene, from_disk).body;
    let rows = comparison.entries.iter();
    let shares = rows.filter_map(|row| {
        let (_, b) = (row.a.as_ref()?, row.b.as_ref()?);
        Some((name(b), row.b_in_a, row.a_in_b, row.told.estimate))
    });
    let mut shares: Shares = shares.collect();
    shares.sort();
    (comparison, shares)
}

fn clusters(scene: &Scene) -> Vec<Cluster> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let request = GroupsRequest {
        scope: scene.scope(),
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
    answer.expect("an answer").body.clusters
}

/// Returns the rows of `find` for an indexed file.
fn rows_of(scene: &Scene, file: &str) -> Vec<FindRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let path = scene.path(file);
    let subject = Subject::indexed(&snapshot, &path, &Params::default());
    let subject = subject.expect("readable").expect("indexed");
    let subject = subject.with_part_reader(Some(Arc::new(Fake)));
    let options = FindOptions {
        text: true,
        scope: scene.scope(),
        ..FindOptions::default()
    };
    let asked = PathText::from(path.as_path());
    let answer = find::find(&snapshot, &subject, &asked, &options);
    answer.expect("an answer").rows
}

fn names(shares: &Shares) -> Vec<&str> {
    shares.iter().map(|row| row.0.as_str()).collect()
}

const HELD: [&str; 3] = ["document.doc", "edited.txt", "equal.txt"];

#[test]
fn trees_meet_by_the_members_of_an_archive() {
    let scene = scene();
    let (answer, shares) = compared(&scene, false);
    assert_eq!(names(&shares), HELD, "{:?}", answer.entries);
    let most = Fraction::from_millionths(900_000);
    for (file, in_archive, of_archive, is_estimate) in &shares {
        assert!(*in_archive > most && !is_estimate, "{file}");
        assert!(*of_archive < Fraction::from_millionths(10_000), "{file}");
    }
    assert_eq!(answer.summary.classes.only_b, 2);
    assert_eq!(compared(&scene, true), (answer, shares), "from the disk");
}

#[test]
fn a_file_precedes_a_member_with_the_same_text() {
    let mut scene = scene();
    scene.write("c/quotation.txt", &held(17)[..1500]);
    scene.scan();
    let rows = rows_of(&scene, "c/quotation.txt");
    let root = scene.path("");
    let shown: Vec<_> = rows
        .iter()
        .filter_map(|row| row.path.as_path().strip_prefix(&root).ok()?.to_str())
        .collect();
    assert_eq!(shown, ["b/equal.txt", "a/all.zip!17.txt"]);
    assert_eq!(rows[0].a_in_b, rows[1].a_in_b);
}

#[test]
fn a_cluster_has_the_files_of_an_archive() {
    let scene = scene();
    let clusters = clusters(&scene);
    let links = clusters.iter().flat_map(|cluster| &cluster.links);
    let mut found: Shares = links
        .map(|link| {
            assert_eq!((name(&link.a), link.layer), ("all.zip".into(), Layer::Text));
            (name(&link.b), link.b_in_a, link.a_in_b, link.estimate)
        })
        .collect();
    found.sort();
    assert_eq!(names(&found), HELD);
    assert_eq!(found, compared(&scene, false).1, "the figures of compare");
    // `find` shows the same figures. It lists at least the two files that have the text of a
    // member.
    let rows = rows_of(&scene, "a/all.zip");
    let related = rows.iter().filter(|row| row.relation.is_some());
    for row in related {
        assert_eq!(row.relation, Some(Relation::Contains), "{row:?}");
        let shares = (name(&row.path), row.b_in_a, row.a_in_b, row.estimate);
        assert!(found.contains(&shares), "{row:?} {found:?}");
    }
    assert!(rows.len() >= 2, "{rows:?}");
}

/// Two archives that have only one member in common are not a pair.
#[test]
fn one_member_makes_no_archives_kin() {
    let mut scene = Scene::with_parts();
    let licence = sentences(1, 60);
    for n in 0..5u64 {
        let own = (0..20).map(|m| member(&format!("{m}"), sentences(100 + 20 * n + m, 40)));
        let members: Vec<_> = own.chain([member("LICENSE", &licence)]).collect();
        let side = if n < 3 { "a" } else { "b" };
        scene.write(&format!("{side}/{n}.zip"), fake(n, &members));
    }
    scene.scan();
    let (answer, shares) = compared(&scene, false);
    assert!(shares.is_empty(), "{:?}", answer.entries);
    assert_eq!(clusters(&scene), []);
}

/// If a file is equal to a member after the first thousand members, it is found. `compare` reports
/// that it did not search for such files.
#[test]
fn members_beyond_the_first_thousand_are_not_lost_silently() {
    let mut scene = Scene::with_parts();
    let text = |n: u64| sentences(20_000 + n, 12);
    let members: Vec<_> = (0..1005)
        .map(|n| member(&format!("{n:04}.txt"), text(n)))
        .collect();
    scene.write("a/all.zip", fake(1, &members));
    for n in [3, 1002] {
        scene.write(&format!("b/{n}.txt"), text(n));
    }
    scene.write("b/1003.doc", fake(2, &[text_of(text(1003))]));
    scene.scan();
    let held = ["1002.txt", "1003.doc", "3.txt"];
    let found: BTreeSet<String> = rows_of(&scene, "a/all.zip")
        .iter()
        .map(|row| name(&row.path))
        .collect();
    assert!(found.iter().eq(held), "{found:?}");
    let clusters = clusters(&scene);
    let links = clusters.iter().flat_map(|cluster| &cluster.links);
    let linked: BTreeSet<String> = links.map(|link| name(&link.b)).collect();
    assert!(linked.iter().eq(held), "{linked:?}");
    for from_disk in [false, true] {
        let errors = asked(&scene, from_disk).errors;
        let [error] = &errors[..] else {
            panic!("{errors:?}");
        };
        assert_eq!(error.kind, SoftErrorKind::LeftOut);
        assert!(error.message.ends_with("1000 of 1005 members"), "{error:?}");
    }
}
