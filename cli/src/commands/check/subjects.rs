//! Copies of the checked files. Each copy is in a folder of its own and has the name of its file,
//! because the name decides how a file is unpacked.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_core::ContentDigest;
use resemble_proto::message::SoftError;
use resemble_proto::path::PathText;
use tempfile::TempDir;

use super::git::WorkTree;
use crate::commands::watch::absolute;
use crate::error::{CliError, CliResult};

/// A file that is about to be written or committed.
pub(super) struct CheckedFile {
    /// Its name in rows.
    pub(super) shown: PathText,
    /// The paths where the file is or will be, and the path that it had before a rename. A file
    /// that is found at one of these paths is the checked file itself.
    own: Vec<PathBuf>,
    /// Device and inode of the file at its path, if it exists.
    inode: Option<(u64, u64)>,
    /// The path of its copy.
    pub(super) copy: PathBuf,
    /// Its digest, once it was read.
    pub(super) digest: Option<ContentDigest>,
}

/// All checked files.
pub(super) struct CheckedFiles {
    pub(super) files: Vec<CheckedFile>,
    /// The errors of files that cannot be checked.
    pub(super) errors: Vec<SoftError>,
    /// Paths whose present content in the work tree is ignored, because the commit replaces or
    /// removes it.
    replaced: Vec<PathBuf>,
    /// The folder of the copies.
    folder: TempDir,
}

impl CheckedFiles {
    fn new() -> CliResult<Self> {
        let folder = tempfile::Builder::new().prefix("resemble-check-").tempdir();
        Ok(Self {
            files: Vec::new(),
            errors: Vec::new(),
            replaced: Vec::new(),
            folder: folder.map_err(CliError::file("write", &std::env::temp_dir()))?,
        })
    }

    /// Copies the named files or standard input. `name` is the path to which the content will be
    /// written, if only one file is checked.
    pub(super) fn given(files: &[PathBuf], name: Option<&Path>) -> CliResult<Self> {
        let mut all = Self::new()?;
        for file in files {
            let own = name.unwrap_or(file);
            let is_stdin = file == Path::new("-");
            let place = (own != Path::new("-")).then(|| place_of(own)).transpose()?;
            let to = all.new_copy(own)?;
            let copied = if is_stdin {
                write_to(&to, &mut io::stdin().lock())
            } else {
                open(file).and_then(|mut file| write_to(&to, &mut file))
            };
            if let Err(error) = copied {
                all.errors
                    .push(SoftError::of_io(file.as_path().into(), &error));
                continue;
            }
            all.push(PathText::from(own), place.into_iter().collect(), to);
        }
        Ok(all)
    }

    /// Copies the staged files.
    pub(super) fn staged(tree: &WorkTree) -> CliResult<Self> {
        let mut all = Self::new()?;
        for change in tree.staged()? {
            let own = change.was.iter().chain([&change.path]);
            let own: Vec<PathBuf> = own.map(|path| tree.0.join(path)).collect();
            all.replaced.extend(own.iter().cloned());
            if let Some(blob) = &change.blob {
                let to = all.new_copy(&change.path)?;
                tree.write(
                    blob,
                    File::create(&to).map_err(CliError::file("write", &to))?,
                )?;
                all.push(PathText::from(change.path.as_path()), own, to);
            }
        }
        Ok(all)
    }

    /// Makes a folder for the next copy, and returns the path of that copy.
    fn new_copy(&self, own: &Path) -> CliResult<PathBuf> {
        let folder = self.folder.path().join(self.files.len().to_string());
        fs::create_dir_all(&folder).map_err(CliError::file("write", &folder))?;
        Ok(folder.join(own.file_name().unwrap_or_default()))
    }

    fn push(&mut self, shown: PathText, own: Vec<PathBuf>, copy: PathBuf) {
        let inode = own.last().and_then(|path| inode(path));
        self.files.push(CheckedFile {
            shown,
            own,
            inode,
            copy,
            digest: None,
        });
    }

    /// The folder of the copies.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the index of the checked file whose copy is at this path.
    pub(super) fn number_of(&self, copy: &Path) -> Option<usize> {
        let below = copy.strip_prefix(self.folder()).ok()?;
        below.iter().next()?.to_str()?.parse().ok()
    }

    /// Returns whether a found file is no finding: it is the checked file itself, it is staged or
    /// removed, or it is one of the copies.
    pub(super) fn is_own(&self, number: usize, file: &Path) -> bool {
        let checked = &self.files[number];
        let mut own = checked.own.iter().chain(&self.replaced);
        own.any(|path| path == file)
            || file.starts_with(self.folder())
            || checked.inode.is_some() && checked.inode == inode(file)
    }
}

/// Returns the absolute path of the file that is read or written by this name. Both follow symbolic
/// links.
fn place_of(own: &Path) -> CliResult<PathBuf> {
    let real = fs::canonicalize(own);
    real.or_else(|_| Ok(absolute(own)?.as_path().to_owned()))
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Opens a regular file and refuses anything else, because a pipe may never end.
fn open(path: &Path) -> io::Result<File> {
    let what = match fs::metadata(path)? {
        meta if meta.is_file() => return File::open(path),
        meta if meta.is_dir() => "is a directory",
        _ => "is not a regular file",
    };
    Err(io::Error::other(what))
}

fn write_to(path: &Path, from: &mut dyn io::Read) -> io::Result<()> {
    io::copy(from, &mut File::create(path)?).map(drop)
}
