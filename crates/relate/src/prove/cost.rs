//! What a proof costs, in bytes that are read: so budgets of all questions count alike.

use resemble_core::ByteLen;
use resemble_core::bits::BitSet;

/// A question about all pairs reads contents of so many bytes, and measures pairs of
/// [`MEASURED`] times as many at most.
pub const MOST_WORK: u64 = 8 << 30;

/// `pairs` holds so many bytes against each other: some half a minute of one processor.
pub const COMPARED: ByteLen = ByteLen(4 << 30);

/// Measuring a byte that is ready costs this part of reading it and cutting it into words.
pub const MEASURED: u64 = 8;

/// Taking a byte of a file apart takes as long as reading so many.
pub const TAKEN_APART: u64 = 4;

/// What a question about pairs has decided to read.
#[derive(Clone, Debug)]
pub struct ReadBudget {
    read: BitSet,
    /// Bytes that are left.
    left: u64,
}

impl ReadBudget {
    /// A budget of so many bytes.
    pub fn new(work: u64) -> Self {
        Self {
            read: BitSet::default(),
            left: work,
        }
    }

    /// Whether two contents are measured as well: their sizes, and what reading each costs if that
    /// was not decided before.
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

    /// Whether so much is left, which is then spent.
    pub const fn spends(&mut self, cost: u64) -> bool {
        let is_left = cost <= self.left;
        if is_left {
            self.left -= cost;
        }
        is_left
    }
}
