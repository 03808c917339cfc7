//! The attributes of files, the results of requests, and the reasons for refusing requests. The
//! types do not depend on `fuser`.

use std::ffi::OsStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use rustix::io::Errno;

/// The number of seconds for which a change counts as recent. It is more than two because some file
/// systems store times only with a precision of two seconds.
const RECENT: i64 = 5;

/// The names of our extended attributes, which are about similarity.
pub(super) const ATTRIBUTES: [&str; 4] = [
    "user.resemble.best",
    "user.resemble.best_percent",
    "user.resemble.count",
    "user.resemble.relation",
];

/// The type of an entry. There are no other types, because special files are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

/// A time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Seconds since the beginning of 1970; negative for times before it.
    pub seconds: i64,
    /// Nanoseconds after that second.
    pub nanos: u32,
}

impl Time {
    const fn new(seconds: i64, nanos: u32) -> Self {
        Self { seconds, nanos }
    }

    /// Returns whether this time is less than [`RECENT`] seconds ago, or in the future.
    pub(crate) fn is_recent(self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs() as i64);
        now.saturating_sub(self.seconds) < RECENT
    }
}

/// The attributes of a node, as `stat` returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Inode number.
    pub ino: u64,
    /// Type.
    pub kind: Kind,
    /// Permission bits, 0o7777.
    pub perm: u16,
    /// Size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last access.
    pub accessed: Time,
    /// Last change of the content.
    pub modified: Time,
    /// Last change of the inode.
    pub changed: Time,
    /// Preferred size of a read.
    pub block_size: u32,
}

impl Attr {
    /// Returns the attributes of a node that shows a real file as it is. `ino` and `kind` are the
    /// number and the type of the node.
    pub(crate) fn mirror(ino: u64, kind: Kind, stat: &Stat) -> Self {
        Self {
            ino,
            kind,
            perm: (stat.st_mode & 0o7777) as u16,
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            uid: stat.st_uid,
            gid: stat.st_gid,
            accessed: Time::new(stat.st_atime, stat.st_atime_nsec as u32),
            modified: Time::new(stat.st_mtime, stat.st_mtime_nsec as u32),
            changed: Time::new(stat.st_ctime, stat.st_ctime_nsec as u32),
            block_size: stat.st_blksize as u32,
        }
    }

    /// Returns the attributes of a directory that exists only in the overlay. The directory belongs
    /// to a real file or directory, and has the owner and the times of that entry. Users who may
    /// read the real entry may read and enter this directory. No user may write to it.
    pub(crate) fn folder(ino: u64, stat: &Stat) -> Self {
        let read = (stat.st_mode & 0o444) as u16;
        let enter = (stat.st_mode & 0o111) as u16;
        Self {
            perm: read | (read >> 2) | enter,
            size: 0,
            blocks: 0,
            ..Self::mirror(ino, Kind::Directory, stat)
        }
    }

    /// Returns the attributes of a text that exists only in the overlay and belongs to a real file.
    /// The size of the text is unknown until the text is opened. So the attributes have the size 0,
    /// like files of `/proc`, and `ls -l` costs nothing.
    pub(crate) fn text(ino: u64, stat: &Stat) -> Self {
        Self {
            perm: (stat.st_mode & 0o444) as u16,
            size: 0,
            blocks: 0,
            ..Self::mirror(ino, Kind::File, stat)
        }
    }

    /// Returns the attributes of a file that exists only in the overlay, belongs to a real file,
    /// and has a known size.
    pub(crate) fn member(ino: u64, stat: &Stat, size: u64) -> Self {
        Self {
            size,
            ..Self::text(ino, stat)
        }
    }

    /// Returns the attributes of a link that exists only in the overlay and belongs to a real file.
    /// `target` is the length of the path to which it leads.
    pub(crate) fn link(ino: u64, stat: &Stat, target: usize) -> Self {
        Self {
            perm: 0o777,
            size: target as u64,
            blocks: 0,
            ..Self::mirror(ino, Kind::Link, stat)
        }
    }

