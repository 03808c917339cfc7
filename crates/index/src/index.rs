//! Uses an open index: applies batches, merges segments, stores records, and closes the index.
//! Module [`crate::open`] opens it.
//!
//! There is one writer at a time, and any number of readers. Readers and writers do not wait for
//! each other:
//!
//! * Writers take turns at one lock. Each writer changes a copy of the state of the last commit. So
//!   a failed or refused batch leaves nothing behind.
//! * A reader needs a read transaction *and* the sets in memory (`Sets`) of the same commit. A lock
//!   around the commit would make readers wait for two fsyncs. Instead, every commit has a
//!   generation number in its counters. The sets of a commit are published under that number before
//!   the commit is made. A reader begins a transaction, reads the generation, and takes the sets
//!   with that number. These sets are missing if two commits were made meanwhile, or if a commit
//!   reported a failure but took effect. Then the reader loads the sets from the tables, which is
//!   slower but correct.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use resemble_core::Params;

use crate::batch::{Refusal, Writing, postings};
use crate::change::{Applied, Change};
use crate::error::{ApplyError, ReadError};
use crate::fault::{Fault, guarded};
use crate::footprint::{CommitLog, WriteSet};
use crate::measures::{self, NewMeasures};
use crate::place::{Place, set_aside};
use crate::schema;
use crate::snapshot::Snapshot;
use crate::state::{self, Sets};
use crate::store::{Durability, Store};

/// The options of opening an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The number of bytes of memory for cached pages. Readers and writers share this memory.
    pub cache_bytes: usize,
    /// A key is boilerplate if the number of contents that have it is above this limit. (Section
    /// 4.1 of Broder 1997 leaves out shingles that more than 1000 documents share.)
    pub boilerplate_limit: u32,
}

impl Default for Options {
    /// Returns a cache of 64 MiB and a boilerplate limit of 1000.
    fn default() -> Self {
        Self {
            cache_bytes: 64 << 20,
            boilerplate_limit: 1000,
        }
    }
}

/// The extent of [`Index::merge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWork {
    /// Merges all postings into one segment, without those of dead contents. Counts boilerplate if
    /// the counts are out of date.
    All,
    /// Does the same as `All`, but only if one of three conditions is true. First, the boilerplate
    /// counts are out of date. Second, there is more than one dead content for every four live
    /// contents. Third, there are more than four segments, and a fifth of the postings is outside
    /// the largest segment.
    IfUseful,
}

/// One index. It is the only writer of its file.
#[derive(Debug)]
pub struct Index {
    /// The snapshot of the last commit, if one was taken. It is shared until the next commit drops
    /// it. This field must be dropped before `store`, so it is declared first.
    pub(crate) latest: Mutex<Option<Snapshot>>,
    pub(crate) store: Store,
    pub(crate) params: Params,
    pub(crate) boilerplate_limit: u32,
    pub(crate) place: Arc<Place>,
    /// The lock that a writer holds for the whole batch.
    pub(crate) turn: Mutex<()>,
    /// The sets of the last commit, with its generation. During a commit, also the sets of that new
    /// commit.
    pub(crate) published: Mutex<Vec<(u64, Sets)>>,
    /// The time of the first commit that is not yet durable.
    pub(crate) unlasting: Mutex<Option<Instant>>,
    /// Measures of pairs that are not yet written to the file.
    pub(crate) new_measures: Arc<NewMeasures>,
    /// The changes of the latest commits.
    pub(crate) commits: Arc<CommitLog>,
    /// The number of bytes on disk after the last compaction.
    pub(crate) compact_bytes: AtomicU64,
    /// The number of bytes on disk at the end of the last bulk load, minus the bytes of the
    /// segments that were merged then.
    pub(crate) loaded_bytes: AtomicU64,
}

/// The number of blocks of 4096 bytes that one call of [`Index::verify_blocks`] compares. Such a
/// call takes a millisecond if the blocks are cached.
pub const VERIFY_BLOCKS: u64 = 256;

/// The number of bytes above which an index is not compacted when it is closed. To compact 256 MB
/// takes about a second, in which the daemon could not stop. [`Index::compact`] compacts a large
/// index while it is open and idle.
const LARGE: u64 = 256 << 20;

impl Index {
    /// Returns the parameters with which all contents were digested.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns a snapshot of the last commit. Take a new snapshot for each question. The first
    /// snapshot of a commit takes some 20 µs, and further ones take less.
    pub fn snapshot(&self) -> Result<Snapshot, ReadError> {
        guarded(|| self.view()).map_err(|fault| self.place.read_error(fault))
    }

