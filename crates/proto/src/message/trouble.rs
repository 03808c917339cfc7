//! Errors: the paths that could not be read, and the reasons for a missing answer.

use std::io;

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// A file or directory that could not be read. The rest of the answer is valid.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SoftError {
    /// Its path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The kind of error, for scripts.
    pub kind: SoftErrorKind,
    /// The message of the system, for people; without the path.
    pub message: String,
}

impl SoftError {
    /// Returns the error of a path that vanished during a question.
    pub fn vanished(path: PathText) -> Self {
        Self {
            path,
            kind: SoftErrorKind::NotFound,
            message: "vanished while it was looked at".to_owned(),
        }
    }

    /// Returns the error of an unreachable root, whose indexed files are kept.
    pub fn unreachable(root: PathText) -> Self {
        Self {
            path: root,
            kind: SoftErrorKind::Other,
            message: "cannot be reached; what is known of it may be old".to_owned(),
        }
    }

    /// Returns whether the answer may lack content because of it.
    pub fn is_trouble(&self) -> bool {
        self.kind != SoftErrorKind::LeftOut
    }

    /// Returns the error of the system for a path.
    pub fn of_io(path: PathText, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => SoftErrorKind::NotFound,
            io::ErrorKind::PermissionDenied => SoftErrorKind::Unreadable,
            _ => SoftErrorKind::Other,
        };
        Self {
            path,
            kind,
            message: reason(error),
        }
    }
}

/// Returns an error of the system in words, without the number that Rust adds.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The reason why a file could not be read.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoftErrorKind {
    /// The path does not exist, or vanished while it was read.
    NotFound,
    /// The path could not be opened or read.
    Unreadable,
    /// The file kept changing while it was read.
    Changing,
    /// A document with a part that could not be read.
    Unread,
    /// A document with a part that is left out on purpose. This is no error.
    LeftOut,
    /// The index of a folder is being rebuilt: files that are not read yet are missing.
    Rebuilding,
    /// Any other kind, including those that only a newer server knows.
    #[serde(other)]
    Other,
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind, for programs.
    pub kind: FailureKind,
    /// One sentence for people, with the remedy if there is one.
    pub message: String,
}

impl Failure {
    /// Creates a failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

/// The kinds of [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FailureKind {
    /// The request is not valid.
    BadRequest,
    /// The client has no permission to ask.
    Denied,
    /// Too many questions at once; ask again later.
    Busy,
    /// A path lies under no root.
    NotWatched,
    /// The subject of a find is not in the index.
    NotIndexed,
    /// The time limit of a `sync` has passed.
    Timeout,
    /// A command that cannot be executed in the present state. Examples are a root inside a root, a
    /// mount point that is not empty, or no mount at all.
    Refused,
    /// The daemon is shutting down.
    ShuttingDown,
    /// An internal error: the index cannot be read, or the disk is full.
    Internal,
    /// Any kind that only a newer server knows.
    #[serde(other)]
    Other,
}
