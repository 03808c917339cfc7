//! `BSW_n`: the least fingerprint of each chunk.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `BSW_n`": a position is the end of a
//! chunk where n divides the fingerprint of the window that ends there; of each chunk "the
//! numerically smallest fingerprint" is kept (section 4), instead of the hash of the whole chunk.
//!
//! Every position belongs to one chunk and so does its fingerprint, that of the end included. A
//! chunk is then a run of fingerprints, and one fingerprint comes of each, as in the paper's rule
//! of thumb (a file of S bytes has S/n). Only windows that lie in the chunk with all their bytes
//! would leave one chunk in six (n = 100, w = 20) without any.
//!
//! **Figures.** Those of [`crate::mod_n`] on these samples: similarity and containment.
//!
//! **Cost.** As `Mod_n`.
//!
//! **Sees** what `Mod_n` sees, and gaps are shorter: there is never more than a chunk without a
//! sample. But whether a window is kept depends on its neighbours, so an edit can unseat a sample
//! it does not touch, and near the cut of a part another one may be kept than in the whole: both
//! figures are a little low.

use crate::mod_n::Divisor;

/// The least of each run, as the fingerprints come.
#[derive(Clone, Copy, Debug)]
pub struct Minima {
    n: Divisor,
    least: Option<u64>,
}

impl Minima {
    /// Runs that end where `n` divides a fingerprint.
    pub const fn new(n: u32) -> Self {
        Self {
            n: Divisor::new(n),
            least: None,
        }
    }

    /// Takes the next fingerprint: the least of its chunk, if that ends here.
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

    /// The end of the content: the least of the last chunk, if there is one. Then as new.
    pub fn finish(&mut self) -> Option<u64> {
        self.least.take()
    }
}
