//! Nodes: the meaning of inodes of the overlay.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::ident::hash64;

/// A place in the watched tree: the root, and the path below it (empty: the root itself).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) root: usize,
    pub(crate) rel: PathBuf,
}

impl At {
    /// Returns the directory of a root.
    pub(crate) fn root(root: usize) -> Self {
        Self {
            root,
            rel: PathBuf::new(),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.rel.as_os_str().is_empty()
    }

    pub(crate) fn join(&self, name: &OsStr) -> Self {
        Self {
            root: self.root,
            rel: self.rel.join(name),
        }
    }

    /// Returns the directory that holds this place; a root holds itself.
    pub(crate) fn parent(&self) -> Self {
        let rel = self.rel.parent().unwrap_or(Path::new("")).to_owned();
        Self {
            root: self.root,
            rel,
        }
    }

    pub(crate) fn name(&self) -> Option<&OsStr> {
        self.rel.file_name()
    }
}

/// The file or directory whose neighbours a `.similar` shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    File(At),
    Dir(At),
}

impl Subject {
    pub(crate) fn at(&self) -> &At {
        match self {
            Self::File(at) | Self::Dir(at) => at,
        }
    }
}

/// The meaning of an inode. It has everything that a request needs, so no other state is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The directory of the roots, if there are several.
    Top,
    /// A directory of the tree.
    Dir(At),
    /// A file of the tree shown as a folder (folders view).
    Folder(At),
    /// A file of the tree.
    File(At),
    /// A symbolic link of the tree (files view).
    Symlink(At),
    /// `D/.similar` of the files view: the files of D that have neighbours.
    Index(At),
    /// The links to the neighbours of a file or a directory.
    Similar(Subject),
    /// One link to a neighbour.
    Link { of: Subject, target: PathBuf },
    /// A member of an archive that is a neighbour: a file beside the links.
    Member { of: At, path: PathBuf, size: u64 },
    /// The last entry of a truncated listing.
    More(Subject),
    /// `.similar/.why`.
    WhyDir(At),
    /// `.similar/.why/NAME`.
    Why { of: At, target: PathBuf },
    /// `.similar/.report.json`.
    Report(At),
}

impl Node {
    /// Returns a key that distinguishes the kinds in the hash of the inode number. A file that
    /// becomes a directory is a different node with a different number. So is a file that is a
    /// folder in one place and a file in another. A type change under one number looks to the
    /// kernel like a broken file system.
    fn kind_key(&self) -> u64 {
        match self {
            Self::Top => 1,
            Self::Dir(_) => 2,
            Self::Folder(_) => 3,
            Self::File(_) => 4,
            Self::Symlink(_) => 5,
            Self::Index(_) => 6,
            Self::Similar(Subject::File(_)) => 7,
            Self::Similar(Subject::Dir(_)) => 8,
            Self::Link {
                of: Subject::File(_),
                ..
            } => 9,
            Self::Link {
                of: Subject::Dir(_),
                ..
            } => 10,
            Self::WhyDir(_) => 11,
            Self::Why { .. } => 12,
            Self::Report(_) => 13,
            Self::Member { .. } => 14,
            Self::More(Subject::File(_)) => 15,
            Self::More(Subject::Dir(_)) => 16,
        }
    }

    /// Returns its place in the tree.
    pub(crate) fn at(&self) -> Option<&At> {
        match self {
            Self::Top => None,
            Self::Dir(at)
            | Self::Folder(at)
            | Self::File(at)
            | Self::Symlink(at)
            | Self::Index(at)
            | Self::WhyDir(at)
            | Self::Why { of: at, .. }
            | Self::Member { of: at, .. }
            | Self::Report(at) => Some(at),
            Self::Similar(of) | Self::Link { of, .. } | Self::More(of) => Some(of.at()),
        }
    }

    /// Returns the number of this node, unless another node already has it. It is the same after a
    /// restart, because it depends only on paths.
    pub(crate) fn hash(&self, view_key: u64, path: &Path) -> u64 {
        let target = match self {
            Self::Link { target: path, .. }
            | Self::Why { target: path, .. }
            | Self::Member { path, .. } => path.as_os_str().as_bytes(),
            _ => b"",
        };
        hash64(
            (view_key << 8) | self.kind_key(),
            &[path.as_os_str().as_bytes(), target],
        )
    }
}
