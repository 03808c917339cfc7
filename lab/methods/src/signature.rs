//! Signatures: the features that methods keep of a content.

use crate::chunked::ChunkCounts;
use crate::feature::Feature;
use crate::sif;

/// The data that a method stores for a content. It can only be compared with signatures of the same
/// params id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodSignature(pub(crate) Form);

/// The forms of signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Distinct fingerprints, ascending: `Mod_n`, `Min_n`, `BSW_n`.
    Set(Vec<u64>),
    /// The least value of each hash function: `Sketch_n`. It is empty if the content has no
    /// features.
    Slots(Vec<u64>),
    /// Distinct fingerprints, ascending, with how often each occurs, and how many low bits of all
    /// are zero: sif. For sorted5 the level is 0, and the counts say how many chunks have this
    /// hash.
    Counted {
        level: u8,
        fingerprints: Vec<(u64, u64)>,
    },
    /// Distinct chunks (name, bytes), ascending, with how often each occurs: TTTD, BSW.
    Chunks(Vec<((u64, u64), u64)>),
    /// Distinct shingles that 2 to the level divides, ascending: `V_i`.
    Sized { level: u8, values: Vec<u64> },
    /// Distinct shingles of a sketch, ascending, and how many of them make a super shingle.
    Super { length: u8, shingles: Vec<u64> },
}

impl MethodSignature {
    /// The number of distinct fingerprints, chunks or super shingles.
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

    /// Returns whether nothing was kept, so that the content is too small to judge.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of fingerprints with repeats, from which sif computes percentages.
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

    /// All entries, for people and other programs: fingerprints and chunks ascending, those of
    /// `Sketch_n` slot by slot. A [`Feature`] has the length of a chunk, and how often it occurs if
    /// that counts.
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

    /// Its chunks, ascending, with how often each occurs. A method without chunks has none.
    pub fn chunk_counts(&self) -> &ChunkCounts {
        match &self.0 {
            Form::Chunks(chunks) => chunks,
            _ => &[],
        }
    }
}
