//! Tests saved reports that are printed again, with and without a filter.

use serde_json::json;

use crate::documents::{compare, covered, dirs, groups, printed, saved};
use crate::environment;
use crate::reports::{collection, two_trees};
use resemble_testutil::Environment;
use resemble_testutil::prose::{lines, paragraphs};

#[test]
fn a_saved_report_is_filtered_and_printed_again() {
    let env = environment();
    let from = saved(&env, "report.json", &groups());
    let from = from.to_str().unwrap();
    // Without options, a saved report is printed as the same JSON each time, byte for byte. A
    // report that is read from an HTML page gives the same JSON, too.
    let first = env.run(["groups", "--from", from, "--format", "json"]);
    assert_eq!(
        first.code, 2,
        "the error of the report is still one: {first:?}"
    );
    assert_eq!(
        first.json()["version"],
        "0.0.7",
        "the version that made the report"
    );
    let again = env.write("again.json", &first.out);
    let second = env.run([
        "groups",
        "--from",
        again.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(first.text(), second.text());
    let page = printed(&env, &groups(), "html");
    let third = env.run([
        "groups",
        "--from",
        page.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(first.text(), third.text());

    let ran = env.run([
        "groups",
        "--from",
        from,
        "--format",
        "json",
        "--min",
        "40%",
        "--exclude",
        "/delta*",
        "--exclude",
        "a",
    ]);
    let report = ran.json();
    let centers: Vec<&str> = report["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["center"].as_str().unwrap())
        .collect();
    assert_eq!(centers, ["/c/alpha", "/c/charlie"]);
    assert_eq!(report["identical"][0]["paths"], json!(["/i/b", "/i/c"]));
    assert_eq!(report["summary"]["clusters"], 2);
    assert_eq!(report["parameters"]["exclude"], json!(["/delta*", "a"]));
    let ran = env.run(["groups", "--from", from, "--format", "json", "--top", "1"]);
    assert_eq!(ran.json()["identical"].as_array().unwrap().len(), 1);
    assert_eq!(
        ran.json()["summary"]["sets"],
        3,
        "a cut list does not change the totals"
    );

    let ran = env.run([
        "groups",
        "--from",
        from,
        "--format",
        "fdupes",
        "--include",
        "d",
        "--include",
        "e",
    ]);
    assert_eq!(ran.text(), "/i/d\n/i/e\n\n");

    let from = saved(&env, "compare.json", &compare());
    let ran = env.run([
        "compare",
        "--from",
        from.to_str().unwrap(),
        "--format",
        "json",
        "--class",
        "edited",
    ]);
    assert_eq!(
        ran.json()["entries"].as_array().unwrap().len(),
        1,
        "{ran:?}"
    );
    assert_eq!(ran.json()["summary"], compare()["summary"]);
    let from = saved(&env, "dirs.json", &dirs());
    let ran = env.run([
        "dirs",
        "--from",
        from.to_str().unwrap(),
        "--format",
        "json",
        "--min",
        "80%",
    ]);
    assert_eq!(ran.json()["pairs"].as_array().unwrap().len(), 2, "{ran:?}");
    let from = saved(&env, "covered.json", &covered());
    let ran = env.run([
        "covered",
        "--from",
        from.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(ran.code, 1, "still not covered: {ran:?}");
    assert_eq!(ran.json()["missing"], covered()["missing"]);
}

#[test]
fn what_is_no_saved_report_is_refused() {
    let env = environment();
    let groups_file = saved(&env, "groups.json", &groups());
    let cut = serde_json::to_vec(&groups()).unwrap();
    let damaged = env.write("damaged.json", &cut[..cut.len() / 2]);
    let empty = env.write("empty.json", "");
    let letter = env.write("letter.txt", "Dear all,\nthis is no report.\n");
    let old = env.write("old.json", &cut);
    let mut bytes = std::fs::read(&groups_file).unwrap();
    let at = bytes.windows(4).position(|four| four == b"/i/b").unwrap();
    bytes[at + 3] = b'c';
    let changed = env.write("changed.json", bytes);
    let page = printed(&env, &groups(), "html");
    let mut bytes = std::fs::read(&page).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&page, bytes).unwrap();
    let cases = [
        (
            &groups_file,
            "dirs",
            "is a report of `groups`, not of `dirs`",
        ),
        (&damaged, "groups", "is damaged"),
        (&empty, "groups", "is not a saved report of resemble"),
        (&letter, "covered", "is not a saved report of resemble"),
        (&old, "groups", "has no digest at its end"),
        (&changed, "groups", "was changed after it was written"),
        (&page, "groups", "was changed after it was written"),
        (&env.path("absent"), "groups", "No such file or directory"),
    ];
    for (path, verb, why) in cases {
        let ran = env.run([verb, "--from", path.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(ran.text(), "");
        assert!(ran.err.contains(why), "{ran:?}");
        assert_eq!(ran.err.matches('\n').count(), 1, "one sentence: {ran:?}");
    }
}

/// A saved report is printed again, unchanged or with a filter.
#[test]
fn saved_reports() {
    let env = collection();
    for verb in ["groups", "dirs"] {
        let json = env.run([verb, "docs", "--format", "json"]);
        env.write("saved.json", &json.out);
        let again = env.run([verb, "--from", "saved.json", "--format", "json"]);
        assert_eq!((again.text(), again.code), (json.text(), json.code));
        let text = env.run([verb, "docs"]).text();
        assert_eq!(env.run([verb, "--from", "saved.json"]).text(), text);
    }
    let json = env.run(["groups", "docs", "--format", "json"]);
    env.write("saved.json", &json.out);
    let filtered = env.run(["groups", "--from", "saved.json", "--exclude", "old/"]);
    assert!(!filtered.text().contains("copy.txt"), "{filtered:?}");
    let wrong = env.run(["dirs", "--from", "saved.json"]);
    assert_eq!((wrong.code, wrong.text().as_str()), (2, ""));

    let env = two_trees();
    let json = env.run(["compare", "old", "new", "--format", "json"]);
    env.write("saved.json", &json.out);
    let again = env.run(["compare", "--from", "saved.json", "--format", "json"]);
    assert_eq!((again.text(), again.code), (json.text(), 1));
    let new = env.run(["compare", "--from", "saved.json", "--new-only"]);
    assert_eq!(new.text(), "fresh.txt\n");
    // A saved report is printed as the same text as an answer about the files themselves.
    let text = env.run(["compare", "old", "new"]).text();
    assert_eq!(env.run(["compare", "--from", "saved.json"]).text(), text);

    env.write("copy/same.txt", paragraphs(1, 60));
    let json = env.run(["covered", "copy", "--by", "old", "--format", "json"]);
    env.write("saved.json", &json.out);
    let again = env.run(["covered", "--from", "saved.json", "--format", "json"]);
    assert_eq!((again.text(), again.code), (json.text(), 0));
}

/// A glob for folders means the same in a saved report of `dirs` as in the question.
#[test]
fn folders_are_left_out_of_saved_directories() {
    let env = environment();
    for (folder, file) in [("x", 1), ("x", 2), ("y", 1), ("y", 2), ("z", 1), ("z", 2)] {
        env.write(format!("docs/{folder}/{file}.txt"), paragraphs(file, 20));
    }
    let saved = ["dirs", "docs", "--format=json", "-o", "saved.json"];
    env.run(saved).success();
    for glob in ["z/", "z", "/z/"] {
        let args = ["--exclude", glob, "--format=tsv"];
        let asked = env.run(["dirs", "docs"].iter().chain(&args));
        assert_eq!(asked.text().lines().count(), 1, "{glob} {asked:?}");
        let saved = env.run(["dirs", "--from", "saved.json"].iter().chain(&args));
        assert_eq!(saved.text(), asked.text(), "{glob}");
    }
}

/// A filter applies to the lists of a saved report of `covered`, but not to its verdict.
#[test]
fn a_saved_coverage_is_filtered() {
    let env = two_trees();
    env.write("copy/same.txt", paragraphs(1, 60));
    env.write(
        "copy/sub/edited.txt",
        paragraphs(2, 60).replacen("river", "R", 3),
    );
    env.write("copy/sub/gone.txt", paragraphs(99, 30));
    env.write("copy/tiny", "x");
    let json = env.run(["covered", "copy", "--by", "old", "--format", "json"]);
    assert_eq!(json.code, 1, "{json:?}");
    env.write("saved.json", &json.out);
    let from = ["covered", "--from", "saved.json"];
    let ask = |args: &[&str]| {
        let ran = env.run([&from, args, &["--format", "json"]].concat());
        assert_eq!(ran.code, 1, "the verdict is about the whole: {ran:?}");
        ran.json()
    };
    let paths = |json: &serde_json::Value, list: &str| -> Vec<String> {
        let rows = json[list].as_array().unwrap().iter();
        rows.map(|row| row["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let whole = ask(&[]);
    assert_eq!(whole, json.json());
    assert_eq!(paths(&whole, "near"), ["copy/sub/edited.txt"]);
    let sub = ask(&["--exclude", "sub/"]);
    assert_eq!(paths(&sub, "missing"), ["copy/tiny"]);
    assert_eq!(paths(&sub, "near"), [""; 0]);
    assert_eq!(paths(&sub, "copies"), ["copy/same.txt"]);
    assert_eq!((&sub["total"], &sub["shown"]), (&2.into(), &2.into()));
    assert_eq!(sub["parameters"]["exclude"], serde_json::json!(["sub/"]));
    let big = ask(&["--min-size", "100", "--include", "*.txt"]);
    assert_eq!(
        paths(&big, "missing"),
        ["copy/sub/edited.txt", "copy/sub/gone.txt"]
    );
    let top = ask(&["--top", "1"]);
    assert_eq!(paths(&top, "missing"), ["copy/sub/edited.txt"]);
    assert_eq!((&top["total"], &top["shown"]), (&5.into(), &3.into()));
    let none = env.run([&from[..], &["--exclude", "*"]].concat());
    let first = "NOT covered:  copy  4 files, ";
    assert!(none.text().starts_with(first), "{none:?}");
    assert!(
        none.text()
            .contains("; 0 of those listed (0 B) would be lost"),
        "{none:?}"
    );

    // Without `--from`, `covered` refuses filters. A user who trusts an answer about some files
    // could delete the others, too.
    let asked = env.run(["covered", "copy", "--by", "old", "--exclude", "sub/"]);
    assert_eq!((asked.code, asked.text().as_str()), (2, ""));
    assert!(
        asked.err.contains("--from") && asked.err.lines().count() == 1,
        "{asked:?}"
    );
}

/// With a saved report, options that decide how files are compared are refused.
#[test]
fn a_saved_report_is_not_asked_anew() {
    let env = two_trees();
    for (verb, options) in [
        (
            "compare",
            &[
                "--exact",
                "--names",
                "--same-suffix",
                "--size-ratio=50%",
                "--memory=64M",
            ][..],
        ),
        (
            "groups",
            &["--of=old/same.txt", "--degree=5", "--memory=64M", "--order"],
        ),
        ("dirs", &["--of=old", "--memory=64M"]),
        ("covered", &["--by=old", "--memory=64M"]),
    ] {
        for option in options {
            let ran = env.run([verb, "--from", "saved.json", option]);
            assert_eq!((ran.code, ran.text().as_str()), (2, ""), "{ran:?}");
            assert!(ran.err.contains("cannot be used with"), "{ran:?}");
        }
    }
}

/// An answer is cut at `--top` after the holes of its files are known. The same holds for a saved
/// report.
#[test]
fn top_cuts_sets_by_the_bytes_that_they_take() {
    let env = environment();
    for name in ["t/hole 1", "t/hole 2"] {
        let file = std::fs::File::options()
            .write(true)
            .open(env.write(name, ""));
        file.unwrap().set_len(4 << 20).unwrap();
    }
    for name in ["t/real 1", "t/real 2"] {
        env.write(name, lines(1, 100));
    }
    let ask = |more: &[&str]| env.run([&["groups", "t", "--local"], more].concat());
    let json = |more: &[&str]| ask(&[&["--format=json"], more].concat()).json();
    let all = json(&[]);
    let overhead = &all["summary"]["overhead"];
    let sets = all["identical"].as_array().unwrap();
    assert_eq!(sets[0]["paths"], json!(["t/real 1", "t/real 2"]));
    for only in [&[][..], &["--only=identical"]] {
        for top in 0..=2 {
            let found = json(&[only, &[&format!("--top={top}")]].concat());
            assert_eq!(&found["summary"]["overhead"], overhead, "{only:?} {top}");
            let first = found["identical"].as_array().unwrap();
            assert_eq!(first[..], sets[..top], "{only:?} {top}");
            assert_eq!((&found["total"], &found["shown"]), (&2.into(), &top.into()));
        }
    }
    let plan = ask(&["--top=1", "--plan=remove"]);
    assert!(plan.text().contains("/t/real 2"), "{plan:?}");
}

/// `--min-shared` is about the bytes that a row shows. For two texts, the shares count words. The
/// share of the words may be greater than that of the bytes.
#[test]
fn a_question_counts_the_shared_bytes_that_a_row_shows() {
    let env = environment();
    let common = lines(1, 40);
    env.write("t/small", &common);
    let long = (0..200).map(|n| format!("averyverylongwordindeed{n}\n"));
    env.write("t/large", common + &long.collect::<String>());
    let pairs = |least: u64| {
        let least = format!("--min-shared={least}");
        env.run(["pairs", "t", "--local", "--format=json", &least])
            .json()
    };
    let shared = pairs(1)["pairs"][0]["shared_bytes"].as_u64().unwrap();
    assert_eq!(pairs(shared)["total"], 1);
    assert_eq!(pairs(shared + 1)["total"], 0);
}

/// Writes a text, and the same words with other bytes: a pair of the relation `same-text`.
fn same_text() -> Environment {
    let env = environment();
    let text = paragraphs(1, 60);
    env.write("t/a/x.txt", &text);
    env.write("t/b/y.txt", text.replace(' ', "  "));
    env
}

/// Saves the report of a question in the working directory.
fn save(env: &Environment, question: &[&str], name: &str) {
    let ran = env.run([question, &["--format=json", "--output", name]].concat());
    assert!(ran.code < 2, "{ran:?}");
}

/// Only the share 1.000000 is shown as 100 %, and only identical files have this share. This holds
/// for every verb and for saved reports.
#[test]
fn a_least_score_of_all_keeps_only_what_is_identical() {
    let env = same_text();
    env.write("t/b/x.txt", paragraphs(1, 60));
    save(&env, &["groups", "t"], "groups.json");
    save(&env, &["dirs", "t"], "dirs.json");
    let ask = |args: &[&str]| env.run([args, &["--format=json"]].concat()).json();
    for (min, similar, dirs) in [("99.9%", 2, 1), ("100%", 1, 0)] {
        let min = format!("--min={min}");
        let found = ask(&["find", "t/a/x.txt", "--in=t", &min]);
        assert_eq!(found["total"], similar, "{found}");
        // The identical files have one row. Each of them also has a row for each file with the same
        // text.
        let found = ask(&["pairs", "t", &min]);
        assert_eq!(found["total"], 2 * similar - 1, "{found}");
        for from in ["t", "--from=groups.json"] {
            let found = ask(&["groups", from, &min]);
            let clusters = found["clusters"].as_array().unwrap();
            assert_eq!(clusters.len(), similar - 1, "{found}");
            assert_eq!(found["summary"]["sets"], 1, "{found}");
        }
        for from in ["t", "--from=dirs.json"] {
            let found = ask(&["dirs", from, &min]);
            assert_eq!(found["total"], dirs, "{from} {found}");
        }
    }
}

/// `--min-shared` leaves out neither identical files nor files with the same text.
#[test]
fn the_same_text_is_kept_whatever_its_shared_bytes() {
    let env = same_text();
    save(&env, &["groups", "t"], "groups.json");
    save(&env, &["compare", "t/a", "t/b"], "compare.json");
    for from in ["t", "--from=groups.json"] {
        let found = env.run(["groups", from, "--min-shared=1M", "--format=json"]);
        let links = &found.json()["clusters"][0]["links"];
        assert_eq!(links[0]["same_text"], true, "{found:?}");
    }
    let rows = |args: &[&str]| {
        let options = ["--min-shared=1M", "--format=json"];
        env.run([args, &options].concat()).json()["entries"].clone()
    };
    let direct = rows(&["compare", "t/a", "t/b"]);
    assert_eq!(direct[0]["relation"], "same-text");
    assert_eq!(rows(&["compare", "--from=compare.json"]), direct);
}

/// The total of links counts the links within all clusters, even within clusters that are not
/// shown.
#[test]
fn the_total_of_links_is_that_of_the_clusters() {
    let env = environment();
    let texts: Vec<String> = (1..4).map(|seed| paragraphs(seed, 40)).collect();
    for (name, text) in [("a", &texts[0]), ("b", &texts[1])] {
        env.write(format!("t/{name}1.txt"), text);
        for (n, word) in [(2, "brook"), (3, "creek")] {
            let edited = text.replacen("river", word, 2);
            env.write(format!("t/{name}{n}.txt"), edited);
        }
    }
    // This file is linked with the files of both clusters.
    env.write("t/both.txt", texts.concat());
    let ask = |more: &[&str]| {
        let groups = ["groups", "--format=json"];
        env.run([&groups[..], more].concat()).json()
    };
    save(&env, &["groups", "t"], "groups.json");
    let all = ask(&["--from=groups.json"]);
    let clusters = all["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 2, "{all}");
    let links = |cluster: &serde_json::Value| cluster["links"].as_array().unwrap().len();
    let listed: usize = clusters.iter().map(links).sum();
    assert_eq!(all["summary"]["links"], listed);
    assert_eq!(ask(&["t", "--top=1"])["summary"]["links"], listed);
    let filtered = ask(&["--from=groups.json", "--exclude=no-such"]);
    assert_eq!(filtered["summary"]["links"], listed);
}
