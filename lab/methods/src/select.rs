//! From features to a signature: what a method keeps.
//!
//! A [`Selector`] takes features from anywhere, an [`Extractor`] or another program ([`crate::lines`]), and
//! keeps no more than the method needs: memory grows with the signature, never with the content.

use crate::bsw_n::Minima;
use crate::chunked::ChunkCounts;
use crate::features::{Extractor, Feature, Features};
use crate::min_n::Least;
use crate::mod_n::Divisor;
use crate::scheme::{MethodParams, Scheme};
use crate::shingle::{Sample, Sized};
use crate::sif;
use crate::sketch_n::Slots;
use crate::sorted5;
use crate::super_shingle::super_shingles;
use crate::tally::Tally;

/// What a method keeps of a content. Only to be compared with signatures of the same params id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodSignature(pub(crate) Form);

/// The forms of signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Distinct fingerprints, ascending: `Mod_n`, `Min_n`, `BSW_n`.
    Set(Vec<u64>),
    /// The least value of each hash function; empty of a content without features: `Sketch_n`.
    Slots(Vec<u64>),
    /// Distinct fingerprints, ascending, how often each comes, and how many low bits of all are zero: sif. Of sorted5,
    /// whose level is 0: how many chunks of the content have this hash.
    Counted {
        level: u8,
        fingerprints: Vec<(u64, u64)>,
    },
    /// Distinct chunks (name, bytes), ascending, and how often each comes: TTTD, BSW.
    Chunks(Vec<((u64, u64), u64)>),
    /// Distinct shingles that 2 to the level divides, ascending: `V_i`.
    Sized { level: u8, values: Vec<u64> },
    /// Distinct shingles of a sketch, ascending, and how many of them a super shingle has.
    Super { length: u8, shingles: Vec<u64> },
}

impl MethodSignature {
    /// How many fingerprints or chunks it holds, each once; of super shingles these.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Set(values) | Form::Slots(values) | Form::Sized { values, .. } => values.len(),
            Form::Super { length, shingles } => {
                (shingles.len() + 1).saturating_sub(usize::from(*length))
            }
            Form::Counted { fingerprints, .. } => fingerprints.len(),
            Form::Chunks(chunks) => chunks.len(),
        }
    }

    /// Whether nothing was kept: too small to judge.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, repeats counted: what sif takes percentages of.
    pub fn occurrences(&self) -> u64 {
        match &self.0 {
            Form::Set(_) | Form::Slots(_) | Form::Sized { .. } | Form::Super { .. } => {
                self.len() as u64
            }
            Form::Counted { fingerprints, .. } => {
                sif::total(fingerprints.iter().map(|&(_, count)| count))
            }
            Form::Chunks(chunks) => sif::total(chunks.iter().map(|&(_, count)| count)),
        }
    }

    /// All of it for people and other programs: fingerprints and chunks ascending, of `Sketch_n` slot by slot; a
    /// [`Feature`] has the length of a chunk, and how often it comes where that counts.
    pub fn entries(&self) -> Vec<Feature> {
        match &self.0 {
            Form::Set(values)
            | Form::Slots(values)
            | Form::Sized { values, .. }
            | Form::Super {
                shingles: values, ..
            } => values.iter().copied().map(Feature::of).collect(),
            Form::Counted { fingerprints, .. } => fingerprints
                .iter()
                .map(|&(value, count)| Feature {
                    count,
                    ..Feature::of(value)
                })
                .collect(),
            Form::Chunks(chunks) => chunks
                .iter()
                .map(|&((value, len), count)| Feature { value, len, count })
                .collect(),
        }
    }

    /// Its chunks, ascending, with how often each comes; none of a method without chunks.
    pub fn chunk_counts(&self) -> &ChunkCounts {
        match &self.0 {
            Form::Chunks(chunks) => chunks,
            _ => &[],
        }
    }

    /// What an inverted index is made of: if a pair's figure is above 0, it has a key in common. (The least value of a
    /// hash function is a key only together with the function's number.)
    pub fn keys(&self) -> Vec<u64> {
        match &self.0 {
            Form::Set(values) | Form::Sized { values, .. } => values.clone(),
            Form::Super { length, shingles } => super_shingles(shingles, usize::from(*length)),
            Form::Slots(values) => values
                .iter()
                .enumerate()
                .map(|(slot, &value)| crate::shingles::mix(value ^ (slot as u64) << 40))
                .collect(),
            Form::Counted { fingerprints, .. } => {
                fingerprints.iter().map(|&(value, _)| value).collect()
            }
            Form::Chunks(chunks) => {
                let mut keys: Vec<u64> = chunks.iter().map(|&((value, _), _)| value).collect();
                keys.dedup();
                keys
            }
        }
    }
}

/// Collects a signature from features in file order, one content after another.
#[derive(Debug)]
pub struct Selector(State);

#[derive(Debug)]
enum State {
    Mod {
        n: Divisor,
        kept: Tally<u64>,
    },
    Min(Least),
    Sketch(Slots),
    BswMin {
        minima: Minima,
        kept: Tally<u64>,
    },
    Sif {
        most: Option<u32>,
        kept: Tally<u64>,
    },
    Sorted5 {
        bits: u32,
        kept: Tally<u64>,
    },
    Chunks(Tally<(u64, u64)>),
    Sized(Sized),
    Super {
        n: Divisor,
        length: u8,
        kept: Tally<u64>,
    },
}

