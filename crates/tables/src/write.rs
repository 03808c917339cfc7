//! Converts the records of a catalogue to the rows of all tables.

use std::collections::BTreeMap;
use std::path::Path;

use resemble_catalogue::{Catalogue, CatalogueRecord, EntryKind, Part, Samples, Totals};
use resemble_core::{Digest, Params};

use crate::manifest::Manifest;
use crate::order::{Distinct, Order};
use crate::table::{Cell, Kind, Layout, Table};
use crate::{SCHEMA, TablesError, Written};

const HEAD: Layout = Layout {
    name: "head",
    columns: &[
        ("schema", Kind::Int),
        ("params", Kind::Bytes),
        ("label", Kind::Bytes),
        ("created", Kind::Int),
        ("salt", Kind::Int),
        ("files", Kind::Int),
        ("contents", Kind::Int),
        ("postings", Kind::Int),
        ("parts", Kind::Int),
    ],
};

const FILES: Layout = Layout {
    name: "files",
    columns: &[
        ("path", Kind::Path),
        ("kind", Kind::Int),
        ("file", Kind::IntOrNull),
        ("size", Kind::IntOrNull),
        ("mtime", Kind::IntOrNull),
        ("cid", Kind::IntOrNull),
    ],
};

const CONTENTS: Layout = Layout {
    name: "contents",
    columns: &[
        ("cid", Kind::Int),
        ("digest", Kind::Bytes),
        ("size", Kind::Int),
        ("kind", Kind::Int),
        ("level", Kind::Int),
        ("words", Kind::BytesOrNull),
    ],
};

const POSTINGS: Layout = Layout {
    name: "postings",
    columns: &[
        ("cid", Kind::Int),
        ("kind", Kind::Int),
        ("key", Kind::Int),
        ("times", Kind::Int),
    ],
};

const PARTS: Layout = Layout {
    name: "parts",
    columns: &[
        ("cid", Kind::Int),
        ("number", Kind::Int),
        ("parent", Kind::IntOrNull),
        ("role", Kind::Int),
        ("name", Kind::Bytes),
        ("part", Kind::IntOrNull),
    ],
};

/// Kinds of postings.
const CHUNK: i64 = 0;
const FINGERPRINT: i64 = 1;

/// Writes the tables of a catalogue into `folder`, and replaces older tables with the same label.
/// The contents of the catalogue must be digested with `params`.
///
/// # Errors
///
/// See [`TablesError`]. If a record cannot be converted, the older tables and their manifest stay.
/// If a table cannot be completed, the tables that were completed before it stay, without a
/// manifest.
pub fn write(
    mut catalogue: Catalogue,
    params: &Params,
    salt: u64,
    folder: &Path,
) -> Result<Written, TablesError> {
    resemble_catalogue::fits(&catalogue, params)?;
    let head = catalogue.head().clone();
    let details = &head.details;
    let label = &details.label;
    if details.samples != Samples::All {
        return Err(TablesError::Thinned {
            label: label.clone(),
        });
    }
    let mut manifest = Manifest::new(label, &head.params, details.created, salt);
    let notes = [
        ("schema", SCHEMA.to_string()),
        ("params", head.params.clone()),
        ("label", label.clone()),
        ("created", details.created.to_string()),
        ("salt", salt.to_string()),
    ];
    let new = |layout| Table::new(layout, folder, label, &notes);
    let (mut files, mut parts) = (new(&FILES)?, new(&PARTS)?);
    let mut order = Order::new(salt);
    let mut totals = Totals::default();
    while let Some(record) = catalogue.next_record()? {
        match record {
            CatalogueRecord::Head(_) => return Err(catalogue.forged().into()),
            CatalogueRecord::Content(content) => {
                if !order.push(&content, &catalogue.last_body()) {
                    return Err(catalogue.forged().into());
                }
            }
            CatalogueRecord::Look { content, apart } => {
                let of = order.content(content);
                let (cid, _) = of.ok_or_else(|| catalogue.forged())?;
                for (number, part) in (0..).zip(apart.map_or(Vec::new(), |(parts, ..)| parts)) {
                    push_part(&mut parts, (cid, number), &part, &order)?;
                }
            }
            CatalogueRecord::Entry { path, what } => {
                push_entry(&mut files, &path, &what, &order)?;
            }
            CatalogueRecord::End(all) => totals = all,
        }
    }
    let (mut contents, mut postings) = (new(&CONTENTS)?, new(&POSTINGS)?);
    let mut distinct = Distinct::default();
    for (cid, body) in order.sorted() {
        let digest = catalogue.content_at(&body, params)?;
        distinct.see(cid, digest.content)?;
        push_content(&mut contents, cid, &digest)?;
        push_postings(&mut postings, cid, &digest)?;
    }
    let mut of_head = new(&HEAD)?;
    let rows = |table: &Table| Cell::Int(table.rows().cast_signed());
    of_head.push(&[
        Cell::Int(SCHEMA),
        Cell::Bytes(head.params.as_bytes()),
        Cell::Bytes(label.as_bytes()),
        Cell::Int(details.created),
        Cell::Int(salt.cast_signed()),
        rows(&files),
        rows(&contents),
        rows(&postings),
        rows(&parts),
    ])?;
    // All records are converted before the first table replaces an older one. After an error, only
    // some of the tables may be replaced. So the manifest is removed first and written last.
    manifest.remove(folder)?;
    for table in [of_head, files, contents, postings, parts] {
        manifest.tables.push(table.finish()?);
    }
    manifest.put(folder)?;
    Ok(Written {
        totals,
        tables: manifest.tables.len() as u64,
        bytes: manifest.tables.iter().map(|table| table.bytes).sum(),
    })
}

