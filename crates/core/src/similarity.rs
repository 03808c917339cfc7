//! The measures of a pair of contents, and the relation that follows from them.
//!
//! Two kinds of evidence are combined. **Common chunks** are a proof: both contents have the bytes
//! of these chunks. So the sum of these bytes is a lower bound of the shared bytes
//! ([`shared_chunk_bytes`]). But one edit changes a whole chunk. **Common fingerprints** are a
//! measurement: their ratio is an unbiased estimate of the shared windows, whatever was edited. But
//! a ratio of few samples is noise. [`estimate()`] weighs both, [`proof`] computes the measures
//! from the contents themselves, and [`relation`] names the result.

pub use crate::digest::Sketch;
use crate::ids::{ByteLen, Fingerprint, Score};
pub use crate::params::LEAST_JUDGED;
use crate::params::Params;

mod chunks;
mod coverage;
pub mod discount;
mod estimate;
pub mod frame;
mod interval;
mod pair;
pub mod passages;
mod pattern;
mod prepared;
pub mod proof;
pub mod runs;
mod templates;
mod text;

pub use chunks::shared_chunk_bytes;
pub use coverage::words_in_runs;
pub use estimate::{Compared, estimate, estimate_prepared, estimate_shown, estimate_texts};
pub use interval::{interval, wilson};
pub use pair::PairKey;
pub use prepared::Prepared;
pub use templates::{CommonShingles, Template, TemplateShingles, Templates};
pub use text::{
    Chains, Commonness, NumberedText, Proof, RARE, ReadText, SeenShingles, Table, Text, TextCutter,
    lower_end,
};

/// The measures of a pair (a, b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// Containment of a in b. For two texts it is a share of a's words: b also has these words, in
    /// runs of at least five. For other contents it is a share of a's bytes: b also has these
    /// bytes, in runs of at least 64 ([`Unit`]). `None` if a file is too small to judge, or has too
    /// few samples for an estimate.
    pub a_in_b: Option<Score>,
    /// Containment of b in a.
    pub b_in_a: Option<Score>,
    /// The number of five-word shingles, or 64-byte windows, that both files have. It is divided by
    /// the number that at least one of the files has.
    pub resemblance: Option<Score>,
    /// The number of bytes of the smaller file in the runs that the containments count. For an
    /// estimate it is a proven lower bound: the bytes of common chunks, each counted as often as
    /// both files have it.
    pub shared_bytes: ByteLen,
}

impl Measures {
    /// Returns the measures of equal contents of this size.
    pub const fn identical(size: ByteLen) -> Self {
        let all = Some(Score::ONE);
        Self {
            a_in_b: all,
            b_in_a: all,
            resemblance: all,
            shared_bytes: size,
        }
    }

    /// Returns the greater containment: the score by which answers are sorted. `None` if no
    /// containment is known.
    pub fn containment(&self) -> Option<Score> {
        self.a_in_b.max(self.b_in_a)
    }

    /// Lowers each share of 1, because only identical contents have it.
    #[must_use]
    pub fn below_identical(self) -> Self {
        let below = |score: Option<Score>| score.map(|score| score.min(Score::ALL_BUT_IDENTICAL));
        Self {
            a_in_b: below(self.a_in_b),
            b_in_a: below(self.b_in_a),
            resemblance: below(self.resemblance),
            ..self
        }
    }

    /// Returns the result for the pair (b, a).
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            a_in_b: self.b_in_a,
            b_in_a: self.a_in_b,
            ..self
        }
    }
}

/// Estimates, and their intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The estimates.
    pub measures: Measures,
    /// The interval of each estimate.
    pub interval: Interval,
}

/// The interval of each measure of a pair. If the measure was estimated, the interval contains its
/// true value in 19 cases of 20.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The interval of [`Measures::a_in_b`].
    pub a_in_b: Option<(Score, Score)>,
    /// The interval of [`Measures::b_in_a`].
    pub b_in_a: Option<(Score, Score)>,
    /// The interval of [`Measures::resemblance`].
    pub resemblance: Option<(Score, Score)>,
}

impl Interval {
    /// Lowers each end that is 1, because only identical contents have a share of 1.
    #[must_use]
    pub fn below_identical(self) -> Self {
        let below = |ends: Option<(Score, Score)>| {
            let most = Score::ALL_BUT_IDENTICAL;
            ends.map(|(low, high)| (low.min(most), high.min(most)))
        };
        Self {
            a_in_b: below(self.a_in_b),
            b_in_a: below(self.b_in_a),
            resemblance: below(self.resemblance),
        }
    }

    /// Makes the intervals of exact measures: both ends are the measure itself.
    pub fn of(measures: &Measures) -> Self {
        let known = |share: Option<Score>| share.map(|share| (share, share));
        Self {
            a_in_b: known(measures.a_in_b),
            b_in_a: known(measures.b_in_a),
            resemblance: known(measures.resemblance),
        }
    }

