//! The methods `tttd` and `bsw`: their features are the hashes of whole chunks, with the chunks'
//! lengths.
//!
//! **Paper.** Forman, Eshghi & Chiocchetti, *Finding similar files in large document repositories*,
//! KDD 2005, sections 2.2 and 2.3.
//!
//! **Chunks.** Chunks are cut by TTTD ([`resemble_core::chunk`]), as in the paper, or by the basic
//! sliding window, with which the paper compares TTTD: "a fixed width sliding window of width W is
//! moved across the file, and at every position k the fingerprint `F_k` of the contents of this
//! window is computed; k is a chunk boundary if `F_k` mod D = r". The paper gives no W. Here W is
//! 48, as in the paper that introduced the algorithm (Muthitacharoen, Chen & Mazières, SOSP 2001).
//! D is the mean length of TTTD's chunks, and r is D - 1. Chunks have no minimum length. They have
//! a maximum length only because of holes ([`SlidingWindow::max`]). A run of one character has only
//! one fingerprint, so it is cut everywhere or nowhere.
//!
//! The code of the index can make TTTD's chunks only if they have at least 145 bytes on average.
//! The paper uses averages down to 100 bytes. Such small chunks are cut by Rabin's fingerprints of
//! 16 bytes.
//!
//! **Names.** The name of a chunk is the first 64 bits of its MD5, together with its length ("even
//! a 64-bit hash is sufficient for ~4 billion chunks").
//!
//! **Figures.** The bytes in common chunks are a lower bound of what two files share. Each chunk is
//! counted as often as it occurs in both files. The bytes in common chunks, divided by the length
//! of a file, are the share of the file that is in the other file. The figure of a pair is the
//! share of the smaller file, as in the paper's figure 5. There, a pair of files of 671 and 3,305
//! bytes has the label "contains, 54 %". This can only be a share of the 671 bytes.
//!
//! **Cost.** Each byte takes a rolling hash and MD5. A chunk takes 10 to 12 bytes in the signature.
//! There is one chunk in D bytes. TTTD holds one chunk in memory. The sliding window holds none.
//!
//! **Sees** exactly which parts are common, and where. **Is blind** to common runs shorter than one
//! or two chunks: if each chunk has an edit, nothing is found.

use std::cmp::Ordering;
use std::collections::HashMap;

use md5::{Digest, Md5};

use crate::feature::Feature;
use crate::mod_n::Divisor;
use crate::rabin::Rolling;
use resemble_core::chunk::{Chunker, Cut, Picker};
use resemble_core::hash::md5::Md5Digest;
use resemble_core::hash::md5_many;
use resemble_core::ids::ChunkHash;
use resemble_core::params::{ChunkParams, Params};

/// The parameters of the basic sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlidingWindow {
    /// The width W of the window, in bytes.
    pub window: u32,
    /// The divisor D, which is the mean length of a chunk.
    pub divisor: u32,
    /// The remainder r, which must be less than D.
    pub remainder: u32,
}

impl SlidingWindow {
    /// Returns the maximum length of a chunk: 64 D, or 1 MiB if that is more. The paper has no such
    /// bound. Apart from chunks of periodic bytes, only one chunk in e^64 reaches the bound.
    /// Without the bound, a hole of a sparse file would be one chunk that is hashed byte by byte.
    pub fn max(&self) -> u64 {
        (64 * u64::from(self.divisor)).max(1 << 20)
    }
}

impl Default for SlidingWindow {
    fn default() -> Self {
        let divisor = ChunkParams::PAPER_AVERAGE;
        Self {
            window: 48,
            divisor,
            remainder: divisor - 1,
        }
    }
}

/// The minimum mean size of chunks that TTTD supports here.
pub const LEAST_AVERAGE: u32 = 40;

/// The size of the window in bytes, for mean sizes that are too small for the index.
const SMALL_WINDOW: usize = 16;

/// Returns the parameters of TTTD for this mean size. This extends [`ChunkParams::scaled`] to mean
/// sizes of 100 bytes, as in the paper, and below. Returns `None` if the size is below
/// [`LEAST_AVERAGE`], or if it is too large.
pub fn scaled(average: u32) -> Option<ChunkParams> {
    ChunkParams::scaled(average).or_else(|| {
        if !(LEAST_AVERAGE..ChunkParams::LEAST_AVERAGE).contains(&average) {
            return None;
        }
        let paper = ChunkParams::PAPER;
        let scale =
            |n: u32| (n * average + ChunkParams::PAPER_AVERAGE / 2) / ChunkParams::PAPER_AVERAGE;
        let backup_divisor = scale(paper.backup_divisor);
        Some(ChunkParams {
            min: scale(paper.min),
            max: scale(paper.max),
            main_divisor: 2 * backup_divisor,
            backup_divisor,
        })
    })
}

