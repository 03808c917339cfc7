//! Seeded numbers and bytes.

/// A seeded random number generator, equal on every machine: splitmix64 (Steele, Lea & Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates a stream far from those of the neighbouring seeds.
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

    /// Returns a number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n.max(1) as u64) as usize
    }
}

/// Returns random bytes; those of another seed have nothing in common with them.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::apart(seed);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.draw().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Returns small letters without a blank; those of another seed have nothing in common with them.
pub fn letters(seed: u64, len: usize) -> Vec<u8> {
    let noise = noise(seed, len);
    noise.into_iter().map(|byte| b'a' + byte % 26).collect()
}
