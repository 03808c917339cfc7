//! Prints results and messages. All other modules print through this module, except `help`,
//! `relay`, `measure`, `mcp` and the screen.
//!
//! Results go to standard output (or the file of `-o`), everything else to standard error. Only
//! this module treats a terminal differently from a pipe: it quotes names, pads columns, and shows
//! colours and progress.
//!
//! 1. The file of `-o` is created when the first byte is written. That is after the files were
//!    scanned, so the scan does not find it. It gets its name when it is complete (`NewFile`). If a
//!    command fails, the old file stays.
//! 2. Output is buffered, and [`Ui::finish`] flushes it. So a full disk is reported as an error,
//!    and no output is lost without notice.
//! 3. Text from outside never reaches a terminal raw. Names are quoted. In tables and documents,
//!    control characters are spelled out. All text for standard error goes through [`harmless`].

mod pager;
mod progress;
mod spelled;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use resemble_arguments::local_time;
use resemble_arguments::{ColorWhen, Global};
use resemble_proto::message::{SoftError, SoftErrorKind};
use resemble_proto::path::PathText;
use resemble_report::human::counted;
use resemble_report::lines::{TextStyle, TextWriter};
use resemble_report::quote::{harmless, quoted_bytes};
use resemble_report::wrap::wrap;
use rustix::fd::AsFd;

pub use progress::{Progress, ProgressBoard};

pub use resemble_report::lines::{Cell, Tint};

use pager::Pager;
use spelled::Spelled;

use crate::error::{CliError, CliResult, Outcome};
use crate::new_file::NewFile;

/// The width that is assumed if neither `COLUMNS` nor the terminal gives one.
const WIDTH: usize = 80;

/// The maximum number of partly read documents that are listed by name.
const UNREAD: usize = 10;

/// How much is printed on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Talk {
    Errors,
    Notes,
    Details,
}

/// The destination of results.
enum Target {
    Stream(Box<dyn Write>),
    /// The terminal, through a pager if the output is long.
    Paged(Pager),
    File {
        path: PathBuf,
        file: Option<Output>,
    },
}

/// The file of `-o`.
enum Output {
    /// A regular file. It gets its name when it is complete.
    New(NewFile),
    /// A device or a pipe, which is written to directly.
    Open(BufWriter<File>),
}

impl Output {
    fn at(path: &Path) -> CliResult<Self> {
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let file = File::options().write(true).open(path);
            let file = file.map_err(CliError::file("write", path))?;
            return Ok(Self::Open(BufWriter::new(file)));
        }
        NewFile::next_to(path).map(Self::New)
    }

    const fn writer(&mut self) -> &mut BufWriter<File> {
        match self {
            Self::New(file) => file.writer(),
            Self::Open(file) => file,
        }
    }

    /// Completes the file after all output was written to it.
    fn finish(self, path: &Path) -> CliResult<()> {
        match self {
            Self::New(mut file) => {
                file.complete()?;
                file.keep()
            }
            Self::Open(mut file) => file.flush().map_err(CliError::file("write", path)),
        }
    }
}

/// The destination of results (standard output, a pager, or the file of `-o`), and standard error.
#[allow(clippy::struct_excessive_bools)] // facts about two streams, independent of each other
pub struct Ui {
    out: Target,
    err: Box<dyn Write>,
    /// True if results go to standard output, and standard output is a terminal.
    terminal: bool,
    /// Width of that terminal.
    columns: Option<usize>,
    /// Width of the terminal, if standard error goes to a terminal.
    err_columns: Option<usize>,
    err_terminal: bool,
    color: bool,
    talk: Talk,
    /// True if long output may go through a pager.
    may_page: bool,
    /// True if the reader of the output has closed the pipe.
    is_cut: bool,
    /// Messages for standard error that wait until the pager has ended, because the pager would
    /// draw over them.
    after: String,
    /// Shares the current progress with the thread that draws the screen.
    board: Option<ProgressBoard>,
}

impl std::fmt::Debug for Ui {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ui")
            .field("terminal", &self.terminal)
            .finish_non_exhaustive()
    }
}

impl Ui {
    /// Returns a `Ui` that prints to the standard streams of this process.
    pub fn of_process(global: &Global) -> Self {
        let terminal = io::stdout().is_terminal();
        let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = env("NO_COLOR").is_some() || env("TERM").is_some_and(|term| term == "dumb");
        Self {
            out: Target::Stream(Box::new(BufWriter::new(io::stdout()))),
            err: Box::new(io::stderr()),
            terminal,
            columns: columns(io::stdout()),
            err_columns: columns(io::stderr()),
            err_terminal: io::stderr().is_terminal(),
            color: match global.color {
                ColorWhen::Always => true,
                ColorWhen::Never => false,
                ColorWhen::Auto => terminal && !plain,
            },
            talk: match (global.quiet, global.verbose) {
                (true, _) => Talk::Errors,
                (false, false) => Talk::Notes,
                (false, true) => Talk::Details,
            },
            after: String::new(),
            board: None,
            is_cut: false,
            may_page: terminal && !global.no_pager && env("TERM").is_none_or(|term| term != "dumb"),
        }
    }

