//! The method sorted5: keeps hashes of runs of five words, which are sorted within each run.
//!
//! **Paper.** Kasprzak, Brandejs, Křipač & Šmerk 2008, *Distributed system for discovering similar
//! documents*, section 2: a document is the set of its chunks. A chunk is five consecutive words,
//! sorted, so that words that changed places make no difference. The similarity of A to B is the
//! percentage of A's chunks that B also has. According to section 4.2, a chunk is identified by the
//! upper n bits of MD5(word₁ · … · word₅).
//!
//! **Words** are those of [`resemble_core::words`], in lower case as in the paper's example. The
//! words of a chunk are sorted by their bytes, and hashed with a blank between them. The paper's
//! formula can also be read without blanks. But then `a bc` and `ab c` would be one chunk, and the
//! estimate would not be an upper bound (see below). [`crate::vocabulary`] may leave words out or
//! change them. A text of fewer than five words has no chunk.
//!
//! # Counts
//!
//! Let `a_v` be the number of A's distinct chunks whose hash is v. The paper keeps a *set* of
//! hashes. With sets, the estimate is not an upper bound, although section 4.2 uses it as one. For
//! example, A has the chunks x, y and z, B has x and y, and the hashes of x and y are equal. Then
//! 2/3 of A is in B, but the sets give 1/2.
//!
//! Here, A's real chunks are counted. A signature has v together with `a_v`. In the arrays on disk,
//! the list of v has a document once for each of its chunks with that hash. The figure is:
//!
//! ```text
//! common(A, B) = Σ_v min(a_v, b_v)      similarity of A to B = common / Σ_v a_v
//! ```
//!
//! A chunk that A and B have in common has the same hash in both. So each term is at least the
//! number of common chunks with hash v. Therefore **an estimate is never below the exact figure**,
//! and never above 100 %. The sum is the same in both directions. So the reverse similarity follows
//! from the sum and from B's total, as in section 2.1. (The paper states this for the exact count,
//! where it is trivial.)
//!
//! Chunks are distinct if the first 64 bits of their hashes differ. The probability that two of
//! 100,000 distinct chunks of a document have the same 64 bits is 10^-10.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::judged::Overlap;
use crate::vocabulary::{Forms, Vocabulary};
use resemble_core::hash::md5::Md5Digest;
use resemble_core::hash::md5_many;
use resemble_core::words::WordTexts;

/// The minimum and the maximum of n. With fewer bits, all documents look alike. With more bits, the
/// offsets alone take more than 16 GiB.
pub const BITS: (u32, u32) = (8, 32);

/// The parameters of sorted5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorted5Params {
    /// The number of words of a chunk.
    pub words: u32,
    /// The number n of upper bits of the hash that are kept.
    pub bits: u32,
    /// The hash function for chunks.
    pub hash: ChunkHashing,
    /// The vocabulary: the words that are used, and their forms.
    pub vocabulary: Vocabulary,
}

impl Default for Sorted5Params {
    /// Returns the parameters of the paper: "five-word chunks are sufficient" (section 2.2), "24
    /// and 28 bits", MD5 (section 4.2).
    fn default() -> Self {
        Self {
            words: 5,
            bits: 24,
            hash: ChunkHashing::Md5,
            vocabulary: Vocabulary::default(),
        }
    }
}

impl fmt::Display for Sorted5Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            words,
            bits,
            hash,
            vocabulary,
        } = self;
        write!(f, "words-{words}.bits-{bits}.hash-{hash}")?;
        if let Some(dictionary) = &vocabulary.dictionary {
            write!(f, ".dictionary-{}", dictionary.id())?;
        }
        if let Some(lemmas) = &vocabulary.lemmas {
            write!(f, ".lemmas-{}", lemmas.id())?;
        }
        if let Some(stem) = vocabulary.stem {
            write!(f, ".stem-{stem}")?;
        }
        Ok(())
    }
}

/// The hash functions for chunks: MD5 as in the paper, and other functions, which section 5 leaves
/// to future work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChunkHashing {
    /// The hash of the paper, RFC 1321.
    #[default]
    Md5,
    /// XXH3, 64 bits.
    Xxh3,
    /// FNV-1a, 64 bits. It is mixed at the end, because its upper bits depend little on the last
    /// letters.
    Fnv,
    /// BLAKE3, which is cryptographically secure. MD5 is no longer secure.
    Blake3,
}

/// The error for a name that no hash function has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no hash {name:?}; there are \
    {}", ChunkHashing::ALL.map(ChunkHashing::name).join(", "))]
pub struct UnknownHash {
    /// The unknown name.
    pub name: String,
}

impl ChunkHashing {
    /// All hash functions. The function of the paper is first.
    pub const ALL: [Self; 4] = [Self::Md5, Self::Xxh3, Self::Fnv, Self::Blake3];

