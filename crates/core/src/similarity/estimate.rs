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
//! 4. **Too little evidence is none.** One common window is a phrase, a path, a line of a licence.
//!    A pair with fewer than two common fingerprints and no common chunk shares nothing (0). A file
//!    with fewer than two usable samples could never show more, so unless a chunk speaks for it
//!    nothing is said of it: `None`, as for files under 256 bytes.
//! 5. **Few samples are weighed down**, by half a sample of prior expectation: 2 of 2 is 80 %, 8 of
//!    8 is 94 %, 128 of 128 is 99.6 %, unless common chunks promise more. This ranks a scrap that
//!    shares one line below a file that shares pages.

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

/// Bytes of a word of text, with what separates it from the next.
const WORD: f64 = 6.0;

/// What is known of [`WORD`] beforehand is worth so many samples.
const PRIOR: f64 = 16.0;

/// Estimates the measures of a pair; the resemblance is that of the sets of 64-byte windows.
pub fn estimate(a: &Sketch<'_>, b: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    estimate_prepared(&a, &b, None, boilerplate)
}

/// As [`estimate`], of two texts: the resemblance is that of the sets of word-5-shingles.
pub fn estimate_texts(a: &Sketch<'_>, b: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    estimate_prepared(&a, &b, Some(Unit::Words), boilerplate)
}

/// The measures of contents that were made ready with the same boilerplate. `texts`: both are
/// texts, and their containments are shares of this.
pub fn estimate_prepared(
    a: &Prepared,
    b: &Prepared,
    texts: Option<Unit>,
    boilerplate: &dyn Boilerplate,
) -> Measures {
    let pair = PreparedPair::of(a, b, boilerplate);
    match texts {
        None => pair.measures(ResemblanceUnit::Windows, Unit::Bytes),
        Some(unit) => pair.measures(ResemblanceUnit::Words, unit),
    }
}

/// [`estimate_prepared`] with the intervals of all three measures, for what is shown: ten times the
/// work.
pub fn estimate_with_interval(
    a: &Prepared,
    b: &Prepared,
    texts: Option<Unit>,
    boilerplate: &dyn Boilerplate,
) -> Estimated {
    let pair = PreparedPair::of(a, b, boilerplate);
    match texts {
        None => pair.estimated(ResemblanceUnit::Windows, Unit::Bytes),
        Some(unit) => pair.estimated(ResemblanceUnit::Words, unit),
    }
}

/// What was sampled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResemblanceUnit {
    Windows,
    Words,
}

/// What two sketches have in common.
struct PreparedPair {
    /// Bytes of common chunks; `None`: there is none.
    proven: Option<ByteLen>,
    a: Side,
    b: Side,
}

/// The evidence as it lies in one of the files.
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
    /// Word-5-shingles.
    shingles: f64,
}

impl PreparedPair {
    fn of(a: &Prepared, b: &Prepared, boilerplate: &dyn Boilerplate) -> Self {
        let level = a.level.max(b.level);
        let (chunks, proven) = a.common_chunks(b, boilerplate);
        let samples = a.common_samples(b, level);
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
            proven,
            a: side(a, (in_a, chunks_a)),
            b: side(b, (in_b, chunks_b)),
        }
    }

    fn measures(&self, unit: ResemblanceUnit, containments: Unit) -> Measures {
        let Self { proven, a, b } = self;
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
            Some(side.shares(shared_bytes, unit))
        };
        let (of_a, of_b) = (shares(a), shares(b));
        let resemblance = match (of_a, of_b) {
            (None, None) => None,
            _ if unrelated => Some(0.0),
            (Some(of_a), Some(of_b)) if unit == ResemblanceUnit::Words => {
                let both = of_a.shingles * of_b.shingles;
                let union = of_a.shingles + of_b.shingles - both;
                Some(if union > 0.0 { both / union } else { 0.0 })
            }
            _ => {
                let union = a.samples.total + b.samples.missing();
                Some(a.samples.shared as f64 / union.max(1) as f64)
            }
        };
        let containment = |shares: Shares| match containments {
            Unit::Bytes => Score::new(shares.bytes),
            Unit::Words => Score::new(shares.words),
        };
        Measures {
            a_in_b: of_a.map(containment),
            b_in_a: of_b.map(containment),
            resemblance: resemblance.map(Score::new),
            shared_bytes,
        }
    }
}

impl PreparedPair {
    fn estimated(&self, unit: ResemblanceUnit, containments: Unit) -> Estimated {
        let Self { proven, a, b } = self;
        let mut measures = self.measures(unit, containments);
        let proven = proven.unwrap_or(ByteLen::ZERO);
        let mut interval = Interval::default();
        let sides = [
            (a, &mut measures.a_in_b, &mut interval.a_in_b),
            (b, &mut measures.b_in_a, &mut interval.b_in_a),
        ];
        for (side, share, interval) in sides {
            if let Some(share) = share {
                let repeated = side.repeated(unit);
                *share = Score::new(repeated.mean(share.get()));
                let outcomes = side.outcomes(proven, unit, containments);
                *interval = Some(repeated.spread(outcomes).interval());
            }
        }
        if let Some(share) = measures.resemblance {
            let (all, shared) = (
                a.samples.total + b.samples.missing(),
                a.samples.shared as f64,
            );
            let of = all.max(1) as f64 / (1.0 - 1.0 / a.spacing).max(0.05);
            // Both were looked at because of the samples that they share.
            let chosen = (share.get() - shared.min(1.0) / all.max(1) as f64).max(0.0);
            interval.resemblance = Some((
                Score::new(bound(chosen, of, -1.96)),
                Score::new(bound(share.get(), of, 1.96)),
            ));
        }
        Estimated { measures, interval }
    }
}

