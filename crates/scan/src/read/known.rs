//! Stores the states of large files, which make the next reading cheaper.
//!
//! If a line is appended to a log of a gigabyte, the log is not read again. If a block of a disk
//! image is written, the image is not digested again. For this, two things are stored when a large
//! file is read. One is the state of the digester at the end of the file ([`Checkpoint`]). The
//! other is the result for each of its stretches ([`Stretches`]).
//!
//! 1. **If the file has grown**, only the new bytes are read. The bytes before the old end are
//!    *assumed* to be unchanged, although a `stat` cannot prove this. To recognise a file that was
//!    rewritten, its first bytes and the bytes before the old end are compared. If they are equal,
//!    the file is taken as grown, and is *unsettled*. It is read and hashed when it has not changed
//!    for [`SETTLE_WINDOW`](super::SETTLE_WINDOW), or at once if a user asks for certainty. Then it
//!    is only hashed, because all bytes were digested before.
//! 2. **For any other change**, the file is read and hashed, stretch by stretch. The result of a
//!    stretch with the same blocks is used again. All other stretches are read once more and
//!    digested ([`changed`](super::changed)). Editors save a file by renaming a new file to its
//!    name. The new file is then compared with the state of the old file.
//! 3. **A state does not have the chunks**, because the index has them. So a state is small. States
//!    are kept in memory for the files that were read last. After the first change that follows a
//!    restart, a large file is read and digested as a whole.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::{ByteLen, Checkpoint, ContentDigest, PostedFingerprints, Stretches};

use super::{ReadFailure, read_fully_at};
use crate::walk::Stat;

/// The minimum size of a file for which a state is stored. A smaller file is always read as a
/// whole. This takes less time than the disk needs to find the bytes of the file.
pub(crate) const LARGE: ByteLen = ByteLen(4 << 20);

/// The minimum size of a file for which stretches are stored. A file of this size is digested in
/// about 40 ms.
pub(super) const IN_STRETCHES: u64 = 16 << 20;

/// A file that has grown by more than this factor is digested again as a whole.
pub(super) const MOST_GROWTH: u64 = 2;

/// The number of bytes at the beginning and at the old end that are compared before the rest is
/// assumed to be unchanged.
const EDGE: usize = 4 << 10;

/// The number of bytes of memory for the states of all files.
const MOST: usize = 32 << 20;

/// The maximum number of bytes of memory for the stretches of one file. If they take more, they are
/// not stored. This happens for a text of more than two gigabytes that repeats itself, because its
/// stretches take 7 MB for each gigabyte.
const MOST_OF_FILE: usize = MOST / 2;

/// The states of the large files that were read last, by device and inode. All readers share them.
#[derive(Debug)]
pub(crate) struct KnownFiles(Mutex<Recent<(u64, u64), Arc<KnownFile>>>);

impl Default for KnownFiles {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(MOST)))
    }
}

impl KnownFiles {
    /// Returns whether a file of this size has grown since its state was stored.
    pub(crate) fn is_behind(&self, file: (u64, u64), size: u64) -> bool {
        let known = self.0.lock().get(&file);
        known.is_some_and(|known| known.size() < size)
    }

    /// Returns the stored state of a file.
    pub(super) fn get(&self, file: (u64, u64)) -> Option<Arc<KnownFile>> {
        self.0.lock().get(&file)
    }

    /// Stores the state of a file.
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

/// The state of a large file at the time when it was read.
#[derive(Debug)]
pub(super) struct KnownFile {
    /// The device and inode of the file.
    pub(super) file: (u64, u64),
    pub(super) content: ContentDigest,
    /// The state of the digester at the end of the file.
    pub(super) checkpoint: Checkpoint,
    /// The fingerprints that have postings. The fingerprints of the file's next content are
    /// compared with these.
    pub(super) posted: PostedFingerprints,
    /// The stretches of the content. They can end before the end of the content.
    pub(super) stretches: Option<Arc<Stretches>>,
    /// The digests of the first and last bytes of the file: see [`edges`].
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

    /// Returns whether the file begins with this content and is longer. Only the first and the last
    /// bytes of the content are compared.
    pub(super) fn goes_on(&self, file: &OwnedFd, stat: &Stat) -> Result<bool, ReadFailure> {
        Ok(self.size() < stat.size && edges(file, self.size())? == Some(self.edges))
    }

    /// Returns how many bytes were inserted before the last bytes of the file. The number is
    /// negative if bytes were removed. Returns 0 if the last bytes are not the same as before.
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

/// The digests of the first bytes and of the last bytes of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edges {
    first: ContentDigest,
    last: ContentDigest,
}

/// Returns the digests of the first bytes and of the last bytes of the first `size` bytes of a
/// file. Returns `None` if the file is shorter.
pub(super) fn edges(file: &OwnedFd, size: u64) -> Result<Option<Edges>, ReadFailure> {
    let edge = |from| {
        let mut bytes = [0; EDGE];
        let is_there = read_fully_at(file, &mut bytes, from)? == EDGE;
        Ok::<_, ReadFailure>(is_there.then(|| resemble_core::hash::content::digest(&bytes)))
    };
    let (first, last) = (edge(0)?, edge(size.saturating_sub(EDGE as u64))?);
    Ok(first.zip(last).map(|(first, last)| Edges { first, last }))
}
