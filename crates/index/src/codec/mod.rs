//! Encodes and decodes rows with pure functions.
//!
//! Numbers are LEB128 varints unless the description of a table says otherwise. A field of variable
//! length has its length in front, or is the last field of its row. Decoding never panics and never
//! trusts a length. If a row cannot be decoded, the error is [`Malformed`], and the reader reports
//! a damaged index.

pub(crate) mod bits;
pub(crate) mod inodes;
pub(crate) mod lists;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub mod varint;

use crate::fault::Fault;

/// The error for a row that cannot be decoded. It names the table of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl From<Malformed> for Fault {
    fn from(row: Malformed) -> Self {
        Self::Damaged(format!("a row of `{}` does not decode", row.0))
    }
}
