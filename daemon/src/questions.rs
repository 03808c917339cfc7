//! What the overlay and the alerts ask of the index, in the words of the engine.

use std::path::Path;

use resemble_core::Relation;
use resemble_engine::AskError;
use resemble_engine::find::{self, Similar, Subject};
use resemble_index::Snapshot;

use crate::alerts::window::Partner;

/// The files that resemble the one at `path` as the index has it, best first: those that the overlay
/// lists. Nothing if it is not indexed.
pub(crate) fn similar(snapshot: &Snapshot, path: &Path) -> Result<(Vec<Similar>, usize), AskError> {
    match Subject::remembered(snapshot, path)? {
        Some(subject) => find::listing(snapshot, &subject),
        None => Ok((Vec::new(), 0)),
    }
}

/// The same, as alerts tell it.
pub(crate) fn alike(snapshot: &Snapshot, path: &Path) -> Result<Vec<Partner>, AskError> {
    let (similar, _) = similar(snapshot, path)?;
    Ok(similar
        .into_iter()
        .map(|similar| Partner {
            path: similar.path,
            relation: similar.relation.unwrap_or(Relation::Shares),
            a_in_b: similar.measures.a_in_b,
            b_in_a: similar.measures.b_in_a,
            shared_bytes: similar.measures.shared_bytes,
        })
        .collect())
}
