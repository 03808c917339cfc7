//! What can go wrong, one narrow enum per operation, each with the path and the way out.

use std::io;
use std::path::PathBuf;

use resemble_core::Stopped;

/// Why an index could not be opened. A foreign or damaged file is no error: it is set aside.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process (or another [`crate::Index`] of this one) has the file open.
    #[error(
        "the index {} is in use by another process; stop it, or name another file",
        path.display()
    )]
    InUse {
        /// The index file.
        path: PathBuf,
    },
    /// The disk is full (or a quota is used up).
    #[error("no space left for the index {}; free some and try again", path.display())]
    DiskFull {
        /// The index file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file or its folder may not be read or written.
    #[error(
        "no permission to open the index {}; check the folder's owner and mode",
        path.display()
    )]
    Permission {
        /// The index file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Any other failure of the file system; a missing folder is one.
    #[error("cannot open the index {}: {source}", path.display())]
    Io {
        /// The index file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A damaged file could not be moved out of the way, or the fresh one failed at once.
    #[error(
        "the index {} is damaged ({reason}) and could not be replaced; remove it",
        path.display()
    )]
    Damaged {
        /// The index file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
}

/// Why a question to a snapshot has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file's content contradicts itself. The index is derived data: close it and open it
    /// again after removing the file, and everything is read anew.
    #[error("the index {} is damaged ({reason}); remove it, it will be rebuilt", path.display())]
    Damaged {
        /// The index file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file system failed.
    #[error("cannot read the index {}: {source}", path.display())]
    Io {
        /// The index file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The index was closed, or an earlier write failed: open it again.
    #[error("the index {} was closed or had a failure before; open it again", path.display())]
    Closed {
        /// The index file.
        path: PathBuf,
    },
    /// Whether the one who asks may read the files could not be found out: see
    /// [`crate::Snapshot::seen_by`].
    #[error("your access to the files could not be checked ({source}); try again")]
    Unchecked {
        /// Why not.
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

/// Why a batch was not applied. Nothing of it is in the index then.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A path of the batch is not absolute, has `..` in it, or cannot be what the change says.
    #[error("bad path {} in a change: {reason}", path.display())]
    BadPath {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The disk is full. The index is as before the batch, but must be opened again.
    #[error("no space left for the index {}; free some and try again", path.display())]
    DiskFull {
        /// The index file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file system failed. The index is as before the batch, but must be opened again.
    #[error("cannot write the index {}: {source}", path.display())]
    Io {
        /// The index file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file's content contradicts itself; see [`ReadError::Damaged`].
    #[error("the index {} is damaged ({reason}); remove it, it will be rebuilt", path.display())]
    Damaged {
        /// The index file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// An earlier write failed; open the index again.
    #[error("the index {} had a failure before; open it again", path.display())]
    Closed {
        /// The index file.
        path: PathBuf,
    },
    /// Four billion ids of one kind have been given out in the life of this index.
    #[error(
        "the index {} has no {what} ids left; remove it, it will be rebuilt",
        path.display()
    )]
    Full {
        /// The index file.
        path: PathBuf,
        /// `content`, `file`, `directory`, `segment` or `file system`.
        what: &'static str,
    },
}

impl From<ReadError> for ApplyError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Damaged { path, reason } => Self::Damaged { path, reason },
            ReadError::Io { path, source } => Self::Io { path, source },
            ReadError::Closed { path } => Self::Closed { path },
            // Nobody cancels the views that the writer takes for itself, or looks at them with
            // another's eyes.
            ReadError::Stopped | ReadError::Unchecked { .. } => Self::Io {
                path: PathBuf::new(),
                source: io::ErrorKind::Interrupted.into(),
            },
        }
    }
}
