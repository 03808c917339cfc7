//! Snapshots. Every query of an index is made on a snapshot. A snapshot shows one commit.
//!
//! A [`Snapshot`] is a read transaction with open tables, together with the sets of the same
//! commit, behind one `Arc`. It is cheap to clone. Any number of threads can read it, and no commit
//! waits for these threads. **Take a new snapshot for each question, and drop it after the
//! answer.** While a snapshot exists, the pages of its commit cannot be reused. So the file grows
//! with every commit, and [`crate::Index::close`] cannot compact it.
//!
//! No query panics on a damaged file: it returns [`ReadError::Damaged`]. A panic in a callback of
//! the caller is not caught.

pub(crate) mod departed;
mod footprint;
pub(crate) mod gaps;
mod lists;
mod measures;
pub(crate) mod origins;
pub(crate) mod paths;
pub(crate) mod rows;
mod seen;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use resemble_core::similarity::Templates;
use resemble_core::{ChunkList, ContentId, Params, Signature, StopFlag};

use crate::error::ReadError;
use crate::fault::{Fault, guarded};
use crate::footprint::CommitLog;
use crate::measures::{MeasuresTable, NewMeasures};
use crate::place::Place;
use crate::schema::{self, DirValue, EntryKey, NameKey, PostingKind, PostingTable};
use crate::segments::order::Order;
use crate::segments::{Postings, Segment};
use crate::state::{Counters, Sets};
use crate::store::{ReadOnlyTable, ReadTransaction, ReadableTable, Store};

/// A consistent view of one commit. The [module](self) explains how long to keep a snapshot.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) inner: Arc<Inner>,
    /// The templates that this reader uses. They are not stored in the index.
    templates: Arc<Templates>,
    /// The flag with which this reader can stop its question.
    stop: StopFlag,
    /// The contents and keys that the question has read, if its answer is to be cached.
    noted: Option<footprint::Notes>,
    /// The caller to whose files the snapshot is restricted. `None` if it is not restricted.
    eyes: Option<Arc<seen::AccessFilter>>,
}

pub(crate) struct Inner {
    pub(crate) place: Arc<Place>,
    pub(crate) counters: Counters,
    pub(crate) sets: Sets,
    pub(crate) boilerplate_limit: u32,
    pub(crate) params: Params,
    pub(crate) directories: ReadOnlyTable<u32, DirValue>,
    pub(crate) entries: ReadOnlyTable<EntryKey, &'static [u8]>,
    pub(crate) unlisted: ReadOnlyTable<u32, i32>,
    pub(crate) gaps: ReadOnlyTable<u32, &'static [u8]>,
    pub(crate) files: ReadOnlyTable<u32, &'static [u8]>,
    pub(crate) further_names: ReadOnlyTable<NameKey, ()>,
    pub(crate) inodes: ReadOnlyTable<(u16, u64), &'static [u8]>,
    pub(crate) contents: ReadOnlyTable<u32, &'static [u8]>,
    pub(crate) content_files: ReadOnlyTable<(u32, u32), ()>,
    pub(crate) parts: ReadOnlyTable<(u32, u32), &'static [u8]>,
    pub(crate) part_of: ReadOnlyTable<(u32, u32, u32), ()>,
    pub(crate) skipped_parts: ReadOnlyTable<u32, &'static [u8]>,
    pub(crate) digests: ReadOnlyTable<(u32, u32), ()>,
    pub(crate) chunk_lists: ReadOnlyTable<(u32, u32), &'static [u8]>,
    pub(crate) signatures: ReadOnlyTable<(u32, u32), &'static [u8]>,
    pub(crate) records: ReadOnlyTable<&'static str, &'static [u8]>,
    pub(crate) departures: ReadOnlyTable<u64, &'static [u8]>,
    pub(crate) origins: ReadOnlyTable<u32, &'static [u8]>,
    /// The newer and the older table of measures.
    pub(crate) measures: [MeasuresTable; 2],
    pub(crate) new_measures: Arc<NewMeasures>,
    pub(crate) commits: Arc<CommitLog>,
    pub(crate) segments: Vec<OpenSegment>,
    /// The store, if only this snapshot keeps it open. The field is declared after the tables,
    /// because the tables must be dropped first.
    _store: Option<Store>,
}

/// A segment with its open tables. If a segment has no postings of a kind, it has no table of that
/// kind.
pub(crate) struct OpenSegment {
    pub(crate) row: Segment,
    pub(crate) chunks: Option<PostingTable>,
    pub(crate) fingerprints: Option<PostingTable>,
    pub(crate) order: Option<Arc<Order>>,
}

impl OpenSegment {
    pub(crate) fn postings(&self, kind: PostingKind) -> Option<Postings<'_>> {
        let blocks = match kind {
            PostingKind::Chunk => self.chunks.as_ref(),
            PostingKind::Fingerprint => self.fingerprints.as_ref(),
        };
        Some(Postings {
            blocks: blocks?,
            order: self.order.as_ref(),
        })
    }
}

