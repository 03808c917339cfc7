//! Decides whether answers are up to date: answers about everything, or about some paths.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use resemble_callers::{AccessCheck, Seen};
use resemble_core::ContentId;
use resemble_index::ReadError;
use resemble_proto::message::{RootState, SoftError};

use super::{Shared, Topic};

/// The maximum number of waiting files, and of waiting documents, whose paths are compared with the
/// paths of a question. If more files wait, all of them count for every question. This is also the
/// maximum number of paths for which a user's access is checked.
pub(crate) const MOST_NAMED: usize = 256;

impl Shared {
    /// Returns whether all answers are up to date: no scan is running, no file waits, and no
    /// trouble makes answers outdated.
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

    /// Returns [`Self::fresh`] and [`Self::pending`] for these paths and everything below them. No
    /// paths mean everything.
    ///
    /// A waiting file elsewhere, or one that the user of `sight` may not see, does not count. If
    /// more than `MOST_NAMED` files wait, all of them count. After `MOST_NAMED` checks of access,
    /// all other files count without a check. The files of a running scan count without a check,
    /// too.
    pub fn freshness(&self, within: &[PathBuf], sight: Option<&dyn AccessCheck>) -> (bool, u64) {
        let is_within = |path: &Path| concerns(within, path);
        let looks = Cell::new(0);
        let concerns = |path: &Path| {
            is_within(path)
                && sight.is_none_or(|sight| {
                    looks.set(looks.get() + 1);
                    looks.get() > MOST_NAMED || sees(sight, path)
                })
        };
        let is_scanned = {
            let roots = self.roots.lock();
            let mut scanned = roots
                .iter()
                .filter(|root| root.state == RootState::Scanning);
            scanned.any(|root| is_within(&root.options.path))
        };
        // If no scan of a root is recorded, the files being read may be at any path, so they count.
        let scan = self.scan();
        let scanning = match &scan.1 {
            Some((root, _)) if !is_within(root) => 0,
            _ => self.scanning.load(Ordering::Relaxed),
        };
        let named = self.waiting.lock().clone();
        let waiting = match named {
            Some(files) => {
                let files = files.iter().filter(|file| concerns(file)).count() as u64;
                files + self.documents_within(concerns)
            }
            None => self.pending.load(Ordering::Relaxed),
        };
        let is_fresh = !is_scanned && scanning + waiting == 0 && !self.is_behind();
        (is_fresh && self.begun(within), scanning + waiting)
    }

    /// Returns an error for each unreachable root that a question is about. No paths mean all
    /// roots.
    pub fn unreachable(&self, within: &[PathBuf]) -> Vec<SoftError> {
        let roots = self.roots.lock();
        let away = roots.iter().filter(|root| {
            root.state == RootState::Unavailable && concerns(within, &root.options.path)
        });
        away.map(|root| SoftError::unreachable(root.options.path.as_path().into()))
            .collect()
    }

    /// Returns the number of documents below a path that wait to be extracted.
    pub fn waiting_documents(&self, root: &Path) -> u64 {
        self.documents_within(|path| path.starts_with(root))
    }

    /// Counts the documents that wait to be extracted and have a path for which `concerns` is true.
    /// If too many documents wait, or the index cannot be read, all are counted.
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
        // A document whose paths cannot be read may be at any path, so it counts.
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

    /// Returns whether all of these paths have been scanned once since the start.
    fn begun(&self, within: &[PathBuf]) -> bool {
        let is_live = |path: &PathBuf| {
            let root = self.root_of(path);
            root.is_some_and(|root| root.state != RootState::Scanning)
        };
        self.first_scan_done() || (!within.is_empty() && within.iter().all(is_live))
    }
}

/// Returns whether a path is equal to, above or below a path of the question. No paths mean
/// everything.
fn concerns(within: &[PathBuf], path: &Path) -> bool {
    let meets = |one: &PathBuf| path.starts_with(one) || one.starts_with(path);
    within.is_empty() || within.iter().any(meets)
}

/// Returns whether the user of `sight` may see the file at this path.
fn sees(sight: &dyn AccessCheck, path: &Path) -> bool {
    let seen = sight.look(&[path.to_owned()]);
    seen.is_ok_and(|seen| seen.iter().any(|seen| *seen != Seen::Nothing))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use resemble_callers::SeenPlace;
    use resemble_core::Params;
    use resemble_index::Index;

    use super::*;

    /// Access checks that allow only the paths below this path.
    #[derive(Debug)]
    struct Below(&'static str);

    impl AccessCheck for Below {
        fn look(&self, paths: &[PathBuf]) -> std::io::Result<Vec<Seen>> {
            let seen = |path: &PathBuf| {
                let is_below = path.starts_with(self.0);
                let seen = is_below.then_some(Seen::File(SeenPlace::default()));
                seen.unwrap_or(Seen::Nothing)
            };
            Ok(paths.iter().map(seen).collect())
        }
    }

    /// Files that the user may not see do not make an answer stale.
    #[test]
    fn what_waits_unseen_makes_no_answer_old() {
        let index = Index::in_memory(&Params::default()).unwrap();
        let shared = Shared::new(Arc::new(index));
        shared.open_first_scan();
        shared.set_pending(2);
        let wait = ["/all/own/a", "/all/hidden/b"].map(PathBuf::from);
        shared.set_waiting(Some(wait.to_vec()));
        let asked = |within: &[&str], sight: Option<&'static str>| {
            let within: Vec<PathBuf> = within.iter().map(PathBuf::from).collect();
            let sight = sight.map(Below);
            shared.freshness(
                &within,
                sight.as_ref().map(|sight| sight as &dyn AccessCheck),
            )
        };
        assert_eq!(asked(&[], None), (false, 2));
        assert_eq!(asked(&[], Some("/all")), (false, 2));
        assert_eq!(asked(&[], Some("/all/own")), (false, 1));
        assert_eq!(asked(&[], Some("/all/other")), (true, 0));
        let hidden = "/all/hidden/b";
        assert_eq!(asked(&[hidden], Some("/all/own")), (true, 0));
        assert_eq!(asked(&[hidden], Some("/all/hidden")), (false, 1));
        // If very many files wait, the user's access is not checked for each, so they count.
        let many = (0..300).map(|n| format!("/all/hidden/{n}").into());
        shared.set_waiting(Some(many.collect()));
        assert!(!asked(&[], Some("/all/own")).0);
    }
}
