//! Reads the sketch that the index stores of a content, and computes the keys of its pieces.

use std::collections::HashSet;

use resemble_core::similarity::passages::text_of_chunks;
use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{ByteLen, ChunkList, ContentId, ContentKind, Signature, WordsDigest};
use resemble_index::{ContentRow, PostingKind, ReadError, Snapshot};

use crate::nominate::families::LeaderPieces;

/// The sketch that the index stores of a content. Pieces of templates are left out.
#[derive(Clone, Debug)]
pub struct StoredSketch {
    /// The id of the content.
    pub id: ContentId,
    /// The number of bytes of the file.
    pub whole: ByteLen,
    /// The number of bytes without templates. Shares, relations and the minimum of shared bytes
    /// refer to this number. It equals `whole` unless templates are marked.
    pub size: ByteLen,
    /// The kind of the content in the index.
    pub kind: ContentKind,
    /// The chunks of the content.
    pub chunks: ChunkList,
    /// The samples of the content.
    pub signature: Signature,
    /// The digest of the words of the content, if it is a text with enough words.
    pub words: Option<WordsDigest>,
    /// The pieces of the leader of the content's family, if the content is a member of a family.
    pub of_leader: Option<LeaderPieces>,
}

impl StoredSketch {
    /// Reads the data that the index stores of a content.
    pub fn of(snapshot: &Snapshot, row: &ContentRow) -> Result<Self, ReadError> {
        let signature = snapshot.signature(row.id)?;
        Self::with_signature(snapshot, row, signature)
    }

    /// Does the same as [`Self::of`], for a content whose signature is already read.
    pub fn with_signature(
        snapshot: &Snapshot,
        row: &ContentRow,
        mut signature: Signature,
    ) -> Result<Self, ReadError> {
        let mut chunks = snapshot.chunks(row.id)?;
        let size = snapshot
            .templates()
            .strip(row.size, &mut chunks, &mut signature);
        Ok(Self {
            id: row.id,
            whole: row.size,
            size,
            kind: row.kind,
            chunks,
            signature,
            words: row.words,
            of_leader: None,
        })
    }

    /// Returns the sketch with all chunks and samples that the index stores. It reads them again,
    /// because some may have been dropped.
    pub fn whole_again(&self, snapshot: &Snapshot) -> Result<Self, ReadError> {
        let mut whole = self.clone();
        if let Some(row) = snapshot.content(self.id)? {
            let Self {
                chunks, signature, ..
            } = Self::of(snapshot, &row)?;
            (whole.chunks, whole.signature) = (chunks, signature);
        }
        Ok(whole)
    }

    /// Drops the chunks whose text is boilerplate. The samples in a chunk decide whether its text
    /// is boilerplate. The list of chunks then has gaps, as after templates are left out.
    pub fn without_common_chunks(&mut self, boilerplate: &dyn Boilerplate) {
        let count = |sample| u32::from(boilerplate.fingerprint(sample));
        let mut common = text_of_chunks(&self.sketch(), count)
            .filter(|&(_, is_common)| is_common > 0)
            .map(|(place, _)| place)
            .collect::<Vec<usize>>()
            .into_iter()
            .peekable();
        let mut place = 0;
        self.chunks.0.retain(|_| {
            let out = common.next_if_eq(&place).is_some();
            place += 1;
            !out
        });
    }

    /// Returns the keys of the chunks and samples that are evidence.
    pub fn pieces(&self) -> HashSet<u64> {
        let evidence = self.chunks.0.iter().filter(|run| run.is_evidence());
        let chunks = evidence.map(|run| run.hash.posting_key() | CHUNK);
        let fingerprints = self.signature.fingerprints.iter().map(|f| f.0);
        fingerprints.chain(chunks).collect()
    }

    /// Returns the sketch by which the content is compared. The size in the sketch does not include
    /// templates.
    pub fn sketch(&self) -> Sketch<'_> {
        Sketch {
            size: self.size,
            chunks: &self.chunks,
            signature: &self.signature,
        }
    }
}

/// The bit that marks the key of a chunk in a list of keys of both kinds. Fingerprints and posting
/// keys have at most 40 bits, so they do not have this bit.
pub const CHUNK: u64 = 1 << 63;

/// Returns a key that differs from all keys of the other kind, so that both kinds can be mixed.
pub const fn piece_of(kind: PostingKind, key: u64) -> u64 {
    match kind {
        PostingKind::Chunk => key | CHUNK,
        PostingKind::Fingerprint => key,
    }
}

/// Returns the distinct keys of the chunks that are evidence, in ascending order.
pub fn chunk_keys(sketch: &Sketch<'_>) -> Vec<u64> {
    let evidence = sketch.chunks.0.iter().filter(|run| run.is_evidence());
    let mut keys: Vec<u64> = evidence.map(|run| run.hash.posting_key()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the keys of the fingerprints in ascending order.
pub fn fingerprint_keys(sketch: &Sketch<'_>) -> Vec<u64> {
    let mut keys: Vec<u64> = sketch.signature.fingerprints.iter().map(|f| f.0).collect();
    keys.sort_unstable();
    keys
}