    /// Returns the result for the pair (b, a).
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            a_in_b: self.b_in_a,
            b_in_a: self.a_in_b,
            ..self
        }
    }

    /// Returns the greater upper end of the intervals of both containments.
    pub fn most(&self) -> Option<Score> {
        let most = |ends: Option<(Score, Score)>| ends.map(|(_, high)| high);
        most(self.a_in_b).max(most(self.b_in_a))
    }

    /// Returns the measures, each lowered to the lower end of its interval.
    pub fn least(&self, of: &Measures) -> Measures {
        let least = |of: Option<Score>, interval: Option<(Score, Score)>| {
            interval.map_or(of, |(least, _)| of.map(|of| of.min(least)))
        };
        Measures {
            a_in_b: least(of.a_in_b, self.a_in_b),
            b_in_a: least(of.b_in_a, self.b_in_a),
            resemblance: least(of.resemblance, self.resemblance),
            ..*of
        }
    }
}

/// The unit of the measures of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// The unit for two texts. A containment counts words in runs of at least five; a resemblance
    /// counts word-5-shingles (Broder 1997).
    #[default]
    Words,
    /// The unit for all other pairs. A containment counts bytes in runs of at least 64; a
    /// resemblance counts 64-byte windows.
    Bytes,
}

/// Decides which pieces are in too many contents to be evidence.
pub trait Boilerplate {
    /// Returns whether the chunks with this [`crate::ChunkHash::posting_key`] are boilerplate.
    fn chunk(&self, key: u64) -> bool;
    /// Returns whether this fingerprint is boilerplate.
    fn fingerprint(&self, fingerprint: Fingerprint) -> bool;
}

/// Treats nothing as boilerplate.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBoilerplate;

impl Boilerplate for NoBoilerplate {
    fn chunk(&self, _key: u64) -> bool {
        false
    }

    fn fingerprint(&self, _fingerprint: Fingerprint) -> bool {
        false
    }
}

/// The relation of two contents, which `docs/design.md` defines in the section "Words".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Equal bytes (equal [`crate::ContentDigest`]).
    Identical,
    /// Equal after canonicalisation or extraction.
    SameText,
    /// Both containments at least 70 %.
    Near,
    /// b is contained in a: only `b_in_a` is at least 70 %.
    Contains,
    /// a is contained in b: only `a_in_b` is at least 70 %.
    Contained,
    /// The greater containment is at least 25 % and less than 70 %.
    Shares,
}

impl Relation {
    /// All relations.
    pub const ALL: [Self; 6] = [
        Self::Identical,
        Self::SameText,
        Self::Near,
        Self::Contains,
        Self::Contained,
        Self::Shares,
    ];

    /// Returns the relation seen from the other file.
    #[must_use]
    pub const fn swapped(self) -> Self {
        match self {
            Self::Contains => Self::Contained,
            Self::Contained => Self::Contains,
            same => same,
        }
    }

    /// The least containment with which a file counts as contained in the other.
    pub const MOSTLY: f64 = 0.7;
    /// The least containment with which a pair counts as sharing text or bytes.
    pub const PARTLY: f64 = 0.25;
    /// The default for the least number of shared bytes that any relation except identity needs.
    pub const MIN_SHARED: ByteLen = ByteLen(256);

    /// Returns the name that the relation has in answers: `identical`, `same-text`, `near`,
    /// `contains`, `contained`, `shares`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::SameText => "same-text",
            Self::Near => "near",
            Self::Contains => "contains",
            Self::Contained => "contained",
            Self::Shares => "shares",
        }
    }
}

/// Returns the relation of a pair by its measures, or `None` if it has no relation. Never returns
/// [`Relation::SameText`].
///
/// `identical` is decided by the caller (equal [`crate::ContentDigest`]) and allowed for files of
/// any size. Every other relation needs files of at least [`LEAST_JUDGED`] bytes and `min_shared`
/// shared bytes. Chunks prove a number of shared bytes. A containment times the size of its file
/// estimates this number. The greater of the two numbers is used.
pub fn relation(
    identical: bool,
    a_size: ByteLen,
    b_size: ByteLen,
    m: &Measures,
    min_shared: ByteLen,
) -> Option<Relation> {
    if identical {
        return Some(Relation::Identical);
    }
    if too_small(a_size) || too_small(b_size) {
        return None;
    }
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    let (a_in_b, b_in_a) = (share(m.a_in_b), share(m.b_in_a));
    let estimated = (a_in_b * a_size.0 as f64).max(b_in_a * b_size.0 as f64);
    if (m.shared_bytes.0 as f64).max(estimated) < min_shared.0 as f64 {
        return None;
    }
    match (a_in_b >= Relation::MOSTLY, b_in_a >= Relation::MOSTLY) {
        (true, true) => Some(Relation::Near),
        (false, true) => Some(Relation::Contains),
        (true, false) => Some(Relation::Contained),
        (false, false) if a_in_b.max(b_in_a) >= Relation::PARTLY => Some(Relation::Shares),
        (false, false) => None,
    }
}

/// Returns whether a file of this size is too small to judge.
pub const fn too_small(size: ByteLen) -> bool {
    size.0 < LEAST_JUDGED.0
}

/// The length in bytes of a window that has a fingerprint.
const WINDOW: f64 = Params::WINDOW as f64;

#[cfg(test)]
mod tests;
