//! The parameters on which an index depends, and the id that names all of them.
//!
//! An index stores the id that it was built with. If the program has other parameters, it builds
//! the index anew. Digests of different parameters are never mixed.

use std::fmt;

use resemble_kernels::rolling::{self, Scanner};
use resemble_kernels::shingles;

use crate::ids::{ByteLen, Fingerprint};

/// The minimum size of a file that is judged. A smaller file has too few windows, and its estimate
/// of 0 or 100 % would mislead.
pub const LEAST_JUDGED: ByteLen = ByteLen(256);

/// The parameters of chunking and sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Cut-point parameters of TTTD.
    pub chunk: ChunkParams,
    /// Sampling of window fingerprints, for contents that are not text.
    pub sampling: SamplingParams,
    /// Sampling of the word shingles of texts for the signature, which is stored for each text.
    pub shingles: SamplingParams,
    /// Sampling of the word shingles that get posting lists, by which texts are found. These
    /// samples are at least as dense as the signature.
    pub posted: SamplingParams,
}

/// The thresholds and divisors of TTTD (Eshghi & Tang, HPL-2005-30R1, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkParams {
    /// Tmin: no cut point before this many bytes.
    pub min: u32,
    /// Tmax: a cut at the latest after this many bytes.
    pub max: u32,
    /// D: the main divisor; always 2·D'.
    pub main_divisor: u32,
    /// D': the backup divisor.
    pub backup_divisor: u32,
}

impl ChunkParams {
    /// The paper's optimum: 460, 2800, 540, 270. In the paper's data, a chunk then has 1015 bytes
    /// on average.
    pub const PAPER: Self = Self {
        min: 460,
        max: 2800,
        main_divisor: 540,
        backup_divisor: 270,
    };
    /// The average chunk size of [`Self::PAPER`] according to the paper.
    pub const PAPER_AVERAGE: u32 = 1015;
    /// The smallest average that is allowed. Its Tmin (66) must exceed the hash window (64 bytes).
    pub const LEAST_AVERAGE: u32 = 145;
    /// The largest average that is allowed.
    pub const GREATEST_AVERAGE: u32 = 16 << 20;

    /// Scales the paper's parameters to another average chunk size in bytes.
    ///
    /// D' is rounded first and D is 2·D', so that every position that matches D matches D', too.
    /// Averages of 1, 4 and 16 KiB would break this rule if D and D' were rounded separately.
    /// Returns `None` outside [`Self::LEAST_AVERAGE`]..=[`Self::GREATEST_AVERAGE`].
    pub fn scaled(average: u32) -> Option<Self> {
        if !(Self::LEAST_AVERAGE..=Self::GREATEST_AVERAGE).contains(&average) {
            return None;
        }
        let scale = |n: u32| {
            let (n, average, paper) = (
                u64::from(n),
                u64::from(average),
                u64::from(Self::PAPER_AVERAGE),
            );
            ((n * average + paper / 2) / paper) as u32
        };
        let backup_divisor = scale(Self::PAPER.backup_divisor);
        Some(Self {
            min: scale(Self::PAPER.min),
            max: scale(Self::PAPER.max),
            main_divisor: 2 * backup_divisor,
            backup_divisor,
        })
    }
}

/// The density of the sampled fingerprints of a content. `docs/decisions/0003-window-and-rate.md`
/// has the choice and its curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplingParams {
    /// A file keeps one window in 2^`least_level` or fewer.
    pub least_level: u8,
    /// The maximum number of distinct fingerprints of a file at `least_level`; a file with more has
    /// a greater level.
    pub few: u32,
    /// The maximum number of distinct fingerprints of a file. If there are more, the level rises
    /// step by step until they fit; each step halves the rate. With a cap of 0, nothing is sampled,
    /// and no window or shingle is examined.
    pub cap: u32,
}

/// Every byte of a UTF-8 character after its first byte *continues* a letter. A text may keep one
/// sample for every 40 of these bytes, if the number is more than `few`
/// ([`SamplingParams::of_text`]). In Russian, 46 bytes of 100 continue a letter. At level 3, there
/// is one sample for every 111 bytes of Russian.
const CONTINUED: u64 = 40;

impl SamplingParams {
    /// Samples nothing.
    pub const NOTHING: Self = Self::at(Fingerprint::BASE_LEVEL, 0);

    /// Returns a sampling that keeps one window in 2^`least_level` or fewer, and at most `cap` of a
    /// file.
    pub const fn at(least_level: u8, cap: u32) -> Self {
        Self {
            least_level,
            few: cap,
            cap,
        }
    }

    /// Returns the sampling of a text whose number of UTF-8 continuation bytes is not known yet. It
    /// keeps at least as many samples as [`Self::of_text`] does for any number.
    #[must_use]
    pub const fn of_any_text(self) -> Self {
        Self {
            few: self.cap,
            ..self
        }
    }

    /// Returns the sampling of a text in which `continued` bytes continue a UTF-8 character.
    ///
    /// A letter beyond ASCII has two bytes or more. So 500 bytes of such letters have half as many
    /// words as 500 bytes of ASCII. So a text of such letters may keep more samples at the least
    /// level: one for every `CONTINUED` (40) of these bytes, if the number is more than `few`, and
    /// at most `cap`. For its size, the text then costs no more than an ASCII text.
    #[must_use]
    pub const fn of_text(self, continued: u64) -> Self {
        let few = continued / CONTINUED;
        let few = if few > self.few as u64 {
            few
        } else {
            self.few as u64
        };
        let few = if few > self.cap as u64 {
            self.cap as u64
        } else {
            few
        };
        Self {
            few: few as u32,
            ..self
        }
    }

    /// Returns the maximum number of fingerprints of a file at a level.
    pub const fn most(&self, level: u8) -> usize {
        let most = if level <= self.least_level && self.few < self.cap {
            self.few
        } else {
            self.cap
        };
        most as usize
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            chunk: ChunkParams::PAPER,
            sampling: SamplingParams::at(5, 128),
            shingles: SamplingParams {
                least_level: 3,
                few: 64,
                cap: 96,
            },
            posted: SamplingParams {
                least_level: 3,
                few: 1408,
                cap: 1 << 17,
            },
        }
    }
}

impl Params {
    /// The number of bytes of the rolling window. One pass over the windows serves both cut points
    /// and fingerprints.
    pub const WINDOW: usize = rolling::WINDOW;
    /// The number of words in a shingle: w of Broder 1997, section 2. The paper uses 10 for web
    /// pages, and allows any w.
    pub const SHINGLE: usize = shingles::SHINGLE;

    /// Returns a scanner for the cut points and the samples of the least level.
    pub fn scanner(&self) -> Scanner {
        Scanner::new(self.chunk.backup_divisor, self.sampling.least_level)
    }
}

/// Prints the params id, e.g. `tttd-460-2800-540-270.w64-l5-128-128.s5-l3-64-96.p3-1408-131072.v9`.
/// The id is stable, and differs whenever any byte of a digest could differ. `v9` is the version of
/// everything else that a digest depends on, such as words and hash tables.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChunkParams {
            min,
            max,
            main_divisor,
            backup_divisor,
        } = self.chunk;
        let sampling = |of: SamplingParams| format!("{}-{}-{}", of.least_level, of.few, of.cap);
        write!(
            f,
            "tttd-{min}-{max}-{main_divisor}-{backup_divisor}.w{}-l{}.s{}-l{}.p{}.v9",
            Self::WINDOW,
            sampling(self.sampling),
            Self::SHINGLE,
            sampling(self.shingles),
            sampling(self.posted),
        )
    }
}
