//! Files that are complete, or not there.
//!
//! What is written goes into a new file next to the one that was named, which is replaced only when
//! the new one is complete, on the disk, and has been read back by whoever knows what it is. What
//! goes to standard output is completed first, too: a reader at the other end of a pipe could not
//! be told to forget it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{CliError, CliResult};
use crate::ui::Ui;

/// Tells the files of this process apart.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Where a file goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination<'a> {
    /// To this path, in the place of what is there.
    File(&'a Path),
    /// To standard output.
    Output,
}

impl<'a> Destination<'a> {
    /// `-` is standard output, which must not be a terminal: these files are no text.
    pub(super) fn of(path: &'a Path) -> CliResult<Self> {
        if path != Path::new("-") {
            return Ok(Self::File(path));
        }
        if io::stdout().is_terminal() {
            return Err(CliError::Usage(
                "`-o -` is for a pipe or a file: what it writes is not for a terminal".to_owned(),
            ));
        }
        Ok(Self::Output)
    }

    /// What people call it.
    pub(super) fn name(self) -> &'a Path {
        match self {
            Self::File(path) => path,
            Self::Output => Path::new("-"),
        }
    }

    /// A file that goes there, or helps to make the one that does.
    pub(super) fn begin(self) -> CliResult<NewFile> {
        match self {
            Self::File(path) => NewFile::next_to(path),
            Self::Output => NewFile::next_to(&std::env::temp_dir().join("resemble")),
        }
    }

    /// Puts a complete file there.
    pub(super) fn put(self, ui: &mut Ui, file: NewFile) -> CliResult<()> {
        match self {
            Self::File(_) => file.keep(),
            Self::Output => {
                let mut written = File::open(&file.path).map_err(file.fails("read"))?;
                ui.write(|out| io::copy(&mut written, out).map(drop))
            }
        }
    }
}

/// A file that replaces another once it is complete. If it is never kept, it is removed.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
    target: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
    is_kept: bool,
}

impl NewFile {
    pub(super) fn next_to(target: &Path) -> CliResult<Self> {
        // What a link leads to is replaced, and never a device or a directory.
        let real = fs::canonicalize(target);
        let target = real.as_deref().unwrap_or(target);
        if fs::metadata(target).is_ok_and(|meta| !meta.is_file()) {
            let source = io::Error::other("it exists and is not a regular file");
            return Err(CliError::file("write", target)(source));
        }
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}.{number}.new", std::process::id()));
        let path = target.with_file_name(name);
        let mut options = OpenOptions::new();
        // `create_new`: the file that is read back below is the one that this process wrote.
        let file = options.write(true).create_new(true).open(&path);
        let file = file.map_err(CliError::file("write", target))?;
        Ok(Self {
            path,
            target: target.to_owned(),
            file: BufWriter::new(file),
            failed: None,
            is_kept: false,
        })
    }

    fn fails(&self, verb: &'static str) -> impl Fn(io::Error) -> CliError + use<> {
        CliError::file(verb, &self.target)
    }

    /// Where it is until it is kept.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> CliResult<()> {
        let written = self.file.write_all(piece);
        written.map_err(self.fails("write"))
    }

    /// Writes for whoever can only be told to stop: [`Self::complete`] says why.
    pub(super) fn take(&mut self, piece: &[u8]) -> ControlFlow<()> {
        match self.file.write_all(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// All of it is on the disk; its size.
    pub(super) fn complete(&mut self) -> CliResult<u64> {
        let failed = self.failed.take().map_or(Ok(()), Err);
        let done = failed
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| self.file.get_ref().metadata());
        Ok(done.map_err(self.fails("write"))?.len())
    }

    /// Puts it in its place.
    fn keep(mut self) -> CliResult<()> {
        fs::rename(&self.path, &self.target).map_err(self.fails("write"))?;
        self.is_kept = true;
        let folder = match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The new name goes to the disk, too. Where a folder cannot be synchronised, the system
        // will write it later.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().ok();
        }
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            fs::remove_file(&self.path).ok();
        }
    }
}
