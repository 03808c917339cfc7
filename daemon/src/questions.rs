//! The question that both the overlay and the alerts ask of the index.

use std::path::Path;

use resemble_index::Snapshot;
use resemble_proto::catalogued::is_catalogued;
use resemble_query::AskError;
use resemble_query::find::{self, Similar, Subject};

/// The files that resemble the file at `path` as the index knows it, best first, and how many there
/// are in all. Files that only a catalogue has are left out: a link to them would lead nowhere.
/// There are none if the file is not indexed.
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
