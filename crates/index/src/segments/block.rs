//! Blocks of postings: Elias-Fano coded keys with packed content ids.
//!
//! A block is a run of postings `(key, content)` in ascending order. Its redb key is its first
//! posting; keys below are relative to that posting's key.
//!
//! ```text
//! │ n u16 │ low bits l u8 │ id bits w u8 │ least id u32 │
//! │ n low parts, l bits each │ n ids - least, w bits each │ high parts, unary │
//! ```
//! (little endian; each of the three regions is padded to a byte.) The high part of posting `i`,
//! `h = (key - first) >> l`, is written as a one at bit `h + i`, so the ones are the postings and
//! the zeros step `h`. This is the classic quasi-succinct code (Elias 1974, Fano 1971; Vigna,
//! "Quasi-succinct indices", WSDM 2013): within half a bit of the information content of random
//! keys, and unlike delta codes it can be searched without decoding what lies before: count zeros
//! by the word, then compare the few low parts of that `h`.
//!
//! The blocks of one segment are cut greedily so that each fills a page (see [`BLOCK`]).

use crate::codec::Malformed;
use crate::codec::bits;

/// One posting.
pub(crate) type Posting = (u64, u32);

/// A posting as a number, by which postings are ordered without a branch.
pub(crate) fn pack((key, content): Posting) -> u128 {
    u128::from(key) << 32 | u128::from(content)
}

/// The posting of such a number.
pub(crate) const fn unpack(packed: u128) -> Posting {
    ((packed >> 32) as u64, packed as u32)
}

/// The greatest number of bytes of a block: a 4096-byte leaf less its header (4), one key (12)
/// and one offset (4), less a little.
pub(crate) const BLOCK: usize = 4072;

const HEAD: usize = 8;
const MOST: usize = u16::MAX as usize;

/// Collects ascending postings until they fill a block.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    postings: Vec<Posting>,
    least: u32,
    greatest: u32,
}

impl Builder {
    /// Adds a posting if the block has room for it; never refuses the first.
    pub(crate) fn push(&mut self, posting: Posting) -> bool {
        let Some(&(first, _)) = self.postings.first() else {
            self.postings.push(posting);
            self.least = posting.1;
            self.greatest = posting.1;
            return true;
        };
        let count = self.postings.len() + 1;
        let least = self.least.min(posting.1);
        let greatest = self.greatest.max(posting.1);
        let span = posting.0 - first;
        let size = size(
            count,
            span,
            guess_low(count, span),
            bits::width(u64::from(greatest - least)),
        );
        if size > BLOCK || count > MOST {
            return false;
        }
        self.postings.push(posting);
        self.least = least;
        self.greatest = greatest;
        true
    }

    /// Writes the block into `out` (cleared first) and empties the builder; answers the first
    /// posting, or `None` if there is nothing.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) -> Option<Posting> {
        let (&first, &last) = (self.postings.first()?, self.postings.last()?);
        let count = self.postings.len();
        let span = last.0 - first.0;
        let wide = bits::width(u64::from(self.greatest - self.least));
        let guess = guess_low(count, span);
        let low = (guess.saturating_sub(1)..=guess + 1)
            .min_by_key(|&low| size(count, span, low, wide))
            .unwrap_or(guess);
        out.clear();
        out.extend_from_slice(&(count as u16).to_le_bytes());
        out.push(low as u8);
        out.push(wide as u8);
        out.extend_from_slice(&self.least.to_le_bytes());
        let mask = (1 << low) - 1;
        let mut writer = bits::Writer::new(out);
        for &(key, _) in &self.postings {
            writer.put((key - first.0) & mask, low);
        }
        writer.finish();
        let mut writer = bits::Writer::new(out);
        for &(_, id) in &self.postings {
            writer.put(u64::from(id - self.least), wide);
        }
        writer.finish();
        let high_at = out.len();
        out.resize(high_at + bits::bytes((span >> low) as usize + count), 0);
        for (index, &(key, _)) in self.postings.iter().enumerate() {
            let bit = ((key - first.0) >> low) as usize + index;
            out[high_at + bit / 8] |= 1 << (bit % 8);
        }
        self.postings.clear();
        Some(first)
    }
}

/// About log2(span / count): the best number of low bits or one off.
fn guess_low(count: usize, span: u64) -> u32 {
    if span == 0 {
        0
    } else {
        span.ilog2().saturating_sub(count.ilog2())
    }
}

fn size(count: usize, span: u64, low: u32, wide: u32) -> usize {
    HEAD + bits::bytes(count * low as usize)
        + bits::bytes(count * wide as usize)
        + bits::bytes((span >> low) as usize + count)
}

/// A block to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    first: u64,
    count: usize,
    low: u32,
    wide: u32,
    least: u32,
    lows: &'a [u8],
    ids: &'a [u8],
    highs: &'a [u8],
}

impl<'a> Block<'a> {
    /// The block in `bytes`, whose first posting has the key `first`.
    pub(crate) fn parse(first: u64, bytes: &'a [u8]) -> Result<Self, Malformed> {
        Self::regions(first, bytes).ok_or(Malformed("postings"))
    }

    fn regions(first: u64, bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let count = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let (low, wide) = (u32::from(head[2]), u32::from(head[3]));
        let least = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if low > 63 || wide > 32 {
            return None;
        }
        let (lows, rest) = rest.split_at_checked(bits::bytes(count * low as usize))?;
        let (ids, highs) = rest.split_at_checked(bits::bytes(count * wide as usize))?;
        Some(Self {
            first,
            count,
            low,
            wide,
            least,
            lows,
            ids,
            highs,
        })
    }

    fn low(&self, index: usize) -> u64 {
        bits::get(self.lows, index * self.low as usize, self.low)
    }

