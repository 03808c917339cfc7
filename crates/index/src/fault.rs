//! The error type inside this crate. An error names neither the path of the index nor the
//! operation.
//!
//! The public operations know the path, so they convert the error to the enums of [`crate::error`].
//! redb promises to return errors for damaged files, but some files make it panic. [`guarded`]
//! turns such a panic into [`Fault::Damaged`], so that no file can crash a process that reads it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::error::{ApplyError, OpenError, ReadError};

/// An error inside the crate.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The data in the file contradict each other.
    Damaged(String),
    /// The file system failed.
    Io(io::Error),
    /// The index is closed, or unusable after an earlier failure.
    Closed,
}

impl Fault {
    /// Returns the error for a row that is missing or cannot be decoded.
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

/// Returns the error of [`crate::Index::open`] for a failed system call.
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

/// Runs `work`. Returns [`Fault::Damaged`] if `work` panics, because then redb has read unexpected
/// bytes.
///
/// `work` must not call back into the code of a caller, because a panic in that code is not damage.
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