/// Finds the cuts of TTTD.
#[derive(Debug)]
enum Cutter {
    /// Cuts in the same way as the index.
    Index(Box<Chunker>),
    /// Cuts by Rabin's fingerprints of a window that fits into the smallest chunk.
    Small(Small),
}

#[derive(Debug)]
struct Small {
    params: ChunkParams,
    rolling: Rolling,
    picker: Picker,
    main: Divisor,
    backup: Divisor,
    at: u64,
}

impl Small {
    fn new(params: &ChunkParams) -> Self {
        Self {
            params: *params,
            rolling: Rolling::new(SMALL_WINDOW),
            picker: Picker::new(params),
            main: Divisor::new(params.main_divisor),
            backup: Divisor::new(params.backup_divisor),
            at: 0,
        }
    }

    fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Cut)) {
        let mut start = self.picker.start();
        let mut cut = |end: u64| {
            sink(Cut {
                start,
                len: (end - start) as u32,
                count: 1,
            });
            start = end;
        };
        let picker = &mut self.picker;
        // The first window of a content ends only after `SMALL_WINDOW` bytes.
        let before = (SMALL_WINDOW as u64 - 1).saturating_sub(self.at);
        let mut at = self.at + before.min(bytes.len() as u64);
        self.rolling.update(bytes, |fingerprint| {
            at += 1;
            // H mod D = D - 1 exactly if D divides H + 1. The sum H + 1 may have one bit more than
            // H.
            let next = (fingerprint >> 32) + 1;
            if self.backup.divides(next) {
                picker.hit(at, self.main.divides(next), &mut cut);
            }
        });
        self.at += bytes.len() as u64;
        picker.advance(self.at, &mut cut);
    }

    fn finish(&mut self, sink: &mut impl FnMut(Cut)) {
        let start = self.picker.start();
        if start < self.at {
            sink(Cut {
                start,
                len: (self.at - start) as u32,
                count: 1,
            });
        }
        self.rolling.reset();
        self.picker = Picker::new(&self.params);
        self.at = 0;
    }
}

impl Cutter {
    fn new(params: &ChunkParams) -> Self {
        // At the minimum mean size that the index supports, the minimum length of a chunk is 66
        // bytes.
        if params.min as usize <= Params::WINDOW + 1 {
            Self::Small(Small::new(params))
        } else {
            Self::Index(Box::new(Chunker::new(params)))
        }
    }

    fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Cut)) {
        match self {
            Self::Index(chunker) => chunker.update(bytes, sink),
            Self::Small(small) => small.update(bytes, sink),
        }
    }

    fn finish(&mut self, sink: &mut impl FnMut(Cut)) {
        match self {
            Self::Index(chunker) => chunker.finish(sink),
            Self::Small(small) => small.finish(sink),
        }
    }
}

/// Returns the name of a chunk with this hash.
pub fn name(hash: ChunkHash) -> u64 {
    hash.0[..8]
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The number of bytes that are cut and hashed at a time.
const PART: usize = 1 << 16;

/// Cuts a content, which is passed in pieces of any size, into chunks by TTTD.
#[derive(Debug)]
pub struct TttdChunks {
    cutter: Cutter,
    /// The bytes of the chunks that are not hashed yet, including those of the current chunk.
    held: Vec<u8>,
    cuts: Vec<Cut>,
    hashes: Vec<Md5Digest>,
}

impl TttdChunks {
    /// Begins the first content.
    pub fn new(params: &ChunkParams) -> Self {
        Self {
            cutter: Cutter::new(params),
            held: Vec::new(),
            cuts: Vec::new(),
            hashes: Vec::new(),
        }
    }

    /// Adds the next bytes. `sink` receives the chunks that are complete.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Feature)) {
        for part in bytes.chunks(PART) {
            self.held.extend_from_slice(part);
            let cuts = &mut self.cuts;
            self.cutter.update(part, &mut |cut| cuts.push(cut));
            self.hash(sink);
        }
    }

    /// Ends the content. `sink` receives the last chunk. The next bytes begin another content.
    pub fn finish(&mut self, sink: &mut impl FnMut(Feature)) {
        let cuts = &mut self.cuts;
        self.cutter.finish(&mut |cut| cuts.push(cut));
        self.hash(sink);
        self.held.clear();
    }

    fn hash(&mut self, sink: &mut impl FnMut(Feature)) {
        let mut rest = &self.held[..];
        let mut chunks = Vec::with_capacity(self.cuts.len());
        for cut in &self.cuts {
            let (chunk, more) = rest.split_at(cut.len as usize);
            chunks.push(chunk);
            rest = more;
        }
        let left = rest.len();
        md5_many(&chunks, &mut self.hashes);
        for (hash, chunk) in self.hashes.drain(..).zip(chunks) {
            sink(Feature::chunk(name(ChunkHash(hash)), chunk.len() as u64));
        }
        self.cuts.clear();
        self.held.drain(..self.held.len() - left);
    }
}

