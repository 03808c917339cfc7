//! Tests groups: identical sets, clusters without chains, families, and the order for an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use resemble_core::{ByteLen, Digest, Params};
use resemble_index::{Change, ContentRef, FileStat, FsId, Index, NewState, Snapshot, Timestamp};
use resemble_proto::message::{
    Cluster, ClusterKind, Degree, Groups, GroupsRequest, PairsRequest, Scope, SoftErrorKind, Whole,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::plain::{groups, order, pairs};
use crate::scene::Scene;
use resemble_relate::AskError;
use resemble_testutil::prose::overwritten as edited;
use resemble_testutil::random::{Random, letters as text};

mod bounded;
mod chains;
mod given;
mod known;
mod proven;

fn everything(root: &Path) -> GroupsRequest {
    GroupsRequest {
        scope: Scope {
            within: vec![PathText::from(root)],
            ..Scope::default()
        },
        ..GroupsRequest::default()
    }
}

/// A tree that was scanned.
struct Asked {
    scene: Scene,
    snapshot: Snapshot,
}

impl Asked {
    fn of(mut scene: Scene) -> Self {
        scene.scan();
        let snapshot = scene.index.snapshot().expect("a snapshot");
        Self { scene, snapshot }
    }

    fn request(&self) -> GroupsRequest {
        everything(&self.scene.root())
    }

    fn groups(&self, request: &GroupsRequest) -> Groups {
        self.whole(request).body
    }

    fn whole(&self, request: &GroupsRequest) -> Whole<Groups> {
        groups(&self.snapshot, request, self.scene.temp.root()).expect("an answer")
    }

    /// Returns the paths of a cluster's members, relative to the root.
    fn names(&self, cluster: &Cluster) -> Vec<String> {
        cluster
            .members
            .iter()
            .map(|member| self.name(&member.path))
            .collect()
    }

    fn name(&self, path: &PathText) -> String {
        let below = path.as_path().strip_prefix(self.scene.root());
        below
            .expect("below the root")
            .to_string_lossy()
            .into_owned()
    }

    fn about(&self, name: &str, family: bool) -> GroupsRequest {
        GroupsRequest {
            of: Some(PathText::from(self.scene.path(name).as_path())),
            family,
            ..self.request()
        }
    }
}

fn age(scene: &Scene, name: &str, days: u64) {
    let file = fs::File::options()
        .write(true)
        .open(scene.path(name))
        .expect("a file");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * (10_000 + days));
    file.set_modified(time).expect("a time");
}

/// The files are those of figure 7 of Forman, Eshghi & Chiocchetti (2005): each content has two
/// copies, but a link is between two contents.
#[test]
fn copies_do_not_multiply_links() {
    let scene = Scene::new();
    let (first, second) = (text(1, 9000), text(2, 9000));
    let files = [
        ("a", first.clone()),
        ("b", edited(&first, 3000)),
        ("c", edited(&first, 2500)),
        ("d", second.clone()),
        ("e", edited(&second, 3000)),
    ];
    for (name, bytes) in &files {
        scene.write(&format!("one/{name}"), bytes);
        scene.write(&format!("two/{name}"), bytes);
    }
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    let summary = &answer.summary;
    assert_eq!(
        (summary.links, summary.clusters, summary.components),
        (4, 2, 2)
    );
    assert_eq!(
        (summary.sets, summary.set_files, summary.overhead),
        (5, 10, 45_000)
    );
    assert_eq!((summary.cluster_files, summary.cluster_bytes), (5, 45_000));
    assert_eq!(asked.names(&answer.clusters[0]).len(), 3);
    for cluster in &answer.clusters {
        for member in &cluster.members {
            assert_eq!(member.copies, 2);
            assert!(asked.name(&member.path).starts_with("one/"));
        }
    }
    // `pairs` lists every pair of files. With one link for each of these pairs, there would be 21
    // links.
    let options = PairsRequest {
        scope: asked.request().scope,
        ..PairsRequest::default()
    };
    let all = pairs(&asked.snapshot, &options).expect("an answer");
    assert_eq!(all.rows.len(), 21);
}

