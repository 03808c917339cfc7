//! A catalogue as Parquet tables: docs/tables.md says what is in them. And what an engine made of
//! such tables: [`LinkTables`], docs/scale.md.
//!
//! ```text
//! catalogue ── records ──► files, parts ──────────► DIR/TABLE/catalogue=LABEL/rows.parquet
//!     │                                              ▲
//!     └── contents, by their names ──► contents, postings, then head and the manifest
//! ```
//!
//! # Choices
//!
//! 1. **From a catalogue**, which is the same bytes for the same state of a tree, whoever wrote it.
//!    So tables are, too, and say exactly what `resemble groups A.cat B.cat` is answered from.
//! 2. **Names of contents come from their digests** ([`cid`]), never from an engine: what counts up
//!    while it reads gives other numbers in each run, and the clusters of one run are not those of
//!    the next (text-dedup 28, graphframes 159). Two contents that would have one name are refused.
//! 3. **Contents and postings are in the order of these names.** The first pass over the catalogue
//!    notes where each content lies; the second reads them in order. 24 bytes are kept for each,
//!    and a group of rows; nothing is sorted that does not fit in memory.
//! 4. **Never thinned**: a content in two catalogues with two samples would be unlike itself.
//! 5. **Integers of 64 bits and bytes**, no other types: Spark has no unsigned numbers, and names
//!    are not UTF-8. Numbers are delta coded, as postings in order are few bits apart.
//! 6. **A table is complete or not there**: each is written beside its place, synchronised and
//!    renamed; the manifest, which has the digests of all, comes last.

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

/// The version of the tables: docs/tables.md.
pub const SCHEMA: i64 = 1;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// What is in the tables.
    pub totals: Totals,
    /// How many tables there are.
    pub tables: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Why tables were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The catalogue cannot be read.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A table cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The table, or its folder.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The samples of the catalogue are not all that there were.
    #[error(
        "the catalogue {label:?} has thinned samples, and tables of two catalogues with other \
         samples cannot be compared: export it with --within 100%"
    )]
    Thinned {
        /// Of the catalogue.
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
        /// One of them.
        first: ContentDigest,
        /// The other one.
        second: ContentDigest,
    },
}

/// The name of a content in all tables: its first eight bytes, or of a digest of it with a salt
/// that is not 0.
///
/// As a signed number, for Spark has no other ones.
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
