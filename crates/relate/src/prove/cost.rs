//! What a proof costs, in bytes that are read: so budgets of all questions count alike.

use resemble_core::ByteLen;

/// A question about all pairs reads contents of so many bytes, and measures pairs of
/// [`MEASURED`] times as many at most.
pub const MOST_WORK: u64 = 8 << 30;

/// `pairs` holds so many bytes against each other: some half a minute of one processor.
pub const COMPARED: ByteLen = ByteLen(4 << 30);

/// Measuring a byte that is ready costs this part of reading it and cutting it into words.
pub const MEASURED: u64 = 8;

/// Taking a byte of a file apart takes as long as reading so many.
pub const TAKEN_APART: u64 = 4;
