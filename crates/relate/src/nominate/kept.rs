//! What is kept of a content to compare it, and the keys of its pieces.

use std::collections::HashSet;

use resemble_core::similarity::passages::text_of_chunks;
use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{ByteLen, ChunkList, ContentId, ContentKind, Signature, WordsDigest};
use resemble_index::{ContentRow, PostingKind, ReadError, Snapshot};

use crate::nominate::families::LeaderPieces;

/// What is kept of a content to compare it, without what is template.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Which content it is.
    pub id: ContentId,
    /// Bytes of the file.
    pub whole: ByteLen,
    /// Bytes of its payload: what shares, minimum evidence and relations are about. The same as
    /// `whole` unless templates are marked.
    pub size: ByteLen,
    /// What it is to the index.
    pub kind: ContentKind,
    /// Its chunks.
    pub chunks: ChunkList,
    /// Its samples.
    pub signature: Signature,
    /// Its words, if it is a text of enough of them.
    pub words: Option<WordsDigest>,
    /// Of a member of a family the pieces of its leader.
    pub of_leader: Option<LeaderPieces>,
}

impl Kept {
    /// What the index keeps of a content.
    pub fn of(snapshot: &Snapshot, row: &ContentRow) -> Result<Self, ReadError> {
        let signature = snapshot.signature(row.id)?;
        Self::with_signature(snapshot, row, signature)
    }

    /// The same of a content whose signature is known already.
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

    /// The same with all that the index keeps, if some of it was left out.
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

    /// Without the chunks whose text is boilerplate by what is known of its samples. As with
    /// templates, the list has gaps then.
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

    /// Its chunks and samples that are evidence, by their keys.
    pub fn pieces(&self) -> HashSet<u64> {
        let evidence = self.chunks.0.iter().filter(|run| run.is_evidence());
        let chunks = evidence.map(|run| run.hash.posting_key() | CHUNK);
        let fingerprints = self.signature.fingerprints.iter().map(|f| f.0);
        fingerprints.chain(chunks).collect()
    }

    /// What comparing needs; its size is that of the payload.
    pub fn sketch(&self) -> Sketch<'_> {
        Sketch {
            size: self.size,
            chunks: &self.chunks,
            signature: &self.signature,
        }
    }
}

/// Marks the key of a chunk where keys of both kinds stand together: fingerprints and posting keys
/// have 40 bits at most.
pub const CHUNK: u64 = 1 << 63;

/// The key of a piece where keys of both kinds stand together.
pub const fn piece_of(kind: PostingKind, key: u64) -> u64 {
    match kind {
        PostingKind::Chunk => key | CHUNK,
        PostingKind::Fingerprint => key,
    }
}

/// The chunk keys of a list that are evidence: ascending, distinct.
pub fn chunk_keys(sketch: &Sketch<'_>) -> Vec<u64> {
    let evidence = sketch.chunks.0.iter().filter(|run| run.is_evidence());
    let mut keys: Vec<u64> = evidence.map(|run| run.hash.posting_key()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The fingerprint keys of a signature: ascending, distinct.
pub fn fingerprint_keys(sketch: &Sketch<'_>) -> Vec<u64> {
    let mut keys: Vec<u64> = sketch.signature.fingerprints.iter().map(|f| f.0).collect();
    keys.sort_unstable();
    keys
}
