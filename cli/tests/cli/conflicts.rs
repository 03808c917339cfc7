//! `groups --conflicts` finds files of which a sync program kept two versions.

use std::fs;
use std::os::unix::fs::symlink;

use resemble_testutil::prose::lines;
use resemble_testutil::random::noise;
use resemble_testutil::{Environment, Ran};
use serde_json::Value;

use super::environment;
use super::plans::run;

/// Makes conflicting copies of files, by the naming scheme of each sync program, and files that
/// only look like such copies.
fn scene() -> Environment {
    let env = environment();
    let text = lines(1, 60);
    let rest = lines(2, 4);
    env.write("s/a.txt", &text);
    env.write("s/a.sync-conflict-20240131-101112-ABCDEFG.txt", &text);
    env.write("s/a (Ann's conflicted copy 2024-01-31).txt", &text[..2000]);
    env.write(
        "s/a (conflicted copy 2024-01-31 101112).txt",
        format!("{text}{rest}"),
    );
    env.write(
        "s/a-DESKTOP-1A2B3C4.txt",
        format!("{}{rest}", &text[..2000]),
    );
    // A computer's name after a hyphen is not a sure sign. Such a file counts as a conflicting copy
    // only if its original `s/b.txt` exists.
    env.write("s/b-DESKTOP-1A2B3C4.txt", &text);
    // Both versions of `s/c.txt` got a new name, so no file has the original name.
    env.write("s/c.variant-1a2b.txt", &text);
    env.write("s/c.variant-3c4d.txt", &text);
    for name in [
        "report (1).txt",
        "a.variant.txt",
        "conflicted.txt",
        "a (1).txt",
    ] {
        env.write(format!("s/{name}"), &text);
    }
    env
}

fn asked(env: &Environment, more: &[&str]) -> Ran {
    env.run(["groups", "s", "--conflicts"].iter().chain(more))
}

fn rows(ran: &Ran) -> Vec<Value> {
    ran.json()["conflicts"].as_array().unwrap().clone()
}

/// Files larger than the limit for a comparison are reported as estimates. Nearly all of each file
/// is a hole.
#[test]
fn nothing_is_claimed_of_what_only_chunks_tell() {
    let env = environment();
    for (seed, name) in [
        (1, "a.img"),
        (2, "a.sync-conflict-20240131-101112-ABCDEFG.img"),
    ] {
        env.write(format!("s/{name}"), noise(seed, 9000));
        let file = fs::File::options()
            .write(true)
            .open(env.path(format!("s/{name}")));
        file.unwrap().set_len(65 << 20).unwrap();
    }
    let found = rows(&asked(&env, &["--format=json"]));
    assert_eq!(found[0]["estimate"], true, "{found:?}");
    let text = asked(&env, &[]).text();
    assert!(text.contains("differs from  s/a.img"), "{text}");
}

#[test]
fn each_conflict_says_how_it_and_its_original_relate() {
    let env = scene();
    let found = asked(&env, &["--format=json"]);
    assert_eq!(found.code, 0, "{found:?}");
    let said: Vec<String> = rows(&found)
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
            let gone = row["gone"].as_bool().unwrap();
            let words = [text("path"), text("program"), text("state"), text("other")];
            format!("{} {gone}", words.join(" | "))
        })
        .collect();
    assert_eq!(
        said,
        [
            "s/a (Ann's conflicted copy 2024-01-31).txt | Dropbox | held | s/a.txt false",
            "s/a (conflicted copy 2024-01-31 101112).txt | Nextcloud | holds | s/a.txt false",
            "s/a-DESKTOP-1A2B3C4.txt | OneDrive | diverged | s/a.txt false",
            "s/a.sync-conflict-20240131-101112-ABCDEFG.txt | Syncthing | equal | s/a.txt false",
            "s/c.variant-1a2b.txt | git-annex | alone | - true",
            "s/c.variant-3c4d.txt | git-annex | equal | s/c.variant-1a2b.txt true",
        ]
    );
}

