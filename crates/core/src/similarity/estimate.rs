//! The measures of a pair, from what the index stores of both files.
//!
//! 1. **A common level.** Samples of files of different sizes are compared at the greater of their
//!    levels. At this level the samples of both files are complete. Boilerplate is removed from
//!    both the numerator and the denominator.
//! 2. **Containment** is about words in runs of at least five, or bytes in runs of at least 64.
//!    [`super::coverage`] derives the estimate from this definition. In bytes the estimate is never
//!    less than `shared_bytes / size`, which the common chunks prove. In words chunks prove
//!    nothing, because they include markup.
//! 3. **Resemblance** is the number of shared pieces over the number of pieces that either file
//!    has. For windows it is the same ratio of the samples, which is unbiased. For shingles, let p
//!    and q be the shares of each text's shingles that the other text has. Then the resemblance is
//!    1 / (1/p + 1/q - 1). A text and data have no comparable samples, so only chunks are used for
//!    them.
//! 4. **Too little evidence is no evidence.** One common window may be a mere phrase, a path, or a
//!    line of a licence. A pair with fewer than two common fingerprints and no common chunk shares
//!    nothing (0). A file with fewer than two usable samples can never have two samples in common.
//!    Without a common chunk, the measure of such a file is `None`, like the measure of a file
//!    under 256 bytes.
//! 5. **A share of few samples is lowered** by adding half a sample. The chunks determine how much
//!    of this half counts as shared. 2 shared samples of 2 give 80 %, 8 of 8 give 94 %, and 128 of
//!    128 give 99.6 %. Common chunks can raise these figures. This ranks a scrap that shares one
//!    line below a file that shares pages.
//! 6. **Intervals** begin with the interval of the share of samples (Wilson). Its two ends give the
//!    least and the greatest coverage ([`super::coverage`]). Each end is computed for the kind of
//!    edits that is worst for this end. Even for that kind, the end is wrong only once in 40 times.
//!    A pair is examined because it shares samples, so the lower end counts one shared sample
//!    fewer.
//! 7. **Repetitions within a file** do not show in its samples, because only distinct pieces are
//!    sampled. [`Repeated`] adds them to the figures shown, but not to those of nomination.
//!
//! `tests/estimates.rs` checks the intervals by kind of edit.

use crate::digest::ContentKind;
use crate::ids::{ByteLen, Score};
use crate::similarity::coverage::Grain;
use crate::similarity::interval::wilson;
use crate::similarity::pattern::Pattern;
use crate::similarity::prepared::Prepared;
use crate::similarity::{
    Boilerplate, Estimated, Interval, Measures, Sketch, Unit, WINDOW, too_small,
};

/// The minimum number of common fingerprints that are evidence without a common chunk.
const LEAST_SHARED: u64 = 2;

/// The weight of the share that chunks alone suggest: half a sample, as in Jeffreys's prior.
/// Because of this weight, two shared samples of two give less than 100 %.
const PRIOR_WEIGHT: f64 = 0.5;

/// The distance from an estimate to each end of its interval, in standard errors. Such an interval
/// contains the true value in 19 cases of 20.
const ERRORS: f64 = 1.96;

/// Estimates the measures of a pair; the resemblance is the resemblance of the sets of 64-byte
/// windows.
pub fn estimate(a: &Sketch<'_>, b: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    estimate_prepared(&a, &b, Compared::Windows, boilerplate)
}

/// Like [`estimate`], for two texts: the resemblance is the resemblance of the sets of
/// word-5-shingles.
pub fn estimate_texts(a: &Sketch<'_>, b: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    estimate_prepared(&a, &b, Compared::Texts(Unit::Words), boilerplate)
}

/// The samples by which a pair is estimated, chosen by the kinds of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Both contents are texts. Their containments are shares of this unit.
    Texts(Unit),
    /// Both contents have windows.
    Windows,
    /// Both contents are binaries with windows. A piece that occurs several times in a binary
    /// counts as padding or as a table. Other binaries probably have such pieces as well.
    Binaries,
    /// One content has shingles and the other windows, so only chunks are comparable.
    TextAndData,
}

