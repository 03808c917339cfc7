//! Finds changes of the mounts below the roots. Neither mounting over a folder nor unmounting makes
//! an event. So the kernel's list of mounts is compared with the last known list whenever the roots
//! are checked. The lists are also compared before and after each check of changes, and between the
//! listings of any reconcile.
//!
//! If the list changed during a check, the check is not reliable, because a mount may have hidden
//! files. Single targets are then checked again. If mounts change all the time, repeating a whole
//! scan might never end. So after a scan only the changed mount points and the folders that were
//! being listed are checked again.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use resemble_mounts::{Mount, mount_number};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The mount that is visible at a path. If several file systems are mounted at the path, only the
/// last mount is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Covering {
    id: u64,
    device: String,
    /// The kernel's unique id of the mount, which is never reused; `None` if the kernel gives no
    /// such id.
    number: Option<u64>,
}

#[derive(Debug)]
pub(super) struct MountPoints {
    covering: BTreeMap<PathBuf, Covering>,
    /// The kernel's list, which stays open: `poll` reports each change of the list once.
    list: Option<File>,
}

impl Default for MountPoints {
    fn default() -> Self {
        Self {
            covering: BTreeMap::new(),
            list: File::open("/proc/self/mountinfo").ok(),
        }
    }
}

impl MountPoints {
    /// Returns whether anything was mounted or unmounted since the last call, at any path.
    pub(super) fn is_other_list(&self) -> bool {
        let Some(list) = &self.list else { return false };
        let mut fds = [PollFd::new(list, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// Reads the kernel's list. Returns the paths below the roots at which the mount has changed
    /// since the last call.
    pub(super) fn changed(&mut self, roots: &[PathBuf]) -> Vec<PathBuf> {
        match resemble_mounts::read() {
            Ok(mounts) => self.compare(&mounts, roots, mount_number),
            Err(error) => {
                tracing::debug!(%error, "the mounts cannot be listed");
                Vec::new()
            }
        }
    }

    fn compare(
        &mut self,
        mounts: &[Mount],
        roots: &[PathBuf],
        number: impl Fn(&Mount) -> Option<u64>,
    ) -> Vec<PathBuf> {
        let is_below = |point: &Path| {
            (roots.iter()).any(|root| point.starts_with(root) && point != root.as_path())
        };
        let covering = mounts.iter().filter(|mount| is_below(&mount.point));
        let now: BTreeMap<PathBuf, Covering> = covering
            .map(|mount| {
                let covering = Covering {
                    id: mount.id,
                    device: mount.device.clone(),
                    number: number(mount),
                };
                (mount.point.clone(), covering)
            })
            .collect();
        let before = std::mem::replace(&mut self.covering, now);
        let all = before.keys().chain(self.covering.keys());
        let mut changed: Vec<PathBuf> = all
            .filter(|point| before.get(*point) != self.covering.get(*point))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(id: u64, point: &str) -> Mount {
        Mount {
            id,
            device: "0:50".to_owned(),
            point: point.into(),
            fs_type: b"tmpfs".to_vec(),
        }
    }

    #[test]
    fn what_appears_goes_or_is_another_below_a_root_is_told() {
        let roots = [PathBuf::from("/r")];
        let mut mounts = MountPoints::default();
        let mut told = |now: &[Mount], number: u64| {
            let changed = mounts.compare(now, &roots, |_| Some(number));
            let paths = changed.iter().map(|path| path.display().to_string());
            paths.collect::<Vec<_>>().join(" ")
        };
        let elsewhere = [mount(1, "/"), mount(2, "/r"), mount(3, "/rr/x")];
        assert_eq!(told(&elsewhere, 0), "");
        let two = [mount(2, "/r"), mount(5, "/r/a"), mount(6, "/r/b/c")];
        assert_eq!(told(&two, 0), "/r/a /r/b/c");
        assert_eq!(told(&two, 0), "");
        // Another mount covers the first mount at `/r/a`.
        let covered = [&two[..], &[mount(7, "/r/a")]].concat();
        assert_eq!(told(&covered, 0), "/r/a");
        assert_eq!(told(&two[..2], 0), "/r/a /r/b/c");
        // The mount at `/r/a` is replaced by one with the same id and device. Only its unique
        // number differs.
        assert_eq!(told(&two[..2], 1), "/r/a");
        assert_eq!(told(&[], 1), "/r/a");
    }
}
