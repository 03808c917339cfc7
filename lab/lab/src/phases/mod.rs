//! Clusters more documents than memory can hold. This is done on disk, in the four phases of
//! Broder, Glassman, Manasse & Zweig 1997 ("The clustering algorithm").
//!
//! ```text
//! phase   input                makes                          in the work folder
//!   1     documents            sketches                       documents, sketches
//!         sketches             one of all with equal sketches
//!   2     these sketches       <shingle, id>, sorted          shingles
//!   3     <shingle, id>        <id, id, count>, sorted        pairs, ignored shingles
//!   4     <id, id, count>      clusters, by union-find        nothing: repeated for each policy
//! ```
//!
//! 1. **Divide, sort, merge.** Records are collected into runs that fit into memory, sorted, and
//!    written to unnamed files. (`groups` does the same.) The runs are merged while the next phase
//!    reads them. As in the last phase of the paper, about 28 bytes for each document stay in
//!    memory: its class, its counts, and its entry of the union-find.
//! 2. **A batch** ([`batch::ClusterBatch`]) processes only new documents. Their sorted entries are
//!    merged with those in the folder. Pairs are formed only if at least one of the two documents
//!    is new, and their counts are added to those in the folder. If a shingle becomes common,
//!    counts of -1 cancel its old pairs. So several batches give the same results as one batch of
//!    all documents.
//! 3. **Equal sketches are processed once.** Identical and lexically equivalent documents have
//!    equal sketches, so they are in one class. The document with the least number represents its
//!    class. The others are added to its cluster at the end. A document without shingles shares its
//!    class only with documents that have the same bytes.
//! 4. **A policy** ([`cluster::Policy`]) is a threshold, with or without containment. Another
//!    policy repeats only phase 4, on the pairs in the folder. For `MOD_m`, phase 4 needs only the
//!    counts of the pairs. For `MIN_s` and `V_i`, it compares the two sketches of each pair. Super
//!    shingles have no third phase, because all documents with a common super shingle are in one
//!    cluster.
//! 5. **Numbers of documents do not appear in answers.** Documents are numbered as they arrive, so
//!    no answer may depend on their numbers. Clusters are sets, and links are between classes of
//!    equal sketches.
//!
//! Files belong together if their headers name the same generation. They are replaced by renaming.
//! A file is checked before it is used, because it may be damaged, have other parameters, or be
//! left by a killed process. `docs/clustering.md` describes all of this for users.

pub mod batch;
pub mod cluster;
mod files;
mod records;
mod sketches;

use resemble_methods::MethodParams;

pub use batch::{ClusterBatch, Eliminated, SketchedDocument};
pub use cluster::{ClusterLink, Clusters, PhaseResults, Policy};

/// A shingle is ignored if more than this number of documents have it. This is the paper's number
/// ("Common shingles").
pub const COMMON: u32 = 1000;

/// The default memory for sorting, in bytes.
pub const MEMORY: u64 = 512 << 20;

/// Settings of a clustering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPlan {
    /// The parameters of `shingle` or `super-shingle`.
    pub params: MethodParams,
    /// A shingle is ignored if more than this number of documents have it. If it is `None`, no
    /// shingle is ignored.
    pub common: Option<u32>,
    /// The memory for sorting, in bytes.
    pub memory: u64,
    /// True if one document represents all documents with the same sketch. Tests check that `false`
    /// gives the same clusters.
    pub eliminate: bool,
}

impl ClusterPlan {
    /// Returns the plan of the paper for these parameters.
    pub const fn new(params: MethodParams) -> Self {
        Self {
            params,
            common: Some(COMMON),
            memory: MEMORY,
            eliminate: true,
        }
    }

    /// Returns an id of the plan. Two plans have different ids if a byte of the files in the work
    /// folder could differ.
    pub fn id(&self) -> String {
        let common = match self.common {
            Some(common) => common.to_string(),
            None => "off".to_owned(),
        };
        let all = if self.eliminate { "" } else { ".all" };
        format!("{}.common-{common}{all}", self.params)
    }
}

#[cfg(test)]
mod tests;