/// Cuts a content, which is passed in pieces of any size, into chunks by the basic sliding window.
#[derive(Clone, Debug)]
pub struct BswChunks {
    params: SlidingWindow,
    rolling: Rolling,
    hasher: Md5,
    len: u64,
    /// The number of bytes before the first window ends.
    warm_up: u64,
    /// The ends of chunks within the bytes that were passed last.
    ends: Vec<usize>,
}

impl BswChunks {
    /// Begins the first content.
    pub fn new(params: SlidingWindow) -> Self {
        Self {
            params,
            rolling: Rolling::new(params.window as usize),
            hasher: Md5::new(),
            len: 0,
            warm_up: u64::from(params.window) - 1,
            ends: Vec::new(),
        }
    }

    /// Adds the next bytes. `sink` receives the chunks that are complete.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Feature)) {
        let before = self.warm_up.min(bytes.len() as u64);
        self.warm_up -= before;
        let divisor = Divisor::new(self.params.divisor);
        let remainder = u64::from(self.params.remainder);
        let (ends, mut end) = (&mut self.ends, before as usize);
        self.rolling.update(bytes, |fingerprint| {
            end += 1;
            if fingerprint >= remainder && divisor.divides(fingerprint - remainder) {
                ends.push(end);
            }
        });
        let mut start = 0;
        for end in std::mem::take(&mut self.ends) {
            self.add(&bytes[start..end], sink);
            self.cut(sink);
            start = end;
        }
        self.add(&bytes[start..], sink);
    }

    /// Adds bytes to the current chunk. The chunk is cut when it reaches the maximum length.
    fn add(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(Feature)) {
        let max = self.params.max();
        while self.len + bytes.len() as u64 >= max {
            let (now, rest) = bytes.split_at((max - self.len) as usize);
            self.hasher.update(now);
            self.len = max;
            self.cut(sink);
            bytes = rest;
        }
        self.hasher.update(bytes);
        self.len += bytes.len() as u64;
    }

    /// Ends the content. `sink` receives the last chunk. The next bytes begin another content.
    pub fn finish(&mut self, sink: &mut impl FnMut(Feature)) {
        self.cut(sink);
        self.rolling.reset();
        self.warm_up = u64::from(self.params.window) - 1;
    }

    fn cut(&mut self, sink: &mut impl FnMut(Feature)) {
        if self.len > 0 {
            let hash = ChunkHash(self.hasher.finalize_reset().into());
            sink(Feature::chunk(name(hash), std::mem::take(&mut self.len)));
        }
    }
}

/// The distinct chunks of a file in ascending order. Each has its name, its number of bytes, and
/// the number of times that it occurs.
pub type ChunkCounts = [((u64, u64), u64)];

/// Returns the number of bytes in these chunks.
pub fn bytes(chunks: &ChunkCounts) -> u64 {
    chunks.iter().fold(0, |sum: u64, &((_, len), count)| {
        sum.saturating_add(len.saturating_mul(count))
    })
}

/// Returns the number of bytes in common chunks, by reading both lists in parallel: "a merge-sort
/// style comparison" (footnote 2 of the paper). The time grows with the lengths of the lists.
/// Nearly no access misses the cache.
pub fn common_by_merging(a: &ChunkCounts, b: &ChunkCounts) -> u64 {
    let (mut i, mut j, mut common) = (0, 0, 0u64);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.0.cmp(&y.0) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                common = common.saturating_add(x.0.1.saturating_mul(x.1.min(y.1)));
                i += 1;
                j += 1;
            }
        }
    }
    common
}

/// A hash table of the chunks of one file. According to the paper, merging is 2.5 times as fast as
/// a hash table.
#[derive(Clone, Debug, Default)]
pub struct ChunkTable(HashMap<(u64, u64), u64>);

impl ChunkTable {
    /// Makes a table of these chunks.
    pub fn new(chunks: &ChunkCounts) -> Self {
        Self(chunks.iter().copied().collect())
    }

    /// Returns the same number as [`common_by_merging`], by looking up each chunk of the other
    /// file.
    pub fn common(&self, other: &ChunkCounts) -> u64 {
        other.iter().fold(0, |common, (chunk, count)| {
            let both = self.0.get(chunk).map_or(0, |mine| *mine.min(count));
            common.saturating_add(chunk.1.saturating_mul(both))
        })
    }
}

#[cfg(test)]
#[path = "chunked_tests.rs"]
mod tests;
