//! Sorted chunks of five words.
//!
//! **Paper.** Kasprzak, Brandejs, Křipač & Šmerk 2008, *Distributed system for discovering similar
//! documents*, section 2: a document is the set of its chunks; a chunk is five consecutive words,
//! sorted, so that words which changed places make no difference; the similarity of A to B is the
//! percentage of chunks of A that B has as well. Section 4.2: a chunk is known by the upper n bits
//! of MD5(word₁ · … · word₅).
//!
//! **Words** are those of [`resemble_core::words`], in lower case as in the paper's example, sorted
//! by their bytes. They are hashed with a blank between them: put one right behind the other, as
//! the paper's formula can be read, `a bc` and `ab c` were one chunk, and the estimate no upper
//! bound (below). [`crate::vocabulary`] may leave words out or change them. A text of fewer than
//! five words has no chunk.
//!
//! # What is counted
//!
//! Let `a_v` be the number of A's distinct chunks whose hash is v. The paper keeps a *set* of
//! hashes. Then the estimate is no upper bound, although section 4.2 uses it as one: if A has the
//! chunks x, y, z, B has x and y, and x and y have one hash, then 2/3 of A is in B, and the sets
//! say 1/2.
//!
//! Here A's real chunks are counted: a signature has v together with `a_v`, the arrays on disk have
//! a document in the list of v as often as it has chunks of that hash, and
//!
//! ```text
//! common(A, B) = Σ_v min(a_v, b_v)      similarity of A to B = common / Σ_v a_v
//! ```
//!
//! Chunks that A and B have in common have the same hash in both, so each term is at least what is
//! common at v: **no estimate is ever below the exact figure**, and none is above 100 %. The sum is
//! the same both ways, so the reverse similarity follows from it and from B's total, as in section
//! 2.1; the paper says so of the exact count, where it is trivially true.
//!
//! "Distinct" is decided by 64 bits of the same hash: 100,000 chunks of one document have two alike
//! with a chance of 10^-10.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::judged::Overlap;
use crate::vocabulary::{Forms, Vocabulary};
use resemble_core::hash::md5_many;
use resemble_core::ids::ChunkHash;
use resemble_core::words::WordTexts;

/// The least and the greatest n. Below, everything is alike; above, the offsets alone are 16 GiB.
pub const BITS: (u32, u32) = (8, 32);

/// The parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorted5Params {
    /// Words of a chunk.
    pub words: u32,
    /// n: so many upper bits of the hash.
    pub bits: u32,
    /// What chunks are hashed with.
    pub hash: ChunkHashing,
    /// Which words count, and in which form.
    pub vocabulary: Vocabulary,
}

impl Default for Sorted5Params {
    /// "five-word chunks are sufficient" (section 2.2), "24 and 28 bits", MD5 (section 4.2).
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

/// What chunks are hashed with: MD5 as in the paper, and those of its future work (section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChunkHashing {
    /// RFC 1321, the paper's.
    #[default]
    Md5,
    /// XXH3, 64 bits.
    Xxh3,
    /// FNV-1a, 64 bits, mixed at the end: its own upper bits depend little on the last letters.
    Fnv,
    /// BLAKE3: cryptographic, as MD5 no longer is.
    Blake3,
}

/// No hash has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no hash {name:?}; there are \
    {}", ChunkHashing::ALL.map(ChunkHashing::name).join(", "))]
pub struct UnknownHash {
    /// What was asked for.
    pub name: String,
}

impl ChunkHashing {
    /// All, the paper's first.
    pub const ALL: [Self; 4] = [Self::Md5, Self::Xxh3, Self::Fnv, Self::Blake3];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Xxh3 => "xxh3",
            Self::Fnv => "fnv",
            Self::Blake3 => "blake3",
        }
    }

    /// The upper 64 bits of one chunk's hash.
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

/// The upper 64 bits of an MD5: its first bytes.
fn upper(hash: &ChunkHash) -> u64 {
    u64::from_be_bytes(hash.0.first_chunk().copied().unwrap_or_default())
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

/// The last words of a text and their order.
#[derive(Clone, Debug)]
struct WordRing {
    /// The words in their order in the text, around.
    ring: Vec<Vec<u8>>,
    at: usize,
    missing: usize,
    /// The places of the words of a full ring, by the words' bytes.
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

    /// Takes the next word, in exchange for room; whether the chunk is full.
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

    /// The words of the full chunk, sorted.
    fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.sorted
            .iter()
            .map(|&at| &self.ring[usize::from(at)][..])
    }
}

/// The sorted chunks of a text that is handed over in pieces of any size, as their words.
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

    /// `sink` sees each chunk that is complete.
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

    /// What cuts a text into words, and what takes these.
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

/// MD5 is several times as fast for so many messages at a time.
const BATCH: usize = 256;

/// Chunks that wait to be hashed together.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    hashes: Vec<ChunkHash>,
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

/// The hashes of the chunks of a text that is handed over in pieces of any size: their upper 64
/// bits, of which the upper n are the paper's.
#[derive(Debug)]
pub struct SortedChunker {
    sorted: Sorted,
    hash: ChunkHashing,
    waiting: Waiting,
}

impl SortedChunker {
    /// At the start of a text.
    pub fn new(params: &Sorted5Params) -> Self {
        Self {
            sorted: Sorted::new(params),
            hash: params.hash,
            waiting: Waiting::default(),
        }
    }

    /// Takes the next bytes; `sink` gets chunks that are complete, in order, repeats and all, some
    /// of them later.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(u64)) {
        let Self {
            sorted,
            hash,
            waiting,
        } = self;
        sorted.update(bytes, &mut |run| take(*hash, waiting, run, sink));
    }

    /// Ends the text: `sink` gets the last chunks. What comes next is another text.
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
    // A blank between words, none behind the last.
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

/// The distinct chunks of a text themselves, sorted; their words are separated by blanks. For the
/// exact similarity, and to be looked at.
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

/// What two texts have in common exactly: section 4.2, "compute the exact similarities only for
/// document pairs which are preselected by this algorithm".
pub fn exact(params: &Sorted5Params, a: &[u8], b: &[u8]) -> Overlap {
    overlap_of_sorted(&chunks(params, a), &chunks(params, b))
}

/// What two ascending lists of distinct things have in common.
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

/// Ascending distinct chunks by their upper bits: each value with how many of them have it.
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

/// What two documents have in common, from their values: see the head of this file.
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

/// How many chunks a document has.
pub fn total(values: &[(u64, u64)]) -> u64 {
    values.iter().map(|&(_, count)| count).sum()
}

#[cfg(test)]
#[path = "sorted5_tests.rs"]
mod tests;
