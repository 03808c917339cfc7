//! Text that a person has declared to be a template.
//!
//! Forman, Eshghi & Chiocchetti 2005, section 4: files that were made by one process or under one
//! licence resemble each other by their frame alone. An analyst marks such a cluster. The common
//! part of its members is "to be ignored on future runs, effectively reducing the file sizes to
//! their non-template payload". No file is chunked again for this.
//!
//! Three choices:
//!
//! 1. **A template is two sets of pieces**, chunks and fingerprints. The paper has only chunks.
//!    Chunks miss every frame that is shorter than a chunk, and every frame in which edits have
//!    changed all chunks. Sampled fingerprints detect such a frame in proportion to its length.
//! 2. **A template of texts also has all their common shingles** ([`TemplateShingles`]). In words,
//!    only these shingles decide what is template. In bytes, the words that these shingles cover
//!    are removed where they occur. So the payload of a text is the same for measures in words and
//!    in bytes.
//! 3. **The pieces are removed before anything is computed** ([`Templates::strip`]). What remains
//!    is the chunk list, the signature and the size of the payload. So nomination, percentages,
//!    minimum evidence and "too small to judge" are about the payload in every question.
//!
//! A template may have no known shingles: its files are not texts, or an old version of the program
//! stored no shingles. The pieces of such a template are removed from the bytes of a text before
//! the bytes are cut into words ([`Templates::worded`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use crate::ContentKind;
use crate::digest::{ChunkList, ChunkRun, Digest};
use crate::ids::{ByteLen, ChunkHash, Fingerprint};
use crate::params::Params;
use crate::sample::Signature;
use crate::similarity::{Boilerplate, Sketch};
use crate::words::{CollectedWords, places_of, short_rows};

mod shingles;

pub use shingles::{CommonShingles, TemplateShingles};

/// The bytes between two windows of a template belong to the template, too, if the windows begin at
/// most this many bytes apart. At the densest sampling, the probability that a run of this many
/// windows has no sample is e^-8.
const JOINED: usize = 256;

/// The pieces of one template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The template's chunks with their lengths in bytes: ascending, distinct, and each long enough
    /// to be evidence.
    pub chunks: Vec<(ChunkHash, u32)>,
    /// The template's fingerprints: ascending and distinct.
    pub fingerprints: Vec<Fingerprint>,
    /// All shingles of the template: ascending and distinct.
    pub shingles: Vec<u64>,
}

/// Returns whether `having` contents are at least the share `share` (0..=1) of `among` contents.
fn is_enough(having: usize, among: usize, share: f64) -> bool {
    // A share on the command line has at most six decimal digits. So a difference of a millionth is
    // a rounding error.
    having > 0 && having as f64 >= share * among as f64 - 1e-6
}

impl Template {
    /// Returns the chunks and fingerprints that at least the share `share` (0..=1) of these
    /// contents have. Even if `share` is 0, each of them is in at least one content.
    ///
    /// A content cannot show a fingerprint below the level of its signature. So only the contents
    /// that can show a fingerprint count for its share. These contents must be at least half of all
    /// contents. If there are two contents or more, at least two must be able to show the
    /// fingerprint. So the dense samples of small contents are used if most contents are small.
    pub fn common(contents: &[Sketch<'_>], share: f64) -> Self {
        let enough = |having, among| is_enough(having, among, share);
        let mut chunks: BTreeMap<(ChunkHash, u32), usize> = BTreeMap::new();
        let mut fingerprints: BTreeMap<Fingerprint, usize> = BTreeMap::new();
        for content in contents {
            let evidence = content.chunks.0.iter().filter(|run| run.is_evidence());
            let distinct: BTreeSet<_> = evidence.map(|run| (run.hash, run.len)).collect();
            for chunk in distinct {
                *chunks.entry(chunk).or_default() += 1;
            }
            for &fingerprint in &content.signature.fingerprints {
                *fingerprints.entry(fingerprint).or_default() += 1;
            }
        }
        let levels: Vec<u8> = contents.iter().map(|c| c.signature.level).collect();
        let least = contents.len().div_ceil(2).max(contents.len().min(2));
        Self {
            chunks: chunks
                .into_iter()
                .filter(|&(_, having)| enough(having, contents.len()))
                .map(|(chunk, _)| chunk)
                .collect(),
            fingerprints: fingerprints
                .into_iter()
                .filter(|&(fingerprint, having)| {
                    let level = fingerprint.level();
                    let among = levels.iter().filter(|&&l| l <= level).count();
                    among >= least && enough(having, among)
                })
                .map(|(fingerprint, _)| fingerprint)
                .collect(),
            shingles: Vec::new(),
        }
    }

    /// Returns whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.fingerprints.is_empty() && self.shingles.is_empty()
    }

