//! The figures of groups are measured by reading the contents. They equal those of every other
//! question.

use std::sync::Arc;

use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::{Provable, Proven};
use resemble_core::{ByteLen, ContentKind, Relation, similarity};
use resemble_proto::message::{FindOptions, FindRow, Layer, Link, PairRow};
use resemble_query::find::{self, Subject};
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_scan::parts::PartReader;
use resemble_testutil::prose::{edited as with_notes, paragraphs, prose, sentences, words};
use resemble_testutil::random::noise;

use super::*;
use crate::plain::pairs_with_parts;
use crate::scene::fake::{Fake, fake, packed, text_of};

fn reader() -> Arc<dyn PartReader> {
    Arc::new(Fake)
}

/// Writes texts in several languages, source code, markup, documents, packed contents and binaries.
/// Each has relatives.
fn mixed() -> Scene {
    let scene = Scene::with_parts();
    for n in 0..4 {
        let base = prose(9100 + n, 6000);
        scene.write(&format!("text/{n}.txt"), &base);
        let far = with_notes(&base, n, 40 + 60 * n as usize);
        scene.write(&format!("text/{n}-edited.txt"), far);
        let half = [&base[..2500], &prose(9200 + n, 4000)].concat();
        scene.write(&format!("text/{n}-half.txt"), half);
        let data = noise(9300 + n, 9000);
        scene.write(&format!("bin/{n}"), &data);
        scene.write(&format!("bin/{n}-edited"), edited(&data, 700));
        let part = [&data[4000..], &noise(9400 + n, 3000)].concat();
        scene.write(&format!("bin/{n}-part"), part);
    }
    let russian = words(40_000, 600).replace('w', "ж").replace('x', "щ");
    scene.write("other/ru.txt", &russian);
    scene.write(
        "other/ru-cut.txt",
        &russian.as_bytes()[..russian.len() / 2 / 3 * 3],
    );
    let page = |text: &str| format!("<!DOCTYPE html><html><body><p>{text}</p></body></html>");
    scene.write("other/page.html", page(&sentences(9500, 60)));
    scene.write("other/page.txt", sentences(9500, 50));
    let said = sentences(9600, 80);
    scene.write("doc/letter.doc", fake(11, &[text_of(&said)]));
    scene.write(
        "doc/again.doc",
        fake(12, &[text_of(format!("{said} {}", words(5, 90)))]),
    );
    scene.write("doc/letter.txt", sentences(9600, 70));
    scene.write(
        "doc/letter.z",
        fake(13, &[packed("letter", sentences(9600, 75))]),
    );
    scene
}

fn found(asked: &Asked, path: &PathText) -> Vec<FindRow> {
    let subject = Subject::indexed(&asked.snapshot, path.as_path(), &Params::default());
    let subject = subject.expect("read").expect("indexed");
    let subject = subject.with_part_reader(Some(reader()));
    let options = FindOptions {
        text: true,
        scope: asked.request().scope,
        all: true,
        ..FindOptions::default()
    };
    let answer = find::find(&asked.snapshot, &subject, path, &options);
    answer.expect("an answer").rows
}

fn answer_with_parts(asked: &Asked, request: &GroupsRequest) -> Groups {
    let part_reader = reader();
    let scratch = asked.scene.temp.root();
    let answer = groups_with_parts(
        &asked.snapshot,
        request,
        Some(&*part_reader),
        KnownPairs::None,
        scratch,
    );
    answer.expect("an answer").body
}

