//! Measures the costs of proofs in bytes read, so that the budgets of all questions are comparable.

use resemble_core::ByteLen;
use resemble_core::bits::BitSet;

/// The budget of a question about all pairs, in bytes read. Comparing contents that were already
/// read costs less: the budget is enough for [`MEASURED`] times as many bytes.
pub const MOST_WORK: u64 = 8 << 30;

/// The maximum number of bytes that `pairs` compares. That takes about half a minute of one
/// processor.
pub const COMPARED: ByteLen = ByteLen(4 << 30);

/// Reading bytes and cutting them into words costs this many times as much as measuring them.
pub const MEASURED: u64 = 8;

/// Extracting the parts of a file costs this many times as much as reading the file.
pub const TAKEN_APART: u64 = 4;

/// The contents that a question about pairs will read, and the rest of its budget.
#[derive(Clone, Debug)]
pub struct ReadBudget {
    read: BitSet,
    /// The rest of the budget in bytes.
    left: u64,
}

impl ReadBudget {
    /// Starts with a budget of this many bytes, and no contents to read.
    pub fn new(work: u64) -> Self {
        Self {
            read: BitSet::default(),
            left: work,
        }
    }

    /// Subtracts the cost of measuring a pair from the budget, if the budget is large enough.
    /// Returns whether it was large enough. The cost includes reading the contents of the pair,
    /// except those that the question will read anyway.
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

    /// Subtracts this cost from the budget, if the budget is large enough. Returns whether it was
    /// large enough.
    pub const fn spends(&mut self, cost: u64) -> bool {
        let is_left = cost <= self.left;
        if is_left {
            self.left -= cost;
        }
        is_left
    }
}
