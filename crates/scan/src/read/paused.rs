//! Readings that were interrupted, so that other files need not wait for a large one.
//!
//! A reader that may pause stops after a while and stores its state for the file. The next reading
//! of the file continues from there. A file that was written to meanwhile is still read to its end,
//! as in an unpaused reading. The result is *moving*, with the `stat` of the beginning. Only a file
//! that was replaced or has become shorter is begun anew.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use resemble_core::Digester;
use resemble_core::hash::content::ContentHasher;

use super::ReadFailure;
use super::known::{Edges, edges};
use crate::walk::Stat;

/// The maximum number of stored readings. One more replaces the oldest.
const MOST: usize = 8;

/// A reading that is not resumed within this time is dropped, because its file may be gone.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// The state of an interrupted reading.
#[derive(Debug)]
pub(super) struct Paused {
    /// The `stat` of the file when its reading began; `at` is the time of that.
    pub(super) stat: Stat,
    pub(super) at: SystemTime,
    /// The number of bytes that were read.
    pub(super) bytes: u64,
    /// The state of the reading after these bytes.
    pub(super) state: Halfway,
    edges: Option<Edges>,
    since: Instant,
}

/// The state after the first bytes of a file.
#[derive(Debug)]
pub(super) enum Halfway {
    /// This many bytes were hashed, to compute only the digest at first.
    Hashed(Box<ContentHasher>, u64),
    /// The file is digested.
    Digested(Box<Digester>),
    /// The file is compared with its earlier content, and digested where it differs.
    Edited(Box<Digester>),
}

impl Halfway {
    fn position(&self) -> u64 {
        match self {
            Self::Hashed(_, position) => *position,
            Self::Digested(digester) => digester.position(),
            Self::Edited(digester) => digester.revised_to(),
        }
    }
}

/// The stored readings, by device and inode. All readers share them.
#[derive(Debug, Default)]
pub(crate) struct PausedReadings(Mutex<Vec<((u64, u64), Paused)>>);

impl PausedReadings {
    /// Stores a reading.
    pub(super) fn put(
        &self,
        file: &OwnedFd,
        (stat, at, bytes): (Stat, SystemTime, u64),
        state: Halfway,
    ) -> Result<(), ReadFailure> {
        let paused = Paused {
            edges: edges(file, state.position())?,
            stat,
            at,
            bytes,
            state,
            since: Instant::now(),
        };
        let mut all = self.0.lock();
        all.retain(|(_, other)| other.since.elapsed() < FORGOTTEN);
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push(((stat.dev, stat.ino), paused));
        Ok(())
    }

    /// Takes out the stored reading of a file, if the reading can continue.
    pub(super) fn take(&self, file: &OwnedFd, now: &Stat) -> Result<Option<Paused>, ReadFailure> {
        let paused = {
            let mut all = self.0.lock();
            let at = all.iter().position(|(id, _)| *id == (now.dev, now.ino));
            at.map(|at| all.remove(at).1)
        };
        let Some(paused) = paused else {
            return Ok(None);
        };
        let position = paused.state.position();
        let goes_on = now.unchanged_since(&paused.stat)
            || (position <= now.size
                && paused.edges.is_some()
                && edges(file, position)? == paused.edges);
        Ok(goes_on.then_some(paused))
    }
}
