//! The answer to `why`: where two files agree, and where they differ.
//!
//! The answer is not part of the daemon's protocol, because the command reads the two files itself.
//! But it is printed in the same way as the other documents, so it is in this crate.

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
    /// The first file, as the user named it.
    pub a: PathText,
    /// The second file, as the user named it.
    pub b: PathText,
    /// True if the differing ranges are left out.
    pub matches_only: bool,
    /// The id of the parameters of chunking and sampling. They determine the ranges of files that
    /// are too large to be compared byte by byte.
    pub params: String,
}

/// The fields that precede the lists.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyTotals {
    /// The relation; `null` if there is no relation, or if too little is shared.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// The unit of the shares.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// Share of a that is in b.
    pub a_in_b: Fraction,
    /// Share of b that is in a.
    pub b_in_a: Fraction,
    /// The shared part of all content of both files.
    pub resemblance: Fraction,
    /// Bytes of the smaller file in shared runs.
    pub shared_bytes: u64,
    /// Bytes of a.
    pub size_a: u64,
    /// Bytes of b.
    pub size_b: u64,
    /// True if both files were compared byte by byte; otherwise the ranges are those of common
    /// chunks.
    pub exact: bool,
    /// True if both files are text. Ranges have lines only in this case.
    pub text: bool,
    /// The layer of all figures and ranges: the bytes of the files, or the texts that represent
    /// them.
    #[serde(default)]
    pub layer: Layer,
    /// `only in numbers`, if the texts are equal otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differs>,
    /// The number of differing numbers, if nothing else differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
    /// Bytes of a that are nowhere in b.
    pub differing_bytes_a: u64,
    /// Bytes of b that are nowhere in a.
    pub differing_bytes_b: u64,
}

/// The kind of difference between two texts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Differs {
    /// Both texts have the same words in the same places.
    #[serde(rename = "only in numbers")]
    OnlyInNumbers,
}

/// A number of a, and the number of b in its place.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedNumber {
    /// The number in a.
    pub a: String,
    /// The number in b.
    pub b: String,
}

/// A range of both files with the same bytes. Offsets begin at 0, and the end is exclusive. Line
/// numbers begin at 1. A range has the numbers of its first and its last line, or `null` if the
/// files have no lines.
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
    /// `in-order`, `moved` or `again`. A range is `again` if one file has it more often than the
    /// other.
    #[serde(default)]
    pub placing: String,
}

/// A range of one file that is nowhere in the other file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyStretch {
    /// Bytes.
    pub range: [u64; 2],
    /// Lines.
    pub lines: Option<[u64; 2]>,
}

/// A member of one archive, and its partner in the other archive. The partner is the member that
/// shares most with this member and has no other partner. If there is no such member, it is an
/// equal or related member that has another partner, or else a member of the same name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyMember {
    /// The names that lead to the member of a; `null` if there is no member. Empty for the text of
    /// a mail, and for a file that is not an archive.
    pub a: Option<PathText>,
    /// The names that lead to the member of b, as in `a`.
    pub b: Option<PathText>,
    /// The relation of the two members; `null`: they have none, or one member is missing.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// The unit of the shares.
    pub unit: MeasureUnit,
    /// Share of the member of a that is in the member of b.
    pub a_in_b: Fraction,
    /// Share of the member of b that is in the member of a.
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
    /// The relation, the measures and the sizes.
    #[serde(flatten)]
    pub totals: WhyTotals,
    /// For archives and mails: the members of both files, with their partners. In this case there
    /// are no ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<WhyMember>,
    /// Shared ranges in the order of a; no byte of a is in two of them.
    pub ranges: Vec<WhyRange>,
    /// Further ranges of b that are also in a, in the order of b.
    #[serde(default)]
    pub repeats: Vec<WhyRange>,
    /// The stretches of a that lie in no range.
    #[serde(default)]
    pub differs_a: Vec<WhyStretch>,
    /// The stretches of b that lie in no range and in no repeat.
    #[serde(default)]
    pub differs_b: Vec<WhyStretch>,
    /// The first differing numbers, if the texts differ only in numbers.
    #[serde(default)]
    pub changed: Vec<ChangedNumber>,
}
