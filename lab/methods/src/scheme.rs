//! The parameters of the methods.
//!
//! Two signatures are compared only if their parameters have the same params id ([`MethodParams`]'s
//! `Display`).

use std::sync::Arc;

use thiserror::Error;

use crate::anchors::{AnchorError, AnchorParams, Anchors};
use crate::canonical::Canonical;
use crate::chunked::{self, SlidingWindow};
use crate::method::{Measure, Method, Refused, UnknownMethod};
use crate::shingle::{MODULUS, Sample, Seed, ShingleParams, WORDS};
use crate::sif::SifParams;
use crate::sorted5::{self, ChunkHashing, Sorted5Params};
use crate::super_shingle::{DEFAULT_LENGTH, SuperParams};
use crate::vocabulary::{Dictionary, Language, Lemmas, UnknownLanguage, Vocabulary};
use resemble_core::params::ChunkParams;

/// The reason why parameters cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// No method has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownMethod),
    /// The method does not have this parameter.
    #[error("{method} has no parameter {parameter}; it has {}", method.parameters().join(", "))]
    NotTaken {
        /// The method.
        method: Method,
        /// The name of the parameter.
        parameter: &'static str,
    },
    /// The value of a parameter is outside its range.
    #[error("{parameter} {value} is not between {least} and {most}, which {method} needs")]
    OutOfRange {
        /// The method.
        method: Method,
        /// The name of the parameter.
        parameter: &'static str,
        /// The value that is not allowed.
        value: u64,
        /// The smallest allowed value.
        least: u64,
        /// The greatest allowed value.
        most: u64,
    },
    /// Two parameters exclude each other.
    #[error("{method} takes either {one} or {other}, not both")]
    Both {
        /// The method.
        method: Method,
        /// The name of the first parameter.
        one: &'static str,
        /// The name of the second parameter.
        other: &'static str,
    },
    /// The rate of sif is not a power of two.
    #[error("sif keeps one fingerprint in a power of two: {value} is not one; try 128, 256 or 512")]
    NoPowerOfTwo {
        /// The value that is not allowed.
        value: u64,
    },
    /// The multiplier of sif is not a prime that is 5 modulo 8 and below 2^32.
    #[error(
        "{value} cannot be the multiplier of sif, which is a prime, 5 modulo 8 and below 2^32 (7 \
         modulo 8 always keeps 50 blanks, 3 and 7 keep 50 @)"
    )]
    Multiplier {
        /// The value that is not allowed.
        value: u64,
    },
    /// The anchors cannot be used.
    #[error(transparent)]
    Anchors(#[from] AnchorError),
    /// The supplied anchors are not those of the params id.
    #[error("these signatures were made with the anchors {wanted}; give the same anchors again")]
    OtherAnchors {
        /// The id of the anchors that are needed.
        wanted: String,
    },
    /// The supplied seed is not that of the params id.
    #[error(
        "these signatures were made with the seed {wanted}, which is not the one given; give the \
         same --seed again"
    )]
    OtherSeed {
        /// The id of the seed that is needed, or `none`.
        wanted: String,
    },
    /// No hash has this name.
    #[error(transparent)]
    Hash(#[from] sorted5::UnknownHash),
    /// There is no stemmer for this language.
    #[error(transparent)]
    Language(#[from] UnknownLanguage),
    /// The supplied dictionary or the supplied lemmas are not those of the params id.
    #[error("these signatures were made with the {what} {wanted}; give the same file again")]
    OtherWords {
        /// The kind of list: `dictionary` or `lemmas`.
        what: &'static str,
        /// The id of the list that is needed.
        wanted: String,
    },
    /// A text is not a params id.
    #[error("{id:?} is not a params id of this version: {reason}")]
    Id {
        /// The text.
        id: String,
        /// The reason why the text is not a params id.
        reason: &'static str,
    },
}

/// The kind of pieces of a content that are fingerprinted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Every window with this number of bytes.
    Bytes(u32),
    /// Every run with this number of words.
    Words(u32),
}

