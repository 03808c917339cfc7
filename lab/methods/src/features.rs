//! Computes features from bytes.
//!
//! A feature is a number that represents a piece of a content: a window of bytes, a run of words, a
//! chunk. A [`FeatureExtractor`] computes the features from bytes that are passed in pieces of any
//! size. It returns them in order and includes repeated features. The method determines how
//! features are used, and whether a repeated feature counts again ([`crate::select`]).
//!
//! Memory is constant, except for one chunk of TTTD and one window of anchors. The documentation of
//! each method states the time that it takes.

use crate::anchors::AnchorScanner;
use crate::canonical::Filter;
use crate::chunked::{BswChunks, TttdChunks};
use crate::feature::{Feature, Features};
use crate::rabin::Rolling;
use crate::scheme::{Grain, MethodParams, Scheme};
use crate::shingle::Shingling;
use crate::shingles::Shingles;
use crate::sif::SifScanner;
use crate::sorted5::SortedChunker;

impl Features {
    /// Computes the features of bytes in memory.
    pub fn of(params: &MethodParams, bytes: &[u8]) -> Self {
        let (mut all, mut extractor) = (Vec::new(), FeatureExtractor::new(params));
        extractor.update(bytes, &mut |feature| all.push(feature));
        extractor.finish(&mut |feature| all.push(feature));
        Self(all)
    }
}

/// Computes the features of contents, as a method defines them.
#[derive(Debug)]
pub struct FeatureExtractor {
    filter: Option<Filter>,
    pieces: Pieces,
    /// The number of zeros in a row after which further zeros only repeat the same features.
    settled: u64,
}

#[derive(Debug)]
enum Pieces {
    Windows(Rolling),
    Shingles(Shingles),
    Shingling(Shingling),
    Sif(SifScanner),
    Anchors(AnchorScanner),
    Sorted(SortedChunker),
    Tttd(TttdChunks),
    Bsw(BswChunks),
}

/// The zeros that are passed on at a time.
static ZEROS: [u8; 1 << 14] = [0; 1 << 14];

impl FeatureExtractor {
    /// Begins the first content.
    pub fn new(params: &MethodParams) -> Self {
        let filter = Filter::new(params.canonical);
        let settled = match &params.scheme {
            // This number of zeros fills the rest of the current chunk, and then two chunks that
            // have only zeros.
            Scheme::Tttd(chunk) => 4 * u64::from(chunk.max),
            Scheme::Bsw(bsw) => 4 * bsw.max(),
            _ => ZEROS.len() as u64,
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
            Scheme::Shingle(shingles) => Pieces::Shingling(Shingling::new(shingles)),
            Scheme::SuperShingle(params) => Pieces::Shingling(Shingling::new(&params.shingles)),
            Scheme::Sorted5(sorted5) => Pieces::Sorted(SortedChunker::new(sorted5)),
        };
        Self {
            filter,
            pieces,
            settled,
        }
    }

    /// Adds the next bytes. `sink` receives, in order, the features that no later byte can change.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Feature)) {
        match &mut self.filter {
            None => self.pieces.update(bytes, sink),
            Some(filter) => {
                // The filter writes about as many bytes as it reads. So the bytes are processed in
                // parts, to bound the memory of the filter.
                for part in bytes.chunks(ZEROS.len()) {
                    let written = filter.update(part);
                    self.pieces.update(written, sink);
                }
            }
        }
    }

    /// Takes `count` zero bytes, such as a hole of a sparse file, in constant time.
    ///
    /// From the second chunk on, all chunks in a hole are equal. So these chunks are one feature
    /// with a count. The result is the same as that of [`Self::update`]. For a method with windows,
    /// at most 16 KiB of the zeros are read, because further windows are the same. So the *set* of
    /// features is the same as with [`Self::update`]. (sif skips zeros. An anchor of zeros is
    /// counted only as often as it occurs in these 16 KiB.)
    pub fn zeros(&mut self, count: u64, sink: &mut impl FnMut(Feature)) {
        let first = count.min(self.settled);
        let mut last = None;
        self.some_zeros(first, &mut |feature| {
            last = Some(feature);
            sink(feature);
        });
        let rest = count - first;
        let is_chunks = matches!(self.pieces, Pieces::Tttd(_) | Pieces::Bsw(_));
        // If the filter removes zeros, there is no chunk.
        if let Some(last) = last.filter(|_| is_chunks && rest > 0) {
            let count = rest / last.len;
            if count > 0 {
                sink(Feature { count, ..last });
            }
            self.some_zeros(rest % last.len, sink);
        }
    }

    fn some_zeros(&mut self, count: u64, sink: &mut impl FnMut(Feature)) {
        let mut left = count;
        while left > 0 {
            let now = left.min(ZEROS.len() as u64);
            self.update(&ZEROS[..now as usize], sink);
            left -= now;
        }
    }

    /// Ends the content. `sink` receives the last features. The next bytes begin another content.
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
            Self::Shingling(all) => all.update(bytes, |value| sink(Feature::of(value))),
            Self::Sif(scanner) => scanner.update(bytes, |value| sink(Feature::of(value))),
            Self::Anchors(scanner) => scanner.update(bytes, |value| sink(Feature::of(value))),
            Self::Sorted(chunker) => chunker.update(bytes, &mut |value| sink(Feature::of(value))),
            Self::Tttd(chunks) => chunks.update(bytes, sink),
            Self::Bsw(chunks) => chunks.update(bytes, sink),
        }
    }

    fn finish(&mut self, sink: &mut impl FnMut(Feature)) {
        match self {
            Self::Windows(rolling) => rolling.reset(),
            Self::Shingles(shingles) => shingles.finish(|value| sink(Feature::of(value))),
            Self::Shingling(all) => {
                all.finish(|value| sink(Feature::of(value)));
            }
            Self::Sif(scanner) => scanner.reset(),
            Self::Anchors(scanner) => scanner.reset(),
            Self::Sorted(chunker) => chunker.finish(&mut |value| sink(Feature::of(value))),
            Self::Tttd(chunks) => chunks.finish(sink),
            Self::Bsw(chunks) => chunks.finish(sink),
        }
    }
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
