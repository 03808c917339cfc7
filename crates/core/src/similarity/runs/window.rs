//! Hashed windows of a byte string: a rolling hash and a set of the distinct windows.

use crate::similarity::runs::LEAST_RUN;

/// The maximum number of slots that a search examines. An ordinary string never needs as many
/// slots. In a string made to collide, a window that needs more slots is lost.
const LONGEST_PROBE: usize = 256;

/// Returns the number of windows of this width in a byte string.
pub(super) fn windows(data: &[u8], width: usize) -> usize {
    (data.len() + 1).saturating_sub(width)
}

/// A Karp-Rabin hash of the window at a position, mod 2^64.
///
/// No hash is kept after a call, and the bytes are always compared, too. So the hash need not be
/// equal to the fingerprints of the index. The width is the width of a block or of a window.
/// [`Self::seek`] moves to any position.
pub(super) struct Roll<'s> {
    data: &'s [u8],
    width: usize,
    at: usize,
    hash: u64,
    /// `MULTIPLIER` to the power of the width, which removes the oldest byte.
    out: u64,
}

impl<'s> Roll<'s> {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Makes the hash at position 0. `data` must have at least `width` bytes when the hash is used.
    pub(super) fn new(data: &'s [u8], width: usize) -> Self {
        let out = (0..width).fold(1u64, |power, _| power.wrapping_mul(Self::MULTIPLIER));
        let mut roll = Self {
            data,
            width,
            at: 0,
            hash: 0,
            out,
        };
        if data.len() >= width {
            roll.start(0);
        }
        roll
    }

    fn start(&mut self, at: usize) {
        self.at = at;
        self.hash = self.data[at..at + self.width]
            .iter()
            .fold(0u64, |hash, &byte| {
                hash.wrapping_mul(Self::MULTIPLIER)
                    .wrapping_add(Self::value(byte))
            });
    }

    /// Returns 1..=256, so that leading zero bytes change the hash.
    const fn value(byte: u8) -> u64 {
        byte as u64 + 1
    }

    /// Moves to the window at `at`. One step forward is cheapest.
    #[inline]
    pub(super) fn seek(&mut self, at: usize) {
        if at == self.at + 1 {
            let old = Self::value(self.data[self.at]).wrapping_mul(self.out);
            let new = Self::value(self.data[self.at + self.width]);
            self.hash = self
                .hash
                .wrapping_mul(Self::MULTIPLIER)
                .wrapping_add(new)
                .wrapping_sub(old);
            self.at = at;
        } else if at != self.at {
            self.start(at);
        }
    }

    /// Moves to the first position of `from..end` whose hash `accept` accepts, and returns it.
    #[inline]
    pub(super) fn search(
        &mut self,
        from: usize,
        end: usize,
        accept: impl Fn(u64) -> bool,
    ) -> Option<usize> {
        if from >= end {
            return None;
        }
        self.seek(from);
        if accept(self.hash()) {
            return Some(from);
        }
        let old = &self.data[from..end - 1];
        let new = &self.data[from + self.width..end - 1 + self.width];
        for (steps, (&old, &new)) in old.iter().zip(new).enumerate() {
            self.hash = self.hash.wrapping_mul(Self::MULTIPLIER).wrapping_add(
                Self::value(new).wrapping_sub(Self::value(old).wrapping_mul(self.out)),
            );
            if accept(self.hash()) {
                self.at = from + steps + 1;
                return Some(self.at);
            }
        }
        self.at = end - 1;
        None
    }

    /// Returns the hash. The bits of the polynomial are mixed, because its low bits depend only on
    /// the low bits of the bytes.
    #[inline]
    pub(super) fn hash(&self) -> u64 {
        let mixed = (self.hash ^ (self.hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// The distinct windows of 64 bytes that were inserted, each with the place of its first insertion.
///
/// The set uses open addressing with entries of 8 bytes, and is at most half full. It grows with
/// the number of distinct windows, so a repetitive file takes little memory.
pub(super) struct WindowSet<'s> {
    data: &'s [u8],
    len: usize,
    /// 64 minus the binary logarithm of the number of entries.
    shift: u32,
    /// The upper half of the hash, and the place plus 1; 0 as the place marks a free entry.
    entries: Vec<(u32, u32)>,
}

impl<'s> WindowSet<'s> {
    /// Makes an empty set of windows of `data`, which must have fewer than 2^32 windows.
    pub(super) fn new(data: &'s [u8]) -> Self {
        const FIRST: usize = 1 << 10;
        Self {
            data,
            len: 0,
            shift: 64 - FIRST.ilog2(),
            entries: vec![(0, 0); FIRST],
        }
    }

    /// Counts the distinct windows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Loads the entries for these hashes in advance, so that the loads overlap. [`Self::insert`]
    /// or [`Self::find`] is then called with each hash.
    #[inline]
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u64>) {
        std::hint::black_box(hashes.fold(0, |sum, hash| {
            sum ^ self.entries[(hash >> self.shift) as usize].1
        }));
    }

    /// Inserts the window at `at`, unless an equal window is in the set.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, at: usize) {
        if let (Some(slot), false) = self.probe(hash, &self.data[at..at + LEAST_RUN]) {
            self.entries[slot] = ((hash >> 32) as u32, at as u32 + 1);
            self.len += 1;
            if 2 * self.len > self.entries.len() {
                self.grow();
            }
        }
    }

    /// Returns the current number of slots, which is greater than any result of [`Self::slot`].
    pub(super) fn slots(&self) -> usize {
        self.entries.len()
    }

    /// Returns the slot of an equal window, valid until the next insertion.
    #[inline]
    pub(super) fn slot(&self, hash: u64, window: &[u8]) -> Option<usize> {
        match self.probe(hash, window) {
            (slot, true) => slot,
            (_, false) => None,
        }
    }

    /// Returns the place of the first inserted window that equals this one.
    #[inline]
    pub(super) fn find(&self, hash: u64, window: &[u8]) -> Option<usize> {
        let slot = self.slot(hash, window)?;
        Some(self.entries[slot].1 as usize - 1)
    }

    /// Returns the slot of the window and true, or a free slot for it and false. The slot is `None`
    /// if the search finds neither.
    #[inline]
    fn probe(&self, hash: u64, window: &[u8]) -> (Option<usize>, bool) {
        let mask = self.entries.len() - 1;
        let mut slot = (hash >> self.shift) as usize;
        for _ in 0..LONGEST_PROBE {
            let (tag, place) = self.entries[slot];
            if place == 0 {
                return (Some(slot), false);
            }
            let place = place as usize - 1;
            if tag == (hash >> 32) as u32 && self.data[place..place + LEAST_RUN] == *window {
                return (Some(slot), true);
            }
            slot = (slot + 1) & mask;
        }
        (None, false)
    }

    /// Doubles the number of entries. The hashes are not needed, because the tags have the bits
    /// that determine the slot of an entry.
    fn grow(&mut self) {
        let room = 2 * self.entries.len();
        let old = std::mem::replace(&mut self.entries, vec![(0, 0); room]);
        self.shift -= 1;
        for entry in old.into_iter().filter(|entry| entry.1 != 0) {
            let mut slot = ((u64::from(entry.0) << 32) >> self.shift) as usize;
            while self.entries[slot].1 != 0 {
                slot = (slot + 1) & (room - 1);
            }
            self.entries[slot] = entry;
        }
    }
}
