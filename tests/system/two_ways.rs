use std::ffi::{OsStr, OsString};

use resemble_tests::Sandbox;
use resemble_tests::text::{edited, prose};

/// A small collection: versions, parts, copies, hard links, boilerplate, hostile names.
fn collection(sandbox: &Sandbox) {
    let header = prose(100, 1_200);
    for family in 0..6 {
        let base = [
            header.clone(),
            prose(family, 4_000 + 3_000 * family as usize),
        ]
        .concat();
        for version in 0..5 {
            let name = format!("family {family}/v{version}.txt");
            sandbox.write(name, edited(&base, version, version as usize * 3));
        }
        sandbox.write(format!("parts/{family}.part"), &base[..base.len() / 3]);
        sandbox.write(format!("copies/{family}.copy"), &base);
    }
    sandbox.write("odd/tab\tname.txt", prose(3, 13_000));
    let (from, to) = (sandbox.tree("copies/1.copy"), sandbox.tree("copies/1.link"));
    std::fs::hard_link(from, to).expect("a hard link");
    sandbox.write("empty", b"");
}

#[test]
fn the_same_question_has_the_same_bytes_for_an_answer() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let tree = sandbox.path("tree").into_os_string();
    let file = sandbox.tree("family 2/v1.txt").into_os_string();
    let parts = sandbox.tree("parts").into_os_string();
    let questions: Vec<Vec<OsString>> = vec![
        vec!["find".into(), file.clone(), "--in".into(), tree.clone()],
        vec!["find".into(), file.clone(), "--in".into(), parts.clone()],
        vec![
            "find".into(),
            file,
            "--in".into(),
            tree.clone(),
            "--min".into(),
            "90%".into(),
        ],
        vec!["pairs".into(), tree.clone()],
        vec!["pairs".into(), parts, tree.clone()],
        vec![
            "pairs".into(),
            tree.clone(),
            "--score".into(),
            "resemblance".into(),
        ],
        vec!["dump".into(), "--canonical".into(), tree],
    ];
    let formats = ["text", "json", "jsonl", "csv", "tsv"];
    same_both_ways(&sandbox, questions, &formats);
}

/// The questions of an admin with two big trees.
#[test]
fn reports_have_the_same_bytes_too() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    // A second tree: moved, edited, new, gone, split, links and special files.
    let copy = |from: &str, to: &str, change: u64| {
        let bytes = std::fs::read(sandbox.tree(from)).expect("a file");
        sandbox.write(to, edited(&bytes, change, change as usize));
    };
    for version in 0..5 {
        copy(
            &format!("family 3/v{version}.txt"),
            &format!("second/three/w{version}"),
            0,
        );
        copy(
            &format!("family 4/v{version}.txt"),
            &format!("second/family 4/v{version}.txt"),
            version % 2,
        );
    }
    copy("family 5/v1.txt", "second/elsewhere/one.txt", 3);
    let whole = std::fs::read(sandbox.tree("family 2/v0.txt")).expect("a file");
    let (head, tail) = whole.split_at(whole.len() / 2);
    sandbox.write("second/split/head", head);
    sandbox.write("second/split/tail", tail);
    sandbox.write("second/new", prose(777, 5_000));
    sandbox.write("second/empty", b"");
    std::os::unix::fs::symlink("new", sandbox.tree("second/link")).expect("a link");
    // A part of the first tree with all of these, as the other side.
    for family in 2..6 {
        for version in 0..5 {
            copy(
                &format!("family {family}/v{version}.txt"),
                &format!("first/family {family}/v{version}.txt"),
                0,
            );
        }
    }
    std::fs::hard_link(
        sandbox.tree("second/three/w1"),
        sandbox.tree("first/linked"),
    )
    .expect("a hard link");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let (tree, first, second) = (
        sandbox.path("tree").into_os_string(),
        sandbox.tree("first").into_os_string(),
        sandbox.tree("second").into_os_string(),
    );
    let file = sandbox.tree("family 2/v1.txt").into_os_string();
    let ask = |words: &[&str], paths: &[&OsString]| -> Vec<OsString> {
        let (verb, options) = words.split_first().expect("a verb");
        std::iter::once(OsString::from(verb))
            .chain(paths.iter().map(|path| (*path).clone()))
            .chain(options.iter().map(OsString::from))
            .collect()
    };
    let mut by = ask(&["covered"], &[&first]);
    by.extend(["--by".into(), tree.clone()]);
    let mut back = ask(&["covered", "--all"], &[&second]);
    back.extend(["--by".into(), first.clone()]);
    let mut of = ask(&["groups", "--family"], &[&tree]);
    of.extend(["--of".into(), file]);
    let mut like = ask(&["dirs"], &[&tree]);
    like.extend(["--of".into(), first.clone()]);
    let compare = ask(&["compare"], &[&first, &second]);
    // Text asks for fewer rows than a document.
    same_both_ways(&sandbox, vec![compare.clone()], &["text"]);
    let exact = ["compare", "--min", "80%", "--names", "--exact"];
    let cut = ["compare", "--exclude", "v1*", "--top", "3"];
    let questions = vec![
        compare,
        ask(&exact, &[&second, &first]),
        ask(&cut, &[&first, &second]),
        by,
        back,
        ask(&["dirs"], &[&tree]),
        like,
        ask(&["groups"], &[&tree]),
        ask(&["groups", "--memory", "1M", "--top", "2"], &[&tree]),
        ask(&["groups", "--degree", "half"], &[&first, &second]),
        ask(&["groups", "--order"], &[&tree]),
        of,
    ];
    // The other formats are made of the same document.
    same_both_ways(&sandbox, questions, &["json"]);
}

