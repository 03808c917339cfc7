//! Tests documents and archives: their parts in the index, and their rows in answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::{Digest, Params, Relation};
use resemble_extract::Role;
use resemble_index::{Look, PartRole, Snapshot};
use resemble_proto::message::{
    FindOptions, FindRow, Groups, GroupsRequest, Layer, PairsRequest, Scope,
};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_scan::ingest::{Cause, Ingest, RootOptions, Target, Unobserved};

use crate::plain;
use crate::plain::pairs_with_parts;
use crate::scene::Scene;
use crate::scene::fake::{Fake, Record, fake, member, packed, part, text_of};
use resemble_testutil::prose::sentences;
use resemble_testutil::random::letters;

mod read_again;

fn subject(snapshot: &Snapshot, path: &Path) -> Subject {
    Subject::indexed(snapshot, path, &Params::default())
        .expect("readable")
        .expect("indexed")
        .with_part_reader(Some(Arc::new(Fake)))
}

fn rows(scene: &Scene, name: &str) -> Vec<FindRow> {
    rows_with(scene, name, FindOptions::default())
}

fn rows_with(scene: &Scene, name: &str, options: FindOptions) -> Vec<FindRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
    let path = scene.path(name);
    let subject = subject(&snapshot, &path);
    let options = FindOptions {
        text: true,
        ..options
    };
    // A question about the whole index has the same rows as a question about the tree.
    let everywhere = found(&snapshot, &subject, &options);
    let within = FindOptions {
        scope: scene.scope(),
        ..options
    };
    assert_eq!(found(&snapshot, &subject, &within), everywhere);
    everywhere
}

fn found(snapshot: &Snapshot, subject: &Subject, options: &FindOptions) -> Vec<FindRow> {
    let name = PathText::from("asked");
    find::find(snapshot, subject, &name, options)
        .expect("an answer")
        .rows
}

/// Returns, for each row, the path relative to the root, the relation and the layer.
fn brief(scene: &Scene, rows: &[FindRow]) -> Vec<(String, Option<Relation>, Layer)> {
    let below = |row: &FindRow| {
        let path = row.path.as_path().to_str().expect("a name");
        let root = scene.root();
        path[root.to_str().expect("a name").len() + 1..].to_owned()
    };
    rows.iter()
        .map(|row| (below(row), row.relation, row.layer))
        .collect()
}

fn found_by(scene: &Scene, name: &str) -> Vec<(String, Option<Relation>, Layer)> {
    brief(scene, &rows(scene, name))
}

fn row(path: &str, relation: Relation, layer: Layer) -> (String, Option<Relation>, Layer) {
    (path.to_owned(), Some(relation), layer)
}

#[test]
fn documents_of_one_text_are_found_by_each_other() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 60);
    scene.write("report.docx", fake(1, &[text_of(&text)]));
    scene.write("report.pdf", fake(2, &[text_of(&text)]));
    scene.write("report.txt", &text);
    scene.write("other.docx", fake(3, &[text_of(sentences(2, 60))]));
    scene.scan();
    let same = |path| row(path, Relation::SameText, Layer::Text);
    assert_eq!(
        found_by(&scene, "report.docx"),
        [same("report.pdf"), same("report.txt")]
    );
    assert_eq!(
        found_by(&scene, "report.txt"),
        [same("report.docx"), same("report.pdf")]
    );
    assert_eq!(found_by(&scene, "other.docx"), []);
    // If documents are not compared by their texts, there are no rows.
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let docx = subject(&snapshot, &scene.path("report.docx"));
    assert_eq!(found(&snapshot, &docx, &FindOptions::default()), []);
}

