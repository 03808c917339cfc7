//! Seeded numbers and bytes.

/// A seeded generator of random numbers, splitmix64 (Steele, Lea & Flood 2014). It gives the same
/// numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates a generator whose numbers differ from the numbers of all neighbouring seeds.
    pub(crate) fn apart(seed: u64) -> Self {
        Self(Self(seed).draw())
    }

    /// Returns the next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n.max(1) as u64) as usize
    }
}

/// Returns random bytes. The bytes of two seeds have nothing in common.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::apart(seed);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.draw().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Returns random lower-case letters without spaces. The letters of two seeds have nothing in
/// common.
pub fn letters(seed: u64, len: usize) -> Vec<u8> {
    let noise = noise(seed, len);
    noise.into_iter().map(|byte| b'a' + byte % 26).collect()
}
