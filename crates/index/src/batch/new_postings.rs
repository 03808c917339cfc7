//! The postings of a batch, and the postings of the segments with which they are merged.

use resemble_core::{ContentId, Digest, Fingerprint};

use super::Writing;
use super::contents::Inherited;
use super::inherit::InheritedPostings;
use crate::fault::Fault;
use crate::schema::PostingKind;
use crate::segments::block::Posting;
use crate::segments::read::Scan;
use crate::segments::sort::sort_by_key;
use crate::segments::write::Source;
use crate::segments::{Segment, posted};

/// The sorted postings of a batch: one list for its chunks, and one for its fingerprints.
pub(super) struct New {
    chunks: Vec<Posting>,
    fingerprints: Vec<Posting>,
}

impl New {
    pub(super) fn of(
        fresh: &[(ContentId, Box<Digest>)],
        inherited: &[Inherited],
        writing: &Writing<'_>,
    ) -> Result<Self, Fault> {
        let mut chunks = Vec::new();
        let mut fingerprints = Vec::new();
        for (id, digest) in fresh {
            let keys = posted(&digest.chunks);
            let posting = |print: Fingerprint| (print.0, id.0);
            let inherited = inherited.iter().find(|of| of.heir == *id);
            if inherited.is_some() {
                let heirs = &writing.sets.heirs;
                let inherited = InheritedPostings::of(writing, heirs, *id, PostingKind::Chunk);
                for key in keys {
                    if !inherited.has(key)? {
                        chunks.push((key, id.0));
                    }
                }
            } else {
                chunks.extend(keys.map(|key| (key, id.0)));
            }
            match inherited.and_then(|of| of.fingerprints.as_ref()) {
                Some(edit) => fingerprints.extend(edit.new.iter().copied().map(posting)),
                None => fingerprints.extend(digest.posted().map(posting)),
            }
        }
        Ok(Self {
            chunks: sorted(chunks),
            fingerprints: sorted(fingerprints),
        })
    }

    pub(super) fn kind(&self, kind: PostingKind) -> &[Posting] {
        match kind {
            PostingKind::Chunk => &self.chunks,
            PostingKind::Fingerprint => &self.fingerprints,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len() + self.fingerprints.len()
    }
}

/// Sorts the postings by key and removes duplicates. The postings must already be ordered by
/// content.
fn sorted(mut postings: Vec<Posting>) -> Vec<Posting> {
    sort_by_key(&mut postings, &mut Vec::new());
    postings.dedup();
    postings
}

/// Returns the segments of the previous commit.
pub(super) fn segments_before(writing: &Writing<'_>) -> Vec<Segment> {
    let segments = writing.before.segments().iter();
    segments.map(|segment| segment.row).collect()
}

/// Returns all postings of a kind in these segments and in the batch.
pub(super) fn sources<'n>(
    writing: &Writing<'_>,
    run: &[Segment],
    new: Option<&'n New>,
    kind: PostingKind,
) -> Result<Vec<Source<'n>>, Fault> {
    let mut sources = Vec::new();
    for segment in writing.before.segments() {
        if run.contains(&segment.row)
            && let Some(postings) = segment.postings(kind)
        {
            sources.push(Source::stored(Scan::new(postings)?));
        }
    }
    if let Some(new) = new {
        sources.push(Source::Memory(new.kind(kind)));
    }
    Ok(sources)
}
