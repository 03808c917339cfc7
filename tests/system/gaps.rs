use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, Ran, Sandbox};
use serde_json::{Value, json};

/// Returns a command for a program under test. Even if the test runs as root, the program cannot
/// bypass the modes of files and folders.
fn ordinary(sandbox: &Sandbox, program: &str) -> Command {
    let own = sandbox.program(program);
    if !rustix::process::geteuid().is_root() {
        return own;
    }
    let mut command = sandbox.foreign("setpriv");
    let rights = "-dac_override,-dac_read_search";
    command.args(["--inh-caps", rights, "--bounding-set", rights]);
    command.arg(own.get_program());
    command
}

fn ask<S: AsRef<OsStr>>(sandbox: &Sandbox, args: impl IntoIterator<Item = S>) -> Ran {
    let output = ordinary(sandbox, "resemble").args(args).output();
    output.expect("resemble runs").into()
}

fn watching<'a>(sandbox: &'a Sandbox, args: &[&str]) -> Daemon<'a> {
    let mut command = ordinary(sandbox, "resembled");
    command.args(args).arg(sandbox.path("tree"));
    let daemon = sandbox.start(&mut command);
    let daemon = daemon.unwrap_or_else(|ran| panic!("resembled ended at once: {ran:?}"));
    sync(sandbox);
    daemon
}

#[track_caller]
fn sync(sandbox: &Sandbox) {
    ask(sandbox, ["sync", "--timeout", "110"]).success();
}

fn mode(sandbox: &Sandbox, name: &str, mode: u32) {
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(sandbox.tree(name), mode).expect("chmod");
}

/// Folders with their modes. Such a folder cannot be listed, or does not allow access to its files.
const CLOSED: [(&str, u32); 6] = [
    ("first/none", 0o000),
    ("first/enter", 0o100),
    ("first/write", 0o300),
    ("first/deep/er/none", 0o000),
    ("first/list", 0o400),
    ("second/none", 0o000),
];

/// Makes two trees. The second has a copy of every readable file of the first.
fn trees(sandbox: &Sandbox) {
    let text = prose(1, 9_000);
    for tree in ["first", "second"] {
        sandbox.write(format!("{tree}/a.txt"), &text);
        sandbox.write(format!("{tree}/b/b.txt"), edited(&text, 1, 2));
        sandbox.write(format!("{tree}/c.txt"), prose(2, 5_000));
    }
    for (number, (folder, bits)) in CLOSED.into_iter().enumerate() {
        sandbox.write(
            format!("{folder}/hidden.txt"),
            prose(9 + number as u64, 4_000),
        );
        sandbox.write(format!("{folder}/sub/more.txt"), &text);
        mode(sandbox, folder, bits);
    }
    sandbox.write("first/unread.txt", &text);
    mode(sandbox, "first/unread.txt", 0o000);
    if rustix::process::geteuid().is_root() {
        sandbox.write("first/theirs/hidden.txt", prose(30, 4_000));
        mode(sandbox, "first/theirs", 0o700);
        chown(sandbox.tree("first/theirs"), Some(65_534), Some(65_534)).expect("chown");
    }
}

/// Returns every question about the trees.
fn questions(sandbox: &Sandbox) -> Vec<Vec<OsString>> {
    let path = |name: &str| sandbox.tree(name).into_os_string();
    let (tree, first, second) = (path(""), path("first"), path("second"));
    let file = path("second/a.txt");
    let question = |words: &[&OsStr]| words.iter().map(|word| (*word).to_owned()).collect();
    let word = OsStr::new;
    vec![
        question(&[word("groups"), &tree]),
        question(&[word("groups"), &tree, word("--only"), word("identical")]),
        question(&[word("groups"), &tree, word("--exclude"), word("none")]),
        question(&[word("pairs"), &first]),
        question(&[word("pairs"), &tree, word("--include"), word("*.txt")]),
        question(&[word("dirs"), &tree]),
        question(&[word("find"), &file, word("--in"), &tree]),
        question(&[word("find"), &file, word("--in"), &path("first/b")]),
        question(&[word("compare"), &first, &second]),
        question(&[word("compare"), &path("first/b"), &path("second/b")]),
        question(&[word("covered"), &second, word("--by"), &first]),
        question(&[word("covered"), &path("second/b"), word("--by"), &first]),
        question(&[word("dump"), word("--canonical"), &tree]),
        question(&[word("dump"), word("--files"), &first]),
        question(&[word("find"), &file, word("--in"), &path("first/write/sub")]),
    ]
}

