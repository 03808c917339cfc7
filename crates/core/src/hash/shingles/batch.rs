//! Words that wait to be hashed and joined.

#[cfg(target_arch = "x86_64")]
use crate::hash::shingles::vbmi::Vbmi;
use crate::hash::shingles::{
    MOST_WORDS, Runs, SAMPLED, SHINGLE, ShingleChain, WINDOW, WordEnd, hash, letters, small,
};

/// Words that are joined at once.
pub(super) const ROOM: usize = 512;

/// Blocks of which it is known where letters are, before their words are taken.
pub(super) const AHEAD: usize = 8;

/// Vectors for all words of a block may be written where one word is wanted.
const BEYOND: usize = MOST_WORDS;

/// Words of a text that wait, in order, and the shingles of those that were joined last.
///
/// Invariant between calls: there is room for the words of [`AHEAD`] blocks.
#[derive(Clone)]
pub(crate) struct WordBatch {
    pub(super) low: [u64; ROOM + BEYOND],
    pub(super) high: [u64; ROOM + BEYOND],
    pub(super) count: usize,
    chosen: Chosen,
    /// What `vbmi` remembers of blocks.
    #[cfg(target_arch = "x86_64")]
    pub(super) long: [LongWords; ROOM],
    #[cfg(target_arch = "x86_64")]
    vbmi: Option<Vbmi>,
}

/// A block with a word of more than [`MOST_LETTERS`](super::MOST_LETTERS) letters.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct LongWords {
    /// Where it begins.
    pub(super) at: usize,
    /// The number of its first word in the batch.
    pub(super) first: usize,
    pub(super) words: u64,
}

/// The hashes of shingles that are low enough to be sampled, in order.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) hashes: [u64; ROOM + BEYOND],
    pub(super) count: usize,
}

impl Default for WordBatch {
    fn default() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(batch) = Self::vbmi() {
            return batch;
        }
        Self::portable()
    }
}

impl std::fmt::Debug for WordBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordBatch")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl WordBatch {
    /// For any processor.
    pub(super) const fn portable() -> Self {
        Self {
            low: [0; ROOM + BEYOND],
            high: [0; ROOM + BEYOND],
            count: 0,
            chosen: Chosen {
                hashes: [0; ROOM + BEYOND],
                count: 0,
            },
            #[cfg(target_arch = "x86_64")]
            long: [LongWords {
                at: 0,
                first: 0,
                words: 0,
            }; ROOM],
            #[cfg(target_arch = "x86_64")]
            vbmi: None,
        }
    }

    /// With the kernels, if this processor has their instructions.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn vbmi() -> Option<Self> {
        let vbmi = Vbmi::detect()?;
        Some(Self {
            vbmi: Some(vbmi),
            ..Self::portable()
        })
    }

    /// Whether the words must be joined before the next ones come.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.count + AHEAD * MOST_WORDS > ROOM
    }

    /// The next word.
    #[inline]
    pub(crate) const fn push(&mut self, word: WordEnd) {
        let at = self.count % ROOM;
        (self.low[at], self.high[at]) = (word.low, word.high);
        self.count = at + 1;
    }

    /// A word that waits.
    #[inline]
    pub(super) const fn get(&self, number: usize) -> WordEnd {
        WordEnd {
            low: self.low[number],
            high: self.high[number],
        }
    }

    /// Another word instead of one that waits.
    #[inline]
    pub(super) const fn set(&mut self, number: usize, word: WordEnd) {
        (self.low[number], self.high[number]) = (word.low, word.high);
    }

    /// The words of a block: the runs of ones in `words`, each of 1 to 16 letters of ASCII.
    #[inline]
    pub(crate) fn push_runs(&mut self, window: &[u8; WINDOW], words: u64) {
        for (from, to) in Runs::of(words) {
            self.push(WordEnd::new(0, small(letters(window, from, to - from))));
        }
    }

    /// The words of many bytes of ASCII, of which the first begins or separates a word: how many
    /// bytes were taken, and how many letters they have, of each word at most 16. Behind them a
    /// word begins, or none is under way.
    ///
    /// Only as far as that is fast, on some processors not at all; and only until the batch is
    /// full.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(crate) fn push_blocks(&mut self, bytes: &[u8]) -> (usize, u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(vbmi) = self.vbmi {
            return vbmi.push_blocks(self, bytes);
        }
        (0, 0)
    }

    /// Joins all words that wait with those before them: the hashes of the shingles that are low
    /// enough to be sampled, in order.
    pub(crate) fn join(&mut self, chain: &mut ShingleChain) -> &[u64] {
        self.chosen.count = 0;
        let count = std::mem::take(&mut self.count);
        let (low, high) = (&self.low[..count], &self.high[..count]);
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if let Some(vbmi) = self.vbmi {
            if chain.words < SHINGLE as u64 {
                // The first words are of no shingle.
                done = count.min(SHINGLE);
                join_words(&low[..done], &high[..done], chain, &mut self.chosen);
            }
            done += vbmi.join(&low[done..], &high[done..], chain, &mut self.chosen);
        }
        join_words(&low[done..], &high[done..], chain, &mut self.chosen);
        &self.chosen.hashes[..self.chosen.count]
    }
}

/// Hashes words, and joins them.
fn join_words(low: &[u64], high: &[u64], chain: &mut ShingleChain, chosen: &mut Chosen) {
    for (low, high) in low.chunks(TOGETHER).zip(high.chunks(TOGETHER)) {
        join_some(low, high, chain, chosen);
    }
}

/// So many words are hashed before they are joined.
const TOGETHER: usize = 128;

/// Up to [`TOGETHER`] of them: in two passes, as the second waits for itself.
fn join_some(low: &[u64], high: &[u64], chain: &mut ShingleChain, chosen: &mut Chosen) {
    let mut hashes = [0; SHINGLE + TOGETHER];
    hashes[..SHINGLE].copy_from_slice(&chain.last);
    let count = low.len();
    let words = low.iter().zip(high);
    for (hash, (&low, &high)) in hashes[SHINGLE..].iter_mut().zip(words) {
        *hash = WordEnd { low, high }.hash();
    }
    let mut joined = *chain;
    let mut some = chosen.count;
    for (&gone, &word) in hashes.iter().zip(&hashes[SHINGLE..SHINGLE + count]) {
        joined.join(word, gone);
        let shingle = hash(joined.shingle);
        chosen.hashes[some % ROOM] = shingle;
        // Two conditions as numbers: a branch would be wrong for every eighth word.
        let whole = usize::from(joined.words >= SHINGLE as u64);
        some += whole * usize::from(shingle < SAMPLED);
    }
    joined.last.copy_from_slice(&hashes[count..count + SHINGLE]);
    *chain = joined;
    chosen.count = some;
}
