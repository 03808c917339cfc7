//! Defines the form of shares in every output: six decimals, or empty.
//!
//! A [`Fraction`] is a whole number of millionths, not a float, for three reasons. It is `Eq`,
//! `Ord` and `Hash`, so rows can be compared exactly. JSON preserves it exactly, so the daemon's
//! answer and the command's own are the same bytes. And it is rounded *down* when it is made from a
//! score, by the rule of [`Score::percent`], and never again. So a share that prints as `0.699999`
//! is below `--min 70%` and shows 69 %, in every format and in the overlay.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use resemble_core::Score;
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{self, Serialize, Serializer};
use serde_json::value::RawValue;

/// A share between 0 and 1 in millionths, or no share because the content was too small to judge.
///
/// In JSON it is a number with exactly six decimals (`0.970000`), or `null`. Serialising to
/// anything but JSON text is not supported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(
    /// The number of millionths plus one, so that a share takes only four bytes. A row has up to
    /// eleven shares.
    Option<NonZeroU32>,
);

impl Fraction {
    /// No share, because the content was too small to judge. It is `null` in JSON.
    pub const NONE: Self = Self(None);
    /// The share `0.000000`: nothing is shared.
    pub const ZERO: Self = Self(Some(NonZeroU32::MIN));
    /// The share `1.000000`: everything is shared.
    pub const ONE: Self = Self(NonZeroU32::new(Self::MILLION + 1));

    const MILLION: u32 = 1_000_000;

    /// Returns the share as a score. Returns `None` if it is [`Self::NONE`].
    pub fn score(self) -> Option<Score> {
        let millionths = self.millionths()?;
        Some(Score::new(f64::from(millionths) / f64::from(Self::MILLION)))
    }

    /// Returns whether a score is at least this share. Every score is at least [`Self::NONE`].
    pub fn accepts(self, score: Score) -> bool {
        self.score().is_none_or(|least| score >= least)
    }

    /// Returns whether this is [`Self::NONE`].
    #[allow(clippy::trivially_copy_pass_by_ref)] // for serde
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the share in millionths, from 0 to 1,000,000; `None` for [`Self::NONE`].
    pub const fn millionths(self) -> Option<u32> {
        match self.0 {
            None => None,
            Some(above) => Some(above.get() - 1),
        }
    }

    /// Returns the characters of the share, for example `0.970000`; `None` for [`Self::NONE`].
    pub fn digits(self) -> Option<[u8; 8]> {
        let mut rest = self.millionths()?;
        let mut digits = *b"0.000000";
        for digit in digits[2..].iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        digits[0] += rest as u8;
        Some(digits)
    }

    /// Creates a share of this many millionths. More than a million counts as a million.
    pub fn from_millionths(millionths: u32) -> Self {
        Self(NonZeroU32::new(millionths.min(Self::MILLION) + 1))
    }

    /// Returns 100 if `identical` is true, otherwise whole percents, rounded down, at most 99.
    /// Returns `None` for [`Self::NONE`]. The result equals [`Score::percent`] of the score from
    /// which this share was made.
    pub fn percent(self, identical: bool) -> Option<u8> {
        let percent = (self.millionths()? / (Self::MILLION / 100)) as u8;
        Some(if identical { 100 } else { percent.min(99) })
    }
}

impl From<Score> for Fraction {
    fn from(score: Score) -> Self {
        // The float 0.29 is slightly too small. The added amount makes it 290,000 millionths after
        // rounding down. `Score::percent` adds the same amount.
        Self::from_millionths((score.get() * f64::from(Self::MILLION) + 1e-3).floor() as u32)
    }
}

impl From<Option<Score>> for Fraction {
    fn from(score: Option<Score>) -> Self {
        score.map_or(Self::NONE, Self::from)
    }
}

/// Writes the six decimals, or nothing for [`Fraction::NONE`].
impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits().map_or(Ok(()), |digits| {
            f.write_str(std::str::from_utf8(&digits).unwrap_or_default())
        })
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_none() {
            return serializer.serialize_none();
        }
        RawValue::from_string(self.to_string())
            .map_err(ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(value) = Option::<f64>::deserialize(deserializer)? else {
            return Ok(Self::NONE);
        };
        if !(0.0..=1.0).contains(&value) {
            return Err(de::Error::custom(format_args!(
                "{value} is not a share between 0 and 1"
            )));
        }
        // Neighbouring millionths are different floats, so rounding gives the number that was
        // written.
        Ok(Self::from_millionths(
            (value * f64::from(Self::MILLION)).round() as u32,
        ))
    }
}

