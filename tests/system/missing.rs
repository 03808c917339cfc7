use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox, tmpfs};
use rustix::fs::{CWD, Mode, mkfifoat, unlink};
use serde_json::{Value, json};

/// Makes two folders with near copies.
fn near_copies(sandbox: &Sandbox) {
    let text = prose(1, 9_000);
    sandbox.write("a/x.txt", &text);
    sandbox.write("b/y.txt", edited(&text, 1, 2));
}

fn ask(sandbox: &Sandbox, words: &[&str], further: &[&str]) -> Ran {
    let mut command = sandbox.program("resemble");
    command.args(words).args(further);
    command.current_dir(sandbox.tree(""));
    command.output().expect("resemble runs").into()
}

/// Returns the path and the message of each error in a document.
fn errors(document: &Value) -> Vec<(String, String)> {
    let errors = document["errors"].as_array().expect("errors").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    errors
        .map(|error| (text(&error["path"]), text(&error["message"])))
        .collect()
}

/// Questions that name a path which does not exist. Each entry has that path and the words of the
/// command.
const QUESTIONS: [(&str, &[&str]); 15] = [
    ("no.txt", &["find", "no.txt", "--in", "."]),
    ("no", &["find", "a/x.txt", "--in", "no"]),
    ("no", &["groups", "no"]),
    ("no", &["groups", "no", "--only", "identical"]),
    ("no", &["groups", ".", "--of", "no"]),
    ("no", &["compare", "a", "no"]),
    ("no", &["compare", "no", "a"]),
    ("no", &["covered", "a", "--by", "no"]),
    ("no", &["covered", "no", "--by", "a"]),
    ("no", &["dirs", "no"]),
    ("no", &["dirs", ".", "--of", "no"]),
    ("no", &["pairs", "no"]),
    ("no", &["why", "a/x.txt", "no"]),
    ("no", &["why", "no", "a/x.txt"]),
    ("no", &["versions", "no"]),
];

#[test]
fn a_path_that_does_not_exist_is_said_in_one_sentence_and_in_documents() {
    let sandbox = Sandbox::new();
    near_copies(&sandbox);
    let said = |ran: &Ran, path: &str, question: &[&str]| {
        let lines: Vec<&str> = ran.err.lines().collect();
        let sentence = format!("{path}: No such file or directory");
        let is_it = |line: &&str| line.starts_with("resemble: ") && line.ends_with(&sentence);
        assert!(
            lines.len() == 1 && lines.iter().all(is_it),
            "{question:?} {lines:?}"
        );
        assert_eq!(ran.code, 2, "{question:?}");
    };
    let all = |ways: &[&[&str]]| {
        for further in ways {
            for (path, question) in QUESTIONS {
                // `why` never asks a daemon, so `--local` makes no difference.
                if question[0] == "why" && further == &["--local"] {
                    continue;
                }
                let text = ask(&sandbox, question, further);
                said(&text, path, question);
                assert_eq!(text.text(), "", "{question:?}");
                let document = [*further, &["--format", "json"]].concat();
                let document = ask(&sandbox, question, &document);
                said(&document, path, question);
                let document = document.json();
                assert_eq!(document["command"], question[0]);
                let reason = "No such file or directory".to_owned();
                assert_eq!(
                    errors(&document),
                    [(path.to_owned(), reason)],
                    "{question:?}"
                );
                assert_eq!(document["errors"][0]["kind"], "not-found");
                assert_ne!(document["covered"], true);
                let lines = ask(
                    &sandbox,
                    question,
                    &[*further, &["--format", "jsonl"]].concat(),
                );
                let last = lines.text().lines().last().map(str::to_owned);
                assert!(
                    last.is_some_and(|last| last.contains("not-found")),
                    "{question:?}"
                );
            }
            for question in [
                &["catalogue", "write", "no", "-o", "x.cat"][..],
                &["dump", "--canonical", "no"],
            ] {
                said(&ask(&sandbox, question, further), "no", question);
            }
            assert!(!sandbox.tree("x.cat").exists());
        }
    };
    all(&[&[]]);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    all(&[&[], &["--local"]]);
    // The question is answered for the path that exists, although the other path is missing.
    let both = ask(&sandbox, &["pairs", ".", "no", "--format", "json"], &[])
        .exits(2)
        .json();
    assert_eq!((&both["total"], errors(&both).len()), (&json!(1), 1));
    drop(daemon);
}

