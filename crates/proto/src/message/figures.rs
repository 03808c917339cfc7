//! The figures about two files in the rows of answers: the relation and the measures.

use std::sync::Arc;

use resemble_core::date::DocumentDate;
use resemble_core::similarity::{Interval, Unit};
use resemble_core::{Relation, Score};
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::clock::is_past;
use crate::number::Fraction;

/// The unit of containments and resemblance.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum MeasureUnit {
    /// Words in common runs of at least five, for two texts; bytes for other contents.
    #[default]
    Words,
    /// Bytes in common runs of at least 64.
    Bytes,
}

impl MeasureUnit {
    /// Returns the word for the unit: `words` or `bytes`.
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

/// The date that a document states.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedDate {
    /// Seconds since 1970, UTC.
    pub time: i64,
    /// The property with the date, as its format names it: `dcterms:modified`, `ModDate`, `Date`.
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

impl StatedDate {
    /// Returns whether the date counts as past: see [`is_past`].
    pub fn is_past(&self) -> bool {
        is_past(&self.time)
    }
}

/// Returns one time for each file, for finding the newest file. If every file states a date that
/// counts as past, the times are these dates. Otherwise they are the times of the last changes.
/// `files` has the last change and the stated date of each file.
pub fn times_of<'d>(files: impl IntoIterator<Item = (i64, Option<&'d StatedDate>)>) -> Vec<i64> {
    let files: Vec<_> = files.into_iter().collect();
    let stated = files.iter().map(|(_, stated)| {
        let past = stated.filter(|date| date.is_past());
        past.map(|date| date.time)
    });
    let stated: Option<Vec<i64>> = stated.collect();
    stated.unwrap_or_else(|| files.iter().map(|(changed, _)| *changed).collect())
}

/// The last change of a file and the date that it states, in seconds since 1970, if they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDates {
    /// The time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<i64>,
    /// The date that the file states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<i64>,
}

impl FileDates {
    /// Returns the dates of an indexed file. A time of the last change that is not after the
    /// beginning of 1970 counts as unknown.
    pub fn of(changed: i64, stated: Option<i64>) -> Self {
        Self {
            changed: Some(changed).filter(|&seconds| seconds > 0),
            stated,
        }
    }
}

/// The newer of two files. If both files state a date, these dates are compared. Otherwise the
/// times of the last changes are compared.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newer {
    /// The newer file; absent if both files are equally old, or if it is unknown which is newer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<PairSide>,
    /// The source of the dates; absent if `newer` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_by: Option<DatedBy>,
}

impl Newer {
    /// Finds the newer of two files. A date in the future counts as unknown.
    pub fn of(a: FileDates, b: FileDates) -> Self {
        let both = |a: Option<i64>, b: Option<i64>| a.filter(is_past).zip(b.filter(is_past));
        let stated = both(a.stated, b.stated).map(|dates| (dates, DatedBy::Document));
        let changed = both(a.changed, b.changed).map(|dates| (dates, DatedBy::File));
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
    /// The first file: in `find`, the file in question.
    A,
    /// The second file.
    B,
}

/// The source of a file's date.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum DatedBy {
    /// The date that a document states.
    Document,
    /// The time of the file's last change.
    File,
}

/// The layer that the figures of a row are from.
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
    /// Canonical text, because it matches better than the bytes.
    Text,
}

impl Layer {
    /// Returns whether the layer is the bytes. The parameter is a reference because
    /// `skip_serializing_if` passes one.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub fn is_bytes(&self) -> bool {
        *self == Self::Bytes
    }

    /// Returns the word for the layer in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The score of a row after discounting the text that many contents have.
///
/// The figures and the relation of a row do not depend on the discount. If the two files share no
/// such text, the score does not change and both fields are absent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discount {
    /// The discounted score.
    #[serde(default, skip_serializing_if = "Fraction::is_none")]
    pub discounted: Fraction,
    /// The reason, for people: `61 % raw, 9 % after text found in 400 files`. Many rows share one
    /// reason.
    #[serde(default, with = "shared_text", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: Option<Arc<str>>,
}

/// The intervals of the figures of an estimate. In 19 cases of 20, the true figure is in its
/// interval. Rows are sorted by the lower ends.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EstimateInterval {
    /// The interval of the share of a that is in b.
    pub a_in_b: [Fraction; 2],
    /// The interval of the share of b that is in a.
    pub b_in_a: [Fraction; 2],
    /// The interval of the resemblance.
    pub resemblance: [Fraction; 2],
}

impl EstimateInterval {
    /// Returns the intervals of the pair with its two files swapped.
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

/// The relation of two files, and the unit and the precision of their figures.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairFigures {
    /// The relation; `null` below every threshold.
    #[serde(default, with = "relation_word")]
    pub relation: Option<Relation>,
    /// The unit of the shares.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// True if the figures are estimates, not measured.
    #[serde(default)]
    pub estimate: bool,
    /// The interval of the figures, if they are estimates of two files; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
}

impl PairFigures {
    /// Returns the figures of the pair with its two files swapped.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            relation: self.relation.map(Relation::swapped),
            interval: self.interval.map(EstimateInterval::swapped),
            ..self
        }
    }
}

/// Serializes the reason of a discount as a string. Many rows share one reason.
mod shared_text {
    use std::sync::Arc;

    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    // Writes the reason. serde's `with` requires this signature.
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

/// Serializes a relation as its word in the JSON, or as `null`: `serde(with = "relation_word")`.
#[allow(non_camel_case_types)] // named as a module would be; see [`crate::path::fields`]
#[derive(Debug)]
pub enum relation_word {}

impl relation_word {
    /// Writes the word. serde's `with` requires this signature.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::latest_date;

    #[test]
    fn a_document_of_the_future_states_no_date() {
        let stated = |time| StatedDate {
            time,
            source: String::new(),
        };
        let (old, new) = (stated(1), stated(latest_date() + 9));
        assert_eq!(times_of([(5, Some(&old)), (6, Some(&old))]), [1, 1]);
        assert_eq!(times_of([(5, Some(&old)), (6, Some(&new))]), [5, 6]);
    }
}
