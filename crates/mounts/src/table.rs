//! Tables that show which mounts must not be entered, and which mounts are our own.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kinds::{FsClass, class_of_type};
use crate::{Mount, mount_id, read};

/// The mount points that are never entered, and the class of each mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountTable {
    /// The names of mount points that are never entered, by their parent directory.
    never: HashMap<PathBuf, HashSet<OsString>>,
    by_id: HashMap<u64, FsClass>,
    ours: HashSet<u64>,
}

impl MountTable {
    /// Reads the kernel's list of mounts. Without `/proc` the table is empty, and only the `f_type`
    /// of a file system decides whether it is entered.
    pub fn load() -> Self {
        read().map_or_else(|_| Self::default(), |mounts| Self::of(&mounts))
    }

    pub(crate) fn of(mounts: &[Mount]) -> Self {
        let mut this = Self::default();
        let mut points = HashSet::new();
        for mount in mounts {
            let class = class_of_type(&mount.fs_type);
            this.by_id.insert(mount.id, class);
            if mount.is_ours() {
                this.ours.insert(mount.id);
            }
            // If several mounts are at one point, the class of the last mount applies: a disk
            // mounted over an automount point is a disk.
            match class {
                FsClass::Real => points.remove(&mount.point),
                FsClass::Pseudo | FsClass::Fuse => points.insert(&mount.point),
            };
        }
        for point in points {
            if let (Some(dir), Some(name)) = (point.parent(), point.file_name()) {
                let names = this.never.entry(dir.to_owned()).or_default();
                names.insert(name.to_owned());
            }
        }
        this
    }

    /// Returns whether a file system that is never entered is mounted at exactly this path.
    pub fn is_left_out(&self, path: &Path) -> bool {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        self.left_out_in(dir)
            .is_some_and(|names| names.contains(name))
    }

    /// Returns the names of the mount points in a directory that are never entered; `None` if the
    /// directory has no such mount points.
    pub fn left_out_in(&self, dir: &Path) -> Option<&HashSet<OsString>> {
        self.never.get(dir)
    }

    /// Returns whether a descriptor (which may be `O_PATH`) is in a file system that is never
    /// entered. The answer is false for a mount that is newer than the table.
    pub fn is_fd_left_out(&self, fd: impl AsFd) -> bool {
        let class = mount_id(fd).and_then(|id| self.by_id.get(&id));
        class.is_some_and(|class| *class != FsClass::Real)
    }

    /// Returns whether this descriptor is in a mount of resemble.
    pub fn is_fd_ours(&self, fd: impl AsFd) -> bool {
        mount_id(fd).is_some_and(|id| self.ours.contains(&id))
    }
}

/// A [`MountTable`] that is read again when the kernel's list has changed.
#[derive(Debug)]
pub struct LiveTable {
    /// The kernel's list, which stays open. For each open file, `poll` reports each change of the
    /// list once.
    changes: File,
    current: Mutex<Arc<MountTable>>,
}

impl LiveTable {
    /// Reads the table for the first time.
    pub fn new() -> io::Result<Self> {
        let changes = File::open("/proc/self/mountinfo")?;
        let current = Mutex::new(Arc::new(MountTable::of(&read()?)));
        Ok(Self { changes, current })
    }

    /// Returns the current table.
    pub fn current(&self) -> Arc<MountTable> {
        // The lock is taken before `poll`, which reports each change once. So the thread that gets
        // the report updates the table before another thread can read the old table.
        let mut current = self.current.lock();
        let mut fds = [PollFd::new(&self.changes, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let changed = poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0);
        if changed {
            match read() {
                Ok(mounts) => *current = Arc::new(MountTable::of(&mounts)),
                Err(error) => tracing::warn!(%error, "cannot read the mount table"),
            }
        }
        Arc::clone(&current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TEXT;

    #[test]
    fn what_is_never_entered_goes_by_type_and_by_what_covers() {
        let table = MountTable::of(&crate::parse(TEXT));
        assert!(table.is_left_out(Path::new("/proc")));
        assert!(table.is_left_out(Path::new("/home/u/My Similar\t\\")));
        assert!(table.left_out_in(Path::new("/home/u")).is_some());
        for entered in ["/", "/net", "/media/usb"] {
            assert!(!table.is_left_out(Path::new(entered)), "{entered}");
        }
        assert!(MountTable::load().is_left_out(Path::new("/proc")));
    }

    #[test]
    fn a_descriptor_is_placed_without_asking_its_file_system() {
        let table = LiveTable::new().unwrap().current();
        assert!(table.is_fd_left_out(File::open("/proc/self/status").unwrap()));
        assert!(!table.is_fd_left_out(tempfile::tempfile().unwrap()));
    }
}
