//! The two arrays of Kasprzak et al. 2008 as files: made, merged, mapped and searched.
//!
//! What they are and how they stand in a file: [`resemble_methods::arrays`];
//! `docs/inverted-index.md` is the page.
//!
//! ```text
//! new documents ─► postings in buckets by value ─► sorted, a bucket at a time ─┐
//!                  (step 1)                        (step 2)                    ├─► merged, list by list ─► new parts
//!                                                  old parts, mapped ──────────┘   (step 3)
//! documents to be looked up, read off the mapped parts ─► searched in the mapped parts ─► pairs   (step 4)
//! ```
//!
//! 1. **A state is a set of parts** that a file named `current` lists. Parts are written whole,
//!    synced and never changed again; a new state has new parts, and `current` is replaced by a
//!    rename. So parts can be mapped ([`resemble_mapped`]), and whoever has the old state keeps it.
//! 2. **Memory.** Building holds one bucket; merging reads old lists from the mapped parts, which
//!    the kernel may forget at any time, and writes through two buffers. What grows with the
//!    collection is eight bytes a document.
//! 3. **A first run is a merge into nothing**, and a document that leaves, leaves in a merge.
//! 4. **Shards.** Values are cut into ranges for building and documents into ranges for searching,
//!    for each a process of the running program that is told where its work lies (`shards`). One
//!    process does the same for the whole range: the bytes are the same, because nothing depends on
//!    where a range ends.

mod build;
mod folder;
mod search;
mod shards;
mod values;
mod write;

use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::PathBuf;

use resemble_mapped::MapError;
use resemble_methods::arrays::ArrayError;

pub use folder::{ArraysFolder, ArraysUpdate, MappedParts};
pub use search::{CommonChunks, pairs, pairs_among, pairs_in_shards, pairs_on};
pub use shards::worker;
pub use values::DocumentValues;

/// Why there is no answer from arrays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArraysError {
    /// A file cannot be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file is not mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A file is no arrays, or damaged.
    #[error("{} cannot be used as arrays: {source}", path.display())]
    Array {
        /// The file, or the folder of several.
        path: PathBuf,
        /// What is wrong.
        source: ArrayError,
    },
    /// A process of ours did not do its work.
    #[error("a worker process for the arrays failed: {0}")]
    Worker(String),
}

impl ArraysError {
    pub(crate) fn io(verb: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }

    fn array(path: &std::path::Path) -> impl FnOnce(ArrayError) -> Self {
        let path = path.to_owned();
        move |source| Self::Array { path, source }
    }

    /// Whether making the arrays anew would help.
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Map(_) | Self::Array { .. })
    }
}

/// A name that nothing has yet: 16 hex digits.
pub(crate) fn fresh_name() -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{random:016x}")
}

#[cfg(test)]
mod tests;
