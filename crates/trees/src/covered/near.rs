//! Finds near copies of missing files.
//!
//! If a missing file has changed since the index read it, no near copies of that file are found
//! with the index. A near copy never makes a file safe.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentId, FileId};
use resemble_index::{FileState, Snapshot};
use resemble_proto::message::{NearRow, Scope, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::scope::ScopedFiles;
use resemble_scan::parts::PartReader;

use super::LostFiles;
use crate::compare::indexed::{ListedSide, joined};
use crate::compare::{NearestFile, NearestQuestion};

/// Returns a row for each missing file that has a similar file below one of the roots `by`. A pair
/// that is not listed gets no row. The row names the file that contains most of the missing file.
/// If that file has several paths, the row has the one that sorts first.
pub(super) fn rows(
    snapshot: &Snapshot,
    part_reader: Option<&dyn PartReader>,
    lost: &LostFiles<'_>,
    memory: Option<u64>,
) -> Result<(Vec<NearRow>, Vec<SoftError>), AskError> {
    let &LostFiles { listing, by, .. } = lost;
    let mut known: Vec<(&Path, FileId, ContentId)> = Vec::new();
    for file in &lost.files {
        let row = snapshot
            .file_at(&file.path)?
            .filter(|row| file.is_as(&row.stat));
        let content = row.and_then(|row| match row.state {
            FileState::Settled(content) | FileState::Unsettled(content) => Some((row.id, content)),
            _ => None,
        });
        if let Some((id, content)) = content.filter(|_| !too_small(ByteLen(file.stat.size))) {
            known.push((&file.path, id, content));
        }
    }
    let (Some(root), false) = (by.first(), known.is_empty()) else {
        return Ok(Default::default());
    };
    let mut scoped = ScopedFiles::of(snapshot, &scope_of(by))?;
    scoped.retain(|path| !path.starts_with(&listing.dir));
    let roots = [&*listing.dir, root.as_path()];
    let known = known.iter();
    let a = known.map(|&(path, id, content)| (below(roots[0], path), id, content));
    let a = ListedSide::of_files(snapshot, roots[0], a)?;
    let b = scoped.files.iter();
    let b = b.map(|file| (below(roots[1], &file.path), file.file, file.content));
    let b = ListedSide::of_files(snapshot, roots[1], b)?;
    let (sides, pieces) = joined(snapshot, a, b, true)?;
    let question = NearestQuestion {
        sides: &sides,
        pieces: &pieces,
        scoped: Some(&scoped),
        templates: snapshot.templates(),
        limit: snapshot.boilerplate_limit(),
        part_reader,
        memory,
    };
    near_rows(&question)
}

/// Returns the scope of everything under these roots.
pub(super) fn scope_of(by: &[PathText]) -> Scope {
    Scope {
        within: by.to_vec(),
        ..Scope::default()
    }
}

/// Returns the row of each file that has a partner.
pub(super) fn near_rows(
    question: &NearestQuestion<'_>,
) -> Result<(Vec<NearRow>, Vec<SoftError>), AskError> {
    let (nearest, errors) = question.ask()?;
    Ok((nearest.iter().map(row).collect(), errors))
}

/// Returns `path` relative to `root`. Returns the whole path if it is not below the root.
pub(super) fn below<'p>(root: &Path, path: &'p Path) -> &'p [u8] {
    let below = path.strip_prefix(root).ok();
    let below = below.filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(path).as_os_str().as_bytes()
}

fn row(found: &NearestFile) -> NearRow {
    let measures = &found.measures;
    NearRow {
        path: PathText::from(found.path.as_path()),
        by: PathText::from(found.by.as_path()),
        a_in_b: Fraction::from(measures.a_in_b),
        b_in_a: Fraction::from(measures.b_in_a),
        shared_bytes: measures.shared_bytes.0,
        told: found.told,
    }
}
