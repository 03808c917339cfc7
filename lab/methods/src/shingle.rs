//! Broder's sketches of word shingles: `MOD_m`, `MIN_s` and `V_i`.
//!
//! **Paper.** Broder, Glassman, Manasse & Zweig 1997, "Defining similarity" and "Estimating the
//! resemblance and the containment". A document is the set S(D, w) of its runs of w words (w = 10),
//! without markup and in lower case. Each run has a value of 40 bits, to which a permutation π is
//! applied ([`crate::rabin40`]). A sketch keeps some of these values:
//!
//! * **`MOD_m`** ([`Sample::Mod`]) keeps the values that m divides (25 in the paper). The
//!   resemblance is the number of common values divided by the number of all values in the samples.
//!   The containment is the share of A's sample that is common.
//! * **`MIN_s`** ([`Sample::Min`]) keeps the s smallest values. For the resemblance, the s smallest
//!   values of the union of both samples are taken. The resemblance is the share of them that is in
//!   both samples. The containment is **refused**.
//! * **`V_i`** ([`Sample::Sizes`]) keeps the values that 2^i divides, where i depends on the length
//!   of the document. The measures are those of `MOD`, at the modulus of the longer document.
//!
//! **Choices.**
//!
//! 1. *`V_i`, as the paper prints it, does not keep 50 to 100 values.* The paper says: "For
//!    documents that have size between 100·2^i and 100·2^(i+1) we store `MOD_{2^i}`; the expected
//!    size is always between 50 and 100". But 100·2^i / 2^i is 100. This module follows the
//!    formula, so it keeps 100 to 200 values. The formula defines the classes, and larger samples
//!    make smaller errors. `Sizes(50)` keeps 50 to 100 values. Documents shorter than the first
//!    class keep all shingles.
//! 2. *The size is counted in shingles, including repeated ones.* So the size is known without
//!    storing shingles, memory is bounded by the sample, and a class depends only on the document.
//! 3. *Documents of different lengths.* `V_{i+1}` consists of the values in `V_i` that 2^(i+1)
//!    divides. So the sample of the shorter document is filtered by the modulus of the longer one.
//!    The result is exactly the sample that this modulus would have kept.
//! 4. *Intervals.* The permutation is random, so whether a common shingle is in a sample does not
//!    depend on its place. So a ratio of sampled counts is a binomial share, for which Wilson's
//!    interval is valid ([`resemble_core::similarity::wilson`]).
//! 5. *Ignored shingles* ("we ignore all very common shingles") are left out of both documents, not
//!    only of the common part. According to the paper, ignoring them has "no effect on the overall
//!    resemblance", but they would affect a denominator. A `MIN_s` from which c shingles were left
//!    out is a `MIN_{s-c}`.

use std::fmt;
use std::sync::Arc;

use crate::judged::{Judged, Overlap};
use crate::rabin40::{Permutation, Runs};
use crate::shingles::mix;
use crate::signature::{Form, MethodSignature};
use resemble_core::similarity::wilson;
use resemble_core::words::WordHashes;

/// The paper's w: the number of words in a shingle.
pub const WORDS: u32 = 10;

/// The paper's m: the modulus of `MOD_m`.
pub const MODULUS: u32 = 25;

/// A secret that determines the permutation. The text of the secret is never printed. Only
/// [`Seed::id`] is printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed {
    text: String,
    id: String,
    numbers: [u64; 6],
}

impl Seed {
    /// Creates a seed from a text. The text should be hard to guess, because anyone who knows the
    /// id can check a guess.
    pub fn new(text: &str) -> Self {
        let mut key = [0; 48];
        let mut hasher = blake3::Hasher::new_derive_key("resemble 2026 permutation of shingles");
        hasher.update(text.as_bytes());
        hasher.finalize_xof().fill(&mut key);
        let mut numbers = [0; 6];
        for (number, bytes) in numbers.iter_mut().zip(key.as_chunks().0) {
            *number = u64::from_le_bytes(*bytes);
        }
        let name = blake3::derive_key("resemble 2026 name of a seed of shingles", text.as_bytes());
        let id = u64::from_be_bytes(*name.first_chunk().unwrap_or(&[0; 8]));
        let id = format!("{id:016x}");
        Self {
            text: text.to_owned(),
            id,
            numbers,
        }
    }

