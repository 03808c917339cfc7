//! Reading segments: one key, many ascending keys, everything in order.

use std::ops::Bound;

use resemble_core::ContentId;

use super::block::{Block, Posting};
use crate::fault::Fault;
use crate::heirs::Live;
use crate::schema::{BlockKey, PostingTable};
use crate::store::{BlockCursor, BlockGuard, KeyGuard, ReadableTable};

/// Looks up keys in one segment. Ascending keys are cheapest: a key that lies in the block of the
/// one before needs no descent.
pub(crate) struct Lookup<'a> {
    table: &'a PostingTable,
    cursor: Option<BlockCursor<'a>>,
    /// The block before the cursor's gap.
    current: Option<(BlockKey, BlockGuard<'a>)>,
    /// The first posting of the block after the gap, `None` at the end.
    following: Option<BlockKey>,
}

/// How many blocks a look-up steps over before it descends from the root again.
const STEPS: usize = 2;

impl<'a> Lookup<'a> {
    pub(crate) fn new(table: &'a PostingTable) -> Self {
        Self {
            table,
            cursor: None,
            current: None,
            following: None,
        }
    }

    /// Appends the content ids of `key`, ascending, the dead ones too. `false` if `enough` says
    /// so of what was found so far (asked between blocks).
    pub(crate) fn find(
        &mut self,
        key: u64,
        found: &mut Vec<u32>,
        enough: impl Fn(&[u32]) -> bool,
    ) -> Result<bool, Fault> {
        self.seek(key)?;
        loop {
            if let Some((first, block)) = &self.current {
                Block::parse(first.0, block.value())?.find(key, found);
            }
            // A long list goes on in the following blocks.
            if self.following.is_none_or(|first| first.0 > key) {
                return Ok(true);
            }
            if enough(found) {
                return Ok(false);
            }
            self.step()?;
        }
    }

    /// Makes the last block that begins below `key` the current one; if none does, there is no
    /// current one and the first block follows.
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
        let mut cursor = self.table.upper_bound(Bound::Excluded((key, 0)))?;
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

/// Whether a segment has a posting: that of a dead content, too.
pub(crate) fn has(table: &PostingTable, posting: Posting) -> Result<bool, Fault> {
    let mut cursor = table.upper_bound(Bound::Included(posting))?;
    let Some((first, block)) = cursor.peek_prev()? else {
        return Ok(false);
    };
    let mut found = Vec::new();
    Block::parse(first.value().0, block.value())?.find(posting.0, &mut found);
    Ok(found.binary_search(&posting.1).is_ok())
}

/// Looks up ascending keys in several segments, oldest first, and leaves out the dead without
/// heirs.
pub(crate) struct Lists<'a> {
    lookups: Vec<Lookup<'a>>,
    raw: Vec<u32>,
    live: Vec<ContentId>,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(tables: impl Iterator<Item = &'a PostingTable>) -> Self {
        Self {
            lookups: tables.map(Lookup::new).collect(),
            raw: Vec::new(),
            live: Vec::new(),
        }
    }

    /// The live contents of `key`, ascending; `None` if they are more than `most`.
    pub(crate) fn get(
        &mut self,
        key: u64,
        most: usize,
        who: Live<'_>,
    ) -> Result<Option<&[ContentId]>, Fault> {
        self.live.clear();
        for lookup in &mut self.lookups {
            self.raw.clear();
            // If none of them is dead, there are too many already.
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
        if who.reorders() {
            self.live.sort_unstable();
        }
        Ok(Some(&self.live))
    }
}

/// All postings of one segment in order, block by block.
pub(crate) struct Scan {
    blocks: crate::store::BlockRange,
}

impl Scan {
    pub(crate) fn new(table: &PostingTable) -> Result<Self, Fault> {
        let blocks = table.range::<BlockKey>(..)?;
        Ok(Self { blocks })
    }

    /// Appends the postings of the next block; `false` at the end.
    pub(crate) fn decode(&mut self, out: &mut Vec<Posting>) -> Result<bool, Fault> {
        let Some(block) = self.blocks.next() else {
            return Ok(false);
        };
        let (first, bytes) = block?;
        Block::parse(first.value().0, bytes.value())?.decode(out)?;
        Ok(true)
    }
}
