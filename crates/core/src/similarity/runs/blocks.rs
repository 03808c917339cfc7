//! A sparse index of a file's blocks that finds every common run of 64 bytes.
//!
//! The index has blocks of 32 bytes at every 33rd position. Any 64 bytes contain such a block. So
//! if a window of another file occurs in this file, it contains an indexed block. The index has a
//! 33rd of the entries that all windows would need. A bitmap that fits the cache rejects nearly all
//! positions of a file that has nothing in common.

use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::filter::Filter;
use crate::similarity::runs::window::{Roll, windows};

/// The number of bytes in a block.
pub(super) const WIDTH: usize = 32;

/// The distance between the beginnings of two blocks. A run of 64 bytes contains a whole block,
/// wherever the run begins.
pub(super) const STEP: usize = LEAST_RUN - WIDTH + 1;

/// The maximum number of slots that a search examines. An ordinary file never needs as many slots.
/// In a file made to collide, a block that needs more slots is not indexed.
const LONGEST_PROBE: usize = 256;

/// The blocks of a file. Equal blocks are in a chain.
pub(super) struct Blocks<'s> {
    data: &'s [u8],
    filter: Filter,
    /// For each slot of the hash table: a tag, and one more than the number of the first block of
    /// the chain. If this second value is 0, the slot is free.
    heads: Vec<(u32, u32)>,
    /// The next equal block's number + 1, or 0.
    next: Vec<u32>,
    /// The blocks that are not equal to an earlier block.
    first: Bits,
    complete: bool,
}

impl<'s> Blocks<'s> {
    /// Indexes a file of fewer than 2^37 bytes.
    pub(super) fn new(data: &'s [u8]) -> Self {
        let count = windows(data, WIDTH).div_ceil(STEP);
        let mut blocks = Self {
            data,
            filter: Filter::new(count),
            heads: vec![(0, 0); (2 * count).next_power_of_two()],
            next: vec![0; count],
            first: Bits::new(count),
            complete: true,
        };
        let mut roll = Roll::new(data, WIDTH);
        // The blocks are inserted from the last to the first, each at the front of its chain. So
        // the positions in a chain are ascending.
        for number in (0..count).rev() {
            let at = number * STEP;
            roll.seek(at);
            let hash = roll.hash();
            match blocks.probe(hash, &data[at..at + WIDTH]) {
                Some(slot) => {
                    let head = &mut blocks.heads[slot];
                    if let Some(second) = (head.1 as usize).checked_sub(1) {
                        blocks.first.clear(second);
                    }
                    blocks.first.set(number);
                    blocks.next[number] = head.1;
                    *head = (hash as u32, number as u32 + 1);
                    blocks.filter.add(hash);
                }
                None => blocks.complete = false,
            }
        }
        blocks
    }

    pub(super) fn data(&self) -> &'s [u8] {
        self.data
    }

    /// Returns whether every block is indexed. If not, the file was made to collide.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns whether a block begins at `at`, and no earlier block is equal to it.
    #[inline]
    pub(super) fn is_first(&self, at: usize) -> bool {
        at.is_multiple_of(STEP) && self.first.has(at / STEP)
    }

    /// Returns false only if no block has this hash.
    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        self.filter.may_have(hash)
    }

    /// Returns the positions of the blocks equal to `block`, ascending.
    pub(super) fn places(&self, hash: u64, block: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let slot = self.probe(hash, block);
        let mut node = slot.map_or(0, |slot| self.heads[slot].1) as usize;
        std::iter::from_fn(move || {
            let number = node.checked_sub(1)?;
            node = self.next[number] as usize;
            Some(number * STEP)
        })
    }

    /// Returns the windows of 64 bytes that contain a block with more than `crowd` occurrences.
    /// Returns all windows if the index is incomplete.
    pub(super) fn crowded_windows(&self, crowd: usize) -> Bits {
        let count = windows(self.data, LEAST_RUN);
        let mut crowded = Bits::new(count);
        if !self.complete {
            crowded.set_range(0..count);
            return crowded;
        }
        let chain = |head: u32| {
            let link = |&node: &u32| Some(self.next[node as usize - 1]).filter(|&node| node != 0);
            std::iter::successors(Some(head).filter(|&head| head != 0), link)
        };
        for &(_, head) in &self.heads {
            if chain(head).nth(crowd).is_some() {
                for node in chain(head) {
                    let at = (node as usize - 1) * STEP;
                    crowded.set_range(holding(at, count));
                }
            }
        }
        crowded
    }

    /// Returns the slot where the chain of the block begins, or would begin. `None` if the search
    /// ends before such a slot.
    #[inline]
    fn probe(&self, hash: u64, block: &[u8]) -> Option<usize> {
        let mask = self.heads.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        for _ in 0..LONGEST_PROBE {
            let (tag, head) = self.heads[slot];
            if head == 0 {
                return Some(slot);
            }
            let at = (head as usize - 1) * STEP;
            if tag == hash as u32 && self.data[at..at + WIDTH] == *block {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
        None
    }
}

/// Returns which of the first `count` windows of 64 bytes contain the block at `at`.
pub(super) fn holding(at: usize, count: usize) -> std::ops::Range<usize> {
    at.saturating_sub(STEP - 1).min(count)..(at + 1).min(count)
}
