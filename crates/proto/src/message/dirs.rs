//! `dirs`: finds similar directories.

use serde::{Deserialize, Serialize};

use crate::message::{EstimateInterval, Scope};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The request of `dirs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirsRequest {
    /// The files to compare. If `within` is empty, they are those of all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// A directory that must be in each pair.
    pub of: Option<PathText>,
    /// The minimum of the larger containment of a pair. The default is one half.
    pub min: Fraction,
    /// The minimum number of shared bytes of a pair. The default is 256 bytes.
    pub min_shared: Option<u64>,
    /// The maximum number of rows to send.
    pub top: Option<u64>,
    /// The maximum memory to use, in bytes. Data that do not fit are kept on disk.
    pub memory: Option<u64>,
}

/// Two similar directories, neither inside the other.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirRow {
    /// One directory.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The other directory.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The share of the bytes of a's files that is in files of b.
    pub a_in_b: Fraction,
    /// The share of the bytes of b's files that is in files of a.
    pub b_in_a: Fraction,
    /// The shared bytes. Further copies inside one of the directories add nothing.
    pub shared_bytes: u64,
    /// Files below a.
    pub files_a: u64,
    /// Files below b.
    pub files_b: u64,
    /// Bytes below a.
    pub bytes_a: u64,
    /// Bytes below b.
    pub bytes_b: u64,
    /// True if the figures include an estimate of two files; otherwise they were measured. JSON
    /// omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// The intervals of the figures. Absent if the figures include no estimates, or too many of
    /// them. Directories have no resemblance, so both ends of the interval of the resemblance are
    /// `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// True if every file of each directory has an equal file in the other directory. JSON omits
    /// the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
}
