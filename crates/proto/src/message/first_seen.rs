//! When contents were first seen.

use serde::{Deserialize, Serialize};

use crate::path::{PathText, fields};

/// When what files have was first seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeenRequest {
    /// Absolute.
    pub paths: Vec<PathText>,
}

/// When and as what a content was first seen, by what the index knows.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// When, in seconds since 1970.
    pub time: i64,
    /// The name that the content had then, in its folder as that is called now. Of a member, the
    /// archive that it lay in.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
}

/// A file of which that is known. A file of which it is not has no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeenRow {
    /// The path that was asked about.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// When and as what its content was first seen.
    pub first_seen: FirstSeen,
}