/// Parses a share. `70%`, `70` and `.7` are equal. A number up to 1 without a percent sign is a
/// fraction.
pub fn share(text: &str) -> Result<Fraction, String> {
    let (number, is_percent) = match text.strip_suffix('%') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let value =
        decimal(number).ok_or("neither a percentage such as 70% nor a fraction such as .7")?;
    let millionths = if is_percent || value > 1.0 {
        value * 1e4
    } else {
        value * 1e6
    };
    if millionths > 1e6 {
        return Err("more than 100%".to_owned());
    }
    Ok(Fraction::from_millionths(millionths.round() as u32))
}

/// Parses a duration, such as `30`, `30s`, `500ms`, `2m`, `1h` or `1.5s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" | "s" => Some(1.0),
        "ms" => Some(1e-3),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let value = decimal(number)
        .zip(seconds)
        .map(|(value, unit)| value * unit);
    value
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "not a time such as 30, 500ms or 2m".to_owned())
}

/// Parses a number of bytes, such as `4096`, `1.5M`, `10K` or `10KiB` (times 1024), or `10KB`
/// (times 1000). Units go up to T.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = "not a size such as 4096, 10K (10 x 1024) or 1.5MB (1,500,000)";
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let value = decimal(number).ok_or(wrong)?;
    let unit = unit.to_ascii_lowercase();
    let (base, prefix) = match unit.strip_suffix("ib") {
        Some(prefix) if !prefix.is_empty() => (1024u64, prefix),
        _ => match unit.strip_suffix('b') {
            Some(prefix) => (1000, prefix),
            None => (1024, unit.as_str()),
        },
    };
    let power = ["", "k", "m", "g", "t"]
        .iter()
        .position(|p| *p == prefix)
        .ok_or(wrong)?;
    let bytes = value * base.pow(power as u32) as f64;
    if bytes > 2f64.powi(53) {
        return Err("more than any file can have".to_owned());
    }
    Ok(bytes.round() as u64)
}

/// Parses digits with at most one decimal point. Signs, exponents and `inf` are not allowed.
pub fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain && text.bytes().any(|b| b.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("100B", 100),
            ("10K", 10_240),
            ("10k", 10_240),
            ("10KiB", 10_240),
            ("10KB", 10_000),
            ("1.5M", 1_572_864),
            ("2g", 2 << 30),
            ("1T", 1 << 40),
            ("1tb", 1_000_000_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "", "K", "-1", "1X", "1 K", "1iB", "99999T", "1.2.3", "1KK", "0x10",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn six_decimals_always() {
        let cases = [
            (0.0, "0.000000"),
            (1.0, "1.000000"),
            (0.5, "0.500000"),
            (0.29, "0.290000"),
        ];
        for (score, text) in cases {
            let fraction = Fraction::from(Score::new(score));
            assert_eq!(fraction.to_string(), text);
            assert_eq!(serde_json::to_string(&fraction).unwrap(), text);
        }
        assert_eq!(serde_json::to_string(&Fraction::NONE).unwrap(), "null");
        assert_eq!(Fraction::NONE.to_string(), "");
    }

    #[test]
    fn every_millionth_survives_json() {
        for millionths in (0..=1_000_000).step_by(7).chain([999_999, 1_000_000]) {
            let fraction = Fraction::from_millionths(millionths);
            let json = serde_json::to_string(&fraction).unwrap();
            assert_eq!(
                serde_json::from_str::<Fraction>(&json).unwrap(),
                fraction,
                "{json}"
            );
            assert_eq!(
                Fraction::from(fraction.score()),
                fraction,
                "{json} by score"
            );
        }
    }

    #[test]
    fn percents_agree_with_the_overlay() {
        for numerator in 0..=3000u32 {
            for denominator in [3000.0, 3001.0, 7777.0, 1e6, 12_345_678.0] {
                let score = Score::new(f64::from(numerator) / denominator);
                for identical in [false, true] {
                    let fraction = Fraction::from(score);
                    assert_eq!(fraction.percent(identical), Some(score.percent(identical)));
                }
            }
        }
        assert_eq!(Fraction::NONE.percent(false), None);
    }

    #[test]
    fn a_share_is_never_rounded_up() {
        assert_eq!(
            Fraction::from(Score::new(0.699_999_9)).to_string(),
            "0.699999"
        );
        assert_eq!(
            Fraction::from(Score::new(0.999_999_99)).percent(false),
            Some(99)
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for json in ["-0.1", "1.1", "\"0.5\"", "[]", "1e400", "true"] {
            assert!(serde_json::from_str::<Fraction>(json).is_err(), "{json}");
        }
    }
}
