//! Documents of Microsoft Office since 2007 (ISO 29500): docx, pptx, xlsx.
//!
//! A package says by relationships where its parts are; nothing is found by its name. What is read
//! is what the author wrote: the body with its tables and boxes, then notes and comments. Left out
//! is what a page repeats (headers and footers), what a change took away, and what programs wrote
//! for older programs.

use std::io::Read;

use super::xml::{Node, Xml};
use super::zip::Archive;
use crate::read::{Place, Take, Text, Walk};

/// What a package holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfficeKind {
    Word,
    Slides,
    Sheets,
}

/// A package that was recognised.
#[derive(Debug)]
pub(super) struct OfficeDocument {
    kind: OfficeKind,
    /// The main part.
    main: Vec<u8>,
}

/// A relationship: its id, the last component of its type, its target.
#[derive(Debug)]
struct Relation {
    id: String,
    kind: String,
    target: Vec<u8>,
}

/// Whether a zip is such a document.
pub(super) fn recognise(zip: &Archive<'_>) -> Take<Option<OfficeDocument>> {
    if zip.find(b"[Content_Types].xml").is_none() {
        return Ok(None);
    }
    let relations = relations(zip, b"")?;
    let Some(main) = relations
        .into_iter()
        .find(|relation| relation.kind == "officeDocument")
    else {
        return Ok(None);
    };
    // What it is, its outermost element says.
    let Some(entry) = zip.find(&main.target) else {
        return Ok(None);
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let kind = loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "document" => break OfficeKind::Word,
                "presentation" => break OfficeKind::Slides,
                "workbook" => break OfficeKind::Sheets,
                _ => return Ok(None),
            },
            Node::End => return Ok(None),
            _ => {}
        }
    };
    drop(xml);
    Ok(Some(OfficeDocument {
        kind,
        main: main.target,
    }))
}

pub(super) fn read(
    walk: &mut Walk,
    zip: &Archive<'_>,
    document: &OfficeDocument,
    place: Place,
) -> Take {
    let relations = relations(zip, &document.main)?;
    let strings = match document.kind {
        OfficeKind::Sheets => shared_strings(walk, zip, &relations)?,
        _ => Vec::new(),
    };
    let mut text = walk.text(place);
    match document.kind {
        OfficeKind::Word => {
            paragraphs(zip, &document.main, &mut text)?;
            for kind in ["footnotes", "endnotes", "comments"] {
                for part in relations.iter().filter(|part| part.kind == kind) {
                    paragraphs(zip, &part.target, &mut text)?;
                }
            }
        }
        OfficeKind::Slides => {
            for slide in in_order(zip, &document.main, "sldId", &relations)? {
                paragraphs(zip, &slide, &mut text)?;
                for notes in self::relations(zip, &slide)? {
                    if notes.kind == "notesSlide" {
                        paragraphs(zip, &notes.target, &mut text)?;
                    }
                }
            }
        }
        OfficeKind::Sheets => {
            for sheet in in_order(zip, &document.main, "sheet", &relations)? {
                cells(zip, &sheet, &strings, &mut text)?;
            }
        }
    }
    text.end()
}

