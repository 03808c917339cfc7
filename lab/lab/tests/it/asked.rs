//! Tests of methods in `find`, `pairs` and `dump`.

use crate::environment;
use resemble_methods::Method;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, finish};

/// Creates a folder with a text, and with a copy, an edited version and a part of this text. One
/// file has the text twice. The folder also has an unrelated file, a file that is too small to
/// judge, and an empty file.
pub(crate) fn collection() -> Environment {
    let env = environment();
    let text = paragraphs(1, 400);
    env.write("docs/report.txt", &text);
    env.write("docs/copy.txt", &text);
    env.write("docs/edited.txt", text.replacen("river", "brook", 9));
    env.write("docs/part.txt", &text[..text.len() / 4]);
    env.write("docs/twice.txt", format!("{text}{text}"));
    env.write("docs/stranger.txt", paragraphs(2, 400));
    env.write("docs/small.txt", "too small");
    env.write("docs/empty", "");
    env
}

#[test]
fn every_method_finds_the_copy_and_not_the_stranger() {
    let env = collection();
    for method in Method::ALL.map(Method::name) {
        let args = [
            "find",
            "docs/report.txt",
            "--in",
            "docs",
            "--method",
            method,
            "--format",
            "json",
        ];
        let answer = env.run(args);
        let json = answer.json();
        assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{method}");
        assert_eq!(json["parameters"]["method"], method);
        let results = json["results"].as_array().unwrap();
        let of = |path: &str| {
            let mut rows = results.iter();
            rows.find(|row| row["path"] == format!("docs/{path}"))
                .cloned()
        };
        let copy = of("copy.txt").expect(method);
        assert_eq!(
            (&copy["relation"], &copy["score"]),
            (&"identical".into(), &1.0.into()),
            "{method}"
        );
        assert!(of("report.txt").is_none(), "{method}");
        assert!(
            of("stranger.txt").is_none() && of("empty").is_none(),
            "{method}"
        );
        assert!(of("edited.txt").is_some(), "{method}: {json}");
        let tells_chunks = matches!(method, "tttd" | "bsw");
        assert_eq!(copy["shared_bytes"].is_u64(), tells_chunks, "{method}");
    }
}

/// Tests an example of sif's paper: "The query is a call for papers; another file holds two
/// versions of it."
#[test]
fn sif_says_two_hundred_percent() {
    let env = collection();
    let args = ["find", "docs/report.txt", "--in", "docs", "--method", "sif"];
    let text = env.run(args).text();
    let first = text.lines().next().unwrap();
    assert!(first.contains("docs/twice.txt"), "{text}");
    let percent: u32 = first.split('%').next().unwrap().trim().parse().unwrap();
    assert!((195..=205).contains(&percent), "{text}");
}

#[test]
fn tsv_has_the_columns_of_the_contract_and_csv_the_score() {
    let env = collection();
    let run = |verb: &[&str], format: &str| {
        let mut args = verb.to_vec();
        args.extend([
            "--method", "mod", "--n", "10", "--min", "0", "--format", format,
        ]);
        env.run(args).text()
    };
    let (find, pairs) = (
        ["find", "docs/report.txt", "--in", "docs"],
        ["pairs", "docs"],
    );
    for line in run(&find, "tsv").lines() {
        assert_eq!(line.split('\t').count(), 8, "{line}");
    }
    for line in run(&pairs, "tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 7, "{line}");
        // The row has the paper's figure with all decimals, and no bytes in common chunks.
        assert!(
            fields[2].parse::<f64>().unwrap() > 0.0 && fields[6].is_empty(),
            "{line}"
        );
    }
    let csv = run(&find, "csv");
    assert_eq!(
        csv.lines().next(),
        Some("file,path,relation,layer,a_in_b,b_in_a,resemblance,shared_bytes,score,size")
    );
    assert_eq!(
        run(&pairs, "csv").lines().next(),
        Some("a,b,score,a_in_b,b_in_a,resemblance,shared_bytes,identical")
    );
}

