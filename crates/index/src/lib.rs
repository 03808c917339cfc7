//! `resemble-index`: contents and files in one redb file.
//!
//! The crate rests on three decisions:
//!
//! 1. **The index is about contents. Files point to contents.** Postings, chunk lists and
//!    signatures are stored for a content, which is found by its digest. A rename, a copy, a
//!    touched file or a new hard link changes only rows of names and files.
//! 2. **A batch is a transaction.** [`Index::apply`] takes a list of [`Change`]s, and makes either
//!    all of them visible together, or none. A [`Snapshot`] always shows the same commit. Any
//!    number of threads can query it while the next batch is written.
//! 3. **The file is derived data.** If the file is damaged, or was written by another version or
//!    with other parameters, it is renamed. The index is then built anew; see [`open`].
//!
//! ```text
//! Change ─► batch: tree, files, contents ─► postings ─► segments     one redb transaction
//!                                                │ codec, schema ─► store (redb)
//! Snapshot ◄─ rows, paths, lists ◄───────────────┘
//! ```
//!
//! `docs/index-format.md` describes the layout of the file. Only `store`, the two backends below it
//! (`checked` and `unwritten`) and the tests use redb.
//!
//! ```
//! use resemble_core::Params;
//! use resemble_index::{Change, Entry, Index};
//!
//! let index = Index::in_memory(&Params::default())?;
//! index.apply(vec![Change::Dir("/srv/docs".into())])?;
//! let snapshot = index.snapshot()?;
//! assert!(matches!(snapshot.entry("/srv/docs".as_ref())?, Some(Entry::Dir(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod batch;
pub mod change;
mod checked;
mod codec;
mod departures;
pub mod error;
mod fault;
mod footprint;
mod health;
mod heirs;
pub mod index;
mod measures;
pub mod open;
mod origins;
pub mod packed;
mod place;
pub mod rows;
mod schema;
mod segments;
pub mod snapshot;
mod state;
mod store;
#[cfg(any(debug_assertions, feature = "testing"))]
pub mod testing;
mod unwritten;

#[cfg(test)]
mod tests;

pub use change::{Applied, Change, ContentRef, FileContent, NewLook, NewPart, NewState};
pub use checked::FORMAT_VERSION;
pub use codec::varint;
pub use departures::{Departed, Renamed};
pub use error::{ApplyError, OpenError, ReadError};
pub use footprint::Footprint;
pub use index::{Index, MergeWork, Options, VERIFY_BLOCKS};
pub use place::set_aside;
pub use rows::{
    ContentRow, Entry, FileRow, FileStat, FileState, FsId, Gap, GapCounts, LeftOutRule, Look,
    PartRole, PartRow, SetAside, SkippedPart, SpecialKind, Timestamp, Totals,
};
pub use schema::{PostingKind, TABLES};
pub use snapshot::Snapshot;
pub use snapshot::departed::DepartureLog;
pub use snapshot::gaps::{DirGaps, UnlistedDir};
pub use snapshot::origins::FirstSeen;
