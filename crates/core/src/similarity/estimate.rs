//! The measures of a pair from what the index keeps of both files.
//!
//! 1. **A common level.** Samples of files of different sizes are compared at the greater of both
//!    levels, where both are complete. Boilerplate leaves numerator and denominator alike.
//! 2. **Containment** is meant of words in runs of at least five, or of bytes in runs of at least
//!    64, and estimated so: [`super::gaps`] has the derivation. In bytes it is never less than what
//!    common chunks prove, `shared_bytes / size`.
//! 3. **Resemblance** is shared / union. For sets of windows that is the plain (unbiased) ratio of
//!    the samples. For the word-5-shingles of two texts ([`estimate_texts`]) it follows from the
//!    same fit: if p and q are the shares of the shingles of one and of the other, it is
//!    1 / (1/p + 1/q - 1).
//!    Of a text and data chunks alone speak, and it follows from the shares of their windows.
//! 4. **Too little evidence is none.** One common window is a phrase, a path, a line of a licence.
//!    A pair with fewer than two common fingerprints and no common chunk shares nothing (0). A file
//!    with fewer than two usable samples could never show more, so unless a chunk speaks for it
//!    nothing is said of it: `None`, as for files under 256 bytes.
//! 5. **Few samples are weighed down**, by half a sample of prior expectation: 2 of 2 is 80 %, 8 of
//!    8 is 94 %, 128 of 128 is 99.6 %, unless common chunks promise more. This ranks a scrap that
//!    shares one line below a file that shares pages.

use crate::digest::ContentKind;
use crate::ids::{ByteLen, Score};
use crate::params::Params;
use crate::sample::Repeats;
use crate::similarity::chunks::Layout;
use crate::similarity::gaps::{Evidence, Fit};
use crate::similarity::interval::{Outcomes, bound};
use crate::similarity::pattern::Pattern;
use crate::similarity::prepared::Prepared;
use crate::similarity::{
    Boilerplate, Estimated, Interval, Measures, Sketch, Unit, WINDOW, too_small,
};

/// Fewest common fingerprints that are evidence without a common chunk.
const LEAST_SHARED: u64 = 2;

/// Fewer common samples than this are some because the pair was looked at for them.
const CHOSEN: u64 = 8;

/// How much less likely large gaps of windows are beforehand; of words it is 1. With 0, .3 and .6
/// the containments of a third of T14-1's modules in their next build are .013 too low, right, and
/// .017 too high; those of drawings .028 too low, .009 too low, and right.
const SMALL_WINDOWS: f64 = 0.3;

/// A text of which chunks are shared, but no sample of so many that these let expect, shares
/// markup: by chance that is so once in 150 times.
const EXPECTED: f64 = 5.0;

/// Bytes of a word of text, with what separates it from the next.
const WORD: f64 = 6.0;

/// What is known of [`WORD`] beforehand is worth so many samples.
const PRIOR: f64 = 16.0;

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
}

/// The measures of contents that were made ready with the same boilerplate.
pub fn estimate_prepared(
    a: &Prepared,
    b: &Prepared,
    compared: Compared,
    boilerplate: &dyn Boilerplate,
) -> Measures {
    PreparedPair::of(a, b, compared, boilerplate).measures()
}

/// [`estimate_prepared`] with the intervals of all three measures, for what is shown.
pub fn estimate_with_interval(
    a: &Prepared,
    b: &Prepared,
    compared: Compared,
    boilerplate: &dyn Boilerplate,
) -> Estimated {
    let pair = ShownEstimate::of(a, b, compared, boilerplate);
    Estimated {
        measures: pair.measures(),
        interval: pair.interval(),
    }
}

/// What is shown of a pair that is not read: what is said more than once has its part in it.
///
/// The measures are known at once. Their interval is ten times the work, and of most pairs that are
/// looked at nobody asks for it.
#[derive(Debug)]
pub struct ShownEstimate {
    pair: PreparedPair,
    measures: Measures,
}

impl ShownEstimate {
    /// Of contents that were made ready with the same boilerplate.
    pub fn of(
        a: &Prepared,
        b: &Prepared,
        compared: Compared,
        boilerplate: &dyn Boilerplate,
    ) -> Self {
        let pair = PreparedPair::of(a, b, compared, boilerplate);
        let measures = pair.shown();
        Self { pair, measures }
    }