#[test]
fn every_link_has_the_figures_of_find_and_pairs() {
    let asked = Asked::of(mixed());
    let request = GroupsRequest {
        text: true,
        ..asked.request()
    };
    let answer = answer_with_parts(&asked, &request);
    let request = PairsRequest {
        scope: asked.request().scope,
        exact: true,
        text: true,
        archives: true,
        ..PairsRequest::default()
    };
    let part_reader = reader();
    let pairs = pairs_with_parts(&asked.snapshot, &request, Some(&*part_reader));
    let pairs = pairs.expect("an answer").rows;
    let mut seen = 0;
    for link in answer.clusters.iter().flat_map(|cluster| &cluster.links) {
        let rows = found(&asked, &link.a);
        let row = rows.iter().find(|row| row.path == link.b);
        let row = row.unwrap_or_else(|| panic!("find knows it: {link:?}"));
        assert!(!row.estimate && !link.estimate, "{link:?}");
        assert_eq!(
            (link.a_in_b, link.b_in_a, link.shared_bytes, link.layer),
            (row.a_in_b, row.b_in_a, row.shared_bytes, row.layer),
            "{link:?} {row:?}"
        );
        let of_both = |row: &&PairRow| (&row.a, &row.b) == (&link.a, &link.b);
        let pair = pairs.iter().find(of_both).expect("pairs knows it");
        assert_eq!(
            (link.a_in_b, link.b_in_a),
            (pair.a_in_b, pair.b_in_a),
            "{link:?}"
        );
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
    let by_text = |link: &&Link| link.layer == Layer::Text;
    let links = answer.clusters.iter().flat_map(|cluster| &cluster.links);
    assert!(
        links.filter(by_text).count() >= 6,
        "documents are among them"
    );
    for cluster in &answer.clusters {
        assert!(!cluster.estimate, "{cluster:?}");
        let rows = found(&asked, &cluster.center);
        for member in cluster
            .members
            .iter()
            .filter(|one| one.path != cluster.center)
        {
            let row = rows
                .iter()
                .find(|row| row.path == member.path)
                .expect("known");
            let shares = (member.a_in_b, member.b_in_a, member.estimate);
            assert_eq!(shares, (row.b_in_a, row.a_in_b, false));
        }
    }
    // A cluster has a link for every pair of its members that `find` reports as related.
    let files = &asked.snapshot.totals().expect("totals").files;
    let all = pairs.iter().filter(|row| !row.identical);
    let within = all.filter(|pair| are_in_one(&answer, &pair.a, &pair.b));
    let related = within.filter(|pair| {
        let rows = found(&asked, &pair.a);
        rows.iter()
            .any(|row| row.path == pair.b && row.relation.is_some())
    });
    assert_eq!(
        related.count() as u64,
        answer.summary.links,
        "of {files} files"
    );
}

#[test]
fn a_family_has_the_figures_of_find() {
    let scene = Scene::new();
    let pages: Vec<String> = (0..14).map(|page| paragraphs(9700 + page, 4)).collect();
    for from in 0..10 {
        let name = format!("v{from:02}");
        scene.write(&name, pages[from..from + 4].concat());
        age(&scene, &name, from as u64);
    }
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.about("v04", true));
    let [family] = &answer.clusters[..] else {
        panic!("one family: {answer:?}");
    };
    assert_eq!((family.members.len(), family.estimate), (10, false));
    let rows = found(&asked, &family.center);
    for member in family
        .members
        .iter()
        .filter(|one| one.path != family.center)
    {
        assert!(!member.estimate);
        match rows.iter().find(|row| row.path == member.path) {
            Some(row) => assert_eq!((member.a_in_b, member.b_in_a), (row.b_in_a, row.a_in_b)),
            None => assert!(member.a_in_b < Fraction::from_millionths(250_000)),
        }
    }
}

/// Measures the contents of two files, without an index.
fn exact(a: &PathText, b: &PathText) -> (Proven, (ByteLen, ByteLen)) {
    let ready = |path: &PathText| {
        let bytes = fs::read(path.as_path()).expect("a file");
        Provable::new(ContentKind::of_whole(&bytes), bytes)
    };
    let (a, b) = (ready(a), ready(b));
    (a.measure(&b, Unit::Words), (a.size(), b.size()))
}

