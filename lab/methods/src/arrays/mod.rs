//! The inverted index of Kasprzak et al. 2008, section 4.3: two arrays.
//!
//! ```text
//! offsets   of value 0, of value 1, …, one more than there are values
//!               │           │
//!               ▼           ▼
//! ids       5431 9123   (none)   14 5013 8550 …           documents, ascending for each value
//! ```
//!
//! The arrays lead from the hash of a chunk to the documents that have it. Finding similar
//! documents takes no other direction. [`layout`] is the format of the arrays in a file. `search`
//! counts the common chunks of documents, and `merging` merges two sets of documents. [`sort`]
//! inverts documents into lists. [`deltas`] is the experiment of section 5 with smaller offsets.
//! Nothing here reads or writes a file.
//!
//! # Choices
//!
//! 1. **A document is in a list as often as it has chunks of that hash**, so that estimates are
//!    never below exact figures: [`crate::sorted5`].
//! 2. **Documents are numbered in the order of their keys** (ids of contents, which are never used
//!    again). So old and new numbers are in the same order, and lists stay sorted while they are
//!    merged. **Merging gives the same bytes as building from nothing.**
//! 3. **Ids take whole bytes**, as few as the number of documents needs (three in the paper). Ids
//!    of bits would save at most seven bits each; bytes have an address, are copied without
//!    shifting, and parts can be joined by copying.
//! 4. **A file is a part** with a range of values and all documents. So any cut into ranges makes
//!    the same arrays: one file, or one for each machine.

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
