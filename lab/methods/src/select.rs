//! Makes signatures of features. A signature is the features that a method keeps.
//!
//! A [`Selector`] receives features from a [`FeatureExtractor`] or from another program
//! ([`crate::lines`]). It stores no more features than the method needs. So its memory grows with
//! the size of the signature, and not with the size of the content.

use crate::bsw_n::Minima;
use crate::feature::{Feature, Features};
use crate::features::FeatureExtractor;
use crate::min_n::Least;
use crate::mod_n::Divisor;
use crate::scheme::{MethodParams, Scheme};
use crate::shingle::{Sample, Sized};
use crate::sif;
use crate::signature::{Form, MethodSignature};
use crate::sketch_n::Slots;
use crate::sorted5;
use crate::super_shingle::super_shingles;
use crate::tally::Tally;

impl MethodSignature {
    /// Returns the keys of the signature for an inverted index. If the figure of a pair is above 0,
    /// the two signatures have a key in common. (The key for the smallest value of a hash function
    /// contains the number of the function.)
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

/// Makes signatures from features, which are passed in order, one content after another.
#[derive(Debug)]
pub struct Selector(Selection);

#[derive(Debug)]
enum Selection {
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
    /// Begins the first content.
    pub fn new(params: &MethodParams) -> Self {
        Self(match &params.scheme {
            Scheme::Tttd(_) | Scheme::Bsw(_) => Selection::Chunks(Tally::default()),
            Scheme::BswMin { n, .. } => Selection::BswMin {
                minima: Minima::new(*n),
                kept: Tally::default(),
            },
            Scheme::Mod { n, .. } => Selection::Mod {
                n: Divisor::new(*n),
                kept: Tally::default(),
            },
            Scheme::Min { n, .. } => Selection::Min(Least::new(*n as usize)),
            Scheme::Sketch { n, .. } => Selection::Sketch(Slots::new(*n as usize)),
            Scheme::Sif(params) => Selection::Sif {
                most: params.most,
                kept: Tally::default(),
            },
            Scheme::SifAnchors(_) => Selection::Sif {
                most: None,
                kept: Tally::default(),
            },
            Scheme::Shingle(params) => match params.sample {
                Sample::Mod(m) => Selection::Mod {
                    n: Divisor::new(m),
                    kept: Tally::default(),
                },
                Sample::Min(s) => Selection::Min(Least::new(s as usize)),
                Sample::Sizes(least) => Selection::Sized(Sized::new(least)),
            },
            Scheme::SuperShingle(params) => Selection::Super {
                n: Divisor::new(match params.shingles.sample {
                    Sample::Mod(m) => m,
                    // This case does not occur, because no settings combine super shingles with
                    // these samples.
                    Sample::Min(_) | Sample::Sizes(_) => 1,
                }),
                length: params.length as u8,
                kept: Tally::default(),
            },
            Scheme::Sorted5(params) => Selection::Sorted5 {
                bits: params.bits,
                kept: Tally::default(),
            },
        })
    }

    /// Adds the next feature.
    #[inline]
    pub fn push(&mut self, feature: Feature) {
        let Feature { value, len, count } = feature;
        match &mut self.0 {
            Selection::Mod { n, kept } | Selection::Super { n, kept, .. } => {
                if n.divides(value) {
                    kept.add(value, 1);
                }
            }
            Selection::Min(least) => least.push(value),
            Selection::Sized(sized) => sized.push(value),
            Selection::Sketch(slots) => slots.push(value),
            Selection::BswMin { minima, kept } => {
                // The first of these equal features may end a chunk that began earlier. Each
                // feature after the second has the same effect as the second, so two are enough.
                for _ in 0..count.min(2) {
                    if let Some(least) = minima.push(value) {
                        kept.add(least, 1);
                    }
                }
            }
            Selection::Sif { kept, .. } => kept.add(value, count),
            Selection::Sorted5 { kept, .. } => kept.add(value, 1),
            Selection::Chunks(chunks) => chunks.add((value, len), count),
        }
    }

    /// Ends the content and returns its signature. The next features begin another content.
    pub fn take(&mut self) -> MethodSignature {
        let set = |kept: &mut Tally<u64>| {
            Form::Set(kept.take().into_iter().map(|(value, _)| value).collect())
        };
        MethodSignature(match &mut self.0 {
            Selection::Mod { kept, .. } => set(kept),
            Selection::Min(least) => Form::Set(least.take()),
            Selection::Sketch(slots) => Form::Slots(slots.take()),
            Selection::BswMin { minima, kept } => {
                if let Some(least) = minima.finish() {
                    kept.add(least, 1);
                }
                set(kept)
            }
            Selection::Sif { most, kept } => {
                let all = kept.take();
                let level = most.map_or(0, |most| sif::level(&all, u64::from(most)));
                let fingerprints = sif::at_level(&all, level).collect();
                Form::Counted {
                    level,
                    fingerprints,
                }
            }
            Selection::Sorted5 { bits, kept } => Form::Counted {
                level: 0,
                fingerprints: sorted5::hashed(
                    *bits,
                    kept.take().into_iter().map(|(value, _)| value),
                ),
            },
            Selection::Chunks(chunks) => Form::Chunks(chunks.take()),
            Selection::Sized(sized) => {
                let (level, values) = sized.take();
                Form::Sized { level, values }
            }
            Selection::Super { length, kept, .. } => Form::Super {
                length: *length,
                shingles: kept.take().into_iter().map(|(value, _)| value).collect(),
            },
        })
    }
}

/// Makes signatures from bytes, one content after another.
#[derive(Debug)]
pub struct Signer {
    extractor: FeatureExtractor,
    selector: Selector,
}

impl Signer {
    /// Begins the first content.
    pub fn new(params: &MethodParams) -> Self {
        Self {
            extractor: FeatureExtractor::new(params),
            selector: Selector::new(params),
        }
    }

    /// Adds the next bytes of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        let selector = &mut self.selector;
        self.extractor
            .update(bytes, &mut |feature| selector.push(feature));
    }

    /// Adds `count` zero bytes: see [`FeatureExtractor::zeros`].
    pub fn zeros(&mut self, count: u64) {
        let selector = &mut self.selector;
        self.extractor
            .zeros(count, &mut |feature| selector.push(feature));
    }

    /// Ends the content and returns its signature. The next bytes begin another content.
    pub fn finish(&mut self) -> MethodSignature {
        let selector = &mut self.selector;
        self.extractor.finish(&mut |feature| selector.push(feature));
        self.selector.take()
    }
}

/// Computes the signature of bytes in memory.
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

/// Returns the signature of these features.
pub fn select(params: &MethodParams, features: &Features) -> MethodSignature {
    let mut selector = Selector::new(params);
    for &feature in &features.0 {
        selector.push(feature);
    }
    selector.take()
}