#[test]
fn a_root_that_vanished_is_said_by_every_answer_within() {
    let sandbox = Sandbox::new();
    near_copies(&sandbox);
    let disk = sandbox.path("disk");
    let plug_in = || {
        fs::create_dir(&disk).expect("a folder");
        fs::write(disk.join("other.txt"), prose(7, 9_000)).expect("a file");
    };
    plug_in();
    let daemon = sandbox.mounted([&disk]);
    daemon.sync();
    let file = sandbox.tree("a/x.txt");
    let file = file.to_str().expect("UTF-8");
    let tree = sandbox.path("tree");
    let tree = tree.to_str().expect("UTF-8");
    let report = || -> Value {
        let report = sandbox.mount("tree/a/x.txt/.similar/.report.json");
        let bytes = fs::read(report).expect("a report");
        serde_json::from_slice(&bytes).expect("json")
    };
    let within: [&[&str]; 3] = [
        &["find", file],
        &["dump", "--canonical"],
        &["catalogue", "write", "-o", "-"],
    ];
    let is_said = |is_said: bool| {
        for question in within {
            let ran = sandbox.resemble(question);
            let lines: Vec<&str> = ran.err.lines().collect();
            let of_root = |line: &&&str| line.contains("disk: cannot be reached");
            let count = lines.iter().filter(of_root).count();
            assert_eq!(count, usize::from(is_said), "{question:?} {lines:?}");
            assert_eq!(
                ran.code,
                if is_said { 2 } else { 0 },
                "{question:?} {lines:?}"
            );
        }
        let answer = sandbox.resemble(["find", file, "--format", "json"]).json();
        for document in [&answer, &report()] {
            let errors = errors(document);
            let path = disk.to_str().expect("UTF-8").to_owned();
            let reason = "cannot be reached; what is known of it may be old".to_owned();
            let expected = if is_said {
                vec![(path, reason)]
            } else {
                Vec::new()
            };
            assert_eq!(errors, expected);
            assert_eq!(document["total"], 1);
        }
        for verb in ["history", "lost"] {
            let ran = sandbox.resemble([verb, file, "--format", "json"]);
            assert_eq!(
                errors(&ran.json()).len(),
                usize::from(is_said),
                "{verb} {}",
                ran.err
            );
            assert_eq!(ran.code == 2, is_said, "{verb} {}", ran.err);
        }
        // These questions are not about the missing root, so their answers do not report that it is
        // missing.
        for question in [
            &["find", file, "--in", tree][..],
            &["groups", tree],
            &["pairs", tree],
        ] {
            let ran = sandbox.resemble(question).success();
            assert!(!ran.err.contains("disk"), "{question:?} {}", ran.err);
        }
        let status = daemon.status();
        let state = if is_said { "unavailable" } else { "live" };
        let roots = status["roots"].as_array().expect("roots");
        let root = roots
            .iter()
            .find(|root| root["path"] == disk.to_str().expect("UTF-8"));
        assert_eq!(root.expect("the root")["state"], state);
        let doctor = sandbox.resemble(["doctor"]);
        assert_eq!(
            doctor.text().contains("disk cannot be reached"),
            is_said,
            "{}",
            doctor.text()
        );
        let metrics = sandbox
            .resemble(["status", "--format", "openmetrics"])
            .text();
        let away = |line: &&str| line.contains("disk\"") && line.contains("state=\"unavailable\"");
        let away = metrics.lines().find(away).expect("a sample");
        assert!(away.ends_with(if is_said { " 1" } else { " 0" }), "{away}");
    };
    is_said(false);
    fs::remove_dir_all(&disk).expect("it goes");
    daemon.sync();
    is_said(true);
    // If a question is only about the missing root, the answer is the same as without a daemon.
    let disk = disk.to_str().expect("UTF-8");
    for question in [
        &["groups", disk][..],
        &["pairs", disk],
        &["find", file, "--in", disk],
    ] {
        let asked = sandbox.resemble(question).exits(2);
        let alone = sandbox.resemble([question, &["--local"]].concat()).exits(2);
        assert_eq!((&asked.err, asked.text()), (&alone.err, alone.text()));
    }
    plug_in();
    daemon.sync();
    is_said(false);
    drop(daemon);
}

