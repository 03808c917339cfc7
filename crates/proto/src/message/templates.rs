//! `templates`: manages texts that the user declared to be no evidence of resemblance.

use serde::{Deserialize, Serialize};

use crate::message::Scope;
use crate::number::Fraction;
use crate::path::PathText;

/// The request of `templates mark`: makes a template of the common content of a cluster or of these
/// files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MarkRequest {
    /// The absolute paths of the files. This is empty if a cluster is named.
    pub files: Vec<PathText>,
    /// The id of a cluster that `groups` would report for the files in `scope`.
    pub cluster: Option<String>,
    /// The scope of the cluster. If `within` is empty, the scope is all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// The share of the files that must have a piece, so that the piece becomes part of the
    /// template. If the share is absent, all files must have the piece.
    pub share: Fraction,
    /// The name of the template, for people.
    pub name: Option<String>,
}

/// A template. It is also the answer of `mark` and `unmark`: the template that was added or
/// removed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRow {
    /// The id, derived from the pieces: equal pieces have equal ids.
    pub id: String,
    /// Its name for people. JSON omits the field if there is no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of distinct contents that the template was made of.
    pub files: u64,
    /// The minimum share: a piece of the template was in at least this share of these contents.
    pub share: Fraction,
    /// The share of the bytes of these contents that the template removes.
    pub template: Fraction,
    /// The number of its chunks.
    pub chunks: u64,
    /// The bytes of its distinct chunks.
    pub bytes: u64,
    /// The number of its fingerprints.
    pub fingerprints: u64,
    /// The number of its runs of five words.
    #[serde(default)]
    pub shingles: u64,
    /// True if the template has no effect, because it was made with other parameters of chunking.
    /// JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
}
