//! Tests of exports: the sketches of a folder in one file, and questions that need only this file.

use crate::asked::collection;
use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Returns the exit code and the rows of an answer. `place` is the name of the folder or of its
/// export. It replaces `PLACE` in the arguments, and is replaced by `PLACE` in the rows.
fn answer(env: &Environment, args: &[&str], place: &str) -> (i32, String) {
    let args = args
        .iter()
        .map(|arg| if *arg == "PLACE" { place } else { arg });
    let ran = env.run(args.chain(["--format", "jsonl"]));
    assert_eq!(ran.err, "", "{place}");
    // The first line is left out, because it contains the arguments, which differ.
    let rows: Vec<String> = ran.text().lines().skip(1).map(str::to_owned).collect();
    (
        ran.code,
        rows.join("\n").replace(&format!("{place}/"), "PLACE/"),
    )
}

#[test]
fn an_export_answers_like_its_folder_without_the_files() {
    let env = collection();
    env.write(
        "query.txt",
        std::fs::read(env.path("docs/edited.txt")).unwrap(),
    );
    let methods = [
        "tttd",
        "min",
        "sketch",
        "sif",
        "shingle",
        "super-shingle",
        "sorted5",
    ];
    let mut before = Vec::new();
    for method in methods {
        // Arrays of 24 bits would take a second each, so 16 bits are used.
        let bits: &[&str] = match method {
            "sorted5" => &["--bits", "16"],
            _ => &[],
        };
        let questions: [Vec<&str>; 3] = [
            vec!["find", "query.txt", "--in", "PLACE", "--method", method],
            vec!["pairs", "PLACE", "--method", method],
            vec!["groups", "PLACE", "--method", method, "--min", "30%"],
        ]
        .map(|args| [&args, bits].concat());
        let answers = questions.each_ref().map(|args| answer(&env, args, "docs"));
        assert!(
            answers.iter().all(|(code, _)| *code == 0),
            "{method}: {answers:?}"
        );
        let export = format!("{method}.sketches");
        let args = ["export", "docs", "--method", method, "-o", &export];
        env.run(args.iter().chain(bits)).is(0, "", "");
        before.push((questions, answers, export));
    }
    std::fs::remove_dir_all(env.path("docs")).unwrap();
    for (questions, answers, export) in before {
        let after = questions.each_ref().map(|args| answer(&env, args, &export));
        assert_eq!(after, answers, "{export}");
    }
}

#[test]
fn an_export_is_dumped_like_its_folder() {
    let env = collection();
    let dump = |place: &str, options: &[&str]| {
        let ran = env.run(["dump", place].iter().chain(options)).success();
        assert_eq!(ran.err, "", "{options:?}");
        ran.text().replace(&format!("/{place}/"), "/PLACE/")
    };
    let all = [
        &["--method", "tttd"][..],
        &["--method", "sif"],
        &["--method", "sif", "--all-fingers"],
    ];
    let mut before = Vec::new();
    for options in all {
        let export = format!("{}.sketches", options[1]);
        let args = ["export", "docs", "-o", &export];
        env.run(args.iter().chain(&options[..2])).is(0, "", "");
        let listed = dump("docs", options);
        for name in ["copy", "edited", "part", "report", "small", "stranger"] {
            assert!(listed.contains(&format!("/PLACE/{name}.txt")), "{listed}");
        }
        before.push((options, export, listed));
    }
    std::fs::remove_dir_all(env.path("docs")).unwrap();
    for (options, export, listed) in before {
        assert_eq!(dump(&export, options), listed, "{options:?}");
    }
}

/// Tests the steps "divide, compute, merge" (Broder et al. 1997, section 4). Each process sketches
/// a part of the files. All parts together must give the same clusters as the whole folder.
#[test]
fn parts_that_processes_sketch_make_the_clusters_of_the_whole() {
    let env = environment();
    for family in 0..12u64 {
        let base = paragraphs(family, 12);
        for version in 0..4 {
            let text = base.replacen("river", "brook", version);
            // The versions of a text are in different parts.
            let part = (family + version as u64) % 3;
            env.write(format!("docs/{part}/{family}-{version}"), text);
        }
    }
    env.write("docs/2/copy", paragraphs(0, 12));
    let parts = ["docs/0", "docs/1", "docs/2"];
    for method in ["shingle", "super-shingle"] {
        let ask = |places: &[&str]| {
            let args = ["groups", "--method", method, "--format", "jsonl"];
            let ran = env.run(args.iter().chain(places)).success();
            let rows = ran
                .text()
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>();
            rows.join("\n").replace(".sketches/", "/")
        };
        let whole = ask(&["docs"]);
        assert!(whole.lines().count() == 12, "{whole}");
        std::thread::scope(|scope| {
            for part in parts {
                let env = &env;
                scope.spawn(move || {
                    let export = format!("{part}.sketches");
                    let to = ["-o", &export, "--no-cache"];
                    let args = ["export", part, "--method", method];
                    env.run(args.iter().chain(&to)).is(0, "", "");
                });
            }
        });
        let exports = parts.map(|part| format!("{part}.sketches"));
        assert_eq!(ask(&exports.each_ref().map(String::as_str)), whole);
    }
}

#[test]
fn an_export_of_other_parameters_or_a_damaged_one_is_refused() {
    let env = collection();
    env.run(["export", "docs", "--method", "mod", "-o", "mod.sketches"])
        .is(0, "", "");
    let ask = |file: &str, further: &[&str]| {
        let args = ["pairs", file, "--method", "mod"];
        env.run(args.iter().chain(further))
    };
    assert_eq!(ask("mod.sketches", &[]).code, 0);
    let other = ask("mod.sketches", &["--n", "50"]);
    assert!(
        other.code == 2 && other.err.contains("is asked for"),
        "{other:?}"
    );
    let with_folder = ask("mod.sketches", &["docs"]);
    assert!(
        with_folder.code == 2 && with_folder.err.contains("no export"),
        "{with_folder:?}"
    );
    let text = String::from_utf8(std::fs::read(env.path("mod.sketches")).unwrap()).unwrap();
    for (name, damaged) in [
        ("cut", text[..text.len() / 2].to_owned()),
        ("up", text.replacen("\"path\":\"", "\"path\":\"../", 1)),
        (
            "later",
            text.replacen("\"sketches\":1", "\"sketches\":2", 1),
        ),
        (
            "sketch",
            text.replacen("\"sketch\":\"", "\"sketch\":\"?", 1),
        ),
    ] {
        env.write(name, damaged);
        let refused = ask(name, &[]);
        assert!(
            refused.code == 2 && refused.err.contains(name),
            "{name}: {refused:?}"
        );
    }
}