    /// Returns the name of the hash function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Xxh3 => "xxh3",
            Self::Fnv => "fnv",
            Self::Blake3 => "blake3",
        }
    }

    /// Returns the upper 64 bits of the hash of a chunk.
    fn of(self, chunk: &[u8]) -> u64 {
        match self {
            Self::Md5 => {
                let mut hashes = Vec::with_capacity(1);
                md5_many(&[chunk], &mut hashes);
                hashes.first().map_or(0, upper)
            }
            Self::Xxh3 => xxhash_rust::xxh3::xxh3_64(chunk),
            Self::Fnv => {
                let fnv = chunk
                    .iter()
                    .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
                    });
                crate::shingles::mix(fnv)
            }
            Self::Blake3 => {
                let hash = blake3::hash(chunk);
                let first = hash.as_bytes().first_chunk().copied();
                u64::from_be_bytes(first.unwrap_or_default())
            }
        }
    }
}

/// Returns the upper 64 bits of an MD5, which are its first bytes.
fn upper(hash: &Md5Digest) -> u64 {
    u64::from_be_bytes(hash.first_chunk().copied().unwrap_or_default())
}

impl fmt::Display for ChunkHashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChunkHashing {
    type Err = UnknownHash;

    fn from_str(name: &str) -> Result<Self, UnknownHash> {
        Self::ALL
            .into_iter()
            .find(|hash| hash.name() == name)
            .ok_or_else(|| UnknownHash { name: name.into() })
    }
}

/// The last words of a text, in the order of the text and in sorted order.
#[derive(Clone, Debug)]
struct WordRing {
    /// The words in the order of the text, in a ring. The next word is written at `at`.
    ring: Vec<Vec<u8>>,
    at: usize,
    missing: usize,
    /// The places of the words in the ring, in the order of the words' bytes.
    sorted: Vec<u8>,
}

impl WordRing {
    fn new(words: usize) -> Self {
        Self {
            ring: vec![Vec::new(); words],
            at: 0,
            missing: words,
            sorted: Vec::with_capacity(words),
        }
    }

    fn reset(&mut self) {
        (self.at, self.missing) = (0, self.ring.len());
        self.sorted.clear();
    }

    /// Swaps the next word with the oldest word of the ring, so that the memory of the old word is
    /// used again. Returns whether there are enough words for a chunk.
    #[inline]
    fn push(&mut self, word: &mut Vec<u8>) -> bool {
        let gone = self.at as u8;
        if self.missing == 0 {
            self.sorted.retain(|&at| at != gone);
        }
        std::mem::swap(&mut self.ring[self.at], word);
        let (ring, new) = (&self.ring, &self.ring[self.at]);
        let place = self
            .sorted
            .partition_point(|&at| ring[usize::from(at)] <= *new);
        self.sorted.insert(place, gone);
        self.at = (self.at + 1) % self.ring.len();
        self.missing = self.missing.saturating_sub(1);
        self.missing == 0
    }

    /// Returns the words of the full chunk, sorted.
    fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.sorted
            .iter()
            .map(|&at| &self.ring[usize::from(at)][..])
    }
}

/// Finds the sorted chunks of a text that is passed in pieces of any size. A chunk is passed on as
/// its words.
#[derive(Debug)]
struct Sorted {
    words: WordTexts,
    forms: Forms,
    form: Vec<u8>,
    run: WordRing,
}

impl Sorted {
    fn new(params: &Sorted5Params) -> Self {
        Self {
            words: WordTexts::default(),
            forms: Forms::new(&params.vocabulary),
            form: Vec::new(),
            run: WordRing::new(params.words as usize),
        }
    }

    /// Adds the next bytes. `sink` receives each complete chunk.
    fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(&WordRing)) {
        let (words, mut word) = self.words(sink);
        words.update(bytes, &mut word);
    }

    fn finish(&mut self, sink: &mut impl FnMut(&WordRing)) {
        {
            let (words, mut word) = self.words(sink);
            words.finish(&mut word);
        }
        self.run.reset();
    }

    /// Returns the splitter that cuts a text into words, and a function that must receive these
    /// words.
    fn words<'a>(
        &'a mut self,
        sink: &'a mut impl FnMut(&WordRing),
    ) -> (&'a mut WordTexts, impl FnMut(&[u8]) + 'a) {
        let Self {
            words,
            forms,
            form,
            run,
        } = self;
        let word = |word: &[u8]| {
            if forms.of(word, form) && run.push(form) {
                sink(run);
            }
        };
        (words, word)
    }
}

/// The number of chunks that are hashed together. Computing the MD5 of many messages together is
/// several times as fast.
const BATCH: usize = 256;

/// Chunks that wait to be hashed together.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    hashes: Vec<Md5Digest>,
}