#[test]
fn what_a_method_cannot_tell_is_null_or_refused() {
    let env = collection();
    for method in ["min", "sketch"] {
        let answer = env.run(["pairs", "docs", "--method", method, "--format", "json"]);
        let json = answer.json();
        assert_eq!(json["parameters"]["score"], "paper");
        for row in json["pairs"].as_array().unwrap() {
            assert!(row["a_in_b"].is_null() && row["b_in_a"].is_null(), "{row}");
            assert_eq!(row["shared_bytes"], serde_json::Value::Null);
            assert!(
                row["score"].is_f64() && row["resemblance"].is_f64(),
                "{row}"
            );
        }
        // The folder does not exist, so the question must be refused before any file is read.
        let refused = env.run([
            "pairs",
            "no/such/dir",
            "--method",
            method,
            "--score",
            "containment",
        ]);
        assert_eq!(refused.code, 2);
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
        assert!(
            refused.err.contains("cannot tell how much"),
            "{}",
            refused.err
        );
    }
    let answered = env.run(["pairs", "docs", "--method", "mod", "--score", "containment"]);
    assert_eq!(answered.code, 0);
}

#[test]
fn too_small_to_judge_is_null() {
    let env = collection();
    env.write("docs/small too.txt", "too small");
    let answer = env.run([
        "pairs", "docs", "--method", "mod", "--min", "0", "--format", "jsonl",
    ]);
    let text = answer.text();
    let small = text
        .lines()
        .find(|line| line.contains("small.txt"))
        .unwrap();
    let row: serde_json::Value = serde_json::from_str(small).unwrap();
    assert_eq!(
        (&row["identical"], &row["score"]),
        (&true.into(), &serde_json::Value::Null)
    );
    let find = env.run([
        "find",
        "docs/small.txt",
        "--in",
        "docs/part.txt",
        "--method",
        "mod",
    ]);
    assert!(find.err.contains("too small to judge"), "{}", find.err);
    assert_eq!(find.code, 1);
}

#[test]
fn the_threshold_is_the_papers_unless_another_is_asked_for() {
    let env = collection();
    let count = |min: &[&str]| {
        let mut args = vec![
            "pairs", "docs", "--method", "mod", "--n", "10", "--format", "tsv",
        ];
        args.extend(min);
        env.run(args).text().lines().count()
    };
    let (papers, some, any) = (count(&[]), count(&["--min", "20%"]), count(&["--min", "0"]));
    assert!(papers < some && some <= any, "{papers} {some} {any}");
    assert_eq!(papers, count(&["--min", "70%"]));
}

