//! Where an index is.

use std::os::unix::fs::MetadataExt;
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

    /// Bytes that it takes on disk now, without what was never written of the file; 0 in memory.
    pub(crate) fn bytes(&self) -> std::io::Result<u64> {
        match self {
            Self::File(path) => Ok(std::fs::metadata(path)?.blocks() * 512),
            Self::Memory => Ok(0),
        }
    }
}
