//! `compare --plan rename` on random trees. Moves in one tree are repeated in the other.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use resemble_testutil::random::Random;
use resemble_testutil::{Environment, asked_for, finish};

use super::environment;
use super::plans::{Snapshot, name, run, set_time, snapshot};

/// The arguments of the command that writes a plan for renaming files of `b`.
const PLAN: &str = "compare a b --local --plan=rename -o plan.sh";

/// Writes a file whose modification time is computed from its bytes. rsync compares size and time,
/// so files with different bytes must have different times.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let sum = text
        .bytes()
        .fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    set_time(path, 1_000_000_000 + sum % 500_000_000, 0);
}

fn text(random: &mut Random) -> String {
    let words = random.draw();
    format!("{words} ").repeat(20 + random.below(40))
}

fn grow(root: &Path, random: &mut Random) {
    let folders = ["", "a", "a/b", "a/b/c", "d", "d/e", "Photos"];
    for number in 0..6 + random.below(12) {
        let folder = root.join(folders[random.below(folders.len())]);
        write(&folder.join(name(random, number)), &text(random));
    }
    if random.below(2) == 0 {
        write(&root.join("copy 1"), "the same text twice, or more often");
        write(&root.join("d/copy 2"), "the same text twice, or more often");
    }
    write(&root.join("a/empty"), "");
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                todo.push(path.clone());
                found.push(path);
            }
        }
    }
    found
}

/// Changes a tree in one of the ways in which people change trees.
fn change(root: &Path, random: &mut Random) {
    let files: Vec<PathBuf> = snapshot(root).into_keys().collect();
    let folders = folders(root);
    if files.len() < 3 || folders.is_empty() {
        return;
    }
    let any = |from: &[PathBuf], random: &mut Random| from[random.below(from.len())].clone();
    let (file, other, third) = (
        any(&files, random),
        any(&files, random),
        any(&files, random),
    );
    let (folder, into) = (any(&folders, random), any(&folders, random));
    let aside = root.join("aside");
    let fresh = format!("new {}", random.draw() % 1000);
    match random.below(13) {
        // A folder is renamed, or moved into another folder.
        0 => fs::rename(&folder, folder.with_file_name(fresh)).unwrap(),
        1 if !into.starts_with(&folder) => {
            let to = into.join(folder.file_name().unwrap());
            if !to.exists() {
                fs::rename(&folder, to).unwrap();
            }
        }
        // Two folders swap their paths.
        2 if !into.starts_with(&folder) && !folder.starts_with(&into) => {
            fs::rename(&folder, &aside).unwrap();
            fs::rename(&into, &folder).unwrap();
            fs::rename(&aside, &into).unwrap();
        }
        // Two or three files swap their paths.
        3 if file != other => {
            fs::rename(&file, &aside).unwrap();
            fs::rename(&other, &file).unwrap();
            fs::rename(&aside, &other).unwrap();
        }
        4 if file != other && other != third && file != third => {
            fs::rename(&file, &aside).unwrap();
            fs::rename(&other, &file).unwrap();
            fs::rename(&third, &other).unwrap();
            fs::rename(&aside, &third).unwrap();
        }
        // A file or a folder gets its name in upper case.
        5 => {
            let name = file.file_name().unwrap().to_ascii_uppercase();
            fs::rename(&file, file.with_file_name(name)).unwrap();
        }
        6 => {
            let name = folder.file_name().unwrap().to_ascii_uppercase();
            fs::rename(&folder, folder.with_file_name(name)).unwrap();
        }
        7 => fs::rename(&file, into.join(fresh)).unwrap(),
        // A file is renamed over another file, which is lost.
        8 if file != other => fs::rename(&file, &other).unwrap(),
        9 => write(&file, &(fs::read_to_string(&file).unwrap() + &text(random))),
        10 => write(&into.join(fresh), &text(random)),
        11 => fs::remove_file(&file).unwrap(),
        // A file replaces the folder that contains it, or a folder replaces a file.
        12 if random.below(2) == 0 => {
            fs::rename(&file, &aside).unwrap();
            fs::create_dir(&file).unwrap();
            fs::rename(&aside, file.join(fresh)).unwrap();
        }
        12 if file.starts_with(&folder) => {
            fs::rename(&file, &aside).unwrap();
            fs::remove_dir_all(&folder).unwrap();
            fs::rename(&aside, &folder).unwrap();
        }
        _ => {}
    }
}

