//! Posting lists: which live contents have a key, for millions of keys.
//!
//! A posting is a pair (key, content id). They arrive in batches in no order; inserted one by one
//! into a B-tree of pairs they would cost 12 bytes each in half-full pages and half a second a
//! million. So each batch is sorted, packed into page-sized blocks ([`block`]) and appended to a
//! table of its own: a *segment*. A look-up asks every segment (a handful); segments are merged in
//! tiers ([`plan`]), and the tables of merged ones are dropped whole.
//!
//! 1. **A segment has both kinds** of postings (two tables) of a contiguous range of content ids:
//!    ids are given out in ascending order and only neighbours merge. So the lists of several
//!    segments concatenate in order, and the segment that has a given content is known.
//! 2. **Nothing is deleted in place.** A dead content's postings stay until a merge leaves them
//!    out; until then readers leave out its id, which is in the set of the dead, or read it as its
//!    heir's ([`crate::heirs`]). Ids are never given out again, so a stale posting cannot name a
//!    new content.
//! 3. **Near-copies stand together** in a large segment, whatever their ids: [`order`].
//! 4. **Tiny batches stay cheap**: one page or two a kind, and by the plan's rule a posting is
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

/// The postings of one kind that a segment has.
#[derive(Clone, Copy)]
pub(crate) struct Postings<'a> {
    pub(crate) blocks: &'a PostingTable,
    /// `None`: blocks have ids.
    pub(crate) order: Option<&'a Arc<Order>>,
}

/// A row of `segments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) id: u32,
    /// Every content in it has an id in `first..=last`, and no other segment has one of those.
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

/// The posting keys of a chunk list, with repeats: constant and very short chunks have none.
pub(crate) fn posted(chunks: &resemble_core::ChunkList) -> impl Iterator<Item = u64> + '_ {
    chunks
        .0
        .iter()
        .filter(|run| run.is_evidence())
        .map(|run| run.hash.posting_key())
}
