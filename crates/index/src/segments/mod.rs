//! Stores posting lists. There is a list for each of millions of keys. It has the live contents
//! that have the key.
//!
//! A posting is a pair (key, content id). Postings arrive in batches, in no order. If each posting
//! were a row of a B-tree, it would take 12 bytes in half-full pages, and a million insertions
//! would take half a second. So the postings of a batch are sorted and packed into blocks that fill
//! a page ([`block`]). The blocks are written to a table of their own: a *segment*. A look-up reads
//! every segment, but there are only a few. Segments are merged in tiers ([`plan`]). After a merge,
//! the tables of the merged segments are dropped whole.
//!
//! 1. **A segment has both kinds** of postings (two tables) for a contiguous range of content ids.
//!    Ids are assigned in ascending order, and only neighbouring segments are merged. So the id of
//!    a content determines its segment. Lists of several segments can be joined without sorting,
//!    unless they have postings of heirs.
//! 2. **Nothing is deleted in place.** The postings of a dead content stay until a merge leaves
//!    them out. Until then, the content's id is in the set of dead contents. Readers skip these
//!    postings, or take them as postings of the content's heir ([`crate::heirs`]). Ids are never
//!    reused, so an old posting cannot refer to a new content.
//! 3. **Near-copies have neighbouring numbers** in a large segment, even if their ids are far
//!    apart: see [`order`].
//! 4. **Tiny batches are cheap**: they take one or two pages for each kind. Merges in tiers rewrite
//!    each posting about once for each tier.

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
    /// The order of the contents. `None` if the blocks contain ids instead of ranks.
    pub(crate) order: Option<&'a Arc<Order>>,
}

/// A row of the table `segments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) id: u32,
    /// Every content of the segment has an id in `first..=last`. These ranges do not overlap.
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

/// Returns the posting keys of a chunk list, including repeated ones. Constant and very short
/// chunks have no posting key.
pub(crate) fn posted(chunks: &resemble_core::ChunkList) -> impl Iterator<Item = u64> + '_ {
    chunks
        .0
        .iter()
        .filter(|run| run.is_evidence())
        .map(|run| run.hash.posting_key())
}
