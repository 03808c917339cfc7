//! Repeats opens of files that have changed since the kernel looked them up.
//!
//! While the kernel trusts a name, another file may have taken the path, or the file may have
//! grown. An open under the known inode number is then refused with ESTALE: the kernel looks the
//! name up once more and opens the result, all in the same thread.
//!
//! The file may be replaced again between this look-up and the open, and a second ESTALE would
//! reach the program. So **the look-up itself opens the file**, and the open receives that one.
//!
//! A path without a name, such as `/proc/self/fd/0`, is opened again without a look-up. The second
//! open finds the record of the refusal, and opens the file under the old number.
//!
//! A thread that is killed in between leaves an open file behind. It is closed with a later
//! request, after [`KEPT`].

use std::collections::HashMap;
use std::time::{Duration, Instant};

use resemble_callers::accounts::Account;

use super::node::At;

/// The time that a thread has for its second look-up and its open.
const KEPT: Duration = Duration::from_secs(10);
/// The maximum number of opens that are about to be repeated.
const MAX_OPENS: usize = 1024;

/// The opens that were refused.
#[derive(Debug, Default)]
pub(crate) struct Reopenings(HashMap<(Opener, At), Reopening>);

/// A kernel thread and the account that it works for.
pub(crate) type Opener = (Account, u32);

/// An open that was refused.
#[derive(Debug)]
pub(crate) struct Reopening {
    since: Instant,
    /// The inode number and the handle of the file that the second look-up opened.
    pub(crate) opened: Option<(u64, u64)>,
}

impl Reopenings {
    /// Returns whether no refused open waits for its repetition.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that a place must be looked up again.
    pub(crate) fn refuse(&mut self, opener: Opener, at: At) {
        if self.0.len() < MAX_OPENS {
            let reopening = Reopening {
                since: Instant::now(),
                opened: None,
            };
            self.0.insert((opener, at), reopening);
        }
    }

    /// Returns the handles that no thread has claimed in time.
    pub(crate) fn expire(&mut self) -> Vec<u64> {
        let is_late = |reopening: &Reopening| reopening.since.elapsed() >= KEPT;
        let late = self.0.extract_if(|_, reopening| is_late(reopening));
        late.filter_map(|(_, reopening)| reopening.opened.map(|(_, handle)| handle))
            .collect()
    }

    /// Returns whether a place is looked up because of a refusal.
    pub(crate) fn is_due(&self, opener: Opener, at: &At) -> bool {
        !self.is_empty() && self.0.contains_key(&(opener, at.clone()))
    }

    /// Gives the file that the look-up opened to its thread. Returns a handle that nobody will
    /// claim: that of an earlier look-up, or this one if the thread is no longer known.
    pub(crate) fn give(&mut self, opener: Opener, at: At, opened: (u64, u64)) -> Option<u64> {
        let Some(reopening) = self.0.get_mut(&(opener, at)) else {
            return Some(opened.1);
        };
        let earlier = reopening.opened.replace(opened);
        earlier.map(|(_, handle)| handle)
    }

    /// Ends a reopening.
    pub(crate) fn claim(&mut self, opener: Opener, at: &At) -> Option<Reopening> {
        if self.is_empty() {
            return None;
        }
        self.0.remove(&(opener, at.clone()))
    }
}