/// What a file says more than once, as a share of it: of that the samples, which are of distinct
/// pieces, know nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Repeated {
    share: f64,
    deviation: f64,
    /// [`Self::OF_WINDOWS`] or [`Self::OF_WORDS`].
    shared: &'static [(f64, f64)],
}

impl Repeated {
    /// How much of what is repeated is shared beyond the share of the rest, each with its weight:
    /// padding is in every binary, and what a file repeats is in whatever has a part of it.
    const OF_WINDOWS: &[(f64, f64)] = &[(1.0, 0.0), (2.0, 0.5), (3.0, 1.0)];

    /// The same of a text; below 0: less than of the rest, of which that is a part.
    const OF_WORDS: &[(f64, f64)] = &[(0.5, -1.0), (2.0, 0.0), (1.5, 0.5), (1.5, 1.0)];

    fn share_of_all(repeated: f64, share: f64, more: f64) -> f64 {
        let of = if more < 0.0 { share } else { 1.0 - share };
        share + repeated.clamp(0.0, 1.0) * of * more
    }

    /// What a share of what is distinct comes to.
    fn mean(self, share: f64) -> f64 {
        let all: f64 = self.shared.iter().map(|&(weight, _)| weight).sum();
        let of =
            |&(weight, more): &(f64, f64)| weight * Self::share_of_all(self.share, share, more);
        let sum: f64 = self.shared.iter().map(of).sum();
        if all > 0.0 { sum / all } else { share }
    }

    /// The same of what may be true.
    fn spread(self, outcomes: Outcomes) -> Outcomes {
        if self.share <= 0.0 && self.deviation <= 0.0 {
            return outcomes;
        }
        let mut spread = Outcomes::default();
        for (weight, share) in outcomes.thinned().0 {
            for &(of, more) in self.shared {
                for (errors, chance) in [(-1.2, 1.0), (0.0, 2.0), (1.2, 1.0)] {
                    let repeated = self.share + errors * self.deviation;
                    let all = Self::share_of_all(repeated, share, more);
                    spread.0.push((weight * of * chance, all));
                }
            }
        }
        spread
    }
}

impl Side {
    fn repeated(&self, unit: ResemblanceUnit) -> Repeated {
        if unit == ResemblanceUnit::Words {
            let share = self.repeats.map_or(0.0, Repeats::share);
            return Repeated {
                share,
                deviation: 0.0,
                shared: Repeated::OF_WORDS,
            };
        }
        let windows = (self.size.0 as f64 - WINDOW + 1.0).max(1.0);
        let (distinct, deviation) = self.distinct;
        let distinct = (distinct / windows).min(1.0);
        Repeated {
            share: 1.0 - distinct,
            deviation: distinct * deviation,
            shared: Repeated::OF_WINDOWS,
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

    fn shares(&self, proven: ByteLen, unit: ResemblanceUnit) -> Shares {
        self.of_evidence(proven, unit, |evidence, shares| shares(evidence.fit()))
    }

    fn outcomes(&self, proven: ByteLen, unit: ResemblanceUnit, containments: Unit) -> Outcomes {
        self.of_evidence(proven, unit, |evidence, shares| {
            let outcomes = evidence.outcomes().into_iter();
            let shares = outcomes.map(|(weight, fit)| match containments {
                Unit::Bytes => (weight, shares(fit).bytes),
                Unit::Words => (weight, shares(fit).words),
            });
            Outcomes(shares.collect())
        })
    }

    fn of_evidence<T>(
        &self,
        proven: ByteLen,
        unit: ResemblanceUnit,
        make: impl FnOnce(&Evidence<'_>, &dyn Fn(Fit) -> Shares) -> T,
    ) -> T {
        let size = self.size.0 as f64;
        let Self {
            samples,
            chunks,
            spacing,
            ..
        } = self;
        let (free, bytes, small) = match unit {
            ResemblanceUnit::Windows => (WINDOW - 1.0, 1.0, 0.0),
            ResemblanceUnit::Words => (Params::SHINGLE as f64 - 1.0, self.word(), 1.0),
        };
        let windows = (size / bytes - free).max(1.0);
        let evidence = Evidence {
            samples,
            chunks,
            spacing: *spacing,
            windows,
            free,
            unit: bytes,
            small,
        };
        let proven = (proven.0 as f64 / size).min(1.0);
        make(&evidence, &|Fit { missing, gaps }| {
            let uncovered = windows * (missing - gaps * free) * bytes;
            let of_words = 1.0 - uncovered / size;
            // Of texts what lies between two edits counts from 64 bytes on: with gaps at random, d
            // to a shared byte, the share of the bytes in runs of at least l is
            // (1 + d·l)·e^(-d·l).
            let uncovered = if unit == ResemblanceUnit::Words {
                let shared = (size - uncovered).max(0.0);
                let between = WINDOW * gaps * windows / shared.max(1.0);
                size - shared * (1.0 + between) * (-between).exp()
            } else {
                uncovered
            };
            Shares {
                bytes: (1.0 - uncovered / size).clamp(proven, 1.0),
                words: of_words.clamp(0.0, 1.0),
                shingles: (1.0 - missing).clamp(0.0, 1.0),
            }
        })
    }
}
