//! The figures of published methods, computed as the papers define them.
//!
//! A [`Fraction`](resemble_proto::number::Fraction) has six decimals and is between 0 and 1. The
//! figure of a paper may be any number. For example, sif gives 160 % if one file contains two
//! versions of the other. A [`Figure`] is a float that JSON does not change, because it is written
//! as the shortest decimal that reads back as the same float.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// A finite number that is neither rounded nor clamped, or "too small to judge" (`null` in JSON).
///
/// Figures are ordered as numbers. "Too small to judge" is less than every number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figure(Option<f64>);

impl Figure {
    /// The figure of a pair that is too small to judge.
    pub const NONE: Self = Self(None);

    /// Creates a figure from a number. A number that is not finite gives [`Self::NONE`], and -0
    /// becomes 0.
    pub fn new(value: f64) -> Self {
        Self(value.is_finite().then_some(value + 0.0))
    }

    /// Returns the number, if there is one.
    pub const fn value(self) -> Option<f64> {
        self.0
    }

    /// Returns whether the figure is [`Self::NONE`]. The argument is a reference because serde
    /// passes one.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the figure in whole percents, rounded down: 160 for 1.6. A tiny addition corrects
    /// the rounding error of a division, so 0.29 is 29 %.
    pub fn percent(self) -> Option<i64> {
        self.0.map(|value| (value * 100.0 + 1e-9).floor() as i64)
    }
}

impl From<Option<f64>> for Figure {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::NONE, Self::new)
    }
}

impl Ord for Figure {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }
}

impl PartialOrd for Figure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Figure {}

/// Writes the shortest decimal of the number, or nothing for [`Figure::NONE`].
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |value| value.fmt(f))
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<f64>::deserialize(deserializer)? {
            Some(value) if !value.is_finite() => Err(de::Error::custom("no finite number")),
            value => Ok(Self(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_json_to_the_bit() {
        for value in [0.0, 1.0 / 3.0, 1.6, 0.1 + 0.2, 1e-12, 7.0] {
            let json = serde_json::to_string(&Figure::new(value)).unwrap();
            let back: Figure = serde_json::from_str(&json).unwrap();
            assert_eq!(
                back.value().map(f64::to_bits),
                Some(f64::to_bits(value)),
                "{json}"
            );
        }
        assert_eq!(serde_json::to_string(&Figure::NONE).unwrap(), "null");
        assert_eq!(
            serde_json::from_str::<Figure>("null").unwrap(),
            Figure::NONE
        );
    }

    #[test]
    fn too_small_to_judge_comes_last_in_answers() {
        let mut figures = [0.5, 1.6, 0.0].map(Figure::new).to_vec();
        figures.push(Figure::NONE);
        figures.sort_by(|a, b| b.cmp(a));
        let text: Vec<String> = figures.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["1.6", "0.5", "0", ""]);
    }

    #[test]
    fn percents_are_rounded_down_and_not_clamped() {
        let percents = [1.6, 0.29, 0.699_999, 0.0].map(|value| Figure::new(value).percent());
        assert_eq!(percents, [Some(160), Some(29), Some(69), Some(0)]);
        assert_eq!(Figure::NONE.percent(), None);
        assert_eq!(Figure::new(f64::NAN), Figure::NONE);
    }
}
