//! Costs of proofs in bytes read, so that the budgets of all questions are comparable.

use resemble_core::ByteLen;
use resemble_core::bits::BitSet;

/// The budget of a question about all pairs, in bytes read. If nothing had to be read, it would
/// cover pairs of [`MEASURED`] times as many bytes.
pub const MOST_WORK: u64 = 8 << 30;

/// The maximum number of bytes that `pairs` compares: about half a minute of one processor.
pub const COMPARED: ByteLen = ByteLen(4 << 30);

/// Reading a byte and cutting it into words costs this many times as much as measuring it.
pub const MEASURED: u64 = 8;

/// Extracting the parts of a file costs this many times as much as reading it.
pub const TAKEN_APART: u64 = 4;

/// The contents that a question about pairs has decided to read, and its budget.
#[derive(Clone, Debug)]
pub struct ReadBudget {
    read: BitSet,
    /// Bytes that are left.
    left: u64,
}

impl ReadBudget {
    /// Starts with a budget of this many bytes.
    pub fn new(work: u64) -> Self {
        Self {
            read: BitSet::default(),
            left: work,
        }
    }

    /// Spends the cost of measuring a pair, if the budget covers it. Returns whether it did. The
    /// cost includes reading each content that is not yet decided to be read.
    pub fn takes(
        &mut self,
        pair: [u32; 2],
        size: impl Fn(u32) -> u64,
        reading: impl Fn(u32) -> u64,
    ) -> bool {
        let new = pair.iter().filter(|&&content| !self.read.has(content));
        let measured = pair.iter().map(|&content| size(content)).sum::<u64>();
        let cost = new.map(|&content| reading(content)).sum::<u64>() + measured / MEASURED;
        let is_taken = self.spends(cost);
        if is_taken {
            for content in pair {
                self.read.insert(content);
            }
        }
        is_taken
    }

    /// Spends this cost, if the budget covers it. Returns whether it did.
    pub const fn spends(&mut self, cost: u64) -> bool {
        let is_left = cost <= self.left;
        if is_left {
            self.left -= cost;
        }
        is_left
    }
}
