//! Seeded texts with known kinship.

/// A small generator with a seed: the same numbers on every machine (`SplitMix64`, Steele et al.
/// 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n` (which is above 0).
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}

const WORDS: [&str; 48] = [
    "the", "harbour", "report", "of", "spring", "shows", "that", "ships", "came", "later", "than",
    "in", "any", "year", "before", "while", "grain", "and", "timber", "were", "counted", "twice",
    "by", "clerks", "whose", "ledgers", "no", "longer", "agree", "with", "customs", "so", "each",
    "figure", "below", "is", "an", "estimate", "from", "weights", "taken", "at", "quay", "three",
    "north", "winter", "council", "asked",
];

/// Text of about `bytes` bytes; another seed gives unrelated text of the same vocabulary.
pub fn prose(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = Vec::with_capacity(bytes + 16);
    let mut column = 0;
    while text.len() < bytes {
        let word = WORDS[random.below(WORDS.len())];
        let number = random.below(1000);
        let piece = if random.below(9) == 0 {
            format!("{word}-{number}")
        } else {
            word.to_owned()
        };
        column += piece.len() + 1;
        text.extend_from_slice(piece.as_bytes());
        text.push(if column > 72 { b'\n' } else { b' ' });
        column = if column > 72 { 0 } else { column };
    }
    text
}

/// The text with `edits` words overwritten at seeded places.
pub fn edited(text: &[u8], seed: u64, edits: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = text.to_vec();
    for _ in 0..edits {
        let at = random.below(text.len().saturating_sub(8).max(1));
        text.splice(at..at, *b"[edit] ");
    }
    text
}
