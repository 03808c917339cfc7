//! Reads the watched tree. Each access begins at an open handle of a root, and cannot get out of
//! that root.
//!
//! 1. **Beneath the roots.** Each root is an `O_PATH` handle. Everything else is opened relative to
//!    it with `openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)`. So no
//!    rename and no symbolic link in the tree can lead a request elsewhere.
//! 2. **Never through our own mounts.** Mount points of FUSE and pseudo file systems, and the paths
//!    in `exclude`, are left out before any system call on them. A bind mount of one of our mounts
//!    has another path, so it is recognised by its mount id. The first attempt may not cross a
//!    mount (`RESOLVE_NO_XDEV`). If that attempt fails, a second attempt may cross mounts, and the
//!    mount id of its descriptor is checked.
//! 3. **Never a special file.** A file is found with `O_PATH`, which does not open it. If the
//!    descriptor is of a *regular* file, the file is then opened for reading, through
//!    `/proc/self/fd`.
//! 4. **No trace.** Files are opened with `O_NOATIME` where permitted, so that reads change
//!    nothing.
//! 5. **A root may vanish** (a disk is unplugged, a directory is replaced). If a handle is older
//!    than a second when it is used, it is opened again by path. So a root that returns is found.
//! 6. **Roots change** while the tree is in use. A root that is removed keeps its index in the
//!    list, so an index always means the same root. Until it becomes a root again, no path is found
//!    in it, and its handle is closed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use resemble_mounts::{LiveTable, MountTable};
use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::Errno;

use super::node::At;

/// The age at which the handle of a root is opened again before it is used.
const HANDLE_AGE: Duration = Duration::from_secs(1);

/// The type of an entry of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RealKind {
    Directory,
    Regular,
    Symlink,
    /// A FIFO, socket or device.
    Special,
}

impl RealKind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::Regular,
            FileType::Symlink => Self::Symlink,
            _ => Self::Special,
        }
    }

    pub(crate) fn of_stat(stat: &Stat) -> Self {
        Self::of(FileType::from_raw_mode(stat.st_mode))
    }
}

/// An entry of a real directory.
#[derive(Clone, Debug)]
pub(crate) struct RealEntry {
    pub(crate) name: OsString,
    pub(crate) kind: RealKind,
}

#[derive(Debug)]
struct Root {
    /// The path as it was given. The index and the targets of links have this path.
    path: PathBuf,
    /// The path without symbolic links, with which mount points are compared.
    real: PathBuf,
    /// The name of the root's folder. It is not used if the mount shows the entries of the root
    /// itself.
    name: OsString,
    handle: Mutex<RootHandle>,
}

/// A root. The flag is false if it was removed.
type Slot = (Arc<Root>, bool);

#[derive(Debug)]
struct RootHandle {
    fd: Option<Arc<OwnedFd>>,
    taken: Instant,
}

impl Root {
    fn new(path: PathBuf, name: OsString, mounts: &MountTable) -> Self {
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let fd = take(&real, mounts);
        Self {
            path,
            real,
            name,
            handle: Mutex::new(RootHandle {
                fd,
                taken: Instant::now(),
            }),
        }
    }

    fn fd(&self, mounts: &MountTable) -> Result<Arc<OwnedFd>, Errno> {
        let mut handle = self.handle.lock();
        if handle.taken.elapsed() >= HANDLE_AGE {
            *handle = RootHandle {
                fd: take(&self.real, mounts),
                taken: Instant::now(),
            };
        }
        handle.fd.clone().ok_or(Errno::NOENT)
    }

    fn set_handle(&self, fd: Option<Arc<OwnedFd>>) {
        let taken = Instant::now();
        *self.handle.lock() = RootHandle { fd, taken };
    }
}

/// Opens the directory of a root; `None` if it cannot be opened now, or is in a mount of ours.
fn take(real: &Path, mounts: &MountTable) -> Option<Arc<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let fd = rustix::fs::openat2(CWD, real, flags, Mode::empty(), resolve).ok()?;
    (!mounts.is_fd_ours(&fd)).then(|| Arc::new(fd))
}

/// The watched tree: all roots, and the paths in them that are left out.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The roots by index, including those that were removed. The lock is held only to copy the
    /// list, never during a system call.
    roots: RwLock<Vec<Slot>>,
    exclude: HashSet<PathBuf>,
    mounts: LiveTable,
}

