//! What rows say of two files: how they relate, and in what figures.

use std::sync::Arc;

use resemble_core::date::DocumentDate;
use resemble_core::similarity::{Interval, Unit};
use resemble_core::{Relation, Score};
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::number::Fraction;

/// What containments and resemblance are shares of.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum MeasureUnit {
    /// Words in common runs of at least five, of two texts; bytes of anything else.
    #[default]
    Words,
    /// Bytes in common runs of at least 64.
    Bytes,
}

impl MeasureUnit {
    /// The word for it: `words`, `bytes`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Bytes => "bytes",
        }
    }
}

impl From<Unit> for MeasureUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Bytes => Self::Bytes,
            Unit::Words => Self::Words,
        }
    }
}

impl From<MeasureUnit> for Unit {
    fn from(unit: MeasureUnit) -> Self {
        match unit {
            MeasureUnit::Bytes => Self::Bytes,
            MeasureUnit::Words => Self::Words,
        }
    }
}

/// The date that a document states of itself.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedDate {
    /// Seconds since 1970, UTC.
    pub time: i64,
    /// The property that says so, as its format names it: `dcterms:modified`, `ModDate`, `Date`.
    pub source: String,
}

impl From<DocumentDate> for StatedDate {
    fn from(date: DocumentDate) -> Self {
        Self {
            time: date.seconds,
            source: date.source.name().to_owned(),
        }
    }
}

/// When a file was changed last, and the date that it states: seconds since 1970, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDates {
    /// When it was changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<i64>,
    /// The date that it states of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<i64>,
}

impl FileDates {
    /// Returns the dates of a file of the index. A time of 1970 or before is that of no change.
    pub fn of(changed: i64, stated: Option<i64>) -> Self {
        Self {
            changed: Some(changed).filter(|&seconds| seconds > 0),
            stated,
        }
    }
}

/// Which of two files is the newer one: by the dates that they state if both state one, else by
/// when they were changed last.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newer {
    /// The newer one; absent: both are as old, or that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<PairSide>,
    /// What says so; absent with `newer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_by: Option<DatedBy>,
}

impl Newer {
    /// Compares the dates of two files.
    pub fn of(a: FileDates, b: FileDates) -> Self {
        let stated = a
            .stated
            .zip(b.stated)
            .map(|dates| (dates, DatedBy::Document));
        let changed = a.changed.zip(b.changed).map(|dates| (dates, DatedBy::File));
        let Some(((a, b), by)) = stated.or(changed).filter(|((a, b), _)| a != b) else {
            return Self::default();
        };
        Self {
            newer: Some(if a > b { PairSide::A } else { PairSide::B }),
            newer_by: Some(by),
        }
    }
}

/// One of two files.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PairSide {
    /// The first one: in `find` the file that is asked about.
    A,
    /// The second one.
    B,
}

/// What a date of a file is from.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum DatedBy {
    /// The documents state it of themselves.
    Document,
    /// The files were changed last then.
    File,
}

/// Which layer gave the figures of a row.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Layer {
    /// The bytes as they are.
    #[default]
    Bytes,
    /// Canonical text, because it says more than the bytes.
    Text,
}

impl Layer {
    /// Whether it is the bytes. It takes a reference because `skip_serializing_if` passes one.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub fn is_bytes(&self) -> bool {
        *self == Self::Bytes
    }

    /// The word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What is left of a row's score when text that many contents have counts for less.
///
/// The figures of a row, its place and its relation are those of the raw score. Where the two files
/// share no common text, the discounted score is the raw one and both fields are absent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discount {
    /// The discounted score.
    #[serde(default, skip_serializing_if = "Fraction::is_none")]
    pub discounted: Fraction,
    /// Why, for people: `61 % raw, 9 % after text found in 400 files`. Many rows say the same.
    #[serde(default, with = "shared_text", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: Option<Arc<str>>,
}

/// From where to where the figures of an estimate lie in 19 cases of 20. Rows stand in the order of
/// the lower ends.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EstimateInterval {
    /// Of the share of a that is in b.
    pub a_in_b: [Fraction; 2],
    /// Of the share of b that is in a.
    pub b_in_a: [Fraction; 2],
    /// Of shared over union.
    pub resemblance: [Fraction; 2],
}

impl EstimateInterval {
    /// The same pair seen from b.
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self {
            a_in_b: self.b_in_a,
            b_in_a: self.a_in_b,
            ..self
        }
    }
}

impl From<Interval> for EstimateInterval {
    fn from(interval: Interval) -> Self {
        let ends = |ends: Option<(Score, Score)>| {
            ends.map_or([Fraction::NONE; 2], |(low, high)| {
                [Fraction::from(low), Fraction::from(high)]
            })
        };
        Self {
            a_in_b: ends(interval.a_in_b),
            b_in_a: ends(interval.b_in_a),
            resemblance: ends(interval.resemblance),
        }
    }
}

/// How two files relate, and what their figures are.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiguresTold {
    /// How they relate; `null` below every threshold.
    #[serde(default, with = "relation_word")]
    pub relation: Option<Relation>,
    /// What the shares are of.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// The figures are estimates; else they are those of the contents.
    #[serde(default)]
    pub estimate: bool,
    /// Where the figures lie, if they are estimates of two files; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
}

impl FiguresTold {
    /// The same of the two files the other way round.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            relation: self.relation.map(Relation::swapped),
            interval: self.interval.map(EstimateInterval::swapped),
            ..self
        }
    }
}

/// A text that many rows have in common, or nothing.
mod shared_text {
    use std::sync::Arc;

    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    // The signature that serde's `with` asks for.
    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(
        text: &Option<Arc<str>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        text.as_deref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<str>>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Arc::from))
    }
}

/// A relation as the word that the contract has for it, or `null`: `serde(with = "relation_word")`.
#[allow(non_camel_case_types)] // named as a module would be; see [`crate::path::fields`]
#[derive(Debug)]
pub enum relation_word {}

impl relation_word {
    /// Writes the word.
    // The signature that serde's `with` asks for.
    #[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
    pub fn serialize<S: Serializer>(
        relation: &Option<Relation>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        relation.map(Relation::word).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Relation>, D::Error> {
        let Some(word) = Option::<String>::deserialize(deserializer)? else {
            return Ok(None);
        };
        match Relation::ALL
            .into_iter()
            .find(|relation| relation.word() == word)
        {
            Some(relation) => Ok(Some(relation)),
            None => Err(Error::custom(format_args!("{word:?} is no relation"))),
        }
    }
}
