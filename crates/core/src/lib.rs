//! `resemble-core`: bytes in, values out.
//!
//! This crate computes the digests, the measures and the groups of contents. It is pure: no I/O, no
//! clock, no environment, no printing. The main modules follow the path of a file:
//!
//! ```text
//! bytes ──► chunk (cut points, TTTD) ──► hash (MD5, many at a time) ──┐
//!       ├─► words, sample (fingerprints of shingles, windows) ────────┼──► digest::Digest
//!       └─► hash::content (BLAKE3 of the whole) ──────────────────────┘
//!
//! Digest of a, Digest of b ──► similarity: resemblance, containments, shared bytes, relation
//! ```
//!
//! `docs/design.md`, section "Words", defines the measures and their terms.
#![forbid(unsafe_code)]

pub mod bits;
pub mod chunk;
pub mod cluster;
mod code;
pub mod conflict;
pub mod date;
pub mod digest;
pub mod hash;
pub mod ids;
pub mod numbers;
pub mod params;
pub mod printable;
pub mod rank;
pub mod recent;
pub mod sample;
pub mod similarity;
pub mod stop;
pub mod tree;
pub mod words;

pub use digest::{
    Checkpoint, ChunkEdit, ChunkList, ChunkRun, ComparedStretch, ComposedDigest, ContentKind,
    Digest, Digester, EditedDigest, FingerprintEdit, LargeDigest, NextStretch, PostedFingerprints,
    Stretches,
};
pub use ids::{
    ByteLen, ChunkHash, ContentDigest, ContentId, DirId, FileId, Fingerprint, Score, WordsDigest,
};
pub use params::Params;
pub use sample::{Repeats, Signature};
pub use similarity::{Measures, Relation};
pub use stop::{StopFlag, Stopped};