/// The relationships of a part, of the package for the empty name.
fn relations(zip: &Archive<'_>, of: &[u8]) -> Take<Vec<Relation>> {
    let (folder, file) = match memchr::memrchr(b'/', of) {
        Some(slash) => of.split_at(slash + 1),
        None => (&b""[..], of),
    };
    let name = [folder, b"_rels/", file, b".rels"].concat();
    let Some(entry) = zip.find(&name) else {
        return Ok(Vec::new());
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let mut all = Vec::new();
    loop {
        match xml.next()? {
            Node::Open(element) if element.name() == "Relationship" => {
                let external = element.attribute("TargetMode");
                if external.is_some_and(|mode| mode == "External") {
                    continue;
                }
                let kind = element.attribute("Type").unwrap_or_default();
                all.push(Relation {
                    id: element.attribute("Id").unwrap_or_default(),
                    kind: kind.rsplit('/').next().unwrap_or_default().to_owned(),
                    target: target(folder, &element.attribute("Target").unwrap_or_default()),
                });
            }
            Node::End => return Ok(all),
            _ => {}
        }
    }
}

/// The name of a part that is referred to from a folder.
pub(super) fn target(folder: &[u8], reference: &str) -> Vec<u8> {
    if let Some(absolute) = reference.strip_prefix('/') {
        return absolute.as_bytes().to_vec();
    }
    let from = String::from_utf8_lossy(folder);
    let mut names: Vec<&str> = from.split('/').filter(|name| !name.is_empty()).collect();
    for name in reference.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/").into_bytes()
}

/// The parts that the main part refers to in elements of this name, in their order.
fn in_order(
    zip: &Archive<'_>,
    main: &[u8],
    name: &str,
    relations: &[Relation],
) -> Take<Vec<Vec<u8>>> {
    let Some(entry) = zip.find(main) else {
        return Ok(Vec::new());
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let mut all = Vec::new();
    loop {
        match xml.next()? {
            Node::Open(element) if element.name() == name => {
                let id = element.prefixed("r:id");
                let relation = relations.iter().find(|of| Some(&of.id) == id.as_ref());
                all.extend(relation.map(|relation| relation.target.clone()));
            }
            Node::End => return Ok(all),
            _ => {}
        }
    }
}

/// The text of a part with paragraphs: a body, notes, a slide.
fn paragraphs(zip: &Archive<'_>, name: &[u8], to: &mut Text<'_>) -> Take {
    let Some(entry) = zip.find(name) else {
        return Ok(());
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let mut in_text = false;
    loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "t" => in_text = true,
                "tab" | "br" | "cr" => to.push_char(' ')?,
                "noBreakHyphen" => to.push_char('\u{2011}')?,
                "softHyphen" => to.push_char('\u{ad}')?,
                // Taken away, or said a second time for older programs.
                "del" | "moveFrom" | "Fallback" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "t" => in_text = false,
                "p" => to.push_char('\n')?,
                _ => {}
            },
            Node::Text(text) if in_text => to.push(&text)?,
            Node::End => return Ok(()),
            _ => {}
        }
    }
}

/// The texts that cells refer to by number.
fn shared_strings(walk: &Walk, zip: &Archive<'_>, relations: &[Relation]) -> Take<Vec<String>> {
    let part = relations.iter().find(|part| part.kind == "sharedStrings");
    let Some(entry) = part.and_then(|part| zip.find(&part.target)) else {
        return Ok(Vec::new());
    };
    let mut xml = Xml::new(zip.reader(entry)?.take(walk.limits.memory / 4))?;
    let mut all = Vec::new();
    let (mut current, mut in_text) = (String::new(), false);
    loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "t" => in_text = true,
                // How it is pronounced.
                "rPh" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "t" => in_text = false,
                "si" => all.push(std::mem::take(&mut current)),
                _ => {}
            },
            Node::Text(text) if in_text => current.push_str(&text),
            Node::End => return Ok(all),
            _ => {}
        }
    }
}

/// The cells of a sheet, row by row. Formulas are left out: what they come to is there.
fn cells(zip: &Archive<'_>, name: &[u8], strings: &[String], to: &mut Text<'_>) -> Take {
    let Some(entry) = zip.find(name) else {
        return Ok(());
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let (mut shared, mut in_value, mut value) = (false, false, String::new());
    loop {
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "c" => shared = element.attribute("t").is_some_and(|kind| kind == "s"),
                "v" | "t" => in_value = true,
                "rPh" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "v" | "t" => in_value = false,
                "c" => {
                    let at = value.trim().parse::<usize>().ok().filter(|_| shared);
                    match at.and_then(|at| strings.get(at)) {
                        Some(string) => to.push(string)?,
                        None => to.push(&value)?,
                    }
                    to.push_char('\t')?;
                    value.clear();
                }
                "row" => to.push_char('\n')?,
                _ => {}
            },
            Node::Text(text) if in_value => value.push_str(&text),
            Node::End => return Ok(()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_relative_to_the_folder() {
        assert_eq!(target(b"word/", "footnotes.xml"), b"word/footnotes.xml");
        assert_eq!(
            target(b"ppt/slides/", "../notes/n1.xml"),
            b"ppt/notes/n1.xml"
        );
        assert_eq!(target(b"ppt/", "/xl/a.xml"), b"xl/a.xml");
        assert_eq!(target(b"", "../../a"), b"a");
    }
}
