//! The results of commands.
//!
//! There are only three exit codes. [`Outcome`] is the result of a command that did its work. A
//! [`CliError`] is reported in one sentence, and the exit code is 2. It is no error if the reader
//! of a pipe closes the pipe (`resemble find … | head -1`). The exit code is then that of the
//! answer.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use resemble_arguments::OutputError;
use resemble_catalogue::CatalogueError;
use resemble_proto::client::ClientError;
use resemble_proto::message::{BadParams, reason};
use resemble_proto::pattern::BadPattern;
use resemble_proto::places::PlaceError;
use resemble_query::local::LocalError;
use resemble_query::templates::TemplateError;
use resemble_relate::AskError;
use resemble_report::quote::quoted;
use resemble_tables::{LinkTablesError, TablesError};

/// The result of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The expected state holds. For example, something was found, or the index is in sync.
    Holds,
    /// The expected state does not hold. For example, nothing was found, the daemon still scans or
    /// is degraded, or the time limit was reached.
    DoesNot,
    /// The answer was given, but some files could not be read.
    Incomplete,
}

impl Outcome {
    /// `Holds` if `yes`, else `DoesNot`.
    pub const fn of(yes: bool) -> Self {
        if yes { Self::Holds } else { Self::DoesNot }
    }

    /// Returns `Incomplete` if `some` is true because there were soft errors. Otherwise returns the
    /// outcome as it is.
    #[must_use]
    pub const fn with_errors(self, some: bool) -> Self {
        if some { Self::Incomplete } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Holds => 0u8,
            Outcome::DoesNot => 1,
            Outcome::Incomplete => 2,
        })
    }
}

/// The reason why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Options that contradict each other, or an invalid value.
    #[error("{0}")]
    Usage(String),
    /// A pattern that is not valid.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// No daemon can answer; the sentence names a remedy.
    #[error("{0}")]
    NobodyAnswers(String),
    /// The daemon did not answer, or refused.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// The files cannot be read.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The files were read, but the question cannot be answered from them.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// An error of a question that another crate, such as the laboratory, asks.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// A template cannot be marked, unmarked or listed.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A catalogue cannot be used.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Tables cannot be written.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// The links that an SQL engine has found cannot be read.
    #[error(transparent)]
    Links(#[from] LinkTablesError),
    /// The daemon has parameters of content digests that this version does not know.
    #[error(transparent)]
    Params(#[from] BadParams),
    /// There is no folder that can be used for the socket, the state or the cache.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file that the command itself needs cannot be opened, read or written.
    #[error("cannot {verb} {}: {}", quoted(path), reason(source))]
    File {
        /// The verb of the failed operation: `read`, `write` …
        verb: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Standard output or the terminal cannot be used.
    #[error("cannot write the output: {}", reason(_0))]
    Output(#[source] io::Error),
    /// The reply to a question of the command cannot be read.
    #[error("cannot read standard input: {}", reason(_0))]
    Input(#[source] io::Error),
}

impl From<OutputError> for CliError {
    fn from(refused: OutputError) -> Self {
        Self::Usage(refused.to_string())
    }
}

impl CliError {
    /// Returns a function that makes the error of the failed operation `verb` on a file.
    pub fn file(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File {
            verb,
            path: path.clone(),
            source,
        }
    }

    /// Returns whether the error is a pipe that its reader has closed. Such an error is never
    /// reported.
    pub fn is_broken_pipe(&self) -> bool {
        let (Self::Output(error) | Self::File { source: error, .. }) = self else {
            return false;
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}

/// The result of a command.
pub type CliResult<T = Outcome> = Result<T, CliError>;