    fn view(&self) -> Result<Snapshot, Fault> {
        let txn = self.store.read()?;
        let counters = state::counters(&txn)?;
        let latest = self.latest.lock().clone();
        if let Some(latest) = latest.filter(|of| of.generation() == counters.generation) {
            return Ok(Snapshot::sharing(latest.inner));
        }
        let published = self
            .published
            .lock()
            .iter()
            .find(|(generation, _)| *generation == counters.generation)
            .map(|(_, sets)| sets.clone());
        let sets = match published {
            Some(sets) => sets,
            None => Sets::load(&txn, self.boilerplate_limit)?,
        };
        let snapshot = Snapshot::new(
            &txn,
            counters,
            sets,
            (self.boilerplate_limit, self.params),
            Arc::clone(&self.place),
            (Arc::clone(&self.new_measures), Arc::clone(&self.commits)),
            None,
        )?;
        *self.latest.lock() = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Applies the changes in order, in one durable transaction. So either all changes are applied,
    /// or none.
    ///
    /// A content is deleted if neither a file nor a container has it at the end of the batch. So a
    /// file that is removed and added elsewhere in one batch keeps its content.
    ///
    /// If the disk is full or the file system fails, the index refuses all further writing
    /// ([`ApplyError::Closed`]). It must then be dropped and opened again. Until then, snapshots
    /// can read only cached data. If the file cannot be opened again, [`Index::last_commit`] can
    /// still read it.
    pub fn apply(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        self.transact(|writing| writing.apply(changes))
    }

    /// Like [`Self::apply`], but the changes are not durable at once. Readers see the changes at
    /// once. The next durable transaction or [`Self::persist`] writes them to the disk. If the
    /// process is killed before that, the file has an older commit. Then the caller must compare
    /// the tree with the index to find the lost changes.
    ///
    /// A small durable change writes a few dozen pages, and syncs the file twice. Consecutive
    /// changes often touch the same pages. With this method, each of these pages is written only
    /// once for all the changes.
    pub fn apply_for_now(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        let turn = self.turn.lock();
        self.transact_in(&turn, Durability::Later, |writing| writing.apply(changes))
    }

    /// If the oldest change that is not durable is older than `age`, makes all changes durable.
    /// Returns whether changes were made durable.
    pub fn persist(&self, age: Duration) -> Result<bool, ApplyError> {
        let since = *self.unlasting.lock();
        if since.is_none_or(|since| since.elapsed() < age) {
            return Ok(false);
        }
        self.transact(|_| Ok(()))?;
        Ok(true)
    }

    /// Like [`Self::apply`], for one of many batches of a bulk load. Most merges of segments are
    /// left to [`Self::finish_bulk`], or to the next batch outside the load. Boilerplate that is
    /// out of date is also counted then.
    pub fn apply_in_bulk(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        self.transact(|writing| {
            writing.in_bulk = true;
            writing.apply(changes)
        })
    }

    /// Marks every content as not yet searched for parts ([`crate::Look::Unseen`]), because files
    /// are now taken apart in another way. The parts stay until their container is searched again.
    pub fn forget_looks(&self) -> Result<(), ApplyError> {
        // With `Writing::forget_looks` in place of the closure, this does not compile: the lifetime
        // of that function is not general enough.
        #[allow(clippy::redundant_closure_for_method_calls)]
        self.transact(|writing| writing.forget_looks())
    }

    /// Merges segments: see [`MergeWork`]. Readers do not wait for the merge. Its memory is bounded
    /// by the cache. If there is nothing to merge or to count, nothing is written.
    pub fn merge(&self, work: MergeWork) -> Result<(), ApplyError> {
        let snapshot = self.snapshot()?;
        let wanted = guarded(|| match work {
            MergeWork::All => Ok(postings::merge_does_anything(&snapshot)),
            MergeWork::IfUseful => postings::merge_is_useful(&snapshot),
        });
        drop(snapshot);
        if !wanted.map_err(|fault| self.place.apply_error(fault))? {
            return Ok(());
        }
        self.transact(postings::merge_all)
    }

    /// Ends a bulk load: merges all segments into one, and counts boilerplate exactly.
    pub fn finish_bulk(&self) -> Result<(), ApplyError> {
        let snapshot = self.snapshot()?;
        let merged = guarded(|| postings::bytes(&snapshot))
            .map_err(|fault| self.place.apply_error(fault))?;
        drop(snapshot);
        self.merge(MergeWork::All)?;
        let bytes =
            guarded(|| Ok(self.place.bytes()?)).map_err(|fault| self.place.apply_error(fault))?;
        self.loaded_bytes
            .store(bytes.saturating_sub(merged), Ordering::Relaxed);
        Ok(())
    }

    /// Stores a small record under a name, and replaces any previous one. Writes nothing if the
    /// value is the same.
    pub fn put_record(&self, name: &str, value: &[u8]) -> Result<(), ApplyError> {
        self.put_records(&[(name, Some(value))])
    }

    /// Stores several records in one transaction. A record with the value `None` is deleted.
    pub fn put_records(&self, records: &[(&str, Option<&[u8]>)]) -> Result<(), ApplyError> {
        let turn = self.turn.lock();
        self.put_in(&turn, records)
    }

    /// Changes records in a way that depends on the present records. `change` reads the present
    /// records, and its result is stored as by [`Self::put_records`]. No other writer runs in
    /// between.
    ///
    /// Readers do not wait. Other writers wait for `change`, so `change` must not write to the
    /// index itself.
    pub fn update_records(
        &self,
        change: impl FnOnce(&Snapshot) -> Result<Vec<(String, Option<Vec<u8>>)>, ReadError>,
    ) -> Result<(), ApplyError> {
        let turn = self.turn.lock();
        let records = change(&self.snapshot()?)?;
        let records: Vec<(&str, Option<&[u8]>)> = records
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_deref()))
            .collect();
        if records.is_empty() {
            return Ok(());
        }
        self.put_in(&turn, &records)
    }

    fn put_in(
        &self,
        turn: &MutexGuard<'_, ()>,
        records: &[(&str, Option<&[u8]>)],
    ) -> Result<(), ApplyError> {
        let before = self.snapshot()?;
        let mut is_new = false;
        for (name, value) in records {
            is_new |= before.record(name)?.as_deref() != *value;
        }
        drop(before);
        if !is_new {
            return Ok(());
        }
        self.transact_in(turn, Durability::AtOnce, |writing| {
            let mut table = writing.txn.open_table(schema::RECORDS)?;
            for (name, value) in records {
                match value {
                    Some(value) => drop(table.insert(name, value)?),
                    None => drop(table.remove(name)?),
                }
            }
            Ok(())
        })
    }

    /// Writes all measures that are not yet in the file, in one transaction that is not durable at
    /// once. Returns whether there were such measures. No reader waits for the write.
    pub fn write_measures(&self) -> Result<bool, ApplyError> {
        let new = self.new_measures.sorted();
        if new.is_empty() {
            return Ok(false);
        }
        let turn = self.turn.lock();
        self.transact_in(&turn, Durability::Later, |writing| {
            Ok(measures::write(writing.txn, &new, measures::GENERATION)?)
        })?;
        drop(turn);
        self.new_measures.remove(&new);
        Ok(true)
    }

    /// Returns unused pages to the file system. Does so only if the file has grown by half, and by
    /// 4 MB or more, since it was last compacted. This is usual after a first scan, because its
    /// merges need space for the old postings and the new ones. Readers wait meanwhile: half a
    /// second for an index of 100 MB. Returns whether the file was compacted. While a [`Snapshot`]
    /// exists, the file is not compacted.
    pub fn compact(&self) -> Result<bool, ApplyError> {
        /// If there are fewer unused bytes than this, compaction is not worth its time.
        const LEAST: u64 = 4 << 20;
        if self.place.as_file().is_none() {
            return Ok(false);
        }
        let _turn = self.turn.lock();
        let done = guarded(|| {
            let compact = self.compact_bytes.load(Ordering::Relaxed);
            if self.place.bytes()? < compact + (compact / 2).max(LEAST) {
                return Ok(false);
            }
            self.latest.lock().take();
            let done = self.store.compact_in_use()?;
            if done {
                // Later commits write this number to the file.
                self.compact_bytes
                    .store(self.place.bytes()?, Ordering::Relaxed);
                self.loaded_bytes.store(0, Ordering::Relaxed);
            }
            Ok(done)
        });
        done.map_err(|fault| self.place.apply_error(fault))
    }

    /// Writes the remaining measures, makes all changes durable, and closes the index. Also returns
    /// unused pages to the file system, unless the file is large or already compact, or a
    /// [`Snapshot`] exists.
    pub fn close(mut self) -> Result<(), ApplyError> {
        self.write_measures()?;
        self.persist(Duration::ZERO)?;
        let path = self.place.path().to_path_buf();
        let known = guarded(|| {
            let in_file = state::compact_bytes(&self.store.read()?)?;
            Ok((self.place.bytes()?, in_file))
        });
        let (bytes, in_file) = known.map_err(|fault| self.place.apply_error(fault))?;
        // The number in the file is 0 only if the file was compacted when it was last closed, and
        // no commit followed.
        if in_file == 0 {
            return Ok(());
        }
        let leave = bytes > LARGE;
        if !leave {
            // The number 0 means that the file is compact. The number is read when the index is
            // opened again.
            self.compact_bytes.store(0, Ordering::Relaxed);
            self.loaded_bytes.store(0, Ordering::Relaxed);
        }
        if in_file != self.known_compact_bytes() {
            self.transact(|_| Ok(()))?;
        }
        if leave {
            return Ok(());
        }
        self.latest.lock().take();
        let compacted =
            guarded(|| self.store.compact()).map_err(|fault| self.place.apply_error(fault))?;
        if !compacted {
            tracing::debug!(path = %path.display(), "not compacted: a snapshot is alive");
        }
        Ok(())
    }

    /// Returns the damage of the file, if a reader or writer has found any. Questions that read the
    /// damaged part fail. The caller should call [`Self::set_aside`], and build another index.
    pub fn damage(&self) -> Option<ReadError> {
        let reason = self.place.health.damage()?;
        Some(Fault::damaged(reason).into_read(self.place.path()))
    }

    /// Renames a damaged file, as [`Index::open`] does, and returns its new name. Returns `None` if
    /// the index is in memory. Processes that have the file open can still read its intact parts.
    pub fn set_aside(&self) -> io::Result<Option<PathBuf>> {
        self.place.as_file().map(set_aside).transpose()
    }

    /// Calls `listener` once, on the thread that first finds damage. If damage was found before,
    /// calls `listener` at once.
    pub fn on_damage(&self, listener: impl FnOnce(&str) + Send + 'static) {
        self.place.health.listen(Box::new(listener));
    }

    /// Compares [`VERIFY_BLOCKS`] blocks of the file with their checksums, from block `from` on.
    /// This finds damage that no reader has reached. Returns the block to continue with, or `None`
    /// at the end.
    pub fn verify_blocks(&self, from: u64) -> Result<Option<u64>, ReadError> {
        let verified = guarded(|| self.store.verify(from, VERIFY_BLOCKS));
        verified.map_err(|fault| self.place.read_error(fault))
    }

    /// Returns the smallest number of bytes that the file is known to need.
    fn known_compact_bytes(&self) -> u64 {
        let compact = self.compact_bytes.load(Ordering::Relaxed);
        compact.max(self.loaded_bytes.load(Ordering::Relaxed))
    }

    /// Runs `work` in a write transaction, and commits it.
    pub(crate) fn transact<T>(
        &self,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, Refusal>,
    ) -> Result<T, ApplyError> {
        let turn = self.turn.lock();
        self.transact_in(&turn, Durability::AtOnce, work)
    }

    /// Like [`Self::transact`], but the caller already holds the writers' lock.
    fn transact_in<T>(
        &self,
        _turn: &MutexGuard<'_, ()>,
        lasting: Durability,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, Refusal>,
    ) -> Result<T, ApplyError> {
        guarded(|| Ok(self.write(lasting, work)))
            .map_err(Refusal::from)
            .flatten()
            .map_err(|refusal| refusal.into_apply(&self.place))
    }

    fn write<T>(
        &self,
        lasting: Durability,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let before = self.view()?;
        let txn = self.store.write(lasting)?;
        let old = before.generation();
        let mut writing = Writing {
            txn: &txn,
            counters: before.inner.counters,
            sets: before.inner.sets.clone(),
            boilerplate_limit: self.boilerplate_limit,
            in_bulk: false,
            before: &before,
            touched: WriteSet::default(),
        };
        let new = old + 1;
        writing.counters.generation = new;
        let done = work(&mut writing)?;
        let Writing {
            counters,
            sets,
            mut touched,
            ..
        } = writing;
        // If the boilerplate counts are out of date before or after the batch, it is not known
        // which keys became boilerplate. So the commit touches everything.
        if before.inner.counters.uncounted || counters.uncounted {
            touched.everything();
        }
        let mut meta = txn.open_table(schema::META)?;
        meta.insert(schema::meta::COUNTERS, &counters.encode()[..])?;
        meta.insert(schema::meta::FILE_SUMS, &sets.file_sums.encode(new)[..])?;
        let compact = self.known_compact_bytes().to_le_bytes();
        meta.insert(schema::meta::COMPACT, &compact[..])?;
        drop(meta);
        // The snapshot of the previous commit is dropped, so that the next commit can reuse the
        // pages of that commit.
        drop(before);
        self.latest.lock().take();
        self.commits.push(new, touched);
        {
            let mut published = self.published.lock();
            published.retain(|(generation, _)| *generation == old);
            published.push((new, sets));
        }
        let committed = txn.commit();
        let keep = if committed.is_ok() { new } else { old };
        self.published
            .lock()
            .retain(|(generation, _)| *generation == keep);
        committed?;
        let mut unlasting = self.unlasting.lock();
        *unlasting = match lasting {
            Durability::AtOnce => None,
            Durability::Later => unlasting.or_else(|| Some(Instant::now())),
        };
        drop(unlasting);
        Ok(done)
    }
}
