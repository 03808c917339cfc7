//! Errors: one enum for each operation, with the path and the remedy in the message.

use std::io;
use std::path::PathBuf;

use resemble_core::Stopped;

/// The reason why an index could not be opened. A damaged index, or a file that is no index, is not
/// an error: it is renamed, and a new index is made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another [`crate::Index`] of this process, has the file open.
    #[error(
        "the index {} is in use by another process; stop it, or name another file",
        path.display()
    )]
    InUse {
        /// The index file.
        path: PathBuf,
    },
    /// The disk or a quota is full.
    #[error("no space left for the index {}; free some and try again", path.display())]
    DiskFull {
        /// The index file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The permission to read or write the file or its folder is missing, or the file system is
    /// read-only.
    #[error(
        "no permission to open the index {}; check the folder's owner and mode",
        path.display()
    )]
    Permission {
        /// The index file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Any other failure of the file system, for example a missing folder.
    #[error("cannot open the index {}: {source}", path.display())]
    Io {
        /// The index file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A damaged file could not be renamed, or the new file could not be used either.
    #[error(
        "the index {} is damaged ({reason}) and could not be replaced; remove it",
        path.display()
    )]
    Damaged {
        /// The index file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
}

/// The reason why a query of a snapshot failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The data in the file contradict each other. As the index holds only derived data, it can be
    /// rebuilt: close it, remove the file, and open it again.
    #[error("the index {} is damaged ({reason}); remove it, it will be rebuilt", path.display())]
    Damaged {
        /// The index file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// The file system failed.
    #[error("cannot read the index {}: {source}", path.display())]
    Io {
        /// The index file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The index was closed, or an earlier write failed. Open it again.
    #[error("the index {} was closed or had a failure before; open it again", path.display())]
    Closed {
        /// The index file.
        path: PathBuf,
    },
    /// It could not be checked which files the peer is allowed to read: see
    /// [`crate::Snapshot::seen_by`].
    #[error("your access to the files could not be checked ({source}); try again")]
    Unchecked {
        /// The reason.
        source: io::Error,
    },
    /// The stop flag of the snapshot was set: see [`crate::Snapshot::with_stop`].
    #[error("the question was cancelled")]
    Stopped,
}

impl From<Stopped> for ReadError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// The reason why a batch was not applied. The index has none of the changes of the batch.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A path of the batch is not absolute, contains `..`, or contradicts its change.
    #[error("bad path {} in a change: {reason}", path.display())]
    BadPath {
        /// The path.
        path: PathBuf,
        /// The fault of the path.
        reason: &'static str,
    },
    /// The disk or a quota is full. The index is as before the batch, but must be opened again.
    #[error("no space left for the index {}; free some and try again", path.display())]
    DiskFull {
        /// The index file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The file system failed. The index is as before the batch, but must be opened again.
    #[error("cannot write the index {}: {source}", path.display())]
    Io {
        /// The index file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The data in the file contradict each other; see [`ReadError::Damaged`].
    #[error("the index {} is damaged ({reason}); remove it, it will be rebuilt", path.display())]
    Damaged {
        /// The index file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// An earlier write failed. Open the index again.
    #[error("the index {} had a failure before; open it again", path.display())]
    Closed {
        /// The index file.
        path: PathBuf,
    },
    /// All ids of one kind are used up: 65,536 for file systems, four billion for other kinds.
    #[error(
        "the index {} has no {what} ids left; remove it, it will be rebuilt",
        path.display()
    )]
    Full {
        /// The index file.
        path: PathBuf,
        /// The kind of id: `content`, `file`, `directory`, `segment` or `file system`.
        what: &'static str,
    },
}

impl From<ReadError> for ApplyError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Damaged { path, reason } => Self::Damaged { path, reason },
            ReadError::Io { path, source } => Self::Io { path, source },
            ReadError::Closed { path } => Self::Closed { path },
            // This cannot happen, because the snapshots of the writer have no stop flag and no
            // peer.
            ReadError::Stopped | ReadError::Unchecked { .. } => Self::Io {
                path: PathBuf::new(),
                source: io::ErrorKind::Interrupted.into(),
            },
        }
    }
}
