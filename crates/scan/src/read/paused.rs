//! Readings that were interrupted, so that other files need not wait for a large one.
//!
//! A reader that may pause stops after a while and puts aside what it has made of the file so far.
//! Whoever reads the file next goes on from there. A file that was written to meanwhile is read to
//! its end all the same, as one that is written to while it is read without a pause: what comes of
//! it is *moving*, and has the stat of the beginning. Only a file that is another one by now, or
//! shorter, is begun anew.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use resemble_core::Digester;
use resemble_core::hash::content::ContentHasher;

use super::ReadFailure;
use super::known::{Edges, edges};
use crate::walk::Stat;

/// So many readings are put aside; of more, the oldest is forgotten.
const MOST: usize = 8;

/// A reading that nobody goes on with for so long is forgotten: its file may be gone.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// How far a reading was.
#[derive(Debug)]
pub(super) struct Paused {
    /// What the file was when its reading began, and when that was.
    pub(super) stat: Stat,
    pub(super) at: SystemTime,
    /// Bytes read.
    pub(super) bytes: u64,
    /// What was made of them.
    pub(super) state: Halfway,
    edges: Option<Edges>,
    since: Instant,
}

/// What was made of the first bytes of a file.
#[derive(Debug)]
pub(super) enum Halfway {
    /// Only its digest is asked for, so far: there are so many bytes in it.
    Hashed(Box<ContentHasher>, u64),
    /// It is chunked.
    Digested(Box<Digester>),
    /// It is compared with what it was, and chunked where it differs.
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

/// The readings that were put aside, by device and inode. All readers share them.
#[derive(Debug, Default)]
pub(crate) struct PausedReadings(Mutex<Vec<((u64, u64), Paused)>>);

impl PausedReadings {
    /// Puts a reading aside.
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

    /// Takes the reading of a file that can go on.
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
