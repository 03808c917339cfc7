//! Tests with a reader of documents that waits until the test lets it continue.

use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::{Condvar, Mutex};
use resemble_core::{ContentId, Params, StopFlag};
use resemble_extract::{Bound, Part, Role, Sink, Skipped};
use resemble_index::{ContentRow, Index, Look};

use crate::ingest::DocumentTurns::{BeforeTheEnd, LaterByFolder, LaterByUser};
use crate::ingest::{
    DocumentTurns, Ingest, IngestOptions, Observer, RootOptions, Target, Unobserved,
};
use crate::parts::{Formats, Limits, PartReader};

/// A time limit that is longer than any expected wait.
const LONG: Duration = Duration::from_secs(60);

/// A reader that takes files with names `*.doc` apart. The text of such a file is its bytes in
/// capitals. For a file with a name `slow*`, the reader waits until the test lets it continue. A
/// file with a name `hostile*` exceeds the time limit.
#[derive(Debug, Default)]
struct Slow {
    version: u32,
    asked: AtomicUsize,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Slow {
    fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl PartReader for Slow {
    fn applies(&self, name: &[u8], _: &[u8], _: Option<BorrowedFd<'_>>) -> bool {
        name.ends_with(b".doc")
    }

    fn read_parts(
        &self,
        name: &[u8],
        _: &[u8],
        file: BorrowedFd<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if name.starts_with(b"slow") {
            let mut is_open = self.is_open.lock();
            self.opened.wait_while(&mut is_open, |is_open| !*is_open);
        }
        if name.starts_with(b"hostile") {
            return Err(Skipped::TooMuch(Bound::Time));
        }
        let mut bytes = vec![0; 1 << 16];
        let read = rustix::io::pread(file, &mut bytes, 0).expect("readable");
        sink.begin(Part {
            role: Role::Text,
            parent: None,
            name: Vec::new(),
        });
        sink.bytes(&bytes[..read].to_ascii_uppercase());
        sink.end();
        Ok(Vec::new())
    }

    fn id(&self) -> String {
        self.version.to_string()
    }
}

struct Scene {
    _dir: tempfile::TempDir,
    root: PathBuf,
    index: Arc<Index>,
    reader: Arc<Slow>,
    ingest: Ingest,
}

impl Scene {
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(dir.path()).expect("a path");
        let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
        let reader = Arc::new(Slow::default());
        let ingest = ingest(&root, &index, &reader, LaterByFolder);
        let scene = Self {
            _dir: dir,
            root,
            index,
            reader,
            ingest,
        };
        for name in files {
            scene.write(name, name);
        }
        scene
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, format!("what is written in {text} and nowhere else")).expect("a file");
    }

    fn scan(&mut self) {
        let all = [Target::subtree(&self.root)];
        self.ingest
            .reconcile(&all, &mut Unobserved)
            .expect("scanned");
    }

    /// Waits for results of documents, and writes them.
    fn go_on(&mut self) {
        self.ingest
            .documents_bell()
            .recv_timeout(LONG)
            .expect("something is done");
        self.ingest
            .reconcile(&[], &mut Unobserved)
            .expect("written");
    }

    /// Continues until all documents are taken apart.
    fn finish(&mut self) {
        while self.ingest.documents() > 0 {
            self.go_on();
        }
    }

    fn content(&self, name: &str) -> Option<ContentRow> {
        let snapshot = self.index.snapshot().expect("a snapshot");
        let file = snapshot.file_at(&self.root.join(name)).expect("readable")?;
        snapshot.content(file.state.content()?).expect("readable")
    }

    fn look(&self, name: &str) -> Look {
        self.content(name).expect("a content").look
    }

    /// Returns the digest of the text that was found in a document.
    fn text(&self, name: &str) -> resemble_core::ContentDigest {
        let snapshot = self.index.snapshot().expect("a snapshot");
        let content = self.content(name).expect("a content").id;
        let part = snapshot
            .part(content, 0)
            .expect("readable")
            .expect("a part");
        let text: ContentId = part.content.expect("a text");
        snapshot
            .content(text)
            .expect("readable")
            .expect("a content")
            .digest
    }
}

fn ingest(
    root: &Path,
    index: &Arc<Index>,
    reader: &Arc<impl PartReader + 'static>,
    documents: DocumentTurns,
) -> Ingest {
    let options = IngestOptions {
        threads: 2,
        roots: vec![RootOptions {
            text: true,
            ..RootOptions::new(root)
        }],
        part_reader: Some(Arc::clone(reader) as Arc<dyn PartReader>),
        documents,
        stop: StopFlag::default(),
        ..IngestOptions::default()
    };
    let ingest = Ingest::new(Arc::clone(index), options);
    ingest.know_parts().expect("written");
    ingest
}

