//! Reports when contents were first seen.

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// Asks when the contents of files were first seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeenRequest {
    /// The absolute paths.
    pub paths: Vec<PathText>,
}

/// The time and the path of the first sighting of a content, as recorded by the index.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// The time, in seconds since 1970.
    pub time: i64,
    /// The path: the name that the file had at that time, below the present path of its folder. For
    /// a member, the path of its archive.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
}

/// A file whose content has a recorded first sighting. Other files have no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeenRow {
    /// The path in question.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The first sighting of its content.
    pub first_seen: FirstSeen,
}
