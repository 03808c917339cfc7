//! Writes a catalogue as Parquet tables, which docs/tables.md describes. Also reads the links that
//! an engine computed from such tables ([`LinkTables`], docs/scale.md).
//!
//! ```text
//! catalogue ── records ──► files, parts ──────────► DIR/TABLE/catalogue=LABEL/rows.parquet
//!     │                                              ▲
//!     └── contents, by their names ──► contents, postings, then head and the manifest
//! ```
//!
//! # Choices
//!
//! 1. **From a catalogue**, which has the same bytes for the same state of a tree. So the tables
//!    have the same bytes, too. They have exactly the data from which `resemble groups A.cat B.cat`
//!    is answered.
//! 2. **Names of contents are derived from their digests** ([`cid`]), never assigned by an engine.
//!    An engine that counts rows while it reads assigns other numbers in each run. The clusters of
//!    one run then do not match the clusters of the next run (text-dedup 28, graphframes 159). If
//!    two contents would have the same name, no tables are written.
//! 3. **Contents and postings are in the order of these names.** The first pass over the catalogue
//!    notes the place of each content; the second pass reads the contents in order. Memory holds 40
//!    bytes for each content (24 in the second pass), and a group of rows for each table. So
//!    everything that is sorted fits in memory.
//! 4. **Samples are never thinned**: otherwise a content could have different samples in two
//!    catalogues, and would differ from itself.
//! 5. **The only types are integers of 64 bits, and bytes**: Spark has no unsigned numbers, and
//!    names need not be UTF-8. Numbers are delta coded, because neighbouring numbers of sorted
//!    postings differ in few bits.
//! 6. **A table is complete or missing**: each table is written next to its final place,
//!    synchronised and renamed. The manifest, which has the digests of all tables, is written last.

mod links;
mod manifest;
mod order;
mod table;
mod write;

use std::io;
use std::path::PathBuf;

use resemble_catalogue::{CatalogueError, Totals};
use resemble_core::ContentDigest;
use sha2::{Digest as _, Sha256};

pub use links::{LinkRows, LinkTables, LinkTablesError};
pub use write::write;

/// The version of the tables, which docs/tables.md describes.
pub const SCHEMA: i64 = 1;

/// The result of writing tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The totals of the catalogue.
    pub totals: Totals,
    /// The number of tables.
    pub tables: u64,
    /// The number of bytes of all tables.
    pub bytes: u64,
}

/// The reason why tables were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The catalogue cannot be read, or was made with other parameters.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A table cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The table, or its folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The samples of the catalogue are thinned.
    #[error(
        "the catalogue {label:?} has thinned samples, and tables of two catalogues with other \
         samples cannot be compared: export it with --within 100%"
    )]
    Thinned {
        /// The label of the catalogue.
        label: String,
    },
    /// Two contents have the same name.
    #[error(
        "the contents {first} and {second} would both be called {cid}: give --salt a number, the \
         same for all tables that are asked together"
    )]
    Collision {
        /// The name.
        cid: i64,
        /// The first of the two contents.
        first: ContentDigest,
        /// The second of the two contents.
        second: ContentDigest,
    },
}

/// Returns the name of a content in all tables: the first eight bytes of its digest. With a salt
/// other than 0, it is the first eight bytes of a digest of the salt and the content's digest.
///
/// The number is signed, because Spark has no unsigned numbers.
pub fn cid(content: &ContentDigest, salt: u64) -> i64 {
    let first = |bytes: &[u8]| {
        let mut name = [0; 8];
        name.copy_from_slice(&bytes[..8]);
        i64::from_be_bytes(name)
    };
    if salt == 0 {
        return first(&content.0);
    }
    let salted = Sha256::new().chain_update(salt.to_le_bytes());
    first(&salted.chain_update(content.0).finalize())
}

#[cfg(test)]
mod tests;
