//! Opens regular files and nothing else.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::ReadFailure;
use crate::walk::{Anchor, Kind, OpenDir, Stat};

/// Opens a regular file below the anchor for reading. Also returns the `stat` of the open file.
pub fn open_regular(anchor: &Anchor, path: &Path) -> Result<(OwnedFd, Stat), ReadFailure> {
    open_checked(&|flags| anchor.open_at(path, flags))
}

/// Does the same as [`open_regular`] for a name in an open directory. This takes only one look-up,
/// even if the directory is deep below the anchor.
pub fn open_regular_in(dir: &OpenDir, name: &OsStr) -> Result<(OwnedFd, Stat), ReadFailure> {
    open_checked(&|flags| dir.open_at(name, flags))
}

fn open_checked(
    open_at: &dyn Fn(OFlags) -> rustix::io::Result<OwnedFd>,
) -> Result<(OwnedFd, Stat), ReadFailure> {
    // If the handle is stale, the name is looked up once more.
    let handle = match open_at(OFlags::PATH) {
        Err(Errno::STALE) => open_at(OFlags::PATH),
        other => other,
    }?;
    let stat = Stat::of(handle.as_fd())?;
    if stat.kind != Kind::File {
        return Err(ReadFailure::NotRegular);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let open = |flags| rustix::fs::open(&*link, flags, Mode::empty());
    let file = match open(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open(flags),
        other => other,
    };
    match file {
        // If there is no /proc, the file is opened by its name. Then its inode must be equal to the
        // inode that was checked.
        Err(Errno::NOENT | Errno::NOTDIR) => {
            let file = open_at(flags)?;
            let now = Stat::of(file.as_fd())?;
            if (now.dev, now.ino, now.kind) != (stat.dev, stat.ino, stat.kind) {
                return Err(ReadFailure::Gone);
            }
            Ok((file, now))
        }
        // This is the inode that was checked, so no comparison is necessary.
        other => Ok((other?, stat)),
    }
}