/// A new hard link outside the tree changes the stat of a file. No scan has found this change. The
/// file still has its text and its members.
#[test]
fn a_new_name_elsewhere_leaves_a_document_its_text() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 60);
    scene.write("report.docx", fake(1, &[text_of(&text)]));
    scene.write("report.txt", &text);
    scene.write("mail.eml", fake(2, &[member("a.txt", &text)]));
    scene.scan();
    let before = ["report.docx", "mail.eml", "mail.eml!a.txt"].map(|name| found_by(&scene, name));
    assert_eq!(
        before[0][1],
        row("mail.eml!a.txt", Relation::SameText, Layer::Text)
    );
    let elsewhere = tempfile::tempdir_in(scene.root().parent().expect("a folder"));
    let elsewhere = elsewhere.expect("a folder");
    for name in ["report.docx", "mail.eml"] {
        fs::hard_link(scene.path(name), elsewhere.path().join(name)).expect("a link");
    }
    let after = ["report.docx", "mail.eml", "mail.eml!a.txt"].map(|name| found_by(&scene, name));
    assert_eq!(after, before);
}

#[test]
fn an_edited_document_is_near() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 100);
    let edited = text.replacen(". ", "! And so. ", 3) + &sentences(7, 4);
    scene.write("a.docx", fake(1, &[text_of(&text)]));
    scene.write("b.pdf", fake(2, &[text_of(edited)]));
    scene.scan();
    let rows = rows(&scene, "a.docx");
    assert_eq!(
        brief(&scene, &rows),
        [row("b.pdf", Relation::Near, Layer::Text)]
    );
    let share = rows[0].a_in_b.score().expect("judged").get();
    assert!(share > 0.9 && share < 1.0, "{share}");
}

#[test]
fn a_member_of_an_archive_in_a_mail_is_found_with_its_path() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    let mail = [
        text_of(sentences(2, 10)),
        member("report.zip", sentences(3, 40)),
        part(Role::Member, Some(1), "a.txt", &text),
        part(Role::Member, Some(1), "docs/b.docx", sentences(4, 30)),
        part(Role::Text, Some(3), "", sentences(5, 30)),
    ];
    scene.write("mail.eml", fake(1, &mail));
    scene.write("a.txt", &text);
    scene.write("b.pdf", fake(2, &[text_of(sentences(5, 30))]));
    scene.write("copy.eml", fake(1, &mail));
    scene.scan();
    let at = |path| row(path, Relation::Identical, Layer::Bytes);
    assert_eq!(
        found_by(&scene, "a.txt"),
        [
            at("copy.eml!report.zip!a.txt"),
            at("mail.eml!report.zip!a.txt")
        ]
    );
    let same = |path| row(path, Relation::SameText, Layer::Text);
    assert_eq!(
        found_by(&scene, "b.pdf"),
        [
            same("copy.eml!report.zip!docs/b.docx"),
            same("mail.eml!report.zip!docs/b.docx")
        ]
    );
    // A mail is similar to its copy, but not to its own parts or those of the copy. It contains
    // `a.txt` and `b.pdf`, which are files of their own, too.
    let contains = |path| row(path, Relation::Contains, Layer::Text);
    assert_eq!(
        found_by(&scene, "mail.eml"),
        [at("copy.eml"), contains("a.txt"), contains("b.pdf")]
    );
    // A member of a mail can be the subject. It is similar to files elsewhere.
    assert_eq!(found_by(&scene, "mail.eml!report.zip!a.txt"), [at("a.txt")]);
    assert_eq!(
        found_by(&scene, "mail.eml!report.zip!docs/b.docx"),
        [same("b.pdf")]
    );
    let snapshot = scene.index.snapshot().expect("a snapshot");
    for nothing in ["mail.eml!a.txt", "mail.eml!", "none!a.txt", "a.txt!a.txt"] {
        let none = Subject::indexed(&snapshot, &scene.path(nothing), &Params::default());
        assert!(none.expect("readable").is_none(), "{nothing}");
    }
    // The scope is only one mail, so only members of that mail are listed.
    let among = FindOptions {
        text: true,
        scope: Scope {
            within: vec![PathText::from(scene.path("copy.eml"))],
            ..Scope::default()
        },
        ..FindOptions::default()
    };
    let rows = found(&snapshot, &subject(&snapshot, &scene.path("a.txt")), &among);
    assert_eq!(brief(&scene, &rows), [at("copy.eml!report.zip!a.txt")]);
}