    /// Returns a `Ui` that prints nothing, because a screen is displayed. `board` shares its
    /// progress displays with that screen.
    pub fn of_screen(board: ProgressBoard) -> Self {
        let sink = || Box::new(io::sink());
        Self {
            out: Target::Stream(sink()),
            err: sink(),
            terminal: false,
            columns: None,
            err_columns: None,
            err_terminal: false,
            color: false,
            talk: Talk::Errors,
            may_page: false,
            is_cut: false,
            after: String::new(),
            board: Some(board),
        }
    }

    /// Sends later output through the user's pager if it is longer than the screen. This has an
    /// effect only if standard output is a terminal.
    pub fn page(&mut self) {
        if self.may_page
            && matches!(self.out, Target::Stream(_))
            && let Some(pager) = Pager::of_terminal()
        {
            self.out = Target::Paged(pager);
        }
    }

    /// Sends results to the file `output`, if there is one. The file is created when the first byte
    /// is written. `-` is standard output.
    pub fn redirect(&mut self, output: Option<&Path>) {
        if let Some(path) = output.filter(|path| *path != Path::new("-")) {
            self.out = Target::File {
                path: path.to_owned(),
                file: None,
            };
            self.terminal = false;
            self.color = false;
        }
    }

    /// Returns whether results go to a terminal.
    pub const fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns whether results are coloured.
    pub const fn has_color(&self) -> bool {
        self.color
    }

    /// Returns whether `-v` was given.
    pub fn is_verbose(&self) -> bool {
        self.talk >= Talk::Details
    }