/// Counts the bytes that A has and B lacks. A content that A has more often than B counts once for
/// each missing copy.
fn owed(a: &Snapshot, b: &Snapshot) -> u64 {
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for state in b.values() {
        *counts.entry(&state.bytes).or_default() -= 1;
    }
    for state in a.values() {
        *counts.entry(&state.bytes).or_default() += 1;
    }
    let owed = counts.iter().filter(|(_, count)| **count > 0);
    owed.map(|(bytes, count)| bytes.len() as u64 * count.unsigned_abs())
        .sum()
}

/// Counts the bytes of files of A that differ from the file at the same path in B, or that B lacks.
fn missing(a: &Path, b: &Path) -> u64 {
    let b_files = snapshot(b);
    let at_b = |path: &Path| b_files.get(&b.join(path.strip_prefix(a).unwrap()));
    let differs = |(path, state): &(&PathBuf, &super::plans::State)| {
        at_b(path).is_none_or(|there| there.bytes != state.bytes)
    };
    let files = snapshot(a);
    files
        .iter()
        .filter(differs)
        .map(|(_, state)| state.bytes.len() as u64)
        .sum()
}

fn rsync(env: &Environment, args: &[&str]) -> Option<String> {
    let mut command = Command::new("rsync");
    command
        .args(args)
        .args(["a/", "b/"])
        .current_dir(env.path(""))
        .env("LC_ALL", "C");
    command.output().ok()?;
    Some(finish(&mut command, b"").success().text())
}

fn by_path(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let strip = |path: &Path| path.strip_prefix(root).unwrap().to_owned();
    let files = snapshot(root).into_iter();
    files
        .map(|(path, state)| (strip(&path), state.bytes))
        .collect()
}

