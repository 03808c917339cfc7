//! Common text counts for less: the discount by frequency.
//!
//! Text that more than 1,000 contents have is no evidence at all (Broder 1997, section 4.1). A
//! licence that 400 files carry is below that limit, but is also no sign of kinship. So below the
//! limit, the weight of a shared piece falls with the number of contents that have the piece:
//!
//! ```text
//! w(df) = 1                                          df ≤ FREE
//!         (ln(limit / df) / ln(limit / FREE))^POWER   FREE < df < limit
//!         0                                          df ≥ limit
//! ```
//!
//! The logarithm is taken from Sparck Jones 1972 ("A statistical interpretation of term
//! specificity"). The limit replaces the number of documents. So the weight reaches 0 at the limit
//! without a step, and does not change when unrelated files are added.
//!
//! # From weights to a score
//!
//! Let S be the shared part of a file, U the rest, and ω the mean weight of the shared pieces. As
//! with boilerplate and templates, discounted text counts neither as shared nor as missing:
//!
//! ```text
//! raw = S / (S + U)          discounted = ωS / (ωS + U) = raw·ω / (1 - raw·(1 - ω))
//! ```
//!
//! So 0 ≤ discounted ≤ raw, and the discounted score falls with every df. If no shared piece is in
//! more than FREE contents, the discounted score is the raw score. A hundred versions of one text
//! stay a family: where nothing is missing, the score is still 1. The frequencies of pieces that
//! are *not* shared are not needed. So the discount needs no further look-up: nomination already
//! knows the frequencies of the subject's pieces.
//!
//! # Choice of FREE and POWER
//!
//! The data are pairs of two kernel trees that have a relation by the raw score. The trees have
//! 78,500 files each. Every 60th file, and then every 37th file, was taken with up to 40 partners.
//! The pairs were judged by their bytes without the comments at the heads of both files. In these
//! two draws, 1,722 and 3,187 pairs have at most a twentieth of these bytes in common ("headers
//! only"). 1,187 and 1,869 pairs have a quarter or more in common ("true relatives"). For each
//! draw, a column shows the percentage of pairs that keep a relation (25 %) after the discount:
//!
//! ```text
//! FREE  POWER   headers only    true relatives
//!   16      1     59    58         94    95        the plain logarithm hardly separates them
//!   32      2     47    45         95    97        the square: tf·idf on both sides of a cosine
//!   32      4     31    23         92    95
//!   64      6     33    29         94    97        chosen
//!   64     12      -    22          -    96        nearly a threshold, at some 120 contents
//! ```
//!
//! Text of many versions is in tens of contents, and frames are in hundreds. A weight that falls
//! steeply between tens and hundreds separates them best. With a POWER beyond 6 the gain is small.
//! A few more or fewer files would then change the weight of a text too much. The next best choice
//! is FREE = 32 and POWER = 4. `crates/query/examples/discount.rs` prints the table.

use crate::Relation;
use crate::ids::{ByteLen, Fingerprint, Score};
use crate::similarity::chunks::Common;
use crate::similarity::{NoBoilerplate, Sketch, passages};

/// The maximum number of contents that may have a piece of full weight.
pub const FREE: u32 = 64;

/// The steepness of the fall beyond [`FREE`].
pub const POWER: i32 = 6;

/// Counts the contents that have a piece.
pub trait Frequency {
    /// Counts the contents with a chunk of this [`crate::ChunkHash::posting_key`]. A count up to
    /// [`FREE`] need not be exact.
    fn chunk(&self, key: u64) -> u32;
    /// Counts the contents with this fingerprint.
    fn fingerprint(&self, fingerprint: Fingerprint) -> u32;
}

/// Returns the weight, 0..=1, of a piece that this many contents have; `limit` is the limit of
/// boilerplate.
pub fn weight(contents: u32, limit: u32) -> f64 {
    if contents <= FREE {
        1.0
    } else if contents >= limit {
        0.0
    } else {
        let rarity = |count: u32| (f64::from(limit) / f64::from(count)).ln();
        (rarity(contents) / rarity(FREE)).powi(POWER)
    }
}

