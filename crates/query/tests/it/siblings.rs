//! Tests similar members of one archive: each pair has exactly one row.

use std::collections::BTreeSet;
use std::sync::Arc;

use resemble_core::{Params, Relation};
use resemble_proto::message::{
    Cluster, FindOptions, GroupsRequest, OnlyGroups, PairRow, PairsRequest,
};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_query::why::compare_with_parts;
use resemble_testutil::prose::sentences;

use crate::plain::pairs_with_parts;
use crate::scene::Scene;
use crate::scene::fake::{Fake, Record, fake, member, part};
use resemble_extract::Role;

fn pairs(scene: &Scene, change: impl FnOnce(&mut PairsRequest)) -> Vec<PairRow> {
    let mut request = PairsRequest {
        scope: scene.scope(),
        text: true,
        archives: true,
        ..PairsRequest::default()
    };
    change(&mut request);
    let answer = pairs_with_parts(&scene.snapshot(), &request, Some(&Fake));
    answer.expect("an answer").rows
}

fn clusters(scene: &Scene) -> Vec<Cluster> {
    let request = GroupsRequest {
        scope: scene.scope(),
        text: true,
        only: OnlyGroups::All,
        ..GroupsRequest::default()
    };
    let scratch = scene.temp.root();
    let answer = groups_with_parts(
        &scene.snapshot(),
        &request,
        Some(&Fake),
        KnownPairs::None,
        scratch,
    );
    answer.expect("an answer").body.clusters
}

fn name(scene: &Scene, path: &PathText) -> String {
    let below = path.as_path().strip_prefix(scene.root()).expect("in it");
    below.to_str().expect("a name").to_owned()
}

fn named(scene: &Scene, rows: &[PairRow]) -> Vec<(String, String)> {
    let both = |row: &PairRow| (name(scene, &row.a), name(scene, &row.b));
    rows.iter().map(both).collect()
}

/// Returns a letter and an edited version of it.
fn versions() -> [String; 2] {
    let text = sentences(7100, 40);
    let edited = text.replacen(' ', " somebody added this ", 2);
    [text, edited]
}

/// Returns an archive with two versions of a letter (one of them twice), an unrelated letter, and
/// two mails with the same attachment.
fn container(key: u64) -> Vec<u8> {
    let [first, second] = versions();
    let mail = |number: usize, change: &str| -> Vec<Record> {
        let body = sentences(7300, 30).replacen(' ', change, 1);
        let at = Some(4 + 4 * number as u32);
        vec![
            member(&format!("{number} mail"), b"\0a mail".repeat(60 + number)),
            part(Role::Text, at, "", body),
            part(Role::Member, at, "table.txt", sentences(7400, 30)),
            part(
                Role::Member,
                at,
                "own.txt",
                sentences(7500 + number as u64, 9),
            ),
        ]
    };
    let mut records = vec![
        member("a.txt", first),
        member("b.txt", &second),
        member("c/copy of b.txt", second),
        member("stranger.txt", sentences(7200, 40)),
    ];
    records.extend(mail(0, " this "));
    records.extend(mail(1, " that "));
    fake(key, &records)
}

