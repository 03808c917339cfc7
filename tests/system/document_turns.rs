//! Tests that documents wait for their turn to be read, and that no other file waits for documents.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use resemble_testutil::office::{docx, odt};
use resemble_testutil::prose::{edited, prose, sentences};
use resemble_testutil::{Daemon, Sandbox};

/// The time limit for work that must not wait for documents. It is far shorter than the time that a
/// document takes here, and far longer than the time that a text takes.
const SOON: Duration = Duration::from_secs(45);

/// A daemon with a converter for files called `*.slow`. The converter records that it was started,
/// and then waits until the file `go` exists.
struct Slow {
    sandbox: Sandbox,
    config: PathBuf,
}

impl Slow {
    /// Makes the configuration of the daemon, with a time limit for each document in seconds.
    fn new(seconds: u32) -> Self {
        let sandbox = Sandbox::new();
        let (started, go) = (sandbox.path("started"), sandbox.path("go"));
        let (started, go) = (started.display(), go.display());
        let wait = format!("echo x >> {started}; until [ -e {go} ]; do sleep .1; done; cat");
        let config = sandbox.path("resembled.toml");
        let text = format!(
            "[limits]\ntime = {seconds}\n\n\
             [[converter]]\nextensions = [\"slow\"]\ncommand = [\"sh\", \"-c\", \"{wait}\"]\n"
        );
        fs::write(&config, text).expect("a configuration");
        Self { sandbox, config }
    }

    fn daemon(&self) -> Daemon<'_> {
        let config = self.config.to_str().expect("a path");
        self.sandbox.daemon(["--config", config])
    }

    fn go(&self) {
        fs::write(self.sandbox.path("go"), "").expect("a file");
    }

    /// Returns the number of documents for which the converter was started.
    fn started(&self) -> usize {
        let started = fs::read_to_string(self.sandbox.path("started"));
        started.map_or(0, |started| started.lines().count())
    }

    /// Returns the names of the files that `find` lists for a file of the tree.
    fn found(&self, name: &str) -> Vec<String> {
        let path = self.sandbox.tree(name).display().to_string();
        let answer = self
            .sandbox
            .resemble(["find", &path, "--format", "json"])
            .json();
        let rows = answer["results"].as_array().cloned().unwrap_or_default();
        let paths = rows.iter().filter_map(|row| row["path"].as_str());
        let tree = format!("{}/", self.sandbox.tree("").display());
        let tree = tree.replace("//", "/");
        paths.map(|path| path.replace(&tree, "")).collect()
    }

    /// Returns the relation and the other file of each alert about a file of the tree.
    fn alerts(&self, name: &str) -> Vec<(String, String)> {
        let path = self.sandbox.tree(name).display().to_string();
        let answer = self.sandbox.resemble(["alerts", "--format", "json"]).json();
        let rows = answer["alerts"].as_array().cloned().unwrap_or_default();
        let text = |row: &serde_json::Value, field: &str| {
            row[field].as_str().unwrap_or_default().to_owned()
        };
        let about = rows.iter().filter(|row| text(row, "a") == path);
        about
            .map(|row| (text(row, "relation"), text(row, "b")))
            .collect()
    }
}

/// Calls `is_so` repeatedly until it returns true.
fn until(what: &str, is_so: &mut dyn FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < SOON,
            "not after {:?}: {what}",
            began.elapsed()
        );
    }
}

#[test]
fn no_text_and_no_other_folder_waits_for_hostile_documents() {
    let slow = Slow::new(600);
    slow.sandbox.write("texts/first.txt", sentences(1, 60));
    let daemon = slow.daemon();
    for n in 0..40 {
        slow.sandbox
            .write(format!("hostile/{n}.slow"), sentences(100 + n, 9));
    }
    slow.sandbox.write("texts/second.txt", sentences(1, 60));
    until("a text is found", &mut || {
        slow.found("texts/second.txt") == ["texts/first.txt"]
    });
    until("documents are begun", &mut || slow.started() > 0);
    let words = sentences(2, 60);
    slow.sandbox.write("office/minutes.docx", docx(&words));
    slow.sandbox.write("office/minutes.odt", odt(&words));
    // One of the two documents must be in the index with its text. The question itself reads the
    // other document.
    until("a document is found by its text", &mut || {
        slow.found("office/minutes.docx") == ["office/minutes.odt"]
    });
    // A document in the folder `hostile` still waits for its turn. A question about it reads the
    // document itself.
    slow.sandbox.write("hostile/minutes.odt", odt(&words));
    until("a document that waits has an answer", &mut || {
        slow.found("hostile/minutes.odt")
            .contains(&"office/minutes.odt".to_owned())
    });
    assert_eq!(daemon.status()["fresh"], false);
    // A file that is still settling is also counted as pending. So there may be a few more pending
    // files than waiting documents.
    until("the documents alone wait", &mut || {
        let pending = daemon.status()["roots"][0]["pending"].as_u64();
        pending.is_some_and(|pending| (35..=41).contains(&pending))
    });
    let threads = std::thread::available_parallelism()
        .expect("a number")
        .get();
    assert!(
        slow.started() <= threads + 1,
        "{} are under way",
        slow.started()
    );
    // The daemon also does not wait for documents when it stops.
    let began = Instant::now();
    assert_eq!(daemon.stop(), 0);
    assert!(
        began.elapsed() < SOON,
        "it ended after {:?}",
        began.elapsed()
    );
    // After the next start, the waiting documents are read.
    slow.go();
    let daemon = slow.daemon();
    daemon.sync();
    assert_eq!(daemon.status()["fresh"], true);
    assert!(slow.started() >= 40);
}

