//! Where a catalogue goes: to a file, or to standard output.
//!
//! It is complete, and has been read back by whoever knows what it is, before a byte of it goes
//! there: a reader at the other end of a pipe could not be asked to forget it.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use crate::error::{CliError, CliResult};
use crate::new_file::NewFile;
use crate::ui::Ui;

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
                let mut written = File::open(file.path()).map_err(file.fails("read"))?;
                ui.write(|out| io::copy(&mut written, out).map(drop))
            }
        }
    }
}
