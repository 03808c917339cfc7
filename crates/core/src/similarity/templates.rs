//! Text that a person has declared to be a template.
//!
//! Forman, Eshghi & Chiocchetti 2005, section 4: files that were made by one process or under one
//! licence resemble each other by their frame alone; an analyst marks such a cluster, and what all
//! its members have is "to be ignored on future runs, effectively reducing the file sizes to their
//! non-template payload", without chunking any file anew.
//!
//! Two choices:
//!
//! 1. **A template is two sets of pieces**, chunks and window fingerprints. The paper has chunks
//!    only. Those miss every frame that is shorter than a chunk or of which an edit has spoilt
//!    each; sampled fingerprints see it in proportion.
//! 2. **The pieces are taken out before anything is computed** ([`Templates::strip`]), not asked
//!    for while it is. What is left is the chunk list, the signature and the size of the payload,
//!    so that nomination, percentages, minimum evidence and "too small to judge" are about the
//!    payload, whatever the question.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use crate::digest::{ChunkList, ChunkRun, Digest};
use crate::hash::rolling::Scanner;
use crate::ids::{ByteLen, ChunkHash, Fingerprint};
use crate::params::Params;
use crate::sample::Signature;
use crate::similarity::{Boilerplate, Sketch};

/// Two windows of a template so many bytes apart have template between them. At the densest
/// sampling a stretch of so many windows has no sample with a chance of e^-8.
const JOINED: usize = 256;

/// The pieces of one template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Its chunks with their lengths in bytes: ascending, distinct, all of them evidence otherwise.
    pub chunks: Vec<(ChunkHash, u32)>,
    /// Its window fingerprints: ascending, distinct.
    pub fingerprints: Vec<Fingerprint>,
}

impl Template {
    /// What at least `share` (0..=1) of these contents have, and at least one.
    ///
    /// A content whose signature has a higher level than a fingerprint cannot show it: such
    /// contents have no say in it, but at least half of all must have one, and two if there are
    /// two. So the dense samples of the smaller contents are used as far as most contents are
    /// small.
    pub fn common(contents: &[Sketch<'_>], share: f64) -> Self {
        let enough = |having: usize, among: usize| {
            // Millionths are all that a share on the command line has.
            having > 0 && having as f64 >= share * among as f64 - 1e-6
        };
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
        }
    }

    /// Whether there is no piece in it.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.fingerprints.is_empty()
    }

    /// Bytes of its chunks, each once.
    pub fn bytes(&self) -> ByteLen {
        self.chunks
            .iter()
            .map(|&(_, len)| ByteLen(u64::from(len)))
            .sum()
    }
}

/// The pieces of all templates. None is a template by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Templates {
    /// What files are chunked and sampled with.
    params: Params,
    chunks: HashSet<(ChunkHash, u32)>,
    /// The posting keys of `chunks`.
    keys: HashSet<u64>,
    fingerprints: HashSet<u64>,
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
        self.chunks.extend(template.chunks.iter().copied());
        let keys = template.chunks.iter().map(|(hash, _)| hash.posting_key());
        self.keys.extend(keys);
        self.fingerprints
            .extend(template.fingerprints.iter().map(|f| f.0));
    }

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.fingerprints.is_empty()
    }

    /// How many fingerprints are template: at most so many were taken from any signature.
    pub fn fingerprints(&self) -> usize {
        self.fingerprints.len()
    }

    fn has(&self, run: &ChunkRun) -> bool {
        self.chunks.contains(&(run.hash, run.len))
    }

    /// [`Self::payload`] of bytes that are not needed otherwise.
    pub fn into_payload(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.payload(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(payload) => payload,
        }
    }

    /// The bytes without what is template, for measures that are computed on bytes.
    ///
    /// Left out are the template's chunks and windows, and what lies between two of its windows
    /// that begin no more than `JOINED` bytes apart: of a template only a sample of the windows is
    /// known.
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out: Vec<Range<usize>> = Vec::new();
        let digest = Digest::of(bytes, &self.params);
        for (at, run) in digest.chunks.positions().filter(|(_, run)| self.has(run)) {
            let len = u64::from(run.len) * run.count;
            out.push(at as usize..(at + len) as usize);
        }
        let mut windows: Vec<Range<usize>> = Vec::new();
        Scanner::new(&self.params).scan(bytes, &mut |hit| {
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
            let out = self.has(run);
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
            .retain(|f| !self.fingerprints.contains(&f.0));
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
        self.fingerprints.contains(&fingerprint.0)
    }
}

#[cfg(test)]
mod tests;
