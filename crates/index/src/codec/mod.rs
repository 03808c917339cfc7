//! The bytes of rows: pure functions from values to bytes and back.
//!
//! Numbers are LEB128 varints unless a table says otherwise. A field of variable length comes last
//! if it has no length of its own. Decoding never panics and never trusts a length. A row that does
//! not decode is [`Malformed`], and the reader reports a damaged index.

pub(crate) mod bits;
pub(crate) mod inodes;
pub(crate) mod lists;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub mod varint;

use crate::fault::Fault;

/// The kind of a row that does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl From<Malformed> for Fault {
    fn from(row: Malformed) -> Self {
        Self::Damaged(format!("a row of `{}` does not decode", row.0))
    }
}
