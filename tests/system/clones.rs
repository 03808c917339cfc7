use std::fs::{self, File};
use std::process::Command;

use resemble_testutil::prose::prose;
use resemble_testutil::{Mounted, Sandbox, is_installed, skipped};

/// A clone shares its blocks with the original. So a plan must not count space for a clone that is
/// removed or replaced by a link.
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
    let groups = ["groups", "tree", "--local", "--only", "identical"];
    let text = sandbox.resemble(groups).text();
    let line = "1 set of identical files, 3 files, 391 KiB overhead, 195 KiB of it in blocks that";
    assert!(text.starts_with(line), "{text}");
    let report = sandbox.path("report.json");
    let saved = sandbox.resemble(groups.iter().copied().chain([
        "--format",
        "json",
        "-o",
        report.to_str().expect("a name"),
    ]));
    assert_eq!(saved.code, 0, "{}", saved.err);
    let read = fs::read_to_string(&report).expect("a report");
    let document: serde_json::Value = serde_json::from_str(&read).expect("JSON");
    let size = document["identical"][0]["size"].as_u64().expect("a size");
    let names = document["identical"][0]["paths"].as_array().expect("names");
    let blocks = document["identical"][0]["blocks"]
        .as_array()
        .expect("numbers");
    for (name, number) in names.iter().zip(blocks) {
        let is_alone = name.as_str().is_some_and(|name| name.ends_with("copy.txt"));
        assert_eq!(number.as_u64(), Some(u64::from(!is_alone)), "{name}");
    }
    assert_eq!(document["summary"]["shared_blocks"].as_u64(), Some(size));
    // When a saved report is filtered, the size of shared blocks is computed again.
    for (excluded, shared) in [("clone.txt", None), ("copy.txt", Some(size))] {
        let from = ["groups", "--from", report.to_str().expect("a name")];
        let filter = ["--exclude", excluded, "--format", "json"];
        let text = sandbox.resemble(from.into_iter().chain(filter)).text();
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let summary = &document["summary"];
        assert_eq!(summary["overhead"].as_u64(), Some(size), "{text}");
        assert_eq!(summary["shared_blocks"].as_u64(), shared, "{text}");
    }
    let (_, said) = plan("remove");
    assert!(said.contains("a plan of 2 steps"), "{said}");
    assert!(said.contains("195 KiB to be freed"), "{said}");
}
