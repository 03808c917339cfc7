//! Bytes of the rows: pure functions from values to bytes and back.
//!
//! Numbers are LEB128 varints unless a table says otherwise; whatever is of variable length and
//! needs no length of its own stands last. Decoding never panics and never trusts a length: a row
//! that does not decode is [`Malformed`], and the reader of the index learns that it is damaged.

pub(crate) mod bits;
pub(crate) mod inodes;
pub(crate) mod lists;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub mod varint;

use crate::fault::Fault;

/// A row that does not decode: which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl From<Malformed> for Fault {
    fn from(row: Malformed) -> Self {
        Self::Damaged(format!("a row of `{}` does not decode", row.0))
    }
}
