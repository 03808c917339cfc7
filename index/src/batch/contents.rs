//! Contents: found by digest, counted, written and deleted at the end of the batch.

use std::collections::HashMap;
use std::ops::Bound;

use resemble_core::{ContentDigest, ContentId, Digest, FileId};

use super::{Refusal, Writing};
use crate::codec::lists::{encode_chunks, encode_signature};
use crate::codec::rows::StoredContent;
use crate::fault::Fault;
use crate::schema;
use crate::snapshot::rows::digest_prefix;
use crate::store::{ReadableTable, Table, WriteTransaction};

/// The tables of contents and what the batch has done to them so far.
pub(super) struct Contents<'a> {
    txn: &'a WriteTransaction,
    rows: Table<'a, u32, &'static [u8]>,
    content_files: Table<'a, (u32, u32), ()>,
    digests: Table<'a, (u64, u32), ()>,
    /// The first id that this batch gives out; `fresh[i]` has the id `first_new + i`.
    first_new: u32,
    fresh: Vec<Fresh>,
    fresh_by_digest: HashMap<ContentDigest, u32>,
    /// Files gained less files lost, of contents that were there before.
    gained: HashMap<u32, i64>,
}

struct Fresh {
    digest: Box<Digest>,
    files: i64,
}

/// What the batch did to the contents.
pub(super) struct Settled {
    /// The id range of this batch; ids of contents that lost all files again are left out below.
    pub(super) first_new: u32,
    /// New contents with their ids, ascending.
    pub(super) fresh: Vec<(ContentId, Box<Digest>)>,
    /// Contents without a file any more, ascending. Their rows are gone.
    pub(super) killed: Vec<ContentId>,
}

impl<'a> Contents<'a> {
    pub(super) fn new(txn: &'a WriteTransaction, first_new: u32) -> Result<Self, Fault> {
        Ok(Self {
            txn,
            rows: txn.open_table(schema::CONTENTS)?,
            content_files: txn.open_table(schema::CONTENT_FILES)?,
            digests: txn.open_table(schema::DIGESTS)?,
            first_new,
            fresh: Vec::new(),
            fresh_by_digest: HashMap::new(),
            gained: HashMap::new(),
        })
    }

    /// Whether a content can still be named. Those that lost their last file in this batch can.
    pub(super) fn exists(&self, content: ContentId) -> Result<bool, Fault> {
        match content.0.checked_sub(self.first_new) {
            Some(index) => Ok((index as usize) < self.fresh.len()),
            None => Ok(self.rows.get(content.0)?.is_some()),
        }
    }

