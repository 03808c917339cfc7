//! Words that are hashed and joined many at a time.

#[cfg(target_arch = "x86_64")]
use crate::shingles::vbmi::Vbmi;
use crate::shingles::waiting::{Chosen, ROOM, WordBuffer};
use crate::shingles::{
    Runs, SAMPLED, SHINGLE, ShingleChain, WINDOW, WordEnd, hash, letters, small,
};

/// The words of a text that wait to be joined, and the shingles of the words that were joined last.
#[derive(Clone)]
pub struct WordBatch {
    words: WordBuffer,
    chosen: Chosen,
    #[cfg(target_arch = "x86_64")]
    vbmi: Option<Vbmi>,
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
            .field("count", &self.words.count)
            .finish_non_exhaustive()
    }
}

impl WordBatch {
    /// Makes a batch for any processor.
    pub(super) const fn portable() -> Self {
        Self {
            words: WordBuffer::EMPTY,
            chosen: Chosen::EMPTY,
            #[cfg(target_arch = "x86_64")]
            vbmi: None,
        }
    }

    /// Makes a batch with the kernels, if this processor has their instructions.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn vbmi() -> Option<Self> {
        let vbmi = Vbmi::detect()?;
        Some(Self {
            vbmi: Some(vbmi),
            ..Self::portable()
        })
    }

    /// Returns whether the words must be joined before the next word is added.
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.words.is_full()
    }

    /// Appends a word.
    #[inline]
    pub const fn push(&mut self, word: WordEnd) {
        self.words.push(word);
    }

    /// Adds the words of a block: the runs of set bits in `words`, each of 1 to 16 ASCII letters.
    #[inline]
    pub fn push_runs(&mut self, window: &[u8; WINDOW], words: u64) {
        for (from, to) in Runs::of(words) {
            self.push(WordEnd::new(0, small(letters(window, from, to - from))));
        }
    }

    /// Adds the words of many ASCII bytes. The first byte must be the beginning of a word, or a
    /// separator. Returns the number of bytes that were taken, and the number of letters in them.
    /// At most 16 letters of each word are counted. The next byte is then again the beginning of a
    /// word, or a separator.
    ///
    /// Stops at bytes that it would process slowly, and when the batch is full. On some processors
    /// this function takes no bytes.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub fn push_blocks(&mut self, bytes: &[u8]) -> (usize, u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(vbmi) = self.vbmi {
            return vbmi.push_blocks(&mut self.words, bytes);
        }
        (0, 0)
    }

    /// Joins all waiting words with the words before them. Returns the hashes of the shingles that
    /// are low enough to be sampled, in order.
    pub fn join(&mut self, chain: &mut ShingleChain) -> &[u64] {
        self.chosen.count = 0;
        let count = std::mem::take(&mut self.words.count);
        let (low, high) = (&self.words.low[..count], &self.words.high[..count]);
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if let Some(vbmi) = self.vbmi {
            if chain.words < SHINGLE as u64 {
                // The first words complete no shingle, so they are joined one by one.
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

/// The number of words that are hashed before they are joined.
const TOGETHER: usize = 128;

/// Hashes up to [`TOGETHER`] words in a first pass, and joins them in a second one. Only the steps
/// of the second pass wait for each other.
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
        // The two conditions are computed as numbers, because a branch would be mispredicted for
        // every eighth word.
        let whole = usize::from(joined.words >= SHINGLE as u64);
        some += whole * usize::from(shingle < SAMPLED);
    }
    joined.last.copy_from_slice(&hashes[count..count + SHINGLE]);
    *chain = joined;
    chosen.count = some;
}
