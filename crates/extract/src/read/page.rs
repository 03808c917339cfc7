//! Reads the date that a web page states in the `meta` elements of its head.
//!
//! The first 4 KiB of every file that begins like markup are scanned. So the scan is a single pass
//! over the bytes, and allocates memory only for a date. The encoding does not matter, because
//! names and dates are ASCII.

use std::io::Read;

use resemble_core::date::{DateSource, DocumentDate};

use super::date;
use crate::read::{Place, Source, Take, Walk};

/// The maximum number of bytes of a page that are read. Most heads are shorter.
pub(super) const MOST_READ: u64 = 64 << 10;

/// Elements that belong to the head of a page, even if the page has no `head` tag.
const OF_HEAD: [&[u8]; 8] = [
    b"base",
    b"link",
    b"meta",
    b"noscript",
    b"script",
    b"style",
    b"template",
    b"title",
];

/// Elements whose content is not markup.
const RAW: [&[u8]; 3] = [b"script", b"style", b"title"];

/// The result of scanning the first bytes of a file for the head of a web page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageHead {
    pub(crate) is_page: bool,
    /// True if the head of the page ends within the bytes.
    pub(crate) is_over: bool,
    /// The date with the best source, of all dates that the head states.
    pub(crate) date: Option<DocumentDate>,
}

/// Reports the date of a page.
pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let mut head = Vec::new();
    source.reader().take(MOST_READ).read_to_end(&mut head)?;
    walk.date(place, PageHead::of(&head).date)
}

impl PageHead {
    /// Scans the first bytes of a file.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut page = Self::default();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if !bytes.trim_ascii_start().starts_with(b"<") {
            return page;
        }
        let (mut is_first, mut has_head) = (true, false);
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'<', rest) {
            let tag = &rest[at + 1..];
            if tag.starts_with(b"!--") {
                rest = after(tag, b"-->");
                continue;
            }
            let (inside, behind) = tag_of(tag);
            rest = behind;
            let end = inside.iter().position(|byte| !is_of_name(*byte));
            let (name, attributes) = inside.split_at(end.unwrap_or(inside.len()));
            has_head |= is(name, b"head");
            let is_tag = name.first().is_some_and(u8::is_ascii_alphabetic);
            let is_of_head = OF_HEAD.iter().any(|one| is(name, one)) || is(name, b"head");
            page.is_page |= is_first && is_of_head;
            is_first &= !is_tag;
            if is(name, b"html") || is(name, b"!doctype") && is_html(attributes) {
                page.is_page = true;
            } else if is(name, b"meta") {
                page.meta(attributes);
            } else if is(name, b"body") || is(name, b"/head") || is_tag && !is_of_head && !has_head
            {
                page.is_over = true;
                break;
            } else if let Some(raw) = RAW.iter().find(|raw| is(name, raw)) {
                rest = after_end_of(raw, rest);
            }
        }
        if !page.is_page {
            page.date = None;
        }
        page
    }

    /// Takes the date of a `meta` element if its source is better than the source of the date found
    /// before.
    fn meta(&mut self, attributes: &[u8]) {
        const NAMES: [&[u8]; 4] = [b"name", b"property", b"itemprop", b"http-equiv"];
        let (mut source, mut content) = (None, None);
        for (name, value) in Attributes(attributes) {
            if is(name, b"content") {
                content = Some(value);
            } else if NAMES.iter().any(|wanted| is(name, wanted)) {
                source = source.or_else(|| source_of(value));
            }
        }
        let best = self.date.map(|date| date.source);
        if let (Some(source), Some(content)) = (source, content)
            && best.is_none_or(|best| source < best)
            && let Ok(content) = std::str::from_utf8(content)
        {
            self.date = date::of_page(content, source).or(self.date);
        }
    }
}