impl Tree {
    /// Creates a tree without roots. `exclude` has absolute paths without symbolic links. These
    /// paths and everything below them are not part of the tree.
    pub(crate) fn new(exclude: impl IntoIterator<Item = PathBuf>) -> std::io::Result<Self> {
        Ok(Self {
            roots: RwLock::default(),
            exclude: exclude.into_iter().collect(),
            mounts: LiveTable::new()?,
        })
    }

    /// Replaces the roots. The name of a new root is the last component of its path (`root` for
    /// `/`). If that name is in use or not free, `~2`, `~3` and so on is added.
    pub(crate) fn set_roots(&self, paths: &[PathBuf], is_free: &dyn Fn(&OsStr) -> bool) {
        let mounts = self.mounts.current();
        let mut roots = self.slots();
        for (root, is_there) in &mut roots {
            let was_there = std::mem::replace(is_there, paths.contains(&root.path));
            match (was_there, *is_there) {
                (true, false) => root.set_handle(None),
                (false, true) => root.set_handle(take(&root.real, &mounts)),
                _ => {}
            }
        }
        for path in paths {
            if roots.iter().any(|(root, _)| root.path == *path) {
                continue;
            }
            let is_taken = |name: &OsStr| roots.iter().any(|(root, _)| root.name == name);
            let base = path.file_name().unwrap_or(OsStr::new("root"));
            let (mut name, mut count) = (base.to_owned(), 1);
            while is_taken(&name) || !is_free(&name) {
                count += 1;
                base.clone_into(&mut name);
                name.push(format!("~{count}"));
            }
            let root = Root::new(path.clone(), name, &mounts);
            roots.push((Arc::new(root), true));
        }
        *self.roots.write() = roots;
    }

    /// Returns the roots that are in use, with the names of their folders.
    pub(crate) fn roots(&self) -> Vec<(At, OsString)> {
        let roots = self.slots().into_iter().enumerate();
        roots
            .filter(|(_, (_, is_there))| *is_there)
            .map(|(number, (root, _))| (At::root(number), root.name.clone()))
            .collect()
    }

    /// Returns whether the root of this place is still in use.
    pub(crate) fn has_root(&self, at: &At) -> bool {
        self.root(at).is_ok()
    }

    fn slots(&self) -> Vec<Slot> {
        self.roots.read().clone()
    }

    /// Returns the path that this place has in the index. The root of the place need not exist any
    /// more.
    pub(crate) fn path(&self, at: &At) -> PathBuf {
        let roots = self.roots.read();
        roots
            .get(at.root)
            .map_or_else(PathBuf::new, |(root, _)| below(&root.path, &at.rel))
    }

    /// Opens a place with `O_PATH`. Returns its descriptor and its `stat`.
    pub(crate) fn stat(&self, at: &At) -> Result<(OwnedFd, Stat), Errno> {
        let fd = self.open(at, OFlags::PATH | OFlags::NOFOLLOW)?;
        let stat = rustix::fs::fstat(&fd)?;
        Ok((fd, stat))
    }

    /// Returns the entries of a directory, without `.` and `..` and without paths that are left
    /// out.
    pub(crate) fn list(&self, at: &At) -> Result<Vec<RealEntry>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let dir = self.open(at, flags | OFlags::NOATIME).or_else(|error| {
            if error == Errno::PERM {
                self.open(at, flags)
            } else {
                Err(error)
            }
        })?;
        let real = below(&self.root(at)?.real, &at.rel);
        let mounts = self.mounts.current();

