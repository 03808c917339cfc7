//! Writes files that are either complete or absent.
//!
//! Output is written to a new file next to the named file. When the new file is complete and on the
//! disk, it replaces the named file. So the old file is unchanged if the disk is full.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{CliError, CliResult};
use crate::interrupt::Leftover;

/// The number of the next temporary file of this process, for its name.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A file that replaces another file when it is complete. If it is never completed, it is removed.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// The file under its temporary name.
    temporary: Leftover,
    target: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl NewFile {
    /// Creates a new file that will replace `target`. It has the permissions of `target`.
    pub(crate) fn next_to(target: &Path) -> CliResult<Self> {
        // If `target` is a link, the file that it leads to is replaced. Devices and directories are
        // never replaced.
        let real = fs::canonicalize(target);
        if real.is_err() && target.is_symlink() {
            let source = io::Error::other("it is a link that leads to no file");
            return Err(CliError::file("write", target)(source));
        }
        let target = real.as_deref().unwrap_or(target);
        let before = fs::metadata(target).ok();
        if before.as_ref().is_some_and(|meta| !meta.is_file()) {
            let source = io::Error::other("it exists and is not a regular file");
            return Err(CliError::file("write", target)(source));
        }
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}.{number}.new", std::process::id()));
        let path = target.with_file_name(name);
        let mut options = OpenOptions::new();
        // `create_new` refuses an existing file. So if a caller reads the file back, it reads what
        // this process has written.
        options.write(true).create_new(true);
        let created = Leftover::created(|| options.open(&path).map(|file| (path, file)));
        let created = created.map_err(CliError::file("write", target))?;
        let new = Self::of(created, target.to_owned());
        if let Some(before) = before {
            let set = new.file.get_ref().set_permissions(before.permissions());
            set.map_err(new.fails("write"))?;
        }
        Ok(new)
    }

    /// Creates a file in `folder` that only this user can read. It replaces no other file.
    pub(crate) fn temporary_in(folder: &Path) -> CliResult<Self> {
        let created = Leftover::created(|| {
            let file = tempfile::Builder::new()
                .prefix(".resemble-")
                .tempfile_in(folder)?;
            let (file, path) = file.keep()?;
            Ok((path, file))
        });
        let created = created.map_err(CliError::file("write", folder))?;
        let path = created.0.path().to_owned();
        Ok(Self::of(created, path))
    }

    fn of((temporary, file): (Leftover, File), target: PathBuf) -> Self {
        Self {
            temporary,
            target,
            file: BufWriter::new(file),
            failed: None,
        }
    }

    /// Writes these bytes as the whole file `target`.
    pub(crate) fn put(target: &Path, bytes: &[u8]) -> CliResult<()> {
        let mut file = Self::next_to(target)?;
        file.write(bytes)?;
        file.complete()?;
        file.keep()
    }

    pub(crate) const fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.file
    }

    pub(crate) fn fails(&self, verb: &'static str) -> impl Fn(io::Error) -> CliError + use<> {
        CliError::file(verb, &self.target)
    }

    /// Returns its temporary path.
    pub(crate) fn path(&self) -> &Path {
        self.temporary.path()
    }

    pub(crate) fn write(&mut self, piece: &[u8]) -> CliResult<()> {
        let written = self.file.write_all(piece);
        written.map_err(self.fails("write"))
    }

    /// Writes a piece for a producer that can be stopped but takes no error. If writing fails,
    /// [`Self::complete`] returns the error.
    pub(crate) fn take(&mut self, piece: &[u8]) -> ControlFlow<()> {
        match self.file.write_all(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Writes everything to the disk. Returns the size of the file.
    pub(crate) fn complete(&mut self) -> CliResult<u64> {
        let failed = self.failed.take().map_or(Ok(()), Err);
        let done = failed
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| self.file.get_ref().metadata());
        Ok(done.map_err(self.fails("write"))?.len())
    }

    /// Gives the complete file the name of the file that it replaces.
    pub(crate) fn keep(self) -> CliResult<()> {
        let failed = self.fails("write");
        self.temporary.rename(&self.target).map_err(failed)?;
        // The folder is synchronised as well, because it has the new name. If that fails, the
        // system writes the folder later.
        if let Ok(folder) = File::open(folder_of(&self.target)) {
            folder.sync_all().ok();
        }
        Ok(())
    }
}

/// Returns whether `path` has the name of a temporary file that will replace `target`.
pub(crate) fn is_replacement(path: &Path, target: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes);
    let name = name.and_then(|name| name.strip_prefix(b".")?.strip_suffix(b".new"));
    let numbers = name.and_then(|name| {
        let real = fs::canonicalize(target);
        let target = real.as_deref().unwrap_or(target).file_name()?;
        name.strip_prefix(target.as_bytes())
    });
    let is_of_numbers = |byte: &u8| *byte == b'.' || byte.is_ascii_digit();
    numbers.is_some_and(|numbers| numbers.iter().all(is_of_numbers))
}

/// Returns the parent folder of a path. If the path has no parent, returns `.`, which can be
/// opened.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_temporary_file_is_private_and_does_not_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = NewFile::temporary_in(folder.path()).expect("it is created");
        let meta = fs::metadata(file.path()).expect("a file");
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        drop(file);
        let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn a_link_is_written_through_and_one_that_leads_nowhere_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "before").expect("a file");
        symlink("file", at("link")).expect("a link");
        symlink("gone", at("dangling")).expect("a link");
        NewFile::put(&at("link"), b"after").expect("it is written");
        assert_eq!(fs::read(at("file")).expect("the file"), b"after");
        let refused = NewFile::put(&at("dangling"), b"after").expect_err("it leads nowhere");
        assert!(
            refused.to_string().contains("leads to no file"),
            "{refused}"
        );
        assert!(at("dangling").is_symlink() && !at("gone").exists());
    }
}
