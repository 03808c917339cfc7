//! `lost` and `history` search files in catalogues with dates.

use std::fs;

use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

const JANUARY: &str = "1767225600";
const FEBRUARY: &str = "1769904000";

/// Records the folder `docs` in a catalogue in January, and in another catalogue in February.
/// Changes the folder after each record. One file is edited and moved twice, one is unchanged, one
/// is removed, and one is new.
fn sweeps() -> Environment {
    let env = environment();
    let plan = paragraphs(1, 300);
    env.write("docs/drafts/plan.txt", &plan);
    env.write("docs/stays.txt", paragraphs(2, 200));
    env.write("docs/dies.txt", paragraphs(3, 200));
    assert_eq!(
        env.run([
            "catalogue",
            "write",
            "docs",
            "-o",
            "jan.cat",
            "--created",
            JANUARY
        ])
        .code,
        0
    );
    let edited = plan.replacen("river", "brook", 3);
    fs::remove_file(env.path("docs/drafts/plan.txt")).unwrap();
    env.write("docs/plan.txt", &edited);
    assert_eq!(
        env.run([
            "catalogue",
            "write",
            "docs",
            "-o",
            "feb.cat",
            "--created",
            FEBRUARY
        ])
        .code,
        0
    );
    fs::remove_file(env.path("docs/plan.txt")).unwrap();
    fs::remove_file(env.path("docs/dies.txt")).unwrap();
    env.write(
        "docs/old/plan-2025.txt",
        edited.replacen("stone", "pebble", 6),
    );
    env.write("docs/new.txt", paragraphs(4, 200));
    env
}

const WITHIN: [&str; 6] = ["--in", "docs", "--in", "feb.cat", "--in", "jan.cat"];

#[test]
fn what_is_lost_is_found_where_it_was_last() {
    let env = sweeps();
    // The lost file is named by its last path, by an older path, and by its path in a catalogue.
    let known = [
        ("docs/plan.txt", "feb.cat:/plan.txt", 2),
        ("docs/drafts/plan.txt", "jan.cat:/drafts/plan.txt", 2),
        ("jan.cat:/drafts/plan.txt", "jan.cat:/drafts/plan.txt", 2),
    ];
    for (path, last, rows) in known {
        let answer = env.run([&["lost", path], &WITHIN[..]].concat());
        assert_eq!(answer.code, 0, "{path}: {}", answer.err);
        assert!(
            answer.err.contains(&format!("last known as {last}")),
            "{}",
            answer.err
        );
        let text = answer.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), rows, "{text}");
        assert!(lines[0].starts_with("now"), "{text}");
        assert!(lines[0].ends_with("docs/old/plan-2025.txt"), "{text}");
    }
    let json = env
        .run([&["lost", "docs/plan.txt", "--format", "json"], &WITHIN[..]].concat())
        .json();
    let places = json["places"].as_array().unwrap();
    assert!(places[0]["date"].is_null());
    assert_eq!(places[1]["date"], 1_767_225_600);
    assert_eq!(places[1]["path"], "jan.cat:/drafts/plan.txt");
    let top = env.run([&["lost", "docs/plan.txt", "--top", "1"], &WITHIN[..]].concat());
    assert_eq!(top.text().lines().count(), 1);
}

/// `--links` finds the present places of targets as `lost PATH` does.
#[test]
fn targets_of_dead_links_are_found_by_sweeps() {
    let env = sweeps();
    fs::create_dir(env.path("desk")).unwrap();
    for name in ["plan.txt", "drafts/plan.txt", "dies.txt", "never.txt"] {
        let link = env.path("desk").join(name.replace('/', "-"));
        std::os::unix::fs::symlink(format!("../docs/{name}"), link).unwrap();
    }
    let ask = |within: &[&str]| env.run([&["lost", "--links", "desk"], within].concat());
    let answer = ask(&WITHIN);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let text = answer.text();
    let ends: Vec<&str> = text
        .lines()
        .map(|line| line.rsplit("  ").next().unwrap())
        .collect();
    let place = "docs/old/plan-2025.txt";
    assert_eq!(ends, ["not known", place, "not known", place], "{text}");
    assert!(text.starts_with("desk/dies.txt"), "{text}");
    // Without the directory, no present place is known.
    assert_eq!(ask(&["--in", "feb.cat"]).code, 1);
}

#[test]
fn what_is_nowhere_is_not_found() {
    let env = sweeps();
    // The catalogues have this file, but no file here resembles it.
    let dead = env.run([&["lost", "docs/dies.txt"], &WITHIN[..]].concat());
    assert_eq!(dead.code, 1);
    assert!(
        dead.err.contains("last known as feb.cat:/dies.txt"),
        "{}",
        dead.err
    );
    let never = env.run([&["lost", "docs/never.txt"], &WITHIN[..]].concat());
    assert_eq!(never.code, 1);
    assert!(never.err.contains("no sweep knows"), "{}", never.err);
    let nowhere = env.run(["lost", "docs/never.txt"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.err.contains("--in"), "{}", nowhere.err);
    for verb in ["lost", "history"] {
        let dir = env.run([&[verb, "docs"], &WITHIN[..]].concat());
        assert_eq!((dir.code, dir.text().as_str()), (2, ""), "{verb}");
        assert!(dir.err.contains("docs is a directory"), "{}", dir.err);
    }
}

#[test]
fn a_file_has_a_history() {
    let env = sweeps();
    for file in [
        "docs/plan.txt",
        "docs/old/plan-2025.txt",
        "feb.cat:/plan.txt",
    ] {
        let answer = env.run([&["history", file, "--format", "csv"], &WITHIN[..]].concat());
        let csv = answer.text();
        let words: Vec<Vec<&str>> = csv
            .lines()
            .skip(1)
            .map(|line| line.split(',').take(3).collect())
            .collect();
        assert_eq!(
            words,
            [
                [JANUARY, "first", "jan.cat:/drafts/plan.txt"],
                [FEBRUARY, "moved-edited", "feb.cat:/plan.txt"],
                ["", "moved-edited", "docs/old/plan-2025.txt"],
            ],
            "{file}"
        );
    }
    let stays = env.run([&["history", "docs/stays.txt"], &WITHIN[..]].concat());
    assert!(stays.err.contains("it did not change"), "{}", stays.err);
    // A sweep that is named twice counts once.
    let twice = [
        "history",
        "jan.cat:/stays.txt",
        "--in",
        "jan.cat",
        "--in",
        "./jan.cat",
    ];
    let twice = env.run(twice);
    assert!(
        twice.err.contains("no other version is known"),
        "{}",
        twice.err
    );
    let died = env.run([&["history", "feb.cat:/dies.txt"], &WITHIN[..]].concat());
    let text = died.text();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("now") && last.contains("gone"), "{text}");
}

