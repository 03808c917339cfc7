//! Counts and weighs the pieces that two contents share.

use resemble_core::similarity::discount;
use resemble_index::PostingKind;

/// Numbers and weights of the pieces that two contents share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Common {
    /// Number of distinct fingerprints.
    pub fingerprints: u32,
    /// Number of distinct chunks, by their posting keys.
    pub chunks: u32,
    /// Sum of the weights of the fingerprints ([`discount::weight`]).
    pub rare: f32,
    /// Sum of other weights of the fingerprints: 1 for up to `FEW` holders, and `FEW`/n for n
    /// holders beyond that.
    pub few: f32,
    /// Sum over the fingerprints of 1/n², where n is the number of holders less one.
    pub own: f32,
    /// [`Self::own`] plus `CHUNK_TELLS` times the same sum over the chunks.
    pub told: f32,
}

/// The number of windows that count as much as a chunk. A chunk that only two contents have
/// contains at least this many windows that only they have.
const CHUNK_TELLS: f32 = 4.0;

/// Holders up to which a piece counts fully in [`Common::few`].
const FEW: f32 = 24.0;

/// Weights of a piece, by how many contents have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PieceWorth {
    /// See [`discount::weight`].
    weight: f32,
    /// The reciprocal of the number of holders less one.
    of_others: f32,
}

impl PieceWorth {
    /// Weighs a piece of `contents` holders; a piece of more than `limit` is boilerplate.
    pub fn of(contents: u32, limit: u32) -> Self {
        Self {
            weight: discount::weight(contents, limit) as f32,
            of_others: 1.0 / contents.saturating_sub(1).max(1) as f32,
        }
    }

    /// Returns the summand of [`Common::few`]. `of_others` is 1/(n - 1) for n holders.
    fn few(self) -> f32 {
        (FEW * self.of_others / (1.0 + self.of_others)).min(1.0)
    }

    /// Returns the summand of [`Common::own`], the evidence of kinship.
    pub fn own(self) -> f64 {
        f64::from(self.of_others * self.of_others)
    }
}

impl Common {
    /// Nothing in common.
    pub const NONE: Self = Self {
        fingerprints: 0,
        chunks: 0,
        rare: 0.0,
        few: 0.0,
        own: 0.0,
        told: 0.0,
    };

    /// Adds one common piece.
    pub fn add(&mut self, kind: PostingKind, worth: PieceWorth) {
        match kind {
            PostingKind::Fingerprint => {
                self.fingerprints += 1;
                self.rare += worth.weight;
                self.few += worth.few();
                self.own += worth.of_others * worth.of_others;
                self.told += worth.of_others * worth.of_others;
            }
            PostingKind::Chunk => {
                self.chunks += 1;
                self.told += CHUNK_TELLS * worth.of_others * worth.of_others;
            }
        }
    }

    /// Returns whether two contents share enough for an estimate.
    pub fn is_candidate(self) -> bool {
        self.fingerprints >= 2 || self.chunks >= 1
    }
}
