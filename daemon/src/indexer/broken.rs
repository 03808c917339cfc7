//! Handles an index that cannot be read or written: closes it, and opens it again. Until the index
//! is open again, questions are answered from its last commit.

use std::path::Path;
use std::time::Instant;

use resemble_scan::ingest::IngestError;

use super::{Indexer, Retry};
use crate::state::Topic;

impl Indexer {
    pub(super) fn broken(&mut self, error: &IngestError) {
        self.shared.set_scan(None);
        self.shared.trouble(
            Topic::Index,
            Path::new("/"),
            &format!(
                "{error}; answers come from the last commit until the index can be used again"
            ),
            None,
        );
        self.ingest = None;
        let is_new = self.set_damaged_aside();
        self.retry = Some(match self.retry {
            // A rebuilt index can be written to at once. But if the rebuilt index breaks, too,
            // there is a pause before the next attempt.
            None if is_new => Retry::now(),
            last => Retry::after(last),
        });
        // If possible, the index is opened again now, so that questions are answered. But nothing
        // is written to the index before the pause has ended.
        self.shared.swap_index(&*self.opener);
    }

    /// Returns true if no damage was found in the index. If there is damage, has the index rebuilt
    /// and returns false.
    pub(super) fn is_sound(&mut self) -> bool {
        let index = self.shared.index();
        let Some(damage) = index.and_then(|index| index.damage()) else {
            return true;
        };
        if self.ingest.is_some() {
            self.broken(&damage.into());
        }
        false
    }

    /// Sets a damaged index aside, so that a new index is built from the files. In the new index
    /// all files are new, so no file raises an alert. Returns whether an index was set aside.
    fn set_damaged_aside(&mut self) -> bool {
        let Some(index) = self.shared.index().filter(|index| index.damage().is_some()) else {
            return false;
        };
        match index.set_aside() {
            Ok(aside) => {
                tracing::warn!(path = ?aside, "the damaged index is set aside and rebuilt");
                self.shared
                    .set_rebuilding(std::mem::take(&mut self.complete));
                true
            }
            Err(error) => {
                tracing::warn!(%error, "the damaged index cannot be set aside");
                false
            }
        }
    }

    pub(super) fn reopen(&mut self) {
        let Some(retry) = &self.retry else { return };
        if Instant::now() < retry.at {
            return;
        }
        if self.shared.index().is_none() && !self.shared.swap_index(&*self.opener) {
            self.retry = Some(Retry::after(self.retry));
            return;
        }
        let Some(index) = self.shared.index() else {
            return;
        };
        self.start_ingest(index);
        self.keep_roots();
        self.attach_catalogues();
        // The scan finds all changes that were reported while the index was closed. If there were
        // too many reports to remember, the watches may be wrong, too, so the source is restarted.
        // Only a successful scan ends the retries.
        self.hear();
        if self.rescan_source {
            self.restart_source();
        } else {
            self.scan_all();
        }
        if self.run_scans() {
            // After the next failure the pauses begin with the shortest again.
            self.retry = None;
            self.shared.mended(Topic::Index);
            self.shared.open_first_scan();
        }
    }
}
