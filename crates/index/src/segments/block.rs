//! Encodes blocks of postings. A block has keys in the Elias-Fano code, and for each key the list
//! of the contents that have it.
//!
//! A block has a run of postings `(key, content)` in ascending order. The first posting is the key
//! of the block in redb. All posting keys in the block are stored relative to the key of the first
//! posting. A content is a number: in some segments its id, in others its rank ([`super::order`]).
//!
//! ```text
//! │ keys n u16 │ low bits l u8 │ number bits w u8 │ shift k u8 │ least u32 │ bytes of gaps u16 │
//! │ n low parts, l bits each │ n first contents - least, w bits each │
//! │ a u16 for each 64 keys after the first │ gaps │ high parts, unary │
//! ```
//! Numbers are little endian, and each region of bits is padded to a whole byte. The high part of
//! key `i` is `h = (key - first) >> l`. It is written as a 1 at bit `h + i`. So each 1 is a key,
//! and each 0 increments `h`. This is the classic quasi-succinct code (Elias 1974, Fano 1971;
//! Vigna, "Quasi-succinct indices", WSDM 2013). For random keys, it takes at most half a bit per
//! key more than the theoretical minimum. To search in a delta code, one must decode all earlier
//! keys. A search in this code counts 0 bits word by word until it has the `h` of the wanted key.
//! Then it compares the low parts of the few keys with that `h`.
//!
//! The region *gaps* has the list of each key without its first content. Each content of the list
//! is a 1 bit and a gap. A 0 bit ends the list. A gap is the difference from the previous content,
//! minus one. It is written in the exponential Golomb code with `k` low bits. Shift the gap right
//! by `k` and add one. The result has `b + 1` bits. The code is `b` zeros, a one, the low `b` bits
//! of that result, and the `k` bits that were shifted out. The region before the gaps has the bit
//! positions at which the gaps of keys 64, 128, … begin.
//!
//! The blocks of a segment are filled one after another, each up to a page (see [`BLOCK`]).

use std::ops::ControlFlow;

use crate::codec::Malformed;
use crate::codec::bits;

/// A posting: a key, and a content that has it.
pub(crate) type Posting = (u64, u32);

/// The maximum number of bytes of a block. A leaf page has 4096 bytes. The header takes 4 bytes,
/// one key takes 12, and one offset takes 4. The rest is a small reserve.
pub(crate) const BLOCK: usize = 4072;

const HEAD: usize = 11;
const MOST: usize = u16::MAX as usize;
/// One position in the gaps is stored for this number of keys.
const STRIDE: usize = 64;

/// Counts gaps by their number of bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaps([u32; 33]);

impl Gaps {
    pub(crate) const NONE: Self = Self([0; 33]);

    pub(crate) const fn add(&mut self, gap: u32) {
        self.0[bits::width(gap as u64) as usize] += 1;
    }

    /// Returns the shift with which the gaps take the fewest bits, and the approximate number of
    /// these bits.
    pub(crate) fn best_shift(&self) -> (u32, u64) {
        let cost = |shift: u32| {
            let of = |(width, &count): (u32, &u32)| {
                u64::from(count) * u64::from(shift + 2 + 2 * width.saturating_sub(shift + 1))
            };
            (0..).zip(&self.0).map(of).sum::<u64>()
        };
        let costs = (0..=24).map(|shift| (shift, cost(shift)));
        costs.min_by_key(|&(_, cost)| cost).unwrap_or((0, 0))
    }
}

/// Returns the number of bits of an encoded gap, including the 1 bit before it.
const fn gap_bits(gap: u32, shift: u32) -> usize {
    let coded = (gap as u64 >> shift) + 1;
    (2 + 2 * coded.ilog2() + shift) as usize
}

/// Collects ascending postings until they fill a block.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    /// The first posting of each key.
    heads: Vec<Posting>,
    /// The gaps of all lists, one list after another.
    gaps: Vec<u32>,
    /// The end of each list in `gaps`.
    ends: Vec<usize>,
    /// The content of the last posting.
    last: u32,
    least: u32,
    greatest: u32,
    /// Number of bytes of the block without its gaps.
    fixed: usize,
    /// Number of bits of the gaps.
    gap_bits: usize,
    /// The best shift of the previous block. `gap_bits` is counted with this shift.
    shift: u32,
}

