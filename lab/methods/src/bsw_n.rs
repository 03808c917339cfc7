//! `BSW_n`: the least fingerprint of each chunk.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `BSW_n`": a position is the end of a
//! chunk where n divides the fingerprint of the window that ends there. For each chunk "the
//! numerically smallest fingerprint" is kept (section 4), instead of the hash of the whole chunk.
//!
//! Every position belongs to one chunk, the end included, and so does its fingerprint. A chunk is
//! then a run of fingerprints and gives one of them, as in the paper's rule of thumb (a file of S
//! bytes has S/n). Suppose that only windows inside the chunk counted. Then one chunk in six (n =
//! 100, w = 20) would have no fingerprint.
//!
//! **Figures.** Those of [`crate::mod_n`] on these samples: similarity and containment.
//!
//! **Cost.** As `Mod_n`.
//!
//! **Sees** what `Mod_n` sees, with shorter gaps: there is never more than a chunk without a
//! sample. But whether a window is kept depends on its neighbours. So an edit can replace a sample
//! that it does not touch. Near the end of a part, another sample may be kept than in the whole.
//! Both figures are therefore a little low.

use crate::mod_n::Divisor;

/// Finds the least fingerprint of each run.
#[derive(Clone, Copy, Debug)]
pub struct Minima {
    n: Divisor,
    least: Option<u64>,
}

impl Minima {
    /// Finds the minima of runs that end where `n` divides a fingerprint.
    pub const fn new(n: u32) -> Self {
        Self {
            n: Divisor::new(n),
            least: None,
        }
    }

    /// Takes the next fingerprint. If its chunk ends here, the result is the least one of the
    /// chunk.
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

    /// Ends the content and returns the least fingerprint of the last chunk, if there is one.
    pub fn finish(&mut self) -> Option<u64> {
        self.least.take()
    }
}
