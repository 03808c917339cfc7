//! The files that a question is about.

use serde::{Deserialize, Serialize};

use crate::path::PathText;

/// The files that take part in a question. Only they are candidates, and only they count for what
/// is boilerplate. So the daemon's index of more files gives the same answer as the command's own
/// index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Files at or below these paths, absolute. Empty: all roots of the daemon, unless the request
    /// says otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<PathText>,
    /// Only files whose path matches one of these globs; empty: all. Globs are those of ignore
    /// files. They are matched below the path of `within` (or the root) that holds the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Leaves out files whose path matches one of these globs, included or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Only files of at least this many bytes.
    #[serde(default)]
    pub min_size: u64,
}

/// A file identified by `stat`, for two processes on one machine at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
pub struct Inode {
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
}

/// The default of the field `text` of a request.
pub(crate) const fn yes() -> bool {
    true
}
