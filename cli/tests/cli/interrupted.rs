//! Tests plans that were killed, plans whose log was edited, and plans that run at the same time.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use resemble_testutil::{Environment, Ran, finish};

use super::plans::snapshot;
use super::{environment, plans};

/// Makes a plan of this kind in the file `name`, for `s/keep/1` and its copy `s/c/1`.
fn planned(kind: &str, name: &str) -> Environment {
    let env = environment();
    env.write("s/keep/1", "the only copy\n");
    env.write("s/c/1", "the only copy\n");
    plan(&env, kind, "s/keep", name);
    env
}

pub(super) fn plan(env: &Environment, kind: &str, keep: &str, name: &str) {
    let keep = format!("in:{keep}");
    let args = [
        "groups", "s", "--local", "--keep", &keep, "--plan", kind, "-o", name,
    ];
    let made = env.run(args);
    assert_eq!(made.code, 0, "{made:?}");
}

fn shell(env: &Environment) -> Command {
    let mut command = plans::shell(env, "sh");
    command.current_dir(env.path(""));
    command
}

pub(super) fn run(env: &Environment, args: &[&str]) -> Ran {
    finish(shell(env).args(args), b"")
}

/// Runs a plan whose `PATH` has a fake `program`. When the plan calls that program, the program
/// kills the plan.
fn killed(env: &Environment, plan: &str, program: &str) {
    killed_by(env, [plan, "--do-it"], program, "kill -9 $PPID\n");
}

/// Like [`killed`], but the program does its work first.
pub(super) fn killed_after(env: &Environment, args: [&str; 2], program: &str) {
    let script = format!("command -p {program} \"$@\"\nkill -9 $PPID\n");
    killed_by(env, args, program, &script);
}

fn killed_by(env: &Environment, args: [&str; 2], program: &str, script: &str) {
    // A plan may ask a program for its version before it uses it.
    let script = format!("#!/bin/sh\ncase $* in *--version) exit 1 ;; esac\n{script}");
    let fake = env.write(format!("fake/{program}"), script);
    fs::set_permissions(fake, Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        env.path("fake").display(),
        std::env::var("PATH").unwrap()
    );
    let ended = shell(env).args(args).env("PATH", path).status().unwrap();
    assert!(!ended.success());
    fs::remove_dir_all(env.path("fake")).unwrap();
}

fn read(env: &Environment, name: &str) -> String {
    fs::read_to_string(env.path(name)).unwrap_or_default()
}