#[test]
fn members_of_one_container_have_the_figures_of_every_other_question() {
    let mut scene = Scene::with_parts();
    scene.write("box.zip", container(1));
    scene.scan();
    let rows = pairs(&scene, |_| ());
    let found: BTreeSet<(String, String)> = named(&scene, &rows).into_iter().collect();
    let pair = |a: &str, b: &str| (format!("box.zip!{a}"), format!("box.zip!{b}"));
    let expected = [
        pair("0 mail", "1 mail"),
        pair("a.txt", "b.txt"),
        pair("b.txt", "c/copy of b.txt"),
    ];
    assert_eq!(found, BTreeSet::from(expected.clone()));
    assert_eq!(rows.len(), expected.len(), "each pair once");
    assert!(rows[0].identical && rows[0].copies.is_none());
    let params = Params::default();
    for row in &rows {
        assert!(!row.told.estimate, "{row:?}");
        let (a, b) = (row.a.as_path(), row.b.as_path());
        let known = compare_with_parts(a, b, (&params, &scene.templates), Some(&Fake));
        let known = known.expect("readable").shared;
        let (measures, unit) = known.told();
        let said = (
            row.a_in_b,
            row.b_in_a,
            row.resemblance,
            row.told.unit,
            row.told.relation,
        );
        let shares = (measures.a_in_b.into(), measures.b_in_a.into());
        let told = (shares.0, shares.1, measures.resemblance.into(), unit.into());
        assert_eq!(
            said,
            (told.0, told.1, told.2, told.3, known.relation),
            "why {row:?}"
        );
        let snapshot = scene.snapshot();
        let subject = Subject::indexed(&snapshot, a, &params);
        let subject = subject.expect("readable").expect("indexed");
        let subject = subject.with_part_reader(Some(Arc::new(Fake)));
        let options = FindOptions {
            text: true,
            ..FindOptions::default()
        };
        let answer = find::find(&snapshot, &subject, &row.a, &options).expect("an answer");
        let found = answer.rows.iter().find(|found| found.path == row.b);
        let found = found.expect("a row of find");
        let told = (
            found.a_in_b,
            found.b_in_a,
            found.resemblance,
            found.unit,
            found.relation,
        );
        assert_eq!(said, told, "find {row:?}");
    }
    // Members form groups, as files do. But equal members are not reported as a set of identical
    // files, because plans act only on files.
    let clusters = clusters(&scene);
    for link in clusters.iter().flat_map(|cluster| &cluster.links) {
        let row = rows
            .iter()
            .find(|row| (&row.a, &row.b) == (&link.a, &link.b));
        let row = row.expect("a row of pairs");
        assert_eq!((row.a_in_b, row.b_in_a), (link.a_in_b, link.b_in_a));
        assert_eq!(row.shared_bytes, link.shared_bytes);
    }
    let members = clusters.iter().map(|cluster| {
        let members = cluster.members.iter();
        let members = members.map(|member| (name(&scene, &member.path), member.copies));
        members.collect::<BTreeSet<(String, u64)>>()
    });
    let group = |a: (&str, u64), b: (&str, u64)| {
        BTreeSet::from([a, b].map(|(name, copies)| (format!("box.zip!{name}"), copies)))
    };
    let expected = [
        group(("0 mail", 1), ("1 mail", 1)),
        group(("a.txt", 1), ("b.txt", 2)),
    ];
    assert_eq!(members.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
}

/// An archive to which files were appended may have two members of one name. The name means the
/// first member.
#[test]
fn a_name_is_no_relative_of_itself() {
    let mut scene = Scene::with_parts();
    let [first, second] = versions();
    let records = [
        member("x.txt", first.clone()),
        member("x.txt", second),
        member("y.txt", first),
    ];
    scene.write("box.tar", fake(9, &records));
    scene.scan();
    let found = named(&scene, &pairs(&scene, |_| ()));
    assert_eq!(
        found,
        [("box.tar!x.txt".to_owned(), "box.tar!y.txt".to_owned())]
    );
}

#[test]
fn no_pair_of_members_has_two_rows() {
    let mut scene = Scene::with_parts();
    let [first, second] = versions();
    scene.write("a/box.zip", container(1));
    scene.write("b/box.zip", container(1));
    scene.write("c/box.zip", container(2));
    scene.scan();
    let inside = |scene: &Scene| {
        let rows = named(scene, &pairs(scene, |_| ()));
        rows.into_iter()
            .filter(|(a, _)| a.contains('!'))
            .collect::<Vec<_>>()
    };
    let found = inside(&scene);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found
            .iter()
            .all(|(a, b)| a.starts_with("a/") && b.starts_with("a/"))
    );
    // If two similar members are also files, the two files have a row, and the members have none.
    scene.write("first.txt", first);
    scene.write("second.txt", second);
    scene.scan();
    let found = inside(&scene);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0.contains("0 mail"));
    let files = pairs(&scene, |_| ());
    let files = named(&scene, &files);
    assert!(files.contains(&("first.txt".to_owned(), "second.txt".to_owned())));
}

/// All mails of a list have the same footer. The footer does not make the mails similar.
#[test]
fn what_all_members_have_makes_no_rows() {
    let mut scene = Scene::with_parts();
    let footer = sentences(7600, 6);
    let mail = |number: u64| format!("{}\n{footer}", sentences(8000 + number, 8));
    let mut records: Vec<Record> = (0..60)
        .map(|number| member(&format!("{number}"), mail(number)))
        .collect();
    let answer = |number: u64| format!("{}\n{footer}", sentences(8000 + number, 8)) + "I agree.";
    records.push(member("answer", answer(3)));
    scene.write("list.mbox", fake(3, &records));
    scene.scan();
    let found = named(&scene, &pairs(&scene, |_| ()));
    let expected = ("list.mbox!3".to_owned(), "list.mbox!answer".to_owned());
    assert_eq!(found, [expected]);
}

/// Form letters are near-copies, even if there are very many. Their common text is not boilerplate.
#[test]
fn form_letters_of_a_mailbox_are_one_group() {
    let mut scene = Scene::with_parts();
    let letter =
        |number: u64| format!("Dear {}\n{}", sentences(9000 + number, 1), sentences(7, 30));
    let records: Vec<Record> = (0..50)
        .map(|number| member(&format!("{number}"), letter(number)))
        .collect();
    scene.write("letters.mbox", fake(4, &records));
    scene.scan();
    assert_eq!(pairs(&scene, |_| ()).len(), 50 * 49 / 2);
    let clusters = clusters(&scene);
    assert_eq!(clusters.len(), 1);
    assert_eq!(clusters[0].members.len(), 50);
}

/// If the question must not read files, two similar members have a row with estimates.
#[test]
fn what_is_not_read_is_an_estimate() {
    let mut scene = Scene::with_parts();
    scene.write("box.zip", container(1));
    scene.scan();
    let rows = pairs(&scene, |request| request.estimate = true);
    let found = named(&scene, &rows);
    let versions = ("box.zip!a.txt".to_owned(), "box.zip!b.txt".to_owned());
    let at = found.iter().position(|pair| *pair == versions);
    let row = &rows[at.expect("a row")];
    assert!(row.told.estimate && row.told.interval.is_some());
    assert_eq!(row.told.relation, Some(Relation::Near));
}
