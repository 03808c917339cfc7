//! How much two contents have in common, and what each piece of that counts.

use resemble_core::similarity::discount;
use resemble_index::PostingKind;

/// How much two contents have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Common {
    /// Distinct fingerprints.
    pub fingerprints: u32,
    /// Distinct chunks, by their posting keys.
    pub chunks: u32,
    /// How rare the fingerprints are: the sum of what each counts ([`discount::weight`]).
    pub rare: f32,
    /// The same as far as few have them: each counts fully up to `FEW`, and as much less as more
    /// contents have it.
    pub few: f32,
    /// How few have the fingerprints: each counts 1/n² if n *others* have it.
    pub own: f32,
    /// The same of chunks besides, which count `CHUNK_TELLS` times as much.
    pub told: f32,
}

/// A chunk that nobody else has says as much as so many windows: that is their least number.
const CHUNK_TELLS: f32 = 4.0;

/// So many contents are few ([`Common::few`]).
const FEW: f32 = 24.0;

/// What a piece counts, by how many contents have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PieceWorth {
    /// [`discount::weight`].
    weight: f32,
    /// One over all of them but one.
    of_others: f32,
}

impl PieceWorth {
    /// Of a piece that so many contents have; what more than `limit` have is boilerplate.
    pub fn of(contents: u32, limit: u32) -> Self {
        Self {
            weight: discount::weight(contents, limit) as f32,
            of_others: 1.0 / contents.saturating_sub(1).max(1) as f32,
        }
    }

    /// [`Common::few`]. Of n contents n - 1 are the others of one.
    fn few(self) -> f32 {
        (FEW * self.of_others / (1.0 + self.of_others)).min(1.0)
    }

    /// One over the square of all of them but one: what a window counts as evidence of kinship.
    pub fn own(self) -> f64 {
        f64::from(self.of_others * self.of_others)
    }
}

impl Common {
    /// Nothing.
    pub const NONE: Self = Self {
        fingerprints: 0,
        chunks: 0,
        rare: 0.0,
        few: 0.0,
        own: 0.0,
        told: 0.0,
    };

    /// One more.
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

    /// Enough to estimate by.
    pub fn is_candidate(self) -> bool {
        self.fingerprints >= 2 || self.chunks >= 1
    }
}
