//! Smaller offsets: the experiment of section 5.
//!
//! "Since most chunks appear in very low number of documents (most often there are in 0 or 1
//! document), so the offset table can be compressed: the neighbouring values are usually close to
//! each other." Here every 64th offset is kept as it is, and of the others the difference to the
//! one before, a byte each; a difference of 255 or more stands in a list beside. A look-up adds up
//! to 63 bytes: 73 bytes for 64 offsets instead of 256 or 512, and one line of the processor's
//! cache more.

use std::collections::HashMap;

/// Offsets of which one is kept.
const BLOCK: usize = 64;

/// Differences from here on stand in the list.
const LARGE: u8 = u8::MAX;

/// Offsets by differences.
#[derive(Clone, Debug, Default)]
pub struct Deltas {
    starts: Vec<u64>,
    differences: Vec<u8>,
    large: HashMap<usize, u64>,
    length: usize,
}

impl Deltas {
    /// Of offsets, which ascend.
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

    /// One of them.
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

    /// Bytes in memory; of a large difference its place and itself.
    pub fn bytes(&self) -> u64 {
        (self.starts.len() * 8 + self.differences.len() + self.large.len() * 16) as u64
    }

    /// How many offsets.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}
