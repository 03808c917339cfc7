use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use resemble_testutil::Sandbox;
use resemble_testutil::office::{docx, odt, pdf};
use resemble_testutil::pack::{mail, zip};
use resemble_testutil::prose::{edited, prose};

/// Makes a small collection with versions, parts, copies, hard links, boilerplate and hostile
/// names.
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

/// `groups --files-from` reduces lists of hits to one line for each cluster. The output is the same
/// with and without a daemon.
#[test]
fn folded_lists_have_the_same_bytes_too() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let list = sandbox.path("list");
    let hits: Vec<String> = (0..6)
        .flat_map(|family| [1, 0, 4].map(|version| format!("family {family}/v{version}.txt")))
        .chain(["copies/1.copy".into(), "copies/1.link".into()])
        .map(|name| format!("{}\n", sandbox.tree(name).display()))
        .collect();
    std::fs::write(&list, hits.concat()).expect("a list");
    let fold = vec![
        "groups".into(),
        "--files-from".into(),
        list.into_os_string(),
    ];
    same_both_ways(&sandbox, vec![fold], &["text", "json", "tsv"]);
}

/// Reports about two large trees, as an administrator needs them, are the same with and without a
/// daemon.
#[test]
fn reports_have_the_same_bytes_too() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    // `second` contains files that were moved, edited, added or split. It also contains an empty
    // file and a link.
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
    // `first` has all files of families 2 to 5, and a hard link to a file in `second`.
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
    // For text output, the command requests fewer rows than for a JSON document. So text output is
    // compared, too.
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
        ask(&["groups", "--only", "identical"], &[&tree]),
        ask(
            &["groups", "--only", "identical", "--min-size", "2K"],
            &[&second, &first],
        ),
        ask(&["groups", "--only", "near", "--top", "3"], &[&tree]),
        of,
    ];
    // All other formats are made from the same document as the JSON output.
    same_both_ways(&sandbox, questions, &["json"]);
}

/// The daemon and the command compare documents by their texts. The answer does not depend on
/// earlier questions.
#[test]
fn documents_have_the_same_answers_too() {
    let sandbox = Sandbox::new();
    let text = |family: u64, edits: usize| {
        let text = edited(&prose(family, 12_000), family + 1, edits);
        String::from_utf8(text).expect("ASCII")
    };
    for family in 0..4 {
        sandbox.write(format!("first/{family}.docx"), docx(&text(family, 0)));
        sandbox.write(format!("first/{family}.txt"), text(family + 10, 0));
        sandbox.write(format!("second/{family}.odt"), odt(&text(family, 3)));
        sandbox.write(format!("second/{family}.pdf"), pdf(&text(family + 10, 2)));
    }
    let member = text(1, 5);
    let packed = zip(&[
        ("one.txt", member.as_bytes()),
        ("two.docx", &docx(&text(2, 4))),
    ]);
    sandbox.write("third/packed.zip", packed);
    let attached = docx(&text(3, 1));
    sandbox.write(
        "third/a.eml",
        mail("It is attached.", &[("c.docx", &attached)]),
    );
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let tree = sandbox.path("tree").into_os_string();
    let (first, second) = (sandbox.tree("first"), sandbox.tree("second"));
    let question = |words: &str| -> Vec<OsString> {
        let words = words.split(' ').map(|word| match word {
            "TREE" => tree.clone(),
            "FIRST" => first.clone().into_os_string(),
            "SECOND" => second.clone().into_os_string(),
            "FILE" => first.join("1.docx").into_os_string(),
            word => word.into(),
        });
        words.collect()
    };
    // The first question is `dirs`, because the command has extracted no text yet.
    let questions = [
        "dirs TREE",
        "dirs TREE --of FIRST",
        "covered FIRST --by TREE --all",
        "groups TREE --order",
        "groups TREE --only identical",
        "pairs TREE",
        "pairs TREE --text=off",
        "pairs TREE --text",
        "find FILE --in TREE",
        "groups TREE",
        "groups TREE --only near",
        "compare FIRST SECOND",
        "dirs TREE",
    ];
    let questions = questions.map(question).into();
    same_both_ways(&sandbox, questions, &["json"]);
}