#[test]
fn archives_of_one_folder_resemble_each_other_whatever_packed_them() {
    let mut scene = Scene::with_parts();
    let files: Vec<(String, String)> = (0..12)
        .map(|n| (format!("f{n}.txt"), sentences(100 + n, 30)))
        .collect();
    let picture = letters(9, 20_000);
    let binary: Vec<u8> = picture.iter().map(|byte| byte - b'a').collect();
    let zip: Vec<Record> = files
        .iter()
        .map(|(name, text)| member(name, text))
        .chain([member("picture", &binary)])
        .collect();
    let tar: Vec<u8> = files
        .iter()
        .flat_map(|(_, text)| text.bytes())
        .chain(binary.iter().copied())
        .collect();
    let backwards: Vec<Record> = [
        packed("a.tar", &tar),
        part(Role::Member, Some(0), "picture", &binary),
    ]
    .into_iter()
    .chain(
        files
            .iter()
            .rev()
            .map(|(name, text)| part(Role::Member, Some(0), name, text)),
    )
    .collect();
    scene.write("a.zip", fake(1, &zip));
    scene.write("a.tar.gz", fake(2, &backwards));
    scene.write("a.tar.xz", fake(3, &backwards));
    // `later.zip` is a later version of the archive, in which three of twelve texts differ.
    let later: Vec<Record> = files
        .iter()
        .enumerate()
        .map(|(n, (name, text))| match n {
            0..3 => member(name, sentences(200 + n as u64, 30)),
            _ => member(name, text),
        })
        .chain([member("picture", &binary)])
        .collect();
    scene.write("later.zip", fake(4, &later));
    scene.write("other.zip", fake(5, &[member("x", sentences(300, 80))]));
    scene.scan();
    let same = |path| row(path, Relation::SameText, Layer::Text);
    let zips = rows(&scene, "a.zip");
    assert_eq!(
        brief(&scene, &zips),
        [
            same("a.tar.gz"),
            same("a.tar.xz"),
            row("later.zip", Relation::Near, Layer::Text)
        ]
    );
    let share = zips[2].a_in_b.score().expect("judged").get();
    assert!((0.7..0.97).contains(&share), "{share}");
    assert_eq!(
        found_by(&scene, "a.tar.gz")[..2],
        [same("a.tar.xz"), same("a.zip")]
    );
    // For a file that lies in the archives, each row is about the equal member, and not about the
    // whole archive.
    scene.write("f5.txt", &files[5].1);
    scene.scan();
    let found = found_by(&scene, "f5.txt");
    let paths: Vec<&str> = found.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "a.tar.gz!f5.txt",
            "a.tar.xz!f5.txt",
            "a.zip!f5.txt",
            "later.zip!f5.txt"
        ]
    );
}

#[test]
fn a_packed_file_stands_for_what_it_holds() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("a.log", &text);
    scene.write("a.log.gz", fake(1, &[packed("a.log", &text)]));
    scene.write("tiny", "tiny");
    scene.write("tiny.gz", fake(2, &[packed("tiny", "tiny")]));
    scene.write(
        "doc.docx.gz",
        fake(
            3,
            &[
                packed("doc.docx", sentences(5, 30)),
                part(Role::Text, Some(0), "", sentences(6, 30)),
            ],
        ),
    );
    scene.write("doc.txt", sentences(6, 30));
    scene.scan();
    let same = |path| row(path, Relation::SameText, Layer::Text);
    assert_eq!(found_by(&scene, "a.log"), [same("a.log.gz")]);
    assert_eq!(found_by(&scene, "a.log.gz"), [same("a.log")]);
    // Equal contents are found even if they have only a few bytes.
    assert_eq!(found_by(&scene, "tiny"), [same("tiny.gz")]);
    assert_eq!(found_by(&scene, "doc.txt"), [same("doc.docx.gz")]);
}

