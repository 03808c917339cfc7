use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use resemble_testutil::Sandbox;
use resemble_testutil::prose::{edited, prose};

fn alerts(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let answer = sandbox.resemble(["alerts", "--format", "json"]).json();
    answer["alerts"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_change_that_makes_a_near_duplicate_is_one_alert() {
    let sandbox = Sandbox::new();
    let text = prose(1, 20_000);
    sandbox.write("original.txt", &text);
    sandbox.write("twin.txt", &text);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert!(alerts(&sandbox).is_empty(), "the first scan is no change");

    let mut follow = sandbox.program("resemble");
    follow
        .args(["alerts", "--follow", "--format", "jsonl"])
        .stdout(Stdio::piped());
    let mut follow = follow.spawn().expect("it runs");
    let mut lines = BufReader::new(follow.stdout.take().expect("a pipe")).lines();
    let header = lines.next().expect("a header").expect("a line");
    assert!(header.contains("\"alerts\""), "{header}");

    sandbox.write("new/draft.txt", edited(&text, 1, 3));
    daemon.sync();
    let said = lines.next().expect("an alert").expect("a line");
    assert!(
        said.contains("new/draft.txt") && said.contains("near"),
        "{said}"
    );
    follow.kill().expect("it runs");
    follow.wait().expect("it ends");
    let stored = alerts(&sandbox);
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert!(sandbox.log().contains("draft.txt"), "a tracing line too");
}

#[test]
fn a_copied_tree_is_one_alert() {
    let sandbox = Sandbox::new();
    for n in 0..60 {
        sandbox.write(format!("proj/{}/{n}.txt", n % 5), prose(n, 4_000));
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let (from, to) = (sandbox.tree("proj"), sandbox.tree("backup"));
    let copied = sandbox
        .foreign("cp")
        .args([OsStr::new("-r")])
        .args([from, to])
        .status();
    assert!(copied.expect("cp").success());
    daemon.sync();
    let stored = alerts(&sandbox);
    assert_eq!(stored.len(), 1, "{stored:#?}");
    assert_eq!(stored[0]["files"], 60, "{stored:?}");
}

#[test]
fn saves_renames_and_small_files_stay_quiet() {
    let sandbox = Sandbox::new();
    let text = prose(1, 20_000);
    sandbox.write("a.txt", &text);
    sandbox.write("b.txt", prose(2, 20_000));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    // A program saves a file in several steps. The new text resembles the old text. But both are
    // texts of the same file, so there is no alert.
    let tree = |name| sandbox.tree(name);
    fs::write(tree("a.tmp"), edited(&text, 1, 2)).expect("write");
    fs::rename(tree("a.tmp"), tree("a.txt")).expect("rename");
    daemon.sync();
    // A file is renamed.
    fs::rename(tree("b.txt"), tree("c.txt")).expect("rename");
    daemon.sync();
    // A line is appended to a file.
    let longer = [edited(&text, 1, 2), b"one more line\n".to_vec()].concat();
    fs::write(tree("a.txt"), longer).expect("write");
    daemon.sync();
    // A file of less than 1 KiB is written.
    fs::write(tree("small"), &prose(2, 20_000)[..900]).expect("write");
    daemon.sync();
    assert!(alerts(&sandbox).is_empty(), "{:#?}", alerts(&sandbox));
}
