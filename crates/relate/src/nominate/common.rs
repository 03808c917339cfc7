//! Counts and weighs the pieces that two contents share.

use resemble_core::Signature;
use resemble_core::similarity::discount;
use resemble_index::PostingKind;

/// The numbers and the weights of the pieces that two contents share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Common {
    /// The number of distinct fingerprints.
    pub fingerprints: u32,
    /// The number of different chunks. Chunks with the same posting key count once.
    pub chunks: u32,
    /// The sum of the weights of the fingerprints ([`discount::weight`]).
    pub rare: f32,
    /// The sum of other weights of the fingerprints. This weight is 1 if at most `FEW` contents
    /// have the fingerprint. If more contents, n, have it, the weight is `FEW`/n.
    pub few: f32,
    /// The sum of 1/n² over the fingerprints, where n + 1 contents have the fingerprint.
    pub own: f32,
    /// [`Self::own`] plus `CHUNK_TELLS` times the same sum over the chunks.
    pub told: f32,
}

/// The number of windows that are as much evidence as one chunk. If only two contents have a chunk,
/// it contains at least this many windows that only these two contents have.
const CHUNK_TELLS: f32 = 4.0;

/// If at most this many contents have a piece, it counts fully in [`Common::few`].
const FEW: f32 = 24.0;

/// The weights of a piece, which depend on the number of contents that have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PieceWorth {
    /// The weight in [`Common::rare`]: see [`discount::weight`].
    weight: f32,
    /// 1/(n - 1), if n contents have the piece, and 1 if one content has it.
    of_others: f32,
}

impl PieceWorth {
    /// Returns the weights of a piece that `contents` contents have. A piece of more than `limit`
    /// contents is boilerplate.
    pub fn of(contents: u32, limit: u32) -> Self {
        Self {
            weight: discount::weight(contents, limit) as f32,
            of_others: 1.0 / contents.saturating_sub(1).max(1) as f32,
        }
    }

    /// Returns the weight of the piece in [`Common::few`], which is at most 1. If n contents have
    /// the piece, `of_others` is 1/(n - 1), so this is `FEW`/n.
    fn few(self) -> f32 {
        (FEW * self.of_others / (1.0 + self.of_others)).min(1.0)
    }

    /// Returns the weight of the piece in [`Common::own`], which is the evidence of kinship.
    pub fn own(self) -> f64 {
        f64::from(self.of_others * self.of_others)
    }
}

impl Common {
    /// The counts for two contents that share nothing.
    pub const NONE: Self = Self {
        fingerprints: 0,
        chunks: 0,
        rare: 0.0,
        few: 0.0,
        own: 0.0,
        told: 0.0,
    };

    /// Counts one more piece that both contents have.
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

    /// Returns whether two contents share enough to be worth an estimate.
    pub fn is_candidate(self) -> bool {
        self.chunks >= 1 || are_enough(self.fingerprints, f64::INFINITY)
    }

    /// Does the same as [`Self::is_candidate`] for two contents with these signatures. One common
    /// sample is enough if one of the two has few samples.
    pub fn is_candidate_of(self, a: &Signature, b: &Signature) -> bool {
        let level = a.level.max(b.level);
        // Most contents have many samples, so counting ends after a few.
        let has_few = |signature: &Signature| signature.at_level(level).nth(FEW_SAMPLES).is_none();
        self.is_candidate() || self.fingerprints > 0 && (has_few(a) || has_few(b))
    }
}

/// If a content has at most this many samples, one common sample is enough.
const FEW_SAMPLES: usize = 4;

/// Returns whether this many common samples justify a comparison of two contents. `fewer` is the
/// number of samples of the content with fewer samples.
///
/// One common sample may be from a common phrase, so two are needed. A short text has few samples
/// that could be common. For such a text, one common sample is enough, because reading the text
/// takes little time.
pub fn are_enough(common: u32, fewer: f64) -> bool {
    common >= 2 || common == 1 && fewer <= FEW_SAMPLES as f64
}
