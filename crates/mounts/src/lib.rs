//! `resemble-mounts`: lists the mounts, and classifies the file systems on them.
//!
//! The index, the overlay and the watcher use the same table, so all of them leave out the same
//! file systems.
//!
//! * The mounts are read from `/proc/self/mountinfo`, which sends no request to any file system. A
//!   call like `statfs` or `stat` on a FUSE file system would send a request to its server. For our
//!   own overlay that server is this process, which would then wait for itself. `poll` reports
//!   changes of the list. So keeping a table of mounts up to date costs one system call per use.
//! * [`kinds`] classifies types of file systems. It decides whether they have real files, whether a
//!   process serves them, and whether other machines change them.
//! * [`MountTable`] answers questions about a path or a descriptor. [`LiveTable`] is a table that
//!   follows the changes of the kernel's list.
#![forbid(unsafe_code)]

pub mod kinds;
mod table;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub use kinds::FsClass;
pub use table::{LiveTable, MountTable};

/// The file-system type of our own mounts.
pub const OUR_TYPE: &[u8] = b"fuse.resemble";

/// A mount: one line of `mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The id of the mount. It is unique among the current mounts, and reused later.
    pub id: u64,
    /// `major:minor` of the file system, as text.
    pub device: String,
    /// The mount point, as this process sees it.
    pub point: PathBuf,
    /// The file system's type.
    pub fs_type: Vec<u8>,
}

impl Mount {
    /// Returns whether the mount is an overlay of resemble, of any user.
    pub fn is_ours(&self) -> bool {
        self.fs_type == OUR_TYPE
    }
}

/// Returns the class of the file system that holds an open file or directory.
///
/// The class depends on the `f_type` that the file system reports (`fstatfs`). But a disk that a
/// process serves (`fuseblk`) also reports the `f_type` of FUSE. So for FUSE, the class depends on
/// the type in the mount table. If the mount is not in the table, the class is [`FsClass::Fuse`].
pub fn class_of(fd: BorrowedFd<'_>) -> rustix::io::Result<FsClass> {
    let class = kinds::class_of_magic(rustix::fs::fstatfs(fd)?.f_type as u32);
    if class != FsClass::Fuse {
        return Ok(class);
    }
    let mount = mount_id(fd).and_then(|id| read().ok()?.into_iter().find(|mount| mount.id == id));
    Ok(mount.map_or(class, |mount| kinds::class_of_type(&mount.fs_type)))
}

/// Returns the id of the mount that a descriptor is in. The descriptor may be `O_PATH`. The id is
/// read from `/proc/self/fdinfo`, so no request is sent to the file system.
pub fn mount_id(fd: impl AsFd) -> Option<u64> {
    let raw = fd.as_fd().as_raw_fd();
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{raw}")).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    id.trim().parse().ok()
}

/// Returns the kernel's unique id of the mount, which is never reused. `None` before Linux 6.8, or
/// if the mount point cannot be reached. If another mount covers the mount point, returns the id of
/// the other mount. No request is sent to the file system.
pub fn mount_number(mount: &Mount) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let unique = StatxFlags::from_bits_retain(0x4000);
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let stat = statx(CWD, &mount.point, flags, unique).ok()?;
    let is_told = stat.stx_mask & unique.bits() != 0;
    is_told.then_some(stat.stx_mnt_id)
}

/// Returns the mounts of this process's namespace in the kernel's order. A later mount covers an
/// earlier one at the same point.
pub fn read() -> io::Result<Vec<Mount>> {
    std::fs::read("/proc/self/mountinfo").map(|text| parse(&text))
}

/// Returns the mount point of the overlay that contains a path. An overlay that is mounted at the
/// path itself is not considered. Only names are compared; no request is sent to a file system.
pub fn enclosing(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = std::path::absolute(path)?;
    Ok(at_or_enclosing(&path)?.filter(|point| *point != path))
}

/// Returns the mount point of the overlay that contains a path or is mounted at it. If there are
/// several, the outermost is returned.
pub fn at_or_enclosing(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = std::path::absolute(path)?;
    let ours = read()?
        .into_iter()
        .filter(Mount::is_ours)
        .map(|mount| mount.point);
    Ok(ours.filter(|point| path.starts_with(point)).min())
}

/// Returns whether a real path, which is absolute and without symbolic links, is in an overlay of
/// any user. The mount table is read only for a path in FUSE, or if `statfs` fails. For any other
/// path, one system call is enough.
///
/// # Errors
///
/// Fails if the mount table is needed and cannot be read.
pub fn is_in_overlay(real: &Path) -> io::Result<bool> {
    let is_other = rustix::fs::statfs(real)
        .is_ok_and(|fs| kinds::class_of_magic(fs.f_type as u32) != FsClass::Fuse);
    Ok(!is_other && at_or_enclosing(real)?.is_some())
}

/// Parses the mount table. Lines that cannot be parsed are left out: the kernel writes no such
/// lines.
fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// Parses a line like `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw` (proc(5)).
fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = str::from_utf8(fields.nth(1)?).ok()?.to_owned();
    let point = PathBuf::from(OsString::from_vec(unescape(fields.nth(1)?)));
    let fs_type = unescape(fields.skip_while(|field| *field != b"-").nth(1)?);
    Some(Mount {
        id,
        device,
        point,
        fs_type,
    })
}

/// Undoes the kernel's escaping: it writes a space, tab, newline or backslash as a backslash and
/// three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let octal = (byte == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)))
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(octal.unwrap_or(byte));
        if octal.is_some() {
            rest = &tail[3..];
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    pub(crate) const TEXT: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw\n\
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n\
60 27 0:50 / /home/u/My\\040Similar\\011\\134 ro,nosuid - fuse.resemble resemble ro\n\
61 27 0:51 / /net rw - autofs systemd-1 rw\n\
62 27 0:52 / /net rw - nfs4 host:/x rw\n\
63 27 8:17 / /media/usb rw - fuseblk /dev/sdb1 rw\n\
bad line\n";

    #[test]
    fn lines_are_parsed_and_unescaped() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 6);
        assert_eq!(mounts[2].point, Path::new("/home/u/My Similar\t\\"));
        assert!(mounts[2].is_ours() && !mounts[0].is_ours());
        assert_eq!(mounts[2].device, "0:50");
        assert_eq!(
            (mounts[1].id, mounts[1].fs_type.as_slice()),
            (27, b"ext4".as_slice())
        );
    }

    #[test]
    fn classes_of_open_directories() {
        let class = |path: &str| class_of(File::open(path).unwrap().as_fd()).unwrap();
        assert_eq!(class("/proc"), FsClass::Pseudo);
        assert_eq!(class("/sys"), FsClass::Pseudo);
        let file = tempfile::tempfile().unwrap();
        assert_eq!(class_of(file.as_fd()).unwrap(), FsClass::Real);
    }
}