/// Through the daemon, by the command itself, and without its cache: the same bytes and exit code.
fn same_both_ways(sandbox: &Sandbox, questions: Vec<Vec<OsString>>, formats: &[&str]) {
    for question in questions {
        let formats = match question[0].to_str() {
            Some("dump") => &[""],
            _ => formats,
        };
        for format in formats {
            let mut args = question.clone();
            if !format.is_empty() {
                args.extend(["--format".into(), OsString::from(format)]);
            }
            let asked = sandbox.resemble(&args);
            let local = sandbox.resemble(
                args.iter()
                    .map(OsString::as_os_str)
                    .chain([OsStr::new("--local")]),
            );
            let again = sandbox.resemble(
                args.iter()
                    .map(OsString::as_os_str)
                    .chain([OsStr::new("--local"), OsStr::new("--no-cache")]),
            );
            assert_eq!(
                asked.code(),
                local.code(),
                "{args:?} {}",
                asked.err() + &local.err()
            );
            assert!(!asked.0.stdout.is_empty(), "{args:?}: {}", asked.err());
            assert_eq!(asked.out(), local.out(), "{args:?}");
            assert_eq!(local.out(), again.out(), "{args:?} without the cache");
        }
    }
}

#[test]
fn the_cache_is_right_after_changes() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    let tree = sandbox.path("tree").into_os_string();
    let ask = |extra: &[&str]| {
        let args = [
            OsStr::new("pairs"),
            &tree,
            OsStr::new("--format"),
            OsStr::new("tsv"),
        ];
        sandbox
            .resemble(args.into_iter().chain(extra.iter().map(OsStr::new)))
            .success()
            .out()
    };
    assert_eq!(ask(&[]), ask(&["--no-cache"]));
    sandbox.write("family 1/v1.txt", prose(4_000, 9_000));
    std::fs::remove_dir_all(sandbox.tree("family 2")).expect("gone");
    std::fs::rename(sandbox.tree("family 3"), sandbox.tree("three")).expect("renamed");
    assert_eq!(ask(&[]), ask(&["--no-cache"]));
}

#[test]
fn standard_input_and_unwatched_files_are_looked_up() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let text = std::fs::read(sandbox.tree("family 4/v2.txt")).expect("a file");
    let outside = sandbox.path("outside.txt");
    std::fs::write(&outside, edited(&text, 9, 2)).expect("a file");
    let found = sandbox
        .resemble([OsStr::new("find"), outside.as_os_str()])
        .success()
        .out();
    assert!(found.contains("family 4/v2.txt"), "{found}");
    let input = std::fs::File::open(&outside).expect("a file");
    let mut command = sandbox.program("resemble");
    let piped = command
        .args(["find", "-"])
        .stdin(input)
        .output()
        .expect("it runs");
    assert_eq!(String::from_utf8_lossy(&piped.stdout), found);
}