/// A catalogue is kept for a long time. So the command reports that the texts of some documents are
/// missing in the catalogue.
#[test]
fn a_catalogue_says_that_documents_wait() {
    let slow = Slow::new(600);
    slow.sandbox.write("one.slow", sentences(1, 60));
    slow.sandbox.write("text/a.txt", sentences(2, 60));
    let daemon = slow.daemon();
    until("a document is begun", &mut || slow.started() > 0);
    let export = |of: &str, further: &[&str]| {
        let (of, to) = (slow.sandbox.tree(of), slow.sandbox.path("tree.cat"));
        let of = of.to_str().expect("UTF-8");
        let to = to.to_str().expect("UTF-8");
        slow.sandbox
            .resemble([&["catalogue", "write", of, "-o", to][..], further].concat())
    };
    let said = "the text of 1 document was not read yet";
    let waiting = export("", &[]).exits(2).err;
    assert!(waiting.contains(said), "{waiting}");
    assert!(
        waiting.contains("has not seen everything yet (1 file to be read)"),
        "{waiting}"
    );
    for (of, further) in [("text", &[][..]), ("", &["--no-text"])] {
        let other = export(of, further).success().err;
        assert!(!other.contains("the text of"), "{other}");
    }
    slow.go();
    daemon.sync();
    let whole = export("", &[]).success().err;
    assert!(
        !whole.contains("the text of") && !whole.contains("yet"),
        "{whole}"
    );
}

#[test]
fn what_took_too_long_is_not_tried_again() {
    let slow = Slow::new(1);
    slow.sandbox.write("a.slow", sentences(1, 60));
    let daemon = slow.daemon();
    daemon.sync();
    assert_eq!(slow.started(), 1);
    let tree = |name| slow.sandbox.tree(name);
    fs::copy(tree("a.slow"), tree("copy.slow")).expect("copied");
    fs::rename(tree("a.slow"), tree("renamed.slow")).expect("renamed");
    let file = fs::File::options()
        .write(true)
        .open(tree("renamed.slow"))
        .expect("a file");
    file.set_modified(std::time::SystemTime::now())
        .expect("touched");
    drop(file);
    daemon.sync();
    let status = daemon.status();
    let unopened = status["unopened"].to_string();
    assert!(
        unopened.contains("renamed.slow") && unopened.contains("took too long"),
        "{unopened}"
    );
    // A document that took too long is not tried again, even after a crash of the daemon.
    daemon.crash();
    let daemon = slow.daemon();
    daemon.sync();
    assert_eq!(slow.started(), 1);
    // `sync` waits for documents that were written before it.
    slow.sandbox.write("b.slow", sentences(2, 60));
    daemon.sync();
    assert_eq!(slow.started(), 2);
    assert!(daemon.status()["unopened"].to_string().contains("b.slow"));
}

#[test]
fn an_alert_about_a_document_waits_for_its_text_and_is_raised_once() {
    let slow = Slow::new(600);
    slow.go();
    let text = prose(1, 20_000);
    let other = prose(2, 20_000);
    slow.sandbox.write("first.slow", &text);
    slow.sandbox.write("control.txt", &other);
    let daemon = slow.daemon();
    daemon.sync();
    fs::remove_file(slow.sandbox.path("go")).expect("removed");
    slow.sandbox.write("near.slow", edited(&text, 7, 3));
    slow.sandbox.write("copy.slow", &text);
    until("a document waits", &mut || slow.started() > 1);
    slow.sandbox.write("near.txt", edited(&other, 7, 3));
    until("other alerts are raised", &mut || {
        !slow.alerts("near.txt").is_empty()
    });
    until("a copy is told at once", &mut || {
        !slow.alerts("copy.slow").is_empty()
    });
    assert_eq!(slow.alerts("near.slow"), [], "its text is not known");
    slow.go();
    daemon.sync();
    let told = slow.alerts("near.slow");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "near");
    let copies = slow.alerts("copy.slow");
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(copies[0].0, "identical");
}
