//! Manages heirs. An heir is a content that differs a little from a former content of its file. The
//! index keeps most data of an heir under the ids of former contents.
//!
//! Suppose that a line is appended to a log of a gigabyte, or that a block of a disk image is
//! written. The new content has a million chunks, and nearly all are chunks of the old content. The
//! old content is removed in the same batch. The common chunks are not written again. Instead, the
//! new content becomes the **heir** of the old content, its ancestor:
//!
//! 1. **The chunk list** stays under the id of the content that was stored first. Only those parts
//!    of the list that change are written ([`Heirs::list_of`]).
//! 2. **Postings** of the dead content are read as postings of its heir. Keys of the dead content
//!    that the heir does not have are *gone* ([`Live::of`]). Keys of the heir that the dead content
//!    did not have are written with the heir's own id. No posting occurs twice.
//! 3. **This lasts only until a merge.** A merge replaces the ids of the ancestors by the id of the
//!    heir. So a content has at most as many ancestors as there are segments, even if it grows
//!    often. An ancestor never has more gone keys than postings in its segment.
//!
//! The heir also takes over fingerprint postings, if it is known which fingerprints differ. If that
//! is not known, or if most fingerprints differ, all are written again. (Most fingerprints differ
//! if the sampling level has risen with the size of the content.) A signature is short, so it is
//! always written.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use resemble_core::ContentId;
use resemble_core::bits::BitSet;

use crate::codec::Malformed;
use crate::codec::varint::{Reader, put};
use crate::fault::Fault;
use crate::schema::{self, PostingKind};
use crate::store::{ReadTransaction, ReadableTable, WriteTransaction};

/// The heirs of dead contents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heirs {
    by_ancestor: HashMap<u32, Heir>,
    /// The ancestors of each heir, which are the dead contents whose postings the heir has.
    by_heir: HashMap<u32, Vec<u32>>,
    /// Maps each heir to the id under which its chunk list is stored.
    lists: HashMap<u32, u32>,
    /// The number of dead contents whose fingerprint postings belong to an heir.
    with_fingerprints: usize,
}

/// The heir of a dead content, which is the live content that has the dead content's postings now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heir {
    pub(crate) content: u32,
    /// A range outside which no byte of the heir differs from the dead content. `None` if no such
    /// range is known.
    pub(crate) changed: Option<Range<u64>>,
    /// Keys of chunks that the dead content had and its heir does not have, ascending.
    pub(crate) gone: Vec<u64>,
    /// Keys of fingerprints that the dead content had and its heir does not have, ascending. `None`
    /// if the heir did not take over fingerprint postings.
    pub(crate) gone_fingerprints: Option<Vec<u64>>,
}

impl Heir {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, u64::from(self.content));
        let changed = self.changed.clone().unwrap_or_default();
        put(&mut out, changed.start);
        put(&mut out, changed.end - changed.start);
        let fingerprints = self.gone_fingerprints.as_deref();
        put(
            &mut out,
            fingerprints.map_or(0, |gone| gone.len() as u64 + 1),
        );
        for &key in fingerprints.unwrap_or_default().iter().chain(&self.gone) {
            put(&mut out, key);
        }
        out
    }

    /// Returns the posting keys that the dead content had and its heir does not have, ascending.
    /// Returns `None` if the heir did not take over postings of this kind.
    pub(crate) fn gone(&self, kind: PostingKind) -> Option<&[u64]> {
        match kind {
            PostingKind::Chunk => Some(&self.gone),
            PostingKind::Fingerprint => self.gone_fingerprints.as_deref(),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let content = u32::try_from(reader.u64()?).ok()?;
        let (start, len) = (reader.u64()?, reader.u64()?);
        let changed = start..start.checked_add(len)?;
        let mut gone_fingerprints = None;
        if let Some(count) = reader.u64()?.checked_sub(1) {
            let keys = (0..count).map(|_| reader.u64());
            gone_fingerprints = Some(keys.collect::<Option<Vec<_>>>()?);
        }
        let mut gone = Vec::new();
        while !reader.0.is_empty() {
            gone.push(reader.u64()?);
        }
        Some(Self {
            content,
            changed: (!changed.is_empty()).then_some(changed),
            gone,
            gone_fingerprints,
        })
    }
}

impl Heirs {
    pub(crate) fn load(txn: &ReadTransaction) -> Result<Self, Fault> {
        let mut heirs = Self::default();
        for row in txn.open_table(schema::HEIRS)?.iter()? {
            let (ancestor, heir) = row?;
            let heir = Heir::decode(heir.value()).ok_or(Malformed("heirs"))?;
            heirs.insert(ancestor.value(), heir);
        }
        for row in txn.open_table(schema::CHUNK_LIST_OF)?.iter()? {
            let (content, list) = row?;
            heirs.lists.insert(content.value(), list.value());
        }
        Ok(heirs)
    }

    /// Returns the id under which a content's chunk list is stored.
    pub(crate) fn list_of(&self, content: ContentId) -> u32 {
        // Usually there are no heirs. Then no look-up is needed.
        if self.lists.is_empty() {
            return content.0;
        }
        self.lists.get(&content.0).copied().unwrap_or(content.0)
    }

    /// Returns the heir of a dead content, and a range. Outside this range, the two contents have
    /// equal bytes. Returns `None` if there is no heir, or if the range is not known.
    pub(crate) fn edited_from(&self, dead: ContentId) -> Option<(ContentId, Range<u64>)> {
        let heir = self.by_ancestor.get(&dead.0)?;
        Some((ContentId(heir.content), heir.changed.clone()?))
    }