/// A subject outside of the roots is sent to the daemon, or read by the command.
#[test]
fn subjects_from_elsewhere_have_the_same_answers_too() {
    let sandbox = Sandbox::new();
    let (text, other) = (prose(1, 20_000), prose(2, 9_000));
    sandbox.write("a.txt", &text);
    sandbox.write("b.docx", docx(&String::from_utf8_lossy(&other)));
    sandbox.write("c.zip", zip(&[("a.txt", &edited(&text, 9, 2))]));
    let outside = |name: &str, bytes: Vec<u8>| {
        let path = sandbox.path("outside").join(name);
        std::fs::create_dir_all(sandbox.path("outside")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path.into_os_string()
    };
    let members = [
        ("x/a.txt", &*edited(&text, 3, 5)),
        ("x/b.txt", &edited(&other, 4, 3)),
    ];
    let archive = outside("box.zip", zip(&members));
    let member = |name: &str| {
        let mut path = archive.clone();
        path.push(name);
        path
    };
    let mut files = vec![
        outside("edited.txt", edited(&text, 5, 4)),
        outside(
            "edited.docx",
            docx(&String::from_utf8_lossy(&edited(&other, 6, 2))),
        ),
        outside("letter.eml", mail("See the file.", &[("a.txt", &text)])),
        member("!x/a.txt"),
        member("!x/b.txt"),
    ];
    files.push(archive);
    let tree = sandbox.path("tree").into_os_string();
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let question = |file| vec!["find".into(), file, "--in".into(), tree.clone()];
    let questions: Vec<_> = files.into_iter().map(question).collect();
    for question in &questions {
        let found = sandbox.resemble(question).success();
        assert!(!found.text().contains('~'), "{question:?} {}", found.text());
    }
    same_both_ways(&sandbox, questions, &["text", "json"]);
}

#[test]
fn the_order_for_archives_is_the_same() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let tree = sandbox.path("tree").into_os_string();
    let order = |extra: &[&str]| -> Vec<OsString> {
        let words = ["groups".into(), tree.clone(), "--order".into()].into_iter();
        words.chain(extra.iter().map(OsString::from)).collect()
    };
    let questions = vec![
        order(&[]),
        order(&["--memory", "1M"]),
        order(&["--exclude", "copies/", "--min", "80%"]),
    ];
    same_both_ways(
        &sandbox,
        questions,
        &["text", "json", "jsonl", "csv", "tsv"],
    );
    let null = sandbox.resemble(order(&["-0"])).success();
    let local = sandbox.resemble(order(&["-0", "--local"])).success();
    assert_eq!(null.out, local.out);
    let names: Vec<&[u8]> = null.out.split(|byte| *byte == 0).collect();
    // The names are those of 6 × 7 files, the unrelated file, a hard link and the empty file. The
    // last NUL is followed by an empty piece.
    assert_eq!(names.len(), 6 * 7 + 3 + 1);
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    let place = |name: &str| {
        let whole = sandbox.tree(name).into_os_string().into_encoded_bytes();
        let place = names.iter().position(|one| *one == whole);
        place.unwrap_or_else(|| panic!("{name} is not in the list"))
    };
    // In the order for an archive, a copy is next to its original.
    assert_eq!(place("family 4/v0.txt").abs_diff(place("copies/4.copy")), 1);
}

/// A template changes the scores of `dirs` and of `compare`, with a daemon and without.
#[test]
fn templates_count_in_dirs_and_compare() {
    let sandbox = Sandbox::new();
    let frame = prose(1, 9_000);
    for page in 0..6 {
        let text = |own: u64| [frame.clone(), prose(own, 3_000)].concat();
        sandbox.write(format!("first/page-{page}.html"), text(100 + page));
        sandbox.write(format!("second/page-{page}.html"), text(200 + page));
    }
    // These two files have common text that is not in the template. This text still counts.
    sandbox.write("first/real.txt", prose(7, 8_000));
    sandbox.write("second/real.txt", edited(&prose(7, 8_000), 1, 2));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let [tree, first, second] =
        ["", "first", "second"].map(|name| sandbox.tree(name).into_os_string());
    let dirs = vec!["dirs".into(), tree, "--min".into(), "1%".into()];
    let compare: Vec<OsString> = vec!["compare".into(), first, second];
    let asked = |question: &[OsString]| -> serde_json::Value {
        let format = ["--format".into(), "json".into()];
        let answer = sandbox.resemble(question.iter().chain(&format));
        assert!(answer.code < 2, "{}", answer.err);
        serde_json::from_str(&answer.text()).expect("JSON")
    };
    let both = || {
        same_both_ways(
            &sandbox,
            vec![dirs.clone(), compare.clone()],
            &["json", "csv"],
        );
        (asked(&dirs), asked(&compare))
    };
    let share = |row: &serde_json::Value| row["a_in_b"].as_f64().expect("a share");
    let page = |answer: &serde_json::Value| {
        let rows = answer["entries"].as_array().expect("rows").clone();
        let row = rows.into_iter().find(|row| row["a"] == "page-0.html");
        row.expect("a row of page-0")
    };
    let (dirs_before, compare_before) = both();
    assert!(share(&dirs_before["pairs"][0]) > 0.7, "{dirs_before}");
    assert!(share(&page(&compare_before)) > 0.7, "{compare_before}");

    let pages = [1, 2, 3].map(|page| sandbox.tree(format!("first/page-{page}.html")));
    let mark = ["templates", "mark", "--name", "frame"].map(OsString::from);
    let words = mark.into_iter().chain(pages.map(PathBuf::into_os_string));
    sandbox.resemble(words).success();
    let (dirs_after, compare_after) = both();
    let left = &dirs_after["pairs"][0];
    assert!(left.is_null() || share(left) < 0.5, "{dirs_after}");
    let row = page(&compare_after);
    // Two files at the same path are in the class `edited`, whatever their score.
    assert_eq!(row["class"], "edited");
    // Of the chunks with text of the template, only those that also have other text are still
    // counted.
    assert!(share(&row) < 0.4, "{row}");
    let bytes = |answer: &serde_json::Value| answer["summary"]["bytes_a_in_b"].as_u64();
    assert!(
        bytes(&compare_after) < bytes(&compare_before),
        "{compare_after}"
    );

    sandbox.resemble(["templates", "unmark", "frame"]).success();
    assert_eq!(both(), (dirs_before, compare_before));
}