        let mut entries = Vec::new();
        let mut buffer = Vec::with_capacity(64 << 10);
        let mut raw = RawDir::new(&dir, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || self.left_out(&real.join(name), &mounts) {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not report the types of entries. Calling `stat` is safe,
                // because the path is not left out.
                FileType::Unknown => match self.stat(&at.join(name)) {
                    Ok((_, stat)) => RealKind::of_stat(&stat),
                    Err(_) => continue,
                },
                known => RealKind::of(known),
            };
            entries.push(RealEntry {
                name: name.to_owned(),
                kind,
            });
        }
        Ok(entries)
    }

    /// Returns the path to which a symbolic link leads, as bytes.
    pub(crate) fn read_link(&self, at: &At) -> Result<Vec<u8>, Errno> {
        let fd = self.open(at, OFlags::PATH | OFlags::NOFOLLOW)?;
        rustix::fs::readlinkat(&fd, "", Vec::new()).map(std::ffi::CString::into_bytes)
    }

    /// Opens the result of [`Self::stat`] for reading. If it is not a regular file, it is not
    /// opened, and the result is `None`.
    pub(crate) fn open_found((fd, stat): &(OwnedFd, Stat)) -> Result<Option<File>, Errno> {
        if RealKind::of_stat(stat) != RealKind::Regular {
            return Ok(None);
        }
        let path = proc_path(fd.as_fd());
        // Another process may have a lease on the file. With NONBLOCK, the open then fails with
        // EAGAIN and does not block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let open = |flags| rustix::fs::openat(CWD, &path, flags, Mode::empty());
        let file = match open(flags | OFlags::NOATIME) {
            Err(Errno::PERM) => open(flags), // NOATIME is the owner's right
            other => other,
        }?;
        Ok(Some(File::from(file)))
    }

    /// Returns a `user.*` attribute of a file or directory.
    pub(crate) fn attribute_of(fd: &OwnedFd, name: &OsStr) -> Result<Vec<u8>, Errno> {
        let path = proc_path(fd.as_fd());
        let mut value = vec![0; 64 << 10]; // XATTR_SIZE_MAX
        let length = rustix::fs::getxattr(&path, name, value.as_mut_slice())?;
        value.truncate(length);
        Ok(value)
    }

    /// Returns the names of the `user.*` attributes of a file or directory.
    pub(crate) fn attributes_of(fd: &OwnedFd) -> Result<Vec<OsString>, Errno> {
        let mut list = vec![0; 64 << 10]; // XATTR_LIST_MAX
        let length = rustix::fs::listxattr(proc_path(fd.as_fd()), list.as_mut_slice())?;
        list.truncate(length);
        let names = list
            .split(|&byte| byte == 0)
            .filter(|name| name.starts_with(b"user."));
        Ok(names
            .map(|name| OsString::from_vec(name.to_vec()))
            .collect())
    }

    fn root(&self, at: &At) -> Result<Arc<Root>, Errno> {
        let roots = self.roots.read();
        match roots.get(at.root) {
            Some((root, true)) => Ok(Arc::clone(root)),
            _ => Err(Errno::NOENT),
        }
    }

    fn left_out(&self, real: &Path, mounts: &MountTable) -> bool {
        self.exclude.contains(real) || mounts.is_left_out(real)
    }

    /// Opens a path beneath its root. The path counts as not found in two cases: it leads through a
    /// symbolic link, or the path or its mount is left out.
    fn open(&self, at: &At, flags: OFlags) -> Result<OwnedFd, Errno> {
        let root = self.root(at)?;
        let mounts = self.mounts.current();
        let real = below(&root.real, &at.rel);
        // The root itself is never left out, because the user requested it, whatever its file
        // system is.
        let inner = real.ancestors().take_while(|path| *path != root.real);
        if inner.into_iter().any(|path| self.left_out(path, &mounts)) {
            return Err(Errno::NOENT);
        }
        let top = root.fd(&mounts)?;
        let rel = if at.rel.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &at.rel
        };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match resolved(&top, rel, flags, resolve | ResolveFlags::NO_XDEV) {
            Err(Errno::XDEV) => {
                let fd = resolved(&top, rel, flags, resolve)?;
                if mounts.is_fd_left_out(&fd) {
                    Err(Errno::NOENT)
                } else {
                    Ok(fd)
                }
            }
            Err(Errno::LOOP) => Err(Errno::NOENT),
            other => other,
        }
    }
}

/// Calls `openat2`. If a rename or a signal interferes, calls it again, as the kernel requires.
fn resolved(
    top: &OwnedFd,
    rel: &Path,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    for _ in 0..16 {
        match rustix::fs::openat2(top, rel, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::IO)
}

/// Joins the paths, but returns `top` unchanged if `rel` is empty. `Path::join` would add a slash.
fn below(top: &Path, rel: &Path) -> PathBuf {
    if rel.as_os_str().is_empty() {
        top.to_owned()
    } else {
        top.join(rel)
    }
}

fn proc_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
