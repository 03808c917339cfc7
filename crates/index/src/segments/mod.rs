//! Posting lists: the live contents that have a key, for millions of keys.
//!
//! A posting is a pair (key, content id). Postings arrive in batches, in no order. In a B-tree of
//! pairs, each would take 12 bytes in half-full pages. Inserting a million would take half a
//! second. So each batch is sorted, packed into page-sized blocks ([`block`]) and appended to a
//! table of its own: a *segment*. A look-up reads every segment; there are only a few. Segments are
//! merged in tiers ([`plan`]), and the tables of merged ones are dropped whole.
//!
//! 1. **A segment has both kinds** of postings (two tables) for a contiguous range of content ids.
//!    Ids are assigned in ascending order, and only neighbours are merged. So the lists of several
//!    segments concatenate in order, and the segment of a given content is known.
//! 2. **Nothing is deleted in place.** A dead content's postings stay until a merge omits them.
//!    Until then its id is in the set of the dead. Readers skip it, or read it as its heir's
//!    ([`crate::heirs`]). Ids are never reused, so a stale posting cannot name a new content.
//! 3. **Near-copies are adjacent** in a large segment, whatever their ids: see [`order`].
//! 4. **Tiny batches are cheap**: one or two pages for each kind. By the plan's rule, a posting is
//!    rewritten about as often as there are tiers.

pub(crate) mod block;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod sort;
pub(crate) mod write;

use std::sync::Arc;

use crate::schema::{PostingKind, PostingTable};
use order::Order;

/// The postings of one kind in a segment.
#[derive(Clone, Copy)]
pub(crate) struct Postings<'a> {
    pub(crate) blocks: &'a PostingTable,
    /// `None` if the blocks contain ids instead of ranks.
    pub(crate) order: Option<&'a Arc<Order>>,
}

/// A row of `segments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) id: u32,
    /// Every content in it has an id in `first..=last`; the ranges of segments do not overlap.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) chunk_postings: u64,
    pub(crate) fingerprint_postings: u64,
}

impl Segment {
    pub(crate) fn postings(&self) -> u64 {
        self.chunk_postings
            .saturating_add(self.fingerprint_postings)
    }

    pub(crate) const fn count(&self, kind: PostingKind) -> u64 {
        match kind {
            PostingKind::Chunk => self.chunk_postings,
            PostingKind::Fingerprint => self.fingerprint_postings,
        }
    }
}

/// Returns the posting keys of a chunk list, with repeats. Constant and very short chunks have
/// none.
pub(crate) fn posted(chunks: &resemble_core::ChunkList) -> impl Iterator<Item = u64> + '_ {
    chunks
        .0
        .iter()
        .filter(|run| run.is_evidence())
        .map(|run| run.hash.posting_key())
}
