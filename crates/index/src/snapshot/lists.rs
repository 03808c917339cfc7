//! Chunk lists, signatures and postings.

use resemble_core::{ChunkList, ContentId, Signature};

use super::{Inner, PostingKind, Snapshot};
use crate::codec::lists::{decode_chunks, decode_signature};
use crate::error::ReadError;
use crate::fault::Fault;
use crate::segments::read::Lists;

impl Snapshot {
    /// The chunks of a content; none for an unknown one.
    pub fn chunks(&self, content: ContentId) -> Result<ChunkList, ReadError> {
        self.note_content(content);
        self.ask(|inner| inner.chunks(content))
    }

    /// The signature of a content; an empty one for an unknown one.
    pub fn signature(&self, content: ContentId) -> Result<Signature, ReadError> {
        self.note_content(content);
        self.ask(|inner| inner.signature(content))
    }

    /// Calls `found` with the position of each key that any live content has, and those contents,
    /// ascending. `keys` should be ascending (neighbours share a page; other orders are right but
    /// slower). Calls come in the order of the keys.
    pub fn postings(
        &self,
        kind: PostingKind,
        keys: &[u64],
        found: &mut dyn FnMut(usize, &[ContentId]),
    ) -> Result<(), ReadError> {
        self.postings_up_to(kind, keys, u32::MAX, found)
    }

    /// As [`Snapshot::postings`], but keys that more than `most` live contents have are left out,
    /// at the cost of a look-up in memory if they are boilerplate, and of reading about `most`
    /// postings otherwise.
    pub fn postings_up_to(
        &self,
        kind: PostingKind,
        keys: &[u64],
        most: u32,
        found: &mut dyn FnMut(usize, &[ContentId]),
    ) -> Result<(), ReadError> {
        let inner = &*self.inner;
        let dead = &*inner.sets.dead;
        let counted = !inner.counters.uncounted;
        let boilerplate = inner.sets.boilerplate.of(kind);
        let tables = inner
            .segments
            .iter()
            .filter_map(|segment| segment.table(kind));
        let mut lists = Lists::new(tables);
        for (index, &key) in keys.iter().enumerate() {
            // The counts are exact unless a bulk load is going on.
            if counted && boilerplate.get(&key).is_some_and(|&count| count > most) {
                // As long as it is boilerplate, nothing but its count can change that.
                if most > inner.boilerplate_limit {
                    self.note_list(kind, key, &[]);
                }
                continue;
            }
            let live = self.look(|| lists.get(key, most as usize, |id| dead.has(id)))?;
            match live {
                Some(contents) => self.note_list(kind, key, contents),
                // Who is in it is not known.
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
        for part in self
            .chunk_lists
            .range((content.0, 0)..=(content.0, u32::MAX))?
        {
            decode_chunks(part?.1.value(), &mut list)?;
        }
        Ok(list)
    }

    pub(crate) fn signature(&self, content: ContentId) -> Result<Signature, Fault> {
        let mut signature = Signature::default();
        for part in self
            .signatures
            .range((content.0, 0)..=(content.0, u32::MAX))?
        {
            decode_signature(part?.1.value(), &mut signature)?;
        }
        Ok(signature)
    }
}
