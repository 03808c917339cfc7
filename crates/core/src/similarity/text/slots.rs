//! A hash table with open addressing: finds the entry of a chain in a text that is laid out.

/// The numbers of chains, each with the number of its entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// One bit for each number. The low bits of the number give the place of its bit. Most look-ups
    /// miss, and these bits are in the processor's nearest cache.
    hints: Vec<u64>,
    /// The number of a chain, and one more than its entry; 0 marks a free slot.
    slots: Vec<(u32, u32)>,
}

impl Slots {
    /// Removes everything and makes room for `numbers` numbers.
    pub(super) fn clear(&mut self, numbers: usize) {
        let room = (2 * numbers).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(room, (0, 0));
        self.hints.clear();
        self.hints.resize(room / 4, 0);
    }

    /// Returns the entry of a number, if there is one.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        let (word, bit) = self.hint(number);
        if self.hints[word] & bit == 0 {
            return None;
        }
        self.slots[self.place(number)].1.checked_sub(1)
    }

    /// Inserts a number.
    #[inline]
    pub(super) fn put(&mut self, number: u32, entry: u32) {
        let place = self.place(number);
        self.slots[place] = (number, entry + 1);
        let (word, bit) = self.hint(number);
        self.hints[word] |= bit;
    }

    /// Returns the place of a number's bit.
    #[inline]
    fn hint(&self, number: u32) -> (usize, u64) {
        let word = (number / 64) as usize & (self.hints.len() - 1);
        (word, 1 << (number % 64))
    }

    /// Returns the slot of a number, or the slot where the number would be inserted.
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
