//! Copies of the checked files. Each copy is in a folder of its own and has the name of its file.
//! The name decides how a file is unpacked.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use resemble_core::ContentDigest;
use resemble_proto::message::SoftError;
use resemble_proto::path::PathText;

use super::git::WorkTree;
use crate::commands::watch::absolute;
use crate::error::{CliError, CliResult};
use crate::interrupt::{Leftover, uninterrupted};
use crate::names;

/// A file that is about to be written or committed.
pub(super) struct CheckedFile {
    /// The name of the file in rows.
    pub(super) shown: PathText,
    /// The paths where the file is or will be, and the path that it had before a rename. A file
    /// that is found at one of these paths is the checked file itself.
    own: Vec<PathBuf>,
    /// The device and the inode of the file, if it already exists.
    inode: Option<(u64, u64)>,
    /// The path of the copy.
    pub(super) copy: PathBuf,
    /// The digest of the file, once the file was read.
    pub(super) digest: Option<ContentDigest>,
}

/// All checked files.
pub(super) struct CheckedFiles {
    pub(super) files: Vec<CheckedFile>,
    /// The errors of files that cannot be checked.
    pub(super) errors: Vec<SoftError>,
    /// Paths whose present content in the work tree is ignored, because the commit replaces or
    /// removes it. These are the paths of all staged changes.
    pub(super) replaced: Vec<PathBuf>,
    /// The folder of the copies. Only this user can enter it, because a checked file may be
    /// private.
    folder: Leftover,
}

impl CheckedFiles {
    fn new() -> CliResult<Self> {
        let created = Leftover::created(|| {
            let folder = tempfile::Builder::new()
                .prefix("resemble-check-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir()?;
            Ok((folder.keep(), ()))
        });
        let (folder, ()) = created.map_err(CliError::file("write", &std::env::temp_dir()))?;
        Ok(Self {
            files: Vec::new(),
            errors: Vec::new(),
            replaced: Vec::new(),
            folder,
        })
    }

    /// Copies the named files or standard input. `name` is the path to which the content will be
    /// written, if only one file is checked.
    pub(super) fn given(
        files: &[PathBuf],
        name: Option<&Path>,
        tree: Option<&WorkTree>,
    ) -> CliResult<Self> {
        let mut all = Self::new()?;
        for file in files {
            let own = name.unwrap_or(file);
            let place = (own != Path::new("-")).then(|| place_of(own)).transpose()?;
            let copied = open(file).and_then(|mut from| {
                let (to, mut copy) = all.new_copy(own)?;
                io::copy(&mut from, &mut copy)?;
                Ok(to)
            });
            match copied {
                Ok(to) => all.push(shown(own, tree)?, place.into_iter().collect(), to),
                Err(error) => {
                    let error = SoftError::of_io(file.as_path().into(), &error);
                    all.errors.push(error);
                }
            }
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
                let created = all.new_copy(&change.path);
                let (to, copy) = created.map_err(CliError::file("write", all.folder()))?;
                tree.write(blob, copy)?;
                all.push(PathText::from(change.path.as_path()), own, to);
            }
        }
        Ok(all)
    }

    /// Creates the next copy in a folder of its own. Returns its path and the empty file.
    fn new_copy(&self, own: &Path) -> io::Result<(PathBuf, File)> {
        let folder = self.folder().join(self.files.len().to_string());
        let path = folder.join(own.file_name().unwrap_or_default());
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        uninterrupted(|| {
            fs::create_dir_all(&folder)?;
            options.open(&path).map(|file| (path, file))
        })
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

    /// Returns whether a found file is no finding. Such a file is the checked file itself, a file
    /// that is staged or removed, or a copy made here.
    pub(super) fn is_own(&self, number: usize, file: &Path) -> bool {
        let checked = &self.files[number];
        let mut own = checked.own.iter().chain(&self.replaced);
        own.any(|path| path == file)
            || file.starts_with(self.folder())
            || checked.inode.is_some() && checked.inode == inode(file)
    }
}

/// Returns the absolute path of the file that is read or written by this name. Reading and writing
/// follow symbolic links.
fn place_of(own: &Path) -> CliResult<PathBuf> {
    let real = fs::canonicalize(own);
    real.or_else(|_| Ok(absolute(own)?.as_path().to_owned()))
}

/// Returns the name of a checked file in rows. This is its path below the root of the work tree. A
/// file that lies elsewhere keeps the name that the user gave.
fn shown(own: &Path, tree: Option<&WorkTree>) -> CliResult<PathText> {
    let Some(tree) = tree.filter(|_| own != Path::new("-")) else {
        return Ok(own.into());
    };
    let full = absolute(own)?;
    let below = full.as_path().strip_prefix(&tree.0);
    Ok(below.unwrap_or(own).into())
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Opens standard input (`-`) or a regular file. Refuses anything else, because a pipe may never
/// end.
fn open(path: &Path) -> io::Result<Box<dyn io::Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let what = match fs::metadata(path).map_err(|error| names::absent(path, error))? {
        meta if meta.is_file() => return Ok(Box::new(File::open(path)?)),
        meta if meta.is_dir() => "is a directory",
        _ => "is not a regular file",
    };
    Err(io::Error::other(what))
}
