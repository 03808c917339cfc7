//! Tests of groups by `shingle` and `super-shingle`, and of the options of clusters that are
//! computed on disk.

use crate::environment;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, finish};

fn collection() -> Environment {
    let env = environment();
    let text = paragraphs(1, 200);
    env.write("docs/report.txt", &text);
    env.write("docs/copy.txt", &text);
    let page = text.to_uppercase().replace('\n', "\n<p>");
    env.write(
        "docs/report.html",
        format!("<html><body>{page}</body></html>"),
    );
    env.write("docs/edited.txt", text.replacen("river", "brook", 40));
    // Such a small part has no super shingle in common with the whole text, except by accident.
    env.write("docs/part.txt", &text[..text.len() / 16]);
    env.write("docs/stranger.txt", paragraphs(2, 200));
    env
}

/// Returns the paths of the files in each group.
fn groups(env: &Environment, options: &[&str]) -> Vec<Vec<String>> {
    let mut args = vec!["groups", "docs", "--format", "json"];
    args.extend(options);
    let ran = env.run(args);
    assert_eq!(ran.err, "", "{options:?}");
    let path = |row: &serde_json::Value| row["path"].as_str().unwrap().to_owned();
    let json = ran.json();
    let rows = json["groups"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let members = row["members"].as_array().unwrap();
            let mut all: Vec<String> = members.iter().chain([row]).map(path).collect();
            all.sort();
            all
        })
        .collect()
}

#[test]
fn markup_case_and_edits_make_no_difference_and_parts_are_asked_for() {
    let env = collection();
    let four = [
        "docs/copy.txt",
        "docs/edited.txt",
        "docs/report.html",
        "docs/report.txt",
    ];
    for method in ["shingle", "super-shingle"] {
        assert_eq!(groups(&env, &["--method", method]), [four], "{method}");
    }
    let with_part = groups(&env, &["--method", "shingle", "--contained", "90%"]);
    assert!(
        with_part[0].contains(&"docs/part.txt".to_owned()),
        "{with_part:?}"
    );
    let text = env.run(["groups", "docs", "--method", "shingle"]).text();
    assert!(
        text.starts_with("The following groups of files are similar. Minimum similarity = 50%\n")
    );
    assert!(
        text.contains("R100 docs/") && text.contains("\n 100 docs/"),
        "{text}"
    );
}

#[test]
fn rules_part_what_they_forbid() {
    let env = collection();
    for rule in [&["--same-suffix"][..], &["--where", "a.suffix = b.suffix"]] {
        let mut options = vec!["--method", "shingle"];
        options.extend(rule);
        let found = groups(&env, &options);
        assert_eq!(
            found,
            [["docs/copy.txt", "docs/edited.txt", "docs/report.txt"]],
            "{rule:?}"
        );
    }
}

#[test]
fn a_work_folder_is_kept_and_belongs_to_one_seed() {
    let env = collection();
    let ask = |seed: &str| {
        env.run([
            "groups", "docs", "--method", "shingle", "--work", "work", "--seed", seed,
        ])
    };
    let first = ask("one");
    assert_eq!(first.code, 0, "{first:?}");
    assert!(env.path("work/pairs").is_file());
    assert_eq!(ask("one").text(), first.text());
    let refused = ask("another");
    assert_eq!(
        (refused.code, refused.err.lines().count()),
        (2, 1),
        "{refused:?}"
    );
    assert!(
        refused.err.contains("chosen by another seed"),
        "{}",
        refused.err
    );
    assert!(!refused.err.contains("another another"), "{}", refused.err);
    // The secret seed is read from a file, so that no command line shows it.
    let of_file = || {
        let question = ["groups", "docs", "--method", "shingle", "--work", "work"];
        env.run(question.iter().chain(&["--seed-file", "secret"]))
    };
    env.write("secret", "one\n");
    assert_eq!(of_file().text(), first.text());
    env.write("secret", "\n");
    let refused = of_file();
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("secret: it is empty"), "{refused:?}");
    // The answer does not depend on the memory.
    let little = [
        "groups", "docs", "--method", "shingle", "--memory", "1M", "--seed", "one",
    ];
    assert_eq!(env.run(little).text(), first.text());
}

#[test]
fn common_shingles_are_listed() {
    let env = environment();
    let header = paragraphs(7, 1);
    for seed in 10..22 {
        env.write(
            format!("docs/{seed}.txt"),
            format!("{header}{}", paragraphs(seed, 2)),
        );
    }
    let options = ["--method", "shingle", "--rate", "1", "--min", "10%"];
    assert_eq!(groups(&env, &options)[0].len(), 12);
    let mut args = vec!["groups", "docs", "--format", "json", "--common", "5"];
    args.extend(options);
    let json = env.run(args).json();
    assert_eq!(json["groups"].as_array().unwrap().len(), 0);
    let ignored = json["parameters"]["ignored"].as_array().unwrap();
    assert_eq!(ignored.len(), 10);
    let words = ignored[0]["text"].as_str().unwrap();
    assert!(header.contains(words), "{words}");
    assert_eq!(ignored[0]["documents"], 12);
}

