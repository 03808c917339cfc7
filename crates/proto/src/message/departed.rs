//! `lost`: what the daemon itself saw go.

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// Where what was at these paths went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRequest {
    /// Absolute.
    pub paths: Vec<PathText>,
}

/// What is known of a path that went. A path of which nothing is known has no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartedRow {
    /// The path that was asked about.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// When it was seen that it went, in seconds since 1970.
    pub gone: i64,
    /// It was renamed, and may have been edited since; else the places have just its bytes.
    pub renamed: bool,
    /// Where it is now, by path: files, members of archives, or the directory that it is.
    pub places: Vec<PathText>,
}
