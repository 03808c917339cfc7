//! Lists directories, and never follows a link out of the tree.
//!
//! A user with write access in a watched tree could replace a directory by a symbolic link between
//! two system calls. So nothing below a root is looked up by its absolute path. An [`Anchor`] is an
//! open root. Everything below it is opened with `openat2`. In this call, the kernel refuses
//! symbolic links, magic links and a `..` that leaves the root. A path that is too long for one
//! call (`PATH_MAX` is 4096) is opened in several pieces of whole components. If `openat2` is
//! missing (a kernel before 5.6, a strict seccomp filter), each piece is one component, opened with
//! `O_NOFOLLOW`.
//!
//! 1. A directory is opened for reading only to list it. The type of each entry is found with
//!    `fstatat`, which does not follow links. Only [`crate::read`] opens files, and it opens only
//!    regular files.
//! 2. An excluded name is dropped after `getdents` and before `fstatat`. A `stat` of our own mount
//!    point would wait for this process, and a `stat` of the mount of a hung server would wait for
//!    ever.
//! 3. `.snapshot` and `.zfs` directories are dropped in the same way, because they have copies of
//!    the tree.
//! 4. If the `stat` of a name fails, the failure is returned in its entry. So the caller can
//!    distinguish a name that is gone from a transient failure.
//! 5. Nothing in this module is recursive. The caller has the stack of directories.

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
    /// The number `st_dev`. It must be compared only with numbers of the same run.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// The type of the entry.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// The number of bytes that the file takes on disk. This is less than the size if the file has
    /// holes.
    pub allocated: u64,
    /// Time of the last change of the bytes.
    pub mtime: Timestamp,
    /// Time of the last change of the inode.
    pub ctime: Timestamp,
    /// Number of hard links.
    pub nlink: u32,
    /// The user id of the owner.
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

    /// Returns the `stat` of a path. Links in the directories above are followed, so the result is
    /// only a hint.
    pub(crate) fn at(path: &Path) -> rustix::io::Result<Self> {
        rustix::fs::lstat(path).map(|stat| Self::new(&stat))
    }

    /// Returns the form in which the index stores this `stat`.
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

    /// Returns whether two `stat`s have the same inode, size and times. Then the bytes are probably
    /// unchanged.
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

/// A directory that stays open. Everything below it is reached from it.
#[derive(Debug)]
pub struct Anchor {
    fd: OwnedFd,
    path: PathBuf,
    stat: Stat,
}

/// The maximum length in bytes of a path in one system call. It is a little less than `PATH_MAX`.
const LONGEST_PIECE: usize = 4000;

/// True after the kernel or a seccomp filter has refused `openat2` as unknown.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

impl Anchor {
    /// Opens the directory at an absolute path, in which no component may be a symbolic link. The
    /// caller has resolved all links before. So a link that is found now was put there meanwhile.
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

    /// Returns the path with which the directory was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the `stat` of the directory when it was opened.
    pub const fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Returns whether the path no longer leads to this directory.
    pub fn was_replaced(&self) -> bool {
        Self::open(&self.path).map_or(true, |now| {
            (now.stat.dev, now.stat.ino) != (self.stat.dev, self.stat.ino)
        })
    }

    /// Opens a path at or below the anchor. `O_NOFOLLOW` and `O_CLOEXEC` are added to the flags.
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

    /// Opens a directory only to look up names in it. This works even if listing the directory is
    /// not permitted.
    pub fn names_of(&self, path: &Path) -> rustix::io::Result<OpenDir> {
        self.open_dir(path, OFlags::PATH)
    }

    fn open_dir(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OpenDir> {
        let fd = self.open_at(path, flags | OFlags::DIRECTORY)?;
        let stat = Stat::of(fd.as_fd())?;
        Ok(OpenDir { fd, stat })
    }
}

/// Opens the path `below`, which is relative to `start`. The path can be empty, or longer than
/// `PATH_MAX`.
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
                // `openat2` was just refused as unknown. So the same path is tried again, component
                // by component.
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

/// Returns the position at which a path is cut, so that its first piece has at most `limit` bytes.
/// A component that is longer than `limit` is a separate piece. Returns `None` if the path need not
/// be cut.
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
    // EAGAIN means that something was renamed while the kernel checked a `..`. EINTR means that a
    // server is slow.
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
    /// The `stat` of the directory.
    pub stat: Stat,
}

/// One name of a listing.
#[derive(Clone, Debug)]
pub struct Found {
    /// The name. It may have any bytes except `/` and NUL.
    pub name: OsString,
    /// The `stat` of the name, or the error with which it failed.
    pub stat: rustix::io::Result<Stat>,
}

impl Found {
    /// Returns whether the name was gone when its `stat` was taken.
    pub const fn is_gone(&self) -> bool {
        matches!(self.stat, Err(Errno::NOENT))
    }
}

impl AsFd for OpenDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The number of bytes of the buffer into which one call reads names.
const LISTING_BUFFER: usize = 64 << 10;

impl OpenDir {
    /// Returns whether the directory has no names. Returns `false` if this is not known. Must not
    /// be combined with a listing of the same [`OpenDir`], because the listing would begin at the
    /// position that this method reached.
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

    /// Lists all names, sorted by their bytes. Leaves out `.`, `..`, directories of snapshots, and
    /// names for which `skip` returns true. If the directory cannot be read completely, the whole
    /// listing fails, because the missing names of a partial listing would look deleted. A name
    /// that is gone before its `lstat` is listed with this failure.
    pub fn list(&self, skip: &dyn Fn(&OsStr) -> bool) -> rustix::io::Result<Vec<Found>> {
        self.listed(false, skip)
    }

    /// Does the same as [`Self::list`], but includes directories of snapshots, for a caller that
    /// needs every name.
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
                // The directory was removed after it was opened, so it has no more names.
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
        // If a directory changes while it is listed, the kernel can return a name twice.
        found.dedup_by(|b, a| a.name == b.name);
        Ok(found)
    }

    /// Opens a name in this directory. `O_NOFOLLOW` and `O_CLOEXEC` are added to the flags. A name
    /// is a single component. So a link that was put in its place cannot lead out of the directory.
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

/// Returns whether a directory with this name has snapshots, which are copies of the tree.
pub fn is_snapshots(name: &OsStr) -> bool {
    matches!(name.as_bytes(), b".snapshot" | b".zfs")
}

/// Returns whether an error means that nothing is at a path, or nothing that this process can see.
/// Any other error (no descriptors left, a disk error, a stale handle) must never be taken as a
/// deletion.
pub fn means_absent(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Returns whether an error means that access is denied.
pub fn means_denied(errno: Errno) -> bool {
    matches!(errno, Errno::ACCESS | Errno::PERM)
}

/// Returns whether an error is transient. Its cause is the system and not the file, so a new
/// attempt can succeed.
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
