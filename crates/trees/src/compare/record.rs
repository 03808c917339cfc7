//! Encodes and decodes records of the cache, in the format `postcard`.

use serde::{Deserialize, Serialize};

/// Encodes a record.
pub(crate) fn encode(record: &impl Serialize) -> Vec<u8> {
    // A write to memory does not fail. If it did, the empty record could not be decoded.
    postcard::to_stdvec(record).unwrap_or_default()
}

/// Decodes the output of [`encode`]. Returns `None` if the bytes are no such output, or if other
/// bytes follow.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(record)
}