#[test]
fn identical_sets_are_apart_with_their_overhead() {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.write(&format!("small/{name}"), text(1, 300));
    }
    scene.write("large/a", text(2, 5000));
    scene.write("large/b", text(2, 5000));
    fs::hard_link(scene.path("large/b"), scene.path("large/link")).expect("a link");
    scene.write("only/file", text(3, 700));
    fs::hard_link(scene.path("only/file"), scene.path("only/link")).expect("a link");
    for name in ["x", "y"] {
        scene.write(&format!("empty/{name}"), b"");
        scene.write(&format!("tiny/{name}"), b"tiny");
    }
    let asked = Asked::of(scene);
    let whole = asked.whole(&asked.request());
    let sets: Vec<(u64, Vec<String>)> = whole
        .body
        .identical
        .iter()
        .map(|set| {
            (
                set.size,
                set.paths.iter().map(|path| asked.name(path)).collect(),
            )
        })
        .collect();
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        sets,
        [
            (5000, names(&["large/a", "large/b"])),
            (300, names(&["small/a", "small/b", "small/c"])),
            (4, names(&["tiny/x", "tiny/y"])),
        ]
    );
    let summary = &whole.body.summary;
    assert_eq!(
        (summary.sets, summary.set_files, summary.overhead),
        (3, 7, 5604)
    );
    assert_eq!(
        (summary.files, summary.bytes),
        (10, 300 * 3 + 5000 * 2 + 700 + 8)
    );
    assert_eq!(summary.clusters, 0);
    let looked = whole.header.looked.expect("told");
    assert_eq!((looked.files, looked.small), (10, 4));
    assert_eq!((whole.header.total, whole.header.shown), (3, 3));
    assert!(
        whole
            .body
            .identical
            .iter()
            .all(|set| set.mtimes.len() == set.paths.len())
    );
}

#[test]
fn kinds_and_order() {
    let scene = Scene::new();
    let parts: Vec<Vec<u8>> = (0..6).map(|part| text(40 + part, 5000)).collect();
    scene.write(
        "archive/all.mbox",
        [parts.concat(), text(50, 5000)].concat(),
    );
    for (at, part) in parts.iter().enumerate() {
        scene.write(&format!("archive/{at}.eml"), part);
    }
    let page = text(60, 9000);
    scene.write("contains/whole", [page.clone(), text(61, 9000)].concat());
    scene.write("contains/page", &page);
    let half = text(70, 3000);
    scene.write("pair/a", [half.clone(), text(71, 4000)].concat());
    scene.write("pair/b", [half, text(72, 4000)].concat());
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    let kinds: Vec<_> = answer
        .clusters
        .iter()
        .map(|cluster| (cluster.kind, cluster.members.len()))
        .collect();
    assert_eq!(
        kinds,
        [
            // The first cluster is a file that contains the other texts, as a book contains its
            // chapters. It is not an archive.
            (ClusterKind::Contains, 7),
            (ClusterKind::Contains, 2),
            (ClusterKind::Pair, 2)
        ]
    );
    let archive = &answer.clusters[0];
    assert_eq!(asked.name(&archive.center), "archive/all.mbox");
    assert_eq!(asked.name(&archive.members[0].path), "archive/all.mbox");
    assert!(
        archive.members[1..]
            .iter()
            .all(|part| part.a_in_b > part.b_in_a)
    );
    assert_eq!(archive.worst, Fraction::ZERO, "two letters share nothing");
    // With `top`, the list is sorted before it is cut.
    let top = asked.whole(&GroupsRequest {
        top: Some(1),
        ..asked.request()
    });
    assert_eq!(top.body.clusters, answer.clusters[..1]);
    assert_eq!(top.body.summary.clusters, 3);
    assert_eq!((top.header.total, top.header.shown), (3, 1));
    // A minimum score applies to every link.
    let min = asked.groups(&GroupsRequest {
        min: Fraction::from_millionths(700_000),
        ..asked.request()
    });
    assert_eq!(min.clusters.len(), 2);
    let much = asked.groups(&GroupsRequest {
        min_shared: Some(8000),
        ..asked.request()
    });
    assert_eq!(much.clusters.len(), 1);
}

