//! A content that is prepared for comparison with many others.
//!
//! Half of the work of an estimate concerns only one of the two contents: removing boilerplate, and
//! sorting samples and chunks for look-ups. A content that is compared with a hundred others is
//! prepared once.

use crate::ids::{ByteLen, ChunkHash, Fingerprint};
use crate::sample::Repeats;
use crate::similarity::pattern::Pattern;
use crate::similarity::{Boilerplate, Sketch};

/// The data of one content that an estimate needs, without boilerplate.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) size: ByteLen,
    pub(super) level: u8,
    /// The number of samples, including boilerplate.
    pub(super) sampled: u64,
    /// The share of a text that is repeated, if this share is known.
    pub(super) repeats: Option<Repeats>,
    /// The usable samples, in the order of the file.
    samples: Vec<Fingerprint>,
    /// The same samples with their places in `samples`, sorted.
    sorted: Vec<(Fingerprint, u32)>,
    /// The distinct chunks that are evidence, and how often each occurs; sorted.
    chunks: Vec<((ChunkHash, u32), u64)>,
    /// The number of bytes in these chunks. Every occurrence is counted.
    evidence: u64,
}

impl Prepared {
    /// Prepares a content for pairs with this boilerplate.
    pub fn of(sketch: &Sketch<'_>, boilerplate: &dyn Boilerplate) -> Self {
        let samples: Vec<Fingerprint> = sketch
            .signature
            .fingerprints
            .iter()
            .copied()
            .filter(|&f| !boilerplate.fingerprint(f))
            .collect();
        let mut sorted: Vec<(Fingerprint, u32)> = samples.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let evidence = sketch.chunks.0.iter().filter(|run| run.is_evidence());
        let mut chunks: Vec<((ChunkHash, u32), u64)> = evidence
            .map(|run| ((run.hash, run.len), run.count))
            .collect();
        chunks.sort_unstable();
        chunks.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        let bytes = |&((_, len), count): &((ChunkHash, u32), u64)| u64::from(len) * count;
        Self {
            size: sketch.size,
            level: sketch.signature.level,
            sampled: sketch.signature.fingerprints.len() as u64,
            repeats: sketch.signature.repeats,
            samples,
            sorted,
            evidence: chunks.iter().map(bytes).sum(),
            chunks,
        }
    }

    /// Estimates the number of distinct windows and its relative standard deviation.
    pub(super) fn distinct(&self) -> (f64, f64) {
        let sampled = self.sampled as f64;
        let known = 1.0 - 0.5f64.powi(i32::from(self.level));
        let deviation = (known / sampled.max(1.0)).sqrt();
        (sampled * 2f64.powi(i32::from(self.level)), deviation)
    }

    /// Counts the samples at a level, without boilerplate.
    pub fn samples_at(&self, level: u8) -> u64 {
        self.samples.iter().filter(|f| f.level() >= level).count() as u64
    }

    /// Returns whether the content has this fingerprint and the fingerprint is not boilerplate.
    pub fn has_fingerprint(&self, fingerprint: Fingerprint) -> bool {
        let sorted = &self.sorted;
        sorted
            .binary_search_by_key(&fingerprint, |&(own, _)| own)
            .is_ok()
    }

    /// Returns whether the content has a chunk of this hash and length (bytes) that is evidence.
    pub fn has_chunk(&self, hash: ChunkHash, len: u32) -> bool {
        let chunks = &self.chunks;
        chunks
            .binary_search_by_key(&(hash, len), |&(own, _)| own)
            .is_ok()
    }

    /// Compares the samples of two contents at a level at which the samples of both are complete.
    /// Returns the patterns of a's samples that are in b, and of b's samples that are in a.
    pub(super) fn common_samples(&self, other: &Self, level: u8) -> [Pattern; 2] {
        let mut of_other = vec![false; other.samples.len()];
        let at_level = |f: &Fingerprint| f.level() >= level;
        let own = self.samples.iter().filter(|&f| at_level(f)).map(|f| {
            let found = other.sorted.binary_search_by_key(f, |&(f, _)| f);
            if let Ok(at) = found {
                of_other[other.sorted[at].1 as usize] = true;
            }
            found.is_ok()
        });
        let own = Pattern::of(own);
        let flagged = other.samples.iter().zip(of_other);
        let others = flagged.filter(|(f, _)| at_level(f));
        [own, Pattern::of(others.map(|(_, shared)| shared))]
    }

    /// Compares the chunks of two contents, without boilerplate. Considers only chunks that are
    /// evidence. Returns for each content the share of the bytes in its chunks that are in common
    /// chunks. Every occurrence is counted. Also returns the bytes of the common chunks, each
    /// counted as often as both contents have it. They are `None` if no chunk is common.
    pub(super) fn common_chunks(
        &self,
        other: &Self,
        boilerplate: &dyn Boilerplate,
    ) -> ([f64; 2], Option<ByteLen>) {
        let mut bytes = None;
        let (mut all, mut shared) = ([self.evidence, other.evidence], [0, 0]);
        let (mut i, mut j) = (0, 0);
        while let (Some((a, m)), Some((b, n))) = (self.chunks.get(i), other.chunks.get(j)) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    let len = u64::from(a.1);
                    if boilerplate.chunk(a.0.posting_key()) {
                        all[0] -= len * m;
                        all[1] -= len * n;
                    } else {
                        shared[0] += len * m;
                        shared[1] += len * n;
                        *bytes.get_or_insert(ByteLen::ZERO) += ByteLen(len * m.min(n));
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        let share = |side: usize| shared[side] as f64 / all[side].max(1) as f64;
        ([share(0), share(1)], bytes)
    }
}