    /// Returns the name of the seed in params ids: 16 hex digits that do not reveal the secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the secret, for processes that must make the same values.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Returns whether two params ids differ only in their seeds.
    pub fn alone_differs(one: &str, other: &str) -> bool {
        let without = |id: &str| -> Vec<String> {
            let parts = id.split('.').filter(|part| !part.starts_with("seed-"));
            parts.map(str::to_owned).collect()
        };
        one != other && without(one) == without(other)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed({})", self.id)
    }
}

/// The rule that determines which shingles of a document are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sample {
    /// Keeps the values that this number divides.
    Mod(u32),
    /// Keeps the smallest values, at most this number of them.
    Min(u32),
    /// Keeps the values that 2^i divides if a document has k · 2^i to k · 2^(i+1) shingles, where k
    /// is this number.
    Sizes(u32),
}

/// The parameters of a sketch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShingleParams {
    /// The number of words of a shingle.
    pub words: u32,
    /// The rule that determines which shingles are kept.
    pub sample: Sample,
    /// The secret that determines the permutation, if there is one.
    pub seed: Option<Arc<Seed>>,
}

impl Default for ShingleParams {
    fn default() -> Self {
        Self {
            words: WORDS,
            sample: Sample::Mod(MODULUS),
            seed: None,
        }
    }
}

impl ShingleParams {
    /// Returns the permutation of the values.
    pub fn permutation(&self) -> Permutation {
        self.seed
            .as_ref()
            .map_or_else(Permutation::default, |seed| Permutation::new(seed.numbers))
    }
}

/// Computes the shingles of a text that is passed in pieces of any size. The shingles are in the
/// order of the text, and repeated shingles are included.
#[derive(Clone, Debug)]
pub struct Shingling {
    words: WordHashes,
    runs: Runs,
    all: AllWords,
}

impl Shingling {
    /// Begins the first text.
    pub fn new(params: &ShingleParams) -> Self {
        Self {
            words: WordHashes::default(),
            runs: Runs::new(params.words as usize, params.permutation()),
            all: AllWords::default(),
        }
    }

    /// Adds the next bytes. `sink` receives the shingles that are complete.
    pub fn update(&mut self, bytes: &[u8], mut sink: impl FnMut(u64)) {
        let (runs, all) = (&mut self.runs, &mut self.all);
        self.words.update(bytes, &mut |word| {
            all.push(word);
            if let Some(shingle) = runs.push(word) {
                sink(shingle);
            }
        });
    }

    /// Ends the text. `sink` receives the last shingles. The next bytes begin another text.
    ///
    /// Returns a digest of the words of the text in their order. Lexically equivalent texts have
    /// the same digest. The digest of a text without words is zero.
    pub fn finish(&mut self, mut sink: impl FnMut(u64)) -> [u8; 16] {
        let (runs, all) = (&mut self.runs, &mut self.all);
        self.words.finish(&mut |word| {
            all.push(word);
            if let Some(shingle) = runs.push(word) {
                sink(shingle);
            }
        });
        self.runs.reset();
        std::mem::take(&mut self.all).name()
    }
}

/// Computes a digest of all words of a text, from two chains of the words' hashes.
#[derive(Clone, Copy, Debug, Default)]
struct AllWords {
    chains: [u64; 2],
    words: u64,
}

