//! Sets of identical files, with their sizes and totals.

use std::cmp::Reverse;

use resemble_core::ContentId;
use resemble_index::Snapshot;
use resemble_proto::message::{
    Groups, GroupsRequest, GroupsSummary, Header, IdenticalSet, Looked, SoftError, Whole,
};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::scope::ScopedFiles;

/// At least two files with equal bytes. They are not empty.
pub(super) struct SameBytes {
    /// The size of each file.
    pub(super) size: u64,
    /// The indexes of the files in the list of all files by path, in ascending order.
    pub(super) files: Vec<u32>,
}

impl SameBytes {
    /// Returns the number of bytes of all files except one.
    const fn overhead(&self) -> u64 {
        (self.files.len() as u64 - 1) * self.size
    }
}

/// Answers a question about identical files only, from an index. A set consists of the files of one
/// content.
pub(super) fn answer(
    snapshot: &Snapshot,
    request: &GroupsRequest,
) -> Result<Whole<Groups>, AskError> {
    let scoped = ScopedFiles::of(snapshot, &request.scope)?;
    let looked = scoped.looked(snapshot);
    let mut errors = scoped.errors.clone();
    let of = match &request.of {
        Some(path) if super::takes_part(snapshot, &scoped, path, &mut errors)? => {
            let row = snapshot.file_at(path.as_path())?;
            row.and_then(|row| row.state.content())
        }
        _ => None,
    };
    let is_wanted = |content| request.of.is_none() || of == Some(content);
    whole((looked, errors), 0, |body| {
        add_scoped(snapshot, &scoped, (request.top, &is_wanted), body)
    })
}

/// Returns an answer with the sets that `add_sets` adds. The answer also has the scope and the
/// errors of the scan, and the number of `pending` files.
pub(super) fn whole(
    (looked, errors): (Looked, Vec<SoftError>),
    pending: u64,
    add_sets: impl FnOnce(&mut Groups) -> Result<(), AskError>,
) -> Result<Whole<Groups>, AskError> {
    let mut body = Groups {
        summary: GroupsSummary {
            files: looked.files,
            bytes: looked.bytes,
            ..GroupsSummary::default()
        },
        ..Groups::default()
    };
    add_sets(&mut body)?;
    let header = Header {
        fresh: pending == 0,
        pending,
        total: body.summary.sets,
        shown: body.identical.len() as u64,
        looked: Some(looked),
        ..Header::default()
    };
    Ok(Whole {
        header,
        body,
        errors,
    })
}

/// Adds the sets of a scope to an answer, with their totals. A set is left out if its content is
/// not wanted.
pub(super) fn add_scoped(
    snapshot: &Snapshot,
    scoped: &ScopedFiles,
    (top, is_wanted): (Option<u64>, &dyn Fn(ContentId) -> bool),
    body: &mut Groups,
) -> Result<(), AskError> {
    let mut sets = Vec::new();
    for (content, files) in scoped.copies().filter(|(content, _)| is_wanted(*content)) {
        let size = snapshot.content(content)?.map_or(0, |row| row.size.0);
        if size > 0 {
            sets.push(SameBytes { size, files });
        }
    }
    add(sets, top, body, |place| {
        let file = &scoped.files[place as usize];
        (file.path.clone(), file.mtime)
    });
    Ok(())
}

/// Adds sets and their totals to an answer. The set with the most overhead comes first. `file`
/// returns the path and the time of the last change at a place.
pub(super) fn add(
    mut sets: Vec<SameBytes>,
    top: Option<u64>,
    body: &mut Groups,
    file: impl Fn(u32) -> (PathText, i64),
) {
    sets.sort_unstable_by_key(|set| (Reverse(set.overhead()), Reverse(set.size), set.files[0]));
    body.summary.sets = sets.len() as u64;
    body.summary.set_files = sets.iter().map(|set| set.files.len() as u64).sum();
    body.summary.overhead = sets.iter().map(SameBytes::overhead).sum();
    super::answer::cut(&mut sets, top);
    body.identical.extend(sets.into_iter().map(|set| {
        let (paths, mtimes) = set.files.into_iter().map(&file).unzip();
        IdenticalSet {
            size: set.size,
            paths,
            mtimes,
            ..IdenticalSet::default()
        }
    }));
}
