//! Lists directories without following anything that leads elsewhere.
//!
//! A user who may write in a watched tree may swap a directory for a symbolic link between two
//! calls. So nothing is looked up by an absolute path. An [`Anchor`] is one open root, and
//! everything below it is reached with `openat2`. In one call, the kernel refuses symbolic links,
//! magic links and `..` that leaves the root. A path too long for one call is walked in pieces of
//! whole components (`PATH_MAX` is 4096). Without `openat2` (a kernel before 5.6, a strict seccomp
//! filter) each piece is one component, opened with `O_NOFOLLOW`.
//!
//! 1. Directories are opened for reading only to list them. Their entries are checked with
//!    `fstatat`, which does not follow links. Only [`crate::read`] opens files, and only regular
//!    ones.
//! 2. An excluded name is dropped between `getdents` and `fstatat`. A `stat` of our own mount point
//!    would wait for ourselves, and one of a hung server would wait for ever.
//! 3. `.snapshot` and `.zfs` directories are dropped the same way: they hold copies of the tree.
//! 4. A name that is gone before its `stat` counts as never listed. Any other failure is kept in
//!    the entry, so that the caller can distinguish a missing file from a transient failure.
//! 5. Nothing recurses; the caller keeps the stack.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use resemble_core::ByteLen;
use resemble_index::{FileStat, FsId, SpecialKind, Timestamp};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Dir,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device.
    Special(SpecialKind),
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Dir,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Special(SpecialKind::Fifo),
            FileType::Socket => Self::Special(SpecialKind::Socket),
            FileType::BlockDevice => Self::Special(SpecialKind::Block),
            FileType::CharacterDevice => Self::Special(SpecialKind::Character),
            FileType::Unknown => Self::Special(SpecialKind::Other),
        }
    }
}

/// The fields of `stat` that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// `st_dev`. It may only be compared within one run.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Type.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// The bytes that the file takes on disk; less than its size if it has holes.
    pub allocated: u64,
    /// Last change of the bytes.
    pub mtime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
    /// Number of names.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
}

impl Stat {
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        clippy::cast_lossless
    )]
    fn new(stat: &rustix::fs::Stat) -> Self {
        let time = |secs: i64, nanos: u64| Timestamp {
            secs,
            nanos: nanos as u32,
        };
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            allocated: u64::try_from(stat.st_blocks)
                .unwrap_or(0)
                .saturating_mul(512),
            mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            nlink: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
            uid: stat.st_uid,
        }
    }

    /// Returns the `stat` of an open file or directory.
    pub fn of(fd: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        rustix::fs::fstat(fd).map(|stat| Self::new(&stat))
    }

    /// Returns the `stat` of a path. It is only a hint, because links above the path are followed.
    pub(crate) fn at(path: &Path) -> rustix::io::Result<Self> {
        rustix::fs::lstat(path).map(|stat| Self::new(&stat))
    }

    /// Returns the row for the index.
    pub fn row(&self, fs: FsId) -> FileStat {
        FileStat {
            fs,
            ino: self.ino,
            size: ByteLen(self.size),
            mtime: self.mtime,
            ctime: self.ctime,
            nlink: self.nlink,
        }
    }

    /// Returns whether both `stat`s of one inode agree, so that the bytes are presumably unchanged.
    pub fn unchanged_since(&self, earlier: &Self) -> bool {
        (
            self.dev, self.ino, self.kind, self.size, self.mtime, self.ctime,
        ) == (
            earlier.dev,
            earlier.ino,
            earlier.kind,
            earlier.size,
            earlier.mtime,
            earlier.ctime,
        )
    }
}

/// A directory that stays open; everything below it is reached from here.
#[derive(Debug)]
pub struct Anchor {
    fd: OwnedFd,
    path: PathBuf,
    stat: Stat,
}

/// The longest path in one system call, in bytes: a little less than `PATH_MAX`.
const LONGEST_PIECE: usize = 4000;

/// Set once `openat2` was refused as unknown, by the kernel or by a filter.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