fn int(number: u64) -> Cell<'static> {
    Cell::Int(number.cast_signed())
}

fn push_entry(
    files: &mut Table,
    path: &[u8],
    what: &EntryKind,
    order: &Order,
) -> Result<(), TablesError> {
    let null = Cell::Null;
    let (kind, file, size, mtime, cid) = match *what {
        EntryKind::Dir => (0, null, null, null, null),
        EntryKind::File {
            file,
            mtime,
            content,
        } => {
            let content = order.content(content);
            let (cid, size) =
                content.map_or((null, null), |(cid, size)| (Cell::Int(cid), int(size.0)));
            (1, int(file.into()), size, Cell::Int(mtime), cid)
        }
        EntryKind::Symlink(_) => (2, null, null, null, null),
        EntryKind::Special(_) => (3, null, null, null, null),
        EntryKind::Unreadable { file, size, .. } => (4, int(file.into()), int(size), null, null),
        EntryKind::Skipped { file, size, .. } => (5, int(file.into()), int(size), null, null),
    };
    files.push(&[Cell::Bytes(path), Cell::Int(kind), file, size, mtime, cid])
}

fn push_part(
    parts: &mut Table,
    (cid, number): (i64, i64),
    part: &Part,
    order: &Order,
) -> Result<(), TablesError> {
    let content = part.content.and_then(|content| order.content(content));
    parts.push(&[
        Cell::Int(cid),
        Cell::Int(number),
        part.parent.map(i64::from).into(),
        Cell::Int(part.role as i64),
        Cell::Bytes(&part.name),
        content.map(|(cid, _)| cid).into(),
    ])
}

fn push_content(contents: &mut Table, cid: i64, digest: &Digest) -> Result<(), TablesError> {
    contents.push(&[
        Cell::Int(cid),
        Cell::Bytes(&digest.content.0),
        int(digest.size.0),
        int(digest.kind.number().into()),
        int(digest.signature.level.into()),
        (digest.words.as_ref()).map_or(Cell::Null, |words| Cell::Bytes(&words.0)),
    ])
}

fn push_postings(postings: &mut Table, cid: i64, digest: &Digest) -> Result<(), TablesError> {
    let mut chunks: BTreeMap<u64, u64> = BTreeMap::new();
    for run in digest.chunks.0.iter().filter(|run| run.is_evidence()) {
        let times = chunks.entry(run.hash.posting_key()).or_default();
        *times = times.saturating_add(run.count);
    }
    let mut prints: Vec<u64> = digest.posted().map(|print| print.0).collect();
    prints.sort_unstable();
    prints.dedup();
    let chunks = chunks.into_iter().map(|(key, times)| (CHUNK, key, times));
    let prints = prints.into_iter().map(|key| (FINGERPRINT, key, 1));
    for (kind, key, times) in chunks.chain(prints) {
        postings.push(&[Cell::Int(cid), Cell::Int(kind), int(key), int(times)])?;
    }
    Ok(())
}