/// The disk of a root is not mounted, so an empty folder is in its place. Answers are made from the
/// data in the index, and every answer about the root reports this.
#[test]
fn a_root_that_is_not_mounted_is_said_by_every_answer_within() {
    let sandbox = Sandbox::new();
    near_copies(&sandbox);
    let root = sandbox.path("disk");
    fs::create_dir(&root).expect("a folder");
    let Some(mounted) = tmpfs(&root, "1m") else {
        return;
    };
    for name in ["a", "b"] {
        let to = root.join(name);
        fs::create_dir(&to).expect("a folder");
        fs::copy(sandbox.tree("a/x.txt"), to.join("x.txt")).expect("a copy");
    }
    let daemon = sandbox.daemon([&root]);
    daemon.sync();
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (file, tree) = (text(&sandbox.tree("a/x.txt")), text(&sandbox.tree("")));
    let root = &*text(&root);
    let known: [&[&str]; 5] = [
        &["groups", root],
        &["groups", root, "--only", "identical"],
        &["dirs", root],
        &["pairs", root],
        &["find", &file, "--in", root],
    ];
    let looked_at: [&[&str]; 8] = [
        &["groups", root, "--of", &file],
        &["find", &file, "--in", root, "--holders"],
        &["check", &file, "--in", root],
        &["compare", root, &tree],
        &["compare", &tree, root],
        &["covered", root, "--by", &tree],
        &["covered", &tree, "--by", root],
        &["dump", "--canonical", root],
    ];
    let said = format!("resemble: {root}: cannot be reached; what is known of it may be old");
    let ask = |is_there: bool| -> Vec<String> {
        let asked = |question: &&[&str]| {
            let ran = sandbox.resemble(*question);
            let lines = ran.err.lines().filter(|line| *line == said).count();
            assert_eq!(lines, usize::from(!is_there), "{question:?} {}", ran.err);
            assert!(is_there || ran.code == 2, "{question:?} {}", ran.code);
            ran.text()
        };
        let _looked_at: Vec<String> = looked_at.iter().map(asked).collect();
        let status = daemon.status();
        let roots = status["roots"].as_array().expect("roots");
        let state = roots.iter().find(|it| it["path"] == root).expect("a root");
        let expected = if is_there { "live" } else { "unavailable" };
        assert_eq!(state["state"], expected);
        known.iter().map(asked).collect()
    };
    let before = ask(true);
    drop(mounted);
    daemon.sync();
    assert_eq!(ask(false), before);
}

/// Creates and removes pipes in a folder, until `is_over` is true.
fn churn(folder: &Path, is_over: &AtomicBool) {
    let names: Vec<_> = (0..3_000)
        .map(|n| folder.join(format!("pipe {n}")))
        .collect();
    while !is_over.load(Ordering::Relaxed) {
        for name in &names {
            mkfifoat(CWD, name, Mode::RWXU).expect("a pipe");
        }
        for name in &names {
            unlink(name).expect("it goes");
        }
    }
}

/// Pipes are never opened. So the only error about a pipe is that it vanished between the listing
/// and the check of its type.
#[test]
fn names_that_come_and_go_are_the_only_errors() {
    let sandbox = Sandbox::new();
    near_copies(&sandbox);
    sandbox.write("churned/z.txt", "z");
    let (tree, a, churned) = (sandbox.tree(""), sandbox.tree("a"), sandbox.tree("churned"));
    let questions: [Vec<OsString>; 4] = [
        vec!["groups".into(), tree.clone().into()],
        vec![
            "groups".into(),
            tree.clone().into(),
            "--only".into(),
            "identical".into(),
        ],
        vec!["compare".into(), a.into(), churned.clone().into()],
        vec![
            "covered".into(),
            churned.clone().into(),
            "--by".into(),
            tree.join("b").into(),
        ],
    ];
    let run = |question: &[OsString]| {
        let further = ["--format", "json", "--local", "--no-cache"].map(OsString::from);
        sandbox.resemble(question.iter().chain(&further))
    };
    for question in &questions {
        let ran = run(question);
        assert_eq!(errors(&ran.json()), [], "{question:?}");
        assert!(ran.code < 2, "{question:?} {}", ran.err);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| churn(&churned, &is_over));
        for question in &questions {
            for _ in 0..5 {
                let ran = run(question);
                let errors = errors(&ran.json());
                for (path, reason) in &errors {
                    assert!(path.contains("churned/pipe "), "{question:?} {path}");
                    let is_gone = reason.contains("vanished") || reason.contains("No such file");
                    assert!(is_gone, "{question:?} {reason}");
                }
                let code = ran.code == 2;
                assert_eq!(code, !errors.is_empty(), "{question:?} {}", ran.err);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    for question in &questions {
        assert_eq!(errors(&run(question).json()), [], "{question:?}");
    }
}