#[test]
fn bytes_are_in_the_index_while_documents_are_taken_apart() {
    let mut scene = Scene::new(&["slow.doc", "a.txt"]);
    scene.scan();
    assert_eq!(scene.look("a.txt"), Look::Plain);
    assert_eq!(scene.look("slow.doc"), Look::Unseen);
    let mark = scene.ingest.documents_mark();
    assert_eq!(scene.ingest.documents(), 1);
    let waiting = scene.ingest.waiting_documents();
    let content = scene.content("slow.doc").expect("a content").id;
    assert!(waiting.has(content) && !scene.ingest.is_past(mark));
    // Meanwhile, other files are indexed. The document is checked again, too, but is not read
    // twice.
    scene.write("b.txt", "b");
    scene.scan();
    assert_eq!(scene.look("b.txt"), Look::Plain);
    scene.reader.open();
    scene.finish();
    assert_eq!(scene.look("slow.doc"), Look::Apart);
    assert!(!waiting.has(content) && scene.ingest.is_past(mark));
    assert_eq!(
        (scene.reader.asked(), scene.ingest.documents_due()),
        (1, None)
    );
}

#[test]
fn who_stays_not_waits_for_all_documents() {
    let scene = Scene::new(&["a/slow.doc", "b.doc", "c.txt"]);
    let mut ingest = ingest(&scene.root, &scene.index, &scene.reader, BeforeTheEnd);
    scene.reader.open();
    let all = [Target::subtree(&scene.root)];
    let report = ingest.reconcile(&all, &mut Unobserved).expect("scanned");
    assert_eq!(report.progress.files_read, 3);
    for (name, look) in [
        ("a/slow.doc", Look::Apart),
        ("b.doc", Look::Apart),
        ("c.txt", Look::Plain),
    ] {
        assert_eq!(scene.look(name), look, "{name}");
    }
    let again = ingest.reconcile(&all, &mut Unobserved).expect("scanned");
    assert_eq!((again.progress.files_read, again.changes), (0, 0));
}

/// An observer that stops the reconcile as soon as a document is being taken apart.
struct Impatient<'a>(&'a Slow);

impl Observer for Impatient<'_> {
    fn should_stop(&mut self) -> bool {
        self.0.asked() > 0
    }
}

#[test]
fn who_is_stopped_waits_for_no_document() {
    let scene = Scene::new(&["slow-1.doc", "slow-2.doc", "slow-3.doc", "slow-4.doc"]);
    let mut ingest = ingest(&scene.root, &scene.index, &scene.reader, BeforeTheEnd);
    let all = [Target::subtree(&scene.root)];
    let report = ingest
        .reconcile(&all, &mut Impatient(&scene.reader))
        .expect("ended");
    assert!(report.stopped);
    assert!(ingest.documents() <= 3, "nothing waits any more");
    scene.reader.open();
    let report = ingest.reconcile(&all, &mut Unobserved).expect("scanned");
    assert!(!report.stopped && ingest.documents() == 0);
    for n in 1..=4 {
        assert_eq!(scene.look(&format!("slow-{n}.doc")), Look::Apart);
    }
}

/// A file that exceeded the time limit is not tried again because of a copy, a rename, a touch or a
/// restart. Only another version of the reader tries it again.
#[test]
fn a_verdict_is_kept_with_the_content() {
    let mut scene = Scene::new(&["hostile.doc"]);
    scene.scan();
    scene.finish();
    assert_eq!(scene.reader.asked(), 1);
    let verdict = scene.content("hostile.doc").expect("a content");
    assert!(verdict.look == Look::Apart && verdict.skipped && verdict.parts == 0);
    let path = |name| scene.root.join(name);
    fs::copy(path("hostile.doc"), path("copy.doc")).expect("copied");
    fs::rename(path("hostile.doc"), path("renamed.doc")).expect("renamed");
    let file = fs::File::options()
        .write(true)
        .open(path("renamed.doc"))
        .expect("a file");
    file.set_modified(SystemTime::UNIX_EPOCH).expect("touched");
    drop(file);
    scene.scan();
    scene.finish();
    scene.ingest = ingest(&scene.root, &scene.index, &scene.reader, LaterByFolder);
    scene.scan();
    scene.finish();
    for name in ["copy.doc", "renamed.doc"] {
        assert_eq!(scene.content(name).expect("a content").look, Look::Apart);
    }
    assert_eq!(scene.reader.asked(), 1);
    scene.reader = Arc::new(Slow {
        version: 2,
        ..Slow::default()
    });
    scene.ingest = ingest(&scene.root, &scene.index, &scene.reader, LaterByFolder);
    scene.scan();
    scene.finish();
    assert_eq!(scene.reader.asked(), 1, "once by the new version");
}

/// Documents that wait when the program ends are taken apart after the next start.
#[test]
fn what_waits_survives_a_restart() {
    let mut scene = Scene::new(&["slow.doc"]);
    scene.scan();
    let reader = Arc::new(Slow::default());
    reader.open();
    scene.ingest = ingest(&scene.root, &scene.index, &reader, LaterByFolder);
    scene.scan();
    scene.finish();
    assert_eq!((scene.look("slow.doc"), reader.asked()), (Look::Apart, 1));
    scene.reader.open();
}

