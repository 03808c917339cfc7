//! The watched tree, restricted to the places that one caller may see.
//!
//! A mount of one user shows everything. A mount for all users shows a file only if the caller may
//! open it, and a directory only if the caller may enter it. The kernel decides that at the time of
//! the request. Another file may take the place of the checked file before the open. So the opened
//! file is compared with the checked one. Symbolic links and special files are not shown.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_callers::{AccessCheck, Listable, Seen};
use rustix::fs::{Stat, StatVfs};
use rustix::io::Errno;

use super::node::At;
use super::tree::{RealEntry, RealKind, Tree};

/// The tree, and the access checks of a caller. If `sight` is `None`, everything is visible.
#[derive(Clone, Debug)]
pub(crate) struct SeenTree {
    tree: Arc<Tree>,
    sight: Option<Arc<dyn AccessCheck>>,
}

impl SeenTree {
    /// Creates a tree in which everything is visible.
    pub(crate) fn of(tree: Tree) -> Self {
        Self {
            tree: Arc::new(tree),
            sight: None,
        }
    }

    /// Returns the same tree, restricted by these access checks.
    pub(crate) fn seen_by(&self, sight: Arc<dyn AccessCheck>) -> Self {
        Self {
            tree: Arc::clone(&self.tree),
            sight: Some(sight),
        }
    }

    /// Returns whether the tree is restricted to the places that a caller may see.
    pub(crate) const fn is_partial(&self) -> bool {
        self.sight.is_some()
    }

    fn look(&self, paths: &[PathBuf]) -> Result<Option<Vec<Seen>>, Errno> {
        let Some(sight) = &self.sight else {
            return Ok(None);
        };
        match sight.look(paths) {
            Ok(seen) if seen.len() == paths.len() => Ok(Some(seen)),
            Ok(_) => Err(Errno::IO),
            Err(error) => {
                tracing::warn!(%error, "the access of a caller cannot be checked");
                Err(Errno::IO)
            }
        }
    }

    /// Returns whether the caller may see a path that an answer names.
    pub(crate) fn sees(&self, path: &Path) -> Result<bool, Errno> {
        let seen = self.look(&[path.to_owned()])?;
        Ok(seen.is_none_or(|seen| seen != [Seen::Nothing]))
    }

    /// See [`Tree::stat`].
    pub(crate) fn stat(&self, at: &At) -> Result<(OwnedFd, Stat), Errno> {
        let seen = self.look(&[self.path(at)])?;
        let found = self.tree.stat(at)?;
        match seen.as_deref() {
            None => Ok(found),
            Some([Seen::File(place) | Seen::Folder(place, _)])
                if (place.dev, place.ino) == (found.1.st_dev, found.1.st_ino) =>
            {
                Ok(found)
            }
            Some(_) => Err(Errno::NOENT),
        }
    }

    /// See [`Tree::list`].
    pub(crate) fn list(&self, at: &At) -> Result<Vec<RealEntry>, Errno> {
        let path = self.path(at);
        match self.look(std::slice::from_ref(&path))?.as_deref() {
            None | Some([Seen::Folder(_, Listable(true))]) => {}
            Some([Seen::Nothing]) => return Err(Errno::NOENT),
            Some(_) => return Err(Errno::ACCESS),
        }
        let mut entries = self.tree.list(at)?;
        let paths: Vec<PathBuf> = entries.iter().map(|entry| path.join(&entry.name)).collect();
        if let Some(seen) = self.look(&paths)? {
            let mut seen = seen.into_iter();
            entries.retain(|entry| {
                matches!(
                    (entry.kind, seen.next()),
                    (RealKind::Regular, Some(Seen::File(_)))
                        | (RealKind::Directory, Some(Seen::Folder(..)))
                )
            });
        }
        Ok(entries)
    }

    /// See [`Tree::read_link`].
    pub(crate) fn read_link(&self, at: &At) -> Result<Vec<u8>, Errno> {
        if self.is_partial() {
            return Err(Errno::NOENT);
        }
        self.tree.read_link(at)
    }

    /// Opens a file; `None` if it is no regular file. Also returns its `stat`. See
    /// [`Tree::open_found`].
    pub(crate) fn open_file(&self, at: &At) -> Result<Option<(File, Stat)>, Errno> {
        let found = self.stat(at)?;
        Ok(Tree::open_found(&found)?.map(|file| (file, found.1)))
    }

    /// Returns the sizes of the file system that this place is on.
    pub(crate) fn space(&self, at: &At) -> Result<StatVfs, Errno> {
        rustix::fs::fstatvfs(&self.stat(at)?.0)
    }

    /// Returns a `user.*` attribute of a file or directory.
    pub(crate) fn attribute(&self, at: &At, name: &OsStr) -> Result<Vec<u8>, Errno> {
        Tree::attribute_of(&self.readable(at)?, name)
    }

    /// Returns the names of the `user.*` attributes of a file or directory.
    pub(crate) fn attributes(&self, at: &At) -> Result<Vec<OsString>, Errno> {
        Tree::attributes_of(&self.readable(at)?)
    }

    /// Opens a place that the caller may read, not only enter.
    fn readable(&self, at: &At) -> Result<OwnedFd, Errno> {
        let found = self.stat(at)?;
        match self.look(&[self.path(at)])?.as_deref() {
            None | Some([Seen::File(_) | Seen::Folder(_, Listable(true))]) => Ok(found.0),
            Some(_) => Err(Errno::ACCESS),
        }
    }

    /// See [`Tree::roots`].
    pub(crate) fn roots(&self) -> Vec<(At, OsString)> {
        let mut roots = self.tree.roots();
        let paths: Vec<PathBuf> = roots.iter().map(|(at, _)| self.path(at)).collect();
        match self.look(&paths) {
            Ok(None) => {}
            Ok(Some(seen)) => {
                let mut seen = seen.into_iter();
                roots.retain(|_| matches!(seen.next(), Some(Seen::Folder(..))));
            }
            Err(_) => roots.clear(),
        }
        roots
    }

    /// See [`Tree::set_roots`].
    pub(crate) fn set_roots(&self, paths: &[PathBuf], is_free: &dyn Fn(&OsStr) -> bool) {
        self.tree.set_roots(paths, is_free);
    }

    /// See [`Tree::has_root`].
    pub(crate) fn has_root(&self, at: &At) -> bool {
        self.tree.has_root(at)
    }

    /// See [`Tree::path`].
    pub(crate) fn path(&self, at: &At) -> PathBuf {
        self.tree.path(at)
    }
}
