//! What a file resembles, and what lies in it, as partners of an alert.

use std::path::Path;

use resemble_core::{ByteLen, Relation, Score};
use resemble_engine::AskError;
use resemble_index::{PartRole, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;

use super::window::Partner;
use crate::questions::similar;

/// The files that resemble the one at `path`, best first, but for the members of archives: that what
/// was just unpacked lies in an archive is no news.
pub(super) fn alike(snapshot: &Snapshot, path: &Path) -> Result<Vec<Partner>, AskError> {
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
pub(super) fn held(
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
