//! `templates`: text that the user declared to be no evidence.

use serde::{Deserialize, Serialize};

use crate::message::Scope;
use crate::number::Fraction;
use crate::path::PathText;

/// `templates mark`: makes a template of the common content of a cluster or of these files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MarkRequest {
    /// The files, absolute; empty if a cluster is named.
    pub files: Vec<PathText>,
    /// The id of a cluster that `groups` reports for the files of `scope`.
    pub cluster: Option<String>,
    /// The scope of the cluster; `within` empty: all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// A piece is part of the template if this share of the files has it; without a share, if all
    /// have it.
    pub share: Fraction,
    /// Its name for people.
    pub name: Option<String>,
}

/// A template. It is also the answer of `mark` and `unmark`: the template that was added or
/// removed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRow {
    /// The id, derived from the pieces: equal pieces have equal ids.
    pub id: String,
    /// Its name for people. In JSON only if it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of distinct contents that it was made of.
    pub files: u64,
    /// The least share of these that had to have a piece.
    pub share: Fraction,
    /// The share of their bytes that it removes.
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
    /// The template was made with other parameters of chunking and has no effect. In JSON only if
    /// true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
}
