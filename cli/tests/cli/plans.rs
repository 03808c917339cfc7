//! Runs plans on trees that change after the plan was made. `--undo` restores the trees.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use resemble_testutil::prose::lines;
use resemble_testutil::random::Random;
use resemble_testutil::{Environment, Ran, asked_for, finish};

use super::environment;

/// The state of a path: type and mode, time, owner, bytes or target of a link, and inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    mode: u32,
    time: (i64, i64),
    owner: (u32, u32),
    pub bytes: Vec<u8>,
    inode: u64,
}

pub(super) type Snapshot = BTreeMap<PathBuf, State>;

/// Returns the state of everything below a folder, except the folders.
pub(super) fn snapshot(root: &Path) -> Snapshot {
    let (mut found, mut folders) = (Snapshot::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = match fs::read_link(&path) {
                Ok(target) => target.into_os_string().into_vec(),
                Err(_) => fs::read(&path).unwrap(),
            };
            let state = State {
                mode: meta.mode(),
                time: (meta.mtime(), meta.mtime_nsec()),
                owner: (meta.uid(), meta.gid()),
                bytes,
                inode: meta.ino(),
            };
            found.insert(path, state);
        }
    }
    found
}

/// Returns the different contents of all regular files.
fn contents(snapshots: &[&Snapshot]) -> BTreeSet<Vec<u8>> {
    let all = snapshots.iter().flat_map(|snapshot| snapshot.values());
    let files = all.filter(|state| state.mode & 0o170_000 == 0o100_000);
    files.map(|state| state.bytes.clone()).collect()
}

/// Returns a shell whose environment has a private home and the program that plans call.
pub(super) fn shell(env: &Environment, shell: &str) -> Command {
    let mut command = Command::new(shell);
    command.env("HOME", env.home()).env_remove("XDG_DATA_HOME");
    command.env("RESEMBLE", env!("CARGO_BIN_EXE_resemble"));
    command
}

pub(super) fn run(env: &Environment, name: &str, args: &[&str]) -> Ran {
    let mut command = shell(env, name);
    command.arg(env.path("plan.sh")).args(args);
    finish(&mut command, b"")
}

pub(super) fn set_time(path: &Path, seconds: u64, nanos: u32) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// Returns a name, which may have unusual bytes.
pub(super) fn name(random: &mut Random, number: usize) -> OsString {
    let odd: [&[u8]; 10] = [
        b"plain",
        b"with blank",
        b"-dash",
        b"new\nline\n",
        b"quo'te\"",
        b"$(x)`y`",
        b"back\\slash",
        b"\xff\xfe",
        "gr\u{f6}\u{df}e".as_bytes(),
        b"*?[",
    ];
    let mut bytes = odd[random.below(odd.len())].to_vec();
    bytes.extend(number.to_string().bytes());
    OsString::from_vec(bytes)
}

/// Makes files and copies of them in three folders. Some have hard links. With `near`, the copies
/// are versions, each of which contains the versions before it.
fn grow(env: &Environment, tree: usize, near: bool, random: &mut Random) {
    let (mut number, folders) = (0, ["one", "two", "two/deep"]);
    for set in 0..2 + random.below(2) {
        let mut text = if near {
            lines((10 * tree + set) as u64, 30)
        } else {
            format!("{tree} {set} {}", "the same words in each copy ".repeat(12))
        };
        for version in 0..2 + random.below(2) {
            if near && random.below(3) > 0 {
                let more = format!("what version {version} of {set} in {tree} has more\n");
                text.push_str(&more);
            }
            number += 1;
            let folder = Path::new("t")
                .join(tree.to_string())
                .join(folders[random.below(3)]);
            let path = env.write(folder.join(name(random, number)), &text);
            let mode = [0o644, 0o600, 0o755][random.below(3)];
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            set_time(
                &path,
                1_000_000_000 + random.draw() % 500_000_000,
                123_456_789,
            );
            if random.below(5) == 0 {
                number += 1;
                fs::hard_link(&path, path.with_file_name(name(random, number))).unwrap();
            }
        }
    }
}

