//! Measures the share of a content that lies in all its partners together.
//!
//! The shares of several partners cannot be added, because common pieces would be counted twice. So
//! the pieces that any partner has are recorded, and are measured as if they were one file.

use resemble_core::bits::BitSet;
use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{ChunkList, ContentKind, Score, Signature};
use resemble_relate::judge::estimate::estimate;
use resemble_relate::nominate::evidence::StoredSketch;

use super::ready::Ready;

/// The pieces of a content that at least one of its partners has.
#[derive(Default)]
pub(super) struct Cover {
    pub(super) partners: u32,
    /// The greatest level of the partners' signatures. A signature may lack fingerprints below this
    /// level.
    level: u8,
    fingerprints: BitSet,
    chunks: BitSet,
}

impl Cover {
    /// Adds the pieces that a partner has. The pieces may include boilerplate, because the score
    /// ignores it.
    pub(super) fn add(&mut self, subject: &StoredSketch, partner: &Ready) {
        self.partners += 1;
        self.level = self.level.max(partner.kept.signature.level);
        for (at, &fingerprint) in (0..).zip(&subject.signature.fingerprints) {
            if partner.prepared.has_fingerprint(fingerprint) {
                self.fingerprints.insert(at);
            }
        }
        for (at, run) in (0..).zip(&subject.chunks.0) {
            if partner.prepared.has_chunk(run.hash, run.len) {
                self.chunks.insert(at);
            }
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.partners += other.partners;
        self.level = self.level.max(other.level);
        for (ours, theirs) in [
            (&mut self.fingerprints, &other.fingerprints),
            (&mut self.chunks, &other.chunks),
        ] {
            theirs.iter().for_each(|at| ours.insert(at));
        }
    }

    /// Returns the share of the subject that lies in its partners, as if the partners were one
    /// file.
    pub(super) fn score(&self, subject: &StoredSketch, boilerplate: &dyn Boilerplate) -> Score {
        let level = self.level.max(subject.signature.level);
        let found = (0..).zip(&subject.signature.fingerprints);
        let fingerprints = found
            .filter(|&(at, f)| f.level() >= level && self.fingerprints.has(at))
            .map(|(_, &f)| f)
            .collect();
        let runs = (0..).zip(&subject.chunks.0);
        let chunks = runs.filter(|&(at, _)| self.chunks.has(at));
        let chunks = ChunkList(chunks.map(|(_, &run)| run).collect());
        let signature = Signature {
            level,
            fingerprints,
            repeats: subject.signature.repeats,
        };
        let together = Sketch {
            size: subject.size,
            chunks: &chunks,
            signature: &signature,
        };
        let kind = if subject.kind == ContentKind::Empty {
            ContentKind::Binary
        } else {
            subject.kind
        };
        let measures = estimate((&subject.sketch(), kind), (&together, kind), boilerplate);
        measures.a_in_b.unwrap_or(Score::ZERO)
    }
}
