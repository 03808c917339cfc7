//! A temporary folder of a test.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder. It is removed with its content when this value is dropped. Its path contains
/// no symbolic links.
#[derive(Debug)]
pub struct TempTree {
    root: PathBuf,
    _dir: TempDir,
}

impl Default for TempTree {
    fn default() -> Self {
        Self::new()
    }
}

impl TempTree {
    /// Creates an empty folder.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("resemble-test-")
            .tempdir()
            .expect("a temporary folder");
        let root = dir.path().canonicalize().expect("its real path");
        Self { root, _dir: dir }
    }

    /// Creates a folder with these empty subfolders.
    pub fn with_folders(names: &[&str]) -> Self {
        let tree = Self::new();
        for name in names {
            tree.folder(name);
        }
        tree
    }

    /// Returns the path of the folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path in the folder, whether it exists or not.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Creates a folder and the folders above it.
    pub fn folder(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// Writes a file and creates the folders above it.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        self.folder(path.parent().expect("a name in the tree"));
        fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }
}

/// Returns the names in a folder, sorted by their bytes.
#[track_caller]
pub fn names(folder: impl AsRef<Path>) -> Vec<OsString> {
    let mut names: Vec<_> = match fs::read_dir(folder.as_ref()) {
        Ok(entries) => entries.map(|e| e.expect("an entry").file_name()).collect(),
        Err(e) => panic!("{}: {e}", folder.as_ref().display()),
    };
    names.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    names
}