impl Selector {
    /// Nothing taken yet.
    pub fn new(params: &MethodParams) -> Self {
        Self(match &params.scheme {
            Scheme::Tttd(_) | Scheme::Bsw(_) => State::Chunks(Tally::default()),
            Scheme::BswMin { n, .. } => State::BswMin {
                minima: Minima::new(*n),
                kept: Tally::default(),
            },
            Scheme::Mod { n, .. } => State::Mod {
                n: Divisor::new(*n),
                kept: Tally::default(),
            },
            Scheme::Min { n, .. } => State::Min(Least::new(*n as usize)),
            Scheme::Sketch { n, .. } => State::Sketch(Slots::new(*n as usize)),
            Scheme::Sif(params) => State::Sif {
                most: params.most,
                kept: Tally::default(),
            },
            Scheme::SifAnchors(_) => State::Sif {
                most: None,
                kept: Tally::default(),
            },
            Scheme::Shingle(params) => match params.sample {
                Sample::Mod(m) => State::Mod {
                    n: Divisor::new(m),
                    kept: Tally::default(),
                },
                Sample::Min(s) => State::Min(Least::new(s as usize)),
                Sample::Sizes(least) => State::Sized(Sized::new(least)),
            },
            Scheme::SuperShingle(params) => State::Super {
                n: Divisor::new(match params.shingles.sample {
                    Sample::Mod(m) => m,
                    // No settings make one.
                    Sample::Min(_) | Sample::Sizes(_) => 1,
                }),
                length: params.length as u8,
                kept: Tally::default(),
            },
            Scheme::Sorted5(params) => State::Sorted5 {
                bits: params.bits,
                kept: Tally::default(),
            },
        })
    }

    /// Takes the next feature.
    #[inline]
    pub fn push(&mut self, feature: Feature) {
        let Feature { value, len, count } = feature;
        match &mut self.0 {
            State::Mod { n, kept } | State::Super { n, kept, .. } => {
                if n.divides(value) {
                    kept.add(value, 1);
                }
            }
            State::Min(least) => least.push(value),
            State::Sized(sized) => sized.push(value),
            State::Sketch(slots) => slots.push(value),
            State::BswMin { minima, kept } => {
                // The first may end a chunk that began before; all others are like the second.
                for _ in 0..count.min(2) {
                    if let Some(least) = minima.push(value) {
                        kept.add(least, 1);
                    }
                }
            }
            State::Sif { kept, .. } => kept.add(value, count),
            State::Sorted5 { kept, .. } => kept.add(value, 1),
            State::Chunks(chunks) => chunks.add((value, len), count),
        }
    }

    /// The signature of all that was taken; what comes next is another content.
    pub fn take(&mut self) -> MethodSignature {
        let set = |kept: &mut Tally<u64>| {
            Form::Set(kept.take().into_iter().map(|(value, _)| value).collect())
        };
        MethodSignature(match &mut self.0 {
            State::Mod { kept, .. } => set(kept),
            State::Min(least) => Form::Set(least.take()),
            State::Sketch(slots) => Form::Slots(slots.take()),
            State::BswMin { minima, kept } => {
                if let Some(least) = minima.finish() {
                    kept.add(least, 1);
                }
                set(kept)
            }
            State::Sif { most, kept } => {
                let all = kept.take();
                let level = most.map_or(0, |most| sif::level(&all, u64::from(most)));
                let fingerprints = sif::at_level(&all, level).collect();
                Form::Counted {
                    level,
                    fingerprints,
                }
            }
            State::Sorted5 { bits, kept } => Form::Counted {
                level: 0,
                fingerprints: sorted5::hashed(
                    *bits,
                    kept.take().into_iter().map(|(value, _)| value),
                ),
            },
            State::Chunks(chunks) => Form::Chunks(chunks.take()),
            State::Sized(sized) => {
                let (level, values) = sized.take();
                Form::Sized { level, values }
            }
            State::Super { length, kept, .. } => Form::Super {
                length: *length,
                shingles: kept.take().into_iter().map(|(value, _)| value).collect(),
            },
        })
    }
}

/// Bytes to signatures, one content after another.
#[derive(Debug)]
pub struct Signer {
    extractor: Extractor,
    selector: Selector,
}

impl Signer {
    /// At the start of a content.
    pub fn new(params: &MethodParams) -> Self {
        Self {
            extractor: Extractor::new(params),
            selector: Selector::new(params),
        }
    }

    /// Takes the next bytes of the content, any number.
    pub fn update(&mut self, bytes: &[u8]) {
        let selector = &mut self.selector;
        self.extractor
            .update(bytes, &mut |feature| selector.push(feature));
    }

    /// Takes zero bytes: see [`Extractor::zeros`].
    pub fn zeros(&mut self, count: u64) {
        let selector = &mut self.selector;
        self.extractor
            .zeros(count, &mut |feature| selector.push(feature));
    }

    /// The content's signature; what comes next is another content.
    pub fn finish(&mut self) -> MethodSignature {
        let selector = &mut self.selector;
        self.extractor.finish(&mut |feature| selector.push(feature));
        self.selector.take()
    }
}

/// The signature of bytes in memory.
///
/// ```
/// use resemble_methods::{Judged, Method, MethodParams, score, sign};
///
/// let params = MethodParams::paper(Method::Mod);
/// let text: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
/// let (a, b) = (sign(&params, &text), sign(&params, &text[..10_000]));
/// let scores = score(&params, &a, &b);
/// assert_eq!(scores.b_in_a, Ok(Judged::Value(1.0)));
/// ```
pub fn sign(params: &MethodParams, bytes: &[u8]) -> MethodSignature {
    let mut signer = Signer::new(params);
    signer.update(bytes);
    signer.finish()
}

/// The signature of features at hand.
pub fn select(params: &MethodParams, features: &Features) -> MethodSignature {
    let mut selector = Selector::new(params);
    for &feature in &features.0 {
        selector.push(feature);
    }
    selector.take()
}
