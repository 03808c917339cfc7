//! Extracts the words on the pages of a PDF.
//!
//! A page has no words, only glyphs at positions. The libraries provide objects, streams
//! ([`content`]) and the tables of codes of the fonts ([`font`]). [`page`] interprets the operators
//! that place text. [`lines`] assembles words from the glyphs, and [`direction`] puts the letters
//! of a line in reading order.
//!
//! # Unreadable pages
//!
//! A page of scanned paper has no text. That is not a fault. A page has a fault if most letters are
//! unknown, if content is damaged, or if the page exceeds a limit. Then the number of the page and
//! the reason are reported, and the readable text is kept.
//!
//! A file whose user password is empty is read, because everyone can open it. Other files with a
//! password are reported as encrypted.

mod content;
mod direction;
mod font;
mod lines;
mod page;

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_syntax::object::{Dict, ObjectIdentifier, Stream};
use hayro_syntax::{LoadPdfError, Pdf};

use resemble_core::date::{DateSource, DocumentDate};

use self::font::Fonts;
use self::page::Page;
use crate::read::{Place, Source, Stop, Take, Walk, date, divided};
use crate::{Bound, Skipped};

/// The faults that were found on a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Faults {
    glyphs: u64,
    /// The number of glyphs whose letters are not known.
    unknown: u64,
    /// True if some content of the page could not be read.
    damaged: bool,
    /// True if forms or text were left out because of a limit.
    too_much: bool,
}

const NO_LETTERS: &str = "the fonts do not map these characters to letters";

pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let mut bytes = walk.all(&source)?;
    // Bytes before the mark `%PDF-` are not part of the document, so they are removed.
    let start = memchr::memmem::find(&bytes[..bytes.len().min(1024)], b"%PDF-").unwrap_or(0);
    bytes.drain(..start);
    // If the table of objects cannot be read, only the word `/Encrypt` shows that the file is
    // encrypted.
    let is_encrypted = memchr::memmem::find(&bytes, b"/Encrypt").is_some();
    let document = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Invalid if !is_encrypted => no_pages(),
        _ => Stop::This(Skipped::Encrypted),
    })?;
    let pages = document.pages();
    if pages.is_empty() {
        return Err(no_pages());
    }
    let most = walk.limits.memory / 4;
    let (mut all, mut unread) = (String::new(), Vec::new());
    let mut fonts = Fonts::default();
    for (at, page) in pages.iter().enumerate() {
        let read = catch_unwind(AssertUnwindSafe(|| Page::read(&mut fonts, page, most)));
        let damaged = Faults {
            damaged: true,
            ..Faults::default()
        };
        let (text, faults) = read.unwrap_or((String::new(), damaged));
        if (all.len() + text.len()) as u64 > most {
            return Err(Bound::Memory.into());
        }
        all.push_str(&text);
        if let Some(why) = why_unread(faults) {
            unread.push((at + 1, why, faults));
        }
    }
    let mut text = walk.text(place);
    divided::joined(&all, |piece| text.push(piece))?;
    text.end()?;
    let root: Option<Dict<'_>> = document.xref().get(document.xref().root_id());
    walk.date(place, stated(&document, root.as_ref())?)?;
    tell(walk, &unread)?;
    let tree = root.and_then(|root| root.get::<Dict<'_>>("Pages"));
    let count: u32 = tree.and_then(|tree| tree.get("Count")).unwrap_or(0);
    let found = pages.len() as u32;
    if count > found {
        let place = format!("{} of {count} pages", count - found);
        walk.unread(place, "they are missing".to_owned())?;
    }
    Ok(())
}

/// The number of references to an information dictionary that are tried, from the end.
const MOST_REFERENCES: usize = 8;

/// The maximum length in bytes of a reference to an information dictionary.
const LONGEST_REFERENCE: usize = 40;

/// Returns the information dictionary. The library gives no access to the trailer, so the bytes of
/// the file are searched for the reference in the trailer.
fn information(document: &Pdf) -> Option<Dict<'_>> {
    let bytes = document.data().as_ref();
    let mut references = memchr::memmem::rfind_iter(bytes, b"/Info").take(MOST_REFERENCES);
    references.find_map(|at| {
        let reference = &bytes[at + 5..bytes.len().min(at + LONGEST_REFERENCE)];
        let reference = std::str::from_utf8(reference.split(|&byte| byte == b'R').next()?).ok()?;
        let mut numbers = reference.split_whitespace();
        let object = numbers.next()?.parse().ok()?;
        let generation = numbers.next()?.parse().ok()?;
        let id = ObjectIdentifier::new(object, generation);
        document.xref().get(id)
    })
}

/// Returns the date in the information dictionary. If it has no date, returns the date in the XMP
/// packet.
fn stated(document: &Pdf, root: Option<&Dict<'_>>) -> Take<Option<DocumentDate>> {
    let found = information(document).and_then(|information| {
        let of = |key, source| date::of_pdf(&content::text(&information, key)?, source);
        of("ModDate", DateSource::PdfModified)
            .or_else(|| of("CreationDate", DateSource::PdfCreated))
    });
    if found.is_some() {
        return Ok(found);
    }
    let packet = root.and_then(|root| root.get::<Stream<'_>>("Metadata"));
    let Some(packet) = packet.and_then(|packet| packet.decoded().ok()) else {
        return Ok(None);
    };
    let wanted = [DateSource::XmpModified, DateSource::XmpCreated];
    date::in_xml(&packet[..], &wanted)
}

fn no_pages() -> Stop {
    Stop::This(Skipped::Damaged("no pages can be found".to_owned()))
}

/// Returns the worst fault of a page.
fn why_unread(faults: Faults) -> Option<&'static str> {
    if faults.damaged {
        Some("a part of the content is damaged")
    } else if faults.too_much {
        Some("it exceeds the drawing limit")
    } else {
        (faults.unknown * 2 > faults.glyphs).then_some(NO_LETTERS)
    }
}

/// Reports the pages with faults. Consecutive pages with the same fault are reported together.
fn tell(walk: &mut Walk, pages: &[(usize, &str, Faults)]) -> Take {
    for run in pages.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
        let ((first, why, _), last) = (run[0], run[run.len() - 1].0);
        let place = if first == last {
            format!("page {first}")
        } else {
            format!("pages {first} to {last}")
        };
        let sum = |of: fn(&Faults) -> u64| run.iter().map(|page| of(&page.2)).sum::<u64>();
        let reason = if why == NO_LETTERS {
            let (unknown, glyphs) = (sum(|page| page.unknown), sum(|page| page.glyphs));
            format!("the fonts do not map {unknown} of {glyphs} characters to letters")
        } else {
            why.to_owned()
        };
        walk.unread(place, reason)?;
    }
    Ok(())
}
