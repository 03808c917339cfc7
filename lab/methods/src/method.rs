//! The published methods with their names, measures and thresholds.
//!
//! The parameters of the methods are in [`crate::scheme`].

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A published method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// The hashes of whole chunks, which are cut by TTTD: Forman, Eshghi & Chiocchetti 2005.
    Tttd,
    /// The hashes of whole chunks, which are cut by the basic sliding window: Forman et al. 2005,
    /// section 2.2.
    Bsw,
    /// The least fingerprint of each chunk, `BSW_n`: Cherkasova et al. 2009, section 2.
    BswMin,
    /// Fingerprints that n divides, `Mod_n`: Cherkasova et al. 2009, section 2.
    Mod,
    /// The n least fingerprints, `Min_n`: Cherkasova et al. 2009, section 2.
    Min,
    /// The smallest value of each of n hash functions, `Sketch_n`: Cherkasova et al. 2009, section
    /// 2.
    Sketch,
    /// Fingerprints whose low bits are zero: Manber 1994.
    Sif,
    /// Fingerprints at the places where an anchor starts: Manber 1994, section 2.
    SifAnchors,
    /// Sketches of word shingles: Broder, Glassman, Manasse & Zweig 1997.
    Shingle,
    /// Shingles of the sorted sketch: Broder et al. 1997, "Super shingles".
    SuperShingle,
    /// The upper bits of hashes of five sorted words: Kasprzak, Brandejs, Křipač & Šmerk 2008.
    Sorted5,
}

/// The methods that a user can choose: the default measure, and those of the papers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The default measure: [`resemble_core::similarity`].
    #[default]
    Default,
    /// A published method.
    Paper(Method),
}

/// A measure of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// The share of one file that is in the other.
    Containment,
    /// The size of the intersection divided by the size of the union.
    Resemblance,
}

/// The reason why a method does not have a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The method keeps a sample of fixed size, which does not show containment.
    #[error(
        "{method} cannot tell how much of one file is in another: the sample of a part may have \
         nothing in common with that of the whole (Cherkasova et al. 2009, table 1); ask for the \
         resemblance, or take mod, bsw-min, sif or tttd"
    )]
    Containment {
        /// The method.
        method: Method,
    },
    /// The method keeps the s smallest shingles, which do not show containment.
    #[error(
        "{method} with --n keeps the least shingles, which give the resemblance only (Broder et \
         al. 1997: \"it allows only the estimation of resemblance\"); keep one in 25 (--rate 25), \
         or by size (--sizes 100)"
    )]
    OfLeast {
        /// The method.
        method: Method,
    },
    /// The method keeps super shingles, which do not show containment.
    #[error(
        "{method} cannot tell how much of one file is in another: further shingles of the larger \
         one come between those of the smaller, so no sequence of them stays complete (Broder et \
         al. 1997, \"Super shingles\"); take shingle"
    )]
    OfSuper {
        /// The method.
        method: Method,
    },
}

/// The error for a name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no method {name:?}; there are \
    {}", Choice::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownMethod {
    /// The unknown name.
    pub name: String,
}

/// The minimum similarity of a pair in an answer, according to the method's paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// The minimum figure (1.0 is 100 %).
    Score(f64),
    /// The minimum number of bytes that are proven to be common.
    SharedBytes(u64),
}

/// The thresholds of a method for the different questions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The threshold for comparing one file with all other files.
    pub find: Threshold,
    /// The threshold for groups of all files.
    pub groups: Threshold,
    /// The threshold for all pairs of files.
    pub pairs: Threshold,
}

impl Method {
    /// All methods, in the order of help texts.
    pub const ALL: [Self; 11] = [
        Self::Tttd,
        Self::Bsw,
        Self::BswMin,
        Self::Mod,
        Self::Min,
        Self::Sketch,
        Self::Sif,
        Self::SifAnchors,
        Self::Shingle,
        Self::SuperShingle,
        Self::Sorted5,
    ];

