//! The measures of a pair and the relation they make. STUB HEADER — owner writes the argument.

use crate::ids::{ByteLen, Score};

/// What is known of a pair (a, b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// Containment of a in b: the share of a's bytes in runs of at least 64 bytes that b has too.
    /// `None`: too small to judge.
    pub a_in_b: Option<Score>,
    /// Containment of b in a.
    pub b_in_a: Option<Score>,
    /// Shared windows over all windows of both.
    pub resemblance: Option<Score>,
    /// Proven lower bound: bytes of common chunks, each the smaller number of times it occurs.
    pub shared_bytes: ByteLen,
}

/// How two contents relate; `docs/design.md`, section "Words".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Equal bytes (equal [`crate::ContentDigest`]).
    Identical,
    /// Equal after canonicalisation or extraction.
    SameText,
    /// Both containments at least 70 %.
    Near,
    /// b lies in a: `b_in_a` at least 70 %.
    Contains,
    /// a lies in b: `a_in_b` at least 70 %.
    Contained,
    /// At least 25 % of the smaller file.
    Shares,
}

impl Relation {
    /// The word of the contract: `identical`, `same-text`, `near`, `contains`, `contained`, `shares`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::SameText => "same-text",
            Self::Near => "near",
            Self::Contains => "contains",
            Self::Contained => "contained",
            Self::Shares => "shares",
        }
    }
}
