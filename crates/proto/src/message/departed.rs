//! `lost`: the removals that the daemon itself observed.

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// Finds the present places of the former contents of these paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRequest {
    /// The absolute paths.
    pub paths: Vec<PathText>,
}

/// The record of a removed path. An unknown path has no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRow {
    /// The path in question.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// When its removal was observed, in seconds since 1970.
    pub gone: i64,
    /// True if the file was renamed, and may have been edited since; else the places have exactly
    /// its bytes.
    pub renamed: bool,
    /// The present places, by path: files, members of archives, or the renamed directory.
    pub places: Vec<PathText>,
}
