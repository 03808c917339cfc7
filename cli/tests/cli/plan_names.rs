//! Tests plans of files with several names, and of roots with the same name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use resemble_report::human::human_size;
use resemble_testutil::Environment;
use resemble_testutil::prose::lines;

use super::environment;
use super::plans::{run, set_time, snapshot};

/// Makes two files of the same bytes, each with two names: `a/1` and `c/1` are one file, and so are
/// `b/2` and `d/2`. The first file is older.
fn pairs_of_names() -> Environment {
    let env = environment();
    for (seconds, names) in [(1, ["t/a/1", "t/c/1"]), (2, ["t/b/2", "t/d/2"])] {
        let file = env.write(names[0], lines(1, 100));
        set_time(&file, seconds * 1_000_000_000, 0);
        fs::create_dir_all(env.path(names[1]).parent().unwrap()).unwrap();
        fs::hard_link(&file, env.path(names[1])).unwrap();
    }
    let report = env.run(["groups", "t", "--local", "--format", "json", "-o", "report"]);
    assert_eq!(report.code, 0, "{report:?}");
    env
}

/// Returns two paths for each step of a plan: the file that is kept, and the copy that is removed.
fn steps(env: &Environment, args: &[&str]) -> Vec<[String; 2]> {
    let plan = env.run([&["groups"], args].concat());
    let root = format!("{}/", fs::canonicalize(env.path("")).unwrap().display());
    let text = plan.text().replace("\\\n", "");
    let steps = text.lines().filter(|line| line.starts_with("step "));
    let names = steps.map(|line| {
        let words: Vec<&str> = line.split('\'').collect();
        [1, 5].map(|at| {
            words[at]
                .strip_prefix(&root)
                .unwrap_or(words[at])
                .to_owned()
        })
    });
    names.collect()
}

const KINDS: [&str; 6] = [
    "--plan=hardlink",
    "--plan=symlink",
    "--plan=trash",
    "--plan=remove",
    "--plan=move=away",
    "--plan=reflink",
];

/// Rules of `--keep` look at every name of a file, and not only at the one in the answer.
#[test]
fn rules_see_all_names_of_a_file() {
    let env = pairs_of_names();
    for kind in KINDS {
        let one = |stays: &str, go: [&str; 2]| match kind {
            "--plan=reflink" => Vec::new(),
            _ => go.map(|name| [stays.to_owned(), name.to_owned()]).to_vec(),
        };
        for asked in [["t", "--local"], ["--from", "report"]] {
            let ask = |keep: &[&str]| steps(&env, &[&asked[..], &[kind], keep].concat());
            assert_eq!(ask(&[]), one("t/a/1", ["t/b/2", "t/d/2"]), "{kind}");
            assert_eq!(
                ask(&["--keep=in:t/d"]),
                one("t/d/2", ["t/a/1", "t/c/1"]),
                "{kind}"
            );
            assert_eq!(
                ask(&["--keep=in:t/c"]),
                one("t/c/1", ["t/b/2", "t/d/2"]),
                "{kind}"
            );
        }
    }
}

/// A report names each file by one of its names. If a filter excludes that name, the plan uses
/// another name of the file.
#[test]
fn a_name_that_is_left_out_does_not_leave_out_its_file() {
    let env = pairs_of_names();
    env.write("t/e/3", lines(1, 100));
    set_time(&env.path("t/e/3"), 3_000_000_000, 0);
    let report = env.run(["groups", "t", "--local", "--format", "json", "-o", "report"]);
    assert_eq!(report.code, 0, "{report:?}");
    for kind in KINDS {
        let of_names = if kind == "--plan=reflink" { 0 } else { 2 };
        for (globs, count) in [
            (&["--exclude=a"][..], 1 + of_names),
            (&["--exclude=a", "--exclude=c"], 1),
            (&["--include=c", "--include=e"], 1),
            (&["--include=d", "--include=e"], 1),
        ] {
            let fresh = steps(&env, &[&["t", "--local", kind], globs].concat());
            let saved = steps(&env, &[&["--from", "report", kind], globs].concat());
            assert_eq!(saved, fresh, "{kind} {globs:?}");
            assert_eq!(saved.len(), count, "{kind} {globs:?} {saved:?}");
        }
    }
    for globs in [
        &["--exclude=a"][..],
        &["--exclude=a", "--exclude=c"],
        &["--include=[cde]"],
    ] {
        let json = ["--format", "json"];
        let fresh = env.run([&["groups", "t", "--local"], &json[..], globs].concat());
        let saved = env.run([&["groups", "--from", "report"], &json[..], globs].concat());
        let (fresh, saved) = (fresh.exits(0).json(), saved.exits(0).json());
        assert_eq!(saved["identical"], fresh["identical"], "{globs:?}");
        assert!(saved["summary"]["overhead"].as_u64() > Some(0), "{saved}");
    }
    // Other names are looked up in the tree. Without the tree, only the names in the report count.
    fs::rename(env.path("t"), env.path("away")).unwrap();
    let away = ["groups", "--from", "report", "--exclude=a", "--exclude=b"];
    assert_eq!(env.run(away).code, 1);
}

