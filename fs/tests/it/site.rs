//! Makes real mounts for tests: a tree, an overlay on it, and clients with a time limit.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use resemble_core::Score;
use resemble_fs::neighbours::MapNeighbours;
use resemble_fs::{
    MountError, MountedOverlay, Neighbour, Neighbours, Overlay, OverlayConfig, Show, SimilarName,
    View,
};
use resemble_testutil::{TempTree, skipped};

/// Returns whether root can mount here. If not, the test reports that, or fails.
pub(crate) fn fuse_works() -> bool {
    if !rustix::process::geteuid().is_root() {
        skipped("these tests run as root");
        return false;
    }
    resemble_testutil::fuse_works()
}

/// A private folder with a watched tree `docs`. Its entry `M` is the mount point.
pub(crate) struct Site {
    pub(crate) dir: TempTree,
    pub(crate) map: Arc<MapNeighbours>,
}

impl Site {
    /// Makes the tree `docs/{report.txt,copy.txt,sub/old.txt,link}`. `report.txt` resembles
    /// `copy.txt` and `sub/old.txt`.
    pub(crate) fn new() -> Self {
        let this = Self {
            dir: TempTree::new(),
            map: Arc::new(MapNeighbours::new()),
        };
        this.dir.write("docs/report.txt", "the report\n");
        this.dir.write("docs/copy.txt", "the report\n");
        this.dir.write("docs/sub/old.txt", "the old report\n");
        std::os::unix::fs::symlink("sub/old.txt", this.path("docs/link")).unwrap();
        let same = Neighbour {
            identical: true,
            relation: "identical",
            ..near(&this.path("docs/copy.txt"), 1.0)
        };
        let old = near(&this.path("docs/sub/old.txt"), 0.625);
        this.map.set(this.path("docs/report.txt"), vec![same, old]);
        this
    }

    pub(crate) fn path(&self, rel: &str) -> PathBuf {
        self.dir.path(rel)
    }

    pub(crate) fn config(&self, view: View) -> OverlayConfig {
        OverlayConfig {
            mount_point: self.path("M"),
            view,
            show: Show::Default,
            similar_name: SimilarName::default(),
            roots: vec![self.path("docs")],
            exclude: Vec::new(),
            folder: None,
        }
    }

    pub(crate) fn try_mount(&self, view: View) -> Result<MountedOverlay, MountError> {
        let map: Arc<dyn Neighbours> = Arc::clone(&self.map) as _;
        Overlay::mount(self.config(view), map)
    }

    pub(crate) fn mount(&self, view: View) -> MountedOverlay {
        self.try_mount(view).unwrap()
    }
}

impl Drop for Site {
    /// Unmounts leftovers of a failed test: the removal of the folder must not enter a mount.
    fn drop(&mut self) {
        for mount in mounts() {
            if !mount.starts_with(self.dir.root()) {
                continue;
            }
            let flags = rustix::mount::UnmountFlags::DETACH | rustix::mount::UnmountFlags::FORCE;
            let _gone = rustix::mount::unmount(&mount, flags);
        }
    }
}

/// Returns all `fuse.resemble` mounts (test folders have no blanks in their names).
pub(crate) fn mounts() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours = text
        .lines()
        .filter(|line| line.contains(" - fuse.resemble "));
    ours.filter_map(|line| line.split(' ').nth(4))
        .map(PathBuf::from)
        .collect()
}

pub(crate) fn near(target: &Path, score: f64) -> Neighbour {
    let a_in_b = Score::new(score);
    Neighbour {
        target: target.to_owned(),
        member: Vec::new(),
        member_size: 0,
        a_in_b,
        identical: false,
        relation: "near",
    }
}

/// Returns a command that is killed after 30 s. If a process hangs in a file system, no other
/// signal ends it.
pub(crate) fn client(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "30", program])
        .stdin(Stdio::null())
        .env("LC_ALL", "C");
    command
}

pub(crate) fn run<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> Output {
    client(program).args(args).output().unwrap()
}

/// Returns the standard output of a command, which must succeed and leave standard error empty.
pub(crate) fn output<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> String {
    let out = run(program, args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success() && said.is_empty(),
        "{program}: {} {said}",
        out.status
    );
    String::from_utf8(out.stdout).unwrap()
}

/// Runs a shell line in which `$1` is the mount point, as [`output`] does.
pub(crate) fn shell(line: &str, mount: &Path) -> String {
    output(
        "sh",
        [
            "-ec".as_ref(),
            line.as_ref(),
            "sh".as_ref(),
            mount.as_os_str(),
        ],
    )
}
