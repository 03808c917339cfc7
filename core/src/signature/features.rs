//! From bytes to features.
//!
//! A feature is a number that stands for a piece of a content: a window of bytes, a run of words, a chunk. An
//! [`Extractor`] gives them in file order, repeats and all, from bytes in pieces of any size; what is done with them, and
//! whether a repeat counts, is the method's affair ([`crate::signature::select`]).
//!
//! Memory is constant but for TTTD (one chunk) and anchors (one window); see each file for the time.

use crate::signature::anchors::AnchorScanner;
use crate::signature::canonical::{Canonical, CodeFilter};
use crate::signature::chunked::{BswChunks, TttdChunks};
use crate::signature::method::{Grain, MethodParams, Scheme};
use crate::signature::rabin::Rolling;
use crate::signature::shingles::Shingles;
use crate::signature::sif::SifScanner;

/// A piece of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// Its name. Equal pieces have equal names; different ones have different names but for accidents of hashing.
    pub value: u64,
    /// What it weighs: the bytes of a chunk, and 1 for anything that is no chunk.
    pub len: u64,
}

impl Feature {
    /// One that is no chunk.
    pub const fn of(value: u64) -> Self {
        Self { value, len: 1 }
    }
}

/// The features of a content in file order, with their repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(pub Vec<Feature>);

impl Features {
    /// The features of bytes in memory.
    pub fn of(params: &MethodParams, bytes: &[u8]) -> Self {
        let (mut all, mut extractor) = (Vec::new(), Extractor::new(params));
        extractor.update(bytes, &mut |feature| all.push(feature));
        extractor.finish(&mut |feature| all.push(feature));
        Self(all)
    }

    /// Features that are no chunks.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Self {
        Self(values.into_iter().map(Feature::of).collect())
    }

    /// Their names, in file order.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|feature| feature.value)
    }
}

/// Takes a content apart as a method does.
#[derive(Debug)]
pub struct Extractor {
    filter: Option<CodeFilter>,
    pieces: Pieces,
    /// Zeros beyond this many in a row change nothing but how often a feature comes.
    enough_zeros: Option<u64>,
}

#[derive(Debug)]
enum Pieces {
    Windows(Rolling),
    Shingles(Shingles),
    Sif(SifScanner),
    Anchors(AnchorScanner),
    Tttd(TttdChunks),
    Bsw(BswChunks),
}

/// Zeros that are handed over at a time.
static ZEROS: [u8; 1 << 14] = [0; 1 << 14];

impl Extractor {
    /// At the start of a content.
    pub fn new(params: &MethodParams) -> Self {
        let filter = match params.canonical {
            Canonical::None => None,
            Canonical::Code => Some(CodeFilter::default()),
        };
        let enough_zeros = match &params.scheme {
            Scheme::Tttd(_) | Scheme::Bsw(_) => None,
            _ => Some(ZEROS.len() as u64),
        };
        let pieces = match &params.scheme {
            Scheme::Tttd(chunk) => Pieces::Tttd(TttdChunks::new(chunk)),
            Scheme::Bsw(bsw) => Pieces::Bsw(BswChunks::new(*bsw)),
            Scheme::BswMin { grain, .. }
            | Scheme::Mod { grain, .. }
            | Scheme::Min { grain, .. }
            | Scheme::Sketch { grain, .. } => match *grain {
                Grain::Bytes(width) => Pieces::Windows(Rolling::new(width as usize)),
                Grain::Words(words) => Pieces::Shingles(Shingles::new(words as usize)),
            },
            Scheme::Sif(sif) => Pieces::Sif(SifScanner::new(*sif)),
            Scheme::SifAnchors(sif) => Pieces::Anchors(AnchorScanner::new(sif)),
        };
        Self {
            filter,
            pieces,
            enough_zeros,
        }
    }

    /// Takes the next bytes; `sink` gets the features that are certain now, in order.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Feature)) {
        match &mut self.filter {
            None => self.pieces.update(bytes, sink),
            Some(filter) => {
                // In parts: what the filter writes is about as long as what it reads.
                for part in bytes.chunks(ZEROS.len()) {
                    let written = filter.update(part);
                    self.pieces.update(written, sink);
                }
            }
        }
    }

    /// Takes `count` zero bytes, as a hole of a sparse file has them.
    ///
    /// A method of windows looks at no more than 16 KiB of them: what follows are the same windows again. So the *set* of
    /// features is that of [`Self::update`], in time that does not depend on `count`. (sif passes zeros over altogether,
    /// and an anchor of zeros counts at most so often.) Chunks are exact, and their bytes are hashed one by one.
    pub fn zeros(&mut self, count: u64, sink: &mut impl FnMut(Feature)) {
        let mut left = self.enough_zeros.map_or(count, |enough| count.min(enough));
        while left > 0 {
            let now = left.min(ZEROS.len() as u64);
            self.update(&ZEROS[..now as usize], sink);
            left -= now;
        }
    }

    /// The end of the content: `sink` gets the last features. What comes next is another content.
    pub fn finish(&mut self, sink: &mut impl FnMut(Feature)) {
        if let Some(filter) = &mut self.filter {
            let written = filter.finish();
            self.pieces.update(written, sink);
        }
        self.pieces.finish(sink);
    }
}

impl Pieces {
    fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Feature)) {
        match self {
            Self::Windows(rolling) => rolling.update(bytes, |value| sink(Feature::of(value))),
            Self::Shingles(shingles) => shingles.update(bytes, |value| sink(Feature::of(value))),
            Self::Sif(scanner) => scanner.update(bytes, |value| sink(Feature::of(value))),
            Self::Anchors(scanner) => scanner.update(bytes, |value| sink(Feature::of(value))),
            Self::Tttd(chunks) => chunks.update(bytes, sink),
            Self::Bsw(chunks) => chunks.update(bytes, sink),
        }
    }

    fn finish(&mut self, sink: &mut impl FnMut(Feature)) {
        match self {
            Self::Windows(rolling) => rolling.reset(),
            Self::Shingles(shingles) => shingles.finish(|value| sink(Feature::of(value))),
            Self::Sif(scanner) => scanner.reset(),
            Self::Anchors(scanner) => scanner.reset(),
            Self::Tttd(chunks) => chunks.finish(sink),
            Self::Bsw(chunks) => chunks.finish(sink),
        }
    }
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
