//! Errors: paths that could not be read, and reasons why there is no answer.

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
    /// The message for people, without the path.
    pub message: String,
}

impl SoftError {
    /// Returns the error for a path that vanished while a question was answered.
    pub fn vanished(path: PathText) -> Self {
        Self {
            path,
            kind: SoftErrorKind::NotFound,
            message: "vanished while it was looked at".to_owned(),
        }
    }

    /// Returns the error for a root that cannot be reached. The index keeps its files.
    pub fn unreachable(root: PathText) -> Self {
        Self {
            path: root,
            kind: SoftErrorKind::Other,
            message: "cannot be reached; what is known of it may be old".to_owned(),
        }
    }

    /// Returns whether the answer may lack content because of this error.
    pub fn is_trouble(&self) -> bool {
        self.kind != SoftErrorKind::LeftOut
    }

    /// Returns the error for a path at which a system call failed.
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

/// Returns the message of a system error without the number that Rust appends.
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
    /// The message for people, in one sentence, with a remedy if there is one.
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
    /// Too many questions are being answered. The client may ask again later.
    Busy,
    /// A path lies under no root.
    NotWatched,
    /// The subject of a `find` is not in the index.
    NotIndexed,
    /// The time limit of a `sync` has passed.
    Timeout,
    /// The present state does not allow the command. Examples are a root inside a root, a mount
    /// point that is not empty, and an unmount without a mount.
    Refused,
    /// The daemon is shutting down.
    ShuttingDown,
    /// An internal error: the index cannot be read, or the disk is full.
    Internal,
    /// Another reason, which only a newer server knows.
    #[serde(other)]
    Other,
}