    /// The content with this digest, a new one if need be.
    pub(super) fn of_digest(
        &mut self,
        digest: Box<Digest>,
        writing: &mut Writing<'_>,
    ) -> Result<ContentId, Refusal> {
        if let Some(&id) = self.fresh_by_digest.get(&digest.content) {
            return Ok(ContentId(id));
        }
        if let Some(id) = self.stored(&digest.content)? {
            return Ok(id);
        }
        let id = writing.counters.next_content;
        writing.counters.next_content = id.checked_add(1).ok_or(Refusal::Full("content"))?;
        self.fresh_by_digest.insert(digest.content, id);
        self.fresh.push(Fresh { digest, files: 0 });
        Ok(ContentId(id))
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

    fn row(&self, content: ContentId) -> Result<StoredContent, Fault> {
        let row = self
            .rows
            .get(content.0)?
            .ok_or_else(|| Fault::damaged("a row names an unknown content"))?;
        Ok(StoredContent::decode(row.value())?)
    }

    /// One more file has the content.
    pub(super) fn link(&mut self, content: ContentId, file: FileId) -> Result<(), Fault> {
        self.content_files.insert((content.0, file.0), ())?;
        self.count(content, 1);
        Ok(())
    }

    /// One file fewer has it.
    pub(super) fn unlink(&mut self, content: ContentId, file: FileId) -> Result<(), Fault> {
        self.content_files.remove((content.0, file.0))?;
        self.count(content, -1);
        Ok(())
    }

    fn count(&mut self, content: ContentId, by: i64) {
        match content.0.checked_sub(self.first_new) {
            Some(index) => {
                if let Some(fresh) = self.fresh.get_mut(index as usize) {
                    fresh.files += by;
                }
            }
            None => *self.gained.entry(content.0).or_default() += by,
        }
    }

    /// Writes the new contents, deletes those without files, and counts.
    pub(super) fn settle(mut self, writing: &mut Writing<'_>) -> Result<Settled, Fault> {
        let killed = self.settle_old(writing)?;
        let first_new = self.first_new;
        let fresh = self.settle_fresh(writing)?;
        Ok(Settled {
            first_new,
            fresh,
            killed,
        })
    }

    fn settle_old(&mut self, writing: &mut Writing<'_>) -> Result<Vec<ContentId>, Fault> {
        let mut gained: Vec<_> = self.gained.drain().filter(|&(_, by)| by != 0).collect();
        gained.sort_unstable();
        let mut killed = Vec::new();
        let mut bytes = Vec::new();
        let mut chunk_lists = self.txn.open_table(schema::CHUNK_LISTS)?;
        let mut signatures = self.txn.open_table(schema::SIGNATURES)?;
        for (id, by) in gained {
            let mut row = self.row(ContentId(id))?;
            let files = i64::from(row.files) + by;
            row.files = u32::try_from(files)
                .map_err(|_| Fault::damaged("a content's files are miscounted"))?;
            if files > 0 {
                row.encode(&mut bytes);
                self.rows.insert(id, &bytes[..])?;
                continue;
            }
            self.rows.remove(id)?;
            self.digests.remove((digest_prefix(&row.digest), id))?;
            let parts = (id, 0)..=(id, u32::MAX);
            if row.chunk_runs > 0 {
                chunk_lists.retain_in(parts.clone(), |_, _| false)?;
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

    /// New ids are above all others, so their rows go to the ends of the tables in order.
    fn settle_fresh(
        mut self,
        writing: &mut Writing<'_>,
    ) -> Result<Vec<(ContentId, Box<Digest>)>, Fault> {
        let first_new = self.first_new;
        let fresh: Vec<_> = std::mem::take(&mut self.fresh)
            .into_iter()
            .zip(first_new..)
            .filter(|(fresh, _)| fresh.files > 0)
            .collect();
        let mut bytes = Vec::new();
        let mut rows = self.rows.upper_bound_mut(Bound::<u32>::Unbounded)?;
        for (content, id) in &fresh {
            let digest = &*content.digest;
            let row = StoredContent {
                digest: digest.content,
                size: digest.size,
                kind: digest.kind,
                level: digest.signature.level,
                chunk_runs: digest.chunks.0.len() as u64,
                chunks: digest.chunks.0.iter().map(|run| run.count).sum(),
                fingerprints: u32::try_from(digest.signature.fingerprints.len())
                    .unwrap_or(u32::MAX),
                files: u32::try_from(content.files)
                    .map_err(|_| Fault::damaged("a content's files are miscounted"))?,
            };
            writing.counters.chunks += row.chunks;
            writing.counters.fingerprints += u64::from(row.fingerprints);
            row.encode(&mut bytes);
            rows.insert_before(id, &bytes[..])?;
        }
        rows.close()?;
        let mut lists = self.txn.open_table(schema::CHUNK_LISTS)?;
        let mut parts = lists.upper_bound_mut(Bound::<(u32, u32)>::Unbounded)?;
        for (content, id) in &fresh {
            let mut number = 0;
            encode_chunks(&content.digest.chunks, |part| {
                parts.insert_before((*id, number), part)?;
                number += 1;
                Ok::<_, Fault>(())
            })?;
        }
        parts.close()?;
        drop(lists);
        let mut signatures = self.txn.open_table(schema::SIGNATURES)?;
        let mut parts = signatures.upper_bound_mut(Bound::<(u32, u32)>::Unbounded)?;
        for (content, id) in &fresh {
            let mut number = 0;
            encode_signature(&content.digest.signature, |part| {
                parts.insert_before((*id, number), part)?;
                number += 1;
                Ok::<_, Fault>(())
            })?;
        }
        parts.close()?;
        drop(signatures);
        let mut digests: Vec<_> = fresh
            .iter()
            .map(|(c, id)| (digest_prefix(&c.digest.content), *id))
            .collect();
        digests.sort_unstable();
        for key in digests {
            self.digests.insert(key, ())?;
        }
        Ok(fresh
            .into_iter()
            .map(|(content, id)| (ContentId(id), content.digest))
            .collect())
    }
}
