//! PDF: the words on the pages.
//!
//! A page has no words, only glyphs at places. The libraries give objects, streams ([`content`])
//! and what fonts say of their codes ([`font`]); [`page`] follows the operators that place text,
//! and [`lines`] makes words of it, in the direction in which it is read ([`direction`]).
//!
//! # What could not be read
//!
//! A page of scanned paper has no text. One whose letters nothing tells, or whose content is
//! damaged, has: its number and the reason are reported, and what could be read is kept.
//!
//! A file with an empty user password opens for everyone; others are encrypted.

mod content;
mod direction;
mod font;
mod lines;
mod page;

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_syntax::object::Dict;
use hayro_syntax::{LoadPdfError, Pdf};

use self::font::Fonts;
use self::page::{Faults, Page};
use crate::read::{Place, Source, Stop, Take, Walk, divided};
use crate::{Bound, Skipped};

pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let mut bytes = walk.all(&source)?;
    // What stands before the mark is no part of the file.
    let start = memchr::memmem::find(&bytes[..bytes.len().min(1024)], b"%PDF-").unwrap_or(0);
    bytes.drain(..start);
    // Of a file with a table of objects that cannot be read, this is all that can be known.
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
    let mut fonts = Fonts::new();
    for (at, page) in pages.iter().enumerate() {
        let read = caught(|| {
            let mut reader = Page::new(&mut fonts, most);
            reader.read(page.raw(), page.resources());
            let faults = reader.faults;
            (reader.lines.into_text(), faults)
        });
        let (text, fault) = match read {
            Some((text, faults)) => (text, fault(faults)),
            None => (String::new(), Some(Fault::Damaged)),
        };
        if (all.len() + text.len()) as u64 > most {
            return Err(Bound::Memory.into());
        }
        all.push_str(&text);
        all.push('\n');
        if let Some(fault) = fault {
            unread.push((at + 1, fault));
        }
    }
    let mut text = walk.text(place);
    divided::joined(&all, |piece| text.push(piece))?;
    text.end()?;
    tell(walk, &unread)?;
    let root: Option<Dict<'_>> = document.xref().get(document.xref().root_id());
    let tree = root.and_then(|root| root.get::<Dict<'_>>("Pages"));
    let count: u32 = tree.and_then(|tree| tree.get("Count")).unwrap_or(0);
    let found = pages.len() as u32;
    if count > found {
        let place = format!("{} of {count} pages", count - found);
        walk.unread(place, "they cannot be found".to_owned())?;
    }
    Ok(())
}

fn no_pages() -> Stop {
    Stop::This(Skipped::Damaged("no pages can be found".to_owned()))
}

/// What a library gives, unless it panics.
fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// Why a page is not read.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Damaged,
    TooMuch,
    /// The number of characters, and of those whose letters are not known.
    NoLetters {
        unknown: u64,
        glyphs: u64,
    },
}

/// What is worst about a page.
fn fault(faults: Faults) -> Option<Fault> {
    let Faults {
        glyphs, unknown, ..
    } = faults;
    if faults.damaged {
        Some(Fault::Damaged)
    } else if faults.too_much {
        Some(Fault::TooMuch)
    } else if unknown * 2 > glyphs {
        Some(Fault::NoLetters { unknown, glyphs })
    } else {
        None
    }
}

/// Reports pages: those that follow each other and have the same fault at once.
fn tell(walk: &mut Walk, pages: &[(usize, Fault)]) -> Take {
    let same = |a: &(usize, Fault), b: &(usize, Fault)| {
        a.0 + 1 == b.0 && std::mem::discriminant(&a.1) == std::mem::discriminant(&b.1)
    };
    for run in pages.chunk_by(same) {
        let (Some((first, fault)), Some((last, _))) = (run.first(), run.last()) else {
            continue;
        };
        let place = if first == last {
            format!("page {first}")
        } else {
            format!("pages {first} to {last}")
        };
        let reason = match fault {
            Fault::Damaged => "a part of the content is damaged".to_owned(),
            Fault::TooMuch => "it draws too much".to_owned(),
            Fault::NoLetters { .. } => {
                let (mut unknown, mut glyphs) = (0, 0);
                for (_, fault) in run {
                    if let Fault::NoLetters {
                        unknown: some,
                        glyphs: of,
                    } = fault
                    {
                        unknown += some;
                        glyphs += of;
                    }
                }
                format!("no font says which letters {unknown} of {glyphs} characters are")
            }
        };
        walk.unread(place, reason)?;
    }
    Ok(())
}
