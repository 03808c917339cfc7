//! Makes, merges, maps and searches the two arrays of Kasprzak et al. 2008, which are stored in
//! files.
//!
//! [`resemble_methods::arrays`] defines the arrays and their file format. `docs/inverted-index.md`
//! describes them for users.
//!
//! ```text
//! step 1  new documents ─► postings in buckets by value
//! step 2  buckets ─► sorted, a bucket at a time ─┐
//! step 3  old parts, mapped ─────────────────────┴─► merged, list by list ─► new parts
//! step 4  documents, read off the mapped parts ─► looked up in the mapped parts ─► pairs
//! ```
//!
//! 1. **A state is a set of parts** that a file named `current` lists. Parts are written whole,
//!    synced and never changed again. A new state has new parts, and a rename replaces `current`.
//!    So parts can be mapped ([`resemble_mapped`]), and a process that reads the old state can go
//!    on with it.
//! 2. **Memory.** Building holds one bucket in memory. Merging reads the old lists from mapped
//!    parts, and writes through two buffers. The kernel may drop the pages of mapped parts at any
//!    time. In addition, some bytes for each document stay in memory.
//! 3. **The first run also merges.** Its old state is empty. Removing documents is a merge, too.
//! 4. **Shards.** Building divides the values into ranges, and searching divides the documents into
//!    ranges. For each range the running program starts another process of itself (`shards`). A
//!    single process makes the same lists, because no list depends on where a range ends.

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

/// The reason why arrays cannot be made or searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArraysError {
    /// A file or a folder cannot be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// The verb of the failed operation.
        verb: &'static str,
        /// The file or the folder.
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
        /// The path of the file, or of its folder if it is unknown which file of the folder is
        /// damaged.
        path: PathBuf,
        /// The damage that was found.
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