/// Changes a tree in one of many ways. Returns the changed paths; a plan must not act on them.
fn change(env: &Environment, tree: usize, random: &mut Random) -> Vec<PathBuf> {
    let root = env.path("t").join(tree.to_string());
    let paths: Vec<PathBuf> = snapshot(&root).into_keys().collect();
    let (path, other) = (
        &paths[random.below(paths.len())],
        &paths[random.below(paths.len())],
    );
    let aside = path.with_file_name(format!("aside {}", random.draw()));
    let meta = fs::symlink_metadata(path).unwrap();
    if !meta.is_file() || !fs::symlink_metadata(other).unwrap().is_file() {
        return Vec::new();
    }
    let same_inode = |snapshot: Snapshot| {
        let names = snapshot
            .into_iter()
            .filter(|(_, state)| state.inode == meta.ino());
        names.map(|(path, _)| path).collect::<Vec<_>>()
    };
    let time = meta.modified().unwrap();
    match random.below(16) {
        0 => {
            fs::remove_file(path).unwrap();
            symlink(other, path).unwrap();
        }
        1 if path != other => {
            fs::rename(path, &aside).unwrap();
            fs::rename(other, path).unwrap();
            fs::rename(&aside, other).unwrap();
            return vec![path.clone(), other.clone()];
        }
        2 => File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(7)
            .unwrap(),
        3 => fs::write(path, [fs::read(path).unwrap(), b"more".to_vec()].concat()).unwrap(),
        4 => set_time(path, 1_700_000_000, 0),
        5 => {
            fs::remove_file(path).unwrap();
            return Vec::new();
        }
        6 => {
            let folder = path.parent().unwrap();
            let real = folder.with_file_name(format!("real {}", random.draw()));
            if folder == root || folder.ends_with("two") {
                return Vec::new();
            }
            fs::rename(folder, &real).unwrap();
            symlink(&real, folder).unwrap();
            return snapshot(&real).into_keys().collect();
        }
        7 => fs::set_permissions(path, Permissions::from_mode(0o440)).unwrap(),
        8 => fs::hard_link(path, &aside).unwrap(),
        9 => {
            fs::rename(path, &aside).unwrap();
            return vec![aside];
        }
        10 => {
            let bytes = fs::read(path).unwrap();
            fs::remove_file(path).unwrap();
            fs::write(path, bytes).unwrap();
        }
        11 => {
            let mut bytes = fs::read(path).unwrap();
            bytes[3] ^= 1;
            fs::write(path, bytes).unwrap();
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        }
        12 => {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
            return Vec::new();
        }
        13 if path != other => {
            fs::remove_file(path).unwrap();
            fs::hard_link(other, path).unwrap();
            let meta = fs::symlink_metadata(other).unwrap();
            let all = snapshot(&root).into_iter();
            return all
                .filter(|(_, s)| s.inode == meta.ino())
                .map(|(p, _)| p)
                .collect();
        }
        14 => {
            fs::rename(path, &aside).unwrap();
            symlink(&aside, path).unwrap();
            return vec![path.clone(), aside];
        }
        _ => return Vec::new(),
    }
    let mut names = same_inode(snapshot(&root));
    names.push(path.clone());
    names
}

/// Truncates the log of a plan as if a crash had happened during the last step.
fn crash(env: &Environment, random: &mut Random) {
    let log = env.path("plan.sh.log");
    let Ok(text) = fs::read(&log) else { return };
    let lines: Vec<usize> = (0..text.len())
        .filter(|at| *at == 0 || text[at - 1] == b'\n')
        .collect();
    let begun = lines
        .iter()
        .rposition(|at| text[*at..].starts_with(b"do\t"));
    let Some(begun) = begun.and_then(|line| lines.get(line + 1)) else {
        return;
    };
    let length = begun + random.below(text.len() - begun);
    fs::write(log, &text[..length]).unwrap();
}

