//! Selects the directories to enter when trees are walked for one question without an index.
//!
//! Our own folders, and mounts of processes or of kernel file systems, are left out before any
//! `stat`. A root is always entered, on any file system, because the user named it.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::walk::{Anchor, Found, OpenDir, means_absent};
use resemble_mounts::{FsClass, MountTable, class_of};
use rustix::io::Errno;

/// The device and inode of each directory from the root to the current one. A walk uses the chain
/// to recognise a directory inside itself, which a bind mount can show.
#[derive(Debug)]
pub struct DirChain {
    inode: (u64, u64),
    above: Option<Arc<Self>>,
}

impl DirChain {
    /// Returns the chain that ends with `dir`. `above` is the chain of the directories above it.
    pub const fn of(dir: &OpenDir, above: Option<Arc<Self>>) -> Self {
        Self {
            inode: (dir.stat.dev, dir.stat.ino),
            above,
        }
    }

    fn has(&self, inode: (u64, u64)) -> bool {
        let mut at = Some(self);
        while let Some(chain) = at {
            if chain.inode == inode {
                return true;
            }
            at = chain.above.as_deref();
        }
        false
    }
}

/// The directories that are left out of trees.
#[derive(Debug)]
pub struct Unindexed<'a> {
    mounts: MountTable,
    /// Our own folders.
    exclude: &'a [PathBuf],
}

/// The result of listing a directory.
#[derive(Debug)]
pub enum DirListing {
    /// The open directory, and the names in it.
    Dir(OpenDir, Vec<Found>),
    /// The directory must not be entered.
    LeftOut,
    /// The directory has vanished.
    Gone,
    /// The directory cannot be opened or listed.
    Failed(Errno),
}

impl<'a> Unindexed<'a> {
    /// Reads the present mounts. `exclude` are our own folders.
    pub fn new(exclude: &'a [PathBuf]) -> Self {
        Self {
            mounts: MountTable::load(),
            exclude,
        }
    }

    /// Returns whether a path lies in one of our own folders.
    pub fn is_own(&self, path: &Path) -> bool {
        self.exclude.iter().any(|own| path.starts_with(own))
    }

    /// Opens and lists a directory below the anchor. `above` is the chain of the directories above
    /// this directory, or `None` for the root.
    pub fn list(&self, anchor: &Anchor, path: &Path, above: Option<&DirChain>) -> DirListing {
        let dir = match anchor.dir(path) {
            Ok(dir) => dir,
            Err(errno) if means_absent(errno) => return DirListing::Gone,
            Err(errno) => return DirListing::Failed(errno),
        };
        let inode = (dir.stat.dev, dir.stat.ino);
        let elsewhere = above.is_some_and(|above| above.inode.0 != inode.0);
        let looped = above.is_some_and(|above| above.has(inode));
        let real = || class_of(dir.as_fd()).is_ok_and(|class| class == FsClass::Real);
        if looped || (elsewhere && !real()) {
            return DirListing::LeftOut;
        }
        let mounted = self.mounts.left_out_in(path);
        let own = |name: &OsStr| {
            let mut here = self.exclude.iter().filter(|own| own.parent() == Some(path));
            here.any(|own| own.file_name() == Some(name))
        };
        let skip = |name: &OsStr| mounted.is_some_and(|names| names.contains(name)) || own(name);
        match dir.list(&skip) {
            Ok(found) => DirListing::Dir(dir, found),
            Err(errno) => DirListing::Failed(errno),
        }
    }
}