    /// Returns the dead contents whose postings now belong to a content, each with its [`Heir`].
    pub(crate) fn ancestors(&self, content: ContentId) -> impl Iterator<Item = (u32, &Heir)> {
        let ancestors = self.by_heir.get(&content.0).into_iter().flatten();
        ancestors.filter_map(|ancestor| Some((*ancestor, self.by_ancestor.get(ancestor)?)))
    }

    fn insert(&mut self, ancestor: u32, heir: Heir) {
        self.remove(ancestor);
        self.with_fingerprints += usize::from(heir.gone_fingerprints.is_some());
        self.by_heir.entry(heir.content).or_default().push(ancestor);
        self.by_ancestor.insert(ancestor, heir);
    }

    fn remove(&mut self, ancestor: u32) {
        let Some(heir) = self.by_ancestor.remove(&ancestor) else {
            return;
        };
        self.with_fingerprints -= usize::from(heir.gone_fingerprints.is_some());
        if let Some(ancestors) = self.by_heir.get_mut(&heir.content) {
            ancestors.retain(|other| *other != ancestor);
            if ancestors.is_empty() {
                self.by_heir.remove(&heir.content);
            }
        }
    }

    /// Returns the ids of all dead contents that have an heir, each with the id of that heir.
    #[cfg(any(debug_assertions, feature = "testing"))]
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        let heirs = self.by_ancestor.iter();
        heirs.map(|(&ancestor, heir)| (ancestor, heir.content))
    }

    /// Returns all contents whose chunk list is stored under the id of another content.
    #[cfg(any(debug_assertions, feature = "testing"))]
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = u32> {
        self.lists.keys().copied()
    }
}

/// Maps the content of a posting to a live content.
#[derive(Clone, Copy)]
pub(crate) struct Live<'a> {
    kind: PostingKind,
    dead: &'a BitSet,
    /// `None` if no heir has taken over postings of this kind.
    heirs: Option<&'a Heirs>,
}

impl<'a> Live<'a> {
    pub(crate) fn of_kind(kind: PostingKind, dead: &'a BitSet, heirs: &'a Heirs) -> Self {
        let any = match kind {
            PostingKind::Chunk => !heirs.by_ancestor.is_empty(),
            PostingKind::Fingerprint => heirs.with_fingerprints > 0,
        };
        Self {
            kind,
            dead,
            heirs: any.then_some(heirs),
        }
    }

    /// Returns the live content that a posting belongs to: the content in the posting, or the heir
    /// of that content. Returns `None` if the content is dead and has no heir with this key.
    #[inline]
    pub(crate) fn of(self, key: u64, content: u32) -> Option<u32> {
        if !self.dead.has(content) {
            return Some(content);
        }
        let heir = self.heirs?.by_ancestor.get(&content)?;
        let gone = heir.gone(self.kind)?;
        (gone.binary_search(&key).is_err()).then_some(heir.content)
    }

    /// Returns whether [`Self::of`] can return the id of an heir. If so, the ids in a list are
    /// perhaps not ascending.
    pub(crate) const fn reorders(self) -> bool {
        self.heirs.is_some()
    }
}

/// Writes heirs. Changes the tables together with the copy in memory.
pub(crate) struct HeirsWriting<'a> {
    pub(crate) txn: &'a WriteTransaction,
    pub(crate) heirs: &'a mut Arc<Heirs>,
}

impl HeirsWriting<'_> {
    /// Sets the heir of a dead content.
    pub(crate) fn put(&mut self, ancestor: u32, heir: Heir) -> Result<(), Fault> {
        let mut table = self.txn.open_table(schema::HEIRS)?;
        table.insert(ancestor, &heir.encode()[..])?;
        Arc::make_mut(self.heirs).insert(ancestor, heir);
        Ok(())
    }

    /// Removes the heir of a dead content, because the postings of that content are deleted or no
    /// longer used.
    pub(crate) fn remove(&mut self, ancestor: u32) -> Result<(), Fault> {
        if self.heirs.by_ancestor.contains_key(&ancestor) {
            Arc::make_mut(self.heirs).remove(ancestor);
            self.txn.open_table(schema::HEIRS)?.remove(ancestor)?;
        }
        Ok(())
    }

    /// Removes all rows about a content that is deleted and has no heir.
    pub(crate) fn end(&mut self, content: ContentId) -> Result<(), Fault> {
        let ancestors: Vec<u32> = self.heirs.ancestors(content).map(|(id, _)| id).collect();
        for ancestor in ancestors {
            self.remove(ancestor)?;
        }
        self.forget_list(content)
    }

    /// Records the id under which the chunk list of a content is stored.
    pub(crate) fn set_list(&mut self, content: ContentId, list: u32) -> Result<(), Fault> {
        let mut table = self.txn.open_table(schema::CHUNK_LIST_OF)?;
        table.insert(content.0, list)?;
        let heirs = Arc::make_mut(self.heirs);
        heirs.lists.insert(content.0, list);
        Ok(())
    }

    /// Removes the record of where the chunk list of a content is stored, because the list was
    /// deleted or belongs to an heir now.
    pub(crate) fn forget_list(&mut self, content: ContentId) -> Result<(), Fault> {
        if self.heirs.lists.contains_key(&content.0) {
            Arc::make_mut(self.heirs).lists.remove(&content.0);
            self.txn
                .open_table(schema::CHUNK_LIST_OF)?
                .remove(content.0)?;
        }
        Ok(())
    }
}