    fn id(&self, index: usize) -> u32 {
        let offset = bits::get(self.ids, index * self.wide as usize, self.wide) as u32;
        self.least.wrapping_add(offset)
    }

    /// Appends the content ids of `key`, ascending.
    pub(crate) fn find(&self, key: u64, found: &mut Vec<u32>) {
        let Some(relative) = key.checked_sub(self.first) else {
            return;
        };
        let high = relative >> self.low;
        let wanted = relative & ((1 << self.low) - 1);
        let Some(mut bit) = self.after_zeros(high) else {
            return;
        };
        // `bit - high` ones lie before it, as many as postings with a lesser high part.
        let mut index = bit - high as usize;
        while index < self.count
            && self
                .highs
                .get(bit / 8)
                .is_some_and(|b| b >> (bit % 8) & 1 == 1)
        {
            match self.low(index).cmp(&wanted) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => found.push(self.id(index)),
                std::cmp::Ordering::Greater => return,
            }
            bit += 1;
            index += 1;
        }
    }

    /// The bit after the `zeros`-th zero of the high parts (0 for none), if there are as many.
    fn after_zeros(&self, zeros: u64) -> Option<usize> {
        if zeros == 0 {
            return Some(0);
        }
        let mut left = usize::try_from(zeros).ok()?;
        if left > self.highs.len() * 8 {
            return None;
        }
        let words = self.highs.len().div_ceil(8);
        for index in 0..words {
            let word = !bits::word(self.highs, index);
            let here = word.count_ones() as usize;
            if left <= here {
                let bit = index * 64 + nth_one(word, left - 1) as usize;
                return (bit < self.highs.len() * 8).then_some(bit + 1);
            }
            left -= here;
        }
        None
    }

    /// Appends all postings to `out`.
    pub(crate) fn decode(&self, out: &mut Vec<Posting>) -> Result<(), Malformed> {
        let malformed = Malformed("postings");
        out.reserve(self.count);
        let mut index = 0;
        for at in 0..self.highs.len().div_ceil(8) {
            let mut word = bits::word(self.highs, at);
            while word != 0 {
                if index == self.count {
                    return Err(malformed);
                }
                let bit = at * 64 + word.trailing_zeros() as usize;
                let high = (bit - index) as u64;
                let key = (high << self.low | self.low(index)).checked_add(self.first);
                out.push((key.ok_or(malformed)?, self.id(index)));
                index += 1;
                word &= word - 1;
            }
        }
        if index == self.count {
            Ok(())
        } else {
            Err(malformed)
        }
    }
}

/// The position of the one with `before` ones below it.
fn nth_one(mut word: u64, before: usize) -> u32 {
    for _ in 0..before {
        word &= word - 1;
    }
    word.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use resemble_testutil::random::Random;

    fn blocks(postings: &[Posting]) -> Vec<(Posting, Vec<u8>)> {
        let mut builder = Builder::default();
        let mut out = Vec::new();
        let mut bytes = Vec::new();
        for &posting in postings {
            if !builder.push(posting) {
                let first = builder.take(&mut bytes).unwrap();
                out.push((first, bytes.clone()));
                assert!(builder.push(posting));
            }
        }
        if let Some(first) = builder.take(&mut bytes) {
            out.push((first, bytes));
        }
        out
    }

    fn postings() -> impl Strategy<Value = Vec<Posting>> {
        (1u32..=64, 1u32..=32, 0usize..3000).prop_flat_map(|(key, id, count)| {
            let keys = any::<u64>().prop_map(move |k| k >> (64 - key));
            let ids = any::<u32>().prop_map(move |i| i >> (32 - id));
            prop::collection::btree_set((keys, ids), 0..=count)
                .prop_map(|set| set.into_iter().collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn postings_come_back(postings in postings()) {
            let mut decoded = Vec::new();
            for (first, bytes) in blocks(&postings) {
                prop_assert!(bytes.len() <= BLOCK);
                let block = Block::parse(first.0, &bytes).unwrap();
                let start = decoded.len();
                block.decode(&mut decoded).unwrap();
                prop_assert_eq!(decoded[start], first);
                let here = &decoded[start..];
                prop_assert_eq!(here.len(), block.count);
                for &(key, _) in here {
                    let mut found = Vec::new();
                    block.find(key, &mut found);
                    let expected: Vec<_> =
                        here.iter().filter(|p| p.0 == key).map(|p| p.1).collect();
                    prop_assert_eq!(found, expected);
                    for near in [key.wrapping_sub(1), key.wrapping_add(1)] {
                        let mut found = Vec::new();
                        block.find(near, &mut found);
                        prop_assert_eq!(
                            found.len(),
                            here.iter().filter(|p| p.0 == near).count()
                        );
                    }
                }
            }
            prop_assert_eq!(decoded, postings);
        }

        #[test]
        fn any_bytes_are_read_or_refused(first: u64, key: u64, bytes: Vec<u8>) {
            if let Ok(block) = Block::parse(first, &bytes) {
                let _all = block.decode(&mut Vec::new());
                block.find(key, &mut Vec::new());
            }
        }
    }

    #[test]
    fn random_postings_cost_what_theory_says() {
        // 80,000 contents, 6 million fingerprints of 38 bits: log2(2^38 / 6e6) + 2 + 17 bits.
        let mut key = 0;
        let mut random = Random::new(1);
        let mut next = || random.draw() >> 33;
        let postings: Vec<_> = (0..20_000)
            .map(|_| {
                key += next() % 91_600;
                (key, (next() % 80_000) as u32)
            })
            .collect();
        let bytes: usize = blocks(&postings).iter().map(|block| block.1.len()).sum();
        let each = bytes as f64 / postings.len() as f64;
        assert!(each < 4.5, "{each}");
    }
}
