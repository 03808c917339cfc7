//! Reads documents of Microsoft Office since 2007 (ISO 29500): docx, pptx, xlsx.
//!
//! The text is what the author wrote: first the body with its tables and boxes, then notes and
//! comments. Headers and footers, deleted text, and copies for older programs are left out. Hidden
//! text is left out, too, and reported.

use resemble_core::date::DateSource;

use super::date;
use super::package::{Relation, in_order, relations};
use super::sheets;
use super::word::{Hiding, paragraphs};
use super::xml::{Node, Xml};
use super::zip::Archive;
use crate::read::{Place, Take, Text, Walk, unsupported};

/// The type of document in a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfficeKind {
    Word,
    Slides,
    Sheets,
}

/// An Office document that was recognised.
#[derive(Debug)]
pub(super) struct OfficeDocument {
    kind: OfficeKind,
    /// The name of the main part.
    main: Vec<u8>,
    /// The name of the part that states the dates of the document.
    core: Option<Vec<u8>>,
}

/// Returns the Office document in a zip, if there is one.
pub(super) fn recognise(zip: &Archive<'_>) -> Take<Option<OfficeDocument>> {
    if zip.find(b"[Content_Types].xml").is_none() {
        return Ok(None);
    }
    let mut relations = relations(zip, b"")?;
    let mut target = |kind: &str| {
        let at = relations
            .iter()
            .position(|relation| relation.kind == kind)?;
        Some(relations.swap_remove(at).target)
    };
    let Some(main) = target("officeDocument") else {
        return Ok(None);
    };
    let core = target("core-properties");
    if main.ends_with(b".bin") {
        return Err(unsupported("a binary workbook"));
    }
    // The outermost element of the main part states the type of the document.
    let Some(entry) = zip.find(&main) else {
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
    Ok(Some(OfficeDocument { kind, main, core }))
}

pub(super) fn read(
    walk: &mut Walk,
    zip: &Archive<'_>,
    document: &OfficeDocument,
    place: Place,
) -> Take {
    let relations = relations(zip, &document.main)?;
    let mut hiding = match document.kind {
        OfficeKind::Word => Hiding::of_styles(zip, &relations)?,
        _ => Hiding::default(),
    };
    let mut text = walk.text(place);
    let result = body(zip, document, &relations, &mut hiding, &mut text);
    text.end()?;
    walk.report_damage(result)?;
    if let Some(core) = &document.core {
        let wanted = [DateSource::OfficeModified, DateSource::OfficeCreated];
        walk.date(place, date::in_part(zip, core, &wanted)?)?;
    }
    walk.left_out(hiding.count)
}

fn body(
    zip: &Archive<'_>,
    document: &OfficeDocument,
    relations: &[Relation],
    hiding: &mut Hiding,
    text: &mut Text<'_>,
) -> Take {
    match document.kind {
        OfficeKind::Word => {
            paragraphs(zip, &document.main, hiding, text)?;
            for kind in ["footnotes", "endnotes", "comments"] {
                for part in relations.iter().filter(|part| part.kind == kind) {
                    paragraphs(zip, &part.target, hiding, text)?;
                }
            }
            Ok(())
        }
        OfficeKind::Slides => {
            for slide in in_order(zip, &document.main, "sldId", relations)? {
                paragraphs(zip, &slide, hiding, text)?;
                for notes in self::relations(zip, &slide)? {
                    if notes.kind == "notesSlide" {
                        paragraphs(zip, &notes.target, hiding, text)?;
                    }
                }
            }
            Ok(())
        }
        OfficeKind::Sheets => sheets::read(zip, &document.main, relations, text),
    }
}
