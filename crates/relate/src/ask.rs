//! The errors of questions.

use std::io;
use std::path::{Path, PathBuf};

use resemble_core::Stopped;
use resemble_index::ReadError;
use resemble_proto::message::{BadDigest, SoftError, SoftErrorKind, reason};
use resemble_proto::path::PathText;
use resemble_proto::pattern::BadPattern;

use crate::given::ExternalError;

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(ReadError),
    /// The question was cancelled: its stop flag was set.
    #[error("the question was cancelled")]
    Cancelled,
    /// The file that the question is about cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The index does not have the file, or the file was not read yet.
    #[error(
        "{} is not in the index (yet): there is no such file, or it was left out",
        .0.display()
    )]
    NotIndexed(PathBuf),
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// A template cannot be marked. The message has the reason.
    #[error("{0}")]
    Refused(String),
    /// The file is only in a catalogue: see [`resemble_proto::catalogued`].
    #[error("the bytes of {} are not here: only a catalogue has it", path.display())]
    Elsewhere {
        /// The path in the form in which people write it.
        path: PathBuf,
    },
    /// The disk cannot take the data that exceed the memory limit.
    #[error(
        "cannot put what does not fit into memory into {}: {}; free some space there, name another \
         folder (TMPDIR), or give more memory (--memory)",
        dir.display(),
        reason(source)
    )]
    Scratch {
        /// The directory of the temporary files.
        dir: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A pattern of `--include` or `--exclude` is invalid.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The candidate pairs that an external engine found cannot be used.
    #[error(transparent)]
    Given(#[from] ExternalError),
}

impl AskError {
    /// Returns whether the reason for the error is that a file no longer exists.
    pub fn means_vanished(&self) -> bool {
        let Self::Unreadable { source, .. } = self else {
            return false;
        };
        source.kind() == io::ErrorKind::NotFound
    }
}

impl From<ReadError> for AskError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Stopped => Self::Cancelled,
            other => Self::Index(other),
        }
    }
}

impl From<BadDigest> for AskError {
    fn from(error: BadDigest) -> Self {
        Self::BadRequest(error.to_string())
    }
}

impl From<Stopped> for AskError {
    fn from(_: Stopped) -> Self {
        Self::Cancelled
    }
}

/// The reason why a file of a catalogue cannot be read. In messages it follows the name of the
/// file.
pub(crate) const NOT_HERE: &str = "its bytes are not here: only a catalogue has it";

/// Returns the soft error for a file that could not be read.
pub fn soft_error(path: &Path, error: &AskError) -> SoftError {
    let kind = match error {
        AskError::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            SoftErrorKind::NotFound
        }
        AskError::Unreadable { .. } | AskError::Elsewhere { .. } => SoftErrorKind::Unreadable,
        _ => SoftErrorKind::Other,
    };
    let message = match error {
        AskError::Unreadable { source, .. } => reason(source),
        AskError::Elsewhere { .. } => NOT_HERE.to_owned(),
        other => other.to_string(),
    };
    SoftError {
        path: PathText::from(path),
        kind,
        message,
    }
}
