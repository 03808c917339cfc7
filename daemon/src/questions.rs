//! The search for similar files, which both the overlay and the alerts use.

use std::path::Path;
use std::sync::Arc;

use resemble_index::Snapshot;
use resemble_query::find::{self, Similar, Subject};
use resemble_relate::AskError;
use resemble_scan::parts::PartReader;

/// Returns the files that resemble the indexed file at `path`, best first, and their total number:
/// see [`find::listing`]. The result is empty if the file is not indexed. `part_reader` extracts
/// the texts of documents again, so that their shares are measured and not estimated.
pub(crate) fn similar(
    snapshot: &Snapshot,
    path: &Path,
    part_reader: Option<&Arc<dyn PartReader>>,
) -> Result<(Vec<Similar>, usize), AskError> {
    match Subject::remembered(snapshot, path)? {
        Some(subject) => {
            let subject = subject.with_part_reader(part_reader.cloned());
            find::listing(snapshot, &subject, true)
        }
        None => Ok((Vec::new(), 0)),
    }
}