/// The user names the file `t/b/2`, and also the folder `t/d` with another name of that file. The
/// plan acts on both names.
#[test]
fn a_named_file_has_its_other_name_in_a_root() {
    let env = pairs_of_names();
    let ask = ["t/b/2", "t/d", "t/a", "t/c", "--local", "--plan=trash"];
    let go = ["t/b/2", "t/d/2"].map(|name| ["t/a/1".to_owned(), name.to_owned()]);
    assert_eq!(steps(&env, &ask), go);
}

/// A date in the future counts as unknown, so its file is neither the newest nor the oldest.
#[test]
fn a_file_of_the_future_is_not_the_newest() {
    let env = environment();
    for (name, seconds) in [
        ("a", 1_000_000_000),
        ("b", 1_100_000_000),
        ("c", 9_000_000_000),
    ] {
        set_time(&env.write(format!("t/{name}"), lines(1, 100)), seconds, 0);
    }
    for (rule, stays) in [("newest", "t/b"), ("oldest", "t/a")] {
        let ask = ["t", "--local", "--plan=trash", "--keep", rule];
        let kept = steps(&env, &ask).into_iter().map(|[keep, _]| keep);
        assert_eq!(kept.collect::<Vec<_>>(), [stays, stays], "{rule}");
        let plan = env.run([&["groups"], &ask[..]].concat()).text();
        assert!(plan.contains("future and counts as unknown: /"), "{plan}");
    }
}

/// A plan moves files to one folder for each root, even if two roots have the same name. `--undo`
/// moves all files back.
#[test]
fn roots_of_one_name_have_folders_of_their_own() {
    let env = environment();
    for root in ["p/docs", "q/docs", "r/docs~2"] {
        let file = env.write(format!("{root}/x"), lines(1, 100));
        set_time(&file, 2_000_000_000, 0);
    }
    set_time(&env.write("keep/x", lines(1, 100)), 1_000_000_000, 0);
    let file = env.write("file", lines(1, 100));
    set_time(&file, 2_000_000_000, 0);
    let before = [snapshot(&env.path("p")), snapshot(&env.path("q"))];
    let ask = [
        "groups", "p/docs", "q/docs", "r/docs~2", "file", "keep", "--local",
    ];
    let plan = ["--plan=move=away", "-o", "plan.sh"];
    let made = env.run([&ask[..], &plan].concat());
    assert!(made.code == 0 && made.err.contains("4 steps"), "{made:?}");
    let done = run(&env, "sh", &["--do-it"]);
    assert_eq!(done.code, 0, "{done:?}");
    let moved: Vec<_> = snapshot(&env.path("away")).into_keys().collect();
    let places = ["docs/x", "docs~2/x", "docs~2~2/x", "file"];
    assert_eq!(moved, places.map(|place| env.path("away").join(place)));
    let undone = run(&env, "sh", &["--undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let after = [snapshot(&env.path("p")), snapshot(&env.path("q"))];
    assert_eq!(before, after);
}

/// The number of bytes that a plan frees equals the number in the report, even if files have holes.
#[test]
fn reports_and_plans_count_the_same_bytes() {
    let env = environment();
    for (name, size) in [("small", 40_000), ("large", 4 << 20)] {
        for copy in ["a", "b"] {
            let file = env.write(format!("{name}/{copy}"), name);
            let file = fs::File::options().append(true).open(file).unwrap();
            file.set_len(size).unwrap();
        }
        let report = env.run(["groups", name, "--format", "json"]).json();
        let overhead = report["summary"]["overhead"].as_u64().unwrap();
        let freed = format!("1 step, {} to be freed", human_size(overhead));
        let plan = env.run(["groups", name, "--plan", "remove", "-o", "plan.sh"]);
        assert!(plan.err.contains(&freed), "{freed}: {plan:?}");
    }
}

/// A directory may have any name. A pattern must be UTF-8, and the message names its option.
#[test]
fn directories_of_options_need_not_be_utf8() {
    let env = environment();
    let with = |before: &str| {
        let mut text = OsString::from(before);
        text.push(OsStr::from_bytes(b"d\xff"));
        text
    };
    fs::create_dir_all(env.path("t").join(with(""))).unwrap();
    fs::create_dir(env.path("by")).unwrap();
    let a = env.write("t/a", lines(1, 100));
    fs::copy(a, env.path("t").join(with("")).join("b")).unwrap();
    let ask = |words: &str, last: &str| {
        let words = words.split(' ').map(OsString::from);
        env.run(words.chain([with(last)]))
    };
    let kept = ask("groups t --local --plan=trash", "--keep=in:t/");
    let text = kept.text();
    let step = text.lines().find(|line| line.starts_with("step "));
    let stays = step.and_then(|step| step.split('\'').nth(1));
    assert!(
        stays.is_some_and(|stays| stays.ends_with(r"/t/d\0377/b")),
        "{kept:?}"
    );
    for (words, last) in [
        ("groups t --local", "--plan=move=o"),
        ("covered t --by by --local", "--plan=copy=o"),
    ] {
        let plan = ask(words, last);
        assert!(
            plan.code < 2 && plan.text().contains(r"/od\0377"),
            "{plan:?}"
        );
    }
    for (last, option) in [
        ("--exclude=", "'--exclude <GLOB>'"),
        ("--include=", "'--include <GLOB>'"),
    ] {
        let refused = ask("groups t --local", last);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.err.contains(option) && refused.err.contains("UTF-8"),
            "{refused:?}"
        );
    }
}
