//! Tests plans that use a catalogue in place of a disk that is not connected. Either the plan is
//! for the files of that disk, or for local files that the disk also has.

use std::fs;
use std::path::PathBuf;

use super::environment;
use super::plans::{run, snapshot};

/// A disk is catalogued and unplugged. A plan is made for the copies on it. The plan is run when
/// the disk is mounted at another path.
#[test]
fn a_plan_for_a_disk_that_is_not_here() {
    let env = environment();
    let text = |n: usize| format!("text {n} ").repeat(200);
    for (path, n) in [
        ("disk/a/1", 1),
        ("disk/a/2", 2),
        ("disk/a/3", 3),
        ("docs/one", 1),
    ] {
        env.write(path, text(n));
    }
    env.write("docs/two", text(2));
    env.write("disk/again", text(3));
    assert_eq!(
        env.run(["export", "disk", "-o", "disk.cat", "--local"])
            .code,
        0
    );
    fs::create_dir(env.path("mnt")).unwrap();
    fs::rename(env.path("disk"), env.path("mnt/new place")).unwrap();
    let plan = [
        "groups",
        "disk.cat",
        "docs",
        "--local",
        "--plan=move=out",
        "--keep=in:docs",
    ];
    let made = env.run([&plan[..], &["-o", "plan.sh"]].concat());
    assert!(
        made.code == 0 && made.err.contains("a plan of 3 steps"),
        "{made:?}"
    );
    assert_eq!(
        run(&env, "sh", &["--do-it"]).code,
        2,
        "it needs to know where the disk is"
    );
    // This file has the catalogued size but other bytes, so the plan must not act on it.
    env.write("mnt/new place/a/2", text(2).to_uppercase());
    let place = env.path("mnt/new place");
    let at = ["--at", place.to_str().unwrap()];
    let before = snapshot(&place);
    let done = run(&env, "dash", &[&["--do-it"], &at[..]].concat());
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.err.contains("a/2: its bytes are not those"),
        "{done:?}"
    );
    assert!(done.text().contains("2 of 3 steps done"), "{done:?}");
    assert_eq!(fs::read(env.path("out/@/a/1")).unwrap(), text(1).as_bytes());
    assert_eq!(fs::read(env.path("docs/one")).unwrap(), text(1).as_bytes());
    let undone = run(&env, "sh", &[&["--undo"], &at[..]].concat());
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(snapshot(&place), before);
}

/// A plan is for files that a catalogued disk also has. It removes a file only after its bytes were
/// compared with those on the disk. The directory of `covered` may be that disk itself.
#[test]
fn a_plan_for_what_a_catalogue_covers() {
    let env = environment();
    let text = |n: usize| format!("text {n} ").repeat(200);
    for (path, n) in [
        ("disk/a/1", 1),
        ("disk/a/2", 2),
        ("disk/3", 3),
        ("disk/3 too", 3),
    ] {
        env.write(path, text(n));
    }
    for (path, n) in [("docs/one", 1), ("docs/two", 2), ("docs/four", 4)] {
        env.write(path, text(n));
    }
    let made = env.run(["catalogue", "write", "disk", "-o", "disk.cat", "--local"]);
    assert_eq!(made.code, 0, "{made:?}");
    let place = env.path("mnt");
    fs::rename(env.path("disk"), &place).unwrap();
    let plan = |dir: &str, how: &str| {
        let by = [
            "--by",
            "disk.cat",
            "--by-digest",
            "--local",
            "-o",
            "plan.sh",
        ];
        env.run([&["covered", dir][..], &by, &["--plan", how]].concat())
    };
    let made = plan("docs", "copy=rest");
    assert!(made.err.contains("a plan of 1 step, "), "{made:?}");
    let made = plan("docs", "move=out");
    assert!(made.err.contains("a plan of 2 steps"), "{made:?}");
    assert_eq!(run(&env, "sh", &["--do-it"]).code, 2, "where is the disk?");
    env.write("mnt/a/2", text(2).to_uppercase());
    let at = ["--at", place.to_str().unwrap()];
    let before = snapshot(&env.path("docs"));
    let done = run(&env, "dash", &[&["--do-it"], &at[..]].concat());
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.err.contains("two: its bytes are not those"),
        "{done:?}"
    );
    assert_eq!(fs::read(env.path("out/one")).unwrap(), text(1).as_bytes());
    assert!(env.path("docs/two").exists() && env.path("docs/four").exists());
    let undone = run(&env, "sh", &[&["--undo"], &at[..]].concat());
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(snapshot(&env.path("docs")), before);
    // Here the plan is for files on the catalogued disk itself. They do not cover each other, so
    // one file of each content stays.
    env.write("mnt/a/2", text(2));
    plan("mnt", "remove");
    fs::remove_file(env.path("plan.sh.log")).unwrap();
    run(&env, "sh", &[&["--do-it"], &at[..]].concat());
    for n in 1..=3 {
        let files = ["mnt/a/1", "mnt/a/2", "mnt/3", "mnt/3 too"].map(|name| env.path(name));
        let has = |file: &PathBuf| fs::read(file).is_ok_and(|read| read == text(n).as_bytes());
        assert_eq!(files.iter().filter(|file| has(file)).count(), 1, "{n}");
    }
}

/// Files of one tree are renamed as in another tree, of which there is only a catalogue.
#[test]
fn a_tree_gets_the_names_of_a_catalogue() {
    let env = environment();
    let text = |n: usize| format!("text {n} ").repeat(200);
    for (n, path) in ["new/in/1", "new/2", "same/4", "same/3"].iter().enumerate() {
        env.write(format!("disk/{path}"), text(n + 1));
    }
    for (n, path) in ["old/in/1", "old/2", "same/3", "same/4"].iter().enumerate() {
        env.write(format!("backup/{path}"), text(n + 1));
    }
    let made = env.run(["catalogue", "write", "disk", "-o", "disk.cat", "--local"]);
    assert_eq!(made.code, 0, "{made:?}");
    let wanted = env.path("disk");
    fs::rename(&wanted, env.path("away")).unwrap();
    let plan = |a: &str, b: &str| {
        env.run([
            "compare", a, b, "--local", "--plan", "rename", "-o", "plan.sh",
        ])
    };
    let refused = plan("backup", "disk.cat");
    assert!(
        refused.code == 2
            && refused
                .err
                .contains("only a catalogue has those of disk.cat:"),
        "{refused:?}"
    );
    let made = plan("disk.cat", "backup");
    assert!(made.code < 2, "{made:?}");
    let before = snapshot(&env.path("backup"));
    let done = run(&env, "sh", &["--do-it"]);
    assert_eq!(done.code, 0, "{done:?}");
    for (n, path) in ["new/in/1", "new/2", "same/4", "same/3"].iter().enumerate() {
        let read = fs::read(env.path(format!("backup/{path}"))).unwrap();
        assert_eq!(read, text(n + 1).as_bytes(), "{path}");
    }
    assert!(!env.path("backup/old").exists());
    assert_eq!(run(&env, "sh", &["--undo"]).code, 0);
    assert_eq!(snapshot(&env.path("backup")), before);
}