impl Builder {
    /// Adds a posting if it fits into the block, and returns whether it fitted. A posting always
    /// fits into an empty block.
    pub(crate) fn push(&mut self, (key, content): Posting) -> bool {
        let (Some(&(first, _)), Some(&(last, _))) = (self.heads.first(), self.heads.last()) else {
            (self.least, self.greatest) = (content, content);
            self.fixed = size(1, 0, 0, 0);
            self.gap_bits = 0;
            self.begin((key, content));
            return true;
        };
        if key == last {
            let gap = content - self.last - 1;
            let gap_bits = self.gap_bits + gap_bits(gap, self.shift);
            if self.fixed + bits::bytes(gap_bits) > BLOCK {
                return false;
            }
            self.gap_bits = gap_bits;
            self.gaps.push(gap);
            self.last = content;
            if let Some(end) = self.ends.last_mut() {
                *end += 1;
            }
            return true;
        }
        let keys = self.heads.len() + 1;
        let (least, greatest) = (self.least.min(content), self.greatest.max(content));
        let span = key - first;
        let width = bits::width(u64::from(greatest - least));
        let fixed = size(keys, span, guess_low(keys, span), width);
        if fixed + bits::bytes(self.gap_bits + 1) > BLOCK || keys > MOST {
            return false;
        }
        (self.least, self.greatest, self.fixed) = (least, greatest, fixed);
        self.begin((key, content));
        true
    }

    /// Adds the first posting of a list.
    fn begin(&mut self, posting: Posting) {
        self.heads.push(posting);
        self.ends.push(self.gaps.len());
        self.gap_bits += 1;
        self.last = posting.1;
    }

    /// Clears `out`, writes the block into it, and empties the builder. Returns the first posting,
    /// or `None` if the builder was empty.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) -> Option<Posting> {
        let (&first, &last) = (self.heads.first()?, self.heads.last()?);
        let keys = self.heads.len();
        let span = last.0 - first.0;
        let wide = bits::width(u64::from(self.greatest - self.least));
        let guess = guess_low(keys, span);
        let low = (guess.saturating_sub(1)..=guess + 1)
            .min_by_key(|&low| size(keys, span, low, wide))
            .unwrap_or(guess);
        let mut gaps = Vec::with_capacity(bits::bytes(self.gap_bits));
        let (shift, starts) = self.write_gaps(&mut gaps);
        out.clear();
        out.extend_from_slice(&(keys as u16).to_le_bytes());
        out.extend_from_slice(&[low as u8, wide as u8, shift as u8]);
        out.extend_from_slice(&self.least.to_le_bytes());
        out.extend_from_slice(&(gaps.len() as u16).to_le_bytes());
        let mask = (1 << low) - 1;
        let mut writer = bits::Writer::new(out);
        for &(key, _) in &self.heads {
            writer.put((key - first.0) & mask, low);
        }
        writer.finish();
        let mut writer = bits::Writer::new(out);
        for &(_, content) in &self.heads {
            writer.put(u64::from(content - self.least), wide);
        }
        writer.finish();
        for start in starts {
            out.extend_from_slice(&start.to_le_bytes());
        }
        out.extend_from_slice(&gaps);
        let high_at = out.len();
        out.resize(high_at + bits::bytes((span >> low) as usize + keys), 0);
        for (index, &(key, _)) in self.heads.iter().enumerate() {
            let bit = ((key - first.0) >> low) as usize + index;
            out[high_at + bit / 8] |= 1 << (bit % 8);
        }
        self.heads.clear();
        self.gaps.clear();
        self.ends.clear();
        Some(first)
    }

    /// Writes the gaps. Returns the shift that was used, and the positions at which the gaps of
    /// keys 64, 128, … begin.
    fn write_gaps(&mut self, out: &mut Vec<u8>) -> (u32, Vec<u16>) {
        let mut widths = Gaps::NONE;
        self.gaps.iter().for_each(|&gap| widths.add(gap));
        let (best, _) = widths.best_shift();
        let needed: usize = self.gaps.iter().map(|&gap| gap_bits(gap, best)).sum();
        // The block was filled on the assumption that `self.shift` is used. With `best`, which is
        // an estimate, the block could need more bits and be too large. Then `self.shift` is used.
        let shift = if needed + self.heads.len() <= self.gap_bits {
            best
        } else {
            self.shift
        };
        self.shift = best;
        let mut starts = Vec::new();
        let (mut from, mut at) = (0, 0);
        let mut writer = bits::Writer::new(out);
        for (index, &end) in self.ends.iter().enumerate() {
            if index > 0 && index % STRIDE == 0 {
                starts.push(at as u16);
            }
            for &gap in &self.gaps[from..end] {
                let coded = (u64::from(gap) >> shift) + 1;
                let extra = coded.ilog2();
                let (high, low) = (coded - (1 << extra), u64::from(gap) & ((1 << shift) - 1));
                writer.put(1 | 2 << extra, extra + 2);
                writer.put(high | low << extra, extra + shift);
                at += gap_bits(gap, shift);
            }
            writer.put(0, 1);
            at += 1;
            from = end;
        }
        writer.finish();
        (shift, starts)
    }
}

