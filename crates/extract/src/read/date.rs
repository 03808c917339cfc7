//! Parses the dates that documents state.

use std::io::Read;

use mail_parser::DateTime;
use resemble_core::date::{DateSource, DocumentDate, civil};

use super::xml::{Node, Xml, local};
use super::zip::Archive;
use crate::read::{Stop, Take};

/// The number of bytes of a part in which a date is searched for.
const MOST_READ: u64 = 64 << 10;

/// Parses a date in the form that XML uses (the W3C's profile of ISO 8601).
pub(super) fn of_xml(text: &str, source: DateSource) -> Option<DocumentDate> {
    let text = text.trim();
    let at_midnight = || DateTime::parse_rfc3339(&format!("{text}T00:00:00"));
    let date = DateTime::parse_rfc3339(text).or_else(at_midnight)?;
    of_parsed(&date, source)
}

/// Parses a date of a web page. The date has the form of XML, perhaps with a blank instead of the
/// `T`, or the form of mails and HTTP.
pub(super) fn of_page(text: &str, source: DateSource) -> Option<DocumentDate> {
    let text = text.trim();
    of_xml(text, source)
        .or_else(|| of_xml(&text.replacen(' ', "T", 1), source))
        .or_else(|| of_parsed(&DateTime::parse_rfc822(text)?, source))
}

/// Parses a date of a PDF: `D:20240305112233+01'00'`. The mark `D:` may be missing, and so may
/// everything after the year. Some programs write dates in a form of web pages.
pub(super) fn of_pdf(text: &str, source: DateSource) -> Option<DocumentDate> {
    let text = text.trim();
    let text = text.strip_prefix("D:").unwrap_or(text);
    let is_digit = |letter: &char| letter.is_ascii_digit();
    let end = text.find(|letter| !is_digit(&letter));
    let (digits, zone) = text.split_at(end.unwrap_or(text.len()));
    let has_hour = digits.len() >= 10;
    if !(zone.is_empty() || has_hour && zone.starts_with(['Z', '+', '-'])) {
        return of_page(text, source);
    }
    let offset: String = zone.chars().filter(is_digit).collect();
    let number = |digits: &str, at: usize, missing: u8| match digits.get(at..at + 2) {
        Some(two) => two.parse().ok(),
        None => Some(missing),
    };
    let date = DateTime {
        year: digits.get(..4)?.parse().ok()?,
        month: number(digits, 4, 1)?,
        day: number(digits, 6, 1)?,
        hour: number(digits, 8, 0)?,
        minute: number(digits, 10, 0)?,
        second: number(digits, 12, 0)?,
        tz_before_gmt: zone.starts_with('-'),
        tz_hour: number(&offset, 0, 0)?,
        tz_minute: number(&offset, 2, 0)?,
    };
    of_parsed(&date, source)
}

/// Makes a date from its fields. Returns `None` if the day does not exist.
pub(super) fn of_parsed(date: &DateTime, source: DateSource) -> Option<DocumentDate> {
    let midnight = DateTime {
        hour: 0,
        minute: 0,
        second: 0,
        tz_hour: 0,
        tz_minute: 0,
        ..*date
    };
    let day = civil(midnight.to_timestamp().div_euclid(24 * 60 * 60));
    let is_day = day == (date.year.into(), date.month.into(), date.day.into());
    (is_day && date.is_valid()).then(|| DocumentDate {
        seconds: date.to_timestamp(),
        source,
    })
}

/// Returns the date in a part of a package. Returns `None` if the part is missing or unreadable.
/// See [`in_xml`].
pub(super) fn in_part(
    zip: &Archive<'_>,
    name: &[u8],
    wanted: &[DateSource],
) -> Take<Option<DocumentDate>> {
    let part = zip.find(name).and_then(|part| zip.reader(part).ok());
    part.map_or(Ok(None), |part| in_xml(part, wanted))
}