/// Makes a plan of one kind for many trees, changes the trees, and runs the plan.
fn hostile((kind, near): (&str, bool), trees: usize, seed: u64) {
    let mut random = Random::new(seed);
    let env = environment();
    (0..trees).for_each(|tree| grow(&env, tree, near, &mut random));
    let keep = ["newest", "oldest", "shortest", "not-in:t/0", "name:plain*"][random.below(5)];
    let plan = format!("--plan={kind}");
    let args = [
        "groups", "t", "--local", "--keep", keep, "-o", "plan.sh", &plan,
    ];
    let superseded: &[&str] = if near { &["--superseded=80%"] } else { &[] };
    let made = env.run(args.iter().chain(superseded));
    assert_eq!(made.err.contains("of near copies"), near, "{made:?}");
    assert_eq!(made.code, 0, "{made:?}");
    let mut kept_out = BTreeSet::new();
    for tree in 0..trees {
        for _ in 0..random.below(4) {
            kept_out.extend(change(&env, tree, &mut random));
        }
    }
    let before = snapshot(&env.path("t"));
    let about = format!("{kind} {seed}");
    let shell = ["sh", "bash"][random.below(2)];

    let dry = run(&env, shell, &[]);
    assert!(dry.code < 2, "{about} {dry:?}");
    assert_eq!(
        snapshot(&env.path("t")),
        before,
        "{about}: a dry run changes nothing"
    );
    let done = run(&env, shell, &["--do-it"]);
    assert!(done.code < 2, "{about} {done:?}");
    assert!(done.text().contains("steps done"), "{about} {done:?}");
    let after = snapshot(&env.path("t"));
    let elsewhere = [snapshot(&env.path("out")), snapshot(&env.home())];
    let all = [&after, &elsewhere[0], &elsewhere[1]];
    let lost: Vec<_> = contents(&[&before])
        .difference(&contents(&all))
        .cloned()
        .collect();
    assert!(lost.is_empty(), "{about} loses {lost:?}");
    for path in kept_out.iter().filter(|path| before.contains_key(*path)) {
        assert_eq!(
            before.get(path),
            after.get(path),
            "{about} acts on {}",
            path.display()
        );
    }
    let is_temporary = |path: &&PathBuf| path.to_string_lossy().contains(".resemble-plan");
    assert_eq!(after.keys().find(is_temporary), None, "{about}");
    assert_ne!(before, after, "{about}: some steps are done");

    let again = run(&env, shell, &["--do-it"]);
    assert_eq!(again.code, done.code, "{about} {again:?}");
    assert_eq!(
        snapshot(&env.path("t")),
        after,
        "{about}: a second run does nothing"
    );
    if random.below(2) == 0 {
        crash(&env, &mut random);
    }
    let undone = run(&env, shell, &["--undo"]);
    let can_undo = !matches!(kind, "remove" | "hardlink");
    assert_eq!(undone.code == 0, can_undo, "{about} {undone:?}");
    let mut undone = snapshot(&env.path("t"));
    if !can_undo {
        assert_eq!(undone, after, "{about}");
        return;
    }
    if kind == "symlink" {
        // `--undo` replaces each link by a new copy, so inodes are not compared.
        for (path, state) in &mut undone {
            state.inode = before.get(path).map_or(0, |state| state.inode);
        }
    }
    assert_eq!(undone, before, "{about}");
    assert_eq!(snapshot(&env.path("out")), Snapshot::new(), "{about}");
    assert!(!env.path("out").exists(), "{about}");
    assert_eq!(
        snapshot(&env.home().join(".local")),
        Snapshot::new(),
        "{about}"
    );
}

/// `RESEMBLE_PLAN_TREES` sets the number of trees; the default is 100.
#[test]
fn plans_survive_what_happens_to_their_trees() {
    const AT_ONCE: usize = 25;
    let trees = asked_for("RESEMBLE_PLAN_TREES").unwrap_or(100);
    let seed = asked_for("RESEMBLE_PLAN_SEED").unwrap_or(1);
    let kinds = [
        ("trash", false),
        ("move=out", false),
        ("trash", true),
        ("symlink", false),
        ("move=out", true),
        ("remove", false),
        ("hardlink", false),
    ];
    let rounds = usize::div_ceil(trees, AT_ONCE).max(kinds.len());
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                for round in (part..rounds).step_by(2) {
                    let trees = trees.div_ceil(rounds);
                    hostile(kinds[round % kinds.len()], trees, seed + round as u64);
                }
            });
        }
    });
}

