//! Contents that have grown or changed a little: what the index keeps of them under the id of what
//! they were.
//!
//! A line is appended to a log of a gigabyte, or a block of an image is written: the new content
//! has a million chunks, and all but two of them are those of the content before, which goes with
//! the same batch. Then nothing of these is written. The new content is the **heir** of the old
//! one:
//!
//! 1. **Its chunk list** stays where it is, under the id that it was first stored with, and only
//!    the parts with other runs are written anew ([`Heirs::list_of`]).
//! 2. **Postings** of the dead content are read as postings of its heir, but for those keys
//!    that the heir has not, which are *gone* ([`Live::of`]). What the heir has besides has
//!    postings of its own. No posting is there twice.
//! 3. **It ends by itself.** A merge writes the heir's id, as it leaves out the dead. So a content
//!    has no more ancestors than there are segments, however often it has grown; and the keys that
//!    are gone of one are among those that it has postings of in one segment.
//!
//! Fingerprint postings are inherited as well, if it is known which of them the heir has and the
//! dead content had not, and the other way round. Else, and if most are others (their level rises
//! with the size of a content), they are written anew. A signature is short, and always written.

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

/// Who has inherited what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heirs {
    by_ancestor: HashMap<u32, Heir>,
    /// The same the other way round: what each heir has inherited from.
    by_heir: HashMap<u32, Vec<u32>>,
    /// Where the chunk lists of contents are that have grown.
    lists: HashMap<u32, u32>,
    /// How many heirs have fingerprint postings of the dead.
    with_fingerprints: usize,
}

/// Who has the postings of a dead content now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heir {
    pub(crate) content: u32,
    /// The bytes of the heir that are not those of the dead one lie within these, if that is known.
    pub(crate) changed: Option<Range<u64>>,
    /// Keys of chunks of the dead content that its heir has not, ascending.
    pub(crate) gone: Vec<u64>,
    /// The same of fingerprints; `None`: the postings of the dead content's are nobody's.
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

    /// Keys of postings of the dead content that its heir has not, ascending; `None`: the heir has
    /// none of them.
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

    /// The id under which the chunk list of a content is stored.
    pub(crate) fn list_of(&self, content: ContentId) -> u32 {
        // Nearly always nothing has grown.
        if self.lists.is_empty() {
            return content.0;
        }
        self.lists.get(&content.0).copied().unwrap_or(content.0)
    }

    /// The heir of a dead content, and where in it the bytes are that the dead one has not.
    pub(crate) fn edited_from(&self, dead: ContentId) -> Option<(ContentId, Range<u64>)> {
        let heir = self.by_ancestor.get(&dead.0)?;
        Some((ContentId(heir.content), heir.changed.clone()?))
    }

    /// The dead contents whose postings a content has, with what it has not of them.
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

    /// All dead contents with an heir, and it.
    #[cfg(any(debug_assertions, feature = "testing"))]
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        let heirs = self.by_ancestor.iter();
        heirs.map(|(&ancestor, heir)| (ancestor, heir.content))
    }

    /// All contents whose lists are stored under another id.
    #[cfg(any(debug_assertions, feature = "testing"))]
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = u32> {
        self.lists.keys().copied()
    }
}

/// Whose postings of a kind are read as whose.
#[derive(Clone, Copy)]
pub(crate) struct Live<'a> {
    kind: PostingKind,
    dead: &'a BitSet,
    /// `None`: the dead have no heirs of these postings.
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

    /// The live content that has a posting; `None` if none has it any more.
    #[inline]
    pub(crate) fn of(self, key: u64, content: u32) -> Option<u32> {
        if !self.dead.has(content) {
            return Some(content);
        }
        let heir = self.heirs?.by_ancestor.get(&content)?;
        let gone = heir.gone(self.kind)?;
        (gone.binary_search(&key).is_err()).then_some(heir.content)
    }

    /// Whether [`Self::of`] may name another content than the posting, so that the order of ids is
    /// another one.
    pub(crate) const fn reorders(self) -> bool {
        self.heirs.is_some()
    }
}

/// The heirs while they are written: the tables and what is kept of them in memory.
pub(crate) struct HeirsWriting<'a> {
    pub(crate) txn: &'a WriteTransaction,
    pub(crate) heirs: &'a mut Arc<Heirs>,
}

impl HeirsWriting<'_> {
    /// What has a dead content for an ancestor.
    pub(crate) fn put(&mut self, ancestor: u32, heir: Heir) -> Result<(), Fault> {
        let mut table = self.txn.open_table(schema::HEIRS)?;
        table.insert(ancestor, &heir.encode()[..])?;
        Arc::make_mut(self.heirs).insert(ancestor, heir);
        Ok(())
    }

    /// A dead content has no postings any more, or nobody has them.
    pub(crate) fn remove(&mut self, ancestor: u32) -> Result<(), Fault> {
        if self.heirs.by_ancestor.contains_key(&ancestor) {
            Arc::make_mut(self.heirs).remove(ancestor);
            self.txn.open_table(schema::HEIRS)?.remove(ancestor)?;
        }
        Ok(())
    }

    /// A content dies without an heir.
    pub(crate) fn end(&mut self, content: ContentId) -> Result<(), Fault> {
        let ancestors: Vec<u32> = self.heirs.ancestors(content).map(|(id, _)| id).collect();
        for ancestor in ancestors {
            self.remove(ancestor)?;
        }
        self.forget_list(content)
    }

    /// The chunk list of a content is stored under this id.
    pub(crate) fn set_list(&mut self, content: ContentId, list: u32) -> Result<(), Fault> {
        let mut table = self.txn.open_table(schema::CHUNK_LIST_OF)?;
        table.insert(content.0, list)?;
        let heirs = Arc::make_mut(self.heirs);
        heirs.lists.insert(content.0, list);
        Ok(())
    }

    /// The chunk list of a content is gone, or another's.
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