impl Anchor {
    /// Opens the directory at an absolute path that must not contain a symbolic link. The caller
    /// has already resolved the links of the path, so a link found now was swapped in.
    pub fn open(path: &Path) -> rustix::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let slash = rustix::fs::open("/", flags, Mode::empty())?;
        let below = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
        let fd = open_below(slash.as_fd(), below, flags)?;
        let stat = Stat::of(fd.as_fd())?;
        Ok(Self {
            fd,
            path: path.to_owned(),
            stat,
        })
    }

    /// The path where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The `stat` when it was opened.
    pub const fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Returns whether the path no longer leads to this directory.
    pub fn was_replaced(&self) -> bool {
        Self::open(&self.path).map_or(true, |now| {
            (now.stat.dev, now.stat.ino) != (self.stat.dev, self.stat.ino)
        })
    }

    /// Opens a path at or below the anchor; the flags gain `O_NOFOLLOW` and `O_CLOEXEC`.
    pub fn open_at(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let below = path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
        open_below(
            self.fd.as_fd(),
            below,
            flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        )
    }

    /// Returns the `lstat` of a path at or below the anchor.
    pub fn stat_at(&self, path: &Path) -> rustix::io::Result<Stat> {
        if path == self.path {
            return Stat::of(self.fd.as_fd());
        }
        Stat::of(self.open_at(path, OFlags::PATH)?.as_fd())
    }

    /// Returns the raw target of a symbolic link at or below the anchor.
    pub fn read_link(&self, path: &Path) -> rustix::io::Result<Vec<u8>> {
        let link = self.open_at(path, OFlags::PATH)?;
        Ok(rustix::fs::readlinkat(&link, "", Vec::new())?.into_bytes())
    }

    /// Opens a directory to list it.
    pub fn dir(&self, path: &Path) -> rustix::io::Result<OpenDir> {
        self.open_dir(path, OFlags::RDONLY | OFlags::NONBLOCK)
    }

    /// Opens a directory only to look up names in it, even if it may not be listed.
    pub fn names_of(&self, path: &Path) -> rustix::io::Result<OpenDir> {
        self.open_dir(path, OFlags::PATH)
    }

    fn open_dir(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OpenDir> {
        let fd = self.open_at(path, flags | OFlags::DIRECTORY)?;
        let stat = Stat::of(fd.as_fd())?;
        Ok(OpenDir { fd, stat })
    }
}

