//! Seeded numbers and bytes for the tests.

use crate::rolling::table::{GAMMA, splitmix};

/// The numbers of splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        splitmix(self.0)
    }

    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}

pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(splitmix(seed));
    (0..len).map(|_| random.draw() as u8).collect()
}