/// A plan copies missing files with owner, mode and time. `--undo` removes a copy only if the file
/// that it was copied from still exists.
#[test]
fn what_is_missing_is_copied() {
    let env = environment();
    let text = |n: usize| format!("text {n} ").repeat(200);
    for (path, n) in [
        ("disk/a/1", 1),
        ("disk/a/2", 2),
        ("disk/3", 3),
        ("docs/one", 1),
    ] {
        env.write(path, text(n));
    }
    env.write("docs/near", text(2) + "and more");
    env.write("disk/a/empty", "");
    set_time(&env.path("disk/a/2"), 1_000_000_000, 5);
    fs::set_permissions(env.path("disk/a/2"), Permissions::from_mode(0o640)).unwrap();
    env.write("rest/3", "in the way");
    let plan = [
        "covered", "disk", "--by", "docs", "--local", "-o", "plan.sh",
    ];
    let made = env.run([&plan[..], &["--plan=copy=disk/rest"]].concat());
    assert!(made.code == 2 && made.err.contains("lies in"), "{made:?}");
    let made = env.run([&plan[..], &["--plan=copy=rest"]].concat());
    assert!(made.code < 2, "{made:?}");
    let before = snapshot(&env.path("rest"));
    let done = run(&env, "sh", &["--do-it"]);
    assert!(
        done.code == 1 && done.err.contains("3 is there already"),
        "{done:?}"
    );
    let (from, to) = (env.path("disk/a/2"), env.path("rest/a/2"));
    let known = |path: &Path| {
        let meta = fs::metadata(path).unwrap();
        (meta.mode(), meta.uid(), meta.mtime(), meta.mtime_nsec())
    };
    assert_eq!(known(&from), known(&to));
    assert_eq!(fs::read(&to).unwrap(), text(2).as_bytes());
    assert!(!env.path("rest/a/1").exists(), "it is covered");
    fs::remove_file(env.path("rest/3")).unwrap();
    let done = run(&env, "sh", &["--do-it"]);
    assert!(done.code == 0 && env.path("rest/3").exists(), "{done:?}");
    fs::remove_file(&from).unwrap();
    let undone = run(&env, "sh", &["--undo"]);
    assert!(
        undone.code == 1 && undone.err.contains("copied from is gone"),
        "{undone:?}"
    );
    assert_eq!(
        snapshot(&env.path("rest")).len(),
        before.len(),
        "the last copy stays"
    );
    assert_eq!(fs::read(&to).unwrap(), text(2).as_bytes());
}

/// Tests which copy stays, and the message about an invalid rule.
#[test]
fn rules_choose_what_stays() {
    let env = environment();
    let paths = ["d/long name of a copy", "d/b/old", "d/new (1)", "e/middle"];
    for (path, year) in paths.iter().zip([20, 10, 40, 30]) {
        env.write(path, "the same words in all of them");
        set_time(&env.path(path), year * 31_000_000, 0);
    }
    fs::hard_link(env.path("e/middle"), env.path("other name")).unwrap();
    let stays = |rules: &[&str]| {
        let rules = rules.iter().flat_map(|rule| ["--keep", *rule]);
        let ask = ["groups", "d", "e", "--local", "--plan=symlink"].into_iter();
        let plan = env.run(ask.chain(rules).collect::<Vec<_>>());
        let text = plan.text();
        let step = text
            .lines()
            .find(|line| line.starts_with("step "))
            .unwrap()
            .to_owned();
        let kept = step.split('\'').nth(1).unwrap().to_owned();
        kept.strip_prefix(&format!("{}/", env.path("").display()).replace("//", "/"))
            .unwrap_or(&kept)
            .to_owned()
    };
    assert_eq!(stays(&[]), "e/middle", "most hard links");
    assert_eq!(stays(&["newest"]), "d/new (1)");
    assert_eq!(stays(&["not-name:* (?)*", "newest"]), "e/middle");
    assert_eq!(stays(&["oldest"]), "d/b/old");
    assert_eq!(stays(&["shortest"]), "d/b/old");
    assert_eq!(stays(&["longest"]), "d/long name of a copy");
    assert_eq!(stays(&["in:d/b", "newest"]), "d/b/old");
    assert_eq!(stays(&["not-in:d"]), "e/middle");
    assert_eq!(stays(&["name:new*"]), "d/new (1)");
    assert_eq!(stays(&["most-links", "newest"]), "e/middle");
    for bad in ["latest", "in:", "name:[", "name:a/b", "newest:x"] {
        let ran = env.run(["groups", "d", "--plan", "trash", "--keep", bad]);
        assert!(
            ran.code == 2 && ran.err.contains("not-name:GLOB, most-links"),
            "{ran:?}"
        );
    }
    let inside = env.run(["groups", "d", "--local", "--plan=move=d/copies"]);
    assert!(
        inside.code == 2 && inside.err.contains("name a directory outside"),
        "{inside:?}"
    );
}

