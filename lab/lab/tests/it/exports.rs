//! Sketches of a folder in a file, and questions without the folder.

use crate::asked::collection;
use resemble_testutil::Environment;

/// Returns the answer to a question, with `PLACE` for the name of the folder or of the export.
fn answer(env: &Environment, args: &[&str], place: &str) -> (i32, String) {
    let args = args
        .iter()
        .map(|arg| if *arg == "PLACE" { place } else { arg });
    let ran = env.run(args.chain(["--format", "jsonl"]));
    assert_eq!(ran.err, "", "{place}");
    // The head names the arguments.
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
        // Arrays of 24 bits take a second each.
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
