//! A file is taken apart again only if that is necessary.

use resemble_proto::message::{CompareOptions, CompareRequest};
use resemble_relate::findings::MemoryCache;
use resemble_trees::compare::compare_with_parts;

use super::*;

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
    // The files have settled, so they are read again only because the option was switched.
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

/// Two roots have equal documents. The parts stay in the index until the option is off for both
/// roots.
#[test]
fn the_layer_can_be_switched_off_later() {
    let scene = Scene::with_parts();
    let text = sentences(1, 30);
    for root in ["a", "b"] {
        scene.write(&format!("{root}/{root}.docx"), fake(1, &[text_of(&text)]));
        scene.write(&format!("{root}/{root}.txt"), &text);
    }
    // The files have settled, so only the switched option has an effect.
    let mut ingest = scene.later();
    let roots = [scene.path("a"), scene.path("b")];
    for (texts, expected) in [
        ([true, true], Look::Apart),
        ([false, true], Look::Apart),
        ([false, false], Look::Unseen),
        ([false, true], Look::Apart),
        ([true, false], Look::Apart),
        ([false, false], Look::Unseen),
    ] {
        let options = texts.into_iter().zip(&roots);
        let options = options.map(|(text, root)| RootOptions {
            text,
            ..RootOptions::new(root)
        });
        ingest.set_roots(options.collect());
        let targets = roots.each_ref().map(Target::subtree);
        let scanned = ingest.reconcile(&targets, &mut Unobserved);
        scanned.expect("scanned");
        assert_eq!(look(&scene, "a/a.docx"), expected, "{texts:?}");
        let by_text = found_by(&scene, "a/a.txt");
        let has_text = by_text.iter().any(|(path, ..)| path.ends_with("docx"));
        assert_eq!(has_text, expected == Look::Apart, "{texts:?}");
    }
    // A question that takes no documents apart leaves stored parts for the next question.
    let mut options = ingest.options().clone();
    options.roots[0].text = true;
    let targets = roots.each_ref().map(Target::subtree);
    let mut on = Ingest::new(Arc::clone(&scene.index), options.clone());
    on.reconcile(&targets, &mut Unobserved).expect("scanned");
    options.roots[0].text = false;
    options.part_reader = None;
    let mut off = Ingest::new(Arc::clone(&scene.index), options);
    off.reconcile(&targets, &mut Unobserved).expect("scanned");
    assert_eq!(look(&scene, "a/a.docx"), Look::Apart);
}

#[test]
fn a_document_with_names_in_two_roots_has_its_text() {
    for with_text in ["a", "b"] {
        let scene = Scene::with_parts();
        let bytes = fake(1, &[text_of(sentences(1, 30))]);
        scene.write("a/a.docx", &bytes);
        scene.write("b/other.docx", fake(2, &[text_of(sentences(2, 30))]));
        fs::hard_link(scene.path("a/a.docx"), scene.path("b/b.docx")).expect("a link");
        let mut ingest = scene.later();
        let roots = ["a", "b"].map(|root| RootOptions {
            text: root == with_text,
            ..RootOptions::new(scene.path(root))
        });
        ingest.set_roots(roots.to_vec());
        // The roots are scanned one after the other, so that the second name is a link to an
        // indexed file.
        for root in ["a", "b"] {
            let target = [Target::subtree(scene.path(root))];
            ingest.reconcile(&target, &mut Unobserved).expect("scanned");
        }
        assert_eq!(look(&scene, "a/a.docx"), Look::Apart, "{with_text}");
        let other = (with_text == "b").then_some(Look::Apart);
        assert_eq!(look(&scene, "b/other.docx"), other.unwrap_or_default());
    }
}

/// A reader that differs from [`Fake`]: it does not take apart files called `*.conv`.
#[derive(Debug)]
struct Other(Fake);

impl resemble_scan::parts::PartReader for Other {
    fn applies(&self, name: &[u8], head: &[u8], file: Option<std::os::fd::BorrowedFd<'_>>) -> bool {
        self.0.applies(name, head, file) && !name.ends_with(b".conv")
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
    // The parts stay until the last file with this content is removed.
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
        // This file is taken apart because of its name. The equal file `plain` alone would not be
        // taken apart.
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
    // An archive of this test cannot contain itself. Instead, one of its members equals another
    // file that is an archive.
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
    // The inner archive stays in the index as a part. Its member is stored as a part of the outer
    // archive.
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
    let docx = docx.with_others(vec![(resemble_relate::renditions::Rendition::Text, text)]);
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

/// A reader that overwrites the file at `path` as soon as it has taken its first file apart.
#[derive(Debug)]
struct Meddler {
    path: PathBuf,
    bytes: Vec<u8>,
    done: std::sync::atomic::AtomicBool,
}

impl resemble_scan::parts::PartReader for Meddler {
    fn applies(&self, name: &[u8], head: &[u8], file: Option<std::os::fd::BorrowedFd<'_>>) -> bool {
        Fake.applies(name, head, file)
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
    // The index has nothing from the first reading, which is outdated.
    assert_eq!((scene.totals().parts, scene.totals().skipped), (1, 1));
}

/// One of two documents with the same text has changed since it was indexed. The text is read from
/// the other document.
#[test]
fn a_text_is_read_from_any_document_that_has_it() {
    let mut scene = Scene::with_parts();
    let text = sentences(1, 40);
    scene.write("a/1.docx", fake(1, &[text_of(&text)]));
    scene.write("a/2.docx", fake(2, &[text_of(&text)]));
    scene.write("b/later.txt", text + &sentences(2, 10));
    scene.scan();
    scene.write("a/1.docx", "something else");
    let snapshot = scene.snapshot();
    let request = PairsRequest {
        scope: scene.scope(),
        text: true,
        ..PairsRequest::default()
    };
    let pairs = pairs_with_parts(&snapshot, &request, Some(&Fake)).expect("an answer");
    assert_eq!(pairs.rows.len(), 3);
    assert!(pairs.rows.iter().all(|row| !row.told.estimate));
    let request = CompareRequest {
        a: PathText::from(scene.path("a")),
        b: PathText::from(scene.path("b")),
        options: CompareOptions {
            text: true,
            ..CompareOptions::default()
        },
    };
    let cache = MemoryCache::default();
    let compared = compare_with_parts(&snapshot, &request, Some(&Fake), &cache);
    let rows = compared.expect("an answer").body.entries;
    let mut pairs = rows.iter().filter(|row| row.a.is_some() && row.b.is_some());
    assert!(pairs.next().is_some_and(|row| !row.told.estimate));
}
