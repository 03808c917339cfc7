//! Mounts that appear over folders of a tree and vanish.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::Scene;

/// The maximum number of mounts at a time. More mounts would hide too much of the tree.
const MOST: usize = 6;

/// Returns the mounts below `root`, the newest first. The function expects paths without spaces.
fn below(root: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = list.lines().filter_map(|line| line.split(' ').nth(4));
    let points = points.map(PathBuf::from);
    let mut points: Vec<_> = points
        .filter(|point| point.starts_with(root) && point != root)
        .collect();
    points.reverse();
    points
}

/// Removes the mounts below a path.
pub(super) fn unmount_below(root: &Path) {
    for point in below(root) {
        // Unmounting an outer mount may already have removed this one.
        let _gone = unmount(&point, UnmountFlags::DETACH);
    }
}

impl Scene<'_> {
    pub(super) fn mounts(&mut self) -> io::Result<()> {
        let there = below(self.root);
        if there.len() >= MOST || (!there.is_empty() && self.one_of(2) == 0) {
            let at = self.one_of(there.len());
            return Ok(unmount(&there[at], UnmountFlags::DETACH)?);
        }
        let folder = self.made()?;
        if folder == self.root {
            return Ok(());
        }
        mount(
            "tmpfs",
            &folder,
            "tmpfs",
            MountFlags::empty(),
            c"size=8m,mode=0755",
        )?;
        for n in 0..self.one_of(4) {
            fs::write(folder.join(format!("f{n}")), self.text())?;
        }
        Ok(())
    }
}
