//! Where an index is.

use std::path::{Path, PathBuf};

/// A file, or nowhere.
#[derive(Debug)]
pub(crate) enum Place {
    File(PathBuf),
    Memory,
}

impl Place {
    /// For messages.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory => Path::new("(in memory)"),
        }
    }

    /// Bytes on disk now; 0 in memory.
    pub(crate) fn bytes(&self) -> std::io::Result<u64> {
        match self {
            Self::File(path) => Ok(std::fs::metadata(path)?.len()),
            Self::Memory => Ok(0),
        }
    }
}
