//! Reads Open Document (odt, ods, odp) and EPUB. These formats are zips whose first entry states
//! the type.
//!
//! The text of an Open Document file is in one part, in reading order. But notes and comments are
//! in the middle of sentences, where the document refers to them. They are moved to the end, as in
//! the other formats. Hidden text is left out and reported.

mod body;
mod styles;

use std::io::Read;

use resemble_core::date::DateSource;

use self::body::Body;
use self::styles::Styles;
use super::date;
use super::markup;
use super::package::target;
use super::xml::{Node, Xml};
use super::zip::Archive;
use crate::Skipped;
use crate::charset;
use crate::read::{Place, Stop, Take, Walk};

/// The type of document in a zip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenDocument {
    Open,
    Epub,
}

/// Detects the type of document by the entry `mimetype`.
pub(super) fn recognise(zip: &Archive<'_>) -> Take<Option<OpenDocument>> {
    let Some(entry) = zip.find(b"mimetype") else {
        return Ok(None);
    };
    let mut kind = Vec::new();
    zip.reader(entry)?.take(100).read_to_end(&mut kind)?;
    let kind = kind.trim_ascii();
    Ok(
        if kind.starts_with(b"application/vnd.oasis.opendocument.") {
            Some(OpenDocument::Open)
        } else if kind == b"application/epub+zip" {
            Some(OpenDocument::Epub)
        } else {
            None
        },
    )
}

pub(super) fn read(
    walk: &mut Walk,
    zip: &Archive<'_>,
    document: OpenDocument,
    place: Place,
) -> Take {
    match document {
        OpenDocument::Open => open_document(walk, zip, place),
        OpenDocument::Epub => epub(walk, zip, place),
    }
}

fn open_document(walk: &mut Walk, zip: &Archive<'_>, place: Place) -> Take {
    if let Some(manifest) = zip.find(b"META-INF/manifest.xml") {
        let mut xml = Xml::new(zip.reader(manifest)?)?;
        loop {
            match xml.next()? {
                Node::Open(element) if element.name() == "encryption-data" => {
                    return Err(Stop::This(Skipped::Encrypted));
                }
                Node::End => break,
                _ => {}
            }
        }
    }
    let Some(content) = zip.find(b"content.xml") else {
        return Ok(());
    };
    let mut styles = Styles::default();
    if let Some(named) = zip.find(b"styles.xml") {
        styles.read(&mut Xml::new(zip.reader(named)?)?)?;
    }
    let mut xml = Xml::new(zip.reader(content)?)?;
    styles.read(&mut xml)?;
    let mut body = Body::new(walk.text(place), styles);
    let result = fill(&mut body, &mut xml);
    let hidden = body.hidden;
    body.end()?;
    walk.report_damage(result)?;
    let wanted = [DateSource::OpenModified, DateSource::OpenCreated];
    walk.date(place, date::in_part(zip, b"meta.xml", &wanted)?)?;
    walk.left_out(hidden)
}

fn fill(body: &mut Body<'_>, xml: &mut Xml<'_>) -> Take {
    loop {
        match xml.next()? {
            Node::Open(element) if body.open(&element) => {}
            Node::Open(_) => xml.skip()?,
            Node::Close(element) => body.close(element.name())?,
            Node::Text(piece) => body.push(&piece),
            Node::End => return Ok(()),
            Node::Other => {}
        }
    }
}

/// Reads the pages of a book in the order that its package document gives.
fn epub(walk: &mut Walk, zip: &Archive<'_>, place: Place) -> Take {
    if zip.find(b"META-INF/encryption.xml").is_some() && zip.find(b"META-INF/rights.xml").is_some()
    {
        return Err(Stop::This(Skipped::Encrypted));
    }
    let Some(package) = package(zip)? else {
        return Err(Stop::This(Skipped::Damaged(
            "a book without contents".to_owned(),
        )));
    };
    let mut text = walk.text(place);
    let mut result = Ok(());
    for page in spine(zip, &package)? {
        // If a page is missing or damaged, the others are still read.
        match zip.whole(&page) {
            Ok(Some(page)) => markup::text_of(&decode(&page), &mut text)?,
            Ok(None) => {}
            Err(why) => result = Err(why),
        }
    }
    text.end()?;
    walk.report_damage(result)
}

/// Decodes a page in the encoding that it declares.
fn decode(page: &[u8]) -> String {
    match charset::of(page) {
        Some(charset) => charset.decode(page),
        None => String::from_utf8_lossy(page).into_owned(),
    }
}

/// Returns the path of the package document, which lists the pages of the book.
fn package(zip: &Archive<'_>) -> Take<Option<Vec<u8>>> {
    let Some(entry) = zip.find(b"META-INF/container.xml") else {
        return Ok(None);
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    loop {
        match xml.next()? {
            Node::Open(element) if element.name() == "rootfile" => {
                return Ok(element.attribute("full-path").map(String::into_bytes));
            }
            Node::End => return Ok(None),
            _ => {}
        }
    }
}

/// Returns the names of the pages in reading order.
fn spine(zip: &Archive<'_>, package: &[u8]) -> Take<Vec<Vec<u8>>> {
    let Some(entry) = zip.find(package) else {
        return Ok(Vec::new());
    };
    let slash = memchr::memrchr(b'/', package).map_or(0, |slash| slash + 1);
    let folder = &package[..slash];
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let (mut items, mut order) = (std::collections::BTreeMap::new(), Vec::new());
    loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "item" => {
                    if let (Some(id), Some(href)) =
                        (element.attribute("id"), element.attribute("href"))
                    {
                        items.insert(id, target(folder, &unescaped(&href)));
                    }
                }
                "itemref" => order.extend(element.attribute("idref")),
                _ => {}
            },
            Node::End => break,
            _ => {}
        }
    }
    Ok(order
        .iter()
        .filter_map(|id| items.get(id).cloned())
        .collect())
}

/// Resolves `%20` and other escapes of a reference.
fn unescaped(reference: &str) -> String {
    let bytes = reference.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let hex = reference.get(at + 1..at + 3).filter(|_| byte == b'%');
        let code = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}
