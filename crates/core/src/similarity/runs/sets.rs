//! Resemblance of the complete sets of byte windows.

use crate::similarity::runs::LEAST_RUN;
use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::blocks::Blocks;
use crate::similarity::runs::mark::{Among, marked};
use crate::similarity::runs::window::windows;

/// Compares the bytes of the 64-byte windows in two sets. Returns the number of windows that are in
/// both sets. Also returns the resemblance: this number over the number of windows that are in at
/// least one set.
///
/// `shared` has the positions of the windows of a that b has, too. Only the first occurrence of a
/// window counts.
pub(super) fn resemblance(a: &Blocks<'_>, b: &Blocks<'_>, mut shared: Bits) -> (usize, f64) {
    let repeated = |blocks: &Blocks<'_>| marked(blocks.data(), blocks, Among::Earlier);
    let distinct =
        |blocks: &Blocks<'_>, repeated: &Bits| windows(blocks.data(), LEAST_RUN) - repeated.len();
    let in_b = distinct(b, &repeated(b));
    let in_a = repeated(a);
    shared.remove(&in_a);
    let shared = shared.len();
    let union = (distinct(a, &in_a) + in_b - shared).max(1);
    (shared, shared as f64 / union as f64)
}
