//! Opens of a file that the kernel knows differently.
//!
//! While the kernel trusts a name, another file may have taken the path, or the file may have
//! grown. An open under the known inode number is then refused with ESTALE: the kernel looks the
//! name up once more and opens the result, all in the same thread.
//!
//! The file may be replaced again between this look-up and the open, and a second ESTALE would
//! reach the program. So **the look-up itself opens the file**, and the open receives that one.
//!
//! A thread that is killed in between leaves an open file behind. It is closed with a later
//! request, after [`KEPT`].

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::node::At;

/// The time that a thread has for its second look-up and its open.
const KEPT: Duration = Duration::from_secs(10);
/// The maximum number of threads that are about to open a file again.
const MAX_THREADS: usize = 1024;

/// The kernel threads whose open was refused.
#[derive(Debug, Default)]
pub(crate) struct Reopenings(HashMap<u32, Reopening>);

#[derive(Debug)]
struct Reopening {
    at: At,
    since: Instant,
    /// The inode number and the handle of the file that the second look-up opened.
    opened: Option<(u64, u64)>,
}

impl Reopenings {
    /// Records that a thread must look a place up again. Returns a handle that nobody will claim.
    pub(crate) fn refuse(&mut self, thread: u32, at: At) -> Option<u64> {
        let is_known = self.0.contains_key(&thread);
        if self.0.len() >= MAX_THREADS && !is_known {
            return None;
        }
        let reopening = Reopening {
            at,
            since: Instant::now(),
            opened: None,
        };
        let earlier = self.0.insert(thread, reopening)?;
        earlier.handle()
    }

    /// Returns the handles that no thread has claimed in time.
    pub(crate) fn expire(&mut self) -> Vec<u64> {
        let is_late = |reopening: &Reopening| reopening.since.elapsed() >= KEPT;
        let late = self.0.extract_if(|_, reopening| is_late(reopening));
        late.filter_map(|(_, reopening)| reopening.handle())
            .collect()
    }

    /// Returns whether this thread looks up this place because of a refusal.
    pub(crate) fn is_due(&self, thread: u32, at: &At) -> bool {
        self.0.get(&thread).is_some_and(|known| known.at == *at)
    }

    /// Gives the file that the look-up opened to the thread. Returns a handle that no thread will
    /// claim: that of an earlier look-up, or this one if the thread is no longer known.
    pub(crate) fn give(&mut self, thread: u32, number: u64, handle: u64) -> Option<u64> {
        let Some(reopening) = self.0.get_mut(&thread) else {
            return Some(handle);
        };
        let earlier = reopening.opened.replace((number, handle));
        earlier.map(|(_, handle)| handle)
    }

    /// Returns the inode number and the handle of the file that the thread's look-up opened.
    pub(crate) fn claim(&mut self, thread: u32) -> Option<(u64, u64)> {
        self.0.remove(&thread)?.opened
    }
}

impl Reopening {
    fn handle(&self) -> Option<u64> {
        self.opened.map(|(_, handle)| handle)
    }
}
