//! The measures of a pair from what the index keeps of both files.
//!
//! 1. **A common level.** Samples of files of different sizes are compared at the greater of both
//!    levels, where both are complete. Boilerplate leaves numerator and denominator alike.
//! 2. **Containment** is meant of words in runs of at least five, or of bytes in runs of at least
//!    64, and estimated so: [`super::coverage`] has the derivation. In bytes it is never less than
//!    what common chunks prove, `shared_bytes / size`. In words chunks prove nothing, because they
//!    have markup in them.
//! 3. **Resemblance** is shared / union: of windows the plain ratio of the samples, which has no
//!    bias, of shingles 1 / (1/p + 1/q - 1), if p and q are the shares of one and of the other.
//!    Of a text and data there are no samples to compare, and chunks alone speak.
//! 4. **Too little evidence is none.** One common window is a phrase, a path, a line of a licence.
//!    A pair with fewer than two common fingerprints and no common chunk shares nothing (0). A file
//!    with fewer than two usable samples could never show more, so unless a chunk speaks for it
//!    nothing is said of it: `None`, as for files under 256 bytes.
//! 5. **Few samples are weighed down**, by half a sample of prior expectation: 2 of 2 is 80 %, 8 of
//!    8 is 94 %, 128 of 128 is 99.6 %, unless common chunks promise more. This ranks a scrap that
//!    shares one line below a file that shares pages.
//! 6. **Intervals** have two ends of one kind: the ends of the share of samples (Wilson), taken to
//!    what this share leaves at least and at most ([`super::coverage`]). What lies between is true
//!    whatever the edits, so an end is wrong only if the edits are of the worst kind for it, and
//!    then once in 40 times. A pair is looked at because it has
//!    samples in common, so toward less one sample fewer counts.
//! 7. **What a file says more than once** its samples, which are of distinct pieces, know nothing
//!    of ([`Repeated`]). It has its part in what is shown, and none in what nominates.
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

/// Fewest common fingerprints that are evidence without a common chunk.
const LEAST_SHARED: u64 = 2;

/// How many samples the expectation from chunks alone is worth: half a one, after Jeffreys. It
/// keeps two samples of two from being 100 %.
const PRIOR_WEIGHT: f64 = 0.5;

/// Standard errors of an interval that holds 19 cases of 20.
const ERRORS: f64 = 1.96;

/// Estimates the measures of a pair; the resemblance is that of the sets of 64-byte windows.
pub fn estimate(a: &Sketch<'_>, b: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    estimate_prepared(&a, &b, Compared::Windows, boilerplate)
}

/// As [`estimate`], of two texts: the resemblance is that of the sets of word-5-shingles.
pub fn estimate_texts(a: &Sketch<'_>, b: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    estimate_prepared(&a, &b, Compared::Texts(Unit::Words), boilerplate)
}

/// What two contents are estimated by, which their kinds decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Both are texts, and their containments are shares of this.
    Texts(Unit),
    /// Both have windows.
    Windows,
    /// The same of two binaries: what these repeat is padding and tables.
    Binaries,
    /// One has shingles and the other windows: chunks alone speak of both.
    TextAndData,
}

impl Compared {
    /// Of contents of these kinds, two texts in this unit.
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

/// The measures of contents that were made ready with the same boilerplate.
pub fn estimate_prepared(
    a: &Prepared,
    b: &Prepared,
    compared: Compared,
    boilerplate: &dyn Boilerplate,
) -> Measures {
    PreparedPair::of(a, b, compared, boilerplate).measures(Side::containment)
}

/// What is shown of a pair that is not read, of contents that were made ready with the same
/// boilerplate: with what is said more than once, and where the true figures lie.
pub fn estimate_shown(
    a: &Prepared,
    b: &Prepared,
    compared: Compared,
    boilerplate: &dyn Boilerplate,
) -> Estimated {
    PreparedPair::of(a, b, compared, boilerplate).shown()
}

/// What two sketches have in common.
struct PreparedPair {
    compared: Compared,
    /// Bytes of common chunks; `None`: there is none.
    proven: Option<ByteLen>,
    a: Side,
    b: Side,
}

/// The evidence as it lies in one of the files.
struct Side {
    grain: Grain,
    size: ByteLen,
    /// The share of its bytes that common chunks prove; of words nothing.
    proven: f64,
    /// The share of the bytes in common chunks, every occurrence counted.
    chunks: f64,
    /// Windows per sample.
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

    /// There is too little in common to be evidence.
    const fn is_unrelated(&self) -> bool {
        self.proven.is_none() && self.a.samples.shared < LEAST_SHARED
    }

    /// Whether anything can be said of a side.
    const fn is_known(&self, side: &Side) -> bool {
        !self.is_unrelated() || side.samples.total >= LEAST_SHARED
    }