    /// Returns the attributes of a directory to which no real directory belongs: the folder of
    /// several roots, or a root that does not exist now.
    pub(crate) fn nowhere(ino: u64) -> Self {
        Self {
            ino,
            kind: Kind::Directory,
            perm: 0o555,
            size: 0,
            blocks: 0,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            accessed: Time::default(),
            modified: Time::default(),
            changed: Time::default(),
            block_size: 4096,
        }
    }
}

/// The result of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The inode number, the type and all other attributes.
    pub attr: Attr,
    /// The time for which the kernel may trust that the name leads to this node.
    pub ttl: Duration,
    /// The time for which the kernel may trust the attributes. It is zero for a file that is being
    /// changed. The kernel then asks for them each time they are needed, and before each read. So
    /// changes in place are visible as on the real path.
    pub attr_ttl: Duration,
}

/// An opened file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The number by which later requests name the open file or directory.
    pub handle: u64,
    /// True if reads must bypass the kernel's page cache, because the length is not known
    /// beforehand.
    pub direct: bool,
}

/// The sizes of a file system, with the field names of `statvfs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of statvfs(3)
pub struct Space {
    pub blocks: u64,
    pub bfree: u64,
    pub bavail: u64,
    pub files: u64,
    pub ffree: u64,
    pub bsize: u32,
    pub frsize: u32,
}

/// Receives the entries of a directory until it has no room for more.
pub trait Sink {
    /// Adds an entry. `next` is the offset at which reading continues after this entry. Returns
    /// false if there was no room, so the entry was not added.
    fn add(&mut self, ino: u64, next: u64, kind: Kind, name: &OsStr) -> bool;
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No entry has this name now.
    NotFound,
    /// The path now leads to an entry of another type, or to another file than the file with the
    /// inode number. The kernel must look the name up again.
    Stale,
    /// The request is about the entries of a directory, but the node is not a directory.
    NotADirectory,
    /// The request is about bytes of a file, but the node is a directory.
    IsADirectory,
    /// The request would write, which is impossible.
    ReadOnly,
    /// The node has no attribute of this name.
    NoAttribute,
    /// The handle is not open.
    BadHandle,
    /// The request is impossible for a node of this kind.
    Invalid,
    /// There is no data or no hole after this offset.
    NoData,
    /// Too many resources are in use for open files, in total or by this caller.
    TooMany,
    /// The file system of the watched tree returned this error.
    Real(Errno),
}

impl Refusal {
    /// Returns the error number for the kernel. The match has no default on purpose, so that a new
    /// refusal must be added here.
    pub fn errno(self) -> i32 {
        let errno = match self {
            Self::NotFound => Errno::NOENT,
            Self::Stale => Errno::STALE,
            Self::NotADirectory => Errno::NOTDIR,
            Self::IsADirectory => Errno::ISDIR,
            Self::ReadOnly => Errno::ROFS,
            Self::NoAttribute => Errno::NODATA,
            Self::BadHandle => Errno::BADF,
            Self::Invalid => Errno::INVAL,
            Self::NoData => Errno::NXIO,
            Self::TooMany => Errno::MFILE,
            // ENOSYS must not reach the kernel, because the kernel would never send this kind of
            // request again.
            Self::Real(Errno::NOSYS) => Errno::IO,
            Self::Real(errno) => errno,
        };
        errno.raw_os_error()
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::NOTDIR => Self::NotADirectory,
            other => Self::Real(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_recent_for_seconds() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now = now.as_secs() as i64;
        for (seconds, is_recent) in [
            (now, true),
            (now - 2, true),
            (now - RECENT - 1, false),
            (i64::MIN, false),
            (now + 100_000, true),
        ] {
            assert_eq!(Time::new(seconds, 0).is_recent(), is_recent, "{seconds}");
        }
    }
}
