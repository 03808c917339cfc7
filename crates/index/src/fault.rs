//! The crate's inner error, without the path of the index and the operation.
//!
//! The public enums of [`crate::error`] are made from it at the boundary, where the path is known.
//! redb promises errors for damaged files, but some make it panic. [`guarded`] turns such a panic
//! into [`Fault::Damaged`], so that no file can crash its reader.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::error::{ApplyError, OpenError, ReadError};

/// An error below a public operation.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file contradicts itself.
    Damaged(String),
    /// The file system failed.
    Io(io::Error),
    /// The index is closed, or unusable after an earlier failure.
    Closed,
}

impl Fault {
    /// Returns the error for a row that does not decode or is missing.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    pub(crate) fn into_read(self, path: &Path) -> ReadError {
        let path = path.to_path_buf();
        match self {
            Self::Damaged(reason) => ReadError::Damaged { path, reason },
            Self::Io(source) => ReadError::Io { path, source },
            Self::Closed => ReadError::Closed { path },
        }
    }

    pub(crate) fn into_apply(self, path: &Path) -> ApplyError {
        let path = path.to_path_buf();
        match self {
            Self::Damaged(reason) => ApplyError::Damaged { path, reason },
            Self::Io(source) if is_full(&source) => ApplyError::DiskFull { path, source },
            Self::Io(source) => ApplyError::Io { path, source },
            Self::Closed => ApplyError::Closed { path },
        }
    }

    pub(crate) fn into_open(self, path: &Path) -> OpenError {
        let path = path.to_path_buf();
        match self {
            Self::Damaged(reason) => OpenError::Damaged { path, reason },
            Self::Io(source) => open_error(path, source),
            Self::Closed => OpenError::Damaged {
                path,
                reason: "it closed itself while being opened".into(),
            },
        }
    }
}

/// Returns the open error for a failed system call.
pub(crate) fn open_error(path: PathBuf, source: io::Error) -> OpenError {
    if is_full(&source) {
        OpenError::DiskFull { path, source }
    } else if matches!(
        source.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    ) {
        OpenError::Permission { path, source }
    } else {
        OpenError::Io { path, source }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Runs `work`. A panic in it becomes [`Fault::Damaged`]: the store has read unexpected bytes.
///
/// `work` must not call functions of the caller, because a panic in these is not damage.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown".into());
        Err(Fault::Damaged(format!("the store failed: {text}")))
    })
}
