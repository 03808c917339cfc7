//! The values of options: shares, sizes, times.

use std::time::Duration;

use resemble_proto::message::Degree;
use resemble_proto::number::{Fraction, decimal};
use resemble_proto::pattern;

pub use resemble_proto::number::size;

/// A share: `70%`, `70` and `.7` are the same; a bare number up to 1 is a fraction.
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

/// A glob as in ignore files; what is not a valid glob is refused.
pub fn glob(text: &str) -> Result<String, String> {
    match pattern::check(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(bad) => Err(bad.reason),
    }
}

/// How many contents may have a chunk before it is ignored: a number, or `half` of the files.
pub fn degree(text: &str) -> Result<Degree, String> {
    if text == "half" {
        return Ok(Degree::Half);
    }
    match text.parse() {
        Ok(0) | Err(_) => Err("neither a number of contents of at least 1 nor `half`".to_owned()),
        Ok(1000) => Ok(Degree::Usual),
        Ok(degree) => Ok(Degree::Over(degree)),
    }
}

/// A time: `30`, `30s`, `500ms`, `2m`, `1h`; `1.5s`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let cases = [
            ("70%", 700_000),
            ("70", 700_000),
            (".7", 700_000),
            ("0.7", 700_000),
            ("0", 0),
            ("0%", 0),
            ("1", 1_000_000),
            ("1.0", 1_000_000),
            ("1%", 10_000),
            ("1.5", 15_000),
            ("2", 20_000),
            ("100", 1_000_000),
            ("100%", 1_000_000),
            (".5%", 5_000),
            ("99.9%", 999_000),
            ("33.3333", 333_333),
            ("70.%", 700_000),
        ];
        for (text, millionths) in cases {
            assert_eq!(
                share(text),
                Ok(Fraction::from_millionths(millionths)),
                "{text}"
            );
        }
        for text in [
            "", "%", ".", "101", "100.1%", "-1", "+1", "1e1", "inf", "nan", "70 %", "7.0.0", "x",
            "70%%",
        ] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn degrees() {
        assert_eq!(degree("half"), Ok(Degree::Half));
        assert_eq!(degree("1000"), Ok(Degree::Usual));
        assert_eq!(degree("7"), Ok(Degree::Over(7)));
        for text in ["", "0", "-1", "HALF", "1.5", "99999999999"] {
            assert!(degree(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        let cases = [
            ("30", 30_000),
            ("0", 0),
            ("1.5s", 1500),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ];
        for (text, millis) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1d", "1e9", "9999999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
