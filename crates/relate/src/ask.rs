//! How a question can fail.

use std::io;
use std::path::{Path, PathBuf};

use resemble_core::Stopped;
use resemble_index::ReadError;
use resemble_proto::message::{BadDigest, SoftError, SoftErrorKind, reason};
use resemble_proto::path::PathText;
use resemble_proto::pattern::BadPattern;

use crate::given::GivenError;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(ReadError),
    /// Whoever asked does not want to know any more: the stop flag of the snapshot was set.
    #[error("the question was cancelled")]
    Cancelled,
    /// The file that was asked about cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The index has no such file, or has not read it yet.
    #[error(
        "{} is not in the index (yet): there is no such file, or it was left out",
        .0.display()
    )]
    NotIndexed(PathBuf),
    /// The request holds something that it cannot hold.
    #[error("{0}")]
    BadRequest(String),
    /// A decision that is to be kept cannot be: the sentence says why.
    #[error("{0}")]
    Refused(String),
    /// Only a catalogue has it: see [`resemble_proto::catalogued`].
    #[error("the bytes of {} are not here: only a catalogue has it", path.display())]
    Elsewhere {
        /// As people write it.
        path: PathBuf,
    },
    /// What does not fit into the memory that was given cannot be put on a disk either.
    #[error(
        "cannot put what does not fit into memory into {}: {}; free some space there, name another \
         folder (TMPDIR), or give more memory (--memory)",
        dir.display(),
        reason(source)
    )]
    Scratch {
        /// The directory for scratch files.
        dir: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A pattern of `--include` or `--exclude` is none.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The candidates that were given cannot be used.
    #[error(transparent)]
    Given(#[from] GivenError),
}

impl AskError {
    /// Whether a file was there when the question began, and is not any more.
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

/// Why a file of a catalogue cannot be read, where its name stands in front.
pub(crate) const NOT_HERE: &str = "its bytes are not here: only a catalogue has it";

/// The error row of a file that could not be looked at.
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