    /// Returns the number of bytes of the template's chunks, each counted once.
    pub fn bytes(&self) -> ByteLen {
        self.chunks
            .iter()
            .map(|&(_, len)| ByteLen(u64::from(len)))
            .sum()
    }
}

/// Chunks and fingerprints of templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pieces {
    chunks: HashSet<(ChunkHash, u32)>,
    fingerprints: HashSet<u64>,
}

impl Pieces {
    fn add(&mut self, template: &Template) {
        self.chunks.extend(template.chunks.iter().copied());
        self.fingerprints
            .extend(template.fingerprints.iter().map(|f| f.0));
    }

    fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.fingerprints.is_empty()
    }

    fn has(&self, run: &ChunkRun) -> bool {
        self.chunks.contains(&(run.hash, run.len))
    }

    /// Returns the ranges of `bytes` that are template: chunks, windows, and the bytes between two
    /// windows that begin at most `JOINED` bytes apart. Only the sampled windows are known, so the
    /// bytes between two sampled windows are assumed to be template, too.
    fn ranges(&self, bytes: &[u8], params: &Params) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = Vec::new();
        if self.is_empty() {
            return out;
        }
        let digest = Digest::of(bytes, params);
        for (at, run) in digest.chunks.positions().filter(|(_, run)| self.has(run)) {
            let len = u64::from(run.len) * run.count;
            out.push(at as usize..(at + len) as usize);
        }
        let mut windows: Vec<Range<usize>> = Vec::new();
        params.scanner().scan(bytes, &mut |hit| {
            if hit.sample.is_some_and(|f| self.fingerprints.contains(&f.0)) {
                let end = hit.end as usize;
                let begin = end - Params::WINDOW;
                match windows.last_mut() {
                    Some(last) if begin + Params::WINDOW <= last.end + JOINED => last.end = end,
                    _ => windows.push(begin..end),
                }
            }
        });
        out.extend(windows);
        out
    }
}

/// Returns the bytes that are in none of these ranges. The ranges may be in any order.
fn left(bytes: &[u8], mut out: Vec<Range<usize>>) -> Cow<'_, [u8]> {
    if out.is_empty() {
        return Cow::Borrowed(bytes);
    }
    out.sort_unstable_by_key(|range| range.start);
    let (mut left, mut at) = (Vec::with_capacity(bytes.len()), 0);
    for range in out {
        if range.start > at {
            left.extend_from_slice(&bytes[at..range.start]);
        }
        at = at.max(range.end);
    }
    left.extend_from_slice(&bytes[at.min(bytes.len())..]);
    Cow::Owned(left)
}

/// The pieces of all templates. By default there are no templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Templates {
    /// The parameters by which files are chunked and sampled.
    params: Params,
    /// The pieces of all templates. The fingerprints include all samples of shingles.
    pieces: Pieces,
    /// The posting keys of the chunks.
    keys: HashSet<u64>,
    shingles: TemplateShingles,
    /// The pieces of the templates without known shingles.
    wordless: Pieces,
}