/// The rarity of what a pair shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rarity {
    /// ω: the mean weight of the shared pieces, each counted by its bytes; 1 if nothing is shared.
    pub weight: f64,
    /// The number of contents that have a discounted piece: the median over these pieces, each
    /// weighted by its discount. It is 0 if nothing is discounted.
    pub contents: u32,
}

/// Computes the rarity of what two contents share according to an estimate. Pieces that more than
/// `limit` contents have are boilerplate. They are ignored, as in the raw score.
pub fn rarity(a: &Sketch<'_>, b: &Sketch<'_>, frequency: &dyn Frequency, limit: u32) -> Rarity {
    let (mut pieces, _) = shared_pieces(a, b, frequency);
    pieces.retain(|&(contents, _)| contents <= limit);
    rarity_of(pieces, limit)
}

/// Computes the rarity of everything that two contents share, for a score that was measured on the
/// contents. Such a score includes boilerplate, which has weight 0.
pub fn rarity_of_all(
    a: &Sketch<'_>,
    b: &Sketch<'_>,
    frequency: &dyn Frequency,
    limit: u32,
) -> Rarity {
    let (mut all, samples) = shared_pieces(a, b, frequency);
    leave_out_unseen(&mut all, samples, (a, b), limit);
    rarity_of(all, limit)
}

/// Computes [`rarity`] and [`rarity_of_all`] of two contents with one search for the shared pieces.
pub fn rarities(
    a: &Sketch<'_>,
    b: &Sketch<'_>,
    frequency: &dyn Frequency,
    limit: u32,
) -> (Rarity, Rarity) {
    let (mut all, samples) = shared_pieces(a, b, frequency);
    let mut evident = all.clone();
    evident.retain(|&(contents, _)| contents <= limit);
    leave_out_unseen(&mut all, samples, (a, b), limit);
    (rarity_of(evident, limit), rarity_of(all, limit))
}

/// The minimum number of shared samples that can show how common the shared text is.
const TELLING: usize = 6;

/// The first `samples` pieces are samples, and the others are chunks. If every shared sample is in
/// many contents, removes the chunks from `pieces`. A chunk may then seem rare only because it ends
/// in the text after a header. A chunk stays if it is too short to contain samples of both
/// contents.
fn leave_out_unseen(
    pieces: &mut Vec<(u32, f64)>,
    samples: usize,
    (a, b): (&Sketch<'_>, &Sketch<'_>),
    limit: u32,
) {
    let worths = pieces[..samples].iter().map(|piece| weight(piece.0, limit));
    if samples < TELLING || worths.sum::<f64>() >= 1.0 {
        return;
    }
    let level = a.signature.level.max(b.signature.level);
    let spacing = |of: &Sketch<'_>| {
        let all = of.signature.at_level(level).count().max(1);
        of.size.0 as f64 / all as f64
    };
    let seen = passages::LEAST as f64 * spacing(a).max(spacing(b));
    let chunks = pieces.split_off(samples);
    pieces.extend(chunks.into_iter().filter(|&(_, bytes)| bytes < seen));
}

/// Returns for each shared piece the number of contents that have it, and the bytes that it
/// represents. The samples are the first pieces. Also returns the number of samples.
fn shared_pieces(
    a: &Sketch<'_>,
    b: &Sketch<'_>,
    frequency: &dyn Frequency,
) -> (Vec<(u32, f64)>, usize) {
    let mut pieces: Vec<(u32, f64)> = Vec::new();
    let level = a.signature.level.max(b.signature.level);
    let spacing = 2f64.powi(i32::from(level));
    let mut in_b: Vec<Fingerprint> = b.signature.at_level(level).collect();
    in_b.sort_unstable();
    let shared = a
        .signature
        .at_level(level)
        .filter(|f| in_b.binary_search(f).is_ok());
    pieces.extend(shared.map(|f| (frequency.fingerprint(f), spacing)));
    let samples = pieces.len();
    let chunks = Common::of(a.chunks, b.chunks, &NoBoilerplate);
    pieces.extend(chunks.chunks().map(|(hash, len)| {
        let contents = frequency.chunk(hash.posting_key());
        (contents, f64::from(len))
    }));
    (pieces, samples)
}