/// Checks that the command gives the same answer with and without a daemon: the same exit code,
/// document, and errors on standard error.
#[track_caller]
fn same_both_ways(sandbox: &Sandbox, questions: Vec<Vec<OsString>>) {
    for question in questions {
        let formats = match question[0].to_str() {
            Some("dump") => &[""][..],
            _ => &["text", "json", "jsonl", "tsv"],
        };
        for format in formats {
            let mut args = question.clone();
            if !format.is_empty() {
                args.extend(["--format".into(), OsString::from(format)]);
            }
            let asked = ask(sandbox, &args);
            let local = OsString::from("--local");
            let alone = ask(sandbox, args.iter().chain([&local]));
            let errors = |ran: &Ran| {
                let lines = ran.err.lines().map(str::to_owned);
                lines.collect::<Vec<String>>()
            };
            let both = format!("{args:?}\n{}\n{}", asked.err, alone.err);
            assert_eq!(asked.code, alone.code, "{both}");
            assert_eq!(asked.text(), alone.text(), "{both}");
            assert_eq!(errors(&asked), errors(&alone), "{both}");
        }
    }
}

#[test]
fn a_folder_that_may_not_be_listed_is_named_by_every_answer() {
    let sandbox = Sandbox::new();
    trees(&sandbox);
    let daemon = watching(&sandbox, &[]);
    same_both_ways(&sandbox, questions(&sandbox));

    let compared = ask(
        &sandbox,
        [
            OsStr::new("compare"),
            OsStr::new("--format"),
            OsStr::new("json"),
        ]
        .into_iter()
        .chain([
            sandbox.tree("first").as_os_str(),
            sandbox.tree("second").as_os_str(),
        ]),
    );
    let errors = compared.exits(2).json()["errors"].clone();
    let named: Vec<&str> = errors
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(path)
        .collect();
    for name in [
        "first/none",
        "first/enter",
        "first/write",
        "first/deep/er/none",
        "second/none",
    ] {
        let path = sandbox.tree(name);
        assert!(
            named.iter().any(|named| Path::new(named) == path),
            "{name} in {named:?}"
        );
    }

    // A question that names no place looks in the watched folders. So the answer reports the folder
    // that cannot be listed.
    let found = ask(&sandbox, ["find".into(), sandbox.tree("second/a.txt")]).exits(0);
    assert!(found.err.contains("second/none"), "{}", found.err);

    let status = ask(&sandbox, ["status", "--format", "json"]).json();
    let theirs = u64::from(rustix::process::geteuid().is_root());
    // The unreadable entries are five folders, two names in the folder that can be listed, and a
    // file.
    assert_eq!(
        status["roots"][0]["unreadable"],
        json!(8 + theirs),
        "{status}"
    );
    let doctor = ask(&sandbox, ["doctor"]).text();
    assert!(doctor.contains("files or directories of"), "{doctor}");
    let metrics = ask(&sandbox, ["status", "--format", "openmetrics"]).text();
    let line = format!("}} {}", 8 + theirs);
    let is_it = |text: &&str| text.contains("root_unreadable{") && text.ends_with(&line);
    assert!(metrics.lines().any(|text| is_it(&text)), "{metrics}");
    drop(daemon);
}

fn path(error: &Value) -> Option<&str> {
    error["path"].as_str()
}

#[track_caller]
fn same_dumps(sandbox: &Sandbox, what: &str) {
    sync(sandbox);
    let tree = sandbox.path("tree");
    let args = ["dump", "--canonical"].map(OsStr::new);
    let live = ask(sandbox, args.into_iter().chain([tree.as_os_str()]));
    let fresh = ["--local", "--no-cache"].map(OsStr::new);
    let fresh = ask(
        sandbox,
        args.into_iter().chain(fresh).chain([tree.as_os_str()]),
    );
    let both = format!("{what}\n{}\n{}", live.err, fresh.err);
    assert_eq!(live.text(), fresh.text(), "{both}");
    assert_eq!((live.code, &live.err), (fresh.code, &fresh.err), "{both}");
}

