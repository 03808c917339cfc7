//! The measures of a pair from what the index keeps of both files.
//!
//! 1. **A common level.** Samples of files of different sizes are compared at the greater of both
//!    levels, where both are complete. Boilerplate leaves numerator and denominator alike.
//! 2. **Containment** is meant of words in runs of at least five, or of bytes in runs of at least
//!    64, and estimated so: [`super::gaps`] has the derivation. In bytes it is never less than what
//!    common chunks prove, `shared_bytes / size`.
//! 3. **Resemblance** is shared / union. For sets of windows that is the plain (unbiased) ratio of
//!    the samples. For the word-5-shingles of two texts ([`estimate_texts`]) it follows from the
//!    same fit: a gap of g windows spoils the shingles of about g - 63 + 27 bytes, the bytes edited
//!    and four to five words around them; each shingle stands for as many bytes in either file.
//! 4. **Too little evidence is none.** One common window is a phrase, a path, a line of a licence.
//!    A pair with fewer than two common fingerprints and no common chunk shares nothing (0). A file
//!    with fewer than two usable samples could never show more, so unless a chunk speaks for it
//!    nothing is said of it: `None`, as for files under 256 bytes.
//! 5. **Few samples are weighed down**, by half a sample of prior expectation: 2 of 2 is 80 %, 8 of
//!    8 is 94 %, 128 of 128 is 99.6 %, unless common chunks promise more. This ranks a scrap that
//!    shares one line below a file that shares pages.

use crate::ids::{ByteLen, Score};
use crate::params::Params;
use crate::similarity::chunks::Layout;
use crate::similarity::gaps::{Evidence, Fit};
use crate::similarity::pattern::Pattern;
use crate::similarity::prepared::Prepared;
use crate::similarity::{Boilerplate, Measures, Sketch, Unit, WINDOW, too_small};

/// Fewest common fingerprints that are evidence without a common chunk.
const LEAST_SHARED: u64 = 2;

/// Bytes of a word of text, with what separates it from the next.
const WORD: f64 = 6.0;

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
                let sizes = [a.size.0 as f64, b.size.0 as f64];
                let shared = 0.5 * (of_a.shingles * sizes[0] + of_b.shingles * sizes[1]);
                let shared = shared.min(sizes[0]).min(sizes[1]);
                Some(shared / (sizes[0] + sizes[1] - shared))
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

impl Side {
    fn shares(&self, proven: ByteLen, unit: ResemblanceUnit) -> Shares {
        let size = self.size.0 as f64;
        let Self {
            samples,
            chunks,
            spacing,
            ..
        } = self;
        let (free, bytes, small) = match unit {
            ResemblanceUnit::Windows => (WINDOW - 1.0, 1.0, 0.0),
            ResemblanceUnit::Words => (Params::SHINGLE as f64 - 1.0, WORD, 1.0),
        };
        let windows = (size / bytes - free).max(1.0);
        let Fit { missing, gaps, .. } = Evidence {
            samples,
            chunks,
            spacing: *spacing,
            windows,
            free,
            unit: bytes,
            small,
        }
        .fit();
        let uncovered = windows * (missing - gaps * free) * bytes;
        let of_words = 1.0 - uncovered / size;
        // Of texts what lies between two edits counts from 64 bytes on: with gaps at random, d to a
        // shared byte, the share of the bytes in runs of at least l is (1 + d·l)·e^(-d·l).
        let uncovered = if unit == ResemblanceUnit::Words {
            let shared = (size - uncovered).max(0.0);
            let between = WINDOW * gaps * windows / shared.max(1.0);
            size - shared * (1.0 + between) * (-between).exp()
        } else {
            uncovered
        };
        let proven = (proven.0 as f64 / size).min(1.0);
        Shares {
            bytes: (1.0 - uncovered / size).clamp(proven, 1.0),
            words: of_words.clamp(0.0, 1.0),
            shingles: (1.0 - missing).clamp(0.0, 1.0),
        }
    }
}
