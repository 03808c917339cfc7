//! The method `BSW_n`: keeps the least fingerprint of each chunk.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `BSW_n`". Each position has the
//! fingerprint of the window that ends there. A position is the end of a chunk if n divides its
//! fingerprint. For each chunk, "the numerically smallest fingerprint" is kept (section 4), instead
//! of the hash of the whole chunk.
//!
//! Each position, with its fingerprint, belongs to exactly one chunk. A chunk includes its end. So
//! a chunk is a run of fingerprints, of which one is kept. This agrees with the paper's rule of
//! thumb (a file of S bytes has S/n fingerprints). If only windows inside a chunk counted, one
//! chunk in six would have no fingerprint with n = 100 and w = 20.
//!
//! **Figures.** The figures are those of [`crate::mod_n`], similarity and containment, computed
//! from these samples.
//!
//! **Cost.** The same as for `Mod_n`.
//!
//! **Sees** what `Mod_n` sees, with shorter gaps: every chunk has a sample. But whether a window is
//! kept depends on its neighbours. So an edit can replace a sample that it does not touch. A file
//! that is a part of another file may have a different sample in its first chunk and in its last
//! chunk. Both figures are therefore a little low.

use crate::mod_n::Divisor;

/// Finds the smallest fingerprint of each chunk.
#[derive(Clone, Copy, Debug)]
pub struct Minima {
    n: Divisor,
    least: Option<u64>,
}

impl Minima {
    /// Begins the first content. A chunk ends where `n` divides a fingerprint.
    pub const fn new(n: u32) -> Self {
        Self {
            n: Divisor::new(n),
            least: None,
        }
    }

    /// Adds the next fingerprint. If the chunk ends with it, returns the smallest fingerprint of
    /// the chunk.
    #[inline]
    pub fn push(&mut self, value: u64) -> Option<u64> {
        let least = self.least.map_or(value, |least| least.min(value));
        if self.n.divides(value) {
            self.least = None;
            Some(least)
        } else {
            self.least = Some(least);
            None
        }
    }

    /// Ends the content. Returns the smallest fingerprint of the last chunk, if there is one.
    pub fn finish(&mut self) -> Option<u64> {
        self.least.take()
    }
}
