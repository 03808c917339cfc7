//! Asks the kernel whether this thread may read the entry at a path.
//!
//! Nothing is opened. The path is walked with `O_PATH`, which neither waits for a FIFO nor wakes a
//! device, and changes no access time. Symbolic links are not followed, not even above a root. The
//! walk needs search permission for every folder. Read permission is then checked on the inode that
//! the walk found. The check uses the ids with which this thread opens files.
//!
//! A path in a FUSE file system counts as inaccessible. A user can mount such a file system over a
//! folder of their own. Its files would hide the indexed files and pass the check in their place,
//! although the user may not read the indexed files.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::{AccessCheck, Listable, Seen, SeenPlace, syscalls};

/// The `f_type` of FUSE, in which a process serves the files: `FUSE_SUPER_MAGIC` in the kernel.
const FUSE: u32 = 0x6573_5546;

/// Returns what this thread may see at an absolute path.
///
/// # Errors
///
/// Fails if this process has no descriptor or no memory left, or if the kernel does not have
/// `openat2`. A path that this thread cannot access is no error.
pub fn look(path: &Path) -> io::Result<Seen> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if !path.is_absolute() {
        return Ok(Seen::Nothing);
    }
    let found = loop {
        match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOSYS)) => {
                return Err(errno.into());
            }
            Err(_) => return Ok(Seen::Nothing),
            Ok(found) => break found,
        }
    };
    let served = rustix::fs::fstatfs(&found)?;
    if served.f_type as u32 == FUSE {
        return Ok(Seen::Nothing);
    }
    let stat = rustix::fs::fstat(&found)?;
    let may = |access| syscalls::may(found.as_fd(), access);
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if may(libc::R_OK) => Seen::File(seen(&stat)),
        FileType::Directory if may(libc::X_OK) => {
            Seen::Folder(seen(&stat), Listable(may(libc::R_OK)))
        }
        _ => Seen::Nothing,
    })
}

fn seen(stat: &Stat) -> SeenPlace {
    SeenPlace {
        dev: stat.st_dev,
        ino: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime: (stat.st_mtime, stat.st_mtime_nsec as u32),
        ctime: (stat.st_ctime, stat.st_ctime_nsec as u32),
    }
}

/// The access of this process itself, which needs no checker.
#[derive(Clone, Copy, Debug)]
pub struct OwnSight;

impl AccessCheck for OwnSight {
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        paths.iter().map(|path| look(path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn only_files_and_folders_are_seen_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        fs::write(dir.join("file"), "bytes").unwrap();
        fs::create_dir(dir.join("folder")).unwrap();
        symlink("file", dir.join("link")).unwrap();
        symlink("folder", dir.join("way")).unwrap();
        fs::write(dir.join("folder/file"), "more").unwrap();
        rustix::fs::mknodat(CWD, dir.join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let meta = fs::metadata(dir.join("file")).unwrap();
        let Seen::File(file) = look(&dir.join("file")).unwrap() else {
            panic!("a file of ours");
        };
        assert_eq!((file.ino, file.size), (meta.ino(), 5));
        assert_eq!(file.mtime, (meta.mtime(), meta.mtime_nsec() as u32));
        assert_eq!(file.ctime, (meta.ctime(), meta.ctime_nsec() as u32));
        let folder = look(&dir.join("folder")).unwrap();
        assert!(
            matches!(folder, Seen::Folder(_, Listable(true))),
            "{folder:?}"
        );
        for nothing in ["link", "way", "way/file", "fifo", "none", "file/x"] {
            assert_eq!(
                look(&dir.join(nothing)).unwrap(),
                Seen::Nothing,
                "{nothing}"
            );
        }
        assert_eq!(look(Path::new("relative")).unwrap(), Seen::Nothing);
    }
}
