//! Lets a program open a file that has changed since the kernel looked it up.
//!
//! While the kernel trusts a name, another file may take the path, or the file may grow. An open
//! under the known inode number is then refused with ESTALE. The kernel then looks the name up
//! again and opens the file that it finds, all in the same thread.
//!
//! The file may be replaced once more between that look-up and the second open. A second ESTALE
//! would reach the program. So **the look-up itself opens the file**, and the second open gets that
//! open file.
//!
//! If a program opens a path such as `/proc/self/fd/0`, the kernel tries the open again without a
//! look-up. The second open then finds the record of the refusal, and opens the file under its old
//! number.
//!
//! If the thread is killed between the look-up and the second open, the file stays open. A later
//! request closes it, when [`KEPT`] has passed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use resemble_callers::accounts::Account;

use super::node::At;

/// The longest time from a refused open to the second open.
const KEPT: Duration = Duration::from_secs(10);
/// The maximum number of refused opens that are recorded.
const MAX_OPENS: usize = 1024;

/// The refused opens that the kernel is about to repeat, by thread and place.
#[derive(Debug, Default)]
pub(crate) struct Reopenings(HashMap<(Opener, At), Reopening>);

/// A kernel thread, and the account for which it works.
pub(crate) type Opener = (Account, u32);

/// The record of a refused open.
#[derive(Debug)]
pub(crate) struct Reopening {
    since: Instant,
    /// The inode number and the handle of the file that the look-up after the refusal has opened.
    pub(crate) opened: Option<(u64, u64)>,
}

impl Reopenings {
    /// Returns whether no refused open is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that an open of this place was refused to this thread.
    pub(crate) fn refuse(&mut self, opener: Opener, at: At) {
        if self.0.len() < MAX_OPENS {
            let reopening = Reopening {
                since: Instant::now(),
                opened: None,
            };
            self.0.insert((opener, at), reopening);
        }
    }

    /// Removes the records that are older than [`KEPT`]. Returns the handles that the look-ups
    /// after these refusals have opened. The caller must close the handles.
    pub(crate) fn expire(&mut self) -> Vec<u64> {
        let is_late = |reopening: &Reopening| reopening.since.elapsed() >= KEPT;
        let late = self.0.extract_if(|_, reopening| is_late(reopening));
        late.filter_map(|(_, reopening)| reopening.opened.map(|(_, handle)| handle))
            .collect()
    }

    /// Returns whether an open of this place was just refused to this thread.
    pub(crate) fn is_due(&self, opener: Opener, at: &At) -> bool {
        !self.is_empty() && self.0.contains_key(&(opener, at.clone()))
    }

    /// Records the file that the look-up has opened. Returns a handle that the caller must close,
    /// if there is one. That is the handle of an earlier look-up, or the given handle if the
    /// refusal is not recorded any more.
    pub(crate) fn give(&mut self, opener: Opener, at: At, opened: (u64, u64)) -> Option<u64> {
        let Some(reopening) = self.0.get_mut(&(opener, at)) else {
            return Some(opened.1);
        };
        let earlier = reopening.opened.replace(opened);
        earlier.map(|(_, handle)| handle)
    }

    /// Removes and returns the record of a refused open, if there is one.
    pub(crate) fn claim(&mut self, opener: Opener, at: &At) -> Option<Reopening> {
        if self.is_empty() {
            return None;
        }
        self.0.remove(&(opener, at.clone()))
    }
}