/// Any text can be looked up, even if it is not indexed. The row has the interval of the estimate.
#[test]
fn a_text_from_outside_is_looked_up() {
    let env = collection();
    let text = paragraphs(1, 200).replacen("stone", "pebble", 60);
    let args = [
        "find", "-", "--in", "docs", "--method", "shingle", "--format", "json",
    ];
    let found = finish(&mut env.command(args), text.as_bytes()).json();
    let rows = found["results"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{found}");
    let row = &rows[0];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let interval = &row["interval"]["resemblance"];
    let resemblance = number(&row["resemblance"]);
    assert!(
        number(&interval[0]) <= resemblance && resemblance <= number(&interval[1]),
        "{row}"
    );
    assert!(row["interval"]["a_in_b"].is_array(), "{row}");
}

#[test]
fn only_the_group_of_a_file_is_printed() {
    let env = collection();
    let other = paragraphs(3, 200);
    env.write("docs/other.txt", &other);
    env.write("docs/other too.txt", other.replacen("river", "brook", 20));
    // If a file has several names, its row has the first in sorted order: `other.txt`.
    std::fs::hard_link(env.path("docs/other.txt"), env.path("docs/zzz.txt")).unwrap();
    let all = groups(&env, &["--method", "shingle"]);
    assert_eq!(all.len(), 2);
    let of = |place: &str, file: &str| {
        let args = ["groups", place, "--method", "shingle", "--of", file];
        env.run(args)
    };
    for name in ["docs/other.txt", "docs/zzz.txt"] {
        let text = of("docs", name).text();
        assert!(text.contains("docs/other too.txt"), "{name}: {text}");
        assert!(!text.contains("docs/report.txt"), "{name}: {text}");
    }
    assert_eq!(of("docs", "docs/stranger.txt").code, 1);
    let absent = of("docs", "docs/absent.txt");
    assert!(
        absent.code == 2 && absent.err.contains("docs/absent.txt"),
        "{absent:?}"
    );
    // The exports are made before files are removed from the folder, so they still contain these
    // files.
    env.run([
        "export",
        "docs",
        "--method",
        "shingle",
        "-o",
        "docs.sketches",
    ])
    .is(0, "", "");
    let text = of("docs.sketches", "docs.sketches/other.txt").text();
    assert!(
        text.contains("other too.txt") && !text.contains("report"),
        "{text}"
    );
}

/// The paper's figure for a small part and its whole is below the threshold, no matter which of the
/// two is the subject.
#[test]
fn a_text_that_lies_in_another_is_found_by_containment() {
    let env = collection();
    for (file, other) in [("part", "report"), ("report", "part")] {
        let file = format!("docs/{file}.txt");
        let find = |options: &[&str]| {
            let args = ["find", &file, "--in", "docs", "--method", "shingle"];
            let json = env.run(args.iter().chain(&["--format", "json"]).chain(options));
            json.json()["results"].to_string()
        };
        let other = format!("docs/{other}.txt");
        assert!(!find(&[]).contains(&other), "{file}");
        let found = find(&["--contained", "90%"]);
        assert!(found.contains(&other), "{file}: {found}");
        assert!(!found.contains("stranger"), "{file}: {found}");
    }
}

#[test]
fn what_cannot_be_told_or_is_of_others_is_refused_in_a_line() {
    let env = collection();
    for (args, message) in [
        (
            &[
                "groups",
                "docs",
                "--method",
                "shingle",
                "--n",
                "50",
                "--contained",
                "50%",
            ][..],
            "resemblance only",
        ),
        (
            &[
                "groups",
                "docs",
                "--method",
                "super-shingle",
                "--contained",
                "50%",
            ],
            "take shingle",
        ),
        (
            &[
                "pairs",
                "docs",
                "--method",
                "super-shingle",
                "--score",
                "containment",
            ],
            "take shingle",
        ),
        (
            &[
                "find",
                "docs/part.txt",
                "--in",
                "docs",
                "--method",
                "sketch",
                "--contained",
                "50%",
            ],
            "cannot tell how much",
        ),
        (
            &["groups", "docs", "--method", "mod", "--common", "50"],
            "--common is for clusters",
        ),
        (
            &["groups", "docs", "--method", "sif", "--work", "w"],
            "--work is for clusters",
        ),
        (
            &["groups", "docs", "--method", "shingle", "--window", "20"],
            "has no parameter window",
        ),
        (
            &[
                "groups",
                "docs",
                "--method",
                "shingle",
                "--interesting",
                "3",
            ],
            "for the fingerprints of sif",
        ),
        (&["groups", "docs", "--common", "5"], "--method"),
    ] {
        let ran = env.run(args.iter().copied());
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
    }
    assert!(!env.path("w").exists());
}
