//! What the overlay and the alerts ask of the index, in the words of `resemble-query`.

use std::path::Path;

use resemble_index::Snapshot;
use resemble_proto::catalogued::is_catalogued;
use resemble_query::AskError;
use resemble_query::find::{self, Similar, Subject};

/// The files that resemble the one at `path` as the index has it, best first: those that the
/// overlay lists: a link to what only a catalogue has leads nowhere. Nothing if it is not indexed.
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
