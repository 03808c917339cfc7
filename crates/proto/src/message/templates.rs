//! `templates`: text that is no evidence because the user says so.

use serde::{Deserialize, Serialize};

use crate::message::Scope;
use crate::number::Fraction;
use crate::path::PathText;

/// `templates mark`: what the members of a cluster, or these files, have in common is a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MarkRequest {
    /// The files, absolute; empty if a cluster is named.
    pub files: Vec<PathText>,
    /// The id of a cluster that `groups` reports for the files of `scope`.
    pub cluster: Option<String>,
    /// Where the cluster is; `within` empty: all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// A piece is part of the template if this share of the files have it; without a share, if all
    /// have it.
    pub share: Fraction,
    /// Its name for people.
    pub name: Option<String>,
}

/// A template. It is also the answer of `mark` and `unmark`: the template that is new, or gone.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRow {
    /// Made from the pieces: the same pieces have the same id.
    pub id: String,
    /// Its name for people. In JSON only if it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many distinct contents it was made of.
    pub files: u64,
    /// The share of these that had to have a piece.
    pub share: Fraction,
    /// The share of their bytes that it takes out.
    pub template: Fraction,
    /// How many chunks it has.
    pub chunks: u64,
    /// Bytes of its chunks, each once.
    pub bytes: u64,
    /// How many fingerprints it has.
    pub fingerprints: u64,
    /// How many runs of five words.
    #[serde(default)]
    pub shingles: u64,
    /// It was made with other parameters of chunking and has no effect. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
}