#[test]
fn what_lies_in_a_folder_goes_and_comes_with_the_right_to_list_it() {
    let sandbox = Sandbox::new();
    sandbox.write("open/a.txt", prose(1, 4_000));
    sandbox.write("open/dir/old.txt", prose(2, 4_000));
    sandbox.write("open/dir/sub/deep.txt", prose(3, 4_000));
    let daemon = watching(&sandbox, &[]);
    let count = || {
        let status = ask(&sandbox, ["status", "--format", "json"]).json();
        let root = &status["roots"][0];
        (root["files"].as_u64(), root["unreadable"].as_u64())
    };
    for (round, bits) in [0o000, 0o300, 0o100, 0o400, 0o500, 0o300]
        .into_iter()
        .enumerate()
    {
        mode(&sandbox, "open/dir", bits);
        // The owner can make files in a folder that cannot be listed, if the mode of the folder
        // allows writing.
        sandbox.write(
            format!("open/dir/new {round}.txt"),
            prose(10 + round as u64, 4_000),
        );
        same_dumps(&sandbox, &format!("{bits:o}"));
        // Files that are already in the index are changed. One of these files is in a subfolder.
        sandbox.write("open/dir/old.txt", prose(20 + round as u64, 4_000));
        sandbox.write("open/dir/sub/deep.txt", prose(40 + round as u64, 4_000));
        same_dumps(&sandbox, &format!("{bits:o}, written to"));
        let (files, unreadable) = count();
        match bits {
            0o500 => assert_eq!((files, unreadable), (Some(3 + round as u64 + 1), Some(0))),
            // With mode 400 the names can be listed, but the files cannot be accessed.
            0o400 => assert_eq!((files, unreadable), (Some(1), Some(2 + round as u64 + 1))),
            _ => assert_eq!((files, unreadable), (Some(1), Some(1)), "{bits:o}"),
        }
        if round % 2 == 0 {
            mode(&sandbox, "open/dir", 0o755);
            same_dumps(&sandbox, "listed again");
            assert_eq!(count(), (Some(3 + round as u64 + 1), Some(0)));
        }
    }
    // A folder that cannot be listed is moved and then removed.
    fs::rename(sandbox.tree("open/dir"), sandbox.tree("moved")).expect("it moves");
    same_dumps(&sandbox, "moved");
    assert_eq!(count(), (Some(1), Some(1)));
    fs::remove_dir_all(sandbox.tree("moved")).expect("it goes");
    same_dumps(&sandbox, "gone");
    assert_eq!(count(), (Some(1), Some(0)));
    drop(daemon);
}

#[test]
fn a_restart_knows_what_could_not_be_listed() {
    let sandbox = Sandbox::new();
    sandbox.write("open/dir/old.txt", prose(2, 4_000));
    mode(&sandbox, "open/dir", 0o300);
    let daemon = watching(&sandbox, &[]);
    same_dumps(&sandbox, "first");
    assert_eq!(daemon.stop(), 0);
    let daemon = watching(&sandbox, &[]);
    same_dumps(&sandbox, "second");
    assert_eq!(daemon.stop(), 0);
    mode(&sandbox, "open/dir", 0o755);
    let daemon = watching(&sandbox, &[]);
    same_dumps(&sandbox, "listed again");
    drop(daemon);
}

#[test]
fn a_root_that_may_not_be_listed_keeps_its_answers_and_says_so() {
    let sandbox = Sandbox::new();
    let text = prose(1, 9_000);
    sandbox.write("a.txt", &text);
    sandbox.write("b.txt", edited(&text, 1, 2));
    let daemon = watching(&sandbox, &[]);
    let state = || {
        let status = ask(&sandbox, ["status", "--format", "json"]).json();
        let root = &status["roots"][0];
        (
            root["state"].clone(),
            root["files"].clone(),
            root["unreadable"].clone(),
        )
    };
    let found = |code| {
        let args = [OsString::from("find"), sandbox.tree("a.txt").into()];
        let found = ask(&sandbox, args).exits(code);
        assert!(found.text().contains("b.txt"), "{}", found.err);
        found.err
    };
    found(0);
    mode(&sandbox, "", 0o300);
    sync(&sandbox);
    assert_eq!(state(), (json!("unavailable"), json!(2), json!(1)));
    assert!(found(2).contains("Permission denied"));
    mode(&sandbox, "", 0o755);
    drop(daemon);
}

