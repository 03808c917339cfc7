//! Defines where an index is: in a file or in memory. The place also holds the health of the index.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ApplyError, ReadError};
use crate::fault::Fault;
use crate::health::Health;

/// The place of an index. If `file` is `None`, the index is in memory.
#[derive(Debug, Default)]
pub(crate) struct Place {
    file: Option<PathBuf>,
    pub(crate) health: Arc<Health>,
}

impl Place {
    /// Makes the place of an index in a file.
    pub(crate) fn file(path: &Path, health: Arc<Health>) -> Self {
        Self {
            file: Some(path.to_path_buf()),
            health,
        }
    }

    /// Returns the path of the file. Returns `None` if the index is in memory.
    pub(crate) fn as_file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the path that error messages name.
    pub(crate) fn path(&self) -> &Path {
        self.as_file().unwrap_or(Path::new("(in memory)"))
    }

    /// Returns the number of bytes that the file takes on disk, without parts that were never
    /// written. Returns 0 if the index is in memory.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        match &self.file {
            Some(path) => Ok(std::fs::metadata(path)?.blocks() * 512),
            None => Ok(0),
        }
    }

    /// Converts a fault to the error for a reader. Records the fault if it is damage.
    pub(crate) fn read_error(&self, fault: Fault) -> ReadError {
        self.note(&fault);
        fault.into_read(self.path())
    }

    /// Converts a fault to the error for a writer. Records the fault if it is damage.
    pub(crate) fn apply_error(&self, fault: Fault) -> ApplyError {
        self.note(&fault);
        fault.into_apply(self.path())
    }

    fn note(&self, fault: &Fault) {
        if let Fault::Damaged(reason) = fault {
            self.health.found(reason);
        }
    }
}

/// Renames the file or folder at `path` to `NAME.set-aside`. Returns the new name. A file that was
/// set aside earlier is replaced.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let mut name = OsString::from(path);
    name.push(".set-aside");
    let to = PathBuf::from(name);
    match std::fs::rename(path, &to) {
        // A file cannot replace a folder, and a folder cannot replace a file. So the entry that was
        // set aside earlier is removed first.
        Err(_) if path.symlink_metadata().is_ok() => {
            let removed = std::fs::remove_file(&to).or_else(|_| std::fs::remove_dir(&to));
            removed.and_then(|()| std::fs::rename(path, &to))?;
        }
        renamed => renamed?,
    }
    Ok(to)
}