    /// Returns the name of the method.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tttd => "tttd",
            Self::Bsw => "bsw",
            Self::BswMin => "bsw-min",
            Self::Mod => "mod",
            Self::Min => "min",
            Self::Sketch => "sketch",
            Self::Sif => "sif",
            Self::SifAnchors => "sif-anchors",
            Self::Shingle => "shingle",
            Self::SuperShingle => "super-shingle",
            Self::Sorted5 => "sorted5",
        }
    }

    /// Returns the names of the method's parameters in [`crate::Settings`]. `canonical` is left
    /// out, because all methods have it.
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Tttd => &["rate"],
            Self::Bsw => &["window", "rate"],
            Self::BswMin | Self::Mod => &["window", "words", "rate", "n"],
            Self::Min | Self::Sketch => &["window", "words", "n"],
            Self::Sif => &["window", "rate", "bits", "multiplier", "most"],
            Self::SifAnchors => &["window", "bits", "anchors"],
            Self::Shingle => &["words", "rate", "n", "sizes", "seed"],
            Self::SuperShingle => &["words", "rate", "length", "seed"],
            Self::Sorted5 => &["words", "bits", "hash", "dictionary", "lemmas", "stem"],
        }
    }

    /// Checks that the method has this measure, before any file is read. For `shingle`, this also
    /// depends on the sample: see [`crate::MethodParams::tells`].
    pub const fn tells(self, measure: Measure) -> Result<(), Refused> {
        match (self, measure) {
            (Self::Min | Self::Sketch, Measure::Containment) => {
                Err(Refused::Containment { method: self })
            }
            (Self::SuperShingle, Measure::Containment) => Err(Refused::OfSuper { method: self }),
            _ => Ok(()),
        }
    }

    /// Returns whether a repeated feature counts as often as it occurs. If it does not, a signature
    /// represents a set of features.
    pub const fn counts_occurrences(self) -> bool {
        matches!(self, Self::Tttd | Self::Bsw | Self::Sif | Self::SifAnchors)
    }

    /// Returns whether [`crate::Scores::score`] is the same for (a, b) and (b, a). For sif and
    /// sorted5 the scores differ, because they are shares of the first file.
    pub const fn is_symmetric(self) -> bool {
        !matches!(self, Self::Sif | Self::SifAnchors | Self::Sorted5)
    }

    /// Returns the thresholds of the method's paper:
    ///
    /// * Manber 1994, section 3 ("default of 50%") and figure 3 ("Minimum similarity = 25%").
    /// * Cherkasova et al. 2009, section 5 ("higher than 70%").
    /// * Forman et al. 2005, section 3.1 ("say, 1000 bytes in common between two files for
    ///   reporting purposes"). There is no percentage in that paper.
    /// * Broder et al. 1997, "Status" ("based on a 50% resemblance"), and "Super shingles", where
    ///   one super shingle in common is enough.
    /// * Kasprzak et al. 2008, section 3.1 ("only pairs of documents with the similarity of at
    ///   least 1 %").
    pub const fn thresholds(self) -> Thresholds {
        let (find, all) = match self {
            Self::Tttd | Self::Bsw => (Threshold::SharedBytes(1000), Threshold::SharedBytes(1000)),
            Self::BswMin | Self::Mod | Self::Min | Self::Sketch => {
                (Threshold::Score(0.7), Threshold::Score(0.7))
            }
            Self::Sif | Self::SifAnchors => (Threshold::Score(0.5), Threshold::Score(0.25)),
            Self::Shingle => (Threshold::Score(0.5), Threshold::Score(0.5)),
            Self::SuperShingle => (Threshold::Score(0.0), Threshold::Score(0.0)),
            Self::Sorted5 => (Threshold::Score(0.01), Threshold::Score(0.01)),
        };
        Thresholds {
            find,
            groups: all,
            pairs: all,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        Self::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| UnknownMethod { name: name.into() })
    }
}

impl Choice {
    /// Returns the names that [`Self::from_str`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("default").chain(Method::ALL.map(Method::name))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Paper(method) => method.fmt(f),
        }
    }
}

impl FromStr for Choice {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        if name == "default" {
            Ok(Self::Default)
        } else {
            name.parse().map(Self::Paper)
        }
    }
}
