//! The search for similar files, which both the overlay and the alerts use.

use std::path::Path;
use std::sync::Arc;

use resemble_index::Snapshot;
use resemble_proto::catalogued::is_catalogued;
use resemble_query::find::{self, Similar, Subject};
use resemble_relate::AskError;
use resemble_scan::parts::PartReader;

/// Returns the files that resemble the indexed file at `path`, best first, and their total number.
/// Files of catalogues are left out, because a link to them would lead nowhere. The result is empty
/// if the file is not indexed. `part_reader` extracts the texts of documents again, so that their
/// shares are measured and not estimated.
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
