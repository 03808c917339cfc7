//! Pauses readings. A large file is read in turns, so that other files need not wait for it.
//!
//! A reader stores its state for the file at the end of a turn. The next reading of the file
//! continues from there. If the file was written to meanwhile, it is still read to its end, as
//! without a pause. Then the result is *moving*, with the `stat` from the beginning. The reading
//! begins again in three cases: the file was replaced, it has become shorter than the part that was
//! read, or the edges of that part have changed.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use resemble_core::Digester;
use resemble_core::hash::content::ContentHasher;

use super::ReadFailure;
use super::known::{Edges, edges};
use crate::walk::Stat;

/// The maximum number of paused readings that are stored. A further reading replaces the oldest.
const MOST: usize = 8;

/// A reading that is not continued within this time is dropped, because its file may be gone.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// A reading that was paused.
#[derive(Debug)]
pub(super) struct Paused {
    /// The `stat` of the file at the time `at`, when the reading began.
    pub(super) stat: Stat,
    pub(super) at: SystemTime,
    /// The number of bytes that were read so far.
    pub(super) bytes: u64,
    /// The state of the computation after the bytes that were read.
    pub(super) state: Halfway,
    edges: Option<Edges>,
    since: Instant,
}

/// The state of the computation after a part of a file was read.
#[derive(Debug)]
pub(super) enum Halfway {
    /// The reading computes only the digest at first. The number is the number of hashed bytes.
    Hashed(Box<ContentHasher>, u64),
    /// The reading digests the file.
    Digested(Box<Digester>),
    /// The reading compares the file with its earlier content, and digests it where it differs.
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

/// The paused readings, by device and inode. All readers share them.
#[derive(Debug, Default)]
pub(crate) struct PausedReadings(Mutex<Vec<((u64, u64), Paused)>>);

impl PausedReadings {
    /// Stores a paused reading.
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

    /// Removes and returns the paused reading of a file, if it can continue.
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