#[test]
fn parameters_are_refused_with_the_reason() {
    let env = collection();
    for (args, message) in [
        (&["pairs", "docs", "--method", "nonsense"][..], "nonsense"),
        (&["pairs", "docs", "--window", "20"], "--method"),
        (
            &["pairs", "docs", "--method", "default", "--window", "20"],
            "invalid value 'default' for '--method <METHOD>'",
        ),
        (&["groups", "docs", "--same-type"], "--method"),
        (
            &["pairs", "docs", "--method", "sif", "--words", "5"],
            "sif has no parameter words",
        ),
        (
            &["pairs", "docs", "--method", "sif", "--rate", "100"],
            "power of two",
        ),
        (
            &["pairs", "docs", "--method", "mod", "--window", "3"],
            "between 5 and 100",
        ),
        (
            &["pairs", "docs", "--method", "mod", "--exact"],
            "--exact is for sorted5",
        ),
        (
            &["pairs", "docs", "--method", "mod", "--min-shared", "9"],
            "--min-shared",
        ),
        (
            &["pairs", "docs", "--method", "mod", "--format", "html"],
            "possible values: text, json, jsonl, csv, tsv",
        ),
        (
            &["pairs", "docs", "--method", "sorted5", "--bits", "40"],
            "between 8 and 32",
        ),
        (
            &["pairs", "docs", "--method", "sorted5", "--stem", "czech"],
            "czech",
        ),
        (
            &["pairs", "docs", "--method", "mod", "--shards", "2"],
            "--shards is for sorted5",
        ),
        (
            &[
                "pairs",
                "docs",
                "--method",
                "mod",
                "--dictionary",
                "docs/small.txt",
            ],
            "mod has no parameter dictionary",
        ),
        (
            &[
                "pairs",
                "docs",
                "--method",
                "sorted5",
                "--lemmas",
                "docs/small.txt",
            ],
            "line 1 of the lemmas",
        ),
        (&["pairs", "docs", "--score", "paper"], "--method"),
        (
            &["groups", "docs", "--method", "min", "--interesting", "3"],
            "--interesting",
        ),
        (
            &["groups", "docs", "--method", "sif", "--where", "a.size <"],
            "at byte 9",
        ),
        (
            &["groups", "docs", "--method", "sif", "--plan", "symlink"],
            "--plan",
        ),
        (&["pairs", "--method", "sif", "--features", "none"], "none"),
        (
            &[
                "find",
                "docs/part.txt",
                "--in",
                "docs",
                "--method",
                "sif-anchors",
                "--anchors",
                "docs/empty",
            ],
            "anchor",
        ),
    ] {
        let answer = env.run(args);
        assert_eq!((answer.code, answer.out.len()), (2, 0), "{args:?}");
        assert!(answer.err.contains(message), "{args:?}: {}", answer.err);
    }
}

#[test]
fn sets_of_other_programs() {
    let env = environment();
    let set = |from: u32, to: u32| {
        let words: Vec<String> = (from..to).map(|word| format!("w{word}")).collect();
        words.join(" ")
    };
    let lines = format!(
        "# sets\na\t{}\nb\t{}\nc\t{}\n",
        set(0, 4000),
        set(1000, 5000),
        set(9000, 9900)
    );
    env.write("sets.tsv", lines);
    for method in Method::ALL.map(Method::name) {
        let answer = env.run([
            "pairs",
            "--features",
            "sets.tsv",
            "--method",
            method,
            "--min",
            "10%",
            "--format",
            "tsv",
        ]);
        let text = answer.text();
        let [row] = &text.lines().collect::<Vec<_>>()[..] else {
            panic!("{method}: {text}{}", answer.err);
        };
        let fields: Vec<&str> = row.split('\t').collect();
        assert_eq!(fields[..2], ["a", "b"]);
        // The two sets have 4000 features each: 3000 of all 5000 are common. So the resemblance is
        // 0.6. sif and the methods with chunks give the share of one set, which is 0.75.
        let score: f64 = fields[2].parse().unwrap();
        let expected = if matches!(method, "tttd" | "bsw" | "sif" | "sif-anchors") {
            0.75
        } else {
            0.6
        };
        assert!((score - expected).abs() < 0.17, "{method} {score}");
    }
    for method in Method::ALL.map(Method::name) {
        let ask = |question: &[&str]| {
            let usual = ["--features", "sets.tsv", "--method", method];
            let limits = ["--min", "10%", "--format", "json"];
            env.run(question.iter().chain(&usual).chain(&limits)).json()
        };
        let found = ask(&["find", "a"]);
        let [row] = &found["results"].as_array().unwrap()[..] else {
            panic!("{method}: {found}");
        };
        assert_eq!((&row["path"], &row["size"]), (&"b".into(), &4000.into()));
        let grouped = ask(&["groups", "--of", "b"]);
        let [group] = &grouped["groups"].as_array().unwrap()[..] else {
            panic!("{method}: {grouped}");
        };
        let members = &group["members"];
        assert_eq!(
            (&group["path"], &members[0]["path"]),
            (&"a".into(), &"b".into())
        );
        assert_eq!(
            ask(&["groups", "--of", "c"])["groups"]
                .as_array()
                .map(Vec::len),
            Some(0)
        );
    }
    for question in [&["find", "absent"][..], &["groups", "--of", "absent"]] {
        let sets = ["--features", "sets.tsv", "--method", "mod"];
        let absent = env.run(question.iter().chain(&sets));
        assert!(
            absent.code == 2 && absent.err.contains("absent"),
            "{absent:?}"
        );
    }
    env.write("bad.tsv", "a\t1\na\t2\n");
    let bad = env.run(["pairs", "--features", "bad.tsv", "--method", "mod"]);
    assert!(bad.code == 2 && bad.err.contains("line 2"), "{}", bad.err);
}

