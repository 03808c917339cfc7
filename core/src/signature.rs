//! Signatures: the sampled window fingerprints of a content (`Mod_n`, Broder 1997 section 3, on
//! 64-byte windows). STUB HEADER — owner writes the argument.

use crate::ids::Fingerprint;

/// The sampled fingerprints of a content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Every kept fingerprint has at least this level: one window in 2^level was kept.
    pub level: u8,
    /// The distinct fingerprints in the order of their first occurrence in the file, so that the
    /// order tells contiguous sharing from scattered edits.
    pub fingerprints: Vec<Fingerprint>,
}