impl Templates {
    /// Makes a set without templates, for files that are chunked and sampled with these parameters.
    pub fn new(params: &Params) -> Self {
        Self {
            params: *params,
            ..Self::default()
        }
    }

    /// Adds a template to the others.
    pub fn add(&mut self, template: &Template) {
        self.pieces.add(template);
        let keys = template.chunks.iter().map(|(hash, _)| hash.posting_key());
        self.keys.extend(keys);
        if template.shingles.is_empty() {
            self.wordless.add(template);
        } else {
            self.shingles.extend(&template.shingles);
            let samples = TemplateShingles::samples(&template.shingles);
            self.pieces
                .fingerprints
                .extend(samples.map(|sample| sample.0));
        }
    }

    /// Returns whether there are no templates.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.shingles.is_empty()
    }

    /// Returns whether the shingles of all templates are known.
    pub fn are_all_in_words(&self) -> bool {
        self.wordless.is_empty()
    }

    /// Counts the fingerprints of templates. Stripping removes at most this many from a signature.
    pub fn fingerprints(&self) -> usize {
        self.pieces.fingerprints.len()
    }

    /// Returns the shingles of templates.
    pub const fn shingles(&self) -> &TemplateShingles {
        &self.shingles
    }

    /// Returns the bytes of a text without the pieces of templates whose shingles are not known.
    /// The remaining bytes can be cut into words. [`Self::shingles`] shows which of these words are
    /// template.
    pub fn worded<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        left(bytes, self.wordless.ranges(bytes, &self.params))
    }

    /// Like [`Self::payload`], but takes the bytes, and returns them as they are if there is
    /// nothing to remove.
    pub fn into_payload(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.payload(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(payload) => payload,
        }
    }

    /// Returns the bytes without templates, for measures in bytes. The templates' chunks and
    /// windows are removed, and also the words that the templates' shingles cover.
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut out = self.pieces.ranges(bytes, &self.params);
        out.extend(self.word_ranges(bytes));
        left(bytes, out)
    }

    /// Returns the ranges of words that template shingles cover.
    fn word_ranges(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        if self.shingles.is_empty() || !ContentKind::of(bytes).has_lines() {
            return Vec::new();
        }
        let mut ranges = short_rows(bytes, |row| self.shingles.has(row));
        let words = self.shingles.words_of(&CollectedWords::of(bytes));
        if !words.is_empty() {
            let places = places_of(bytes);
            ranges.extend(
                words
                    .into_iter()
                    .map(|words| places[words.start].start..places[words.end - 1].end),
            );
        }
        ranges
    }

    /// Removes the templates from the chunks and the signature of a content of `size` bytes.
    /// Returns the number of bytes of its payload.
    ///
    /// The number of removed bytes is computed from the template's chunks and from its share of the
    /// samples; the greater number is used. Chunks prove their bytes, but miss the template's bytes
    /// next to them. Samples estimate the whole template. After the call, the chunk list has gaps,
    /// so the positions of its chunks have no meaning.
    pub fn strip(
        &self,
        size: ByteLen,
        chunks: &mut ChunkList,
        signature: &mut Signature,
    ) -> ByteLen {
        if self.is_empty() {
            return size;
        }
        let mut by_chunks = 0;
        chunks.0.retain(|run| {
            let out = self.pieces.has(run);
            by_chunks += if out {
                u64::from(run.len) * run.count
            } else {
                0
            };
            !out
        });
        let all = signature.fingerprints.len();
        signature
            .fingerprints
            .retain(|f| !self.pieces.fingerprints.contains(&f.0));
        let out = all - signature.fingerprints.len();
        let by_samples = (u128::from(size.0) * out as u128 / all.max(1) as u128) as u64;
        ByteLen(size.0.saturating_sub(by_chunks.max(by_samples)))
    }
}

impl Boilerplate for Templates {
    fn chunk(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        self.pieces.fingerprints.contains(&fingerprint.0)
    }
}

#[cfg(test)]
mod tests;