/// Returns the source of the date in a property of this name. `DC.date.modified` counts as
/// `dcterms.modified`.
fn source_of(name: &[u8]) -> Option<DateSource> {
    if is(name, b"DC.date.modified") {
        return Some(DateSource::TermsModified);
    }
    let mut sources = DateSource::of_pages().iter();
    sources
        .find(|source| is(name, source.name().as_bytes()))
        .copied()
}

fn is(name: &[u8], wanted: &[u8]) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'!' | b'/' | b'-' | b':')
}

/// Returns whether a document type (`<!DOCTYPE …>`) declares HTML.
fn is_html(doctype: &[u8]) -> bool {
    let kind = doctype.trim_ascii_start();
    kind.get(..4).is_some_and(|kind| is(kind, b"html"))
}

/// Returns the inside of a tag, and the bytes after it. A `>` in quotes does not end the tag.
fn tag_of(text: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(found) = memchr::memchr3(b'>', b'"', b'\'', &text[at..]) {
        at += found;
        if text[at] == b'>' {
            return (&text[..at], &text[at + 1..]);
        }
        match memchr::memchr(text[at], &text[at + 1..]) {
            Some(closed) => at += closed + 2,
            None => break,
        }
    }
    // The tag does not end within the bytes that were read.
    (b"", b"")
}

/// Returns the bytes after the next occurrence of `what`.
fn after<'t>(text: &'t [u8], what: &[u8]) -> &'t [u8] {
    let at = memchr::memmem::find(text, what);
    at.map_or(b"", |at| &text[at + what.len()..])
}

/// Returns the bytes after the end tag of an element.
fn after_end_of<'t>(name: &[u8], text: &'t [u8]) -> &'t [u8] {
    let mut rest = text;
    while !rest.is_empty() {
        rest = after(rest, b"</");
        if rest.get(..name.len()).is_some_and(|found| is(found, name)) {
            break;
        }
    }
    rest
}

/// The attributes in a tag, each with its value.
struct Attributes<'t>(&'t [u8]);

