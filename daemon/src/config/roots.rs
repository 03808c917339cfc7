//! Checks which directories can be roots.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use resemble_proto::message::reason;
use resemble_scan::ingest::RootOptions;

/// The reason why a directory cannot be a root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The directory does not exist, or cannot be accessed.
    #[error("cannot watch {}: {}", .path.display(), reason(source))]
    Missing {
        /// The path as given.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The path does not lead to a directory.
    #[error("cannot watch {}: it is not a directory", .path.display())]
    NoDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The directory is a root already.
    #[error("cannot watch {}: it is watched already", .path.display())]
    Twice {
        /// The root.
        path: PathBuf,
    },
    /// The directory lies in another root.
    #[error(
        "cannot watch {}: it lies in {}, which is watched already",
        .inner.display(), .outer.display()
    )]
    Nested {
        /// The folder that was to be watched.
        inner: PathBuf,
        /// The root that contains it.
        outer: PathBuf,
    },
    /// Another root lies in the directory.
    #[error(
        "cannot watch {}: {}, which lies in it, is watched already; `resemble watch remove` of \
         that makes room",
        .outer.display(), .inner.display()
    )]
    Above {
        /// The folder that was to be watched.
        outer: PathBuf,
        /// The root in it.
        inner: PathBuf,
    },
    /// The directory is on a file system that is never entered.
    #[error(
        "cannot watch {}: it is on a file system of type {kind}, which {}",
        .path.display(), .what
    )]
    FileSystem {
        /// The root.
        path: PathBuf,
        /// The type of the file system.
        kind: &'static str,
        /// The reason why such a file system is not entered.
        what: &'static str,
    },
    /// The directory lies in an overlay of resemble.
    #[error("cannot watch {}: it lies in an overlay of resemble", .path.display())]
    Overlay {
        /// The root.
        path: PathBuf,
    },
    /// Another user could replace the directory. System mode does not allow that.
    #[error(
        "cannot watch {}: {} above it {what}, so another folder could be put in its place; in \
         system mode only root and the daemon may",
        .path.display(), .above.display()
    )]
    Loose {
        /// The root.
        path: PathBuf,
        /// The folder above the root that makes this possible.
        above: PathBuf,
        /// The reason why that folder is not safe.
        what: &'static str,
    },
    /// The directory is, or contains, a home directory that the unit of system mode hides.
    #[error(
        "cannot watch {}: it is not there, or hidden by the unit; `systemctl edit \
         resembled-system`, with `[Service]` and `ProtectHome=read-only`, shows what is below \
         /home",
        .path.display()
    )]
    Hidden {
        /// The root, or the hidden path in it.
        path: PathBuf,
    },
    /// The directory lies in our own state folder.
    #[error("cannot watch {}: it is the state folder of this daemon", .path.display())]
    State {
        /// The root.
        path: PathBuf,
    },
}

/// Checks whether a root can be watched, and returns it with the links in its path resolved. A root
/// must be a directory on a file system that is entered. The root must be outside any overlay and
/// the state folder.
pub fn checked_root(root: RootOptions, state: &Path) -> Result<RootOptions, RootError> {
    // This check comes before any access to the path. If the path is in an overlay whose daemon is
    // dead, an access would hang or fail with an unhelpful message.
    if resemble_fs::is_inside_resemble_mount(&root.path) {
        return Err(RootError::Overlay { path: root.path });
    }
    let missing = |source| RootError::Missing {
        path: root.path.clone(),
        source,
    };
    let path = real(&root.path)?;
    if resemble_fs::is_inside_resemble_mount(&path) {
        return Err(RootError::Overlay { path });
    }
    if !fs::metadata(&path).map_err(missing)?.is_dir() {
        return Err(RootError::NoDirectory { path });
    }
    if fs::canonicalize(state).is_ok_and(|state| path.starts_with(state)) {
        return Err(RootError::State { path });
    }
    file_system(&path)?;
    Ok(RootOptions { path, ..root })
}

/// Resolves the symbolic links of a path that must exist.
pub(crate) fn real(path: &Path) -> Result<PathBuf, RootError> {
    fs::canonicalize(path).map_err(|source| RootError::Missing {
        path: path.to_owned(),
        source,
    })
}

/// Refuses a path on a file system that is never entered.
fn file_system(path: &Path) -> Result<(), RootError> {
    use resemble_mounts::{FsClass, class_of};
    use std::os::fd::AsFd;

    let missing = |source| RootError::Missing {
        path: path.to_path_buf(),
        source,
    };
    let dir = fs::File::open(path).map_err(missing)?;
    let class = class_of(dir.as_fd()).map_err(|error| missing(error.into()))?;
    let (kind, what) = match class {
        FsClass::Real => return Ok(()),
        FsClass::Pseudo => ("pseudo", "holds no files of its own"),
        FsClass::Fuse => ("FUSE", "does not report changes"),
    };
    Err(RootError::FileSystem {
        path: path.to_path_buf(),
        kind,
        what,
    })
}

/// Refuses a root that equals, contains or lies in one of the other roots.
pub fn not_nested<'a>(
    root: &Path,
    others: impl Iterator<Item = &'a Path>,
) -> Result<(), RootError> {
    for other in others {
        if root == other {
            return Err(RootError::Twice {
                path: root.to_path_buf(),
            });
        }
        if root.starts_with(other) {
            return Err(RootError::Nested {
                inner: root.to_path_buf(),
                outer: other.to_path_buf(),
            });
        }
        if other.starts_with(root) {
            return Err(RootError::Above {
                outer: root.to_path_buf(),
                inner: other.to_path_buf(),
            });
        }
    }
    Ok(())
}
