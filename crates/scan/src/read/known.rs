//! Large files that were read before: what is known of them when they change.
//!
//! A log of a gigabyte to which a line is appended is not read again, and an image in which a block
//! was written is not digested again. When a large file was read, the state of the digester at its
//! end is kept ([`Checkpoint`]), and what each stretch of it came to ([`Stretches`]).
//!
//! 1. **If it is longer the next time**, and goes on where it ended, only what is new is read. What
//!    stands before the old end is *assumed*: that it did not change cannot be told from a `stat`.
//!    The first and the last bytes are compared, which tells a file that was written anew from one
//!    that has grown. Whatever passes that is *unsettled*: it is read and hashed once it has been
//!    quiet for [`SETTLE_WINDOW`](super::SETTLE_WINDOW), and at once when somebody asks for
//!    certainty. Certainty costs hashing alone: what stands before the old end is one digest.
//! 2. **Any other change** is found by reading and hashing the file, stretch by stretch. One that
//!    has the blocks that it had comes to what it came to; the others are read once more and
//!    digested ([`changed`](super::changed)). So is a file that was renamed over another one, as
//!    editors save, by what is known of that one.
//! 3. **The chunks are those of the index**, so what is kept of a file is small. It is kept in
//!    memory, for the files that were read last. After a restart the first change of a large file
//!    reads and digests it whole.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::{ByteLen, Checkpoint, ContentDigest, PostedFingerprints, Stretches};

use super::{ReadFailure, read_fully_at};
use crate::walk::Stat;

/// Smaller files are read whole: that takes less than the disk takes to find them.
pub(crate) const LARGE: ByteLen = ByteLen(4 << 20);

/// Of smaller files no stretches are kept: to digest as much takes some 40 ms.
pub(super) const IN_STRETCHES: u64 = 16 << 20;

/// A file that has become so many times as large is digested anew.
pub(super) const MOST_GROWTH: u64 = 2;

/// Bytes at both ends that are compared before the rest is assumed.
const EDGE: usize = 4 << 10;

/// Bytes of memory for all that is known of files.
const MOST: usize = 32 << 20;

/// Bytes of memory for the stretches of a file; of one with more, as of a text of two gigabytes
/// that says the same everywhere, none are kept. A gigabyte of such a text has 7 MB of them.
const MOST_OF_FILE: usize = MOST / 2;

/// The large files that were read last, by device and inode. All readers share it.
#[derive(Debug)]
pub(crate) struct KnownFiles(Mutex<Recent<(u64, u64), Arc<KnownFile>>>);

impl Default for KnownFiles {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(MOST)))
    }
}

impl KnownFiles {
    /// Whether a file of this size has grown since it was read.
    pub(crate) fn is_behind(&self, file: (u64, u64), size: u64) -> bool {
        let known = self.0.lock().get(&file);
        known.is_some_and(|known| known.size() < size)
    }

    /// What is known of a file.
    pub(super) fn get(&self, file: (u64, u64)) -> Option<Arc<KnownFile>> {
        self.0.lock().get(&file)
    }

    /// Keeps what is known of a file.
    pub(super) fn put(&self, mut known: KnownFile) {
        let of_stretches = |stretches: &Arc<Stretches>| stretches.bytes();
        let mut stretches = known.stretches.as_ref().map_or(0, of_stretches);
        if stretches > MOST_OF_FILE {
            (known.stretches, stretches) = (None, 0);
        }
        let bytes = known.checkpoint.bytes() + known.posted.bytes() + stretches;
        let mut files = self.0.lock();
        files.put(known.file, Arc::new(known), bytes);
    }
}

/// What a large file was when it was read.
#[derive(Debug)]
pub(super) struct KnownFile {
    /// Its device and inode.
    pub(super) file: (u64, u64),
    pub(super) content: ContentDigest,
    /// Its end.
    pub(super) checkpoint: Checkpoint,
    /// What its next content is compared with.
    pub(super) posted: PostedFingerprints,
    /// What it is made of, or what it begins with.
    pub(super) stretches: Option<Arc<Stretches>>,
    /// Its [`edges`].
    pub(super) edges: Edges,
}

impl KnownFile {
    pub(super) const fn size(&self) -> u64 {
        self.checkpoint.position()
    }

    /// Whether it is this file, and not one that another one took the place of.
    pub(super) fn is_of(&self, stat: &Stat) -> bool {
        self.file == (stat.dev, stat.ino)
    }

    /// Whether the file goes on where it ended, as far as its first and last bytes tell.
    pub(super) fn goes_on(&self, file: &OwnedFd, stat: &Stat) -> Result<bool, ReadFailure> {
        Ok(self.size() < stat.size && edges(file, self.size())? == Some(self.edges))
    }

    /// By how many bytes the end of the file has moved, if it ends as it did: so much was put in
    /// before it, or taken out.
    pub(super) fn shift(&self, file: &OwnedFd, stat: &Stat) -> Result<i64, ReadFailure> {
        let moved = stat.size.cast_signed() - self.size().cast_signed();
        let last = edges(file, stat.size)?.map(|edges| edges.last);
        Ok(if last == Some(self.edges.last) {
            moved
        } else {
            0
        })
    }
}

/// What names the first and the last bytes before an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edges {
    first: ContentDigest,
    last: ContentDigest,
}

/// The edges of a file that ends there; `None`: it is shorter.
pub(super) fn edges(file: &OwnedFd, size: u64) -> Result<Option<Edges>, ReadFailure> {
    let edge = |from| {
        let mut bytes = [0; EDGE];
        let is_there = read_fully_at(file, &mut bytes, from)? == EDGE;
        Ok::<_, ReadFailure>(is_there.then(|| resemble_core::hash::content::digest(&bytes)))
    };
    let (first, last) = (edge(0)?, edge(size.saturating_sub(EDGE as u64))?);
    Ok(first.zip(last).map(|(first, last)| Edges { first, last }))
}