/// Returns about log2(span / count). This differs from the best number of low bits by at most one.
fn guess_low(count: usize, span: u64) -> u32 {
    if span == 0 {
        0
    } else {
        span.ilog2().saturating_sub(count.ilog2())
    }
}

/// Returns the number of bytes of a block without its gaps.
fn size(keys: usize, span: u64, low: u32, wide: u32) -> usize {
    HEAD + bits::bytes(keys * low as usize)
        + bits::bytes(keys * wide as usize)
        + starts(keys) * 2
        + bits::bytes((span >> low) as usize + keys)
}

/// Returns the number of keys for which the position of the gaps is stored.
const fn starts(keys: usize) -> usize {
    keys.saturating_sub(1) / STRIDE
}

/// A parsed block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    first: u64,
    keys: usize,
    low: u32,
    wide: u32,
    shift: u32,
    least: u32,
    lows: &'a [u8],
    contents: &'a [u8],
    starts: &'a [u8],
    gaps: &'a [u8],
    highs: &'a [u8],
}

impl<'a> Block<'a> {
    /// Parses the block in `bytes`. Its first posting has the key `first`.
    pub(crate) fn parse(first: u64, bytes: &'a [u8]) -> Result<Self, Malformed> {
        Self::regions(first, bytes).ok_or(Malformed("postings"))
    }

    fn regions(first: u64, bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let keys = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let [low, wide, shift] = [head[2], head[3], head[4]].map(u32::from);
        let least = u32::from_le_bytes([head[5], head[6], head[7], head[8]]);
        let of_gaps = usize::from(u16::from_le_bytes([head[9], head[10]]));
        if low > 63 || wide > 32 || shift > 32 {
            return None;
        }
        let (lows, rest) = rest.split_at_checked(bits::bytes(keys * low as usize))?;
        let (contents, rest) = rest.split_at_checked(bits::bytes(keys * wide as usize))?;
        let (starts, rest) = rest.split_at_checked(starts(keys) * 2)?;
        let (gaps, highs) = rest.split_at_checked(of_gaps)?;
        Some(Self {
            first,
            keys,
            low,
            wide,
            shift,
            least,
            lows,
            contents,
            starts,
            gaps,
            highs,
        })
    }

    fn low(&self, index: usize) -> u64 {
        bits::get(self.lows, index * self.low as usize, self.low)
    }

    /// Returns the first content in the list of the key with this index.
    fn content(&self, index: usize) -> u32 {
        let offset = bits::get(self.contents, index * self.wide as usize, self.wide) as u32;
        self.least.wrapping_add(offset)
    }

    /// Appends all contents in the list of `key`, ascending.
    pub(crate) fn find(&self, key: u64, found: &mut Vec<u32>) -> Result<(), Malformed> {
        match self.index(key) {
            Some(index) => self.list(index, |content| {
                found.push(content);
                ControlFlow::Continue(())
            }),
            None => Ok(()),
        }
    }

