//! An index that cannot be written any more, on a file system that became read-only.

use std::io::Write;
use std::process::Command as Program;

use resemble_index::Options as IndexOptions;

use super::*;

/// Nothing of the index is cached, so every answer reads the file.
const OPTIONS: IndexOptions = IndexOptions {
    cache_bytes: 0,
    boilerplate_limit: 1000,
};

/// Once the last view of the index was kept, and could read nothing: its file was closed.
#[test]
fn the_last_commit_answers_while_the_index_cannot_be_opened_for_writing() {
    let (dir, root) = tree();
    let Some(disk) = Disk::mount(dir.path().join("disk")) else {
        return;
    };
    let path = disk.0.join("index.redb");
    let opener = crate::opener(path.clone(), Params::default(), OPTIONS);
    let running = start_with(opener().unwrap(), &[&root], usize::MAX, opener, None);
    running.assert_converged();
    let before = running.dump();
    disk.fill();
    disk.over(&["--bind"]);
    disk.over(&["-o", "remount,bind,ro"]);
    for n in 0..500 {
        text(&root.join(format!("d/{n}")), &format!("file number {n}"));
    }
    running.script.tell(&root.join("d"), Marks::APPEARED);
    let began = Instant::now();
    while running.shared.index().is_some() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert_eq!(running.dump(), before);
    let trouble = &running.shared.troubles()[0];
    assert!(
        trouble.reason.contains("answers are those of before"),
        "{trouble:?}"
    );
    assert!(!running.shared.fresh());
    // And on, as soon as it can be written.
    disk.uncover();
    while !running.shared.fresh() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    running.assert_converged();
    assert_eq!(running.shared.troubles(), []);
}

/// A file system that goes with the test. Needs root; without, the test says so.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mut program = Program::new("mount");
        program.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]);
        if program
            .arg(&at)
            .status()
            .is_ok_and(|status| status.success())
        {
            return Some(Self(at));
        }
        let required = ["RESEMBLE_REQUIRE_FUSE", "RESEMBLE_REQUIRE_ROOT"];
        let required = required.iter().any(|name| std::env::var_os(name).is_some());
        assert!(!required, "cannot mount a tmpfs");
        eprintln!("SKIPPED: a read-only disk needs the right to mount a tmpfs");
        None
    }

    /// Writes until nothing fits any more.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        for size in [1 << 16, 1] {
            while file.write_all(&vec![7; size]).is_ok() {}
        }
    }

    /// Mounts the disk over itself: what is open stays as it is, what is opened is on the new
    /// mount.
    fn over(&self, arguments: &[&str]) {
        let mut program = Program::new("mount");
        program.args(arguments);
        if arguments == ["--bind"] {
            program.arg(&self.0);
        }
        assert!(program.arg(&self.0).status().unwrap().success());
    }

    /// Takes the upper mount away, and what fills the lower one.
    fn uncover(&self) {
        let mut program = Program::new("umount");
        program.arg("-l").arg(&self.0);
        assert!(program.status().unwrap().success());
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Program::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}