#[test]
fn a_target_that_is_the_file_itself_is_no_copy() {
    let env = environment();
    env.write("s/keep/1", "the only copy\n");
    env.write("s/c/1", "the only copy\n");
    let kind = format!("move={}", env.path("mv").display());
    plan(&env, &kind, "s/keep", "plan.sh");
    killed(&env, "plan.sh", "mv");
    fs::remove_dir_all(env.path("mv")).unwrap();
    symlink("s", env.path("mv")).unwrap();
    fs::remove_file(env.path("s/keep/1")).unwrap();
    let again = run(&env, &["plan.sh", "--do-it"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert_eq!(read(&env, "s/c/1"), "the only copy\n");
}

#[test]
fn what_was_edited_after_a_plan_was_killed_is_not_done() {
    for (kind, program) in [("remove", "rm"), ("symlink", "ln")] {
        let env = planned(kind, "plan.sh");
        killed(&env, "plan.sh", program);
        env.write("s/c/1", "my new words\n");
        let again = run(&env, &["plan.sh", "--do-it"]);
        assert_eq!(again.code, 1, "{kind}: {again:?}");
        assert!(
            again.err.contains("gone or has changed"),
            "{kind}: {again:?}"
        );
        assert_eq!(read(&env, "s/c/1"), "my new words\n", "{kind}");
    }
}

/// The first of two names of a copy is removed, and the plan is killed before it records the
/// removal in its log.
#[test]
fn a_plan_that_was_killed_goes_on_with_the_next_name_of_a_file() {
    let env = environment();
    env.write("s/keep/1", "the only copy\n");
    let copy = env.write("s/c/1", "the only copy\n");
    fs::hard_link(copy, env.path("s/c/2")).unwrap();
    plan(&env, "remove", "s/keep", "plan.sh");
    killed_after(&env, ["plan.sh", "--do-it"], "rm");
    let again = run(&env, &["plan.sh", "--do-it"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(fs::read_dir(env.path("s/c")).unwrap().count(), 0);
}

/// `--undo` is killed at different steps: before or after a file has its old name again.
#[test]
fn an_undo_that_was_killed_goes_on() {
    for (kind, program) in [
        ("move", "mv"),
        ("trash", "mv"),
        ("symlink", "cp"),
        ("symlink", "mv"),
        ("move", "sync"),
    ] {
        let about = format!("{kind} {program}");
        let env = environment();
        for copy in ["s/keep/1", "s/c/1", "s/c/2"] {
            env.write(copy, "the only copy\n");
        }
        let kind = match kind {
            "move" => format!("move={}", env.path("mv").display()),
            kind => kind.to_owned(),
        };
        plan(&env, &kind, "s/keep", "plan.sh");
        assert_eq!(run(&env, &["plan.sh", "--do-it"]).code, 0, "{about}");
        let done = snapshot(&env.path("s"));
        killed_after(&env, ["plan.sh", "--undo"], program);
        let undone = run(&env, &["plan.sh", "--undo"]);
        assert_eq!(undone.code, 0, "{about} {undone:?}");
        let after = snapshot(&env.path("s"));
        let names = ["s/c/1", "s/c/2", "s/keep/1"].map(|name| env.path(name));
        assert!(after.keys().eq(&names), "{about} {after:?}");
        for state in after.values() {
            assert_eq!(state.bytes, b"the only copy\n", "{about} {after:?}");
        }
        let again = run(&env, &["plan.sh", "--do-it"]);
        assert_eq!(again.code, 0, "{about} {again:?}");
        assert!(done.keys().eq(snapshot(&env.path("s")).keys()), "{about}");
    }
}

/// `--undo` of links restores one file with two names, and the plan can be run again.
#[test]
fn names_of_one_file_come_back_as_names_of_one_file() {
    let env = environment();
    env.write("s/keep/1", "the only copy\n");
    let copy = env.write("s/c/1", "the only copy\n");
    fs::hard_link(&copy, env.path("s/c/2")).unwrap();
    env.write("s/c/3", "the only copy\n");
    plan(&env, "symlink", "s/keep", "plan.sh");
    for _ in 0..2 {
        let done = run(&env, &["plan.sh", "--do-it"]);
        assert_eq!(done.code, 0, "{done:?}");
        let undone = run(&env, &["plan.sh", "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        let names = [1, 2, 3].map(|n| fs::metadata(env.path(format!("s/c/{n}"))).unwrap());
        assert_eq!(names[0].ino(), names[1].ino());
        assert_eq!(names.map(|name| name.nlink()), [2, 2, 1]);
    }
}

#[test]
fn a_log_of_other_steps_touches_nothing() {
    let env = planned("remove", "plan.sh");
    let victim = env.write("important", "mine\n");
    let line = format!(
        "do\tmove\t/x\t1 1 1 1\t/y\t1 1 1 1\t{}\t-\n",
        victim.display()
    );
    env.write("plan.sh.log", line);
    assert_eq!(run(&env, &["plan.sh", "--do-it"]).code, 0);
    assert_eq!(read(&env, "important"), "mine\n");
    // An incomplete last line of the log is removed. The lines before it stay, even those that a
    // user added.
    let log = [&read(&env, "plan.sh.log"), "did\tcut"].concat();
    env.write("plan.sh.log", log);
    symlink(&victim, env.path("plan.sh.log.new")).unwrap();
    assert_eq!(run(&env, &["plan.sh", "--do-it"]).code, 0);
    assert_eq!(read(&env, "important"), "mine\n");
}

#[test]
fn plans_with_odd_names_are_undone() {
    for name in ["x=1.sh", "-plan.sh", "a=b/plan.sh"] {
        let env = environment();
        fs::create_dir(env.path("a=b")).unwrap();
        env.write("s/keep/1", "the only copy\n");
        env.write("s/c/1", "the only copy\n");
        let kind = format!("move={}", env.path("mv").display());
        plan(&env, &kind, "s/keep", &format!("./{name}"));
        assert_eq!(run(&env, &["--", name, "--do-it"]).code, 0, "{name}");
        assert!(!env.path("s/c/1").exists());
        let undone = run(&env, &["--", name, "--undo"]);
        assert!(
            undone.text().contains("all undone: 1"),
            "{name}: {undone:?}"
        );
        assert_eq!(read(&env, "s/c/1"), "the only copy\n");
    }
}

#[test]
fn undo_reverses_the_steps_of_its_own_plan_and_makes_folders_again() {
    let env = environment();
    env.write("s/keep/1", "the only copy\n");
    env.write("s/c/1", "the only copy\n");
    let kind = format!("move={}", env.path("mv").display());
    plan(&env, &kind, "s/keep", "plan.sh");
    assert_eq!(run(&env, &["plan.sh", "--do-it"]).code, 0);
    fs::remove_dir(env.path("s/c")).unwrap();
    assert_eq!(run(&env, &["plan.sh", "--undo"]).code, 0);
    assert_eq!(read(&env, "s/c/1"), "the only copy\n");
    assert_eq!(run(&env, &["plan.sh", "--do-it"]).code, 0);
    // Another plan is written to the same file name, so it uses the log of the first plan.
    env.write("s/d/2", "the only copy\n");
    plan(&env, "remove", "s/keep", "plan.sh");
    assert_eq!(run(&env, &["plan.sh", "--do-it"]).code, 0);
    let undone = run(&env, &["plan.sh", "--undo"]);
    assert_eq!(undone.code, 1, "{undone:?}");
    assert!(!env.path("s/c/1").exists(), "{undone:?}");
}

/// Two plans run at the same time. Each plan removes the files that the other plan keeps. Whatever
/// the order of their steps, one copy of each file stays.
#[test]
fn two_plans_at_once_leave_a_copy_of_everything() {
    let env = environment();
    let files: Vec<PathBuf> = (0..12).map(|n| PathBuf::from(n.to_string())).collect();
    for file in &files {
        for folder in ["s/x", "s/y"] {
            env.write(PathBuf::from(folder).join(file), format!("{file:?}"));
        }
    }
    plan(&env, "remove", "s/x", "1.sh");
    plan(&env, "remove", "s/y", "2.sh");
    // The plans run with different home folders, but they must still notice each other.
    let start = |plan: &str, home: &str| {
        let mut command = shell(&env);
        command
            .env("HOME", home)
            .args([plan, "--do-it"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut both = [start("1.sh", "/nonexistent"), start("2.sh", "/")];
    for plan in &mut both {
        plan.wait().unwrap();
    }
    for file in &files {
        let left = ["s/x", "s/y"].map(|folder| env.path(folder).join(file).exists());
        assert_eq!(
            left.iter().filter(|is_left| **is_left).count(),
            1,
            "{file:?}"
        );
    }
}
