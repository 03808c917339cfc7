//! Open Document (odt, ods, odp) and EPUB: zips whose first entry says what they are.
//!
//! The text of an Open Document file is in one part, in reading order but for notes and comments,
//! which stand where they are referred to, in the middle of a sentence. They go to the end, where
//! other formats have them.

use std::io::Read;

use super::markup;
use super::office::target;
use super::xml::{Node, Xml};
use super::zip::Archive;
use crate::Skipped;
use crate::charset::{self, Charset};
use crate::read::{Place, Stop, Take, Text, Walk};

/// What such a zip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenDocument {
    Open,
    Epub,
}

/// By the entry `mimetype`.
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
    let mut xml = Xml::new(zip.reader(content)?)?;
    let mut aside = String::new();
    let mut text = walk.text(place);
    // How many paragraphs of the text (or of a note) are open around the cursor.
    let (mut depth, mut notes) = (0u64, 0u64);
    loop {
        let to = &mut Target {
            text: &mut text,
            aside: (notes > 0).then_some(&mut aside),
        };
        match xml.next()? {
            Node::Open(element) => match element.full_name() {
                "text:p" | "text:h" => depth += 1,
                "text:s" | "text:tab" | "text:line-break" => to.push(" ")?,
                "text:note-body" | "office:annotation" => notes += 1,
                // The number of a note, what a change took away, how a picture is described, who
                // commented.
                "text:note-citation"
                | "text:tracked-changes"
                | "svg:title"
                | "svg:desc"
                | "dc:creator"
                | "dc:date"
                | "meta:creator-initials" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "p" | "h" => {
                    depth = depth.saturating_sub(1);
                    to.push("\n")?;
                }
                "note-body" | "annotation" => notes = notes.saturating_sub(1),
                "table-cell" => to.push("\t")?,
                _ => {}
            },
            Node::Text(piece) if depth > 0 => to.push(&piece)?,
            Node::End => break,
            _ => {}
        }
    }
    text.push(&aside)?;
    text.end()
}

/// The text, or what is kept for its end.
struct Target<'t, 'w, 'a> {
    text: &'t mut Text<'w>,
    aside: Option<&'a mut String>,
}

impl Target<'_, '_, '_> {
    fn push(&mut self, piece: &str) -> Take {
        match &mut self.aside {
            Some(aside) => {
                aside.push_str(piece);
                Ok(())
            }
            None => self.text.push(piece),
        }
    }
}

/// The pages of a book in the order of its spine.
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
    for page in spine(zip, &package)? {
        // A page that is missing is no reason to lose the others.
        if let Some(page) = zip.whole(&page)? {
            markup::text_of(&decode(&page), &mut text)?;
        }
    }
    text.end()
}

/// A page as text: it says itself how it is encoded.
fn decode(page: &[u8]) -> String {
    match charset::of(page) {
        Some(Charset::Listed(encoding)) => encoding.decode(page).0.into_owned(),
        _ => String::from_utf8_lossy(page).into_owned(),
    }
}

/// Where the package document is.
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

/// The names of the pages, in order.
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

/// A reference without its `%20`.
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
