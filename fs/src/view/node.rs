//! Nodes: each says what an inode of the overlay shows.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::ident::hash64;

/// A place in the watched tree: the number of a root, and the path below that root. The path is
/// empty for the root itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) root: usize,
    pub(crate) rel: PathBuf,
}

impl At {
    /// Returns the place of a root itself.
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

    /// Returns the directory that contains this place. For a root it returns the root itself.
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

/// The file or directory whose neighbours a directory `.similar` lists.
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

/// The file or directory that an inode shows. It has everything that a request needs, so nothing
/// else is stored for an inode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The top of a mount with several roots. Each root appears as a folder in it.
    Top,
    /// A directory of the tree.
    Dir(At),
    /// A file of the tree that is shown as a folder (only in the folders view).
    Folder(At),
    /// A file of the tree.
    File(At),
    /// A symbolic link of the tree (only in the files view).
    Symlink(At),
    /// `D/.similar` in the files view. It lists the files in D that have neighbours.
    Index(At),
    /// The directory that lists the neighbours of a file or directory.
    Similar(Subject),
    /// An entry of [`Self::Similar`] that is a link to a neighbour.
    Link { of: Subject, target: PathBuf },
    /// An entry of [`Self::Similar`] that is a file: a neighbour that is a member of an archive.
    Member { of: At, path: PathBuf, size: u64 },
    /// The last entry of [`Self::Similar`] if not all neighbours are listed.
    More(Subject),
    /// `.similar/.why`.
    WhyDir(At),
    /// `.similar/.why/NAME`.
    Why { of: At, target: PathBuf },
    /// `.similar/.report.json`.
    Report(At),
}

impl Node {
    /// Returns a number for the kind of a node. The inode number is a hash of data that include
    /// this number. So a file that becomes a directory gets another number. A file that is shown as
    /// a folder in one view and as a file in another has two numbers. If the type of a number
    /// changed, the kernel would take the file system for broken.
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

    /// Returns the place in the tree that the node belongs to; `None` for [`Self::Top`].
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

    /// Returns the inode number of this node, unless another node already has that number. The
    /// number depends only on paths, so it is the same after a restart.
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
