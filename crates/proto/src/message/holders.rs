//! `find --holders`: every file that holds a part of one.

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
    /// Every file of the scope is a candidate.
    #[serde(default)]
    pub all: bool,
}

/// What shows that a file holds a part.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Proof {
    /// Both were read: equal runs of at least 64 bytes.
    Bytes,
    /// Common chunks: a lower bound, and the ranges end at cut points.
    #[default]
    Chunks,
}

impl Proof {
    /// The word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A path that holds a part. On the wire it is a candidate, and the ranges are those of common
/// chunks, if any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HolderRow {
    /// The file that was asked about.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The file that holds it, or the member in it.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Bytes of the file asked about that it holds.
    pub bytes: u64,
    /// Which: from and behind, in order.
    pub ranges: Vec<[u64; 2]>,
    /// Whether the ranges are of the file's bytes or of its text.
    pub layer: Layer,
    /// What shows it.
    pub proof: Proof,
    /// Who owns the file: the name, or the number of one who has none; `null` where only a
    /// catalogue has it.
    #[serde(default)]
    pub owner: Option<String>,
    /// The root or catalogue that it lies under.
    pub root: PathText,
    /// The file on the disk.
    #[serde(default)]
    pub container: PathText,
}
