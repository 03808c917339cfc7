//! Clustering out of core, in the four phases of Broder, Glassman, Manasse & Zweig 1997 ("The
//! clustering algorithm").
//!
//! ```text
//! documents ─► 1 sketch ─► (eliminate) ─► 2 <shingle, id> sorted ─► 3 <id, id, count> sorted ─► 4 union-find ─► clusters
//!              sketches     one of each    shingles                  pairs                          │
//!              documents    equal sketch   ◄──────────── kept in the work folder ─────────────►     └ repeated for each policy
//! ```
//!
//! 1. **Divide, sort, merge.** Records are collected into runs that fit the memory given, sorted
//!    and put into files without names, as `groups` sorts; the runs are merged while the next phase
//!    reads them. Of each document some 28 bytes are in memory besides (its class, its counts, the
//!    union-find), as in the paper's last phase.
//! 2. **A batch** ([`batch::ClusterBatch`]) takes new documents only: sorted entries are merged with those
//!    that are kept, pairs are formed where one of the two is new, and their counts are added to
//!    the kept ones. A shingle that becomes common with the batch takes its old pairs back (counts
//!    of -1). So what is kept after any batches is what one batch of everything would have kept.
//! 3. **Equal sketches run once.** Identical and lexically equivalent documents have equal
//!    sketches, so the class of a sketch holds them all; the least number of a class stands for it
//!    and the others are put back into its cluster. A document without a shingle equals only what
//!    has its bytes.
//! 4. **A policy** ([`cluster::Policy`]) is a threshold, with containment or without: phase 4
//!    alone, on the kept pairs. `MOD_m` needs the counts only; of `MIN_s` and `V_i` a pair that has
//!    anything in common is looked at in its two sketches. Super shingles have no third phase:
//!    documents in one list are together.
//! 5. **Numbers mean nothing outside.** Documents are numbered as they come, so nothing of an
//!    answer may depend on their numbers: clusters are sets, links are between classes of equal
//!    sketches.
//!
//! PhaseResults files belong together if their headers name one generation; they are replaced by renaming,
//! and whatever does not fit (killed half-way, damaged, of other parameters) is told before it is
//! used. `docs/clustering.md` is the page.

pub mod batch;
pub mod cluster;
mod files;
mod records;
mod sketches;

use resemble_methods::MethodParams;

pub use batch::{ClusterBatch, Eliminated, SketchedDocument};
pub use cluster::{ClusterLink, Clusters, PhaseResults, Policy};

/// Shingles in more documents than this are ignored (the paper's, "Common shingles").
pub const COMMON: u32 = 1000;

/// Memory for sorting unless another is asked for.
pub const MEMORY: u64 = 512 << 20;

/// What is to be clustered how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPlan {
    /// Of `shingle` or `super-shingle`.
    pub params: MethodParams,
    /// Shingles in more documents than this are ignored; `None`: none is.
    pub common: Option<u32>,
    /// Bytes for sorting.
    pub memory: u64,
    /// Whether one of all documents with equal sketches stands for all. The clusters are the same
    /// without; tests ask.
    pub eliminate: bool,
}

impl ClusterPlan {
    /// As the paper has it.
    pub const fn new(params: MethodParams) -> Self {
        Self {
            params,
            common: Some(COMMON),
            memory: MEMORY,
            eliminate: true,
        }
    }

    /// What the kept files are of: whatever could change a byte of them.
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
