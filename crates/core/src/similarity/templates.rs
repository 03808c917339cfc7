//! Text that a person has declared to be a template.
//!
//! Forman, Eshghi & Chiocchetti 2005, section 4: files that were made by one process or under one
//! licence resemble each other by their frame alone; an analyst marks such a cluster, and what all
//! its members have is "to be ignored on future runs, effectively reducing the file sizes to their
//! non-template payload", without chunking any file anew.
//!
//! Three choices:
//!
//! 1. **A template is two sets of pieces**, chunks and fingerprints. The paper has chunks only.
//!    Those miss every frame that is shorter than a chunk or of which an edit has spoilt each;
//!    sampled fingerprints see it in proportion.
//! 2. **A template of texts is all their common shingles besides** ([`TemplateShingles`]). In words
//!    nothing else says what is template. In bytes the words under them are left out where they
//!    stand, so that a text has one payload, in whichever unit it is measured.
//! 3. **The pieces are taken out before anything is computed** ([`Templates::strip`]), not asked
//!    for while it is. What is left is the chunk list, the signature and the size of the payload,
//!    so that nomination, percentages, minimum evidence and "too small to judge" are about the
//!    payload, whatever the question.
//!
//! A template of which no shingle is known, of files that are no texts or one that was marked
//! before there were any, leaves its pieces out of the bytes of a text before these are cut into
//! words ([`Templates::worded`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use crate::ContentKind;
use crate::digest::{ChunkList, ChunkRun, Digest};
use crate::hash::rolling::Scanner;
use crate::ids::{ByteLen, ChunkHash, Fingerprint};
use crate::params::Params;
use crate::sample::Signature;
use crate::similarity::{Boilerplate, Sketch};
use crate::words::{CollectedWords, places_of, short_rows};

mod shingles;

pub use shingles::{CommonShingles, TemplateShingles};

/// Two windows of a template so many bytes apart have template between them. At the densest
/// sampling a stretch of so many windows has no sample with a chance of e^-8.
const JOINED: usize = 256;

/// The pieces of one template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Its chunks with their lengths in bytes: ascending, distinct, all of them evidence otherwise.
    pub chunks: Vec<(ChunkHash, u32)>,
    /// Its fingerprints: ascending, distinct.
    pub fingerprints: Vec<Fingerprint>,
    /// Its shingles, all of them: ascending, distinct.
    pub shingles: Vec<u64>,
}

/// Whether so many among some have what at least this share (0..=1) of them must have.
fn is_enough(having: usize, among: usize, share: f64) -> bool {
    // Millionths are all that a share on the command line has.
    having > 0 && having as f64 >= share * among as f64 - 1e-6
}

impl Template {
    /// The pieces that at least `share` (0..=1) of these contents have, and at least one.
    ///
    /// A content whose signature has a higher level than a fingerprint cannot show it: such
    /// contents have no say in it, but at least half of all must have one, and two if there are
    /// two. So the dense samples of the smaller contents are used as far as most contents are
    /// small.
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

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.fingerprints.is_empty() && self.shingles.is_empty()
    }

    /// Bytes of its chunks, each once.
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

    /// Where they lie in some bytes: the chunks, the windows, and what lies between two windows
    /// that begin no more than `JOINED` bytes apart: of these only a sample is known.
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
        Scanner::new(params).scan(bytes, &mut |hit| {
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

/// What is in none of these ranges, which come in any order.
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

/// What all templates are made of. None is a template by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Templates {
    /// What files are chunked and sampled with.
    params: Params,
    /// Of all templates. All samples of shingles are among the fingerprints.
    pieces: Pieces,
    /// The posting keys of the chunks.
    keys: HashSet<u64>,
    shingles: TemplateShingles,
    /// Of the templates of which no shingle is known.
    wordless: Pieces,
}

impl Templates {
    /// No template yet, of files that are chunked and sampled with these parameters.
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

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.shingles.is_empty()
    }

    /// Whether it is known of each shingle of a text whether it is template.
    pub fn are_all_in_words(&self) -> bool {
        self.wordless.is_empty()
    }

    /// How many fingerprints are template: at most so many were taken from any signature.
    pub fn fingerprints(&self) -> usize {
        self.pieces.fingerprints.len()
    }

    /// The shingles that are template.
    pub const fn shingles(&self) -> &TemplateShingles {
        &self.shingles
    }

    /// What of a text is cut into words: all but the pieces of templates that have no shingles.
    /// What of these words is template, [`Self::shingles`] tell.
    pub fn worded<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        left(bytes, self.wordless.ranges(bytes, &self.params))
    }

    /// [`Self::payload`] of bytes that are not needed otherwise.
    pub fn into_payload(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.payload(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(payload) => payload,
        }
    }

    /// The bytes without what is template, for measures that are computed on bytes: without the
    /// templates' chunks and windows, and without their words where they stand.
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut out = self.pieces.ranges(bytes, &self.params);
        out.extend(self.word_ranges(bytes));
        left(bytes, out)
    }

    /// Where the words that are template lie in some bytes.
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

    /// Takes what is template out of both lists of a content of `size` bytes and returns the bytes
    /// of its payload.
    ///
    /// The bytes taken out are those of the template's chunks, or the share of the samples that are
    /// template, whichever is more: chunks prove their bytes and miss what lies beside them,
    /// samples see all of it, but roughly. The chunk list has gaps afterwards, so the positions of
    /// its chunks mean nothing any more.
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