#[test]
fn a_second_question_reads_no_file() {
    let env = collection();
    let ask = || {
        env.run([
            "pairs", "docs", "--method", "sif", "--min", "0", "--format", "tsv",
        ])
        .text()
    };
    let first = ask();
    assert_eq!(ask(), first);
    assert_eq!(
        env.run(["dump", "docs", "--method", "sif"])
            .text()
            .lines()
            .count(),
        8
    );
    // Standard input is compared like a file.
    let text = std::fs::read(env.path("docs/report.txt")).unwrap();
    let mut child = env.command([
        "find", "-", "--in", "docs", "--method", "sif", "--format", "tsv",
    ]);
    let by_stdin = finish(&mut child, &text).text();
    let by_name = env.run([
        "find",
        "docs/report.txt",
        "--in",
        "docs",
        "--method",
        "sif",
        "--format",
        "tsv",
    ]);
    assert_eq!(by_stdin.lines().count(), by_name.text().lines().count() + 1);
}

/// Only the words of the dictionary are used, and words are replaced by their basic forms.
#[test]
fn words_of_a_dictionary_and_basic_forms() {
    let env = environment();
    env.write(
        "docs/a",
        "the crane lifts a heavy stone over the old wall today",
    );
    env.write(
        "docs/b",
        "the crane xyz lifted a heavy stones over qqq the old wall today",
    );
    env.write(
        "words",
        "the crane lifts lifted a heavy stone stones over old wall today",
    );
    env.write(
        "lemmas",
        "# forms\nlifts\tlift\nlifted\tlift\nstones\tstone\n",
    );
    let score = |more: &[&str]| {
        let args = [
            "pairs", "docs", "--method", "sorted5", "--min", "0", "--format", "json",
        ];
        let json = env.run(args.iter().chain(more).copied()).json();
        let id = json["parameters"]["method_params"]
            .as_str()
            .unwrap()
            .to_owned();
        (json["pairs"][0]["score"].as_f64().unwrap_or(0.0), id)
    };
    let (none, id) = score(&[]);
    assert_eq!(
        (none, id.as_str()),
        (0.0, "sorted5.words-5.bits-24.hash-md5.v1")
    );
    let (some, id) = score(&["--dictionary", "words"]);
    assert!(some < 1.0 && id.contains(".dictionary-"), "{some} {id}");
    let (all, id) = score(&["--dictionary", "words", "--lemmas", "lemmas"]);
    assert!(
        (1.0 - all).abs() < 1e-9 && id.contains(".lemmas-"),
        "{all} {id}"
    );
    let (all, id) = score(&[
        "--dictionary",
        "words",
        "--stem",
        "english",
        "--hash",
        "blake3",
    ]);
    assert!(
        (1.0 - all).abs() < 1e-9 && id.contains("hash-blake3") && id.contains(".stem-english"),
        "{all} {id}"
    );
}

