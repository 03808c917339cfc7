//! Signatures: the features of a content that a method keeps.

use crate::chunked::ChunkCounts;
use crate::feature::Feature;
use crate::sif;

/// The features of a content that a method keeps. A signature can only be compared with signatures
/// that have the same params id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodSignature(pub(crate) Form);

/// The forms of signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Distinct fingerprints, ascending: `Mod_n`, `Min_n`, `BSW_n`.
    Set(Vec<u64>),
    /// The smallest value of each hash function: `Sketch_n`. The list is empty if the content has
    /// no features.
    Slots(Vec<u64>),
    /// Distinct fingerprints in ascending order, with the number of times that each occurs: sif.
    /// The lowest `level` bits of every fingerprint are zero. For sorted5, the level is 0, and a
    /// count is the number of chunks with this hash.
    Counted {
        level: u8,
        fingerprints: Vec<(u64, u64)>,
    },
    /// Distinct chunks (name, bytes) in ascending order, with the number of times that each occurs:
    /// TTTD, BSW.
    Chunks(Vec<((u64, u64), u64)>),
    /// Distinct shingles in ascending order: `V_i`. 2^`level` divides each of them.
    Sized { level: u8, values: Vec<u64> },
    /// Distinct shingles of a sketch in ascending order, and the number of shingles that make a
    /// super shingle.
    Super { length: u8, shingles: Vec<u64> },
}

impl MethodSignature {
    /// Returns the number of entries: of distinct fingerprints, shingles, super shingles or chunks,
    /// or of the values of hash functions.
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

    /// Returns whether the signature is empty, so that the content is too small to judge.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of fingerprints or chunks, including repeats. Figures of sif and sorted5
    /// are divided by this number. If the method does not count repeats, it is [`Self::len`].
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

    /// Returns all entries, for people and other programs. The entries are in ascending order,
    /// except for `Sketch_n`: its entries are in the order of its functions. A [`Feature`] has the
    /// length of a chunk, and the number of its occurrences if the method counts occurrences.
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

    /// Returns the chunks in ascending order, with the number of times that each occurs. The list
    /// is empty for a method without chunks.
    pub fn chunk_counts(&self) -> &ChunkCounts {
        match &self.0 {
            Form::Chunks(chunks) => chunks,
            _ => &[],
        }
    }
}