/// Makes a home folder with entries for every rule that leaves something out. Starts a daemon that
/// watches the folder.
fn home(sandbox: &Sandbox) -> Daemon<'_> {
    let text = prose(1, 9_000);
    for name in [
        "docs/a.txt",
        ".cache/a.txt",
        ".cache/deep/b.txt",
        "project/.git/objects/a.txt",
        "project/node_modules/lib/a.txt",
        "project/src/a.txt",
        "project/src/one.o",
        "project/src/two.o",
        "project/build/out.txt",
    ] {
        sandbox.write(name, &text);
    }
    sandbox.write("project/.gitignore", "build/\n");
    sandbox.write("docs/large.txt", prose(2, 90_000));
    sandbox.write("large too.txt", prose(2, 90_000));
    let config = sandbox.path("config.toml");
    let text = format!(
        "[[root]]\npath = \"{}\"\nignore = true\nmax-size = \"64K\"\n\
         exclude = [\".cache\", \"node_modules\", \"*.o\"]\n",
        sandbox.path("tree").display()
    );
    fs::write(&config, text).expect("a configuration");
    let mut command = sandbox.program("resembled");
    command.arg("--config").arg(config);
    command.arg("--mount").arg(sandbox.mount(""));
    let daemon = sandbox.start(&mut command);
    let daemon = daemon.unwrap_or_else(|ran| panic!("resembled ended at once: {ran:?}"));
    daemon.sync();
    daemon
}

fn left_out(sandbox: &Sandbox, args: &[&str], code: i32) -> Vec<(String, u64)> {
    let answer = sandbox
        .resemble(args.iter().chain(&["--format", "json"]))
        .exits(code);
    let rows = answer.json()["left_out"].clone();
    let note = answer.err.contains("left out: ");
    assert_eq!(note, !rows.is_null(), "{args:?} {}", answer.err);
    let rows = rows.as_array().cloned().unwrap_or_default();
    let row = |row: &Value| {
        assert_eq!(
            row["root"].as_str().map(Path::new),
            Some(&*sandbox.path("tree"))
        );
        let rule = row["rule"].as_str().expect("a rule").to_owned();
        (rule, row["entries"].as_u64().expect("a number"))
    };
    rows.iter().map(row).collect()
}

