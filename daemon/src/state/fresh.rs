//! Whether answers are up to date: all of them, or those about some paths.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use resemble_core::ContentId;
use resemble_index::ReadError;
use resemble_proto::message::{RootState, SoftError};

use super::{Shared, Topic};

/// If more files wait than this, or more documents, all are taken for a part of every question.
pub(crate) const MOST_NAMED: usize = 256;

impl Shared {
    /// Whether no scan is under way and nothing is known to be stale.
    pub fn fresh(&self) -> bool {
        self.first_scan_done()
            && self.pending() == 0
            && self
                .roots
                .lock()
                .iter()
                .all(|root| root.state != RootState::Scanning)
            && !self.is_behind()
    }

    fn is_behind(&self) -> bool {
        let behind = |topic| matches!(topic, Topic::Index | Topic::Events | Topic::Passing);
        self.troubles.lock().keys().any(|(topic, _)| behind(*topic))
    }

    /// The same as [`Self::fresh`] and [`Self::pending`] of these paths and of all below them:
    /// what waits elsewhere does not concern them. No paths mean everything.
    pub fn freshness(&self, within: &[PathBuf]) -> (bool, u64) {
        let concerns = |path: &Path| concerns(within, path);
        let is_scanned = {
            let roots = self.roots.lock();
            let mut scanned = roots
                .iter()
                .filter(|root| root.state == RootState::Scanning);
            scanned.any(|root| concerns(&root.options.path))
        };
        // A comparison that is no scan of a root may be anywhere.
        let scan = self.scan();
        let scanning = match &scan.1 {
            Some((root, _)) if !concerns(root) => 0,
            _ => self.scanning.load(Ordering::Relaxed),
        };
        let waiting = match &*self.waiting.lock() {
            Some(files) => {
                let files = files.iter().filter(|file| concerns(file)).count() as u64;
                files + self.documents_within(concerns)
            }
            None => self.pending.load(Ordering::Relaxed),
        };
        let is_fresh = !is_scanned && scanning + waiting == 0 && !self.is_behind();
        (is_fresh && self.begun(within), scanning + waiting)
    }

    /// The roots of a question that are not there. No paths mean all roots.
    pub fn unreachable(&self, within: &[PathBuf]) -> Vec<SoftError> {
        let roots = self.roots.lock();
        let away = roots.iter().filter(|root| {
            root.state == RootState::Unavailable && concerns(within, &root.options.path)
        });
        away.map(|root| SoftError::unreachable(root.options.path.as_path().into()))
            .collect()
    }

    /// How many documents below a path wait to be taken apart.
    pub fn waiting_documents(&self, root: &Path) -> u64 {
        self.documents_within(|path| path.starts_with(root))
    }

    /// How many documents that wait to be taken apart have a path that concerns the question. If
    /// there are more than can be looked up, all of them.
    fn documents_within(&self, concerns: impl Fn(&Path) -> bool) -> u64 {
        let Some(waiting) = self.documents() else {
            return 0;
        };
        let contents = match waiting.contents(MOST_NAMED) {
            Ok(contents) if contents.is_empty() => return 0,
            Ok(contents) => contents,
            Err(number) => return number as u64,
        };
        let Ok(snapshot) = self.snapshot() else {
            return contents.len() as u64;
        };
        // What cannot be looked up may be anywhere.
        let is_within = |content: &ContentId| -> Result<bool, ReadError> {
            for file in snapshot.files_of(*content)? {
                if snapshot.paths(file)?.iter().any(|path| concerns(path)) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let within = contents.iter();
        within
            .filter(|content| is_within(content).unwrap_or(true))
            .count() as u64
    }

    /// Whether the first scan has seen all of these paths.
    fn begun(&self, within: &[PathBuf]) -> bool {
        let is_live = |path: &PathBuf| {
            let root = self.root_of(path);
            root.is_some_and(|root| root.state != RootState::Scanning)
        };
        self.first_scan_done() || (!within.is_empty() && within.iter().all(is_live))
    }
}

/// Whether a path lies in what was asked about, or holds it. No paths mean everything.
fn concerns(within: &[PathBuf], path: &Path) -> bool {
    let meets = |one: &PathBuf| path.starts_with(one) || one.starts_with(path);
    within.is_empty() || within.iter().any(meets)
}
