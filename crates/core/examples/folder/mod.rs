//! The files of a folder, for the experiments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the regular files below a folder, in the order of their paths.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    Ok(files)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