/// Settings for the parameters of all methods. A parameter that the user does not set is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The size of a window, in bytes.
    pub window: Option<u32>,
    /// The number of words in a shingle. If it is set, shingles replace windows of bytes.
    pub words: Option<u32>,
    /// The rate: one fingerprint in this number is kept. For chunks, the rate is the mean size of a
    /// chunk in bytes.
    pub rate: Option<u32>,
    /// The n of the method. For `Mod_n` and `BSW_n`, it is the rate. For `Min_n` and `Sketch_n`, it
    /// is the number of kept fingerprints.
    pub n: Option<u32>,
    /// For sif, the number of bits of a fingerprint. For sorted5, the number of upper bits of a
    /// hash that are kept.
    pub bits: Option<u32>,
    /// For sif, the multiplier p.
    pub multiplier: Option<u32>,
    /// For sif, the maximum number of fingerprints of a file. A large file keeps a smaller share of
    /// them.
    pub most: Option<u32>,
    /// For sif-anchors, the anchors.
    pub anchors: Option<Arc<Anchors>>,
    /// For shingle with the sample `V_i`, the number of shingles at which the first size class
    /// begins.
    pub sizes: Option<u32>,
    /// For super-shingle, the number of shingles that make one super shingle.
    pub length: Option<u32>,
    /// For shingle and super-shingle, the secret that decides which shingles are kept.
    pub seed: Option<Arc<Seed>>,
    /// For sorted5, the hash of chunks.
    pub hash: Option<ChunkHashing>,
    /// For sorted5, a dictionary. Words that are not in the dictionary are left out.
    pub dictionary: Option<Arc<Dictionary>>,
    /// For sorted5, the basic forms of words.
    pub lemmas: Option<Arc<Lemmas>>,
    /// For sorted5, the language whose stemmer is used.
    pub stem: Option<Language>,
    /// The changes to the bytes before features are computed.
    pub canonical: Canonical,
}

/// A method and all of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodParams {
    /// The changes to the bytes before features are computed.
    pub canonical: Canonical,
    /// The parameters of the method.
    pub scheme: Scheme,
}

/// The parameters of each method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The parameters of [`Method::Tttd`].
    Tttd(ChunkParams),
    /// The parameters of [`Method::Bsw`].
    Bsw(SlidingWindow),
    /// The parameters of [`Method::BswMin`]: a chunk ends where n divides the fingerprint.
    BswMin {
        /// The kind of pieces: windows or shingles.
        grain: Grain,
        /// The n of the paper.
        n: u32,
    },
    /// The parameters of [`Method::Mod`]: fingerprints that n divides are kept.
    Mod {
        /// The kind of pieces: windows or shingles.
        grain: Grain,
        /// The n of the paper.
        n: u32,
    },
    /// The parameters of [`Method::Min`]: the n smallest fingerprints are kept.
    Min {
        /// The kind of pieces: windows or shingles.
        grain: Grain,
        /// The n of the paper.
        n: u32,
    },
    /// The parameters of [`Method::Sketch`]: there are n hash functions.
    Sketch {
        /// The kind of pieces: windows or shingles.
        grain: Grain,
        /// The n of the paper.
        n: u32,
    },
    /// The parameters of [`Method::Sif`].
    Sif(SifParams),
    /// The parameters of [`Method::SifAnchors`].
    SifAnchors(AnchorParams),
    /// The parameters of [`Method::Shingle`].
    Shingle(ShingleParams),
    /// The parameters of [`Method::SuperShingle`].
    SuperShingle(SuperParams),
    /// The parameters of [`Method::Sorted5`].
    Sorted5(Sorted5Params),
}

/// Values of which a params id contains only a hash. They must be supplied to read the id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplies {
    /// The anchors.
    pub anchors: Option<Arc<Anchors>>,
    /// The dictionary. Words that are not in the dictionary are left out.
    pub dictionary: Option<Arc<Dictionary>>,
    /// The basic forms of words.
    pub lemmas: Option<Arc<Lemmas>>,
    /// The secret that decides which shingles are kept.
    pub seed: Option<Arc<Seed>>,
}

/// The maximum n of `Sketch_n`, because each hash function costs time at every byte.
const MOST_SLOTS: u32 = 1 << 12;

/// The maximum n of `Min_n`.
const MOST_LEAST: u32 = 1 << 20;

/// The sizes of windows in Cherkasova et al., in bytes (section 4.1): the smallest that they try,
/// the one that they choose, and the largest that they try.
const WINDOWS: (u32, u32, u32) = (5, 20, 100);

/// The n of Cherkasova et al., section 5.
const N: u32 = 100;