    /// Returns whether the list of `key` has this content.
    pub(crate) fn has(&self, key: u64, content: u32) -> Result<bool, Malformed> {
        let Some(index) = self.index(key).filter(|&at| self.content(at) <= content) else {
            return Ok(false);
        };
        let mut last = 0;
        self.list(index, |found| {
            last = found;
            if found < content {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(last == content)
    }

    /// Returns the index of a key among the keys of the block.
    fn index(&self, key: u64) -> Option<usize> {
        let relative = key.checked_sub(self.first)?;
        let high = relative >> self.low;
        let wanted = relative & ((1 << self.low) - 1);
        let mut bit = self.after_zeros(high)?;
        // Before this bit there are `high` zeros and `bit - high` ones. Each of these ones belongs
        // to a key with a smaller high part.
        let mut index = bit - high as usize;
        while index < self.keys
            && self
                .highs
                .get(bit / 8)
                .is_some_and(|b| b >> (bit % 8) & 1 == 1)
        {
            match self.low(index).cmp(&wanted) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(index),
                std::cmp::Ordering::Greater => return None,
            }
            bit += 1;
            index += 1;
        }
        None
    }

    /// Calls `see` with the contents of a key, ascending, until `see` returns `Break`.
    fn list(
        &self,
        index: usize,
        mut see: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<(), Malformed> {
        let mut at = match (index / STRIDE).checked_sub(1) {
            None => 0,
            Some(start) => bits::get(self.starts, start * 16, 16) as usize,
        };
        for _ in 0..index % STRIDE {
            while self.gap(&mut at)?.is_some() {}
        }
        let mut content = self.content(index);
        while see(content).is_continue()
            && let Some(gap) = self.gap(&mut at)?
        {
            content = above(content, gap)?;
        }
        Ok(())
    }

    /// Reads the gap that begins at bit `at`, and moves `at` behind it. Returns `None` if the list
    /// ends there.
    #[inline]
    fn gap(&self, at: &mut usize) -> Result<Option<u32>, Malformed> {
        let malformed = Malformed("postings");
        if *at >= self.gaps.len() * 8 {
            return Err(malformed);
        }
        let word = bits::get(self.gaps, *at, 64);
        if word & 1 == 0 {
            *at += 1;
            return Ok(None);
        }
        let extra = (word >> 1).trailing_zeros();
        if extra > 32 {
            return Err(malformed);
        }
        let (head, width) = (extra + 2, extra + self.shift);
        *at += (head + width) as usize;
        if head + width <= u64::BITS {
            // Very wide gaps do not fit into this word, and are read below.
            let field = word >> head & ((1 << width) - 1);
            let high = (1u64 << extra | field & ((1 << extra) - 1)) - 1;
            let gap = high << self.shift | field >> extra;
            return gap.try_into().map(Some).map_err(|_| malformed);
        }
        let field = bits::get(self.gaps, *at - width as usize, width);
        let high = (1u64 << extra | field & ((1 << extra) - 1)) - 1;
        let gap = u128::from(high) << self.shift | u128::from(field >> extra);
        gap.try_into().map(Some).map_err(|_| malformed)
    }

    /// Returns the position behind the zero bit number `zeros` of the high parts, or 0 if `zeros`
    /// is 0. Returns `None` if there are fewer zeros.
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
        out.reserve(self.keys);
        let (mut index, mut gaps_at) = (0, 0);
        for at in 0..self.highs.len().div_ceil(8) {
            let mut word = bits::word(self.highs, at);
            while word != 0 {
                if index == self.keys {
                    return Err(malformed);
                }
                let bit = at * 64 + word.trailing_zeros() as usize;
                let high = (bit - index) as u64;
                let key = (high << self.low | self.low(index)).checked_add(self.first);
                let key = key.ok_or(malformed)?;
                let mut content = self.content(index);
                out.push((key, content));
                while let Some(gap) = self.gap(&mut gaps_at)? {
                    content = above(content, gap)?;
                    out.push((key, content));
                }
                index += 1;
                word &= word - 1;
            }
        }
        if index == self.keys {
            Ok(())
        } else {
            Err(malformed)
        }
    }
}

/// Returns the content that follows `content` in a list after this gap.
fn above(content: u32, gap: u32) -> Result<u32, Malformed> {
    let next = content.checked_add(gap).and_then(|at| at.checked_add(1));
    next.ok_or(Malformed("postings"))
}

/// Returns the position of the 1 bit that has exactly `before` 1 bits below it.
fn nth_one(mut word: u64, before: usize) -> u32 {
    for _ in 0..before {
        word &= word - 1;
    }
    word.trailing_zeros()
}

#[cfg(test)]
mod tests;