#[test]
fn what_too_many_have_is_ignored_and_counted() {
    let scene = Scene::new();
    // Two thirds of each file is a header that all six files share. The degree determines whether
    // this header is evidence.
    let header = text(1, 3600);
    for at in 0..6 {
        scene.write(
            &format!("{at}"),
            [header.clone(), text(10 + at, 1800)].concat(),
        );
    }
    let asked = Asked::of(scene);
    let usual = asked.groups(&asked.request()).summary;
    assert_eq!((usual.links, usual.ignored), (15, 0));
    for degree in [Degree::Half, Degree::Over(5)] {
        let summary = asked
            .groups(&GroupsRequest {
                degree,
                ..asked.request()
            })
            .summary;
        assert_eq!((summary.links, summary.clusters), (0, 0), "{degree:?}");
        assert!(summary.ignored > 20, "{degree:?}: {}", summary.ignored);
    }
    let six = asked.groups(&GroupsRequest {
        degree: Degree::Over(6),
        ..asked.request()
    });
    assert_eq!((six.summary.links, six.summary.ignored), (15, 0));
}

/// All near-copies are in one cluster, even if there are very many. The text that they have in
/// common is not boilerplate.
#[test]
fn near_copies_are_one_cluster() {
    for copies in [60, 300, 1200] {
        let scene = Scene::new();
        let page = text(1, 4000);
        for at in 0..copies {
            let own = text(100 + at, 60);
            let from = 400 * (at as usize % 8);
            let copy = [&page[..from], b" ", &own, b" ", &page[from..]].concat();
            scene.write(&format!("pages/{at}.txt"), copy);
        }
        for at in 0..20 {
            scene.write(&format!("others/{at}.txt"), text(90_000 + at, 4000));
        }
        let asked = Asked::of(scene);
        let answer = asked.groups(&asked.request());
        let sizes: Vec<usize> = answer.clusters.iter().map(|c| c.members.len()).collect();
        assert_eq!(sizes, [copies as usize], "{copies}");
        let links = answer.summary.links;
        assert!(copies <= 64 || links < 3 * copies, "{links} links");
    }
}

/// A header that is 60 percent of each file does not make 400 files one cluster. Pairs of files
/// that also resemble each other in the text below the header are found.
#[test]
fn relatives_under_one_header_are_found_and_nobody_else() {
    let scene = Scene::new();
    let header = text(1, 2400);
    for at in 0..400 {
        let file = [header.clone(), text(10 + at, 1600)].concat();
        if at < 8 {
            let old = [header.clone(), edited(&text(10 + at, 1600), 300)].concat();
            scene.write(&format!("old/{at}.txt"), old);
        }
        scene.write(&format!("new/{at}.txt"), file);
    }
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    for cluster in &answer.clusters {
        let names: BTreeSet<String> = asked.names(cluster).into_iter().collect();
        let number = |name: &String| name.split('/').nth(1).map(str::to_owned);
        let of: BTreeSet<Option<String>> = names.iter().map(number).collect();
        assert_eq!((names.len(), of.len()), (2, 1), "{names:?}");
    }
    assert_eq!(answer.clusters.len(), 8);
}

