//! Tests plans that move files to other mounts, and plans of trees that cannot be written.

use std::fs;
use std::os::unix::fs::MetadataExt;

use resemble_testutil::{Environment, bind, mount, tmpfs};
use rustix::fs::{XattrFlags, setxattr};

use super::environment;
use super::interrupted::{killed_after, plan, run};

/// Makes the file `s/keep/1` and copies of it, and returns the kind of a plan that moves them.
fn to_move(copies: &[&str]) -> (Environment, String) {
    let env = environment();
    for copy in [&["s/keep/1"], copies].concat() {
        env.write(copy, "the only copy\n");
    }
    let kind = format!("move={}", env.path("out/moved").display());
    (env, kind)
}

/// The kernel renames nothing from one mount to another, even if both mounts are of one file
/// system. Then `mv` would copy straight to the final name, without a temporary name and without
/// comparing.
#[test]
fn a_move_to_another_mount_of_the_same_disk_is_a_checked_copy() {
    let (env, kind) = to_move(&["s/c/1"]);
    fs::create_dir(env.path("real")).unwrap();
    let Some(out) = bind(&env.path("real"), env.path("out")) else {
        return;
    };
    plan(&env, &kind, "s/keep", "plan.sh");
    killed_after(&env, ["plan.sh", "--do-it"], "cp");
    assert!(!out.path("moved/c/1").exists() && env.path("s/c/1").exists());
    let again = run(&env, &["plan.sh", "--do-it"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(out.path("moved/c/1").exists() && !env.path("s/c/1").exists());
    assert_eq!(fs::read_dir(out.path("moved/c")).unwrap().count(), 1);
}

/// Each name of a file becomes a file of its own on another disk. `--undo` makes one file of these
/// files again, and the plan can be run again.
#[test]
fn all_names_of_a_file_move_to_another_disk_and_back() {
    let (env, kind) = to_move(&["s/c/1", "s/c/4"]);
    for name in ["s/c/2", "s/c/3"] {
        fs::hard_link(env.path("s/c/1"), env.path(name)).unwrap();
    }
    let Some(out) = tmpfs(env.path("out"), "1m") else {
        return;
    };
    plan(&env, &kind, "s/keep", "plan.sh");
    for _ in 0..2 {
        let done = run(&env, &["plan.sh", "--do-it"]);
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(fs::read_dir(out.path("moved/c")).unwrap().count(), 4);
        let undone = run(&env, &["plan.sh", "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        let names = [1, 2, 3, 4].map(|n| fs::metadata(env.path(format!("s/c/{n}"))).unwrap());
        assert_eq!(names.map(|name| name.nlink()), [3, 3, 3, 1]);
    }
}

/// A file stays where it is if the disk that it would move to cannot keep its attributes.
#[test]
fn a_move_drops_no_attributes() {
    let (env, kind) = to_move(&["s/c/1", "s/c/2"]);
    let set = setxattr(
        env.path("s/c/1"),
        "user.comment",
        b"precious",
        XattrFlags::empty(),
    );
    if set.is_err() {
        println!("NOT RUN: the temporary folder has no extended attributes");
        return;
    }
    let Some(out) = mount("ramfs", env.path("out"), "") else {
        return;
    };
    plan(&env, &kind, "s/keep", "plan.sh");
    let done = run(&env, &["plan.sh", "--do-it"]);
    assert!(
        done.code == 1 && done.err.contains("not with its extended attributes"),
        "{done:?}"
    );
    assert!(env.path("s/c/1").exists() && !env.path("s/c/2").exists());
    assert_eq!(fs::read_dir(out.path("moved/c")).unwrap().count(), 1);
}

/// The dry run says that nothing can be done where the folders cannot be written.
#[test]
fn a_dry_run_sees_that_a_folder_cannot_be_written() {
    for kind in ["remove", "hardlink", "symlink", "trash", "move"] {
        let (env, to_move) = to_move(&[]);
        let Some(disk) = tmpfs(env.path("s"), "1m") else {
            return;
        };
        for copy in ["s/keep/1", "s/c/1"] {
            env.write(copy, "the only copy\n");
        }
        let kind = if kind == "move" { &to_move } else { kind };
        plan(&env, kind, "s/keep", "plan.sh");
        assert_eq!(run(&env, &["plan.sh"]).code, 0, "{kind}");
        disk.remount("ro");
        for args in [&["plan.sh"][..], &["plan.sh", "--do-it"]] {
            let ran = run(&env, args);
            assert!(
                ran.code == 1 && ran.err.contains("its folder cannot be written"),
                "{kind} {ran:?}"
            );
        }
    }
}

/// The dry run says that nothing can be moved where the new folder cannot be made.
#[test]
fn a_dry_run_sees_that_a_new_folder_cannot_be_made() {
    let (env, kind) = to_move(&["s/c/1"]);
    let Some(disk) = tmpfs(env.path("out"), "1m") else {
        return;
    };
    plan(&env, &kind, "s/keep", "plan.sh");
    assert_eq!(run(&env, &["plan.sh"]).code, 0);
    disk.remount("ro");
    for args in [&["plan.sh"][..], &["plan.sh", "--do-it"]] {
        let ran = run(&env, args);
        assert!(
            ran.code == 1 && ran.err.contains("cannot be made or written"),
            "{ran:?}"
        );
    }
}
