//! Identifies file systems by names that stay the same after a reboot.
//!
//! The kernel assigns `st_dev` anew at each boot, and to each new loop device, btrfs subvolume and
//! tmpfs. If an index identified files by `st_dev`, it would read all files again after a reboot,
//! or confuse two files. So the name of a file system is the first available of these:
//!
//! 1. the UUID of the block device `st_dev` in `/dev/disk/by-uuid`. It is stable wherever udev
//!    runs. For xfs, it is the only stable id, because the `f_fsid` of xfs is the device number;
//! 2. the type and `f_fsid` of `statfs(2)`. ext4, btrfs, f2fs and others derive `f_fsid` from their
//!    UUID, and a tmpfs keeps its `f_fsid` for its lifetime;
//! 3. the type and `st_dev`. If this name is wrong, files are only read again.
//!
//! The name for an `st_dev` is cached only during one reconcile. After an unmount, the kernel can
//! give the same number to another file system.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_index::FsId;

/// The names of file systems, by `st_dev`.
#[derive(Debug, Default)]
pub struct FsIds {
    known: HashMap<u64, FsId>,
    uuids: Option<HashMap<u64, String>>,
}

impl FsIds {
    /// Drops all cached names, because an `st_dev` may now belong to another file system.
    pub fn clear(&mut self) {
        self.known.clear();
        self.uuids = None;
    }

    /// Returns the name of the file system of an open file. `dev` is the file's `st_dev`.
    pub fn id_of(&mut self, fd: BorrowedFd<'_>, dev: u64) -> FsId {
        if let Some(id) = self.known.get(&dev) {
            return id.clone();
        }
        let uuids = self
            .uuids
            .get_or_insert_with(|| uuids_in(Path::new("/dev/disk/by-uuid")));
        let id = match uuids.get(&dev) {
            Some(uuid) => FsId(format!("uuid:{uuid}").into()),
            None => Self::without_uuid(fd, dev),
        };
        self.known.insert(dev, id.clone());
        id
    }

    fn without_uuid(fd: BorrowedFd<'_>, dev: u64) -> FsId {
        let fsid = rustix::fs::fstatvfs(fd).map_or(0, |fs| fs.f_fsid);
        let f_type = rustix::fs::fstatfs(fd).map_or(0, |fs| fs.f_type as u32);
        if fsid == 0 {
            FsId(format!("dev:{f_type:x}:{dev:x}").into())
        } else {
            FsId(format!("fsid:{f_type:x}:{fsid:x}").into())
        }
    }
}

/// Maps the device number of each link in a folder such as `/dev/disk/by-uuid` to the name of the
/// link, which is a UUID. The map is empty if there is no such folder.
fn uuids_in(folder: &Path) -> HashMap<u64, String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return HashMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let stat = rustix::fs::stat(entry.path()).ok()?;
            let block = rustix::fs::FileType::from_raw_mode(stat.st_mode)
                == rustix::fs::FileType::BlockDevice;
            block.then(|| {
                (
                    stat.st_rdev,
                    entry.file_name().to_string_lossy().into_owned(),
                )
            })
        })
        .collect()
}

/// Returns whether `path` is one of the `excluded` paths or is below one of them.
pub(crate) fn is_under_any(path: &Path, excluded: &[PathBuf]) -> bool {
    excluded.iter().any(|e| {
        let (path, e) = (path.as_os_str().as_bytes(), e.as_os_str().as_bytes());
        path.starts_with(e) && (path.len() == e.len() || path[e.len()] == b'/' || e == b"/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn one_file_system_has_one_name_and_two_have_two() {
        let dir = tempfile::tempdir().unwrap();
        let mut ids = FsIds::default();
        let mut id = |path: &Path| {
            let file = std::fs::File::open(path).unwrap();
            let dev = rustix::fs::fstat(&file).unwrap().st_dev;
            ids.id_of(file.as_fd(), dev)
        };
        let here = id(dir.path());
        assert_eq!(here, id(dir.path()));
        assert_ne!(here, id(Path::new("/proc")));
        assert!(!here.0.is_empty());
    }

    #[test]
    fn excluded_paths_are_whole_components() {
        let excluded = [PathBuf::from("/a/state")];
        assert!(is_under_any(Path::new("/a/state"), &excluded));
        assert!(is_under_any(Path::new("/a/state/x"), &excluded));
        assert!(!is_under_any(Path::new("/a/state2"), &excluded));
    }
}