impl Compared {
    /// Chooses the samples by the kinds of both contents. `texts` is the unit of two texts.
    pub fn of(a: ContentKind, b: ContentKind, texts: Unit) -> Self {
        let is_text = |kind: ContentKind| kind == ContentKind::Text;
        match (is_text(a), is_text(b)) {
            (true, true) => Self::Texts(texts),
            (false, false) if (a, b) == (ContentKind::Binary, ContentKind::Binary) => {
                Self::Binaries
            }
            (false, false) => Self::Windows,
            _ => Self::TextAndData,
        }
    }

    const fn are_texts(self) -> bool {
        matches!(self, Self::Texts(_))
    }

    const fn grain(self) -> Grain {
        match self {
            Self::Texts(Unit::Words) => Grain::WORDS,
            Self::Texts(Unit::Bytes) => Grain::BYTES_OF_TEXT,
            _ => Grain::BYTES,
        }
    }
}

/// Estimates the measures of contents that were prepared with the same boilerplate.
pub fn estimate_prepared(
    a: &Prepared,
    b: &Prepared,
    compared: Compared,
    boilerplate: &dyn Boilerplate,
) -> Measures {
    PreparedPair::of(a, b, compared, boilerplate).measures(Side::containment)
}

/// Estimates the figures that are shown for a pair whose contents are not read. The figures include
/// repetitions and intervals. Both contents must be prepared with the same boilerplate.
pub fn estimate_shown(
    a: &Prepared,
    b: &Prepared,
    compared: Compared,
    boilerplate: &dyn Boilerplate,
) -> Estimated {
    PreparedPair::of(a, b, compared, boilerplate).shown()
}

/// The common pieces of two sketches.
struct PreparedPair {
    compared: Compared,
    /// The number of bytes in common chunks; `None` if no chunk is common.
    proven: Option<ByteLen>,
    a: Side,
    b: Side,
}

/// The evidence in one of the files.
struct Side {
    grain: Grain,
    size: ByteLen,
    /// The share of this file's bytes that common chunks prove to be shared. It is 0 for a measure
    /// in words.
    proven: f64,
    /// The share of bytes that are in common chunks, among the bytes of this file's chunks that are
    /// evidence. Every occurrence is counted.
    chunks: f64,
    /// The number of windows for each sample.
    spacing: f64,
    samples: Pattern,
    repeated: Repeated,
}

impl PreparedPair {
    fn of(a: &Prepared, b: &Prepared, compared: Compared, boilerplate: &dyn Boilerplate) -> Self {
        let level = a.level.max(b.level);
        let (chunks, proven) = a.common_chunks(b, boilerplate);
        let samples = match compared {
            Compared::TextAndData => Default::default(),
            _ => a.common_samples(b, level),
        };
        let side = |content: &Prepared, samples: Pattern, chunks: f64| {
            let proven = match compared {
                Compared::Texts(Unit::Words) => 0.0,
                _ => proven.unwrap_or(ByteLen::ZERO).0 as f64 / content.size.0.max(1) as f64,
            };
            Side {
                grain: compared.grain(),
                size: content.size,
                proven: proven.min(1.0),
                chunks,
                spacing: 2f64.powi(i32::from(level)),
                samples,
                repeated: Repeated::of(content, compared),
            }
        };
        Self {
            compared,
            proven,
            a: side(a, samples[0], chunks[0]),
            b: side(b, samples[1], chunks[1]),
        }
    }

    fn is_too_small(&self) -> bool {
        too_small(self.a.size) || too_small(self.b.size)
    }

    /// Returns whether the two contents share too few pieces to be evidence.
    const fn is_unrelated(&self) -> bool {
        self.proven.is_none() && self.a.samples.shared < LEAST_SHARED
    }

    /// Returns whether this side has a measure. If the pair is unrelated, the side needs enough
    /// samples to have the measure 0.
    const fn is_known(&self, side: &Side) -> bool {
        !self.is_unrelated() || side.samples.total >= LEAST_SHARED
    }

