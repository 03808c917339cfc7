//! Numbers of shingles by open addressing: what a text is laid out in.

/// Numbers, each with the number of its entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// A bit for each number by its last digits: most numbers that are asked for are not here, and
    /// these bits lie in the processor's nearest memory.
    hints: Vec<u64>,
    /// The second is one more than the entry; 0 marks a free slot.
    slots: Vec<(u32, u32)>,
}

impl Slots {
    /// Forgets everything and makes room for so many numbers.
    pub(super) fn clear(&mut self, numbers: usize) {
        let room = (2 * numbers).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(room, (0, 0));
        self.hints.clear();
        self.hints.resize(room / 4, 0);
    }

    /// The entry of a number, if it is here.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        let (word, bit) = self.hint(number);
        if self.hints[word] & bit == 0 {
            return None;
        }
        self.slots[self.place(number)].1.checked_sub(1)
    }

    /// Puts a number here.
    #[inline]
    pub(super) fn put(&mut self, number: u32, entry: u32) {
        let place = self.place(number);
        self.slots[place] = (number, entry + 1);
        let (word, bit) = self.hint(number);
        self.hints[word] |= bit;
    }

    /// Where the bit of a number is.
    #[inline]
    fn hint(&self, number: u32) -> (usize, u64) {
        let word = (number / 64) as usize & (self.hints.len() - 1);
        (word, 1 << (number % 64))
    }

    /// Where a number is, or would be.
    #[inline]
    fn place(&self, number: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (number.wrapping_mul(0x9E37_79B1) >> 7) as usize & mask;
        while self.slots[at].1 != 0 && self.slots[at].0 != number {
            at = (at + 1) & mask;
        }
        at
    }
}
