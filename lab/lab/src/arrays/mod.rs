//! The two arrays of Kasprzak et al. 2008 as files: made, merged, mapped and searched.
//!
//! [`resemble_methods::arrays`] says what the arrays are and how they are written;
//! `docs/inverted-index.md` is the page about them.
//!
//! ```text
//! step 1  new documents ─► postings in buckets by value
//! step 2  buckets ─► sorted, a bucket at a time ─┐
//! step 3  old parts, mapped ─────────────────────┴─► merged, list by list ─► new parts
//! step 4  documents, read off the mapped parts ─► looked up in the mapped parts ─► pairs
//! ```
//!
//! 1. **A state is a set of parts** that a file named `current` lists. Parts are written whole,
//!    synced and never changed again; a new state has new parts, and `current` is replaced by a
//!    rename. So parts can be mapped ([`resemble_mapped`]), and a reader of the old state keeps it.
//! 2. **Memory.** Building holds one bucket in memory. Merging reads old lists from the mapped
//!    parts, which the kernel may drop at any time. It writes through two buffers. Only eight bytes
//!    for each document grow with the collection.
//! 3. **The first run is a merge into nothing**, and documents are removed by a merge too.
//! 4. **Shards.** Values are cut into ranges for building and documents into ranges for searching.
//!    For each range the running program starts a process of itself (`shards`). One process makes
//!    the same bytes for the whole range, because nothing depends on where a range ends.

mod build;
mod folder;
mod mapped;
mod search;
mod shards;
mod values;
mod write;

use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::PathBuf;

use resemble_mapped::MapError;
use resemble_methods::arrays::ArrayError;

pub use build::ArraysUpdate;
pub use folder::{ArraysFolder, pairs_in_shards};
pub use mapped::MappedParts;
pub use search::{CommonChunks, pairs, pairs_among, pairs_on};
pub use shards::worker;
pub use values::DocumentValues;

/// The reason why there is no answer from arrays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArraysError {
    /// A file cannot be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// The verb of the failed operation.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A file cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A file does not hold arrays, or is damaged.
    #[error("{} cannot be used as arrays: {source}", path.display())]
    Array {
        /// The file, or the folder of several files.
        path: PathBuf,
        /// The damage.
        source: ArrayError,
    },
    /// A worker process failed.
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

    /// Returns whether rebuilding the arrays would help.
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Map(_) | Self::Array { .. })
    }
}

/// A random name of 16 hex digits.
pub(crate) fn fresh_name() -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{random:016x}")
}

#[cfg(test)]
mod tests;
