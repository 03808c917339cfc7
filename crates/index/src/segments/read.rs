//! Reads segments. One can read the list of one key, the lists of ascending keys, or all postings.

use std::ops::Bound;
use std::sync::Arc;

use resemble_core::ContentId;

use super::Postings;
use super::block::{Block, Posting};
use super::order::Order;
use crate::fault::Fault;
use crate::heirs::Live;
use crate::schema::BlockKey;
use crate::store::{BlockCursor, BlockGuard, KeyGuard, ReadableTable};

/// Looks up keys in one segment. This is fastest if the keys ascend. A key in the same block as the
/// previous key needs no descent from the root of the tree.
pub(crate) struct Lookup<'a> {
    postings: Postings<'a>,
    cursor: Option<BlockCursor<'a>>,
    /// The block in which keys are looked up now. It is the block before the cursor.
    current: Option<(BlockKey, BlockGuard<'a>)>,
    /// The first posting of the next block. `None` if there is no next block.
    following: Option<BlockKey>,
}

/// The number of blocks that are passed one by one before the look-up descends from the root again.
const STEPS: usize = 2;

impl<'a> Lookup<'a> {
    pub(crate) fn new(postings: Postings<'a>) -> Self {
        Self {
            postings,
            cursor: None,
            current: None,
            following: None,
        }
    }

    /// Appends the ids of the contents that have `key`, including dead contents. The ids ascend,
    /// unless the segment has an order. Before each further block of the list, `enough` is called
    /// with the ids that were found so far. If `enough` returns true, `find` stops and returns
    /// `false`.
    pub(crate) fn find(
        &mut self,
        key: u64,
        found: &mut Vec<u32>,
        enough: impl Fn(&[u32]) -> bool,
    ) -> Result<bool, Fault> {
        self.seek(key)?;
        loop {
            if let Some((first, block)) = &self.current {
                let from = found.len();
                Block::parse(first.0, block.value())?.find(key, found)?;
                if let Some(order) = self.postings.order {
                    for content in &mut found[from..] {
                        *content = order.id(*content)?;
                    }
                }
            }
            // A long list may continue in the next block.
            if self.following.is_none_or(|first| first.0 > key) {
                return Ok(true);
            }
            if enough(found) {
                return Ok(false);
            }
            self.step()?;
        }
    }

    /// Moves to the last block that begins below `key`. If there is no such block, `current` is
    /// `None`, and the first block is the next block.
    fn seek(&mut self, key: u64) -> Result<(), Fault> {
        let mut steps = 0;
        while self
            .current
            .as_ref()
            .is_some_and(|current| current.0.0 < key)
        {
            if self.following.is_none_or(|first| first.0 >= key) {
                return Ok(());
            }
            if steps == STEPS {
                break;
            }
            self.step()?;
            steps += 1;
        }
        let mut cursor = self
            .postings
            .blocks
            .upper_bound(Bound::Excluded((key, 0)))?;
        self.current = cursor
            .peek_prev()?
            .map(|(first, block)| (first.value(), block));
        self.following = cursor
            .peek_next()?
            .map(|next: (KeyGuard<'_>, _)| next.0.value());
        self.cursor = Some(cursor);
        Ok(())
    }

    fn step(&mut self) -> Result<(), Fault> {
        if let Some(cursor) = &mut self.cursor {
            self.current = cursor.next()?.map(|(first, block)| (first.value(), block));
            self.following = cursor.peek_next()?.map(|next| next.0.value());
        }
        Ok(())
    }
}

/// Returns whether a segment has this posting, even if its content is dead.
pub(crate) fn has(postings: Postings<'_>, (key, id): Posting) -> Result<bool, Fault> {
    let content = match postings.order {
        Some(order) => order.rank(id),
        None => Some(id),
    };
    let Some(content) = content else {
        return Ok(false);
    };
    let mut cursor = postings
        .blocks
        .upper_bound(Bound::Included((key, content)))?;
    let Some((first, block)) = cursor.peek_prev()? else {
        return Ok(false);
    };
    Ok(Block::parse(first.value().0, block.value())?.has(key, content)?)
}

/// Looks up ascending keys in several segments, oldest first. Dead contents are left out, or
/// replaced by their heirs.
pub(crate) struct Lists<'a> {
    lookups: Vec<Lookup<'a>>,
    raw: Vec<u32>,
    live: Vec<ContentId>,
    ordered: bool,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(segments: impl Iterator<Item = Postings<'a>>) -> Self {
        let lookups: Vec<_> = segments.map(Lookup::new).collect();
        Self {
            ordered: lookups.iter().any(|lookup| lookup.postings.order.is_some()),
            lookups,
            raw: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Returns the live contents that have `key`, ascending. Returns `None` if there are more than
    /// `most`.
    pub(crate) fn get(
        &mut self,
        key: u64,
        most: usize,
        who: Live<'_>,
    ) -> Result<Option<&[ContentId]>, Fault> {
        self.live.clear();
        for lookup in &mut self.lookups {
            self.raw.clear();
            // `most` limits only live contents. So dead contents are left out before the contents
            // are counted.
            let live = self.live.len();
            let enough = |raw: &[u32]| {
                let found = raw.iter().filter_map(|&content| who.of(key, content));
                live + found.count() > most
            };
            if !lookup.find(key, &mut self.raw, enough)? {
                return Ok(None);
            }
            let found = self.raw.iter().filter_map(|&id| who.of(key, id));
            self.live.extend(found.map(ContentId));
            if self.live.len() > most {
                return Ok(None);
            }
        }
        if self.ordered || who.reorders() {
            self.live.sort_unstable();
        }
        Ok(Some(&self.live))
    }
}

/// Reads all postings of one segment in order, a few blocks at a time.
pub(crate) struct Scan {
    blocks: crate::store::BlockRange,
    /// A block that was read but not yet decoded.
    ahead: Option<(KeyGuard<'static>, BlockGuard<'static>)>,
    order: Option<Arc<Order>>,
}

impl Scan {
    pub(crate) fn new(postings: Postings<'_>) -> Result<Self, Fault> {
        Ok(Self {
            blocks: postings.blocks.range::<BlockKey>(..)?,
            ahead: None,
            order: postings.order.cloned(),
        })
    }

    /// Appends the postings of the next block. Returns `false` at the end. If the segment has an
    /// order, its lists must be sorted, and only whole lists can be sorted. So if the last list
    /// continues in further blocks, these blocks are appended, too.
    pub(crate) fn decode(&mut self, out: &mut Vec<Posting>) -> Result<bool, Fault> {
        let from = out.len();
        if !self.decode_block(out)? {
            return Ok(false);
        }
        let Some(order) = self.order.clone() else {
            return Ok(true);
        };
        loop {
            self.ahead = self.blocks.next().transpose()?;
            let next = self.ahead.as_ref().map(|(first, _)| first.value().0);
            if next.is_none() || next != out.last().map(|last| last.0) {
                break;
            }
            self.decode_block(out)?;
        }
        order.restore(&mut out[from..])?;
        Ok(true)
    }

    fn decode_block(&mut self, out: &mut Vec<Posting>) -> Result<bool, Fault> {
        let block = match self.ahead.take() {
            Some(block) => block,
            None => match self.blocks.next() {
                Some(block) => block?,
                None => return Ok(false),
            },
        };
        Block::parse(block.0.value().0, block.1.value())?.decode(out)?;
        Ok(true)
    }
}