fn replay(seed: u64) {
    let mut random = Random::new(seed);
    let env = environment();
    let (a, b) = (env.path("a"), env.path("b"));
    grow(&a, &mut random);
    let copied = Command::new("cp")
        .arg("-a")
        .args([&a, &b])
        .status()
        .unwrap();
    assert!(copied.success());
    (0..=random.below(9)).for_each(|_| change(&a, &mut random));
    let before = snapshot(&b);
    let (owed, had) = (owed(&snapshot(&a), &before), missing(&a, &b));

    // The plan is made from a saved report.
    let saved = [
        "compare",
        "a",
        "b",
        "--local",
        "--format=json",
        "-o",
        "saved",
    ];
    let made = env.run(saved);
    assert!(made.code < 2, "{seed} {made:?}");
    let made = env.run(["compare", "--from=saved", "--plan=rename", "-o", "plan.sh"]);
    assert!(made.code < 2, "{seed} {made:?}");
    let shell = ["sh", "bash"][random.below(2)];
    let dry = run(&env, shell, &[]);
    assert_eq!(dry.code, 0, "{seed} {dry:?}");
    assert_eq!(snapshot(&b), before, "{seed}: a dry run changes nothing");
    let done = run(&env, shell, &["--do-it"]);
    assert_eq!(done.code, 0, "{seed} {done:?}");
    let left = missing(&a, &b);
    if left != owed {
        let rows = env.run(["compare", "--from=saved", "--format=tsv"]).text();
        let done = done.text();
        panic!("{seed}: {left} bytes are missing, not {owed}; it was {had}\n{rows}{done}");
    }
    assert_eq!(
        snapshot(&b).len(),
        before.len(),
        "{seed}: nothing is overwritten"
    );
    let again = run(&env, shell, &["--do-it"]);
    assert!(
        again.code == 0 && again.text().starts_with("all done"),
        "{seed} {again:?}"
    );

    if env.path("plan.sh.log").exists() {
        let undone = run(&env, shell, &["--undo"]);
        assert_eq!(undone.code, 0, "{seed} {undone:?}");
        assert_eq!(snapshot(&b), before, "{seed}: undone");
        assert_eq!(run(&env, shell, &["--do-it"]).code, 0, "{seed}");
        assert_eq!(missing(&a, &b), owed, "{seed}: done again");
    }
    let Some(stats) = rsync(&env, &["-an", "--delete", "--stats"]) else {
        return;
    };
    let copied = stats
        .lines()
        .find_map(|line| line.strip_prefix("Total transferred file size: "));
    let digits: String = copied
        .unwrap()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    assert_eq!(digits.parse::<u64>().unwrap(), owed, "{seed} {stats}");
    rsync(&env, &["-a", "--delete"]);
    assert_eq!(by_path(&a), by_path(&b), "{seed}");
    let folders_of = |root: &Path| {
        let mut found = folders(root);
        found.sort();
        found
            .iter()
            .map(|f| f.strip_prefix(root).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(folders_of(&a), folders_of(&b), "{seed}");
}

/// A file gets the name of a folder that the plan cannot remove. That folder keeps a link or an
/// empty folder, or was empty before.
#[test]
fn a_folder_that_keeps_something_goes_aside() {
    for case in ["link", "empty folder", "empty"] {
        let env = environment();
        let random = &mut Random::new(1);
        let moved = text(random);
        write(&env.path("a/d/x"), &moved);
        fs::create_dir_all(env.path("b/d/x")).unwrap();
        match case {
            "link" => std::os::unix::fs::symlink("nowhere", env.path("b/d/x/link")).unwrap(),
            "empty folder" => fs::create_dir(env.path("b/d/x/empty")).unwrap(),
            _ => {}
        }
        let from = ["b/d/x/z", "b/z"][usize::from(case == "empty")];
        write(&env.path(from), &moved);
        env.run(PLAN.split(' ')).exits(1);
        let dry = run(&env, "sh", &[]);
        assert_eq!(dry.code, 0, "{case} {dry:?}");
        assert!(
            dry.text().contains("b/d/x.resemble-aside.1"),
            "{case} {dry:?}"
        );
        let done = run(&env, "sh", &["--do-it"]);
        assert_eq!(done.code, 0, "{case} {done:?}");
        assert_eq!(missing(&env.path("a"), &env.path("b")), 0, "{case}");
        assert!(env.path("b/d/x.resemble-aside.1").is_dir(), "{case}");
        assert_eq!(run(&env, "sh", &["--undo"]).code, 0, "{case}");
        assert!(env.path(from).is_file(), "{case}");
    }
}

/// A folder gets a name inside another folder that is renamed, too. The outer folder gets its name
/// first. If the outer folder's new name depends on the inner folder, the inner folder waits.
#[test]
fn a_folder_is_renamed_before_another_goes_into_it() {
    for folders in [
        &[("holiday", "photos/2024"), ("pictures", "photos")][..],
        &[("zoo", "photos/2024"), ("pictures", "photos")],
        &[("x", "photos/2024"), ("all", "photos"), ("photos", "x")],
        &[
            ("x", "photos/2024"),
            ("pictures", "photos"),
            ("photos", "x"),
        ],
    ] {
        let env = environment();
        let (a, b) = (env.path("a"), env.path("b"));
        let random = &mut Random::new(1);
        for (at_b, at_a) in folders {
            for number in 0..3 {
                let (name, text) = (format!("{at_b} {number}"), text(random));
                write(&a.join(at_a).join(&name), &text);
                write(&b.join(at_b).join(&name), &text);
            }
        }
        let before = by_path(&b);
        env.run(PLAN.split(' ')).exits(1);
        let done = run(&env, "sh", &["--do-it"]);
        assert_eq!(done.code, 0, "{folders:?} {done:?}");
        assert_eq!(by_path(&a), by_path(&b), "{folders:?}");
        assert_eq!(run(&env, "sh", &["--undo"]).code, 0, "{folders:?}");
        assert_eq!(by_path(&b), before, "{folders:?}");
    }
}

/// A name was free when the plan was made, and has been taken since. The dry run reports that, too.
#[test]
fn a_name_that_was_taken_since_is_seen_by_the_dry_run() {
    let env = environment();
    let moved = text(&mut Random::new(1));
    write(&env.path("a/new"), &moved);
    write(&env.path("b/old"), &moved);
    env.run(PLAN.split(' ')).exits(1);
    assert_eq!(run(&env, "sh", &[]).code, 0);
    write(&env.path("b/new"), "something else");
    for args in [&[][..], &["--do-it"]] {
        let ran = run(&env, "sh", args);
        assert!(
            ran.code == 1 && ran.err.contains("b/new is taken"),
            "{args:?} {ran:?}"
        );
    }
}

/// `RESEMBLE_PLAN_TREES` sets the number of pairs of trees; the default is 64.
#[test]
fn moves_are_replayed_on_the_other_side() {
    let trees: u64 = asked_for("RESEMBLE_PLAN_TREES").unwrap_or(64);
    let seed: u64 = asked_for("RESEMBLE_PLAN_SEED").unwrap_or(1);
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                (part..trees)
                    .step_by(2)
                    .for_each(|tree| replay(seed + tree));
            });
        }
    });
}