impl MethodParams {
    /// Returns the parameters that the paper of the method uses.
    ///
    /// ```
    /// use resemble_methods::{Method, MethodParams};
    ///
    /// let params = MethodParams::paper(Method::Mod);
    /// assert_eq!(params.to_string(), "mod.bytes-20.n-100.v1");
    /// assert_eq!(MethodParams::parse("mod.bytes-20.n-100.v1", None), Ok(params));
    /// ```
    pub fn paper(method: Method) -> Self {
        let grain = Grain::Bytes(WINDOWS.1);
        let scheme = match method {
            Method::Tttd => Scheme::Tttd(ChunkParams::PAPER),
            Method::Bsw => Scheme::Bsw(SlidingWindow::default()),
            Method::BswMin => Scheme::BswMin { grain, n: N },
            Method::Mod => Scheme::Mod { grain, n: N },
            Method::Min => Scheme::Min { grain, n: N },
            Method::Sketch => Scheme::Sketch { grain, n: N },
            Method::Sif => Scheme::Sif(SifParams::default()),
            Method::SifAnchors => Scheme::SifAnchors(AnchorParams::default()),
            Method::Shingle => Scheme::Shingle(ShingleParams::default()),
            Method::SuperShingle => Scheme::SuperShingle(SuperParams {
                shingles: ShingleParams::default(),
                length: DEFAULT_LENGTH,
            }),
            Method::Sorted5 => Scheme::Sorted5(Sorted5Params::default()),
        };
        Self {
            canonical: Canonical::None,
            scheme,
        }
    }

    /// Creates the parameters of a method from settings. A parameter that is not set gets the value
    /// of the paper.
    pub fn new(method: Method, settings: &Settings) -> Result<Self, ParamError> {
        let takes = method.parameters();
        let given = [
            ("window", settings.window.is_some()),
            ("words", settings.words.is_some()),
            ("rate", settings.rate.is_some()),
            ("n", settings.n.is_some()),
            ("bits", settings.bits.is_some()),
            ("multiplier", settings.multiplier.is_some()),
            ("most", settings.most.is_some()),
            ("anchors", settings.anchors.is_some()),
            ("sizes", settings.sizes.is_some()),
            ("length", settings.length.is_some()),
            ("seed", settings.seed.is_some()),
            ("hash", settings.hash.is_some()),
            ("dictionary", settings.dictionary.is_some()),
            ("lemmas", settings.lemmas.is_some()),
            ("stem", settings.stem.is_some()),
        ];
        for (parameter, given) in given {
            if given && !takes.contains(&parameter) {
                return Err(ParamError::NotTaken { method, parameter });
            }
        }
        let range = |parameter, value: u32, least: u32, most: u32| {
            if (least..=most).contains(&value) {
                Ok(value)
            } else {
                Err(ParamError::OutOfRange {
                    method,
                    parameter,
                    value: value.into(),
                    least: least.into(),
                    most: most.into(),
                })
            }
        };
        let grain = || match (settings.window, settings.words) {
            (Some(_), Some(_)) => Err(ParamError::Both {
                method,
                one: "window",
                other: "words",
            }),
            (None, Some(words)) => range("words", words, 1, 100).map(Grain::Words),
            (window, None) => {
                range("window", window.unwrap_or(WINDOWS.1), WINDOWS.0, WINDOWS.2).map(Grain::Bytes)
            }
        };
        let n = |most| range("n", settings.n.unwrap_or(N), 1, most);
        let divisor = || match (settings.rate, settings.n) {
            (Some(_), Some(_)) => Err(ParamError::Both {
                method,
                one: "rate",
                other: "n",
            }),
            (rate, n) => range("n", rate.or(n).unwrap_or(N), 1, u32::MAX),
        };
        let modulus = || range("rate", settings.rate.unwrap_or(MODULUS), 1, 1 << 20);
        let shingles = |sample| {
            Ok::<_, ParamError>(ShingleParams {
                words: range("words", settings.words.unwrap_or(WORDS), 1, 100)?,
                sample,
                seed: settings.seed.clone(),
            })
        };
        let scheme = match method {
            Method::Tttd => {
                let average = settings.rate.unwrap_or(ChunkParams::PAPER_AVERAGE);
                let scaled = chunked::scaled(average);
                Scheme::Tttd(scaled.ok_or(ParamError::OutOfRange {
                    method,
                    parameter: "rate",
                    value: average.into(),
                    least: chunked::LEAST_AVERAGE.into(),
                    most: ChunkParams::GREATEST_AVERAGE.into(),
                })?)
            }
            Method::Bsw => {
                let default = SlidingWindow::default();
                let window = range("window", settings.window.unwrap_or(default.window), 1, 256)?;
                let divisor = settings.rate.unwrap_or(default.divisor);
                let divisor = range("rate", divisor, 2, 1 << 20)?;
                Scheme::Bsw(SlidingWindow {
                    window,
                    divisor,
                    remainder: divisor - 1,
                })
            }
            Method::BswMin => Scheme::BswMin {
                grain: grain()?,
                n: divisor()?,
            },
            Method::Mod => Scheme::Mod {
                grain: grain()?,
                n: divisor()?,
            },
            Method::Min => Scheme::Min {
                grain: grain()?,
                n: n(MOST_LEAST)?,
            },
            Method::Sketch => Scheme::Sketch {
                grain: grain()?,
                n: n(MOST_SLOTS)?,
            },
            Method::Sif => {
                let default = SifParams::default();
                let bits = range("bits", settings.bits.unwrap_or(default.bits), 30, 32)?;
                let rate = settings.rate.unwrap_or(1 << default.zeros);
                if !rate.is_power_of_two() {
                    return Err(ParamError::NoPowerOfTwo { value: rate.into() });
                }
                range("rate", rate, 1, 1 << 16)?;
                let multiplier = settings.multiplier.unwrap_or(default.multiplier);
                if !SifParams::is_multiplier(multiplier) {
                    return Err(ParamError::Multiplier {
                        value: multiplier.into(),
                    });
                }
                let most = settings.most;
                Scheme::Sif(SifParams {
                    window: range("window", settings.window.unwrap_or(default.window), 8, 1000)?,
                    zeros: rate.trailing_zeros(),
                    bits,
                    multiplier,
                    most: most.map(|m| range("most", m, 16, 1 << 24)).transpose()?,
                })
            }
            Method::SifAnchors => {
                let default = AnchorParams::default();
                let window = range("window", settings.window.unwrap_or(default.window), 8, 1000)?;
                let bits = range("bits", settings.bits.unwrap_or(default.bits), 30, 32)?;
                let anchors = settings.anchors.clone().unwrap_or(default.anchors);
                anchors.fit(window)?;
                Scheme::SifAnchors(AnchorParams {
                    anchors,
                    window,
                    bits,
                })
            }
            Method::Shingle => {
                let asked = [
                    ("rate", settings.rate),
                    ("n", settings.n),
                    ("sizes", settings.sizes),
                ];
                let mut given = asked.iter().filter(|(_, value)| value.is_some());
                if let (Some(&(one, _)), Some(&(other, _))) = (given.next(), given.next()) {
                    return Err(ParamError::Both { method, one, other });
                }
                let sample = match (settings.n, settings.sizes) {
                    (Some(n), _) => Sample::Min(range("n", n, 1, MOST_LEAST)?),
                    (None, Some(sizes)) => Sample::Sizes(range("sizes", sizes, 1, MOST_LEAST)?),
                    (None, None) => Sample::Mod(modulus()?),
                };
                Scheme::Shingle(shingles(sample)?)
            }
            Method::SuperShingle => Scheme::SuperShingle(SuperParams {
                shingles: shingles(Sample::Mod(modulus()?))?,
                length: range("length", settings.length.unwrap_or(DEFAULT_LENGTH), 1, 64)?,
            }),
            Method::Sorted5 => {
                let default = Sorted5Params::default();
                let bits = settings.bits.unwrap_or(default.bits);
                Scheme::Sorted5(Sorted5Params {
                    words: range("words", settings.words.unwrap_or(default.words), 1, 100)?,
                    bits: range("bits", bits, sorted5::BITS.0, sorted5::BITS.1)?,
                    hash: settings.hash.unwrap_or_default(),
                    vocabulary: Vocabulary {
                        dictionary: settings.dictionary.clone(),
                        lemmas: settings.lemmas.clone(),
                        stem: settings.stem,
                    },
                })
            }
        };
        Ok(Self {
            canonical: settings.canonical,
            scheme,
        })
    }