    /// The estimates.
    pub const fn measures(&self) -> Measures {
        self.measures
    }

    /// From where to where they may be.
    pub fn interval(&self) -> Interval {
        self.pair.interval(&self.measures)
    }
}

/// What two sketches have in common.
#[derive(Debug)]
struct PreparedPair {
    compared: Compared,
    /// Bytes of common chunks; `None`: there is none.
    proven: Option<ByteLen>,
    a: Side,
    b: Side,
}

/// The evidence as it lies in one of the files.
#[derive(Debug)]
struct Side {
    size: ByteLen,
    /// Distinct windows, and their standard deviation as a share.
    distinct: (f64, f64),
    /// How much of a text is said more than once, if that is known.
    repeats: Option<Repeats>,
    /// Windows per sample.
    spacing: f64,
    samples: Pattern,
    chunks: Layout,
}

/// What a side's evidence comes to, in shares of the file.
#[derive(Clone, Copy, Default)]
struct Shares {
    /// Bytes in shared runs of at least 64 bytes.
    bytes: f64,
    /// Words in shared runs of at least five.
    words: f64,
    /// Word-5-shingles, or windows.
    pieces: f64,
}

impl Shares {
    fn containment(&self, compared: Compared) -> f64 {
        match compared {
            Compared::Texts(Unit::Words) => self.words,
            _ => self.bytes,
        }
    }
}

impl PreparedPair {
    fn of(a: &Prepared, b: &Prepared, compared: Compared, boilerplate: &dyn Boilerplate) -> Self {
        let level = a.level.max(b.level);
        let (chunks, proven) = a.common_chunks(b, boilerplate);
        let samples = match compared {
            Compared::TextAndData => Default::default(),
            _ => a.common_samples(b, level),
        };
        let side = |content: &Prepared, (samples, chunks): (Pattern, Layout)| Side {
            size: content.size,
            distinct: content.distinct(),
            repeats: content.repeats,
            spacing: 2f64.powi(i32::from(level)),
            samples,
            chunks,
        };
        let [in_a, in_b] = samples;
        let [chunks_a, chunks_b] = chunks;
        Self {
            compared,
            proven,
            a: side(a, (in_a, chunks_a)),
            b: side(b, (in_b, chunks_b)),
        }
    }

    fn measures(&self) -> Measures {
        let Self {
            compared,
            proven,
            a,
            b,
        } = self;
        let shared_bytes = proven.unwrap_or(ByteLen::ZERO);
        if too_small(a.size) || too_small(b.size) {
            return Measures {
                a_in_b: None,
                b_in_a: None,
                resemblance: None,
                shared_bytes,
            };
        }
        let unrelated = proven.is_none() && a.samples.shared < LEAST_SHARED;
        let shares = |side: &Side| {
            if unrelated {
                return (side.samples.total >= LEAST_SHARED).then(Shares::default);
            }
            Some(side.shares(shared_bytes, *compared))
        };
        let (of_a, of_b) = (shares(a), shares(b));
        let resemblance = match (of_a, of_b) {
            (None, None) => None,
            _ if unrelated => Some(0.0),
            (Some(of_a), Some(of_b)) if a.samples.total == 0 || compared.are_texts() => {
                Some(resemblance(self.pieces(a, of_a), self.pieces(b, of_b)))
            }
            _ => Some(self.ratio()),
        };
        let containment = |shares: Shares| Score::new(shares.containment(*compared));
        Measures {
            a_in_b: of_a.map(containment),
            b_in_a: of_b.map(containment),
            resemblance: resemblance.map(Score::new),
            shared_bytes,
        }
    }

    /// The share of the distinct pieces of a side. Samples are of these, chunks are of all.
    fn pieces(&self, side: &Side, shares: Shares) -> f64 {
        if self.compared == Compared::TextAndData {
            side.repeated(self.compared).distinct(shares.pieces)
        } else {
            shares.pieces
        }
    }

    /// How many samples both have together.
    const fn union(&self) -> u64 {
        self.a.samples.total + self.b.samples.missing()
    }

    /// The resemblance by samples alone.
    fn ratio(&self) -> f64 {
        self.a.samples.shared as f64 / self.union().max(1) as f64
    }

