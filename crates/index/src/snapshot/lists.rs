//! Queries of chunk lists, signatures and postings.

use resemble_core::{ChunkList, ContentId, Signature};

use super::{Inner, PostingKind, Snapshot};
use crate::codec::Malformed;
use crate::codec::lists::{decode_chunks, decode_signature, is_last};
use crate::error::ReadError;
use crate::fault::Fault;
use crate::segments::read::Lists;
use crate::store::ReadOnlyTable;

impl Snapshot {
    /// Returns the chunks of a content. The list is empty if the snapshot does not show the
    /// content.
    pub fn chunks(&self, content: ContentId) -> Result<ChunkList, ReadError> {
        self.note_content(content);
        if !self.sees_content(content)? {
            return Ok(ChunkList::default());
        }
        self.ask(|inner| inner.chunks(content))
    }

    /// Returns the signature of a content. The signature is empty if the snapshot does not show the
    /// content.
    pub fn signature(&self, content: ContentId) -> Result<Signature, ReadError> {
        self.note_content(content);
        if !self.sees_content(content)? {
            return Ok(Signature::default());
        }
        self.ask(|inner| inner.signature(content))
    }

    /// Looks up keys. For each key that any live content has, calls `found` with the index of the
    /// key in `keys`, and with the contents, ascending. The calls are in the order of `keys`. This
    /// is fastest if the keys ascend, because neighbouring keys are in the same page.
    pub fn postings(
        &self,
        kind: PostingKind,
        keys: &[u64],
        found: &mut dyn FnMut(usize, &[ContentId]),
    ) -> Result<(), ReadError> {
        self.postings_up_to(kind, keys, u32::MAX, found)
    }

    /// Like [`Snapshot::postings`], but leaves out keys that more than `most` live contents have. A
    /// boilerplate key that is left out costs one look-up in memory. For any other key, up to about
    /// `most` postings are read.
    pub fn postings_up_to(
        &self,
        kind: PostingKind,
        keys: &[u64],
        most: u32,
        found: &mut dyn FnMut(usize, &[ContentId]),
    ) -> Result<(), ReadError> {
        let inner = &*self.inner;
        let who = inner.sets.live(kind);
        let counted = !inner.counters.uncounted;
        let boilerplate = inner.sets.boilerplate.of(kind);
        let segments = inner.segments.iter();
        let mut lists = Lists::new(segments.filter_map(|segment| segment.postings(kind)));
        if self.is_partial() {
            for (index, &key) in keys.iter().enumerate() {
                let all = self.look(|| lists.get(key, usize::MAX, who))?;
                let seen = self.seen_of(all.unwrap_or_default(), most)?;
                if !seen.is_empty() && seen.len() <= most as usize {
                    found(index, &seen);
                }
            }
            return Ok(());
        }
        for (index, &key) in keys.iter().enumerate() {
            // The stored counts are exact, unless they are out of date (`uncounted`).
            if counted && boilerplate.get(&key).is_some_and(|&count| count > most) {
                // If `most` is not above the limit, the result changes only when the key ceases to
                // be boilerplate. A commit with that effect touches everything, so the key need not
                // be noted.
                if most > inner.boilerplate_limit {
                    self.note_list(kind, key, &[]);
                }
                continue;
            }
            let live = self.look(|| lists.get(key, most as usize, who))?;
            match live {
                Some(contents) => self.note_list(kind, key, contents),
                // The list was not read to its end, so not all of its contents can be noted.
                None => self.note_outside(),
            }
            if let Some(contents) = live
                && !contents.is_empty()
            {
                found(index, contents);
            }
        }
        Ok(())
    }
}

impl Inner {
    pub(crate) fn chunks(&self, content: ContentId) -> Result<ChunkList, Fault> {
        let mut list = ChunkList::default();
        let stored = self.sets.heirs.list_of(content);
        each_part(&self.chunk_lists, stored, |part| {
            decode_chunks(part, &mut list)
        })?;
        Ok(list)
    }

    pub(crate) fn signature(&self, content: ContentId) -> Result<Signature, Fault> {
        let mut signature = Signature::default();
        each_part(&self.signatures, content.0, |part| {
            decode_signature(part, &mut signature)
        })?;
        Ok(signature)
    }
}

/// Passes the parts of a list to `take`, in order. Nearly all lists have one part. So this case is
/// checked first, which takes half as long as finding both ends of a range.
fn each_part(
    parts: &ReadOnlyTable<(u32, u32), &'static [u8]>,
    list: u32,
    mut take: impl FnMut(&[u8]) -> Result<(), Malformed>,
) -> Result<(), Fault> {
    let Some(first) = parts.get((list, 0))? else {
        return Ok(());
    };
    take(first.value())?;
    if is_last(first.value()) {
        return Ok(());
    }
    for part in parts.range((list, 1)..=(list, u32::MAX))? {
        take(part?.1.value())?;
    }
    Ok(())
}