#[test]
fn what_says_nothing_groups_nobody() {
    let mut scene = Scene::with_parts();
    for key in 0..4 {
        scene.write(&format!("empty{key}.pdf"), fake(key, &[text_of("")]));
        scene.write(
            &format!("page{key}.pdf"),
            fake(10 + key, &[text_of("Page 1")]),
        );
        scene.write(&format!("secret{key}.zip"), fake(20 + key, &[Record::Fail]));
    }
    scene.scan();
    for name in ["empty0.pdf", "page0.pdf", "secret0.zip"] {
        assert_eq!(found_by(&scene, name), [], "{name}");
    }
    let snapshot = scene.index.snapshot().expect("a snapshot");
    assert_eq!(snapshot.totals().expect("totals").skipped, 4);
    let secret = snapshot
        .file_at(&scene.path("secret0.zip"))
        .expect("readable")
        .and_then(|row| row.state.content())
        .expect("read");
    let skipped = snapshot.skipped_parts(secret).expect("readable");
    assert_eq!(skipped.len(), 1);
    assert_eq!(
        (&skipped[0].path[..], &skipped[0].reason[..]),
        (&b""[..], "encrypted")
    );
}

#[test]
fn what_broke_off_is_left_out_and_the_rest_is_there() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 30);
    let records = [
        Record::Broken {
            parent: None,
            name: b"big.bin".to_vec(),
        },
        part(Role::Member, Some(0), "in-big.txt", &text),
        member("fine.txt", sentences(2, 30)),
        Record::Skip(b"deep.zip!deeper.zip".to_vec()),
    ];
    scene.write("a.zip", fake(1, &records));
    scene.write("one.txt", &text);
    scene.write("two.txt", sentences(2, 30));
    scene.scan();
    let at = |path| row(path, Relation::Identical, Layer::Bytes);
    assert_eq!(
        found_by(&scene, "one.txt"),
        [at("a.zip!big.bin!in-big.txt")]
    );
    assert_eq!(found_by(&scene, "two.txt"), [at("a.zip!fine.txt")]);
}

/// Returns the names of each pair of the tree, with the layer and the larger containment.
fn pairs_of(scene: &Scene, (text, archives): (bool, bool)) -> Vec<(String, String, Layer, f64)> {
    let options = PairsRequest {
        scope: scene.scope(),
        text,
        archives,
        ..PairsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let name = |path: &PathText| {
        let path = path.as_path().strip_prefix(scene.root());
        path.expect("in it").to_str().expect("a name").to_owned()
    };
    pairs_with_parts(&snapshot, &options, Some(&Fake))
        .expect("an answer")
        .rows
        .iter()
        .map(|row| {
            let score = row.score.score().expect("judged").get();
            (name(&row.a), name(&row.b), row.layer, score)
        })
        .collect()
}

#[test]
fn pairs_are_of_files_by_whatever_stands_for_them() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 60);
    scene.write("a.docx", fake(1, &[text_of(&text)]));
    scene.write("b.pdf", fake(2, &[text_of(&text)]));
    scene.write("c.txt", &text);
    scene.write("d.txt", &text);
    scene.write("e.txt", text.clone() + &sentences(2, 10));
    scene.write(
        "f.zip",
        fake(
            3,
            &[member("c.txt", &text), member("x.txt", sentences(8, 60))],
        ),
    );
    scene.write(
        "g.zip",
        fake(
            4,
            &[
                member("e.txt", text + &sentences(2, 10)),
                member("x.txt", sentences(8, 60)),
            ],
        ),
    );
    scene.write("h.gz", fake(5, &[packed("x", sentences(9, 30))]));
    scene.scan();
    let rows = pairs_of(&scene, (true, true));
    let find = |a: &str, b: &str| {
        let mut found = rows.iter().filter(|row| (&row.0[..], &row.1[..]) == (a, b));
        let row = found.next().map(|row| (row.2, row.3));
        assert!(found.next().is_none(), "{a} {b} twice");
        row
    };
    assert_eq!(find("a.docx", "b.pdf"), Some((Layer::Text, 0.999_999)));
    assert_eq!(find("a.docx", "c.txt"), Some((Layer::Text, 0.999_999)));
    assert_eq!(find("c.txt", "d.txt"), Some((Layer::Bytes, 1.0)));
    let (layer, score) = find("a.docx", "e.txt").expect("a pair");
    assert!(layer == Layer::Text && score > 0.9, "{score}");
    assert_eq!(find("c.txt", "e.txt").expect("a pair").0, Layer::Bytes);
    let (layer, score) = find("f.zip", "g.zip").expect("a pair");
    assert!(layer == Layer::Text && score > 0.9, "{score}");
    // Both archives have a member with the text of the five files. As in `e.txt`, there is more
    // text in the member of `g.zip`. So each archive has a row with each file.
    let (layer, score) = find("c.txt", "f.zip").expect("a pair");
    assert!(layer == Layer::Text && score > 0.9, "{score}");
    assert!(find("c.txt", "g.zip").is_some() && find("a.docx", "f.zip").is_some());
    // Members have no rows.
    assert_eq!(rows.len(), 5 * 4 / 2 + 1 + 2 * 5);
    // If archives are left out, the rows of the other files are the same.
    let mut of_documents = rows.clone();
    of_documents.retain(|row| !row.0.ends_with("zip") && !row.1.ends_with("zip"));
    assert_eq!(pairs_of(&scene, (true, false)), of_documents);
    let plain = pairs_of(&scene, (false, false));
    assert_eq!(plain.len(), 3);
}

