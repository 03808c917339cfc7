//! The two arrays of Kasprzak et al. 2008, section 4.3: an inverted index.
//!
//! ```text
//! offsets   of value 0, of value 1, …, one more than there are values
//!               │           │
//!               ▼           ▼
//! ids       5431 9123   (none)   14 5013 8550 …           documents, ascending for each value
//! ```
//!
//! The arrays lead from the hash of a chunk to the documents that have it. This is the only
//! direction that a search for similar documents needs. [`layout`] defines the file format.
//! `search` counts the common chunks of documents, and `merging` merges old and new documents.
//! [`sort`] turns documents into lists. [`deltas`] is the experiment of section 5 with smaller
//! offsets. This module neither reads nor writes files.
//!
//! # Choices
//!
//! 1. **A document is in a list once for each of its chunks with the hash of the list.** So
//!    estimates are never below exact similarities; see [`crate::sorted5`].
//! 2. **Documents are numbered in the order of their keys** (ids of contents, which are never used
//!    again). So old and new numbers are in the same order, and lists stay sorted while they are
//!    merged. **Merging gives the same bytes as building the arrays anew.**
//! 3. **Ids take whole bytes**, the fewest that the number of documents needs (three in the paper).
//!    Ids that do not take whole bytes would save at most seven bits each. But bytes are
//!    addressable and are copied without shifting, and parts can be joined by copying.
//! 4. **A file is a part** with a range of values, and with all documents. Values can be cut into
//!    any ranges without changing the lists: into a single file, or into one file for each machine.

pub mod deltas;
pub mod layout;
mod merging;
mod search;
pub mod sort;

pub use layout::{ArrayError, Arrays, Documents, Header, Ids};
pub use merging::{GONE, Merging};
pub use search::{Counted, Counter, Parts};

#[cfg(test)]
mod tests;
