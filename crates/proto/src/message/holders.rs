//! `find --holders`: every file that holds a piece of a given one.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::{Inode, Layer, Scope, WireDigest};
use crate::path::{PathText, fields};

/// `find --holders`: the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoldersRequest {
    /// Digests of the bytes of the file and then of its text, if it has one; sampled more finely
    /// than those in the index.
    pub digests: Vec<WireDigest>,
    /// Among which files.
    #[serde(flatten)]
    pub scope: Scope,
    /// The file that the bytes came from: it is left out.
    #[serde(default)]
    pub inode: Option<Inode>,
    /// Whether every file of the scope is a candidate, even without a common chunk or sample.
    #[serde(default)]
    pub all: bool,
}

/// What shows that a file holds a piece of another.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Proof {
    /// Both files were read: they have equal runs of at least 64 bytes.
    Bytes,
    /// The files have common chunks: a lower bound, and the ranges end at cut points.
    #[default]
    Chunks,
}

impl Proof {
    /// The word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A file that holds a piece of the file asked about. On the wire it is a candidate, and its ranges
/// are those of common chunks, if any.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HolderRow {
    /// The file that was asked about.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The file that holds the piece, or a member of an archive.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// How many bytes of the file asked about it holds.
    pub bytes: u64,
    /// Which bytes these are, as ranges in order: the first byte, and the one after the last.
    pub ranges: Vec<[u64; 2]>,
    /// Whether the ranges are of the file's bytes or of its text.
    pub layer: Layer,
    /// What shows that it holds them.
    pub proof: Proof,
    /// The name of the file's owner, or the owner's number if it has no name; `null` if only a
    /// catalogue has the file.
    #[serde(default)]
    pub owner: Option<String>,
    /// The root or catalogue that the file lies under.
    pub root: PathText,
    /// The file on disk: `path` without the names inside an archive.
    #[serde(default)]
    pub container: PathText,
}
