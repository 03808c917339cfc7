//! Reads packages of Microsoft Office (ISO 29500, part 2). Parts are found by the relationships of
//! the package, not by fixed names.

use super::xml::{Node, Xml};
use super::zip::Archive;
use crate::read::Take;

/// A relationship: its id, the last component of its type, and the name of the part that it refers
/// to.
#[derive(Debug)]
pub(super) struct Relation {
    id: String,
    pub(super) kind: String,
    pub(super) target: Vec<u8>,
}

/// Returns the relationships of a part. The empty name means the package itself.
pub(super) fn relations(zip: &Archive<'_>, of: &[u8]) -> Take<Vec<Relation>> {
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

/// Resolves a reference to a part. `folder` is the folder to which the reference is relative.
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

/// Returns the parts to which elements of the main part refer, in the order of the elements. Only
/// elements with this name are used.
pub(super) fn in_order(
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
