//! What could not be looked at, and why there is no answer.

use std::io;

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// A file or directory that could not be looked at. The rest of the answer is valid.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SoftError {
    /// Its path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// What kind of trouble, for scripts.
    pub kind: SoftErrorKind,
    /// What the system said, for people; without the path.
    pub message: String,
}

impl SoftError {
    /// What was there when a question began to look, and could not be opened any more.
    pub fn vanished(path: PathText) -> Self {
        Self {
            path,
            kind: SoftErrorKind::NotFound,
            message: "vanished while it was looked at".to_owned(),
        }
    }

    /// A root that is not there: what is known of it stays.
    pub fn unreachable(root: PathText) -> Self {
        Self {
            path: root,
            kind: SoftErrorKind::Other,
            message: "cannot be reached; what is known of it may be old".to_owned(),
        }
    }

    /// Whether something is missing that should be there.
    pub fn is_trouble(&self) -> bool {
        self.kind != SoftErrorKind::LeftOut
    }

    /// What the system said about a path.
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

/// An error of the system in words, without the number that Rust adds and that helps nobody.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// What kept a file from being looked at.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoftErrorKind {
    /// It does not exist, or vanished while it was looked at.
    NotFound,
    /// It could not be opened or read.
    Unreadable,
    /// It kept changing while it was read.
    Changing,
    /// A document of which something could not be read.
    Unread,
    /// A document of which something is left out on purpose. This is no trouble.
    LeftOut,
    /// The index of a folder is being rebuilt: what was not read yet is missing.
    Rebuilding,
    /// Anything else, and any kind that only a newer server knows.
    #[serde(other)]
    Other,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// For programs.
    pub kind: FailureKind,
    /// One sentence for people, with the remedy where there is one.
    pub message: String,
}

impl Failure {
    /// A failure of this kind.
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
    /// An order that cannot be followed as things are: a root inside a root, a mount point that is
    /// not empty, nothing mounted.
    Refused,
    /// The daemon is about to end.
    ShuttingDown,
    /// Trouble inside: the index cannot be read, the disk is full.
    Internal,
    /// Any kind that only a newer server knows.
    #[serde(other)]
    Other,
}