    /// The measures, with what the files say more than once.
    fn shown(&self) -> Measures {
        let measures = self.measures();
        let shown = |side: &Side, share: Option<Score>| {
            let repeated = side.repeated(self.compared);
            share.map(|share| Score::new(repeated.mean(share.get())))
        };
        Measures {
            a_in_b: shown(&self.a, measures.a_in_b),
            b_in_a: shown(&self.b, measures.b_in_a),
            ..measures
        }
    }

    /// Where these measures lie.
    fn interval(&self, measures: &Measures) -> Interval {
        let Self { proven, a, b, .. } = self;
        let proven = proven.unwrap_or(ByteLen::ZERO);
        let containment = |side: &Side| {
            let of = |shares: Shares| shares.containment(self.compared);
            let outcomes = side.outcomes(proven, self.compared, of);
            side.repeated(self.compared).spread(outcomes).interval()
        };
        let resemblance = |share: Score| {
            if a.samples.total > 0 {
                return self.of_ratio(share.get());
            }
            let pieces = |side: &Side| {
                let of = |shares: Shares| self.pieces(side, shares);
                side.outcomes(proven, self.compared, of).interval()
            };
            let (of_a, of_b) = (pieces(a), pieces(b));
            let end = |a: Score, b: Score| Score::new(resemblance(a.get(), b.get()));
            (end(of_a.0, of_b.0), end(of_a.1, of_b.1))
        };
        Interval {
            a_in_b: measures.a_in_b.map(|_| containment(a)),
            b_in_a: measures.b_in_a.map(|_| containment(b)),
            resemblance: measures.resemblance.map(resemblance),
        }
    }

    /// Where the resemblance lies by the samples of both, if this was estimated.
    ///
    /// The ratio of the samples has no bias, the estimate knows the chunks besides: what is between
    /// them is as sure as the ratio. If all samples are shared all may be.
    fn of_ratio(&self, estimated: f64) -> (Score, Score) {
        let (all, shared) = (self.union().max(1) as f64, self.a.samples.shared);
        let of = all / (1.0 - 1.0 / self.a.spacing).max(0.05);
        let middle = 0.5 * (estimated + self.ratio());
        let chosen = if (1..CHOSEN).contains(&shared) {
            (middle - 1.0 / all).max(0.0)
        } else {
            middle
        };
        let low = bound(chosen, of, -1.96).min(estimated);
        let high = if shared == self.union() {
            1.0
        } else {
            bound(middle, of, 1.96).max(estimated)
        };
        (Score::new(low), Score::new(high))
    }
}

/// The resemblance of two contents that share these parts of their pieces.
fn resemblance(of_a: f64, of_b: f64) -> f64 {
    let both = of_a * of_b;
    let union = of_a + of_b - both;
    if union > 0.0 { both / union } else { 0.0 }
}

/// What a file says more than once, as a share of it: of that the samples, which are of distinct
/// pieces, know nothing.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    share: f64,
    deviation: f64,
    said: Said,
}

/// What is said more than once.
#[derive(Clone, Copy, Debug, PartialEq)]
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

    /// How much of it is shared if so much is of the rest.
    fn likely(self, share: f64) -> f64 {
        match self.said {
            Said::Padding => share + Self::PADDING * (1.0 - share),
            Said::Places(places) => 1.0 - (1.0 - share).powf(places),
        }
    }

    /// What a share of what is distinct comes to.
    fn mean(self, share: f64) -> f64 {
        share + self.share * (self.likely(share) - share)
    }

    /// The share of what is distinct, if that of everything is this.
    fn distinct(self, share: f64) -> f64 {
        (share - self.share * (self.likely(share) - share)).clamp(0.0, 1.0)
    }

    /// The same of what may be true: what is repeated is one passage, which is shared or not, or
    /// many.
    fn spread(self, outcomes: Outcomes) -> Outcomes {
        if self.share <= 0.0 && self.deviation <= 0.0 {
            return outcomes;
        }
        let errors: &[(f64, f64)] = if self.deviation > 0.0 {
            &[(-1.2, 1.0), (0.0, 2.0), (1.2, 1.0)]
        } else {
            &[(0.0, 1.0)]
        };
        let mut spread = Outcomes::default();
        for (weight, share) in outcomes.thinned().0 {
            let likely = self.likely(share);
            let cases = match self.said {
                Said::Padding => [
                    (Self::PADDING, 1.0),
                    (1.0 - Self::PADDING, share),
                    (0.0, 0.0),
                ],
                Said::Places(_) => [(1.0, likely), (likely, 1.0), (1.0 - likely, 0.0)],
            };
            for (chance, shared) in cases {
                for &(error, by_chance) in errors {
                    let repeated = (self.share + error * self.deviation).clamp(0.0, 1.0);
                    let all = share + repeated * (shared - share);
                    spread.0.push((weight * chance * by_chance, all));
                }
            }
        }
        spread
    }
}

