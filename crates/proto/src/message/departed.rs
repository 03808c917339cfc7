//! `lost`: reports the removals that the daemon itself observed.

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// Asks for the present paths of the contents that these paths had before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRequest {
    /// The absolute paths.
    pub paths: Vec<PathText>,
}

/// The record of a removed path. A path without a record has no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRow {
    /// The path in question.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The time at which its removal was observed, in seconds since 1970.
    pub gone: i64,
    /// True if the file was renamed; it may have been edited since. Otherwise the files at `places`
    /// have exactly its bytes.
    pub renamed: bool,
    /// The paths where the content is now, in order: files, members of archives, or the renamed
    /// directory.
    pub places: Vec<PathText>,
    /// For a file that was renamed and then edited: the paths of files and members that have its
    /// bytes from before the edit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<PathText>,
}
