//! JSON rows state the owners of the files. Text does so with `-v`.

use std::fs;
use std::os::unix::fs::chown;

use resemble_testutil::Environment;
use resemble_testutil::pack::zip;
use resemble_testutil::prose::paragraphs;
use serde_json::{Value, json};

use crate::environment;

/// A user id that has no name.
const NAMELESS: u32 = 3_999_999_999;

fn json_of(env: &Environment, args: &[&str]) -> Value {
    env.run(args.iter().chain(&["--format", "json"])).json()
}

/// Writes two versions and a copy of one; returns the owners of `one.txt` and of `two.txt`. If the
/// user of this test may give files away, `two.txt` belongs to a user without a name.
fn files(env: &Environment) -> [String; 2] {
    let text = paragraphs(5, 20);
    env.write("docs/one.txt", &text);
    let two = env.write("docs/two.txt", text.replacen(' ', " edited ", 2));
    env.write("docs/copy.txt", &text);
    let is_given_away = chown(&two, Some(NAMELESS), None).is_ok();
    let find = ["find", "docs/two.txt", "--in", "docs", "--holders"];
    let held = json_of(env, &find);
    let mine = held["holders"][0]["owner"].as_str().expect("an owner");
    let other = if is_given_away {
        NAMELESS.to_string()
    } else {
        mine.to_owned()
    };
    [mine.to_owned(), other]
}

/// `find --holders`, `find` and `pairs` agree on the owners.
#[test]
fn rows_say_whose_the_files_are() {
    let env = environment();
    let [mine, other] = files(&env);
    let find = ["find", "docs/one.txt", "--in", "docs"];
    let found = json_of(&env, &find);
    for row in found["results"].as_array().expect("rows") {
        let is_two = row["path"] == "docs/two.txt";
        assert_eq!(row["owner"], *if is_two { &other } else { &mine }, "{row}");
    }
    let pairs = json_of(&env, &["pairs", "docs"]);
    let pair = pairs["pairs"].as_array().expect("rows").last();
    let pair = pair.expect("a pair");
    assert_eq!(pair["b"], "docs/two.txt", "{pair}");
    assert_eq!([&pair["owner_a"], &pair["owner_b"]], [&mine, &other]);
    for args in [&find[..], &["pairs", "docs"], &["groups", "docs"]] {
        let shown = env.run(args.iter().chain(&["-v"])).text();
        assert!(shown.contains(&format!("  of {mine}")), "{shown}");
        assert!(shown.contains(&other), "{shown}");
        assert!(!env.run(args.iter()).text().contains("  of "));
    }
}

/// In `groups`, each file of a set and each member of a cluster has its owner. A member of an
/// archive has the owner of the archive. A saved report keeps the owners.
#[test]
fn groups_say_whose_each_file_is() {
    let env = environment();
    let [mine, other] = files(&env);
    let groups = json_of(&env, &["groups", "docs"]);
    let set = &groups["identical"][0];
    assert_eq!(set["paths"], json!(["docs/copy.txt", "docs/one.txt"]));
    assert_eq!(set["owners"], json!([mine, mine]));
    let owners = |report: &Value| {
        let members = report["clusters"][0]["members"].as_array();
        let members = members.expect("members").iter();
        let mut owners: Vec<_> = members
            .map(|m| (m["path"].clone(), m["owner"].clone()))
            .map(|(path, owner)| (path.to_string(), owner))
            .collect();
        owners.sort_by(|a, b| a.0.cmp(&b.0));
        owners.into_iter().map(|(_, owner)| owner).collect()
    };
    let expected: Vec<Value> = vec![json!(mine), json!(other)];
    let found: Vec<Value> = owners(&groups);
    assert_eq!(found, expected);
    let save = ["groups", "docs", "--format", "json", "-o", "saved.json"];
    assert_eq!(env.run(save).code, 0);
    fs::remove_file(env.path("docs/two.txt")).expect("a file");
    let from = ["groups", "--from", "saved.json", "--exclude", "one*"];
    let again = json_of(&env, &from);
    assert_eq!(
        (owners(&again), &again["identical"]),
        (expected, &json!([]))
    );

    let text = paragraphs(8, 20);
    let edited = text.replacen(' ', " edited ", 2);
    let members = [("a.txt", text.as_bytes()), ("b.txt", edited.as_bytes())];
    env.write("box.zip", zip(&members));
    let inside = json_of(&env, &["groups", "box.zip"]);
    let found: Vec<Value> = owners(&inside);
    assert_eq!(found, [json!(mine), json!(mine)], "{inside}");
}

/// An alert states the present owner of both files. A file that no longer exists has no owner.
#[test]
fn alerts_say_whose_both_files_are() {
    let env = environment();
    let [mine, other] = files(&env);
    let [one, two] = ["docs/one.txt", "docs/two.txt"].map(|name| env.path(name));
    let rows = [(&one, &two), (&two, &env.path("docs/gone.txt"))].map(|(a, b)| {
        let row = json!({
            "seq": 1, "time": 951_694_200, "kind": "file", "a": a, "b": b, "relation": "near",
            "a_in_b": 0.9, "b_in_a": 0.9, "shared_bytes": 5000, "files": 1
        });
        row.to_string()
    });
    let state = env.home().join(".local/state/resemble");
    fs::create_dir_all(&state).expect("a folder");
    fs::write(state.join("alerts.jsonl"), rows.join("\n")).expect("a log");
    let found = json_of(&env, &["alerts"]);
    let found = &found["alerts"];
    assert_eq!(
        [&found[0]["owner_a"], &found[0]["owner_b"]],
        [&mine, &other]
    );
    assert_eq!(
        [&found[1]["owner_a"], &found[1]["owner_b"]],
        [&json!(other), &Value::Null]
    );
    let lines = env.run(["alerts", "-v"]).text();
    let ends: Vec<bool> = lines.lines().map(|line| line.contains("  of ")).collect();
    assert_eq!(ends, [true, false], "{lines}");
    assert!(!env.run(["alerts"]).text().contains("  of "));
}
