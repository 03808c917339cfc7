//! Exact containment of bytes.

use crate::ids::Score;
use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::blocks::Blocks;
use crate::similarity::runs::mark::{Among, marked};

/// Returns the share of a's bytes in runs of at least 64 bytes that b has, too. Also returns the
/// same share of b's bytes. The shares of an empty file are 0.
///
/// A byte counts once, even if it is in several runs. Every occurrence of a repeated run counts, in
/// a and in b.
pub fn cover(a: &[u8], b: &[u8]) -> (Score, Score) {
    let (in_a, in_b) = covered(a, b);
    (share(in_a, a), share(in_b, b))
}

/// Returns the covered part of a file as a score.
pub(super) fn share(covered: usize, of: &[u8]) -> Score {
    Score::new(covered as f64 / of.len().max(1) as f64)
}

/// Counts the covered bytes of both files.
pub(super) fn covered(a: &[u8], b: &[u8]) -> (usize, usize) {
    let (in_a, in_b) = (
        marked(a, &Blocks::new(b), Among::All),
        marked(b, &Blocks::new(a), Among::All),
    );
    (bytes_of(&in_a), bytes_of(&in_b))
}

/// Counts the bytes that are in any window of a set.
pub(super) fn bytes_of(windows: &Bits) -> usize {
    let (mut bytes, mut done) = (0, 0);
    for range in windows.ranges() {
        let end = range.end - 1 + LEAST_RUN;
        bytes += end - range.start.max(done);
        done = end;
    }
    bytes
}