    /// The measures, the containments by this function.
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

    /// How many samples both have together.
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

/// An interval that has the estimate in it.
fn around((low, high): (f64, f64), share: Score) -> (Score, Score) {
    (Score::new(low).min(share), Score::new(high).max(share))
}

/// The resemblance of two contents that share these parts of their pieces.
fn joined(of_a: f64, of_b: f64) -> f64 {
    let both = of_a * of_b;
    let union = of_a + of_b - both;
    if union > 0.0 { both / union } else { 0.0 }
}

/// From where to where the share of all may lie if so many samples of these are shared. If all are,
/// all may be.
fn ends(shared: u64, of: u64) -> (f64, f64) {
    let all = of as f64;
    let low = wilson(shared.saturating_sub(1) as f64 / all.max(1.0), all, ERRORS).0;
    if shared == of {
        return (low, 1.0);
    }
    (low, wilson(shared as f64 / all, all, ERRORS).1)
}

/// What a file says more than once, as a share of it: of that the samples, which are of distinct
/// pieces, know nothing.
#[derive(Clone, Copy)]
struct Repeated {
    share: f64,
    /// Standard deviation of the share.
    deviation: f64,
    said: Said,
}

/// What is said more than once.
#[derive(Clone, Copy)]
enum Said {
    /// Padding and tables, which other binaries have as well.
    Padding,
    /// What is shared if one of so many places is, each as likely as any place.
    Places(f64),
}

impl Repeated {
    /// How likely it is that padding is shared; else as much of it is as of the rest.
    const PADDING: f64 = 0.9;

    /// A text says again what stands together as well as what stands apart. Where two texts share
    /// .05, .25, .5 and .75 of their words, the share of what they say again is greater by .04,
    /// .17, .25 and .28 of the rest in T4 and T8, by .1, .48, .66 and .6 in T2; by this .02, .13,
    /// .29 and .5.
    const OF_WORDS: Said = Said::Places(1.5);

    /// Data say the same tags and frames of records in many places: of drawings it is .1 to .2, .45
    /// to .66, .6 and .84, and .1, .44, .75 and .94 by this.
    const OF_WINDOWS: Said = Said::Places(3.0);

    /// A missing piece may be said in so many more places.
    const AGAIN: f64 = 9.0;

    fn of(content: &Prepared, compared: Compared) -> Self {
        let said = match compared {
            Compared::Texts(_) => Self::OF_WORDS,
            Compared::Binaries => Said::Padding,
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

    /// What a share of what is distinct comes to.
    fn mean(self, share: f64) -> f64 {
        let likely = match self.said {
            Said::Padding => share + Self::PADDING * (1.0 - share),
            Said::Places(places) => 1.0 - (1.0 - share).powf(places),
        };
        share + self.share * (likely - share)
    }

    /// What it comes to at least, if what is missing is said in more places than the rest.
    fn least(self, share: f64) -> f64 {
        let repeated = (self.share - 2.0 * self.deviation).max(0.0);
        let missing = (1.0 - share) * (1.0 - repeated);
        1.0 - missing - repeated.min(Self::AGAIN * missing)
    }

    /// What it comes to at most, if all that is repeated is shared.
    fn most(self, share: f64) -> f64 {
        let repeated = (self.share + 2.0 * self.deviation).min(1.0);
        share + repeated * (1.0 - share)
    }
}

impl Side {
    /// The share of its distinct windows. Without samples it is what chunks alone let expect: their
    /// share, and half of the rest when that is large, since most of what they miss then lies
    /// beside small edits.
    fn windows(&self) -> f64 {
        let c = self.chunks;
        let expected = c + (1.0 - c) * 0.5 * c.sqrt();
        let count = self.samples.total as f64 + PRIOR_WEIGHT;
        (self.samples.shared as f64 + PRIOR_WEIGHT * expected) / count
    }

    /// From where to where it may lie.
    fn window_interval(&self) -> (f64, f64) {
        ends(self.samples.shared, self.samples.total)
    }

    /// The share covered of a file that shares these windows.
    fn covered(&self, windows: f64) -> f64 {
        // All windows of common chunks are shared, but for those over their ends.
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

    /// The containment by what is distinct.
    fn containment(&self) -> f64 {
        self.covered(self.windows())
    }

    /// The containment with what is said more than once.
    fn shown(&self) -> f64 {
        self.covered(self.repeated.mean(self.windows()))
    }

    /// From where to where that may lie.
    fn interval(&self) -> (f64, f64) {
        let (low, high) = self.window_interval();
        let low = self.repeated.least(low).max(self.proven);
        let low = self.grain.least(low, &self.samples, self.spacing);
        let high = self.grain.most(self.repeated.most(high), self.chunks);
        (low.max(self.proven), high)
    }
}
