//! Seeded numbers and bytes.

/// Random numbers of a seed, the same on every machine: splitmix64 (Steele, Lea & Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream far from those of the seeds beside it.
    pub(crate) fn apart(seed: u64) -> Self {
        Self(Self(seed).draw())
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n.max(1) as u64) as usize
    }
}

/// Any bytes; those of another seed have nothing in common with them.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::apart(seed);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.draw().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Small letters without a blank; those of another seed have nothing in common with them.
pub fn letters(seed: u64, len: usize) -> Vec<u8> {
    let noise = noise(seed, len);
    noise.into_iter().map(|byte| b'a' + byte % 26).collect()
}
