//! Documents and archives: what stands for them, from the file to the answer.

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
use resemble_query::groups;
use resemble_query::pairs::pairs;
use resemble_scan::ingest::{Cause, Ingest, Target, Unobserved};

use crate::scene::Scene;
use crate::scene::fake::{Fake, Record, fake, member, packed, part, text_of};
use resemble_testutil::prose::sentences;
use resemble_testutil::random::letters;

fn subject(snapshot: &Snapshot, path: &Path) -> Subject {
    Subject::indexed(snapshot, path, &Params::default())
        .expect("readable")
        .expect("indexed")
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
    // The whole index and the tree alone: the same rows.
    let everywhere = found(&snapshot, &subject, &options);
    let within = FindOptions {
        scope: Scope {
            within: vec![PathText::from(scene.root())],
            ..Scope::default()
        },
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

/// Path below the root, relation and layer of each row.
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
    // Without the layer there is nothing to see.
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let docx = subject(&snapshot, &scene.path("report.docx"));
    assert_eq!(found(&snapshot, &docx, &FindOptions::default()), []);
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
    // A mail is similar to its copy, and neither to its own parts nor to those of the copy.
    assert_eq!(found_by(&scene, "mail.eml"), [at("copy.eml")]);
    // Members can be asked about: they are similar to what lies elsewhere.
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
    // It is asked for among given files only: then only these count.
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
    // A later version: three of twelve texts are others.
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
    // A file in them is found as a member, and not as a share of each.
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
    // Few bytes are equal all the same.
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

fn look(scene: &Scene, name: &str) -> Look {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let content = snapshot
        .file_at(&scene.path(name))
        .expect("readable")
        .and_then(|row| row.state.content())
        .expect("read");
    snapshot
        .content(content)
        .expect("readable")
        .expect("a content")
        .look
}

fn age(path: &Path) {
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("an old file");
}

#[test]
fn the_layer_can_be_switched_on_later() {
    let mut scene = Scene::new();
    let text = sentences(1, 30);
    scene.write("a.docx", fake(1, &[text_of(&text)]));
    scene.write("a.txt", &text);
    // Settled at once, so that only the switch makes anybody read them.
    let mut off = scene.later();
    let target = [Target::subtree(scene.root())];
    off.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!(look(&scene, "a.docx"), Look::Unseen);
    let mut options = off.options().clone();
    options.roots[0].text = true;
    options.part_reader = Some(Arc::new(Fake));
    let mut on = Ingest::new(Arc::clone(&scene.index), options);
    on.know_parts().expect("written");
    let report = on.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!(report.progress.files_read, 2);
    assert_eq!(look(&scene, "a.docx"), Look::Apart);
    assert_eq!(look(&scene, "a.txt"), Look::Plain);
    let again = on.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!((again.progress.files_read, again.changes), (0, 0));
    assert_eq!(
        found_by(&scene, "a.txt"),
        [row("a.docx", Relation::SameText, Layer::Text)]
    );
    scene.ingest = off;
}

/// Takes files apart in another way.
#[derive(Debug)]
struct Other(Fake);

impl resemble_scan::parts::PartReader for Other {
    fn applies(&self, name: &[u8], head: &[u8]) -> bool {
        self.0.applies(name, head) && !name.ends_with(b".conv")
    }

    fn read_parts(
        &self,
        name: &[u8],
        head: &[u8],
        file: std::os::fd::BorrowedFd<'_>,
        sink: &mut dyn resemble_extract::Sink,
    ) -> Result<Vec<(Vec<u8>, resemble_extract::Skipped)>, resemble_extract::Skipped> {
        self.0.read_parts(name, head, file, sink)
    }

    fn id(&self) -> String {
        "other".into()
    }
}

#[test]
fn what_takes_files_apart_in_another_way_does_it_anew() {
    let scene = Scene::with_parts();
    scene.write("a.docx", fake(1, &[text_of(sentences(1, 30))]));
    scene.write("b.conv", sentences(2, 30));
    let target = [Target::subtree(scene.root())];
    let mut first = scene.later();
    first.know_parts().expect("written");
    first.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!(look(&scene, "b.conv"), Look::Apart);
    let mut options = first.options().clone();
    options.part_reader = Some(Arc::new(Other(Fake)));
    let mut second = Ingest::new(Arc::clone(&scene.index), options);
    second.know_parts().expect("written");
    assert_eq!(look(&scene, "b.conv"), Look::Unseen);
    let report = second.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!(report.progress.files_read, 2);
    assert_eq!(look(&scene, "a.docx"), Look::Apart);
    assert_eq!(look(&scene, "b.conv"), Look::Plain);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
    assert_eq!(snapshot.totals().expect("totals").parts, 1);
}

#[test]
fn copies_and_renames_take_nothing_apart_again() {
    let mut scene = Scene::with_parts();
    let zip = fake(
        1,
        &[
            member("a.txt", sentences(1, 30)),
            member("b.txt", sentences(2, 30)),
        ],
    );
    scene.write("a.zip", &zip);
    scene.scan();
    let parts = |scene: &Scene| scene.totals().parts;
    assert_eq!(parts(&scene), 3);
    for n in 0..5 {
        scene.write(&format!("copy{n}.zip"), &zip);
    }
    fs::rename(scene.path("a.zip"), scene.path("moved.zip")).expect("renamed");
    scene.scan();
    assert_eq!(parts(&scene), 3);
    // The parts go with the last of the files.
    for name in [
        "moved.zip",
        "copy0.zip",
        "copy1.zip",
        "copy2.zip",
        "copy3.zip",
    ] {
        fs::remove_file(scene.path(name)).expect("removed");
    }
    scene.scan();
    assert_eq!(parts(&scene), 3);
    fs::remove_file(scene.path("copy4.zip")).expect("removed");
    scene.scan();
    assert_eq!((parts(&scene), scene.totals().contents), (0, 0));
}

#[test]
fn equal_files_that_come_together_are_taken_apart_whoever_is_first() {
    let mut scene = Scene::with_parts();
    let zip = fake(1, &[member("a.txt", sentences(1, 30))]);
    for n in 0..40 {
        scene.write(&format!("copy{n}.zip"), &zip);
        scene.write(&format!("plain{n}"), sentences(5, 10));
        // By its name alone.
        scene.write(&format!("plain{n}.conv"), sentences(5, 10));
    }
    scene.scan();
    assert_eq!(look(&scene, "copy0.zip"), Look::Apart);
    assert_eq!(look(&scene, "plain0"), Look::Apart);
    scene.write("twice.txt", sentences(5, 10).to_ascii_uppercase());
    scene.scan();
    assert_eq!(rows(&scene, "twice.txt").len(), 80);
}

#[test]
fn a_new_name_may_make_a_document_of_it() {
    let mut scene = Scene::with_parts();
    scene.write("draft.tmp", sentences(1, 30));
    scene.scan();
    assert_eq!(look(&scene, "draft.tmp"), Look::Plain);
    fs::rename(scene.path("draft.tmp"), scene.path("draft.conv")).expect("renamed");
    let renamed = Target::Renamed {
        from: scene.path("draft.tmp"),
        to: scene.path("draft.conv"),
        modified: false,
    };
    scene.look(&[renamed]);
    assert_eq!(look(&scene, "draft.conv"), Look::Apart);
}

#[test]
fn what_could_not_be_run_is_tried_again_and_nothing_else_is() {
    let mut scene = Scene::with_parts();
    scene.write("a.doc", fake(1, &[Record::NotRun]));
    scene.write("b.zip", fake(2, &[Record::Fail]));
    for name in ["a.doc", "b.zip"] {
        age(&scene.path(name));
    }
    let mut later = scene.later();
    let target = [Target::subtree(scene.root())];
    let report = later.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!(report.progress.files_read, 2);
    assert_eq!(look(&scene, "a.doc"), Look::Unseen);
    assert_eq!(scene.totals().skipped, 2);
    let report = later.reconcile(&target, &mut Unobserved).expect("scanned");
    assert_eq!(report.progress.files_read, 1);
    scene.ingest = later;
}

#[test]
fn an_archive_that_holds_itself_comes_to_an_end() {
    let mut scene = Scene::with_parts();
    // As near as a made-up archive comes: a member with the bytes of another file that holds the
    // first.
    let inner = fake(1, &[member("a.txt", sentences(1, 20))]);
    let outer = fake(
        2,
        &[
            member("inner.fake", &inner),
            part(Role::Member, Some(0), "a.txt", sentences(1, 20)),
        ],
    );
    scene.write("inner.fake", &inner);
    scene.write("outer.fake", &outer);
    scene.scan();
    let at = |path| row(path, Relation::Identical, Layer::Bytes);
    assert_eq!(
        found_by(&scene, "inner.fake"),
        [at("outer.fake!inner.fake")]
    );
    // The inner one stays as a part, without parts of its own: the outer one has them.
    fs::remove_file(scene.path("inner.fake")).expect("removed");
    scene.write("a.txt", sentences(1, 20));
    scene.scan();
    assert_eq!(
        found_by(&scene, "a.txt"),
        [at("outer.fake!inner.fake!a.txt")]
    );
    scene.write("inner.fake", &inner);
    scene.scan();
    assert_eq!(found_by(&scene, "a.txt").len(), 2);
}

#[test]
fn a_file_that_is_written_over_has_the_parts_of_what_it_is() {
    let mut scene = Scene::with_parts();
    scene.write("a.docx", fake(1, &[text_of(sentences(1, 30))]));
    scene.write("old.txt", sentences(1, 30));
    scene.write("new.txt", sentences(2, 30));
    scene.scan();
    assert_eq!(found_by(&scene, "old.txt").len(), 1);
    scene.write("a.docx", fake(1, &[text_of(sentences(2, 30))]));
    let path: PathBuf = scene.path("a.docx");
    scene.look(&[Target::entry(path, Cause::Modified)]);
    assert_eq!(found_by(&scene, "old.txt"), []);
    assert_eq!(found_by(&scene, "new.txt").len(), 1);
}

#[test]
fn a_subject_outside_the_index_brings_what_stands_for_it() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("a.txt", &text);
    scene.scan();
    let params = Params::default();
    let docx = Subject::of_digest(Digest::of(&fake(1, &[text_of(&text)]), &params));
    let text = Digest::of(text.as_bytes(), &params);
    let docx = docx.with_others(vec![(resemble_query::renditions::Rendition::Text, text)]);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let options = FindOptions {
        text: true,
        ..FindOptions::default()
    };
    let rows = found(&snapshot, &docx, &options);
    assert_eq!(
        brief(&scene, &rows),
        [row("a.txt", Relation::SameText, Layer::Text)]
    );
}

#[test]
fn parts_have_roles_names_and_parents() {
    let mut scene = Scene::with_parts();
    scene.write(
        "a.eml",
        fake(
            1,
            &[
                text_of(sentences(1, 20)),
                member("b.gz", sentences(2, 20)),
                part(Role::Unpacked, Some(1), "b", sentences(3, 20)),
            ],
        ),
    );
    scene.scan();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let content = snapshot
        .file_at(&scene.path("a.eml"))
        .expect("readable")
        .and_then(|row| row.state.content())
        .expect("read");
    let parts = snapshot.parts(content).expect("readable");
    let brief: Vec<_> = parts
        .iter()
        .map(|part| (part.role, part.parent, &part.name[..]))
        .collect();
    assert_eq!(
        brief,
        [
            (PartRole::Text, None, &b""[..]),
            (PartRole::Member, None, b"b.gz"),
            (PartRole::Unpacked, Some(1), b"b"),
            (PartRole::WholeText, None, b""),
        ]
    );
}

/// The pairs of the tree as names, with the layer and the larger containment.
fn pairs_of(scene: &Scene, text: bool) -> Vec<(String, String, Layer, f64)> {
    let options = PairsRequest {
        scope: Scope {
            within: vec![PathText::from(scene.root())],
            ..Scope::default()
        },
        text,
        ..PairsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let name = |path: &PathText| {
        let path = path.as_path().strip_prefix(scene.root());
        path.expect("in it").to_str().expect("a name").to_owned()
    };
    pairs(&snapshot, &options)
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
    let rows = pairs_of(&scene, true);
    let find = |a: &str, b: &str| {
        let mut found = rows.iter().filter(|row| (&row.0[..], &row.1[..]) == (a, b));
        let row = found.next().map(|row| (row.2, row.3));
        assert!(found.next().is_none(), "{a} {b} twice");
        row
    };
    assert_eq!(find("a.docx", "b.pdf"), Some((Layer::Text, 1.0)));
    assert_eq!(find("a.docx", "c.txt"), Some((Layer::Text, 1.0)));
    assert_eq!(find("c.txt", "d.txt"), Some((Layer::Bytes, 1.0)));
    let (layer, score) = find("a.docx", "e.txt").expect("a pair");
    assert!(layer == Layer::Text && score > 0.9, "{score}");
    assert_eq!(find("c.txt", "e.txt").expect("a pair").0, Layer::Bytes);
    let (layer, score) = find("f.zip", "g.zip").expect("a pair");
    assert!(layer == Layer::Text && score > 0.9, "{score}");
    // Members are no rows, and no pair is made of an archive and what lies in it.
    assert_eq!(rows.len(), 5 * 4 / 2 + 1);
    let plain = pairs_of(&scene, false);
    assert_eq!(plain.len(), 3);
}

fn grouped(scene: &Scene, memory: Option<u64>) -> Groups {
    let request = GroupsRequest {
        scope: Scope {
            within: vec![PathText::from(scene.root())],
            ..Scope::default()
        },
        text: true,
        memory,
        ..GroupsRequest::default()
    };
    let snapshot = scene.index.snapshot().expect("a snapshot");
    groups::groups(&snapshot, &request, scene.temp.root())
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

/// Writes to the file that it takes apart, the first time.
#[derive(Debug)]
struct Meddler {
    path: PathBuf,
    bytes: Vec<u8>,
    done: std::sync::atomic::AtomicBool,
}

impl resemble_scan::parts::PartReader for Meddler {
    fn applies(&self, name: &[u8], head: &[u8]) -> bool {
        Fake.applies(name, head)
    }

    fn read_parts(
        &self,
        name: &[u8],
        head: &[u8],
        file: std::os::fd::BorrowedFd<'_>,
        sink: &mut dyn resemble_extract::Sink,
    ) -> Result<Vec<(Vec<u8>, resemble_extract::Skipped)>, resemble_extract::Skipped> {
        let done = Fake.read_parts(name, head, file, sink);
        if !self.done.swap(true, std::sync::atomic::Ordering::Relaxed) {
            fs::write(&self.path, &self.bytes).expect("written");
        }
        done
    }

    fn id(&self) -> String {
        "meddler".into()
    }
}

#[test]
fn a_file_that_changes_while_it_is_taken_apart_is_read_again() {
    let mut scene = Scene::with_parts();
    scene.write("old.txt", sentences(1, 30));
    scene.write("new.txt", sentences(2, 30));
    scene.scan();
    scene.write("a.docx", fake(1, &[text_of(sentences(1, 30))]));
    let mut options = scene.ingest.options().clone();
    options.part_reader = Some(Arc::new(Meddler {
        path: scene.path("a.docx"),
        bytes: fake(9, &[text_of(sentences(2, 30)), Record::Skip(b"x".to_vec())]),
        done: false.into(),
    }));
    scene.ingest = Ingest::new(Arc::clone(&scene.index), options);
    let report = scene.scan();
    assert_eq!(report.moving, Vec::<PathBuf>::new());
    assert_eq!(found_by(&scene, "old.txt"), []);
    assert_eq!(
        found_by(&scene, "new.txt"),
        [row("a.docx", Relation::SameText, Layer::Text)]
    );
    // Nothing of the first reading is left.
    assert_eq!((scene.totals().parts, scene.totals().skipped), (1, 1));
}
