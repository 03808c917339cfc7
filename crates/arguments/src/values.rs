//! Parses the values of options.

use std::ffi::OsStr;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use resemble_proto::message::{AlertWord, Degree};
use resemble_proto::pattern;

use crate::local_time;

pub use resemble_proto::number::{duration, share, size};

/// Returns a parser of globs that `.gitignore` could have.
pub fn glob() -> impl TypedValueParser<Value = String> {
    of_os_string(|text| {
        let text = text.to_str().ok_or("a pattern must be UTF-8")?;
        match pattern::check(text) {
            Ok(()) => Ok(text.to_owned()),
            Err(bad) => Err(bad.reason),
        }
    })
}

/// Returns a parser of values that may have bytes that are not UTF-8. If a parser of `&str` gets
/// such a value, the message of `clap` names neither the option nor the value.
pub fn of_os_string<T: Clone + Send + Sync + 'static>(
    parse: impl Fn(&OsStr) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(move |text| parse(&text))
}

/// Parses the number of rows.
pub fn count(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "not a number of rows such as 20".to_owned())
}

/// Parses the limit for common chunks. A chunk that more contents than this have is ignored. The
/// limit is a number, or `half` of the files.
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

/// The kinds of changes that cause alerts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertKinds(pub Vec<AlertWord>);

/// Parses kinds of alerts, separated by commas, or `none`.
pub fn alert_kinds(text: &str) -> Result<AlertKinds, String> {
    if text == "none" {
        return Ok(AlertKinds(Vec::new()));
    }
    let wrong = |word: &str| format!("`{word}` is not one of {}, nor none", AlertWord::WORDS);
    let kinds = text
        .split(',')
        .map(|word| word.parse().map_err(|_| wrong(word)));
    kinds.collect::<Result<_, _>>().map(AlertKinds)
}

/// The point at which a list of alerts starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The first alert after the one with this number.
    Number(u64),
    /// At this time or later, in seconds since 1970.
    Time(u64),
    /// At most this long ago.
    Ago(Duration),
}

/// Parses the number of an alert (`412`), a duration (`90s`, `15m`, `2h`, `1d`, `2w`), a day, or a
/// time. A day or time (`2026-11-23`, `2026-11-23 18:30`, optionally with seconds) is local, or in
/// UTC if a `Z` follows.
pub fn since(text: &str) -> Result<Since, String> {
    const DAY: u64 = 86_400;
    if let Ok(number) = text.parse() {
        return Ok(Since::Number(number));
    }
    let days = |unit: char, days: u64| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Duration::from_secs(number.checked_mul(days * DAY)?))
    };
    let ago = days('d', 1)
        .or_else(|| days('w', 7))
        .or_else(|| duration(text).ok());
    ago.map(Since::Ago)
        .or_else(|| local_time::seconds(text).map(Since::Time))
        .ok_or_else(|| {
            "neither a duration such as 2h or 1d, nor a time such as 2026-11-23 or \
             2026-11-23T18:30:00Z (Z: UTC, else local), nor the number of an alert"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use resemble_proto::number::Fraction;

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

    #[test]
    fn times_of_alerts() {
        let hour = Duration::from_secs(3600);
        assert_eq!(since("412"), Ok(Since::Number(412)));
        assert_eq!(since("2h"), Ok(Since::Ago(2 * hour)));
        assert_eq!(since("1d"), Ok(Since::Ago(24 * hour)));
        assert_eq!(since("2w"), Ok(Since::Ago(336 * hour)));
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2026-09-01T12:34:56Z", 1_788_266_096),
            ("2026-09-01 12:34", 1_788_266_040),
        ] {
            let zone = local_time::zone();
            let ahead = |at: u64| (zone.ahead)(at.cast_signed());
            // Within a day before and after each of these times, the offset of local time does not
            // change.
            let local = if text.ends_with('Z') {
                0
            } else {
                ahead(seconds)
            };
            let at = seconds.checked_add_signed(-local).map(Since::Time);
            assert_eq!(since(text).ok(), at, "{text}");
        }
        for text in [
            "",
            "d",
            "-1d",
            "1y",
            "2026",
            "2026-13-01",
            "2026-01-32",
            "2026-02-29",
            "2026-01",
            "1969-01-01",
            "2026-01-01T24:00",
            "2026-01-01T1",
            "2026-01-01T1:2:3:4",
            "99999999999999999999d",
            "now",
        ] {
            let number = text == "2026";
            assert_eq!(since(text).is_ok(), number, "{text}");
        }
    }
}
