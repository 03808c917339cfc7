//! Stores data on disk that do not fit into memory.
//!
//! A scratch file has no name ([`tempfile::tempfile_in`]). So nothing is left when the process
//! ends, and no other process can open the file. Its mode allows access only to the owner. Data are
//! only appended, and read by position. So threads can share the file.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ask::AskError;

/// A file without a name, for data that do not fit into memory.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    file: File,
    end: AtomicU64,
}

/// A range of bytes in a scratch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The position of the first byte.
    pub at: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Scratch {
    /// Creates a scratch file in `dir`.
    pub fn new(dir: &Path) -> Result<Self, AskError> {
        let file = tempfile::tempfile_in(dir).map_err(|error| failed(dir, error))?;
        // The call fails on a file system without modes. The failure does no harm, because the file
        // has no name.
        file.set_permissions(Permissions::from_mode(0o600)).ok();
        Ok(Self {
            dir: dir.to_owned(),
            file,
            end: AtomicU64::new(0),
        })
    }

    /// Appends bytes. They are contiguous even if other threads append at the same time.
    pub fn append(&self, bytes: &[u8]) -> Result<Extent, AskError> {
        let len = bytes.len() as u64;
        let at = self.end.fetch_add(len, Ordering::Relaxed);
        self.file
            .write_all_at(bytes, at)
            .map_err(|error| failed(&self.dir, error))?;
        Ok(Extent { at, len })
    }

    /// Fills `into` with the bytes that begin at position `at`.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), AskError> {
        self.file
            .read_exact_at(into, at)
            .map_err(|error| failed(&self.dir, error))
    }

    /// Returns the error that the file has other bytes than those that were written.
    pub fn damaged(&self) -> AskError {
        failed(
            &self.dir,
            io::Error::other("what was written there has changed"),
        )
    }
}

fn failed(dir: &Path, source: io::Error) -> AskError {
    AskError::Scratch {
        dir: dir.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn has_no_name_and_belongs_to_its_owner() {
        let dir = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::new(dir.path()).expect("a file");
        let stat = scratch.file.metadata().expect("a stat");
        assert_eq!((stat.nlink(), stat.mode() & 0o777), (0, 0o600));
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn what_was_appended_is_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::new(dir.path()).expect("a file");
        let first = scratch.append(b"first").expect("written");
        let second = scratch.append(b"second").expect("written");
        let mut bytes = [0; 6];
        scratch.read(second.at, &mut bytes).expect("read");
        assert_eq!((first.len, second.at, &bytes), (5, 5, b"second"));
    }

    #[test]
    fn one_sentence_names_folder_trouble_and_remedy() {
        let gone = Scratch::new(Path::new("/no/such/folder")).expect_err("no folder");
        let said = gone.to_string();
        assert!(
            said.contains("/no/such/folder") && said.contains("No such file"),
            "{said}"
        );
        let full = failed(Path::new("/var/tmp"), rustix::io::Errno::NOSPC.into()).to_string();
        assert!(
            full.contains("No space left") && full.contains("--memory"),
            "{full}"
        );
    }
}
