use std::fs::{self, File};
use std::process::Command;

use resemble_testutil::prose::prose;
use resemble_testutil::{Mounted, Sandbox, is_installed, skipped};

/// A clone shares its blocks with what it was made of: no link of it gains anything, and without it
/// nothing is freed.
#[test]
fn a_plan_says_of_clones_that_they_free_nothing() {
    if !["mkfs.xfs", "cp"].into_iter().all(is_installed) {
        return;
    }
    let sandbox = Sandbox::new();
    let (image, disk) = (sandbox.path("image"), sandbox.tree("disk"));
    fs::create_dir(&disk).expect("a folder");
    let run = |command: &mut Command| command.output().is_ok_and(|done| done.status.success());
    let file = File::create(&image).expect("an image");
    file.set_len(400 << 20).expect("a sparse image");
    let format = ["-q", "-m", "reflink=1"];
    assert!(run(Command::new("mkfs.xfs").args(format).arg(&image)));
    let mount = ["-o", "loop"];
    if !run(Command::new("mount").args(mount).arg(&image).arg(&disk)) {
        return skipped("no loop device can be mounted");
    }
    let mounted = Mounted(disk);
    fs::write(mounted.path("a.txt"), prose(1, 200_000)).expect("written");
    let copied = |how: &str, to: &str| {
        let (from, to) = (mounted.path("a.txt"), mounted.path(to));
        assert!(run(Command::new("cp").arg(how).arg(from).arg(to)), "{how}");
    };
    assert!(run(&mut Command::new("sync")));
    copied("--reflink=always", "clone.txt");
    copied("--reflink=never", "copy.txt");
    assert!(run(&mut Command::new("sync")));
    let plan = |kind: &str| {
        let ran = sandbox.resemble(["groups", "tree", "--local", "--plan", kind]);
        (ran.text(), ran.err)
    };
    for kind in ["hardlink", "reflink", "symlink"] {
        let (script, said) = plan(kind);
        let line = script.lines().find(|line| line.contains("left out"));
        let line = line.unwrap_or_else(|| panic!("{script}"));
        assert!(line.contains("clone.txt: it shares its blocks"), "{line}");
        assert!(said.contains("a plan of 1 step"), "{said}");
    }
    let (_, said) = plan("remove");
    assert!(said.contains("a plan of 2 steps"), "{said}");
    assert!(said.contains("195 KiB to be freed"), "{said}");
}
