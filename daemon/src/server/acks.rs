//! Handles `ack` requests, which mark contents that a person has seen together.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use resemble_core::{ContentDigest, ContentId};
use resemble_index::Snapshot;
use resemble_proto::message::{AckRow, Answer, Failure, FailureKind};
use resemble_proto::path::PathText;

use super::context::Context;
use crate::acks::Ack;
use crate::alerts::{partners, rules::Rules};

/// The maximum number of files that `alerts ack FILE` marks together with the named file.
const MOST: usize = 1000;

/// An indexed file and its content.
struct IndexedFile {
    path: PathBuf,
    content: ContentId,
    digest: ContentDigest,
}

/// Marks `a` and `b` as seen together. Without `b`, each file that resembles `a` is marked together
/// with `a`. With `group`, one mark is about `a` and all these files. Returns one row for each
/// mark.
pub(super) fn mark(
    context: &Context,
    a: &PathText,
    b: Option<&PathText>,
    group: bool,
) -> Result<Answer<AckRow>, Failure> {
    let snapshot = context.shared.snapshot().map_err(internal)?;
    let a = known(&snapshot, a.as_path())?;
    let others = match b {
        Some(b) => vec![known(&snapshot, b.as_path())?],
        None => alike(context, &snapshot, &a)?,
    };
    if others.is_empty() {
        return Ok(Answer::fresh(Vec::new(), Vec::new()));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = since.map_or(0, |since| since.as_secs());
    let of = |files: &[&IndexedFile]| {
        let row = AckRow {
            time,
            group,
            paths: files
                .iter()
                .map(|file| file.path.as_path().into())
                .collect(),
        };
        let digests: Vec<ContentDigest> = files.iter().map(|file| file.digest).collect();
        Ack::new(row, &digests)
    };
    let marks: Vec<Ack> = if group {
        let all: Vec<&IndexedFile> = std::iter::once(&a).chain(&others).collect();
        vec![of(&all)]
    } else {
        others.iter().map(|other| of(&[&a, other])).collect()
    };
    let rows = marks.iter().map(|mark| mark.row.clone()).collect();
    context.shared.acks().add(marks).map_err(internal)?;
    Ok(Answer::fresh(rows, Vec::new()))
}

/// Removes the marks about `a`. If `b` is given, removes only the marks about both files. Returns
/// one row for each removed mark.
pub(super) fn undo(
    context: &Context,
    a: &PathText,
    b: Option<&PathText>,
) -> Result<Answer<AckRow>, Failure> {
    let snapshot = context.shared.snapshot().map_err(internal)?;
    let a = known(&snapshot, a.as_path())?.digest;
    let b = b.map(|b| known(&snapshot, b.as_path())).transpose()?;
    let rows = context.shared.acks().undo(a, b.map(|b| b.digest));
    Ok(Answer::fresh(rows.map_err(internal)?, Vec::new()))
}

fn known(snapshot: &Snapshot, path: &Path) -> Result<IndexedFile, Failure> {
    let content = partners::content_at(snapshot, path).map_err(internal)?;
    let row = content.map(|content| snapshot.content(content)).transpose();
    let row = row.map_err(internal)?.flatten();
    row.map(|row| IndexedFile {
        path: path.to_owned(),
        content: row.id,
        digest: row.digest,
    })
    .ok_or_else(|| {
        let path = path.display();
        let text = format!("{path} is no file that the daemon watches");
        Failure::new(FailureKind::Refused, text)
    })
}

/// Returns the files that resemble this one closely enough for an alert. Files with the same
/// content are first.
fn alike(
    context: &Context,
    snapshot: &Snapshot,
    file: &IndexedFile,
) -> Result<Vec<IndexedFile>, Failure> {
    let holders = partners::holders(snapshot, file.content).map_err(internal)?;
    let mut paths: Vec<PathBuf> = holders.into_iter().map(|(path, _)| path).collect();
    let least = Rules::new(context.shared.all_alert_rules()).least_share(&file.path);
    let part_reader = context.shared.part_reader();
    let alike = partners::alike(snapshot, &file.path, part_reader, least).map_err(internal)?;
    paths.extend(alike.into_iter().map(|partner| partner.path));
    let mut seen = vec![file.path.clone()];
    let mut found = Vec::new();
    for path in paths {
        if !seen.contains(&path) && found.len() < MOST {
            found.extend(known(snapshot, &path).ok());
            seen.push(path);
        }
    }
    Ok(found)
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn internal(error: impl ToString) -> Failure {
    Failure::new(FailureKind::Internal, error.to_string())
}