    /// Computes the measures of the pair. `containment` returns the containment of one side.
    fn measures(&self, containment: impl Fn(&Side) -> f64) -> Measures {
        let of = |side: &Side| {
            let is_known = !self.is_too_small() && self.is_known(side);
            let share = || {
                if self.is_unrelated() {
                    0.0
                } else {
                    containment(side)
                }
            };
            is_known.then(|| Score::new(share()))
        };
        let (a_in_b, b_in_a) = (of(&self.a), of(&self.b));
        let resemblance = a_in_b.or(b_in_a).map(|_| Score::new(self.resemblance()));
        Measures {
            a_in_b,
            b_in_a,
            resemblance,
            shared_bytes: self.proven.unwrap_or(ByteLen::ZERO),
        }
    }

    fn resemblance(&self) -> f64 {
        if self.is_unrelated() {
            0.0
        } else if self.compared.are_texts() || self.union() == 0 {
            joined(self.a.windows(), self.b.windows())
        } else {
            self.a.samples.shared as f64 / self.union() as f64
        }
    }

    /// Counts the distinct samples that at least one of the contents has.
    const fn union(&self) -> u64 {
        self.a.samples.total + self.b.samples.missing()
    }

    fn shown(&self) -> Estimated {
        let measures = self.measures(Side::shown);
        let interval =
            |side: &Side, share: Option<Score>| share.map(|share| around(side.interval(), share));
        Estimated {
            measures,
            interval: Interval {
                a_in_b: interval(&self.a, measures.a_in_b),
                b_in_a: interval(&self.b, measures.b_in_a),
                resemblance: measures
                    .resemblance
                    .map(|share| around(self.resemblance_interval(), share)),
            },
        }
    }

    fn resemblance_interval(&self) -> (f64, f64) {
        if self.union() > 0 {
            return ends(self.a.samples.shared, self.union());
        }
        let (a, b) = (self.a.window_interval(), self.b.window_interval());
        (joined(a.0, b.0), joined(a.1, b.1))
    }
}

/// Widens an interval to include the estimate.
fn around((low, high): (f64, f64), share: Score) -> (Score, Score) {
    (Score::new(low).min(share), Score::new(high).max(share))
}

/// Computes the resemblance of two contents. `of_a` is the share of a's pieces that b has, and
/// `of_b` the share of b's pieces that a has.
fn joined(of_a: f64, of_b: f64) -> f64 {
    let both = of_a * of_b;
    let union = of_a + of_b - both;
    if union > 0.0 { both / union } else { 0.0 }
}

/// Returns the interval of the shared part of all pieces, if `shared` of `of` samples are shared.
/// If all samples are shared, the upper end is 1.
fn ends(shared: u64, of: u64) -> (f64, f64) {
    let all = of as f64;
    let low = wilson(shared.saturating_sub(1) as f64 / all.max(1.0), all, ERRORS).0;
    if shared == of {
        return (low, 1.0);
    }
    (low, wilson(shared as f64 / all, all, ERRORS).1)
}

/// The share of repetitions in a file. A repetition is a piece that equals an earlier piece of the
/// file. Samples do not show repetitions, because only distinct pieces are sampled.
#[derive(Clone, Copy)]
struct Repeated {
    share: f64,
    /// Standard deviation of the share.
    deviation: f64,
    said: RepetitionKind,
}

/// The nature of the repetitions.
#[derive(Clone, Copy)]
enum RepetitionKind {
    /// The repeated pieces are padding and tables, which other binaries have as well.
    Padding,
    /// The repeated pieces are text or data. The model assumes that a repeated piece is in this
    /// many places. Each place is shared with the same probability. The piece counts as shared if
    /// any place is shared.
    Places(f64),
}

impl Repeated {
    /// The probability that padding is shared, whatever the share of the other pieces.
    const PADDING: f64 = 0.9;

    /// A text repeats not only single pieces, but also passages. So repetitions are shared more
    /// often than other words. The excess is given as a part of the unshared rest. It was measured
    /// for texts that share 0.05, 0.25, 0.5 and 0.75 of their words. In tasks T4 and T8 of the
    /// accuracy test, the excess is 0.04, 0.17, 0.25 and 0.28. In T2 it is 0.1, 0.48, 0.66 and 0.6.
    /// This constant gives 0.02, 0.13, 0.29 and 0.5.
    const OF_WORDS: RepetitionKind = RepetitionKind::Places(1.5);

