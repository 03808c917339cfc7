//! Stores offsets in less memory: the experiment of section 5.
//!
//! The paper says: "Since most chunks appear in very low number of documents (most often there are
//! in 0 or 1 document), so the offset table can be compressed: the neighbouring values are usually
//! close to each other." Here every 64th offset is stored as it is. Each of the other offsets is
//! stored in one byte, as the difference from the previous offset. Differences of 255 or more are
//! in a separate list. A look-up adds up the values of up to 63 bytes. So 64 offsets take 72 bytes
//! instead of 256 or 512. A look-up reads one cache line more than without differences.

use std::collections::HashMap;

/// The number of offsets in a block. The first offset of a block is stored in full.
const BLOCK: usize = 64;

/// The smallest difference that is stored in the separate list.
const LARGE: u8 = u8::MAX;

/// Offsets, stored as differences.
#[derive(Clone, Debug, Default)]
pub struct Deltas {
    starts: Vec<u64>,
    differences: Vec<u8>,
    large: HashMap<usize, u64>,
    length: usize,
}

impl Deltas {
    /// Stores these offsets, which must ascend.
    pub fn of(offsets: impl IntoIterator<Item = u64>) -> Self {
        let (mut deltas, mut before) = (Self::default(), 0);
        for (at, offset) in offsets.into_iter().enumerate() {
            if at % BLOCK == 0 {
                deltas.starts.push(offset);
                deltas.differences.push(0);
            } else {
                let difference = offset.saturating_sub(before);
                let byte = u8::try_from(difference).unwrap_or(LARGE);
                deltas.differences.push(byte);
                if byte == LARGE {
                    deltas.large.insert(at, difference);
                }
            }
            before = offset;
            deltas.length += 1;
        }
        deltas
    }

    /// Returns the offset at this index.
    #[inline]
    pub fn get(&self, at: usize) -> Option<u64> {
        let start = *self.starts.get(at / BLOCK)?;
        let from = at / BLOCK * BLOCK;
        let differences = self.differences.get(from..=at)?;
        let sum: u64 = differences.iter().map(|&byte| u64::from(byte)).sum();
        if self.large.is_empty() || !differences.contains(&LARGE) {
            return Some(start + sum);
        }
        let more = (from..=at).filter_map(|at| self.large.get(&at));
        Some(
            start
                + sum
                + more
                    .map(|difference| difference - u64::from(LARGE))
                    .sum::<u64>(),
        )
    }

    /// Returns the number of bytes of memory that the offsets take. For a large difference, this
    /// includes its index and its value.
    pub fn bytes(&self) -> u64 {
        (self.starts.len() * 8 + self.differences.len() + self.large.len() * 16) as u64
    }

    /// Returns the number of offsets.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no offsets.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}