#[test]
fn a_folder_of_slow_documents_holds_up_no_other_folder() {
    let slow: Vec<String> = (0..20).map(|n| format!("a/slow-{n}.doc")).collect();
    let mut scene = Scene::new(&slow.iter().map(String::as_str).collect::<Vec<_>>());
    scene.scan();
    for name in ["b/one.doc", "b/two.doc", "b/three.doc"] {
        scene.write(name, name);
    }
    scene.scan();
    while scene.ingest.documents() > slow.len() {
        scene.go_on();
    }
    for name in ["b/one.doc", "b/two.doc", "b/three.doc"] {
        assert_eq!(scene.look(name), Look::Apart, "{name}");
    }
    assert_eq!(scene.look("a/slow-0.doc"), Look::Unseen);
    assert!(
        scene.reader.asked() <= 2 + 3,
        "as many as there are readers"
    );
    scene.reader.open();
    scene.finish();
    assert!(slow.iter().all(|name| scene.look(name) == Look::Apart));
}

#[test]
fn a_user_with_slow_documents_holds_up_no_other_user_in_the_same_folder() {
    if !rustix::process::geteuid().is_root() {
        resemble_testutil::skipped("it takes root to write files of several users");
        return;
    }
    let slow: Vec<String> = (0..20).map(|n| format!("a/slow-{n}.doc")).collect();
    let mut scene = Scene::new(&slow.iter().map(String::as_str).collect::<Vec<_>>());
    scene.ingest = ingest(&scene.root, &scene.index, &scene.reader, LaterByUser);
    for name in &slow {
        std::os::unix::fs::chown(scene.root.join(name), Some(1001), None).expect("given");
    }
    scene.scan();
    scene.write("a/other.doc", "other");
    std::os::unix::fs::chown(scene.root.join("a/other.doc"), Some(1002), None).expect("given");
    scene.scan();
    while scene.ingest.documents() > slow.len() {
        scene.go_on();
    }
    assert_eq!(scene.look("a/other.doc"), Look::Apart);
    scene.reader.open();
    scene.finish();
}

/// A document that changes while it is taken apart is read again, so its parts are those of the new
/// content.
#[test]
fn a_document_that_changes_while_it_is_taken_apart_is_read_again() {
    let mut scene = Scene::new(&["slow.doc", "same.txt"]);
    scene.scan();
    while scene.reader.asked() == 0 {
        std::thread::yield_now();
    }
    scene.write("slow.doc", "another time");
    scene.reader.open();
    scene.finish();
    assert_eq!(scene.look("slow.doc"), Look::Apart);
    let upper = "what is written in another time and nowhere else".to_uppercase();
    let expected = resemble_core::hash::content::digest(upper.as_bytes());
    assert_eq!(scene.text("slow.doc"), expected);
    // It is no error if a document was removed before it could be read. A document that was renamed
    // to another suffix cannot be taken apart.
    scene.write("slow-gone.doc", "a third time");
    scene.write("b.doc", "b");
    scene.scan();
    fs::remove_file(scene.root.join("slow-gone.doc")).expect("removed");
    fs::rename(scene.root.join("b.doc"), scene.root.join("b.txt")).expect("renamed");
    scene.scan();
    scene.finish();
    assert!(scene.content("slow-gone.doc").is_none());
    assert_ne!(scene.look("b.txt"), Look::Unseen);
}

/// A program or a script waits for a reader only if a zip archive is appended to it.
#[test]
fn programs_and_scripts_without_a_zip_are_no_documents() {
    let mut scene = Scene::new(&[]);
    let program = [&b"\x7fELF"[..], &[1; 12], &[2, 0], &vec![1; 200_000]].concat();
    let script = b"#!/bin/sh\necho a line of it\n".repeat(500);
    let entry = [&b"PK\x01\x02"[..], &[0; 42]].concat();
    let length = (entry.len() as u32).to_le_bytes();
    let end = [&b"PK\x05\x06"[..], &[0; 8], &length, &[0; 6]].concat();
    for (name, bytes) in [("program", &program), ("script", &script)] {
        let with = [&bytes[..], &entry, &end].concat();
        let without = [&bytes[..], &end].concat();
        for (ending, bytes) in [("", &bytes[..]), ("-with", &with), ("-without", &without)] {
            fs::write(scene.root.join(format!("{name}{ending}")), bytes).expect("a file");
        }
    }
    let nobody = Formats::by_starter(scene.root.join("socket"), Limits::default());
    scene.ingest = ingest(&scene.root, &scene.index, &Arc::new(nobody), LaterByFolder);
    scene.scan();
    assert_eq!(scene.ingest.documents_mark(), 2);
    for name in ["program", "program-without", "script", "script-without"] {
        assert_eq!(scene.look(name), Look::Plain, "{name}");
    }
    for name in ["program-with", "script-with"] {
        assert_ne!(scene.look(name), Look::Plain, "{name}");
    }
}