/// Opens `below` (relative, possibly empty or longer than `PATH_MAX`) beneath `start`.
fn open_below(start: BorrowedFd<'_>, below: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let bytes = below.as_os_str().as_bytes();
    if bytes.is_empty() {
        return open_piece(start, OsStr::new("."), flags);
    }
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here: Option<OwnedFd> = None;
    let mut rest = bytes;
    loop {
        let at = here.as_ref().map_or(start, AsFd::as_fd);
        let one_by_one = NO_OPENAT2.load(Ordering::Relaxed);
        let limit = if one_by_one { 1 } else { LONGEST_PIECE };
        let Some(end) = piece_end(rest, limit) else {
            return match open_piece(at, OsStr::from_bytes(rest), flags) {
                // `openat2` was just refused as unknown: walk the path in single components.
                Err(_) if !one_by_one && NO_OPENAT2.load(Ordering::Relaxed) => continue,
                other => other,
            };
        };
        match open_piece(at, OsStr::from_bytes(&rest[..end]), step) {
            Ok(fd) => {
                here = Some(fd);
                rest = &rest[end + 1..];
            }
            Err(_) if !one_by_one && NO_OPENAT2.load(Ordering::Relaxed) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Returns where to cut a path so that its first piece has at most `limit` bytes. A component
/// longer than that is a piece of its own. `None` if no cut is needed.
fn piece_end(path: &[u8], limit: usize) -> Option<usize> {
    if path.len() <= limit {
        return None;
    }
    let slash = |range: &[u8]| range.iter().rposition(|&byte| byte == b'/');
    slash(&path[..limit]).or_else(|| path.iter().position(|&byte| byte == b'/'))
}

fn open_piece(at: BorrowedFd<'_>, piece: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    if NO_OPENAT2.load(Ordering::Relaxed) {
        return rustix::fs::openat(at, piece, flags, Mode::empty());
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // EAGAIN means that a rename somewhere raced with the check of `..`, EINTR that a server is
    // slow.
    for _ in 0..100 {
        match rustix::fs::openat2(at, piece, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS) => {
                NO_OPENAT2.store(true, Ordering::Relaxed);
                return Err(Errno::NOSYS);
            }
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

impl AsFd for Anchor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// An open directory.
#[derive(Debug)]
pub struct OpenDir {
    fd: OwnedFd,
    /// Its `stat`.
    pub stat: Stat,
}

/// One name of a listing.
#[derive(Clone, Debug)]
pub struct Found {
    /// The name, any bytes but `/` and NUL.
    pub name: OsString,
    /// Its `stat`, or the reason why that failed.
    pub stat: rustix::io::Result<Stat>,
}

impl Found {
    /// Returns whether the name vanished after it was listed.
    pub const fn is_gone(&self) -> bool {
        matches!(self.stat, Err(Errno::NOENT))
    }
}

impl AsFd for OpenDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The number of bytes of names that one call reads.
const LISTING_BUFFER: usize = 64 << 10;

impl OpenDir {
    /// Returns whether the directory has no names; `false` if that is unknown. Must not be combined
    /// with a listing of the same [`OpenDir`], which would begin where this ended.
    pub fn is_empty(&self) -> bool {
        let mut buffer = Vec::with_capacity(1 << 10);
        let mut entries = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    /// Lists all names except `.`, `..`, snapshot directories and those that `skip` selects, sorted
    /// by raw bytes. Any failure fails the listing as a whole, because half a listing would look
    /// like deletions. A name that vanishes before its `lstat` is listed with that failure.
    pub fn list(&self, skip: &dyn Fn(&OsStr) -> bool) -> rustix::io::Result<Vec<Found>> {
        self.listed(false, skip)
    }

    /// Like [`Self::list`], but includes snapshot directories, for a caller that must account for
    /// every name.
    pub fn list_all(&self, skip: &dyn Fn(&OsStr) -> bool) -> rustix::io::Result<Vec<Found>> {
        self.listed(true, skip)
    }

    fn listed(
        &self,
        with_snapshots: bool,
        skip: &dyn Fn(&OsStr) -> bool,
    ) -> rustix::io::Result<Vec<Found>> {
        let mut buffer = Vec::with_capacity(LISTING_BUFFER);
        let mut found = Vec::new();
        let mut entries = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                // The directory was removed after it was opened, so it has no names.
                Err(Errno::NOENT) => break,
                other => other?,
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let snapshots = !with_snapshots
                && is_snapshots(name)
                && matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if matches!(name.as_bytes(), b"." | b"..") || snapshots || skip(name) {
                continue;
            }
            let stat = rustix::fs::statat(&self.fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            let name = OsString::from_vec(name.as_bytes().to_vec());
            found.push(Found {
                name,
                stat: stat.map(|stat| Stat::new(&stat)),
            });
        }
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // A directory that changes while it is listed may give a name twice.
        found.dedup_by(|b, a| a.name == b.name);
        Ok(found)
    }

    /// Opens a name in this directory; the flags gain `O_NOFOLLOW` and `O_CLOEXEC`. A name is a
    /// single component, so no mount or swapped link can lead out of the directory.
    pub fn open_at(&self, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        if name.as_bytes().contains(&b'/') {
            return Err(Errno::XDEV);
        }
        open_below(
            self.fd.as_fd(),
            Path::new(name),
            flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        )
    }

    /// Returns the raw target of a symbolic link in this directory.
    pub fn read_link(&self, name: &OsStr) -> rustix::io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }
}

/// Returns whether a directory of this name holds snapshots, which are copies of the tree.
pub fn is_snapshots(name: &OsStr) -> bool {
    matches!(name.as_bytes(), b".snapshot" | b".zfs")
}

/// Returns whether a failure means that nothing, or nothing visible to us, is at a path. Every
/// other failure (no descriptors left, a disk error, a stale handle) must never count as a
/// deletion.
pub fn means_absent(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Returns whether a failure means that access is denied.
pub fn means_denied(errno: Errno) -> bool {
    matches!(errno, Errno::ACCESS | Errno::PERM)
}

/// Returns whether a failure is transient: it is the system's, not the file's, and worth a retry.
pub fn means_passing(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::MFILE
            | Errno::NFILE
            | Errno::NOMEM
            | Errno::NOBUFS
            | Errno::IO
            | Errno::STALE
            | Errno::AGAIN
            | Errno::INTR
            | Errno::TIMEDOUT
            | Errno::NOTCONN
            | Errno::CONNABORTED
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::REMOTEIO
    )
}

#[cfg(test)]
mod tests;
