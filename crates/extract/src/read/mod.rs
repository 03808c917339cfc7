//! Readers of the formats. Each reader passes parts to [`Walk`], and converts errors to a [`Stop`].

mod cells;
mod compressed;
mod date;
mod directory;
mod divided;
mod emit;
mod mail;
mod markup;
mod odf;
mod office;
mod ole;
mod package;
mod page;
mod pdf;
mod picture;
mod rtf;
mod seven_zip;
mod sheets;
mod source;
mod tar;
pub(crate) mod text;
mod walk;
mod word;
mod xml;
mod zip;

use std::io::{BufReader, Read};
use std::os::fd::BorrowedFd;

pub(crate) use emit::{Out, Stop};
use emit::{Take, cut, damaged, is_cut, reason, unsupported};
use page::PageHead;
pub(crate) use source::Source;
pub(crate) use walk::{LeftOut, Place, Walk};
use walk::{Text, Unpacking};
use zip::{Archive, has_zip_at_end};

use crate::HEAD;
use crate::format::{Kind, unpacked_name};

/// Returns whether an open file ends in a zip.
pub(crate) fn ends_in_zip(file: BorrowedFd<'_>) -> bool {
    Source::file(file).is_ok_and(|source| has_zip_at_end(&source))
}

/// Returns the format of a file that has no parts but may state a date. Members are not checked,
/// because a date is stored only for the file itself.
pub(crate) fn dated(head: &[u8]) -> Option<Kind> {
    match head.first()? {
        0 | 0x89 | 0xff | b'I' | b'M' => picture::may_have_exif(head).then_some(Kind::Picture),
        b'<' | b' ' | b'\t' | b'\r' | b'\n' | 0xef => {
            let page = PageHead::of(head);
            let goes_on = head.len() >= HEAD && !page.is_over;
            (page.is_page && (page.date.is_some() || goes_on)).then_some(Kind::Page)
        }
        _ => None,
    }
}

/// Takes apart a source that can be read at any offset.
pub(crate) fn whole(
    walk: &mut Walk,
    source: Source<'_>,
    kind: Kind,
    name: &[u8],
    place: Place,
) -> Take {
    match kind {
        kind if kind.streams() => {
            let mut reader = BufReader::with_capacity(64 << 10, source.reader());
            stream(walk, &mut reader, kind, place)
        }
        kind if kind.is_compressed() => {
            compressed::unpack(walk, source, kind, &unpacked_name(name), place)
        }
        Kind::SelfExtracting if !has_zip_at_end(&source) => Ok(()),
        Kind::Zip | Kind::SelfExtracting => zipped(walk, source, place),
        Kind::SevenZip => seven_zip::read(walk, source, place),
        Kind::Rar => Err(unsupported("rar")),
        Kind::Picture => picture::read(walk, source, place),
        Kind::Page => page::read(walk, source, place),
        Kind::Pdf => pdf::read(walk, source, place),
        Kind::Rtf => rtf::read(walk, source, place),
        Kind::Mail => {
            let mail = walk.all(&source)?;
            let inside = walk.deeper(place, true)?;
            mail::read(walk, &mail, inside, place)
        }
        _ => ole::read(walk, source),
    }
}

/// Takes apart a zip. Its entries show whether it is a document or an archive.
fn zipped(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let zip = Archive::open(source, &walk.limits)?;
    if let Some(document) = odf::recognise(&zip)? {
        odf::read(walk, &zip, document, place)?;
    } else if let Some(document) = office::recognise(&zip)? {
        office::read(walk, &zip, &document, place)?;
    } else {
        zip::read(walk, &zip, place)?;
    }
    walk.report(zip.is_cut.then(cut))
}

/// Takes apart a format that is read in one pass.
pub(crate) fn stream(walk: &mut Walk, from: &mut dyn Read, kind: Kind, place: Place) -> Take {
    match kind {
        Kind::Text => text::read(walk, from, place),
        Kind::Ar => {
            let place = walk.deeper(place, true)?;
            tar::ar(walk, from, place)
        }
        // A mailbox does not add a level of nesting for its mails.
        Kind::Mbox => mail::mbox(walk, from, place),
        _ => {
            let place = walk.deeper(place, true)?;
            tar::read(walk, from, place)
        }
    }
}
