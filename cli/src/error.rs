//! The results of commands.
//!
//! There are only three exit codes. [`Outcome`] is the result of a command that did its work. A
//! [`CliError`] is reported in one sentence, and the exit code is 2. A pipe that its reader closes
//! (`resemble find … | head -1`) is no error. The exit code is then that of the answer.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    /// The expected state holds: something found, live, in sync, done.
    Holds,
    /// The expected state does not hold: nothing found, scanning or degraded, time limit reached.
    DoesNot,
    /// The answer was given, but some files could not be read.
    Incomplete,
}

impl Outcome {
    /// `Holds` if `yes`, else `DoesNot`.
    pub const fn of(yes: bool) -> Self {
        if yes { Self::Holds } else { Self::DoesNot }
    }

    /// Returns `Incomplete` if there were soft errors, for any answer.
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
    /// The question cannot be answered from the files that were read.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// An error of a question that another crate (the laboratory) asks.
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
    /// Links of an engine cannot be read.
    #[error(transparent)]
    Links(#[from] LinkTablesError),
    /// The daemon digests files by rules that this version does not know.
    #[error(transparent)]
    Params(#[from] BadParams),
    /// There is no place for the socket, the state folder or the cache.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file that the command itself needs cannot be used.
    #[error("cannot {verb} {}: {}", quoted(path), reason(source))]
    File {
        /// The verb of the failed operation: `read`, `write` …
        verb: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Standard output cannot be written to.
    #[error("cannot write the output: {}", reason(_0))]
    Output(#[source] io::Error),
}

impl CliError {
    /// Makes an error of a failed operation `verb` on a file.
    pub fn file(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File {
            verb,
            path: path.clone(),
            source,
        }
    }

    /// Returns whether the reader has closed the pipe, which is never reported.
    pub fn is_broken_pipe(&self) -> bool {
        let (Self::Output(error) | Self::File { source: error, .. }) = self else {
            return false;
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}

/// The result of a command.
pub type CliResult<T = Outcome> = Result<T, CliError>;
