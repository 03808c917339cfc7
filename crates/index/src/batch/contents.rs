//! The contents of the index. While a batch is applied, contents are found by digest, and their
//! files are counted. At the end of the batch, new contents are written and unused ones are
//! deleted.

use std::collections::HashMap;
use std::ops::{Bound, Range};

use resemble_core::date::DocumentDate;
use resemble_core::{
    ByteLen, ChunkEdit, ContentDigest, ContentId, Digest, DirId, EditedDigest, FileId,
    FingerprintEdit,
};

use super::{Refusal, Writing};
use crate::codec::lists::{encode_chunks, encode_signature};
use crate::codec::rows::StoredContent;
use crate::fault::Fault;
use crate::origins::Origin;
use crate::rows::Look;
use crate::schema;
use crate::snapshot::rows::digest_prefix;
use crate::store::{ReadableTable, Table, WriteTransaction};

/// The tables of contents, and the changes that the batch has made to them so far.
pub(super) struct Contents<'a> {
    txn: &'a WriteTransaction,
    pub(super) rows: Table<'a, u32, &'static [u8]>,
    content_files: Table<'a, (u32, u32), ()>,
    digests: Table<'a, (u32, u32), ()>,
    pub(super) parts: Table<'a, (u32, u32), &'static [u8]>,
    pub(super) part_of: Table<'a, (u32, u32, u32), ()>,
    pub(super) skipped_parts: Table<'a, u32, &'static [u8]>,
    origins: Table<'a, u32, &'static [u8]>,
    /// The first new id of this batch: `fresh[i]` has the id `first_new + i`.
    first_new: u32,
    fresh: Vec<Fresh>,
    fresh_by_digest: HashMap<ContentDigest, u32>,
    /// The changes of the batch to stored contents.
    gained: HashMap<u32, RefCountChange>,
}

/// A content that is new in the batch.
pub(super) struct Fresh {
    pub(super) digest: Box<Digest>,
    /// The stored content from which the digest was edited, if a change gave the digest as edits.
    pub(super) base: Option<Base>,
    /// The stored content that a file of this content had before.
    pub(super) was: Option<ContentId>,
    origin: Option<Origin>,
    gained: RefCountChange,
}

/// A stored content whose digest was edited into the digest of a new content.
pub(super) struct Base {
    pub(super) content: ContentId,
    /// The edits that turn the chunks of `content` into the chunks of the new content.
    pub(super) chunks: Vec<ChunkEdit>,
    /// The edit that turns the fingerprints of `content` into those of the new content. `None` if
    /// it is not known which fingerprints differ.
    pub(super) fingerprints: Option<FingerprintEdit>,
}

/// The difference between the numbers of neighbouring parts of a chunk list. New parts can take the
/// free numbers in between.
pub(super) const STEP: u32 = 16;

/// An heir: a new content that shares most of its data with a deleted content, its ancestor.
pub(super) struct Inherited {
    pub(super) ancestor: ContentId,
    pub(super) heir: ContentId,
    /// The number of runs in the complete chunk list of the heir.
    pub(super) runs: u64,
    pub(super) chunks: u64,
    /// Keys of chunks that the ancestor has and the heir does not have, ascending.
    pub(super) gone: Vec<u64>,
    /// The edit of the fingerprints; `None` if the heir takes over no fingerprint postings.
    pub(super) fingerprints: Option<FingerprintEdit>,
    /// A range of the heir outside which no byte differs from the ancestor.
    pub(super) changed: Range<u64>,
    /// The sizes of the ancestor and of the heir.
    pub(super) sizes: (ByteLen, ByteLen),
}

/// The changes that a batch makes to a content. The number of added references is negative if
/// references are removed.
#[derive(Clone, Copy, Default)]
struct RefCountChange {
    files: i64,
    uses: i64,
    /// The new result of searching the content for parts. `None` if the result does not change.
    seen: Option<Seen>,
}

/// The stored result of searching a content for parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) look: Look,
    /// The number of rows in `parts`.
    pub(super) parts: u32,
    /// True if the content has a row in `skipped_parts`.
    pub(super) skipped: bool,
    /// The date that the document itself states.
    pub(super) date: Option<DocumentDate>,
}

