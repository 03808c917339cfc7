//! Large files that were read before, and the state that is kept for their next change.
//!
//! A log of a gigabyte to which a line is appended is not read again. An image in which a block was
//! written is not digested again. When a large file is read, the state of the digester at its end
//! is kept ([`Checkpoint`]), and the result for each of its stretches ([`Stretches`]).
//!
//! 1. **If the file has grown** and continues where it ended, only the new bytes are read. The
//!    bytes before the old end are *assumed*, because a `stat` cannot show that they did not
//!    change. The first and the last bytes are compared, which distinguishes a rewritten file from
//!    a grown one. A file that passes this test is *unsettled*: it is read and hashed when it was
//!    quiet for [`SETTLE_WINDOW`](super::SETTLE_WINDOW), or at once if a user asks for certainty.
//!    That costs only hashing: the digest of the bytes before the old end is known.
//! 2. **Any other change** is found by reading and hashing the file, stretch by stretch. A stretch
//!    with the same blocks keeps its result; the others are read again and digested
//!    ([`changed`](super::changed)). A file that was renamed over another one, as editors save, is
//!    compared with the state of the other one.
//! 3. **The chunks are those of the index**, so the state of a file is small. It is kept in memory,
//!    for the files that were read last. After a restart the first change of a large file reads and
//!    digests it whole.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::{ByteLen, Checkpoint, ContentDigest, PostedFingerprints, Stretches};

use super::{ReadFailure, read_fully_at};
use crate::walk::Stat;

/// Smaller files are read whole: that takes less time than the disk needs to find their bytes.
pub(crate) const LARGE: ByteLen = ByteLen(4 << 20);

/// No stretches are kept of smaller files: digesting this much takes about 40 ms.
pub(super) const IN_STRETCHES: u64 = 16 << 20;

/// A file that has grown by more than this factor is digested anew.
pub(super) const MOST_GROWTH: u64 = 2;

/// The number of bytes that are compared at either end before the rest is assumed.
const EDGE: usize = 4 << 10;

/// The memory for the states of all files, in bytes.
const MOST: usize = 32 << 20;

/// The maximum memory for the stretches of one file, in bytes. If they take more, none are kept.
/// That happens to a text of two gigabytes that repeats itself: a gigabyte of it has 7 MB of
/// stretches.
const MOST_OF_FILE: usize = MOST / 2;

/// The states of the large files that were read last, by device and inode, shared by all readers.
#[derive(Debug)]
pub(crate) struct KnownFiles(Mutex<Recent<(u64, u64), Arc<KnownFile>>>);

impl Default for KnownFiles {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(MOST)))
    }
}

impl KnownFiles {
    /// Returns whether a file of this size is larger than when it was last read.
    pub(crate) fn is_behind(&self, file: (u64, u64), size: u64) -> bool {
        let known = self.0.lock().get(&file);
        known.is_some_and(|known| known.size() < size)
    }

    /// Returns the state of a file.
    pub(super) fn get(&self, file: (u64, u64)) -> Option<Arc<KnownFile>> {
        self.0.lock().get(&file)
    }

    /// Keeps the state of a file.
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

/// The state of a large file when it was read.
#[derive(Debug)]
pub(super) struct KnownFile {
    /// Its device and inode.
    pub(super) file: (u64, u64),
    pub(super) content: ContentDigest,
    /// The state of the digester at its end.
    pub(super) checkpoint: Checkpoint,
    /// The fingerprints with which those of its next content are compared.
    pub(super) posted: PostedFingerprints,
    /// The stretches that the content consists of, or begins with.
    pub(super) stretches: Option<Arc<Stretches>>,
    /// Its [`edges`].
    pub(super) edges: Edges,
}

impl KnownFile {
    pub(super) const fn size(&self) -> u64 {
        self.checkpoint.position()
    }

    /// Returns whether this is the state of the file itself, and not of a file that it replaces.
    pub(super) fn is_of(&self, stat: &Stat) -> bool {
        self.file == (stat.dev, stat.ino)
    }

    /// Returns whether the file begins with the content and goes on, judged by the first and the
    /// last bytes of the content.
    pub(super) fn goes_on(&self, file: &OwnedFd, stat: &Stat) -> Result<bool, ReadFailure> {
        Ok(self.size() < stat.size && edges(file, self.size())? == Some(self.edges))
    }

    /// Returns by how many bytes the end of the file has moved. If its last bytes are not the same,
    /// returns 0. This many bytes were inserted before them, or removed.
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

/// The digests of the first and of the last bytes of a file or of its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edges {
    first: ContentDigest,
    last: ContentDigest,
}

/// Returns the edges of the first `size` bytes of a file; `None` if the file is shorter.
pub(super) fn edges(file: &OwnedFd, size: u64) -> Result<Option<Edges>, ReadFailure> {
    let edge = |from| {
        let mut bytes = [0; EDGE];
        let is_there = read_fully_at(file, &mut bytes, from)? == EDGE;
        Ok::<_, ReadFailure>(is_there.then(|| resemble_core::hash::content::digest(&bytes)))
    };
    let (first, last) = (edge(0)?, edge(size.saturating_sub(EDGE as u64))?);
    Ok(first.zip(last).map(|(first, last)| Edges { first, last }))
}