impl<'t> Iterator for Attributes<'t> {
    type Item = (&'t [u8], &'t [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
        let begin = self.0.iter().position(|byte| !is_between(byte))?;
        let text = &self.0[begin..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=';
        let end = text.iter().position(ends).unwrap_or(text.len());
        let (name, text) = text.split_at(end);
        let Some(value) = text.trim_ascii_start().strip_prefix(b"=") else {
            self.0 = text;
            return Some((name, b""));
        };
        let value = value.trim_ascii_start();
        let (value, rest) = if let Some(quote @ (b'"' | b'\'')) = value.first() {
            let inside = &value[1..];
            let end = memchr::memchr(*quote, inside).unwrap_or(inside.len());
            (&inside[..end], inside.get(end + 1..).unwrap_or(b""))
        } else {
            let end = value.iter().position(u8::is_ascii_whitespace);
            value.split_at(end.unwrap_or(value.len()))
        };
        self.0 = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(head: &str) -> Option<(&'static str, i64)> {
        let page = format!("<!doctype html>\n<head>{head}</head><body>");
        let date = PageHead::of(page.as_bytes()).date?;
        Some((date.source.name(), date.seconds))
    }

    #[test]
    fn pages_state_dates_in_many_words() {
        const AT: i64 = 1_709_634_153;
        for (meta, name) in [
            (
                r#"<meta property="article:modified_time" content="2024-03-05T11:22:33+01:00">"#,
                "article:modified_time",
            ),
            (
                "<META content='2024-03-05 10:22:33' NAME=DCTERMS.Modified />",
                "dcterms.modified",
            ),
            (
                r#"<meta name="dc.date.modified" content="2024-03-05T10:22:33Z">"#,
                "dcterms.modified",
            ),
            (
                "<meta itemprop=dateModified content=2024-03-05T10:22:33Z>",
                "dateModified",
            ),
            (
                r#"<meta http-equiv="Last-Modified" content="Tue, 05 Mar 2024 10:22:33 GMT">"#,
                "last-modified",
            ),
            (
                r#"<meta name="DC.date" scheme="W3CDTF" content="2024-03-05T10:22:33Z">"#,
                "DC.date",
            ),
            (
                "<meta name = \"date\"\n content = \"2024-03-05T10:22:33\">",
                "date",
            ),
        ] {
            assert_eq!(stated(meta), Some((name, AT)), "{meta}");
        }
        let day = r#"<meta name="date" content="2024-03-05">"#;
        assert_eq!(stated(day), Some(("date", 1_709_596_800)));
    }

    #[test]
    fn the_best_date_counts_and_what_is_no_date_does_not() {
        let meta = |name: &str, value: &str| format!("<meta name='{name}' content='{value}'>");
        let (date, modified) = (
            meta("date", "2020-01-01"),
            meta("dcterms.modified", "2021-01-01"),
        );
        for both in [
            format!("{date}{modified}"),
            format!("{modified}{date}"),
            format!("{modified}{date}{}", meta("dcterms.modified", "2022-01-01")),
        ] {
            assert_eq!(stated(&both), Some(("dcterms.modified", 1_609_459_200)));
        }
        for odd in [
            "",
            "soon",
            "today",
            "2024",
            "03/05/2024",
            "5. 3. 2024",
            "{{ date }}",
        ] {
            assert_eq!(stated(&meta("date", odd)), None, "{odd}");
        }
        let after_an_odd_one = format!("{}{date}", meta("last-modified", "soon"));
        assert_eq!(stated(&after_an_odd_one), Some(("date", 1_577_836_800)));
    }

    #[test]
    fn what_is_not_in_the_head_of_a_page_is_no_date() {
        let date = "<meta name=date content=2024-03-05>";
        for none in [
            format!("<!-- {date} -->"),
            format!("<script>var s = \"{date}\"; </script>"),
            format!("<title>{date}</title>"),
            format!("</head><body>{date}"),
            format!("<x y='{date}'>"),
        ] {
            assert_eq!(stated(&none), None, "{none}");
        }
        assert!(stated(&format!("<style>a>b{{}}</style>{date}")).is_some());
        assert!(stated(&format!("<x y='<'>{date}")).is_some());
        let of = |text: &str| PageHead::of(text.as_bytes());
        assert!(
            of(&format!("<?xml version='1.0'?>\n<html>{date}"))
                .date
                .is_some()
        );
        assert!(of(&format!("<svg>{date}</svg>")).date.is_none());
        assert!(of(&format!("text <html>{date}")).date.is_none());
        assert!(!of("<svg/>").is_page && !of("<!DOCTYPE svg><svg/>").is_page);
    }

    #[test]
    fn tags_of_a_page_may_be_missing() {
        let date = "<meta name=date content=2024-03-05>";
        let of = |text: String| PageHead::of(text.as_bytes());
        for page in [
            format!("<!doctype html>{date}<p>Words."),
            format!("<!-- c --><title>Words</title>{date}<h1>Words"),
            format!("<meta charset=utf-8>{date}"),
            format!("<head>{date}</head><p>Words."),
            format!("<html>{date}<p>Words."),
        ] {
            assert!(of(page.clone()).date.is_some(), "{page}");
        }
        for page in [
            format!("<!doctype html><p>Words.{date}"),
            format!("<title>Words</title><div>{date}</div>"),
        ] {
            let head = of(page.clone());
            assert!(
                head.date.is_none() && head.is_page && head.is_over,
                "{page}"
            );
        }
        assert!(of(format!("<note>{date}</note>")).date.is_none());
    }

    #[test]
    fn no_cut_page_is_read_beyond_its_end() {
        let page = "\u{feff}<!DOCTYPE html><head><script>x</script><!-- c --><x y='>' z=\">\">\
                    <meta name=date content='2024-03-05'><meta";
        for end in 0..page.len() {
            let date = PageHead::of(&page.as_bytes()[..end]).date;
            assert_eq!(date.is_some(), end >= page.len() - "<meta".len(), "{end}");
        }
    }
}