/// The changes of a whole batch to the contents. They are known at the end of the batch.
pub(super) struct BatchOutcome {
    /// The first id of the batch. If nothing refers to a new content at the end of the batch, the
    /// content has an id, but is not in `fresh`.
    pub(super) first_new: u32,
    /// The new contents with their ids, ascending. An heir's digest has only the chunks that were
    /// inserted into its ancestor's chunk list.
    pub(super) fresh: Vec<(ContentId, Box<Digest>)>,
    /// The new contents that are heirs of contents in `killed`.
    pub(super) inherited: Vec<Inherited>,
    /// The stored contents without a file and without a container after the batch, ascending. Their
    /// rows are deleted.
    pub(super) killed: Vec<ContentId>,
}

impl<'a> Contents<'a> {
    pub(super) fn new(txn: &'a WriteTransaction, first_new: u32) -> Result<Self, Fault> {
        Ok(Self {
            txn,
            rows: txn.open_table(schema::CONTENTS)?,
            content_files: txn.open_table(schema::CONTENT_FILES)?,
            digests: txn.open_table(schema::DIGESTS)?,
            parts: txn.open_table(schema::PARTS)?,
            part_of: txn.open_table(schema::PART_OF)?,
            skipped_parts: txn.open_table(schema::SKIPPED_PARTS)?,
            origins: txn.open_table(schema::ORIGINS)?,
            first_new,
            fresh: Vec::new(),
            fresh_by_digest: HashMap::new(),
            gained: HashMap::new(),
        })
    }

    /// Returns whether the index or this batch has a content with this id. A content that lost its
    /// last file in this batch still exists.
    pub(super) fn exists(&self, content: ContentId) -> Result<bool, Fault> {
        match content.0.checked_sub(self.first_new) {
            Some(index) => Ok((index as usize) < self.fresh.len()),
            None => Ok(self.rows.get(content.0)?.is_some()),
        }
    }

    /// Returns the content with this digest. Adds it if neither the index nor the batch has it.
    pub(super) fn of_digest(
        &mut self,
        digest: Box<Digest>,
        writing: &mut Writing<'_>,
    ) -> Result<ContentId, Refusal> {
        match self.find(&digest.content)? {
            Some(id) => Ok(id),
            None => self.born(digest, None, writing),
        }
    }

    /// Returns the content with this digest, which is given as edits of a stored content. Adds the
    /// content if it is new. Returns `None` if the index does not have the stored content, or if
    /// the edits do not fit it.
    pub(super) fn of_edited(
        &mut self,
        edited: EditedDigest,
        writing: &mut Writing<'_>,
    ) -> Result<Option<ContentId>, Refusal> {
        if let Some(id) = self.find(&edited.digest.content)? {
            return Ok(Some(id));
        }
        // The base must be a stored content. A new content of this batch has no rows that could be
        // edited.
        let Some(base) = self.stored(&edited.base)? else {
            return Ok(None);
        };
        let EditedDigest {
            edits,
            fingerprints,
            digest,
            ..
        } = edited;
        if !self.fit(&edits, base, digest.size, writing)? {
            return Ok(None);
        }
        let base = Base {
            content: base,
            chunks: edits,
            fingerprints,
        };
        self.born(digest, Some(base), writing).map(Some)
    }

    /// Adds a content that neither the index nor the batch has. Returns its id.
    fn born(
        &mut self,
        digest: Box<Digest>,
        base: Option<Base>,
        writing: &mut Writing<'_>,
    ) -> Result<ContentId, Refusal> {
        let id = writing.counters.next_content;
        writing.counters.next_content = id.checked_add(1).ok_or(Refusal::Full("content"))?;
        self.fresh_by_digest.insert(digest.content, id);
        self.fresh.push(Fresh {
            digest,
            base,
            was: None,
            origin: None,
            gained: RefCountChange::default(),
        });
        Ok(ContentId(id))
    }

    /// Returns the content with this digest from the index or from this batch.
    pub(super) fn find(&self, digest: &ContentDigest) -> Result<Option<ContentId>, Fault> {
        match self.fresh_by_digest.get(digest) {
            Some(&id) => Ok(Some(ContentId(id))),
            None => self.stored(digest),
        }
    }