impl AllWords {
    #[inline]
    const fn push(&mut self, word: u64) {
        let [one, other] = self.chains;
        self.chains = [
            one.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(word),
            (other ^ word)
                .rotate_left(23)
                .wrapping_mul(0x9fb2_1c65_1e98_df25),
        ];
        self.words += 1;
    }

    fn name(self) -> [u8; 16] {
        let mut name = [0; 16];
        if self.words > 0 {
            name[..8].copy_from_slice(&mix(self.chains[0] ^ self.words).to_le_bytes());
            name[8..].copy_from_slice(&mix(self.chains[1]).to_le_bytes());
        }
        name
    }
}

/// Returns the words of these shingles in a text, in lower case with blanks between them. Shingles
/// that the text does not have are left out.
///
/// This function is used to show the most frequent shingles to people. [`resemble_core::words`]
/// cuts a very long word into pieces. Here, such a word is shown once, in one piece.
pub fn wording(params: &ShingleParams, bytes: &[u8], wanted: &[u64]) -> Vec<(u64, String)> {
    let text = resemble_core::words::canonical(bytes);
    let mut words: Vec<&[u8]> = Vec::new();
    let mut hashes = WordHashes::default();
    for word in text
        .split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty())
    {
        let from = words.len();
        hashes.update(word, &mut |_| words.push(&[]));
        hashes.finish(&mut |_| words.push(&[]));
        // If a very long word is cut into pieces, the first piece shows the whole word and the
        // others show nothing.
        if let Some(first) = words.get_mut(from) {
            *first = word;
        }
    }
    let mut all = Vec::new();
    let mut shingling = Shingling::new(params);
    shingling.update(bytes, |shingle| all.push(shingle));
    shingling.finish(|shingle| all.push(shingle));
    if all.len() + params.words as usize != words.len() + 1 {
        return Vec::new();
    }
    let found = wanted.iter().filter_map(|shingle| {
        let at = all.iter().position(|other| other == shingle)?;
        let run = words[at..at + params.words as usize].iter();
        let run: Vec<&[u8]> = run.copied().filter(|word| !word.is_empty()).collect();
        let run = run.join(&b' ');
        Some((*shingle, String::from_utf8_lossy(&run).into_owned()))
    });
    found.collect()
}

/// Collects the sample `V_i` of shingles that come one by one.
#[derive(Clone, Debug)]
pub(crate) struct Sized {
    least: u64,
    seen: u64,
    level: u8,
    kept: Vec<u64>,
    room: usize,
}

impl Sized {
    /// The number of entries up to which no entries are removed.
    const ROOM: usize = 1 << 12;

    pub(crate) const fn new(least: u32) -> Self {
        Self {
            least: least as u64,
            seen: 0,
            level: 0,
            kept: Vec::new(),
            room: Self::ROOM,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: u64) {
        self.seen = self.seen.saturating_add(1);
        if self.seen >> self.level >= 2 * self.least {
            self.level += 1;
        }
        if divides(self.level, value) {
            self.kept.push(value);
            if self.kept.len() >= self.room {
                self.compact();
            }
        }
    }

    fn compact(&mut self) {
        let level = self.level;
        self.kept.retain(|&value| divides(level, value));
        self.kept.sort_unstable();
        self.kept.dedup();
        self.room = Self::ROOM.max(2 * self.kept.len());
    }

    /// Returns the level and the values, and begins again without values.
    pub(crate) fn take(&mut self) -> (u8, Vec<u64>) {
        self.compact();
        let level = self.level;
        (self.seen, self.level, self.room) = (0, 0, Self::ROOM);
        (level, std::mem::take(&mut self.kept))
    }
}

/// Returns whether 2^`level` divides a value.
#[inline]
pub(crate) const fn divides(level: u8, value: u64) -> bool {
    value.trailing_zeros() >= level as u32
}

/// An estimated share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The share. It is [`Judged::TooSmall`] if nothing was sampled.
    pub value: Judged,
    /// The lower end of an interval. In 19 of 20 cases, the interval contains the true share.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The number of shingles in the denominator of the share.
    pub samples: u64,
}