impl Side {
    fn repeated(&self, compared: Compared) -> Repeated {
        if compared.are_texts() || self.repeats.is_some() {
            return Repeated {
                share: self.repeats.map_or(0.0, Repeats::share),
                deviation: 0.0,
                said: if compared.are_texts() {
                    Repeated::OF_WORDS
                } else {
                    Repeated::OF_WINDOWS
                },
            };
        }
        let windows = (self.size.0 as f64 - WINDOW + 1.0).max(1.0);
        let (distinct, deviation) = self.distinct;
        let distinct = (distinct / windows).min(1.0);
        Repeated {
            share: 1.0 - distinct,
            deviation: distinct * deviation,
            said: if compared == Compared::Binaries {
                Said::Padding
            } else {
                Repeated::OF_WINDOWS
            },
        }
    }

    /// Bytes of a word with what separates it from the next.
    fn word(&self) -> f64 {
        let Some(repeats) = self.repeats else {
            return WORD;
        };
        let (distinct, deviation) = self.distinct;
        let words = distinct / (1.0 - repeats.share()).max(0.01) + 4.0;
        let sampled = 1.0 / (deviation * deviation).max(1e-3);
        let by_samples = (self.size.0 as f64 / words.max(1.0)).clamp(1.0, 1000.0);
        let log = (sampled * by_samples.ln() + PRIOR * WORD.ln()) / (sampled + PRIOR);
        log.exp()
    }

    fn shares(&self, proven: ByteLen, compared: Compared) -> Shares {
        self.of_evidence(proven, compared, |evidence, shares| shares(evidence.fit()))
    }

    /// What may be true of one of the shares.
    fn outcomes(
        &self,
        proven: ByteLen,
        compared: Compared,
        of: impl Fn(Shares) -> f64,
    ) -> Outcomes {
        self.of_evidence(proven, compared, |evidence, shares| {
            let outcomes = evidence.outcomes().into_iter();
            let shares = outcomes.map(|(weight, fit)| (weight, of(shares(fit))));
            Outcomes(shares.collect())
        })
    }

    fn of_evidence<T>(
        &self,
        proven: ByteLen,
        compared: Compared,
        make: impl FnOnce(&Evidence<'_>, &dyn Fn(Fit) -> Shares) -> T,
    ) -> T {
        let size = self.size.0 as f64;
        let Self {
            samples,
            chunks,
            spacing,
            ..
        } = self;
        let (free, bytes, small) = if compared.are_texts() {
            (Params::SHINGLE as f64 - 1.0, self.word(), 1.0)
        } else {
            (WINDOW - 1.0, 1.0, SMALL_WINDOWS)
        };
        let windows = (size / bytes - free).max(1.0);
        let markup = Layout::default();
        let expected = chunks.share() * samples.total as f64;
        let is_markup = compared.are_texts() && samples.shared == 0 && expected >= EXPECTED;
        let evidence = Evidence {
            samples,
            chunks: if is_markup { &markup } else { chunks },
            spacing: *spacing,
            windows,
            free,
            unit: bytes,
            small,
            is_text: compared.are_texts(),
        };
        let proven = (proven.0 as f64 / size).min(1.0);
        make(&evidence, &|Fit { missing, gaps }| {
            let uncovered = windows * (missing - gaps * free) * bytes;
            let of_words = 1.0 - uncovered / size;
            // Of texts what lies between two edits counts from 64 bytes on: with gaps at random, d
            // to a shared byte, the share of the bytes in runs of at least l is
            // (1 + d·l)·e^(-d·l).
            let uncovered = if compared.are_texts() {
                let shared = (size - uncovered).max(0.0);
                let between = WINDOW * gaps * windows / shared.max(1.0);
                size - shared * (1.0 + between) * (-between).exp()
            } else {
                uncovered
            };
            Shares {
                bytes: (1.0 - uncovered / size).clamp(proven, 1.0),
                words: of_words.clamp(0.0, 1.0),
                pieces: (1.0 - missing).clamp(0.0, 1.0),
            }
        })
    }
}