/// If nothing is found, the JSON document and the note on standard error state the number of files
/// that were compared.
#[test]
fn nothing_found_is_the_same_answer() {
    let sandbox = Sandbox::new();
    for seed in 0..4 {
        sandbox.write(format!("docs/{seed}.txt"), prose(seed, 3_000));
    }
    sandbox.write("docs/tiny", b"x");
    sandbox.write("lone/one.txt", prose(10, 3_000));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let [docs, lone, file] =
        ["docs", "lone", "docs/1.txt"].map(|name| sandbox.tree(name).into_os_string());
    let skip = ["--exclude", "3.txt"].map(OsString::from);
    let questions = [
        vec!["find".into(), file, "--in".into(), lone.clone()],
        vec![
            "pairs".into(),
            docs.clone(),
            skip[0].clone(),
            skip[1].clone(),
        ],
        vec![
            "groups".into(),
            docs.clone(),
            skip[0].clone(),
            skip[1].clone(),
        ],
        vec!["dirs".into(), docs.clone()],
        vec!["compare".into(), docs.clone(), lone.clone()],
        vec!["covered".into(), docs, "--by".into(), lone],
    ];
    for question in questions {
        let ask = |extra: &[&str]| {
            let extra = extra.iter().map(OsString::from).collect::<Vec<_>>();
            let answer = sandbox.resemble(question.iter().chain(&extra));
            assert_eq!(answer.code, 1, "{question:?}: {}", answer.err);
            (answer.text(), answer.err)
        };
        for format in ["text", "json"] {
            let daemon = ask(&["--format", format]);
            assert_eq!(
                daemon,
                ask(&["--format", format, "--local"]),
                "{question:?}"
            );
        }
        let (text, _) = ask(&["--format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let looked = &json["looked"];
        let number = |key: &str| {
            looked[key]
                .as_u64()
                .unwrap_or_else(|| panic!("{question:?}: {json}"))
        };
        assert!(
            number("files") > 0 && number("bytes") > 0,
            "{question:?}: {json}"
        );
        assert!(number("least_run") > 0, "{question:?}: {json}");
    }
}

/// The daemon and the command leave out the state and cache folders, even in a watched tree.
#[test]
fn our_own_folders_are_left_out_by_both() {
    let sandbox = Sandbox::new();
    let text = prose(1, 5_000);
    for name in ["docs/a.txt", "cache/resemble/b.txt", "state/resemble/c.txt"] {
        sandbox.write(name, &text);
    }
    let own = [("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state")];
    let own = own.map(|(variable, folder)| (variable, sandbox.tree(folder)));
    let tree = sandbox.path("tree");
    let mut command = sandbox.program("resembled");
    command.arg(&tree).envs(own.clone());
    let daemon = sandbox.start(&mut command).expect("a daemon");
    daemon.sync();
    for extra in [&[][..], &["--local"], &["--local", "--no-cache"]] {
        let mut command = sandbox.program("resemble");
        let args = ["pairs", "--format", "json"];
        command.args(args).args(extra).arg(&tree).envs(own.clone());
        let output = command.output().expect("resemble runs");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["looked"]["files"], 1, "{extra:?}: {json}");
    }
}

/// Asks a question in three ways: by the daemon, by the command with its cache, and by the command
/// without a cache. The three answers must have the same bytes and the same exit code.
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
                asked.code,
                local.code,
                "{args:?} {}",
                asked.err + &local.err
            );
            assert!(!asked.out.is_empty(), "{args:?}: {}", asked.err);
            assert_eq!(asked.text(), local.text(), "{args:?}");
            assert_eq!(local.text(), again.text(), "{args:?} without the cache");
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
            .text()
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
        .text();
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
