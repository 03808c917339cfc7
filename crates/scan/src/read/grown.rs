//! Files that have grown: where they ended, and how to go on from there.
//!
//! A log of a gigabyte to which a line is appended is not read again. When a large file was read
//! to its end, the state of the digester there is kept ([`Checkpoint`]), and when the file is
//! longer the next time, only what is new is read.
//!
//! 1. **What stands before the old end is assumed.** That it did not change cannot be told from a
//!    `stat`. The first and the last bytes are compared, which tells a file that was written anew
//!    from one that has grown. Whatever passes that is *unsettled*: it is read and hashed once it
//!    has been quiet for [`SETTLE_WINDOW`](super::SETTLE_WINDOW), and at once when somebody asks
//!    for certainty.
//! 2. **Certainty costs hashing alone.** What stands before the old end is one digest, that of the
//!    content that ended there. If it holds, only the rest is chunked.
//! 3. **The chunks before are those of the index**, so what is kept of a file is small. It is kept
//!    in memory, for the files that were read last. After a restart the first change of a large
//!    file reads it whole.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::{ByteLen, Checkpoint, ContentDigest, Digester};

use super::{ReadFailure, read_fully_at};
use crate::walk::Stat;

/// Smaller files are read whole: that takes less than the disk takes to find them.
pub(crate) const LARGE: ByteLen = ByteLen(4 << 20);

/// Bytes at both ends that are compared before the rest is assumed.
const EDGE: usize = 4 << 10;

/// Bytes of memory for all that is known of ends.
const MOST: usize = 24 << 20;

/// Where large files ended when they were last read, by device and inode. All readers share it.
#[derive(Debug)]
pub(crate) struct KnownEnds(Mutex<Recent<(u64, u64), Arc<KnownEnd>>>);

impl Default for KnownEnds {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(MOST)))
    }
}

impl KnownEnds {
    /// Whether a file of this size has grown since its end was seen.
    pub(crate) fn is_behind(&self, file: (u64, u64), size: u64) -> bool {
        let end = self.0.lock().get(&file);
        end.is_some_and(|end| end.checkpoint.position() < size)
    }
}

/// Where a file ended.
#[derive(Debug)]
pub(super) struct KnownEnd {
    /// The content that ended there.
    pub(super) content: ContentDigest,
    pub(super) checkpoint: Checkpoint,
    edges: [u8; 32],
}

/// What a reader knows of files that grow.
#[derive(Debug, Default)]
pub(super) struct Grown {
    /// `None`: nothing, and every file is read whole.
    pub(super) ends: Option<Arc<KnownEnds>>,
    /// What stands before an end may be taken for what it was.
    pub(super) may_assume: bool,
}

impl Grown {
    /// Where this file ended, if it goes on there now as far as its first and last bytes tell.
    pub(super) fn known(
        &self,
        file: &OwnedFd,
        stat: &Stat,
    ) -> Result<Option<Arc<KnownEnd>>, ReadFailure> {
        let Some(ends) = &self.ends else {
            return Ok(None);
        };
        let Some(end) = ends.0.lock().get(&(stat.dev, stat.ino)) else {
            return Ok(None);
        };
        let size = end.checkpoint.position();
        let goes_on = size < stat.size && edges(file, size)? == Some(end.edges);
        Ok(goes_on.then_some(end))
    }

    /// The state of a digester at the end of a file, if it is worth keeping.
    pub(super) fn end(
        &self,
        file: &OwnedFd,
        stat: &Stat,
        digester: &mut Digester,
    ) -> Result<Option<(Checkpoint, [u8; 32])>, ReadFailure> {
        if self.ends.is_none() || stat.size < LARGE.0 {
            return Ok(None);
        }
        let edges = edges(file, stat.size)?;
        Ok(edges.map(|edges| (digester.checkpoint(), edges)))
    }

    /// Keeps what [`Self::end`] gave of a file with this content.
    pub(super) fn keep(
        &self,
        stat: &Stat,
        content: ContentDigest,
        end: Option<(Checkpoint, [u8; 32])>,
    ) {
        let (Some(ends), Some((checkpoint, edges))) = (&self.ends, end) else {
            return;
        };
        let bytes = checkpoint.bytes();
        let end = KnownEnd {
            content,
            checkpoint,
            edges,
        };
        let mut ends = ends.0.lock();
        ends.put((stat.dev, stat.ino), Arc::new(end), bytes);
    }
}

/// What names the first and the last bytes before an end; `None`: the file is shorter.
pub(super) fn edges(file: &OwnedFd, size: u64) -> Result<Option<[u8; 32]>, ReadFailure> {
    let mut bytes = [0; 2 * EDGE];
    let (first, last) = bytes.split_at_mut(EDGE);
    let first = read_fully_at(file, first, 0)?;
    let last = read_fully_at(file, last, size.saturating_sub(EDGE as u64))?;
    let are_there = first == EDGE && last == EDGE;
    Ok(are_there.then(|| resemble_core::hash::content::digest(&bytes).0))
}
