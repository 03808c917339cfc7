//! The files that a question is about.

use serde::{Deserialize, Serialize};

use crate::path::PathText;

/// The files that take part in a question. Only these files are candidates, and what is boilerplate
/// also depends only on them. So the daemon, whose index may have more files, gives the same answer
/// as the command with its own index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The absolute paths at or below which the files are. If this is empty, the files are those of
    /// all roots of the daemon, unless the request says otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<PathText>,
    /// The globs of the files that take part. One of the globs must match the path of a file. If
    /// this is empty, all files take part. Globs have the syntax of ignore files. The path of a
    /// file is matched without the path in `within` (or the root) that contains the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// The globs of files that do not take part, even if `include` matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The minimum size of a file in bytes.
    #[serde(default)]
    pub min_size: u64,
}

/// The identity of a file by `stat`. Two processes on one machine can compare it while the file
/// exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
pub struct Inode {
    /// The device, `st_dev`.
    pub dev: u64,
    /// The inode number, `st_ino`.
    pub ino: u64,
}

/// Returns true, which is the default of the field `text` of a request.
pub(crate) const fn yes() -> bool {
    true
}
