//! Folders that are there for a while.
//!
//! What does not fit into memory, or what processes share, is put into a folder of a random name that only we may enter, in a folder
//! that may be anybody's. It goes with the value, after a failure as well.

use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that goes with this.
#[derive(Debug)]
pub(crate) struct Passing(PathBuf);

impl Passing {
    /// A new one in `place`, mode 0700, its name beginning with `prefix`. Fails with the path of what could not be made.
    pub(crate) fn new(place: &Path, prefix: &str) -> Result<Self, (PathBuf, io::Error)> {
        let path = place.join(format!("{prefix}{}", fresh_name()));
        // Not one that is there already: that would be somebody else's.
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err((path, error)),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "a work folder stays");
        }
    }
}

/// A name that nothing has yet: 16 hex digits.
pub(crate) fn fresh_name() -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{random:016x}")
}