/// The percentage is the larger containment, as in every other list. Places with the same date are
/// sorted by this percentage. The resemblance is a separate field.
#[test]
fn places_and_versions_are_shown_by_containment() {
    let env = environment();
    let plan = paragraphs(1, 100);
    env.write("docs/plan.txt", &plan);
    let export = [
        "catalogue",
        "write",
        "docs",
        "-o",
        "jan.cat",
        "--created",
        JANUARY,
    ];
    assert_eq!(env.run(export).code, 0);
    fs::remove_file(env.path("docs/plan.txt")).unwrap();
    // `book.txt` has all of the plan, followed by half as much other text. A tenth of `edited.txt`
    // is new.
    env.write("docs/book.txt", [&plan[..], &paragraphs(2, 50)].concat());
    let edited = [&plan[..plan.len() / 10 * 9], &paragraphs(3, 10)].concat();
    env.write("docs/edited.txt", edited);
    let within = ["--in", "docs", "--in", "jan.cat"];
    let ask = |args: &[&str]| env.run([args, &within[..]].concat());

    let json = ask(&["lost", "docs/plan.txt", "--format", "json"]).json();
    let places = json["places"].as_array().unwrap();
    let figure = |at: usize, name: &str| places[at][name].as_f64().unwrap();
    let paths: Vec<_> = places.iter().map(|row| row["path"].as_str()).collect();
    assert_eq!(paths, [Some("docs/book.txt"), Some("docs/edited.txt")]);
    assert!(
        figure(0, "a_in_b") > 0.95 && figure(0, "b_in_a") < 0.75,
        "{json}"
    );
    assert!(
        figure(0, "resemblance") < figure(1, "resemblance"),
        "{json}"
    );
    // The catalogue has only samples of the plan.
    assert_eq!(places[0]["estimate"], true, "{json}");
    let text = ask(&["lost", "docs/plan.txt"]).text();
    let shown = |share: f64| format!("  ~{}%  ", (share * 100.0) as u32);
    assert!(text.contains(&shown(figure(0, "a_in_b"))), "{text}");
    let csv = ask(&["lost", "docs/plan.txt", "--format", "csv"]).text();
    assert!(
        csv.starts_with("date,path,relation,resemblance,a_in_b,b_in_a,estimate\n"),
        "{csv}"
    );

    fs::remove_file(env.path("docs/edited.txt")).unwrap();
    let json = ask(&["history", "docs/book.txt", "--format", "json"]).json();
    let version = &json["versions"][1];
    assert_eq!(version["estimate"], true, "{json}");
    let share = version["b_in_a"].as_f64().unwrap();
    assert!(
        share > 0.95 && version["resemblance"].as_f64().unwrap() < 0.75,
        "{json}"
    );
    let text = ask(&["history", "docs/book.txt"]).text();
    assert!(text.contains(&shown(share)), "{text}");
}

#[test]
fn a_summary_follows_files_through_moves() {
    let env = sweeps();
    assert_eq!(
        env.run([&["history", "--summary", "-o", "out"], &WITHIN[..]].concat())
            .code,
        0
    );
    let csv = fs::read_to_string(env.path("out/sweeps.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    // The columns are: same, edited, moved, moved-edited, created, died.
    assert_eq!(rows[1][5..11], ["2", "0", "0", "1", "0", "0"], "{csv}");
    assert_eq!(rows[2][5..11], ["1", "0", "0", "1", "1", "1"], "{csv}");
    let lifetimes = fs::read_to_string(env.path("out/lifetimes.csv")).unwrap();
    assert!(lifetimes.contains("31,1,1"), "{lifetimes}");
    assert!(env.path("out/sweeps.svg").is_file());
    let few = env.run(["history", "--summary", "--in", "jan.cat"]);
    assert_eq!(few.code, 2);
}

#[test]
fn a_summary_of_two_sweeps_draws_its_one_step() {
    let env = sweeps();
    let asked = [
        "history",
        "--summary",
        "-o",
        "out",
        "--in",
        "jan.cat",
        "--in",
        "feb.cat",
    ];
    assert_eq!(env.run(asked).code, 0);
    for name in ["sweeps", "often", "lifetimes"] {
        let svg = fs::read_to_string(env.path(format!("out/{name}.svg"))).unwrap();
        // A plot has a curve, a point for a single value, or the words `no values`.
        let drawn = ["<polyline", "<circle", "no values"].map(|mark| svg.contains(mark));
        assert!(drawn.contains(&true), "{name}: {svg}");
    }
    let svg = fs::read_to_string(env.path("out/sweeps.svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
}
