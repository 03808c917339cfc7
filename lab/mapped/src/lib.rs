//! Maps files of our own into memory, for reading.
//!
//! If a mapped file is truncated, the process ends with SIGBUS. If a mapped file is written to,
//! bytes change behind a shared reference. **Watched files are therefore never mapped.** A file may
//! be mapped only under these conditions. [`Mapped::open`] checks the first two:
//!
//! 1. The file is in a folder of our own that no other user can enter (mode 0700). It is a regular
//!    file of our own that only we can write.
//! 2. The file is opened for reading, without following a link.
//! 3. Only one module makes such files. It renames a file to its path when the file is complete and
//!    synced. It never changes or shortens a file afterwards: a new state is a new file. A process
//!    that has a file mapped still sees its old bytes after the file is replaced or removed.
//!
//! The third condition cannot be checked, so the code of this program must ensure it. Therefore
//! this crate has only one function that maps files. Another process could break the condition only
//! if it runs as the same user. Such a process could also write into our memory.

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open, stat};
use thiserror::Error;

/// The reasons why a file cannot be mapped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The file cannot be opened or mapped.
    #[error("cannot map {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Another user could change the file, so it is not mapped.
    #[error("{} is not mapped: {why}; remove it, and it is made again", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The reason why another user could change it.
        why: &'static str,
    },
}

/// A mapped file of this program.
#[derive(Debug)]
pub struct Mapped {
    map: Option<memmap2::Mmap>,
}

impl Mapped {
    /// Maps the file at `path`. This program must have made it under the conditions in the
    /// documentation of this crate.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened, or if another user could change it.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let failed = |source: io::Error| MapError::Io {
            path: path.to_owned(),
            source,
        };
        let not_ours = |why| MapError::NotOurs {
            path: path.to_owned(),
            why,
        };
        let ours = rustix::process::geteuid().as_raw();
        let folder = path.parent().unwrap_or(Path::new("."));
        let folder = stat(folder).map_err(|errno| failed(errno.into()))?;
        if folder.st_uid != ours || folder.st_mode & 0o077 != 0 {
            return Err(not_ours("others may enter its folder"));
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = open(path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let is = fstat(&file).map_err(|errno| failed(errno.into()))?;
        if FileType::from_raw_mode(is.st_mode) != FileType::RegularFile {
            return Err(not_ours("it is not a regular file"));
        }
        if is.st_uid != ours || is.st_mode & 0o022 != 0 {
            return Err(not_ours("others may write to it"));
        }
        if is.st_size == 0 {
            return Ok(Self { map: None });
        }
        let file = File::from(file);
        // SAFETY: the file is regular, ours, and in a folder that only we can enter. This program
        // completes such a file, renames it to its path, and never writes to it or truncates it
        // after that. So nothing changes the bytes or the length while the file is mapped. Removing
        // the name of the file does not change them, either.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(Self { map: Some(map) })
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

/// Makes a folder for files that are to be mapped. The mode of the folder is 0700, whatever the
/// umask is.
///
/// # Errors
///
/// Fails if the folder cannot be made, or if it belongs to another user.
pub fn private_folder(path: &Path) -> Result<(), MapError> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    let failed = |source: io::Error| MapError::Io {
        path: path.to_owned(),
        source,
    };
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed)?;
    let is = fs::symlink_metadata(path).map_err(failed)?;
    if !is.is_dir() || is.uid() != rustix::process::geteuid().as_raw() {
        return Err(MapError::NotOurs {
            path: path.to_owned(),
            why: "it is not our folder",
        });
    }
    if is.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_files_that_nobody_else_can_change_are_mapped() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("own");
        private_folder(&folder).unwrap();
        let file = folder.join("file");
        fs::write(&file, b"some bytes").unwrap();
        assert_eq!(&*Mapped::open(&file).unwrap(), b"some bytes");
        fs::write(folder.join("empty"), b"").unwrap();
        assert!(Mapped::open(&folder.join("empty")).unwrap().is_empty());
        // This process has mapped the file before it is replaced, so it still sees the old bytes.
        let mapped = Mapped::open(&file).unwrap();
        fs::write(folder.join("new"), b"other").unwrap();
        fs::rename(folder.join("new"), &file).unwrap();
        assert_eq!(&*mapped, b"some bytes");

        let refused = |path: &Path| Mapped::open(path).unwrap_err().to_string();
        assert!(refused(&folder.join("none")).contains("cannot map"));
        symlink(&file, folder.join("link")).unwrap();
        assert!(refused(&folder.join("link")).contains("cannot map"));
        let inner = folder.join("inner");
        private_folder(&inner).unwrap();
        assert!(refused(&inner).contains("not a regular file"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(refused(&file).contains("others may write"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(refused(&file).contains("others may enter"));
        private_folder(&folder).unwrap();
        assert!(Mapped::open(&file).is_ok());
    }
}