    /// Returns whether the reader of the output has closed the pipe. A command whose output has no
    /// end stops in that case.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Writes results. If the reader of the output has closed the pipe, further results are
    /// dropped. That is not an error: the exit code is that of the answer.
    pub fn write(&mut self, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> CliResult<()> {
        let written = match &mut self.out {
            Target::Stream(stream) => body(stream).map_err(CliError::Output),
            Target::Paged(pager) => body(pager).map_err(CliError::Output),
            Target::File { path, file } => {
                let failed = CliError::file("write", path);
                let file = match file {
                    Some(file) => file,
                    None => file.insert(Output::at(path)?),
                };
                body(file.writer()).map_err(failed)
            }
        };
        match written {
            Err(error) if error.is_broken_pipe() => {
                self.is_cut = true;
                self.out = Target::Stream(Box::new(io::sink()));
                Ok(())
            }
            written => written,
        }
    }

    /// Writes results for programs, with every byte of a name. On a terminal, which no program
    /// reads, control characters are spelled out.
    pub fn write_data(
        &mut self,
        body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> CliResult<()> {
        if !self.terminal {
            return self.write(body);
        }
        self.write(|out| {
            let mut spelled = Spelled::new(out);
            body(&mut spelled)?;
            spelled.finish()
        })
    }

    /// Flushes the output so far, so that a person who follows it sees every row at once.
    pub fn flush(&mut self) -> CliResult<()> {
        // `write` creates the file of `-o` if it is not there yet. So an answer without rows leaves
        // an empty file.
        self.write(|out| out.flush())
    }

    /// Returns the layout of results: for a terminal or not, coloured or not.
    pub fn style(&self) -> TextStyle {
        TextStyle {
            terminal: self.terminal,
            color: self.color,
            verbose: self.is_verbose(),
            columns: self.columns,
            zone: local_time::zone(),
        }
    }

    /// Returns a name as a cell: quoted on a terminal, raw elsewhere.
    pub fn name(&self, name: &PathText, tint: Tint) -> Cell {
        self.style().name(name, tint)
    }

    /// Prints lines of cells with two blanks between the cells. On a terminal the cells form
    /// columns.
    pub fn lines(&mut self, lines: &[Vec<Cell>], end: u8) -> CliResult<()> {
        self.print(|out| out.lines(lines, end))
    }

    /// Prints text in the style of [`Self::style`].
    pub fn print(
        &mut self,
        body: impl FnOnce(&mut TextWriter<'_>) -> io::Result<()>,
    ) -> CliResult<()> {
        let style = self.style();
        self.write(|out| body(&mut TextWriter::new(out, style)))
    }

    /// Prints a line on standard error, unless `-q` was given.
    pub fn note(&mut self, text: &str) {
        if self.talk >= Talk::Notes {
            self.say(text);
        }
    }

    /// Prints a line on standard error if `-v` was given.
    pub fn detail(&mut self, text: &str) {
        if self.talk >= Talk::Details {
            self.say(text);
        }
    }

    /// Prints the errors of files. Lists only the first of the documents that were read only in
    /// part, because a collection may have thousands.
    pub fn soft_errors(&mut self, errors: &[SoftError]) {
        let mut unread = 0;
        let mut left_out = 0;
        for error in errors {
            let is_named = match error.kind {
                SoftErrorKind::Unread => {
                    unread += 1;
                    unread <= UNREAD || self.is_verbose()
                }
                SoftErrorKind::LeftOut => {
                    left_out += 1;
                    self.is_verbose()
                }
                _ => true,
            };
            if is_named {
                let path = quoted_bytes(error.path.as_bytes());
                self.say(&format!("{path}: {}", error.message));
            }
        }
        if self.is_verbose() {
            return;
        }
        if unread > UNREAD {
            let more = counted((unread - UNREAD) as u64, "more document");
            self.say(&format!("{more} could not be read in full; -v names all"));
        }
        if left_out > 0 {
            let documents = counted(left_out, "document");
            self.note(&format!(
                "of {documents} something is left out on purpose; -v names all"
            ));
        }
    }

    /// Returns a progress display. It appears only if standard error is a terminal, and only after
    /// a second.
    pub fn progress(&self, what: &str) -> Progress {
        self.progress_through(what, Vec::new())
    }

    /// Like [`Self::progress`], for work on all files at and below `paths`. The display also shows
    /// how much of that work is left.
    pub fn progress_through(&self, what: &str, paths: Vec<PathBuf>) -> Progress {
        let is_shown = self.err_terminal && self.talk >= Talk::Notes;
        let progress = Progress::new(what, paths, is_shown);
        if let Some(board) = &self.board {
            board.show(&progress);
        }
        progress
    }

    fn say(&mut self, text: &str) {
        // If standard error is closed, the message is lost.
        let mut line = format!("resemble: {}", harmless(text));
        if let Some(columns) = self.err_columns {
            line = wrap(&line, columns, 0, 2);
        }
        line.push('\n');
        if matches!(self.out, Target::Paged(_)) {
            self.after.push_str(&line);
        } else {
            self.err.write_all(line.as_bytes()).unwrap_or_default();
        }
    }

    /// Flushes the output, prints the error if the command failed, and returns the exit code.
    pub fn finish(&mut self, result: CliResult) -> ExitCode {
        let out = std::mem::replace(&mut self.out, Target::Stream(Box::new(io::sink())));
        let flushed = match out {
            // Even if the command failed, the output so far is printed.
            Target::Stream(mut stream) => stream.flush().map_err(CliError::Output),
            Target::Paged(mut pager) => pager
                .finish(&mut io::stdout().lock())
                .map_err(CliError::Output),
            Target::File {
                path,
                file: Some(file),
            } if result.is_ok() => file.finish(&path),
            Target::File { .. } => Ok(()),
        };
        self.err
            .write_all(self.after.as_bytes())
            .unwrap_or_default();
        let flushed = match flushed {
            Err(error) if error.is_broken_pipe() => Ok(()),
            flushed => flushed,
        };
        match result.and_then(|outcome| flushed.map(|()| outcome)) {
            Ok(outcome) => outcome.into(),
            // clap prints help itself and not through [`Self::write`], so a closed pipe is an error
            // of the command here.
            Err(error) if error.is_broken_pipe() => Outcome::Holds.into(),
            Err(error) => {
                self.say(&error.to_string());
                Outcome::Incomplete.into()
            }
        }
    }
}

/// Returns the width of a terminal. Returns `None` if the stream is no terminal, or if the width is
/// not known.
fn columns(stream: impl AsFd) -> Option<usize> {
    let columns = rustix::termios::tcgetwinsize(stream).ok()?.ws_col;
    (columns > 0).then(|| usize::from(columns))
}

/// Returns the width for two columns: the value of `COLUMNS`, or the width of the terminal, or 80.
/// It is at least 40 and at most 1,000.
pub(crate) fn width() -> usize {
    let variable = std::env::var("COLUMNS").ok();
    let variable = variable.and_then(|value| value.parse().ok());
    variable
        .or_else(|| columns(io::stdout()))
        .filter(|&columns| columns > 0)
        .unwrap_or(WIDTH)
        .clamp(40, 1000)
}

/// Prints a message of clap, and returns the exit code. Help and version go to standard output
/// (exit code 0), and usage errors to standard error (2).
pub fn print_usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if error.use_stderr() {
        return Outcome::Incomplete.into();
    }
    match printed.map_err(CliError::Output) {
        Err(error) if !error.is_broken_pipe() => {
            let text = format!("resemble: {error}\n");
            io::stderr().write_all(text.as_bytes()).unwrap_or_default();
            Outcome::Incomplete.into()
        }
        _ => Outcome::Holds.into(),
    }
}

#[cfg(test)]
#[path = "ui/tests.rs"]
pub(crate) mod tests;
