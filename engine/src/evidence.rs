//! Who may resemble whom: candidates by posting lists, and what counts as boilerplate.
//!
//! A content is nominated by a chunk or by fingerprints that it has in common with the subject.
//! What more than the limit (1,000) of the contents in question have nominates nobody, and is left
//! out of both files when the pair is measured, so that a licence header is neither a reason to
//! look nor a share of what is found.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{ContentId, Fingerprint, Params};
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::members::Members;

/// A content that has something in common with the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nominee {
    pub(crate) content: ContentId,
    /// Distinct fingerprints in common.
    pub(crate) fingerprints: u32,
    /// Distinct chunks in common (by their posting keys).
    pub(crate) chunks: u32,
}

/// The chunk keys of a list that are evidence: ascending, distinct.
pub(crate) fn chunk_keys(sketch: &Sketch<'_>) -> Vec<u64> {
    let evidence =
        |run: &&resemble_core::ChunkRun| !run.constant && run.len as usize >= Params::WINDOW;
    let mut keys: Vec<u64> = sketch
        .chunks
        .0
        .iter()
        .filter(evidence)
        .map(|run| run.hash.posting_key())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The fingerprint keys of a signature: ascending, distinct.
pub(crate) fn fingerprint_keys(sketch: &Sketch<'_>) -> Vec<u64> {
    let mut keys: Vec<u64> = sketch.signature.fingerprints.iter().map(|f| f.0).collect();
    keys.sort_unstable();
    keys
}

/// All contents (of `members`, if given) that have something in common with the subject, ascending.
pub(crate) fn nominate(
    snapshot: &Snapshot,
    subject: &Sketch<'_>,
    members: Option<&Members>,
) -> Result<Vec<Nominee>, ReadError> {
    let by_fingerprint = hits(
        snapshot,
        PostingKind::Fingerprint,
        &fingerprint_keys(subject),
        members,
    )?;
    let by_chunk = hits(snapshot, PostingKind::Chunk, &chunk_keys(subject), members)?;
    let mut nominees: Vec<Nominee> = Vec::new();
    let (mut left, mut right) = (by_fingerprint.iter().peekable(), by_chunk.iter().peekable());
    loop {
        let content = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => a.0.min(b.0),
            (Some(a), None) => a.0,
            (None, Some(b)) => b.0,
            (None, None) => return Ok(nominees),
        };
        let fingerprints = left.next_if(|hit| hit.0 == content).map_or(0, |hit| hit.1);
        let chunks = right.next_if(|hit| hit.0 == content).map_or(0, |hit| hit.1);
        nominees.push(Nominee {
            content,
            fingerprints,
            chunks,
        });
    }
}

/// How many of the keys each content has, boilerplate aside; by content.
fn hits(
    snapshot: &Snapshot,
    kind: PostingKind,
    keys: &[u64],
    members: Option<&Members>,
) -> Result<Vec<(ContentId, u32)>, ReadError> {
    let limit = snapshot.boilerplate_limit();
    let mut all: Vec<ContentId> = Vec::new();
    match members {
        None => snapshot.postings_up_to(kind, keys, limit, &mut |_, contents| {
            all.extend_from_slice(contents);
        })?,
        Some(members) => snapshot.postings(kind, keys, &mut |_, contents| {
            let before = all.len();
            all.extend(
                contents
                    .iter()
                    .copied()
                    .filter(|&content| members.has(content)),
            );
            if all.len() - before > limit as usize {
                all.truncate(before);
            }
        })?,
    }
    all.sort_unstable();
    let mut counted: Vec<(ContentId, u32)> = Vec::new();
    for content in all {
        match counted.last_mut() {
            Some(last) if last.0 == content => last.1 += 1,
            _ => counted.push((content, 1)),
        }
    }
    Ok(counted)
}

/// Boilerplate as the index counts it (all contents), or among the members of a question.
pub(crate) struct Known<'a> {
    snapshot: &'a Snapshot,
    members: Option<&'a Members>,
    counted: RefCell<HashMap<(bool, u64), bool>>,
    failure: Cell<Option<ReadError>>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, members: Option<&'a Members>) -> Self {
        Self {
            snapshot,
            members,
            counted: RefCell::default(),
            failure: Cell::new(None),
        }
    }

    /// The failure that an answer met, if one did: [`Boilerplate`] has no way to say so.
    pub(crate) fn failure(&self) -> Result<(), ReadError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn is(&self, kind: PostingKind, key: u64) -> bool {
        self.look(kind, key).unwrap_or_else(|e| {
            self.failure.set(Some(e));
            false
        })
    }

    fn look(&self, kind: PostingKind, key: u64) -> Result<bool, ReadError> {
        // What few contents have, few members have.
        if !self.snapshot.is_boilerplate(kind, key)? {
            return Ok(false);
        }
        let Some(members) = self.members else {
            return Ok(true);
        };
        let place = (kind == PostingKind::Chunk, key);
        if let Some(&known) = self.counted.borrow().get(&place) {
            return Ok(known);
        }
        let mut count = 0;
        self.snapshot.postings(kind, &[key], &mut |_, contents| {
            count = contents
                .iter()
                .filter(|&&content| members.has(content))
                .count();
        })?;
        let is = count > self.snapshot.boilerplate_limit() as usize;
        self.counted.borrow_mut().insert(place, is);
        Ok(is)
    }
}

impl Boilerplate for Known<'_> {
    fn chunk(&self, key: u64) -> bool {
        self.is(PostingKind::Chunk, key)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        self.is(PostingKind::Fingerprint, fingerprint.0)
    }
}