impl Snapshot {
    /// Opens the tables in a read transaction. `sets` must belong to the transaction's commit.
    /// `store` is closed when the last clone of the snapshot is dropped.
    pub(crate) fn new(
        txn: &ReadTransaction,
        counters: Counters,
        sets: Sets,
        (boilerplate_limit, params): (u32, Params),
        place: Arc<Place>,
        (new_measures, commits): (Arc<NewMeasures>, Arc<CommitLog>),
        store: Option<Store>,
    ) -> Result<Self, Fault> {
        let mut segments = Vec::new();
        for row in txn.open_table(schema::SEGMENTS)?.iter()? {
            let (id, row) = row?;
            let (first, last, chunk_postings, fingerprint_postings) = row.value();
            let row = Segment {
                id: id.value(),
                first,
                last,
                chunk_postings,
                fingerprint_postings,
            };
            let open = |kind, postings| {
                if postings == 0 {
                    return Ok(None);
                }
                let name = schema::postings_name(kind, row.id);
                Ok::<_, Fault>(Some(txn.open_table(schema::postings_table(&name))?))
            };
            segments.push(OpenSegment {
                row,
                chunks: open(PostingKind::Chunk, chunk_postings)?,
                fingerprints: open(PostingKind::Fingerprint, fingerprint_postings)?,
                order: sets.orders.get(&row.id).cloned(),
            });
        }
        // A merged segment has a newer id than its neighbours. So segments are sorted by the ids of
        // their contents instead.
        segments.sort_unstable_by_key(|segment| segment.row.first);
        let inner = Inner {
            place,
            counters,
            sets,
            boilerplate_limit,
            params,
            directories: txn.open_table(schema::DIRECTORIES)?,
            entries: txn.open_table(schema::ENTRIES)?,
            unlisted: txn.open_table(schema::UNLISTED)?,
            gaps: txn.open_table(schema::GAPS)?,
            files: txn.open_table(schema::FILES)?,
            further_names: txn.open_table(schema::FURTHER_NAMES)?,
            inodes: txn.open_table(schema::INODES)?,
            contents: txn.open_table(schema::CONTENTS)?,
            content_files: txn.open_table(schema::CONTENT_FILES)?,
            parts: txn.open_table(schema::PARTS)?,
            part_of: txn.open_table(schema::PART_OF)?,
            skipped_parts: txn.open_table(schema::SKIPPED_PARTS)?,
            digests: txn.open_table(schema::DIGESTS)?,
            chunk_lists: txn.open_table(schema::CHUNK_LISTS)?,
            signatures: txn.open_table(schema::SIGNATURES)?,
            records: txn.open_table(schema::RECORDS)?,
            departures: txn.open_table(schema::DEPARTURES)?,
            origins: txn.open_table(schema::ORIGINS)?,
            measures: [
                txn.open_table(schema::MEASURES)?,
                txn.open_table(schema::OLDER_MEASURES)?,
            ],
            new_measures,
            commits,
            segments,
            _store: store,
        };
        Ok(Self::sharing(Arc::new(inner)))
    }

    /// Makes a snapshot of the same commit for another reader.
    pub(crate) fn sharing(inner: Arc<Inner>) -> Self {
        Self {
            inner,
            templates: Arc::default(),
            stop: StopFlag::default(),
            noted: None,
            eyes: None,
        }
    }

    /// Sets the templates. In queries of the returned snapshot, a template is no evidence.
    ///
    /// The index is not changed: templates are decisions of a user. They are set in the snapshot,
    /// because every question has a snapshot. So all parts of a question use the same templates.
    #[must_use]
    pub fn with_templates(self, templates: Arc<Templates>) -> Self {
        Self { templates, ..self }
    }

    /// Returns the templates that [`Self::with_templates`] has set. If it was not called, there are
    /// no templates.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.templates
    }

    /// Makes the snapshot stoppable: after `stop` is set, every query that reads the file fails
    /// with [`ReadError::Stopped`].
    ///
    /// Nearly all loops of a question query the index. So these loops end without further checks. A
    /// loop that uses only memory must check [`Self::stop`].
    #[must_use]
    pub fn with_stop(self, stop: StopFlag) -> Self {
        Self { stop, ..self }
    }

    /// Returns the stop flag. Only the caller of [`Self::with_stop`] can set it.
    pub const fn stop(&self) -> &StopFlag {
        &self.stop
    }

    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Inner) -> Result<T, Fault>,
    ) -> Result<T, ReadError> {
        self.look(|| question(&self.inner))
    }

    /// Runs one read. All reads that can fail use this method, even the single steps of long reads.
    /// So the stop flag can end every read.
    fn look<T>(&self, look: impl FnOnce() -> Result<T, Fault>) -> Result<T, ReadError> {
        self.stop.go_on()?;
        guarded(look).map_err(|fault| self.blame(fault))
    }

    fn blame(&self, fault: Fault) -> ReadError {
        self.inner.place.read_error(fault)
    }

    fn path(&self) -> &Path {
        self.inner.place.path()
    }

    /// Returns the generation number of the commit.
    pub fn generation(&self) -> u64 {
        self.inner.counters.generation
    }

    /// Like [`Snapshot::chunks`], for the writer: without access checks.
    pub(crate) fn chunks_raw(&self, content: ContentId) -> Result<ChunkList, Fault> {
        self.inner.chunks(content)
    }

    /// Like [`Snapshot::signature`], for the writer: without access checks.
    pub(crate) fn signature_raw(&self, content: ContentId) -> Result<Signature, Fault> {
        self.inner.signature(content)
    }

    pub(crate) fn segments(&self) -> &[OpenSegment] {
        &self.inner.segments
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("path", &self.path())
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_go_anywhere() {
        fn anywhere<T: Clone + Send + Sync + 'static>() {}
        anywhere::<Snapshot>();
    }
}
