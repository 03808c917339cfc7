//! `find --holders`: finds every file that contains a piece of a given file.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::{Inode, Layer, Scope, WireDigest};
use crate::path::{PathText, fields};

/// The request of `find --holders`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoldersRequest {
    /// The digest of the bytes of the file, and then the digest of its text, if it has a text.
    /// These digests have more samples than the digests in the index.
    pub digests: Vec<WireDigest>,
    /// The files to search.
    #[serde(flatten)]
    pub scope: Scope,
    /// The file from which the bytes were read. It is left out of the answer.
    #[serde(default)]
    pub inode: Option<Inode>,
    /// True if every file of the scope is a candidate, even without a chunk or sample of the
    /// subject.
    #[serde(default)]
    pub all: bool,
}

/// The evidence that a file holds a piece of another file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Proof {
    /// Both files were read: they have equal runs of at least 64 bytes.
    Bytes,
    /// The files have common chunks. The number of bytes is a lower bound, and the ranges end at
    /// cut points.
    #[default]
    Chunks,
}

impl Proof {
    /// Returns the word for the evidence in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A file that holds a piece of the file in question. On the wire it is a candidate, and its ranges
/// are those of common chunks, if any.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HolderRow {
    /// The file in question.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The file that holds the piece, or a member of an archive.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The number of bytes of the file in question that the other file holds.
    pub bytes: u64,
    /// The ranges of these bytes in order. Each is the offset of its first byte, and the offset
    /// after its last byte.
    pub ranges: Vec<[u64; 2]>,
    /// The layer of the ranges: the file's bytes or its text.
    pub layer: Layer,
    /// The evidence that the other file holds these bytes.
    pub proof: Proof,
    /// The name of the file's owner, or the owner's number if the owner has no name. `null` if only
    /// a catalogue has the file.
    #[serde(default)]
    pub owner: Option<String>,
    /// The root or catalogue that contains the file.
    pub root: PathText,
    /// The file on disk: `path` without the names inside an archive.
    #[serde(default)]
    pub container: PathText,
}