/// Searches XML for these properties, which may be elements or attributes. Returns the date of the
/// first property in the list that has a date. Prefixes of names are ignored.
pub(super) fn in_xml(from: impl Read, wanted: &[DateSource]) -> Take<Option<DocumentDate>> {
    let names: Vec<&str> = wanted.iter().map(|source| local(source.name())).collect();
    let mut xml = Xml::new(from.take(MOST_READ))?;
    let mut found: Vec<Option<DocumentDate>> = vec![None; wanted.len()];
    let mut open: Option<(usize, String)> = None;
    loop {
        match xml.next() {
            Ok(Node::Open(element)) => {
                for (at, name) in names.iter().enumerate() {
                    if let Some(value) = element.attribute(name) {
                        found[at] = found[at].or_else(|| of_xml(&value, wanted[at]));
                    }
                }
                let at = names.iter().position(|name| *name == element.name());
                open = at.map(|at| (at, String::new()));
            }
            Ok(Node::Text(piece)) => {
                if let Some((_, text)) = &mut open {
                    text.push_str(&piece);
                }
            }
            Ok(Node::Close(_)) => {
                if let Some((at, text)) = open.take() {
                    found[at] = found[at].or_else(|| of_xml(&text, wanted[at]));
                }
            }
            Ok(Node::Other) => {}
            // If the part is damaged here, only the date is lost, and not the document.
            Ok(Node::End) | Err(Stop::This(_)) => break,
            Err(stop) => return Err(stop),
        }
    }
    Ok(found.into_iter().flatten().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<i64> {
        of_xml(text, DateSource::OpenModified).map(|date| date.seconds)
    }

    #[test]
    fn dates_of_xml_are_seconds_of_utc() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds(" 2024-03-05T10:22:33Z\n"), Some(1_709_634_153));
        assert_eq!(seconds("2024-03-05T11:22:33+01:00"), Some(1_709_634_153));
        assert_eq!(
            seconds("2024-03-05T10:22:33.123456789"),
            Some(1_709_634_153)
        );
        assert_eq!(seconds("2024-03-05"), Some(1_709_596_800));
        assert_eq!(seconds("2024-02-29"), Some(1_709_164_800));
        for odd in [
            "",
            "soon",
            "2024",
            "2024-13-05T10:22:33Z",
            "2019-02-29",
            "2024-04-31T10:22:33Z",
            "9999-99-99T99:99:99Z",
            "-1",
        ] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    #[test]
    fn dates_of_pdf_are_read_with_and_without_their_mark() {
        let seconds = |text: &str| of_pdf(text, DateSource::PdfModified).map(|date| date.seconds);
        let expected = Some(1_709_634_153);
        for text in [
            "20240305102233",
            "20240305102233Z",
            "20240305102233Z00'00'",
            "20240305112233+01'00'",
            "20240305112233+01'00",
            "20240305112233+0100",
            "20240305112233+01",
            "20240305095233-00'30'",
            "2024-03-05T11:22:33+01:00",
            "2024-03-05 10:22:33",
            "Tue, 5 Mar 2024 10:22:33 +0000",
        ] {
            assert_eq!(seconds(text), expected, "{text}");
            assert_eq!(seconds(&format!(" D:{text}")), expected, "{text}");
        }
        assert_eq!(seconds("202403051022"), Some(1_709_634_120));
        assert_eq!(seconds("20240305"), Some(1_709_596_800));
        assert_eq!(seconds("D:202403"), Some(1_709_251_200));
        assert_eq!(seconds("D:1970"), Some(0));
        for odd in [
            "",
            "D:",
            "D:19",
            "20241305102233",
            "20240230",
            "2024x",
            "D:2024+01",
        ] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_first_wanted_property_with_a_date_counts() {
        let wanted = [DateSource::OfficeModified, DateSource::OfficeCreated];
        let date = |xml: &str| in_xml(xml.as_bytes(), &wanted).expect("xml");
        let both = "<c><created>2020-01-01T00:00:00Z</created>\
                    <modified>2021-01-01T00:00:00Z</modified></c>";
        assert_eq!(
            date(both).map(|date| date.source),
            Some(DateSource::OfficeModified)
        );
        let one = "<c><created>2020-01-01T00:00:00Z</created><modified>?</modified></c>";
        assert_eq!(
            date(one).map(|date| date.source),
            Some(DateSource::OfficeCreated)
        );
        let attribute = r#"<d x:modified="2020-01-01T00:00:00Z"/>"#;
        assert_eq!(
            date(attribute).map(|date| date.seconds),
            Some(1_577_836_800)
        );
        assert_eq!(date("<c><modified>2021-01-01T00:00:00Z"), None);
    }
}
