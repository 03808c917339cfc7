//! The question that both the overlay and the alerts ask of the index.

use std::path::Path;
use std::sync::Arc;

use resemble_index::Snapshot;
use resemble_proto::catalogued::is_catalogued;
use resemble_query::find::{self, Similar, Subject};
use resemble_relate::AskError;
use resemble_scan::parts::PartReader;

/// The files that resemble the file at `path` as the index knows it, best first, and how many there
/// are in all. Files that only a catalogue has are left out: a link to them would lead nowhere.
/// There are none if the file is not indexed. `part_reader` makes texts of documents again, so that
/// what they share is proven.
pub(crate) fn similar(
    snapshot: &Snapshot,
    path: &Path,
    part_reader: Option<&Arc<dyn PartReader>>,
) -> Result<(Vec<Similar>, usize), AskError> {
    match Subject::remembered(snapshot, path)? {
        Some(subject) => {
            let subject = subject.with_part_reader(part_reader.cloned());
            let (mut similar, total) = find::listing(snapshot, &subject, true)?;
            let before = similar.len();
            similar.retain(|similar| !is_catalogued(&similar.path));
            let gone = before - similar.len();
            Ok((similar, total - gone))
        }
        None => Ok((Vec::new(), 0)),
    }
}
