//! The answer to `why`: where two files agree and differ.
//!
//! It is not part of the conversation with the daemon, because the command reads the two files
//! itself. It is here because it is printed like the other documents.

use resemble_core::Relation;
use serde::{Deserialize, Serialize};

use crate::message::figures::relation_word;
use crate::message::{Layer, MeasureUnit};
use crate::number::Fraction;
use crate::path::PathText;

/// The `parameters` of a why document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhyParameters {
    /// One file, as named.
    pub a: PathText,
    /// The other.
    pub b: PathText,
    /// Whether the ranges that differ are left out.
    pub matches_only: bool,
    /// The id of chunking and sampling, which decides the ranges of files too large to compare to
    /// the byte.
    pub params: String,
}

/// The fields before the lists.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyTotals {
    /// How the files relate; `null`: not at all, or too little.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// What the shares are of.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// How much of a is in b.
    pub a_in_b: Fraction,
    /// How much of b is in a.
    pub b_in_a: Fraction,
    /// Shared over union.
    pub resemblance: Fraction,
    /// Bytes of the smaller file in shared runs.
    pub shared_bytes: u64,
    /// Bytes of a.
    pub size_a: u64,
    /// Bytes of b.
    pub size_b: u64,
    /// Whether both were compared byte by byte; otherwise the ranges are those of common chunks.
    pub exact: bool,
    /// Whether both are text: then ranges have lines.
    pub text: bool,
    /// What all figures and ranges are about: the bytes of the files, or the texts that stand for
    /// them.
    #[serde(default)]
    pub layer: Layer,
    /// `only in numbers`, if the texts differ in nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differs>,
    /// How many numbers differ, if they differ only in those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
    /// Bytes of a that b has nowhere.
    pub differing_bytes_a: u64,
    /// Bytes of b that a has nowhere.
    pub differing_bytes_b: u64,
}

/// How two texts differ, in words.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Differs {
    /// Both have the same words in the same places.
    #[serde(rename = "only in numbers")]
    OnlyInNumbers,
}

/// A number of a and what b has in its place.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedNumber {
    /// In a.
    pub a: String,
    /// In b.
    pub b: String,
}

/// A range of both files with the same bytes. Offsets count from 0, and the end is not part of the
/// range; lines count from 1, and are the first and the last one; `null` if the files have no
/// lines.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyRange {
    /// Bytes of a.
    pub a: [u64; 2],
    /// Bytes of b.
    pub b: [u64; 2],
    /// Lines of a.
    pub lines_a: Option<[u64; 2]>,
    /// Lines of b.
    pub lines_b: Option<[u64; 2]>,
    /// `in-order`, `moved`, or `again`, which is a range that one file has more often than the
    /// other.
    #[serde(default)]
    pub placing: String,
}

/// A range of one file that the other has nowhere.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyStretch {
    /// Bytes.
    pub range: [u64; 2],
    /// Lines.
    pub lines: Option<[u64; 2]>,
}

/// A member of one archive, and the member of the other that has something of it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyMember {
    /// The names that lead to the member of a; empty: the text of a mail, or a file that is no
    /// archive; `null`: there is none.
    pub a: Option<PathText>,
    /// The same in b.
    pub b: Option<PathText>,
    /// How the two relate; `null`: not at all, or one is missing.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// What the shares are of.
    pub unit: MeasureUnit,
    /// How much of the one is in the other.
    pub a_in_b: Fraction,
    /// How much of the other is in the one.
    pub b_in_a: Fraction,
    /// Bytes of the member of a.
    pub size_a: Option<u64>,
    /// Bytes of the member of b.
    pub size_b: Option<u64>,
}

/// The body of a why document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Explanation {
    /// Relation, measures, sizes.
    #[serde(flatten)]
    pub totals: WhyTotals,
    /// Of archives and mails: which member belongs to which. There are no ranges then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<WhyMember>,
    /// Shared ranges in the order of a; no byte of a is in two of them.
    pub ranges: Vec<WhyRange>,
    /// Further ranges of b that a has too, in the order of b.
    #[serde(default)]
    pub repeats: Vec<WhyRange>,
    /// The stretches of a that lie in no range.
    #[serde(default)]
    pub differs_a: Vec<WhyStretch>,
    /// The stretches of b that lie in no range and in no repeat.
    #[serde(default)]
    pub differs_b: Vec<WhyStretch>,
    /// The first of the numbers in which the texts differ, if they differ only in those.
    #[serde(default)]
    pub changed: Vec<ChangedNumber>,
}