impl Waiting {
    fn flush(&mut self, sink: &mut impl FnMut(u64)) {
        let mut from = 0;
        let messages: Vec<&[u8]> = self
            .ends
            .iter()
            .map(|&end| &self.bytes[std::mem::replace(&mut from, end)..end])
            .collect();
        md5_many(&messages, &mut self.hashes);
        self.hashes.drain(..).for_each(|hash| sink(upper(&hash)));
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Computes the hashes of the chunks of a text that is passed in pieces of any size. The hashes
/// have 64 bits. The paper keeps the upper n of these bits.
#[derive(Debug)]
pub struct SortedChunker {
    sorted: Sorted,
    hash: ChunkHashing,
    waiting: Waiting,
}

impl SortedChunker {
    /// Begins the first text.
    pub fn new(params: &Sorted5Params) -> Self {
        Self {
            sorted: Sorted::new(params),
            hash: params.hash,
            waiting: Waiting::default(),
        }
    }

    /// Adds the next bytes. `sink` receives the hashes of complete chunks in order, including
    /// repeated hashes. The hash of a complete chunk may be passed by a later call.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(u64)) {
        let Self {
            sorted,
            hash,
            waiting,
        } = self;
        sorted.update(bytes, &mut |run| take(*hash, waiting, run, sink));
    }

    /// Ends the text. `sink` receives the last chunks. The next bytes begin another text.
    pub fn finish(&mut self, sink: &mut impl FnMut(u64)) {
        let Self {
            sorted,
            hash,
            waiting,
        } = self;
        sorted.finish(&mut |run| take(*hash, waiting, run, sink));
        waiting.flush(sink);
    }
}

#[inline]
fn take(hash: ChunkHashing, waiting: &mut Waiting, run: &WordRing, sink: &mut impl FnMut(u64)) {
    let from = waiting.bytes.len();
    run.words().for_each(|word| {
        waiting.bytes.extend_from_slice(word);
        waiting.bytes.push(b' ');
    });
    // There is a blank between words, but not after the last word.
    waiting.bytes.pop();
    if hash == ChunkHashing::Md5 {
        waiting.ends.push(waiting.bytes.len());
        if waiting.ends.len() == BATCH {
            waiting.flush(sink);
        }
    } else {
        sink(hash.of(&waiting.bytes[from..]));
        waiting.bytes.truncate(from);
    }
}

/// Returns the distinct chunks of a text in sorted order, with blanks between their words. They are
/// used for the exact similarity, and shown to people.
pub fn chunks(params: &Sorted5Params, text: &[u8]) -> Vec<Box<[u8]>> {
    let (mut sorted, mut all) = (Sorted::new(params), Vec::new());
    let mut sink = |run: &WordRing| {
        let words: Vec<&[u8]> = run.words().collect();
        all.push(words.join(&b' ').into_boxed_slice());
    };
    sorted.update(text, &mut sink);
    sorted.finish(&mut sink);
    all.sort_unstable();
    all.dedup();
    all
}

/// Computes the exact overlap of two texts. Section 4.2 says: "compute the exact similarities only
/// for document pairs which are preselected by this algorithm".
pub fn exact(params: &Sorted5Params, a: &[u8], b: &[u8]) -> Overlap {
    overlap_of_sorted(&chunks(params, a), &chunks(params, b))
}

/// Returns the overlap of two ascending lists of distinct elements.
pub fn overlap_of_sorted<T: Ord>(a: &[T], b: &[T]) -> Overlap {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        common += u64::from(one == other);
        i += usize::from(one <= other);
        j += usize::from(other <= one);
    }
    Overlap {
        common,
        a: a.len() as u64,
        b: b.len() as u64,
    }
}

/// Reduces distinct chunks, in ascending order, to their upper bits. Returns each value with the
/// number of chunks that have it.
pub(crate) fn hashed(bits: u32, chunks: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut values: Vec<(u64, u64)> = Vec::new();
    for chunk in chunks {
        let value = chunk >> (64 - bits);
        match values.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => values.push((value, 1)),
        }
    }
    values
}

/// Counts the overlap of two documents by their values, as the documentation of this module defines
/// it.
pub fn overlap(a: &[(u64, u64)], b: &[(u64, u64)]) -> Overlap {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        if one.0 == other.0 {
            common += one.1.min(other.1);
        }
        i += usize::from(one.0 <= other.0);
        j += usize::from(other.0 <= one.0);
    }
    Overlap {
        common,
        a: total(a),
        b: total(b),
    }
}

/// Returns the number of chunks of a document.
pub fn total(values: &[(u64, u64)]) -> u64 {
    values.iter().map(|&(_, count)| count).sum()
}

#[cfg(test)]
#[path = "sorted5_tests.rs"]
mod tests;