/// The figures in JSON are those of `why`, and text shows their percentages.
#[test]
fn figures_are_those_of_why() {
    let env = scene();
    let rows = rows(&asked(&env, &["--format=json"]));
    let mut compared = 0;
    for row in rows.iter().filter(|row| row["other"].is_string()) {
        let (a, b) = (
            row["path"].as_str().unwrap(),
            row["other"].as_str().unwrap(),
        );
        let why = env.run(["why", a, b, "--format=json"]).json();
        for figure in [
            "unit",
            "a_in_b",
            "b_in_a",
            "differing_bytes_a",
            "differing_bytes_b",
        ] {
            assert_eq!(row[figure], why[figure], "{a} {figure}");
        }
        compared += 1;
    }
    assert_eq!(compared, 5);
    let text = asked(&env, &[]).text();
    let diverged = text.lines().find(|line| line.contains("DESKTOP")).unwrap();
    let share = rows[2]["a_in_b"].as_f64().unwrap() * 100.0;
    assert!(
        diverged.contains(&format!("{}%", share as u64)),
        "{diverged}"
    );
    assert!(diverged.contains("diverged from"), "{diverged}");
    let csv = asked(&env, &["--format=csv"]).text();
    assert_eq!(csv.lines().count(), rows.len() + 1, "{csv}");
    assert!(
        csv.starts_with("state,a_in_b,b_in_a,path,other,program,original,gone,"),
        "{csv}"
    );
}

#[test]
fn a_plan_takes_the_equal_ones_and_shows_the_others() {
    let env = scene();
    let made = asked(&env, &["--plan=trash", "-o", "plan.sh"]);
    assert!(
        made.code == 0 && made.err.contains("a plan of 2 steps"),
        "{made:?}"
    );
    let script = fs::read_to_string(env.path("plan.sh")).unwrap();
    assert!(
        script.contains("/s/a-DESKTOP-1A2B3C4.txt: diverged: resemble why "),
        "{script}"
    );
    let done = run(&env, "sh", &["--do-it"]);
    assert_eq!(done.code, 0, "{done:?}");
    let left = |name: &str| env.path(format!("s/{name}")).exists();
    assert!(!left("a.sync-conflict-20240131-101112-ABCDEFG.txt"));
    assert!(!left("c.variant-3c4d.txt"));
    for name in [
        "a.txt",
        "a-DESKTOP-1A2B3C4.txt",
        "c.variant-1a2b.txt",
        "report (1).txt",
    ] {
        assert!(left(name), "{name}");
    }
}

/// A sync program may keep two versions of a conflicting copy, too. All equal copies are removed.
#[test]
fn a_conflict_of_a_conflict_goes_with_it() {
    let env = environment();
    let text = lines(1, 60);
    let first = "s/a.sync-conflict-20240131-101112-ABCDEFG";
    env.write("s/a.txt", &text);
    env.write(format!("{first}.txt"), &text);
    let second = format!("{first}.sync-conflict-20240201-101112-ABCDEFG.txt");
    env.write(second, &text);
    let made = asked(&env, &["--plan=trash", "-o", "plan.sh"]);
    assert!(made.err.contains("a plan of 2 steps"), "{made:?}");
    let done = run(&env, "sh", &["--do-it"]);
    assert_eq!(done.code, 0, "{done:?}");
    let left = fs::read_dir(env.path("s")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a.txt"]);
}

#[test]
fn without_a_conflict_it_ends_with_1() {
    let env = environment();
    env.write("s/report (1).txt", lines(1, 60));
    env.write("s/a.variant.txt", lines(1, 60));
    fs::create_dir(env.path("s/x.sync-conflict-20240131-101112-ABCDEFG.d")).unwrap();
    let found = asked(&env, &[]);
    assert_eq!((found.code, found.text()), (1, String::new()), "{found:?}");
    assert!(
        found.err.contains("no file is named after a conflict"),
        "{found:?}"
    );
}

#[test]
fn what_cannot_be_compared_is_reported() {
    let env = environment();
    env.write(
        "s/a.sync-conflict-20240131-101112-ABCDEFG.txt",
        lines(1, 60),
    );
    // A link in place of the original is not read, because it may lead anywhere.
    let secret = env.write("secret", lines(1, 60));
    symlink(secret, env.path("s/a.txt")).unwrap();
    let rows = rows(&asked(&env, &["--format=json"]));
    assert_eq!(
        (&rows[0]["state"], &rows[0]["gone"]),
        (&"alone".into(), &true.into())
    );
    let missing = env.run(["groups", "s", "nowhere", "--conflicts"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    for more in [
        &["--superseded=95%"][..],
        &["--top=3"],
        &["--format=html"],
        &["--order"],
    ] {
        let refused = asked(&env, more);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}
