//! Shingles by open addressing: what a text is laid out in.

/// Shingles, each with a number that is not 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    filter: SlotFilter,
    /// 0 marks a free slot.
    slots: Vec<(u64, u32)>,
}

impl Slots {
    /// Forgets everything and makes room for so many shingles.
    pub(super) fn clear(&mut self, shingles: usize) {
        let room = (2 * shingles).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(room, (0, 0));
        self.filter.clear(room);
    }

    /// Whether a shingle may be here; `false` is certain.
    #[inline]
    pub(super) fn may_have(&self, shingle: u64) -> bool {
        self.filter.may_have(shingle)
    }

    /// The number of a shingle; 0 if it is not here.
    #[inline]
    pub(super) fn get(&self, shingle: u64) -> u32 {
        self.slots[self.place(shingle)].1
    }

    /// Puts a shingle here, or gives it another number.
    #[inline]
    pub(super) fn put(&mut self, shingle: u64, number: u32) {
        self.filter.add(shingle);
        let place = self.place(shingle);
        self.slots[place] = (shingle, number);
    }

    /// Where a shingle is, or would be.
    #[inline]
    fn place(&self, shingle: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = shingle as usize & mask;
        while self.slots[at].1 != 0 && self.slots[at].0 != shingle {
            at = (at + 1) & mask;
        }
        at
    }
}

/// Tells most of what is not in a table without a look into it: a bit for each of eight to sixteen
/// values. (A table of a long text is larger than the fastest cache, and most shingles of another
/// are not in it.)
#[derive(Clone, Debug, Default)]
struct SlotFilter(Vec<u64>);

impl SlotFilter {
    /// For a table of so many slots, a power of two of at least 16.
    fn clear(&mut self, slots: usize) {
        self.0.clear();
        self.0.resize(slots / 16, 0);
    }

    #[inline]
    fn bit(&self, shingle: u64) -> (usize, u64) {
        let bit = (shingle >> 24) as usize;
        ((bit / 64) & (self.0.len() - 1), 1 << (bit % 64))
    }

    #[inline]
    fn add(&mut self, shingle: u64) {
        let (word, bit) = self.bit(shingle);
        self.0[word] |= bit;
    }

    #[inline]
    fn may_have(&self, shingle: u64) -> bool {
        let (word, bit) = self.bit(shingle);
        self.0[word] & bit != 0
    }
}
