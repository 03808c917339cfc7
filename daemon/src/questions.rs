//! What the overlay and the alerts ask of the index, in the words of the engine.

use std::path::Path;

use resemble_core::{ByteLen, Relation, Score};
use resemble_engine::AskError;
use resemble_engine::find::{self, Similar, Subject};
use resemble_index::{PartRole, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;

use crate::alerts::window::Partner;

/// The files that resemble the one at `path` as the index has it, best first: those that the overlay
/// lists: a link to what only a catalogue has leads nowhere. Nothing if it is not indexed.
pub(crate) fn similar(snapshot: &Snapshot, path: &Path) -> Result<(Vec<Similar>, usize), AskError> {
    match Subject::remembered(snapshot, path)? {
        Some(subject) => {
            let (mut similar, total) = find::listing(snapshot, &subject, true)?;
            let before = similar.len();
            similar.retain(|similar| !is_catalogued(&similar.path));
            let gone = before - similar.len();
            Ok((similar, total - gone))
        }
        None => Ok((Vec::new(), 0)),
    }
}

/// The same, as alerts tell it: files only. That what was just unpacked lies in an archive is no news.
pub(crate) fn alike(snapshot: &Snapshot, path: &Path) -> Result<Vec<Partner>, AskError> {
    let (similar, _) = similar(snapshot, path)?;
    Ok(similar
        .into_iter()
        .filter(|similar| similar.names.is_empty())
        .map(|similar| Partner {
            path: similar.path,
            relation: similar.relation.unwrap_or(Relation::Shares),
            a_in_b: similar.measures.a_in_b,
            b_in_a: similar.measures.b_in_a,
            shared_bytes: similar.measures.shared_bytes,
        })
        .collect())
}

/// Members that are looked at for each archive or mail.
const MOST_MEMBERS: usize = 64;

/// The files that lie in an archive or a mail, byte for byte: those of its members that have at least this size.
pub(crate) fn held(
    snapshot: &Snapshot,
    path: &Path,
    least: ByteLen,
) -> Result<Vec<Partner>, ReadError> {
    let file = snapshot.file_at(path)?;
    let Some(content) = file.and_then(|file| file.state.content()) else {
        return Ok(Vec::new());
    };
    if snapshot.content(content)?.is_none_or(|row| row.parts == 0) {
        return Ok(Vec::new());
    }
    let mut held = Vec::new();
    let parts = snapshot.parts(content)?.into_iter();
    let members = parts.filter(|part| part.role == PartRole::Member);
    for member in members.filter_map(|part| part.content).take(MOST_MEMBERS) {
        let Some(row) = snapshot.content(member)?.filter(|row| row.size >= least) else {
            continue;
        };
        for file in snapshot.files_of(member)? {
            held.extend(
                snapshot
                    .paths(file)?
                    .into_iter()
                    .next()
                    .map(|path| Partner {
                        path,
                        relation: Relation::Contains,
                        a_in_b: None,
                        b_in_a: Some(Score::ONE),
                        shared_bytes: row.size,
                    }),
            );
        }
    }
    held.retain(|partner| !is_catalogued(&partner.path));
    held.sort_by(|a, b| a.path.cmp(&b.path));
    held.dedup_by(|a, b| a.path == b.path);
    Ok(held)
}