/// The files are drivers of one vendor. In each file, about a quarter is the same header. The rest
/// differs.
#[test]
fn no_link_fails_the_definition() {
    let scene = Scene::new();
    let header = sentences(9800, 12);
    // Only 11 files have the header. If a dozen files had it, it would be a frame, which is no
    // evidence.
    for n in 0..11_u64 {
        let body = prose(9900 + n, 1500 + 97 * n as usize);
        let driver = [header.as_bytes(), &body[..]].concat();
        scene.write(&format!("driver-{n:02}.c"), driver);
    }
    let asked = Asked::of(scene);
    let answer = asked.groups(&asked.request());
    let links = answer.clusters.iter().flat_map(|cluster| &cluster.links);
    let mut seen = 0;
    for link in links {
        let (proven, sizes) = exact(&link.a, &link.b);
        let measures = &proven.measures;
        let least = Relation::MIN_SHARED;
        let relation = similarity::relation(false, sizes.0, sizes.1, measures, least);
        assert!(relation.is_some(), "{link:?} {proven:?}");
        let shown = (link.a_in_b, link.b_in_a, link.shared_bytes, link.estimate);
        let (a_in_b, b_in_a) = (measures.a_in_b.into(), measures.b_in_a.into());
        assert_eq!(shown, (a_in_b, b_in_a, measures.shared_bytes.0, false));
        seen += 1;
    }
    assert!(seen > 0);
    // Two members that are related by their measure have a link, even if their estimate was low.
    let paths: Vec<PathText> = (0..11)
        .map(|n| PathText::from(asked.scene.path(&format!("driver-{n:02}.c"))))
        .collect();
    let pairs = (0..11).flat_map(|a| (a + 1..11).map(move |b| (a, b)));
    let within = pairs.filter(|&(a, b)| are_in_one(&answer, &paths[a], &paths[b]));
    let related = within.filter(|&(a, b)| {
        let (proven, sizes) = exact(&paths[a], &paths[b]);
        let least = Relation::MIN_SHARED;
        similarity::relation(false, sizes.0, sizes.1, &proven.measures, least).is_some()
    });
    assert_eq!(related.count() as u64, answer.summary.links);
}

#[test]
fn what_cannot_be_read_is_an_estimate_and_says_so() {
    let scene = Scene::new();
    let base = prose(10_001, 8000);
    for n in 0..3 {
        scene.write(&format!("v{n}"), with_notes(&base, n, 30));
    }
    let asked = Asked::of(scene);
    fs::remove_file(asked.scene.path("v2")).expect("removed");
    let answer = asked.groups(&asked.request());
    let [cluster] = &answer.clusters[..] else {
        panic!("one cluster: {answer:?}");
    };
    assert!(cluster.estimate);
    assert_eq!(cluster.links.len(), 3);
    for link in &cluster.links {
        let gone = [&link.a, &link.b].map(|path| asked.name(path) == "v2");
        assert_eq!(link.estimate, gone.contains(&true), "{link:?}");
        assert_eq!(link.interval.is_some(), link.estimate, "{link:?}");
        assert!(link.a_in_b > Fraction::from_millionths(700_000));
    }
    for member in &cluster.members {
        let to_center = member.path != cluster.center;
        let gone = asked.name(&member.path) == "v2" || asked.name(&cluster.center) == "v2";
        assert_eq!(member.estimate, to_center && gone, "{member:?}");
    }
    let json = serde_json::to_string(&cluster.links).expect("JSON");
    assert_eq!(json.matches("\"estimate\":true").count(), 2);
    assert!(!json.contains("\"estimate\":false"));
}

/// Returns whether a cluster has both files.
fn are_in_one(answer: &Groups, a: &PathText, b: &PathText) -> bool {
    answer.clusters.iter().any(|cluster| {
        let has = |path: &_| cluster.members.iter().any(|member| member.path == *path);
        has(a) && has(b)
    })
}
