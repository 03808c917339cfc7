//! The destination of a catalogue: a file, or standard output.
//!
//! Before a catalogue is sent to a pipe, it is completed and read back. The program that reads the
//! pipe could not undo its work on an incomplete catalogue.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use crate::error::{CliError, CliResult};
use crate::new_file::NewFile;
use crate::ui::Ui;

/// The place to which a catalogue, a delta or a joined catalogue is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination<'a> {
    /// The file at this path. An existing file is replaced.
    File(&'a Path),
    /// Standard output.
    Output,
}

impl<'a> Destination<'a> {
    /// Parses a path. `-` is standard output, which must not be a terminal, because a catalogue is
    /// not text.
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

    /// Returns its name for messages.
    pub(super) fn name(self) -> &'a Path {
        match self {
            Self::File(path) => path,
            Self::Output => Path::new("-"),
        }
    }

    /// Creates a file that will replace the destination. For standard output it is a private
    /// temporary file.
    pub(super) fn begin(self) -> CliResult<NewFile> {
        match self {
            Self::File(path) => NewFile::next_to(path),
            Self::Output => NewFile::temporary_in(&std::env::temp_dir()),
        }
    }

    /// Writes a complete file to the destination.
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