    /// Returns the method.
    pub const fn method(&self) -> Method {
        match self.scheme {
            Scheme::Tttd(_) => Method::Tttd,
            Scheme::Bsw(_) => Method::Bsw,
            Scheme::BswMin { .. } => Method::BswMin,
            Scheme::Mod { .. } => Method::Mod,
            Scheme::Min { .. } => Method::Min,
            Scheme::Sketch { .. } => Method::Sketch,
            Scheme::Sif(_) => Method::Sif,
            Scheme::SifAnchors(_) => Method::SifAnchors,
            Scheme::Shingle(_) => Method::Shingle,
            Scheme::SuperShingle(_) => Method::SuperShingle,
            Scheme::Sorted5(_) => Method::Sorted5,
        }
    }

    /// Checks that the method with these parameters has this measure, before any file is read.
    pub const fn tells(&self, measure: Measure) -> Result<(), Refused> {
        let method = self.method();
        match (&self.scheme, measure) {
            (
                Scheme::Shingle(ShingleParams {
                    sample: Sample::Min(_),
                    ..
                }),
                Measure::Containment,
            ) => Err(Refused::OfLeast { method }),
            _ => method.tells(measure),
        }
    }
}

#[cfg(test)]
#[path = "scheme_tests.rs"]
mod tests;
