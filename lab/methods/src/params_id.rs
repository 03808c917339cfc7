//! Params ids: writes the parameters of a method as text, and reads them.
//!
//! An id contains everything that could change a byte of a signature. [`MethodParams`]'s `Display`
//! writes an id. [`MethodParams::parse`] reads an id, and refuses text that `Display` would not
//! have written. Some values are secret (a seed) or too long (anchors, dictionaries, lemmas). An id
//! has only their hashes. To read such an id, the caller must supply these values.

use std::fmt;
use std::sync::Arc;

use crate::anchors::{AnchorParams, Anchors};
use crate::canonical::Canonical;
use crate::chunked;
use crate::method::Method;
use crate::scheme::{Grain, MethodParams, ParamError, Scheme, Settings, Supplies};
use crate::shingle::{Sample, ShingleParams};
use crate::sif::SifParams;
use resemble_core::params::ChunkParams;

impl MethodParams {
    /// Reads a params id. The id of sif-anchors contains only a hash of the anchors, so the anchors
    /// must be supplied.
    pub fn parse(id: &str, anchors: Option<&Arc<Anchors>>) -> Result<Self, ParamError> {
        Self::parse_with(
            id,
            &Supplies {
                anchors: anchors.cloned(),
                ..Supplies::default()
            },
        )
    }

    /// Reads a params id that may contain the hashes of supplied values.
    pub fn parse_with(id: &str, supplies: &Supplies) -> Result<Self, ParamError> {
        let fault = |reason| ParamError::Id {
            id: id.into(),
            reason,
        };
        let mut parts = id.split('.');
        let method: Method = parts.next().unwrap_or_default().parse()?;
        let mut settings = Settings::default();
        for part in parts {
            match part {
                "code" => settings.canonical = Canonical::Code,
                "text" => settings.canonical = Canonical::Text,
                "v1" => {}
                _ => {
                    let (name, value) = part
                        .split_once('-')
                        .ok_or_else(|| fault("a part of it has no value"))?;
                    if name == "anchors" {
                        let anchors = supplies.anchors.as_ref();
                        let found = anchors.filter(|anchors| anchors.id() == value);
                        let standard = || AnchorParams::default().anchors;
                        settings.anchors = match found {
                            Some(anchors) => Some(Arc::clone(anchors)),
                            None if standard().id() == value => None,
                            None => {
                                return Err(ParamError::OtherAnchors {
                                    wanted: value.into(),
                                });
                            }
                        };
                        continue;
                    }
                    if settings.takes_word(name, value, supplies)? {
                        continue;
                    }
                    let value = value
                        .parse()
                        .map_err(|_| fault("a value of it is no number"))?;
                    let slot = match name {
                        "bytes" | "window" => &mut settings.window,
                        "words" => &mut settings.words,
                        "rate" | "average" => &mut settings.rate,
                        "n" => &mut settings.n,
                        "bits" => &mut settings.bits,
                        "p" => &mut settings.multiplier,
                        "most" => &mut settings.most,
                        "sizes" => &mut settings.sizes,
                        "length" => &mut settings.length,
                        _ => return Err(fault("a part of it is unknown")),
                    };
                    *slot = Some(value);
                }
            }
        }
        let params = Self::new(method, &settings)?;
        if params.to_string() == id {
            Ok(params)
        } else {
            Err(fault("it is not written as this version writes it"))
        }
    }
}

impl Settings {
    /// Reads a part of a params id if its value is a word and not a number. Returns whether the
    /// value is a word.
    fn takes_word(
        &mut self,
        name: &str,
        value: &str,
        supplies: &Supplies,
    ) -> Result<bool, ParamError> {
        let missing = |what| ParamError::OtherWords {
            what,
            wanted: value.into(),
        };
        match name {
            "hash" => self.hash = Some(value.parse()?),
            "stem" => self.stem = Some(value.parse()?),
            "dictionary" => {
                let found = supplies.dictionary.clone().filter(|d| d.id() == value);
                self.dictionary = Some(found.ok_or_else(|| missing("dictionary"))?);
            }
            "lemmas" => {
                let found = supplies.lemmas.clone().filter(|l| l.id() == value);
                self.lemmas = Some(found.ok_or_else(|| missing("lemmas"))?);
            }
            "seed" => {
                let found = supplies.seed.clone().filter(|seed| seed.id() == value);
                self.seed = Some(found.ok_or_else(|| ParamError::OtherSeed {
                    wanted: value.into(),
                })?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl fmt::Display for Grain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "bytes-{bytes}"),
            Self::Words(words) => write!(f, "words-{words}"),
        }
    }
}

impl fmt::Display for ShingleParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "words-{}.", self.words)?;
        match self.sample {
            Sample::Mod(m) => write!(f, "rate-{m}")?,
            Sample::Min(s) => write!(f, "n-{s}")?,
            Sample::Sizes(least) => write!(f, "sizes-{least}")?,
        }
        match &self.seed {
            Some(seed) => write!(f, ".seed-{}", seed.id()),
            None => Ok(()),
        }
    }
}

/// Writes the params id. `v1` is the version of everything that is not a parameter: the polynomial,
/// the hash functions, the definition of a word.
impl fmt::Display for MethodParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.method())?;
        match &self.scheme {
            Scheme::Tttd(chunk) => write!(f, "average-{}", average(chunk))?,
            Scheme::Bsw(bsw) => write!(f, "window-{}.rate-{}", bsw.window, bsw.divisor)?,
            Scheme::BswMin { grain, n }
            | Scheme::Mod { grain, n }
            | Scheme::Min { grain, n }
            | Scheme::Sketch { grain, n } => write!(f, "{grain}.n-{n}")?,
            Scheme::Sif(sif) => {
                let SifParams {
                    window,
                    zeros,
                    bits,
                    multiplier,
                    most,
                } = sif;
                write!(
                    f,
                    "window-{window}.rate-{}.bits-{bits}.p-{multiplier}",
                    1u32 << zeros
                )?;
                if let Some(most) = most {
                    write!(f, ".most-{most}")?;
                }
            }
            Scheme::SifAnchors(sif) => {
                let AnchorParams {
                    anchors,
                    window,
                    bits,
                } = sif;
                write!(f, "window-{window}.bits-{bits}.anchors-{}", anchors.id())?;
            }
            Scheme::Shingle(shingles) => write!(f, "{shingles}")?,
            Scheme::SuperShingle(params) => {
                write!(f, "{}.length-{}", params.shingles, params.length)?;
            }
            Scheme::Sorted5(sorted5) => sorted5.fmt(f)?,
        }
        if self.canonical != Canonical::None {
            write!(f, ".{}", self.canonical.name())?;
        }
        f.write_str(".v1")
    }
}

/// Returns the smallest mean size that leads to these parameters.
fn average(chunk: &ChunkParams) -> u32 {
    let near = u64::from(chunk.max) * u64::from(ChunkParams::PAPER_AVERAGE)
        / u64::from(ChunkParams::PAPER.max);
    let from = (near as u32).saturating_sub(2).max(chunked::LEAST_AVERAGE);
    (from..from + 8)
        .find(|&average| chunked::scaled(average).as_ref() == Some(chunk))
        .unwrap_or(near as u32)
}
