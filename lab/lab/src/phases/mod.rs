//! Out-of-core clustering (on disk, for more documents than memory could hold), in the four phases
//! of Broder, Glassman, Manasse & Zweig 1997 ("The clustering algorithm").
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
//! 1. **Divide, sort, merge.** As in `groups`, records are collected into runs that fit into
//!    memory, sorted, and written to unnamed files. The runs are merged while the next phase reads
//!    them. Some 28 bytes of each document stay in memory as well (its class, its counts, the
//!    union-find), as in the paper's last phase.
//! 2. **A batch** ([`batch::ClusterBatch`]) takes new documents only. Their sorted entries are
//!    merged with those in the folder. Pairs are formed if one of the two documents is new, and
//!    their counts are added to those in the folder. If a shingle becomes common, counts of -1
//!    cancel its old pairs. So several batches leave the results that one batch of everything
//!    would.
//! 3. **Equal sketches are processed once.** Identical and lexically equivalent documents have
//!    equal sketches, so they are all in the class of that sketch. The least number of a class
//!    represents it, and the others are added to its cluster in the end. A document without a
//!    shingle equals only documents with its bytes.
//! 4. **A policy** ([`cluster::Policy`]) is a threshold, with containment or without. It needs
//!    phase 4 alone, on the pairs of the folder. `MOD_m` needs only their counts; for `MIN_s` and
//!    `V_i` the two sketches of each pair are compared. Super shingles have no third phase: all
//!    documents of a list are in one cluster.
//! 5. **Numbers have no meaning outside.** Documents are numbered in the order of their arrival, so
//!    no answer may depend on their numbers: clusters are sets, and links are between classes of
//!    equal sketches.
//!
//! Files belong together if their headers name the same generation. They are replaced by renaming.
//! Files that a killed process left, that are damaged, or that have other parameters are recognized
//! before they are used. `docs/clustering.md` is the page about all this.

pub mod batch;
pub mod cluster;
mod files;
mod records;
mod sketches;

use resemble_methods::MethodParams;

pub use batch::{ClusterBatch, Eliminated, SketchedDocument};
pub use cluster::{ClusterLink, Clusters, PhaseResults, Policy};

/// Shingles in more documents than this are ignored (the paper's number, "Common shingles").
pub const COMMON: u32 = 1000;

/// The memory for sorting, in bytes, unless another is asked for.
pub const MEMORY: u64 = 512 << 20;

/// Settings of a clustering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPlan {
    /// The parameters of `shingle` or `super-shingle`.
    pub params: MethodParams,
    /// Shingles in more documents than this are ignored; `None` if none is ignored.
    pub common: Option<u32>,
    /// The memory for sorting, in bytes.
    pub memory: u64,
    /// True if one document represents all with equal sketches. The clusters are the same without
    /// it, which tests check.
    pub eliminate: bool,
}

impl ClusterPlan {
    /// The plan of the paper.
    pub const fn new(params: MethodParams) -> Self {
        Self {
            params,
            common: Some(COMMON),
            memory: MEMORY,
            eliminate: true,
        }
    }

    /// Returns an id of everything that could change a byte of the files in the work folder.
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