    /// Data repeat the tags and frames of records in many places. For drawings, the excess as in
    /// [`Self::OF_WORDS`] is 0.1 to 0.2, 0.45 to 0.66, 0.6 and 0.84. This constant gives 0.1, 0.44,
    /// 0.75 and 0.94.
    const OF_WINDOWS: RepetitionKind = RepetitionKind::Places(3.0);

    /// [`Self::least`] assumes that a piece that is not shared is repeated at most this many times.
    const AGAIN: f64 = 9.0;

    fn of(content: &Prepared, compared: Compared) -> Self {
        let said = match compared {
            Compared::Texts(_) => Self::OF_WORDS,
            Compared::Binaries => RepetitionKind::Padding,
            _ => Self::OF_WINDOWS,
        };
        let (share, deviation) = match content.repeats {
            Some(repeats) => (repeats.share(), 0.0),
            None if compared.are_texts() => (0.0, 0.0),
            None => {
                let windows = (content.size.0 as f64 - WINDOW + 1.0).max(1.0);
                let (distinct, deviation) = content.distinct();
                let distinct = (distinct / windows).min(1.0);
                (1.0 - distinct, distinct * deviation)
            }
        };
        Self {
            share,
            deviation,
            said,
        }
    }

    /// Returns the expected shared part of all pieces. `share` is the shared part of the distinct
    /// pieces.
    fn mean(self, share: f64) -> f64 {
        let likely = match self.said {
            RepetitionKind::Padding => share + Self::PADDING * (1.0 - share),
            RepetitionKind::Places(places) => 1.0 - (1.0 - share).powf(places),
        };
        share + self.share * (likely - share)
    }

    /// Returns the least shared part of all pieces. It assumes that pieces that are not shared are
    /// repeated more often than others.
    fn least(self, share: f64) -> f64 {
        let repeated = (self.share - 2.0 * self.deviation).max(0.0);
        let missing = (1.0 - share) * (1.0 - repeated);
        1.0 - missing - repeated.min(Self::AGAIN * missing)
    }

    /// Returns the greatest shared part of all pieces. It assumes that all repeated pieces are
    /// shared.
    fn most(self, share: f64) -> f64 {
        let repeated = (self.share + 2.0 * self.deviation).min(1.0);
        share + repeated * (1.0 - share)
    }
}

impl Side {
    /// Estimates the share of this side's distinct windows that is common. Without samples, the
    /// estimate is made from the common chunks. It is their share and, if their share is large, up
    /// to half of the rest. If the share is large, most bytes outside of common chunks are next to
    /// small edits.
    fn windows(&self) -> f64 {
        let c = self.chunks;
        let expected = c + (1.0 - c) * 0.5 * c.sqrt();
        let count = self.samples.total as f64 + PRIOR_WEIGHT;
        (self.samples.shared as f64 + PRIOR_WEIGHT * expected) / count
    }

    /// Returns the interval of the share that [`Self::windows`] estimates.
    fn window_interval(&self) -> (f64, f64) {
        ends(self.samples.shared, self.samples.total)
    }

    /// Returns the share of the file that shared windows cover. `windows` is the shared part of the
    /// file's windows.
    fn covered(&self, windows: f64) -> f64 {
        // All windows within common chunks are shared, so `chunks` is nearly a lower bound. Only
        // windows that cross the end of a common chunk can be unshared.
        let windows = if self.proven > 0.0 {
            windows.max(self.chunks)
        } else {
            windows
        };
        let likely = self
            .grain
            .likely(windows, self.chunks, &self.samples, self.spacing);
        likely.max(self.proven)
    }

    /// Returns the containment of distinct pieces.
    fn containment(&self) -> f64 {
        self.covered(self.windows())
    }

    /// Returns the containment with repetitions.
    fn shown(&self) -> f64 {
        self.covered(self.repeated.mean(self.windows()))
    }

    /// Returns the interval of the containment with repetitions.
    fn interval(&self) -> (f64, f64) {
        let (low, high) = self.window_interval();
        let low = self.repeated.least(low).max(self.proven);
        let low = self.grain.least(low, &self.samples, self.spacing);
        let high = self.grain.most(self.repeated.most(high), self.chunks);
        (low.max(self.proven), high)
    }
}
