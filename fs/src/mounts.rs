//! `/proc/self/mountinfo`: which mounts there are, without touching any of them.
//!
//! Asking a file system what it is (`statfs`, `stat`) sends a request if it is a FUSE one, and to
//! ourselves if it is ours. The kernel's own list answers without asking anybody, and `poll` on
//! it tells whether it changed, so a table that is right costs one system call per use.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The type our mounts have.
pub(crate) const OUR_TYPE: &[u8] = b"fuse.resemble";

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Unique among the mounts of this moment; reused later.
    pub(crate) id: u64,
    /// `major:minor` of the file system, as text.
    pub(crate) device: String,
    /// Where, seen from this process.
    pub(crate) point: PathBuf,
    /// The file system's type.
    pub(crate) fs_type: Vec<u8>,
}

impl Mount {
    pub(crate) fn is_ours(&self) -> bool {
        self.fs_type == OUR_TYPE
    }
}

/// The mounts of this process's namespace, in the kernel's order: a later one covers an earlier
/// one at the same point.
pub(crate) fn read() -> io::Result<Vec<Mount>> {
    std::fs::read("/proc/self/mountinfo").map(|text| parse(&text))
}

/// The mounted overlay that a path lies below (not: is), by names alone.
pub(crate) fn enclosing(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = std::path::absolute(path)?;
    Ok(at_or_enclosing(&path)?.filter(|point| *point != path))
}

/// The mounted overlay that a path lies in or is, the outermost if there are several.
pub(crate) fn at_or_enclosing(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = std::path::absolute(path)?;
    let ours = read()?
        .into_iter()
        .filter(Mount::is_ours)
        .map(|mount| mount.point);
    Ok(ours.filter(|point| path.starts_with(point)).min())
}

/// Lines that do not parse are left out: the kernel writes none.
fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw` (proc(5)).
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

/// Space, tab, newline and backslash are written as three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let octal = (byte == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(octal.unwrap_or(byte));
        if octal.is_some() {
            rest = &tail[3..];
        }
    }
    plain
}

/// File systems that hold no documents or may block whoever touches them: the index leaves them
/// out by type, and so does the mirrored tree. `fuseblk` (NTFS, exFAT) is a disk and stays in.
fn is_left_out(fs_type: &[u8]) -> bool {
    const PSEUDO: [&[u8]; 24] = [
        b"autofs",
        b"binfmt_misc",
        b"bpf",
        b"cgroup",
        b"cgroup2",
        b"configfs",
        b"debugfs",
        b"devpts",
        b"devtmpfs",
        b"efivarfs",
        b"fuse",
        b"fusectl",
        b"hugetlbfs",
        b"mqueue",
        b"nsfs",
        b"proc",
        b"pstore",
        b"resctrl",
        b"rpc_pipefs",
        b"securityfs",
        b"selinuxfs",
        b"smackfs",
        b"sysfs",
        b"tracefs",
    ];
    fs_type.starts_with(b"fuse.") || PSEUDO.contains(&fs_type)
}

/// What of the mount table the mirrored tree needs to know.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    points: HashSet<PathBuf>,
    by_id: HashMap<u64, MountClass>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountClass {
    Ours,
    LeftOut,
    Real,
}

impl LeftOut {
    fn of(mounts: &[Mount]) -> Self {
        let mut this = Self::default();
        for mount in mounts {
            let class = if mount.is_ours() {
                MountClass::Ours
            } else if is_left_out(&mount.fs_type) {
                MountClass::LeftOut
            } else {
                MountClass::Real
            };
            this.by_id.insert(mount.id, class);
            // What covers decides: a disk mounted over an automount point is a disk.
            if class == MountClass::Real {
                this.points.remove(&mount.point);
            } else {
                this.points.insert(mount.point.clone());
            }
        }
        this
    }

    /// Whether a file system that is left out is mounted at exactly this path.
    pub(crate) fn is_point(&self, path: &Path) -> bool {
        self.points.contains(path)
    }

    /// Whether this descriptor (which may be `O_PATH`) leads into a file system that is left out.
    pub(crate) fn holds(&self, fd: impl AsFd) -> bool {
        self.class(fd)
            .is_some_and(|class| class != MountClass::Real)
    }

    /// Whether this descriptor leads into a mount of ours.
    pub(crate) fn holds_ours(&self, fd: impl AsFd) -> bool {
        self.class(fd) == Some(MountClass::Ours)
    }

    /// By the mount id of `/proc/self/fdinfo`, which the kernel prints without asking the file
    /// system. An id the table does not know (mounted this very moment) counts as real.
    fn class(&self, fd: impl AsFd) -> Option<MountClass> {
        let raw = fd.as_fd().as_raw_fd();
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{raw}")).ok()?;
        let id = info
            .lines()
            .find_map(|line| line.strip_prefix("mnt_id:"))?
            .trim()
            .parse()
            .ok()?;
        self.by_id.get(&id).copied()
    }
}

/// A [`LeftOut`] that follows the kernel's table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Kept open: `poll` reports a change once per open file.
    changes: File,
    current: Mutex<Arc<LeftOut>>,
}

impl Table {
    pub(crate) fn new() -> io::Result<Self> {
        let changes = File::open("/proc/self/mountinfo")?;
        let current = Mutex::new(Arc::new(LeftOut::of(&read()?)));
        Ok(Self { changes, current })
    }

    /// The table as it is now.
    pub(crate) fn current(&self) -> Arc<LeftOut> {
        // Locked before the poll: whoever takes the report of a change also brings the new table
        // before anybody else sees the old one.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fds = [PollFd::new(&self.changes, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let changed = poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0);
        if changed {
            match read() {
                Ok(mounts) => *current = Arc::new(LeftOut::of(&mounts)),
                Err(error) => tracing::warn!(%error, "cannot read the mount table"),
            }
        }
        Arc::clone(&current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw\n\
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n\
60 27 0:50 / /home/u/My\\040Similar\\011\\134 ro,nosuid - fuse.resemble resemble ro\n\
61 27 0:51 / /net rw - autofs systemd-1 rw\n\
62 27 0:52 / /net rw - nfs4 host:/x rw\n\
bad line\n";

    #[test]
    fn lines_are_parsed_and_unescaped() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[2].point, Path::new("/home/u/My Similar\t\\"));
        assert!(mounts[2].is_ours() && !mounts[0].is_ours());
        assert_eq!(mounts[2].device, "0:50");
        assert_eq!(
            (mounts[1].id, mounts[1].fs_type.as_slice()),
            (27, b"ext4".as_slice())
        );
    }

    #[test]
    fn what_is_left_out_goes_by_type_and_by_what_covers() {
        let left_out = LeftOut::of(&parse(TEXT));
        assert!(left_out.is_point(Path::new("/proc")));
        assert!(left_out.is_point(Path::new("/home/u/My Similar\t\\")));
        assert!(!left_out.is_point(Path::new("/")) && !left_out.is_point(Path::new("/net")));
        assert!(is_left_out(b"fuse.sshfs") && is_left_out(b"fuse") && !is_left_out(b"fuseblk"));
    }

    #[test]
    fn a_descriptor_is_placed_without_asking_its_file_system() {
        let table = Table::new().unwrap();
        assert!(
            table
                .current()
                .holds(File::open("/proc/self/status").unwrap())
        );
        assert!(!table.current().holds(tempfile::tempfile().unwrap()));
    }
}
