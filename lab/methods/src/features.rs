//! From bytes to features.
//!
//! A feature is a number that stands for a piece of a content: a window of bytes, a run of words, a
//! chunk. An [`FeatureExtractor`] gives them in file order, repeats and all, from bytes in pieces of any
//! size; what is done with them, and whether a repeat counts, is the method's affair
//! ([`crate::select`]).
//!
//! Memory is constant but for TTTD (one chunk) and anchors (one window); see each file for the
//! time.

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
    /// The features of bytes in memory.
    pub fn of(params: &MethodParams, bytes: &[u8]) -> Self {
        let (mut all, mut extractor) = (Vec::new(), FeatureExtractor::new(params));
        extractor.update(bytes, &mut |feature| all.push(feature));
        extractor.finish(&mut |feature| all.push(feature));
        Self(all)
    }
}

/// Takes a content apart as a method does.
#[derive(Debug)]
pub struct FeatureExtractor {
    filter: Option<Filter>,
    pieces: Pieces,
    /// After this many zeros in a row more of them are more of the same features.
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

/// Zeros that are handed over at a time.
static ZEROS: [u8; 1 << 14] = [0; 1 << 14];

impl FeatureExtractor {
    /// At the start of a content.
    pub fn new(params: &MethodParams) -> Self {
        let filter = Filter::new(params.canonical);
        let settled = match &params.scheme {
            // Two chunks that have nothing but zeros before them, and what is under way.
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

    /// Takes `count` zero bytes, as a hole of a sparse file has them, in time that does not depend
    /// on `count`.
    ///
    /// Chunks in a hole are all equal from the second one on, so they come as one feature with a
    /// count: exactly those of [`Self::update`]. A method of windows looks at no more than 16 KiB
    /// of them, what follows being the same windows again: the *set* of features is that of
    /// [`Self::update`]. (sif passes zeros over altogether, and an anchor of zeros counts at most
    /// so often.)
    pub fn zeros(&mut self, count: u64, sink: &mut impl FnMut(Feature)) {
        let first = count.min(self.settled);
        let mut last = None;
        self.some_zeros(first, &mut |feature| {
            last = Some(feature);
            sink(feature);
        });
        let rest = count - first;
        let is_chunks = matches!(self.pieces, Pieces::Tttd(_) | Pieces::Bsw(_));
        // No chunk came: the filter lets no zeros through here.
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