/// Steps of plans are about regular files. `trash` refuses everything else, and then moves nothing.
#[test]
fn only_files_go_to_the_trash() {
    let env = environment();
    env.write("d/a", "a");
    env.write("b", "b");
    symlink("b", env.path("link")).unwrap();
    let before = snapshot(&env.path("."));
    for name in ["d", "d/", "d/.", ".", "..", "link"] {
        let ran = env.run(["trash", "b", name]);
        assert_eq!(
            (ran.code, ran.text()),
            (2, String::new()),
            "{name}: {ran:?}"
        );
        assert_eq!(ran.err.lines().count(), 1, "{name}: {ran:?}");
        let said = "`resemble trash` moves only files\n";
        assert!(ran.err.ends_with(said), "{name}: {ran:?}");
        assert_eq!(snapshot(&env.path(".")), before, "{name}");
    }
    let ran = env.run(["trash", "b"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!env.path("b").exists() && env.path("d/a").exists());
}

/// A plan ignores files in a trash: such a file is neither kept as the copy that stays nor removed.
#[test]
fn what_lies_in_a_trash_keeps_nothing() {
    let env = environment();
    let text = lines(3, 80);
    let copies = ["home/a/x", "home/b/x"];
    for trash in ["home/.local/share/Trash/files/x", "home/.Trash-0/files/x"] {
        env.write(trash, &text);
    }
    for path in copies {
        env.write(path, &text);
    }
    for kind in ["trash", "remove", "symlink", "hardlink", "move=away"] {
        let plan = env.run(["groups", "home", "--local", "--plan", kind]);
        let text = plan.text();
        let steps = text.lines().filter(|line| line.starts_with("step "));
        let steps: Vec<&str> = steps.collect();
        assert!(
            matches!(steps[..], [step] if !step.contains("Trash")),
            "{kind}: {steps:?}"
        );
        assert!(plan.text().contains("it lies in the trash"), "{kind}");
    }
    fs::remove_file(env.path("home/b/x")).unwrap();
    let plan = env.run(["groups", "home", "--local", "--plan", "remove"]);
    assert!(!plan.text().contains("\nstep "), "{plan:?}");
    let covered = env.run(["covered", "home/a", "--by", "home", "--local"]);
    assert_eq!(covered.code, 1, "{covered:?}");
    env.write("home/b/x", &text);
    let covered = env.run(["covered", "home/a", "--by", "home", "--local"]);
    assert_eq!(covered.code, 0, "{covered:?}");
}

/// A copy that has its own extended attributes is not replaced by a hard link, because these
/// attributes would be lost.
#[test]
fn attributes_of_a_copy_are_not_dropped_by_a_hard_link() {
    let env = environment();
    let text = lines(4, 80);
    for path in ["d/a", "d/b"] {
        env.write(path, &text);
    }
    let set = rustix::fs::setxattr(
        env.path("d/b"),
        "user.comment",
        b"precious",
        rustix::fs::XattrFlags::empty(),
    );
    if set.is_err() {
        println!("NOT RUN: the temporary folder has no extended attributes");
        return;
    }
    for (kind, steps) in [("hardlink", 0), ("symlink", 0), ("trash", 1)] {
        let plan = env.run(["groups", "d", "--local", "--keep", "name:a", "--plan", kind]);
        let found = plan
            .text()
            .lines()
            .filter(|line| line.starts_with("step "))
            .count();
        assert_eq!(found, steps, "{kind}: {plan:?}");
    }
}
