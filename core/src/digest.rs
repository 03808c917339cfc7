//! What one pass over a file's bytes leaves behind.

use crate::ids::{ByteLen, ChunkHash, ContentDigest};
use crate::signature::Signature;

/// A run of equal consecutive chunks: almost always one, but a hole of a sparse file is millions
/// of equal chunks and must cost one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRun {
    /// MD5 of each chunk of the run.
    pub hash: ChunkHash,
    /// Bytes of each chunk of the run.
    pub len: u32,
    /// How many times the chunk follows itself, at least 1.
    pub count: u64,
    /// All bytes of the chunk are equal (zeros, padding): such a chunk is stored and compared in
    /// exact answers, but nominates nobody and is no evidence.
    pub constant: bool,
}

/// The chunks of a content in file order; their lengths add up to its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkList(pub Vec<ChunkRun>);

/// Text or not, as the contract defines it: no NUL in the first 8 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// No bytes at all.
    Empty,
    /// No NUL byte in the first 8 KiB.
    Text,
    /// Anything else.
    Binary,
}

/// Everything the index keeps of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Names the content as a whole.
    pub content: ContentDigest,
    /// Its size.
    pub size: ByteLen,
    /// Text, binary or empty.
    pub kind: ContentKind,
    /// Its chunks.
    pub chunks: ChunkList,
    /// Its sampled window fingerprints.
    pub signature: Signature,
}

/// Makes a [`Digest`] of bytes handed over in pieces of any size. STUB.
#[derive(Debug)]
pub struct Digester {}