/// Computes the rarity of equally important pieces, with a table of their discounts.
#[derive(Clone, Debug, Default)]
pub(super) struct Rarities {
    limit: u32,
    /// The part of the weight that a piece loses. The index is the number of contents that have the
    /// piece, up to 65,536.
    losses: Vec<f64>,
}

impl Rarities {
    /// Makes the table. Pieces that `limit` contents or more have lose their whole weight.
    pub(super) fn new(limit: u32) -> Self {
        let losses = (0..=limit.min(1 << 16)).map(|contents| 1.0 - weight(contents, limit));
        Self {
            limit,
            losses: losses.collect(),
        }
    }

    /// Computes the rarity of `all` pieces. Returns `None` if no piece is in more than [`FREE`]
    /// contents. `common` counts the pieces in more than [`FREE`] contents. For each number of
    /// contents, ascending, it has the number of pieces that this many contents have.
    pub(super) fn of(
        &self,
        all: u64,
        common: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Option<Rarity> {
        let lost = |(contents, pieces): (u32, u32)| {
            let known = self.losses.get(contents as usize).copied();
            let of_one = known.unwrap_or_else(|| 1.0 - weight(contents, self.limit));
            f64::from(pieces) * of_one
        };
        let mut is_any = false;
        let loss: f64 = common.clone().inspect(|_| is_any = true).map(lost).sum();
        let mut sum = 0.0;
        let median = common
            .map(|piece| (piece.0, lost(piece)))
            .find(|&(_, lost)| {
                sum += lost;
                sum >= 0.5 * loss
            });
        is_any.then(|| Rarity {
            weight: (1.0 - loss / all as f64).clamp(0.0, 1.0),
            contents: median.map_or(0, |(contents, _)| contents),
        })
    }
}

/// Computes the rarity of pieces. Each piece has a number of contents and a number of bytes.
fn rarity_of(mut pieces: Vec<(u32, f64)>, limit: u32) -> Rarity {
    pieces.sort_unstable_by_key(|&(contents, _)| contents);
    let all: f64 = pieces.iter().map(|&(_, bytes)| bytes).sum();
    let lost = |&(contents, bytes): &(u32, f64)| bytes * (1.0 - weight(contents, limit));
    let loss: f64 = pieces.iter().map(lost).sum();
    if loss <= 0.0 {
        return Rarity {
            weight: 1.0,
            contents: 0,
        };
    }
    let mut sum = 0.0;
    let median = pieces.iter().find(|piece| {
        sum += lost(piece);
        sum >= 0.5 * loss
    });
    Rarity {
        weight: (1.0 - loss / all).clamp(0.0, 1.0),
        contents: median.map_or(0, |&(contents, _)| contents),
    }
}

impl Rarity {
    /// Returns this rarity after a comparison in words. The comparison found that many contents
    /// have the part `lost` of the share `share`. The weight is never less than before. `None` if
    /// the rest of the share is so small that it may also be common text.
    #[must_use]
    pub fn of_words(self, lost: f64, share: Score, size: ByteLen) -> Option<Self> {
        let left = (share.get() - lost).max(0.0);
        let is_enough = left * size.0 as f64 >= Relation::MIN_SHARED.0 as f64;
        is_enough.then(|| Self {
            weight: self.weight.max((left / share.get()).min(1.0)),
            ..self
        })
    }

    /// Returns the score after the discount; it is never above the raw score.
    pub fn discounted(&self, raw: Score) -> Score {
        let raw_share = raw.get();
        let rest = 1.0 - raw_share * (1.0 - self.weight);
        if self.weight >= 1.0 {
            raw
        } else if rest <= 0.0 {
            Score::ZERO
        } else {
            Score::new((raw_share * self.weight / rest).min(raw_share))
        }
    }
}

#[cfg(test)]
mod tests;