#[test]
fn what_a_root_leaves_out_is_said_and_is_no_error() {
    let sandbox = Sandbox::new();
    let daemon = home(&sandbox);
    let tree = sandbox.tree("");
    let tree = tree.to_str().expect("UTF-8");
    let at = |name: &str| sandbox.tree(name).to_str().expect("UTF-8").to_owned();
    let (docs, project, file) = (at("docs"), at("project"), at("docs/a.txt"));
    let rows = |rows: &[(&str, u64)]| -> Vec<(String, u64)> {
        let rows = rows.iter();
        rows.map(|(rule, count)| ((*rule).to_owned(), *count))
            .collect()
    };
    let all = rows(&[("exclude", 4), ("ignore", 2), ("max-size", 2)]);
    for question in [
        &["groups", tree][..],
        &["groups", tree, "--only", "identical"],
        &["pairs", tree],
        &["find", &file, "--in", tree],
        &["find", &file],
    ] {
        assert_eq!(left_out(&sandbox, question, 0), all, "{question:?}");
    }
    assert_eq!(
        left_out(&sandbox, &["groups", &docs], 1),
        rows(&[("max-size", 1)])
    );
    let of_project = rows(&[("exclude", 3), ("ignore", 2)]);
    assert_eq!(left_out(&sandbox, &["pairs", &project], 1), of_project);
    // If the question itself excludes entries, they are not reported as left out.
    let excluding = [
        "pairs",
        &project,
        "--exclude",
        "*.o",
        "--exclude",
        "node_modules/",
    ];
    assert_eq!(left_out(&sandbox, &excluding, 1), rows(&[("ignore", 2)]));
    assert_eq!(
        left_out(
            &sandbox,
            &["pairs", &at("project/src"), "--exclude", "*.o"],
            1
        ),
        []
    );
    assert_eq!(left_out(&sandbox, &["groups", tree, "--local"], 0), []);

    let report = fs::read(sandbox.mount("docs/a.txt/.similar/.report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("json");
    let printed = ["find", &file, "--format", "json"];
    let printed = sandbox.resemble(printed).json();
    assert!(!report["left_out"].is_null());
    assert_eq!(report["left_out"], printed["left_out"]);
    assert_eq!(report["errors"], printed["errors"]);
    for question in [
        &["catalogue", "write", tree, "-o", "-"][..],
        &["dump", "--canonical", tree],
    ] {
        let err = sandbox.resemble(question).success().err;
        assert!(err.contains("left out: "), "{question:?} {err}");
    }
    let catalogue = sandbox.path("disk.cat");
    let catalogue = catalogue.to_str().expect("UTF-8");
    sandbox
        .resemble(["catalogue", "write", &docs, "-o", catalogue])
        .success();
    sandbox.resemble(["catalogue", "add", catalogue]).success();
    // Answers from the catalogue also report the file that was left out when the catalogue was
    // written.
    for verb in ["history", "lost"] {
        let answer = sandbox.resemble([verb, &file, "--format", "json"]).json();
        let left_out = json!([{"root": "disk:", "rule": "max-size", "entries": 1}]);
        assert_eq!(answer["left_out"], left_out, "{verb} {answer}");
    }

    // The numbers of left-out entries follow changes of the tree.
    fs::remove_file(sandbox.tree("project/src/one.o")).expect("it goes");
    sandbox.write("project/src/three.o", "x");
    sandbox.write("project/src/four.o", "x");
    fs::remove_file(sandbox.tree("docs/large.txt")).expect("it goes");
    fs::rename(sandbox.tree("project/build"), sandbox.tree("project/kept")).expect("it moves");
    daemon.sync();
    let now = rows(&[("exclude", 5), ("ignore", 1), ("max-size", 1)]);
    assert_eq!(left_out(&sandbox, &["groups", tree], 0), now);
    fs::remove_dir_all(sandbox.tree("project")).expect("it goes");
    daemon.sync();
    let now = rows(&[("exclude", 1), ("max-size", 1)]);
    assert_eq!(left_out(&sandbox, &["pairs", tree], 1), now);
}

#[test]
fn all_files_count_where_two_trees_are_compared() {
    let sandbox = Sandbox::new();
    let daemon = home(&sandbox);
    sandbox.write("copy/src/a.txt", prose(1, 9_000));
    daemon.sync();
    let path = |name: &str| sandbox.tree(name).into_os_string();
    let word = |word: &str| OsString::from(word);
    for question in [
        vec![word("compare"), path("project"), path("copy")],
        vec![word("covered"), path("project"), word("--by"), path("copy")],
        vec![word("covered"), path("docs"), word("--by"), path("")],
        vec![word("groups"), path(".cache")],
        vec![word("pairs"), path(".cache/deep"), path(".cache")],
    ] {
        let json = [word("--format"), word("json")];
        let asked = sandbox.resemble(question.iter().chain(&json));
        let local = [word("--local")];
        let alone = sandbox.resemble(question.iter().chain(&json).chain(&local));
        assert_eq!(asked.code, alone.code, "{question:?} {}", asked.err);
        assert_eq!(asked.text(), alone.text(), "{question:?}");
        assert!(asked.json()["left_out"].is_null(), "{}", asked.text());
    }
    let compared = [
        word("compare"),
        path("project"),
        path("copy"),
        word("--format"),
        word("tsv"),
    ];
    let text = sandbox.resemble(compared).text();
    for name in [
        "node_modules/lib/a.txt",
        "src/one.o",
        "build/out.txt",
        ".git/objects/a.txt",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
}