/// With `--shards` and without a cache, the arrays are made in a temporary folder.
#[test]
fn shards_work_without_a_cache() {
    let env = environment();
    for seed in 0..6 {
        let text = format!(
            "{}\n{}",
            paragraphs(seed / 2, 20),
            paragraphs(seed + 100, 5)
        );
        env.write(format!("docs/{seed}.txt"), text);
    }
    let scratch = env.path("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let ask = |question: &[&str], more: &[&str], set: &dyn Fn(&mut std::process::Command)| {
        let usual = ["--method", "sorted5", "--bits", "16", "--format", "jsonl"];
        let mut command = env.command([question, &usual, more].concat());
        command.env("TMPDIR", &scratch);
        set(&mut command);
        finish(&mut command, b"")
    };
    let questions: [&[&str]; 3] = [
        &["pairs", "docs", "--min", "5%"],
        &["groups", "docs", "--min", "5%"],
        &["find", "docs/1.txt", "--in", "docs"],
    ];
    let nowhere = |command: &mut std::process::Command| {
        command.env("XDG_CACHE_HOME", "/dev/null");
    };
    let without = |command: &mut std::process::Command| {
        command.env("TMPDIR", "/nonexistent");
    };
    let usual = |_: &mut std::process::Command| ();
    for question in questions {
        let alone = ask(question, &["--no-cache"], &usual);
        assert_eq!(alone.code, 0, "{alone:?}");
        assert!(alone.text().lines().count() > 1, "{alone:?}");
        let in_shards = [
            ask(question, &["--no-cache", "--shards", "3"], &usual),
            ask(question, &["--shards", "2"], &nowhere),
            ask(question, &["--shards", "2"], &without),
        ];
        for ran in in_shards {
            assert_eq!((ran.code, ran.text()), (0, alone.text()), "{ran:?}");
        }
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
        // The processes share arrays in a folder. This folder cannot be made, so the question
        // fails.
        let ran = ask(question, &["--no-cache", "--shards", "3"], &without);
        assert_eq!((ran.code, ran.text().as_str()), (2, ""));
        assert!(ran.err.contains("/nonexistent"), "{ran:?}");
    }
}

/// The list `All_Fingers` contains every occurrence of a fingerprint, as in sif's paper. So a
/// search in this list finds the same files as `find`.
#[test]
fn all_fingers_finds_what_find_finds() {
    let env = collection();
    let dumped = env.run(["dump", "docs", "--method", "sif", "--all-fingers"]);
    assert_eq!((dumped.code, dumped.err.as_str()), (0, ""));
    let text = dumped.text();
    let (files, fingers) = text.split_once("\n\n").unwrap();
    let files: Vec<Vec<&str>> = files
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(files.len(), 8, "{text}");
    let number = |name: &str| {
        let file = files.iter().find(|file| file[3].ends_with(name)).unwrap();
        file[0].parse::<u32>().unwrap()
    };
    assert_eq!(files[0][0], "1");
    let mut all = resemble_methods::all_fingers::AllFingers::default();
    let mut query = Vec::new();
    for line in fingers.lines() {
        let (value, file) = line.split_once('\t').unwrap();
        let (value, file) = (
            u64::from_str_radix(value, 16).unwrap(),
            file.parse().unwrap(),
        );
        all.add(file, [value]);
        query.extend((file == number("report.txt")).then_some(value));
    }
    let total = query.len() as f64;
    let scanned = all.scan(query);
    let args = ["find", "docs/report.txt", "--in", "docs", "--method", "sif"];
    let json = env
        .run(args.iter().chain(&["--min", "0", "--format", "json"]))
        .json();
    let results = json["results"].as_array().unwrap();
    assert!(results.len() >= 4, "{json}");
    for row in results {
        let file = number(row["path"].as_str().unwrap());
        let hits = scanned.iter().find(|hits| hits.file == file).unwrap();
        let score = row["score"].as_f64().unwrap();
        assert!(
            (hits.occurrences as f64 / total - score).abs() < 1e-9,
            "{row}"
        );
    }
    let refused = env.run(["dump", "docs", "--method", "mod", "--all-fingers"]);
    assert_eq!(refused.code, 2);
}