fn grouped(scene: &Scene, memory: Option<u64>) -> Groups {
    let request = GroupsRequest {
        scope: scene.scope(),
        text: true,
        memory,
        ..GroupsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    plain::groups(&snapshot, &request, scene.temp.root())
        .expect("an answer")
        .body
}

#[test]
fn groups_are_of_files_by_whatever_stands_for_them() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 60);
    scene.write("a.docx", fake(1, &[text_of(&text)]));
    scene.write("b.pdf", fake(2, &[text_of(&text)]));
    scene.write("b-copy.pdf", fake(2, &[text_of(&text)]));
    scene.write("c.txt", &text);
    scene.write("d.txt", text.clone() + &sentences(2, 10));
    let zip = |key, more: u64| {
        let members: Vec<Record> = (0..8u64)
            .map(|n| member("x", sentences(50 + n, 30)))
            .chain([member("y", sentences(60 + more, 30))])
            .collect();
        fake(key, &members)
    };
    scene.write("one.zip", zip(3, 0));
    scene.write("two.zip", zip(4, 1));
    for key in 0..5 {
        scene.write(
            &format!("empty{key}.pdf"),
            fake(10 + key, &[text_of("Page 1")]),
        );
    }
    scene.scan();
    let body = grouped(&scene, None);
    let names = |cluster: &resemble_proto::message::Cluster| {
        let names = cluster.members.iter().map(|member| {
            let path = member.path.as_path().strip_prefix(scene.root());
            path.expect("in it").to_str().expect("a name").to_owned()
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let mut clusters: Vec<_> = body.clusters.iter().map(names).collect();
    clusters.sort();
    assert_eq!(
        clusters,
        [
            vec!["a.docx", "b-copy.pdf", "c.txt", "d.txt"],
            vec!["one.zip", "two.zip"]
        ]
    );
    assert_eq!(body.identical.len(), 1);
    let zips = body
        .clusters
        .iter()
        .find(|cluster| cluster.members.len() == 2);
    let link = &zips.expect("a cluster").links[0];
    let share = link.a_in_b.score().expect("judged").get();
    assert!(
        link.layer == Layer::Text && (0.75..0.97).contains(&share),
        "{share}"
    );
    let worst =
        |cluster: &resemble_proto::message::Cluster| cluster.worst.score().expect("judged").get();
    assert!(body.clusters.iter().all(|cluster| worst(cluster) > 0.7));
    assert_eq!(grouped(&scene, Some(1)), body);
}
