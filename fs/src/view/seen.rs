//! The watched tree as one caller sees it: decides whether an entry is there for them.
//!
//! In a mount of one user everything is. In one for all, a place is there for a caller if he could
//! open it (a file) or enter it (a directory), as the kernel decides for him at this moment, and if
//! what was opened for him is the very thing that he could open: somebody may put another file in
//! its place in between. Symbolic links and special files are not there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_callers::{Listable, Seen, Sight};
use rustix::fs::{Stat, StatVfs};
use rustix::io::Errno;

use super::node::At;
use super::tree::{RealEntry, RealKind, Tree};

/// The tree, and whose eyes it is seen with; `None`: everything is seen.
#[derive(Clone, Debug)]
pub(crate) struct SeenTree {
    tree: Arc<Tree>,
    sight: Option<Arc<dyn Sight>>,
}

impl SeenTree {
    /// All of it.
    pub(crate) fn of(tree: Tree) -> Self {
        Self {
            tree: Arc::new(tree),
            sight: None,
        }
    }

    /// The same tree with these eyes.
    pub(crate) fn seen_by(&self, sight: Arc<dyn Sight>) -> Self {
        Self {
            tree: Arc::clone(&self.tree),
            sight: Some(sight),
        }
    }

    /// Whether it is seen with the eyes of somebody who may not see everything.
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

    /// Whether the path that an answer names is there.
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

    /// See [`Tree::open_found`]; and its `stat`.
    pub(crate) fn open_file(&self, at: &At) -> Result<Option<(File, Stat)>, Errno> {
        let found = self.stat(at)?;
        Ok(Tree::open_found(&found)?.map(|file| (file, found.1)))
    }

    /// The figures of the file system that this place is on.
    pub(crate) fn space(&self, at: &At) -> Result<StatVfs, Errno> {
        rustix::fs::fstatvfs(&self.stat(at)?.0)
    }

    /// A `user.*` attribute of a file or directory.
    pub(crate) fn attribute(&self, at: &At, name: &OsStr) -> Result<Vec<u8>, Errno> {
        Tree::attribute_of(&self.readable(at)?, name)
    }

    /// The names of the `user.*` attributes of a file or directory.
    pub(crate) fn attributes(&self, at: &At) -> Result<Vec<OsString>, Errno> {
        Tree::attributes_of(&self.readable(at)?)
    }

    /// A place that may be read, not only entered.
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