#[test]
fn a_licence_makes_no_family() {
    let scene = Scene::new();
    let licence = text(1, 1500);
    scene.write(
        "stub.h",
        [licence.clone(), b"#define X 1\n".to_vec()].concat(),
    );
    for at in 0..200 {
        scene.write(
            &format!("src/{at}.c"),
            [licence.clone(), text(10 + at, 4000)].concat(),
        );
    }
    // This file has the same licence as `7.c`, and its other text resembles that of `7.c`, too.
    scene.write(
        "src/7-old.c",
        [licence.clone(), edited(&text(17, 4000), 1500)].concat(),
    );
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    let [kin] = &answer.clusters[..] else {
        panic!("only those: {:?}", answer.summary);
    };
    assert_eq!(kin.kind, ClusterKind::Pair);
    let names: BTreeSet<String> = asked.names(kin).into_iter().collect();
    assert_eq!(names, ["src/7-old.c", "src/7.c"].map(String::from).into());
    assert!(
        kin.links[0]
            .discount
            .reason
            .as_ref()
            .is_some_and(|why| why.contains("202 files"))
    );
}

#[test]
fn names_and_strangers_leave_ids_alone() {
    let build = |prefix: &str, more: bool| {
        let scene = Scene::new();
        for at in 0..4 {
            scene.write(
                &format!("{prefix}{}", 9 - at),
                edited(&text(5, 8000), 1000 + 500 * at),
            );
        }
        if more {
            scene.write("zzz/stranger", text(99, 30_000));
            scene.write("aaa/copy", edited(&text(5, 8000), 1500));
        }
        let asked = Asked::of(scene);
        let answer = asked.groups(&asked.request());
        let [cluster] = &answer.clusters[..] else {
            panic!("one cluster: {answer:?}");
        };
        (cluster.id.clone(), cluster.component.clone())
    };
    let id = build("a/", false);
    assert_eq!(id, build("renamed/deep/b-", false));
    assert_eq!(id, build("c", true));
    assert!(id.0.len() == 12 && id.0.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn the_order_has_every_path_once_and_kin_side_by_side() {
    let scene = Scene::new();
    for family in 0..6 {
        let base = text(300 + family, 6000);
        for member in 0..4 {
            let folder = (family + member) % 5;
            scene.write(
                &format!("{folder}/{member}-{family}.txt"),
                edited(&base, 900 + 100 * member as usize),
            );
        }
    }
    scene.write("4/copy.dat", edited(&text(300, 6000), 900));
    scene.write("0/empty.txt", b"");
    scene.write("0/alone.txt", text(1, 3000));
    fs::hard_link(scene.path("0/alone.txt"), scene.path("9-linked")).expect("a link");
    let asked = Asked::of(scene);
    let answer =
        order(&asked.snapshot, &asked.request(), Path::new("/nowhere")).expect("an answer");
    let rows: Vec<String> = answer
        .rows
        .iter()
        .map(|row| asked.name(&row.path))
        .collect();
    assert_eq!(rows.len(), 28);
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 28);
    assert_eq!(answer.header.total, 28);
    let family = |name: &str| match name {
        "4/copy.dat" => Some("0".to_owned()),
        name => name
            .split_once('-')
            .and_then(|(_, rest)| Some(rest.strip_suffix(".txt")?.to_owned())),
    };
    let mut runs: Vec<Option<String>> = rows.iter().map(|name| family(name)).collect();
    runs.dedup();
    runs.retain(Option::is_some);
    assert_eq!(runs.len(), 6, "each family is one run: {rows:?}");
    let at = |name: &str| rows.iter().position(|row| row == name).expect("listed");
    assert_eq!(at("9-linked"), at("0/alone.txt") + 1);
}

#[test]
fn without_a_place_to_work_the_answer_is_one_sentence() {
    let scene = Scene::new();
    scene.write("a", text(1, 5000));
    let asked = Asked::of(scene);
    let nowhere = Path::new("/no/such/folder");
    let bounded = GroupsRequest {
        memory: Some(1 << 20),
        ..asked.request()
    };
    let failed = groups(&asked.snapshot, &bounded, nowhere).expect_err("no folder");
    assert!(matches!(failed, AskError::Scratch { .. }), "{failed}");
    // A question without a memory bound writes no scratch files.
    groups(&asked.snapshot, &asked.request(), nowhere).expect("an answer");
}

// ---- more data than memory, and every order
// ------------------------------------------------------