impl Estimate {
    fn of(part: u64, whole: u64) -> Self {
        let value = Judged::ratio(part, whole);
        let (low, high) = wilson(value.value().unwrap_or(0.0), whole as f64, 1.96);
        Self {
            value,
            low,
            high,
            samples: whole,
        }
    }
}

/// The estimates that two sketches give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    /// The resemblance: the number of common shingles divided by the number of all shingles of the
    /// documents.
    pub resemblance: Estimate,
    /// The share of `a` that is in `b`. It is `None` for `MIN_s`.
    pub a_in_b: Option<Estimate>,
    /// The share of `b` that is in `a`. It is `None` for `MIN_s`.
    pub b_in_a: Option<Estimate>,
    /// The number of sampled shingles that both documents have. With `V_i`, they are counted at the
    /// modulus of the longer document. With `MIN_s`, they are counted among the *s* smallest values
    /// of the union of both sketches.
    pub common: u64,
}

/// Returns the estimates from two sketches with these parameters. Returns `None` if the signatures
/// are not such sketches. The shingles in `ignored` are left out of both sketches. They must be in
/// ascending order.
pub fn estimates(
    sample: Sample,
    a: &MethodSignature,
    b: &MethodSignature,
    ignored: &[u64],
) -> Option<Estimates> {
    let ((level_a, a), (level_b, b)) = (sketch(a)?, sketch(b)?);
    let level = level_a.max(level_b);
    let is_left = |value: &u64| divides(level, *value) && ignored.binary_search(value).is_err();
    let left = |values: &[u64]| -> Vec<u64> { values.iter().copied().filter(is_left).collect() };
    let (of_a, of_b) = (left(a), left(b));
    if let Sample::Min(most) = sample {
        let gone = (a.len() - of_a.len()).max(b.len() - of_b.len());
        let most = (most as usize).saturating_sub(gone);
        let (common, union) = least_of_both(&of_a, &of_b, most);
        return Some(Estimates {
            resemblance: Estimate::of(common, union),
            a_in_b: None,
            b_in_a: None,
            common,
        });
    }
    let overlap = Overlap::of_sets(&of_a, &of_b);
    Some(of_overlap(overlap))
}

/// Returns the estimates from counts, for callers that have counted in another way.
pub fn of_overlap(overlap: Overlap) -> Estimates {
    let Overlap { common, a, b } = overlap;
    Estimates {
        resemblance: Estimate::of(common, (a + b).saturating_sub(common)),
        a_in_b: Some(Estimate::of(common, a)),
        b_in_a: Some(Estimate::of(common, b)),
        common,
    }
}

/// Goes through the `most` smallest values of the union of the lists. Returns the number of these
/// values that are in both lists, and the number of all these values.
fn least_of_both(a: &[u64], b: &[u64], most: usize) -> (u64, u64) {
    let (mut i, mut j, mut common, mut union) = (0, 0, 0, 0);
    while union < most as u64 && (i < a.len() || j < b.len()) {
        let least = match (a.get(i), b.get(j)) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&only), None) | (None, Some(&only)) => only,
            (None, None) => break,
        };
        let (in_a, in_b) = (a.get(i) == Some(&least), b.get(j) == Some(&least));
        i += usize::from(in_a);
        j += usize::from(in_b);
        common += u64::from(in_a && in_b);
        union += 1;
    }
    (common, union)
}

/// Returns the level and the ascending values of a sketch. Returns `None` if the signature is not a
/// sketch.
pub fn sketch(signature: &MethodSignature) -> Option<(u8, &[u64])> {
    match &signature.0 {
        Form::Set(values) => Some((0, values)),
        Form::Sized { level, values } => Some((*level, values)),
        Form::Super { shingles, .. } => Some((0, shingles)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "shingle_tests.rs"]
mod tests;
