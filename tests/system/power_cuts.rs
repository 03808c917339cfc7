//! Tests power failures while the index is written to a real file system. Afterwards, the file
//! system replays its journal. Data that the program has not made durable may be lost, but nothing
//! else may be wrong.
//!
//! For a power cut, the file system is shut down at once, without writing its log. So data in
//! memory never reaches the disk. The authors of the file system test in the same way.
//! `RESEMBLE_POWER_CUTS=100` makes more cuts (`just damage`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use resemble_testutil::churn::{Churn, Profile};
use resemble_testutil::random::Random;
use resemble_testutil::{Mounted, Sandbox, asked_for, in_mounts_of_its_own, is_installed, skipped};

/// The file systems under test: type and additional mount options.
const DISKS: [(&str, &str); 3] = [
    ("ext4", "data=ordered"),
    ("ext4", "data=writeback"),
    ("xfs", ""),
];

/// A disk in a file.
struct Disk {
    image: PathBuf,
    at: PathBuf,
    options: &'static str,
}

impl Disk {
    /// Makes a new file system of the given type in a file.
    fn format(image: PathBuf, at: PathBuf, (kind, options): (&str, &'static str)) -> Self {
        const BYTES: u64 = 400 << 20;
        let file = File::create(&image).expect("an image");
        file.set_len(BYTES).expect("a sparse image");
        run(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image)).expect("it is formatted");
        Self { image, at, options }
    }

    /// Mounts the file system, which replays its journal.
    fn on(&self) -> Result<Mounted, String> {
        let mut mount = Command::new("mount");
        mount.arg("-o").arg(["loop", self.options].join(","));
        run(mount.arg(&self.image).arg(&self.at))?;
        Ok(Mounted(self.at.clone()))
    }
}

/// Shuts down the file system at this path, as a power cut does.
fn cut(at: &Path) {
    run(Command::new("xfs_io")
        .args(["-x", "-c", "shutdown"])
        .arg(at))
    .expect("it is shut down");
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("{command:?}: {}", said.trim()))
}

/// Returns the number of power cuts on each kind of disk.
fn cuts() -> u64 {
    asked_for("RESEMBLE_POWER_CUTS").unwrap_or(2)
}

#[test]
fn a_power_cut_leaves_an_index_that_is_right_again() {
    const NAME: &str = "power_cuts::a_power_cut_leaves_an_index_that_is_right_again";
    let programs = ["xfs_io", "mkfs.ext4", "mkfs.xfs"];
    if !programs.into_iter().all(is_installed) || in_mounts_of_its_own(NAME) {
        return;
    }
    for (seed, kind) in (1..).zip(DISKS) {
        let sandbox = Sandbox::new();
        let disk = Disk::format(sandbox.path("disk"), sandbox.path("state"), kind);
        let mut on = match disk.on() {
            Ok(on) => on,
            Err(why) => return skipped(format_args!("no disk in a file: {why}")),
        };
        let churn = Churn::new(&sandbox.path("tree"), seed, &Profile::ALL);
        let mut random = Random::new(seed);
        let mut step = 0;
        let mut steps = |count: usize| {
            let last = step + count as u64;
            (step..last).for_each(|step| churn.step(step));
            step = last;
        };
        for number in 0..cuts() {
            let daemon = sandbox.daemon([""; 0]);
            // Without the barrier, the cut may interrupt a scan. With the barrier, the cut may
            // interrupt a commit of changes.
            if random.below(4) != 0 {
                daemon.sync();
            }
            steps(random.below(400));
            cut(&disk.at);
            daemon.kill();
            // Messages up to now are not checked, because the daemon has complained about the disk.
            let before = sandbox.log().len();
            drop(on);
            on = disk.on().expect("its journal is played back");
            steps(random.below(20));
            let daemon = sandbox.daemon([""; 0]);
            if let Err(differences) = daemon.compared() {
                panic!("{kind:?}, cut {number}: {differences}");
            }
            assert_eq!(daemon.stop(), 0);
            let log = sandbox.log().split_off(before);
            assert!(!log.contains("set aside"), "{kind:?}, cut {number}: {log}");
        }
        let kept = fs::read_dir(sandbox.path("state/resemble"))
            .expect("the state")
            .count();
        eprintln!(
            "{kind:?}: {} cuts, {step} steps, {kept} files in the state",
            cuts()
        );
    }
}