    fn stored(&self, digest: &ContentDigest) -> Result<Option<ContentId>, Fault> {
        let prefix = digest_prefix(digest);
        for row in self.digests.range((prefix, 0)..=(prefix, u32::MAX))? {
            let id = ContentId(row?.0.value().1);
            if self.row(id)?.digest == *digest {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    pub(super) fn row(&self, content: ContentId) -> Result<StoredContent, Fault> {
        let row = self
            .rows
            .get(content.0)?
            .ok_or_else(|| Fault::damaged("a row names an unknown content"))?;
        Ok(StoredContent::decode(row.value())?)
    }

    /// Links a file to its content.
    pub(super) fn link(&mut self, content: ContentId, file: FileId) -> Result<(), Fault> {
        self.content_files.insert((content.0, file.0), ())?;
        self.count(content, 1);
        Ok(())
    }

    /// Removes the link from a file to its content.
    pub(super) fn unlink(&mut self, content: ContentId, file: FileId) -> Result<(), Fault> {
        self.content_files.remove((content.0, file.0))?;
        self.count(content, -1);
        Ok(())
    }

    /// Returns the changes that the batch has made to a content. `None` if the id is larger than
    /// every id of the batch.
    fn gained(&mut self, content: ContentId) -> Option<&mut RefCountChange> {
        match content.0.checked_sub(self.first_new) {
            Some(index) => Some(&mut self.fresh.get_mut(index as usize)?.gained),
            None => Some(self.gained.entry(content.0).or_default()),
        }
    }

    /// Records that a file changed from the stored content `was` to `content`. Does nothing if
    /// `content` is not new in this batch.
    pub(super) fn succeeds(&mut self, content: ContentId, was: ContentId) {
        let at = content.0.checked_sub(self.first_new);
        let fresh = at.and_then(|at| self.fresh.get_mut(at as usize));
        if let Some(fresh) = fresh
            && was.0 < self.first_new
        {
            fresh.was = Some(was);
        }
    }

    /// Records the origin of a content that is new in this batch. Does nothing if the content is
    /// stored, or has an origin already.
    pub(super) fn note_origin(&mut self, content: ContentId, origin: impl FnOnce() -> Origin) {
        let at = content.0.checked_sub(self.first_new);
        if let Some(fresh) = at.and_then(|at| self.fresh.get_mut(at as usize)) {
            fresh.origin.get_or_insert_with(origin);
        }
    }

    /// If the origin of a stored content is the name `from`, changes it to the name `to`.
    pub(super) fn move_origin(
        &mut self,
        content: ContentId,
        from: (DirId, &[u8]),
        to: (DirId, &[u8]),
    ) -> Result<(), Fault> {
        let Some(row) = self.origins.get(content.0)? else {
            return Ok(());
        };
        let mut origin = Origin::decode(row.value())?;
        drop(row);
        if (origin.dir, &origin.name[..]) == from {
            (origin.dir, origin.name) = (to.0, to.1.to_vec());
            let mut bytes = Vec::new();
            origin.encode(&mut bytes);
            self.origins.insert(content.0, &bytes[..])?;
        }
        Ok(())
    }

    fn count(&mut self, content: ContentId, by: i64) {
        if let Some(gained) = self.gained(content) {
            gained.files += by;
        }
    }

    /// Adds `by` to the number of places where this content is a part of another content.
    pub(super) fn count_use(&mut self, content: ContentId, by: i64) {
        if let Some(gained) = self.gained(content) {
            gained.uses += by;
        }
    }

    /// Returns the result of searching a content for parts. A result of this batch replaces the
    /// stored result.
    pub(super) fn seen(&self, content: ContentId) -> Result<Seen, Fault> {
        if let Some(index) = content.0.checked_sub(self.first_new) {
            let fresh = self.fresh.get(index as usize);
            return Ok(fresh
                .and_then(|fresh| fresh.gained.seen)
                .unwrap_or_default());
        }
        if let Some(seen) = self.gained.get(&content.0).and_then(|gained| gained.seen) {
            return Ok(seen);
        }
        let row = self.row(content)?;
        Ok(Seen {
            look: row.look,
            parts: row.parts,
            skipped: row.skipped,
            date: row.date,
        })
    }

    pub(super) fn set_seen(&mut self, content: ContentId, seen: Seen) {
        if let Some(gained) = self.gained(content) {
            gained.seen = Some(seen);
        }
    }

    /// Releases the parts of all contents that have no file at the end of the batch. A part has no
    /// parts of its own unless a file also has its content. So one pass is enough.
    fn let_go(&mut self) -> Result<(), Fault> {
        let mut without = Vec::new();
        for (&id, gained) in &self.gained {
            if i64::from(self.row(ContentId(id))?.files) + gained.files == 0 {
                without.push(id);
            }
        }
        without.sort_unstable();
        let fresh = self.fresh.iter().zip(self.first_new..);
        without.extend(
            fresh
                .filter(|(fresh, _)| fresh.gained.files == 0)
                .map(|(_, id)| id),
        );
        for id in without {
            self.drop_parts(ContentId(id))?;
        }
        Ok(())
    }

    /// Writes the new contents, deletes stored ones that nothing refers to, and updates all counts.
    pub(super) fn settle(mut self, writing: &mut Writing<'_>) -> Result<BatchOutcome, Fault> {
        self.let_go()?;
        self.fresh_by_digest.clear();
        let first_new = self.first_new;
        let mut fresh: Vec<_> = std::mem::take(&mut self.fresh)
            .into_iter()
            .zip((first_new..).map(ContentId))
            .filter(|(fresh, _)| fresh.gained.files > 0 || fresh.gained.uses > 0)
            .collect();
        let inherited = self.inherit(&mut fresh, writing)?;
        let killed = self.settle_old(&inherited, writing)?;
        self.settle_fresh(&fresh, &inherited, writing)?;
        let fresh = fresh.into_iter();
        Ok(BatchOutcome {
            first_new,
            fresh: fresh.map(|(fresh, id)| (id, fresh.digest)).collect(),
            inherited,
            killed,
        })
    }

    /// Returns whether a stored content has neither a file nor a container at the end of the batch.
    pub(super) fn goes(&self, content: ContentId) -> Result<bool, Fault> {
        let Some(gained) = self.gained.get(&content.0) else {
            return Ok(false);
        };
        let row = self.row(content)?;
        let left = |had: u32, gained: i64| i64::from(had) + gained;
        Ok((left(row.files, gained.files), left(row.uses, gained.uses)) == (0, 0))
    }

    fn settle_old(
        &mut self,
        inherited: &[Inherited],
        writing: &mut Writing<'_>,
    ) -> Result<Vec<ContentId>, Fault> {
        for &content in self.gained.keys() {
            writing.touched.content(ContentId(content));
        }
        let changed = |gained: &RefCountChange| {
            (gained.files, gained.uses) != (0, 0) || gained.seen.is_some()
        };
        let gained = self.gained.drain().filter(|(_, gained)| changed(gained));
        let mut gained: Vec<_> = gained.collect();
        gained.sort_unstable_by_key(|&(id, _)| id);
        let mut killed = Vec::new();
        let mut bytes = Vec::new();
        let mut chunk_lists = self.txn.open_table(schema::CHUNK_LISTS)?;
        let mut signatures = self.txn.open_table(schema::SIGNATURES)?;
        for (id, gained) in gained {
            let mut row = self.row(ContentId(id))?;
            row.files = counted(i64::from(row.files) + gained.files)?;
            row.uses = counted(i64::from(row.uses) + gained.uses)?;
            if let Some(seen) = gained.seen {
                (row.look, row.parts, row.skipped) = (seen.look, seen.parts, seen.skipped);
                row.date = seen.date;
            }
            if row.files > 0 || row.uses > 0 {
                row.encode(&mut bytes);
                self.rows.insert(id, &bytes[..])?;
                continue;
            }
            self.rows.remove(id)?;
            self.origins.remove(id)?;
            self.digests.remove((digest_prefix(&row.digest), id))?;
            let parts = (id, 0)..=(id, u32::MAX);
            if !inherited.iter().any(|of| of.ancestor.0 == id) {
                let list = writing.sets.heirs.list_of(ContentId(id));
                if row.chunk_runs > 0 {
                    chunk_lists.retain_in((list, 0)..=(list, u32::MAX), |_, _| false)?;
                }
                writing.heirs().end(ContentId(id))?;
            }
            if row.fingerprints > 0 || row.level > 0 {
                signatures.retain_in(parts, |_, _| false)?;
            }
            let counters = &mut writing.counters;
            counters.chunks = counters.chunks.saturating_sub(row.chunks);
            counters.fingerprints = counters
                .fingerprints
                .saturating_sub(u64::from(row.fingerprints));
            killed.push(ContentId(id));
        }
        Ok(killed)
    }

    /// Writes the rows of the new contents. Their ids are larger than all stored ones, so the rows
    /// are appended to each table whose key begins with the id.
    fn settle_fresh(
        mut self,
        fresh: &[(Fresh, ContentId)],
        inherited: &[Inherited],
        writing: &mut Writing<'_>,
    ) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        let mut rows = self.rows.upper_bound_mut(Bound::<u32>::Unbounded)?;
        let inherited_by = |id: ContentId| inherited.iter().find(|of| of.heir == id);
        for (content, id) in fresh {
            let (digest, gained) = (&*content.digest, &content.gained);
            let seen = gained.seen.unwrap_or_default();
            let own = || (digest.chunks.0.len() as u64, digest.chunks.len_chunks());
            let (chunk_runs, chunks) =
                inherited_by(*id).map_or_else(own, |of| (of.runs, of.chunks));
            let row = StoredContent {
                digest: digest.content,
                size: digest.size,
                kind: digest.kind,
                level: digest.signature.level,
                chunk_runs,
                chunks,
                fingerprints: u32::try_from(digest.posted().count()).unwrap_or(u32::MAX),
                files: counted(gained.files)?,
                uses: counted(gained.uses)?,
                look: seen.look,
                parts: seen.parts,
                skipped: seen.skipped,
                words: digest.words,
                date: seen.date,
            };
            writing.counters.chunks += row.chunks;
            writing.counters.fingerprints += u64::from(row.fingerprints);
            row.encode(&mut bytes);
            rows.insert_before(id.0, &bytes[..])?;
        }
        rows.close()?;
        let mut rows = self.origins.upper_bound_mut(Bound::<u32>::Unbounded)?;
        for (content, id) in fresh {
            if let Some(origin) = &content.origin {
                origin.encode(&mut bytes);
                rows.insert_before(id.0, &bytes[..])?;
            }
        }
        rows.close()?;
        let mut lists = self.txn.open_table(schema::CHUNK_LISTS)?;
        let mut parts = lists.upper_bound_mut(Bound::<(u32, u32)>::Unbounded)?;
        for (content, id) in fresh {
            if inherited_by(*id).is_some() {
                continue;
            }
            let mut number = 0;
            encode_chunks(&content.digest.chunks, |part| {
                parts.insert_before((id.0, number), part)?;
                number += STEP;
                Ok::<_, Fault>(())
            })?;
        }
        parts.close()?;
        drop(lists);
        let params = *writing.before.params();
        let mut signatures = self.txn.open_table(schema::SIGNATURES)?;
        let mut parts = signatures.upper_bound_mut(Bound::<(u32, u32)>::Unbounded)?;
        for (content, id) in fresh {
            let mut number = 0;
            encode_signature(&content.digest.kept(&params), |part| {
                parts.insert_before((id.0, number), part)?;
                number += 1;
                Ok::<_, Fault>(())
            })?;
        }
        parts.close()?;
        drop(signatures);
        let mut digests: Vec<_> = fresh
            .iter()
            .map(|(c, id)| (digest_prefix(&c.digest.content), id.0))
            .collect();
        digests.sort_unstable();
        for key in digests {
            self.digests.insert(key, ())?;
        }
        Ok(())
    }
}

fn counted(of: i64) -> Result<u32, Fault> {
    u32::try_from(of).map_err(|_| Fault::damaged("the number of files of a content is wrong"))
}
