//! The index: applying batches, merging, records, closing. Opening is in [`crate::open`].
//!
//! There is one writer and any number of readers, and none waits for another:
//!
//! * Writers take turns at one lock. Each writer starts from the state of the last commit and
//!   changes a copy of it. A failed or refused batch leaves nothing behind.
//! * A reader needs a read transaction *and* the sets in memory of the same commit. A lock around
//!   the commit would last two fsyncs. Instead every commit has a generation number in its
//!   counters. The sets of the next generation are published before it is committed. A reader
//!   begins, reads the generation, and takes the sets with that number. They may be missing,
//!   because two commits were made meanwhile, or a failed commit was made after all. Then the
//!   reader reads them from the tables, which is slower but correct.

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
    /// Bytes of memory for cached pages, reading and writing together.
    pub cache_bytes: usize,
    /// The limit of boilerplate: a key that more contents have (Broder 1997, section 4.1, leaves
    /// out shingles shared by more than 1000 documents).
    pub boilerplate_limit: u32,
}

impl Default for Options {
    /// 64 MiB and 1000.
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
    /// Merges all postings into one segment, without those of dead contents; counts boilerplate if
    /// it is out of date.
    All,
    /// Merges everything, but only if that pays: a quarter is dead, a fifth is scattered over small
    /// segments, or boilerplate is out of date.
    IfUseful,
}

/// One index and the only writer of its file.
#[derive(Debug)]
pub struct Index {
    /// The view that was taken last. It is reused until the next commit drops it. It must be
    /// dropped before the store, so it is declared first.
    pub(crate) latest: Mutex<Option<Snapshot>>,
    pub(crate) store: Store,
    pub(crate) params: Params,
    pub(crate) boilerplate_limit: u32,
    pub(crate) place: Arc<Place>,
    /// The lock that a writer holds.
    pub(crate) turn: Mutex<()>,
    /// The sets of the last commit and, during a commit, of the next one, each with its generation.
    pub(crate) published: Mutex<Vec<(u64, Sets)>>,
    /// The time of the first commit that is not durable yet.
    pub(crate) unlasting: Mutex<Option<Instant>>,
    /// The measures that are not written yet.
    pub(crate) new_measures: Arc<NewMeasures>,
    /// The changes of the last commits.
    pub(crate) commits: Arc<CommitLog>,
    /// The bytes on disk after the last compaction.
    pub(crate) compact_bytes: AtomicU64,
    /// The bytes on disk at the end of the last bulk load, without those of merged segments.
    pub(crate) loaded_bytes: AtomicU64,
}

/// The number of blocks of 4096 bytes that a call of [`Index::verify_blocks`] compares. This takes
/// a millisecond if they are cached.
pub const VERIFY_BLOCKS: u64 = 256;

/// A larger index is not compacted when it is closed, because that would delay the stop of a
/// daemon: 256 MB take about a second. [`Index::compact`] does it while the index is open and idle.
const LARGE: u64 = 256 << 20;

impl Index {
    /// Returns the parameters that all contents were digested with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns a view of the last commit. It is cheap (some 20 µs, and less if it is not the first
    /// one of that commit): take a new one for each question.
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

    /// Applies the changes in order as one durable transaction: all or nothing.
    ///
    /// A content that loses its last file is deleted at the end of the batch. So a file that is
    /// removed and added elsewhere within one batch keeps its content.
    ///
    /// A full disk or another failure of the file system makes the index refuse all writing
    /// ([`ApplyError::Closed`]). It must then be dropped and opened again. Until then snapshots
    /// read only what is cached. If the file cannot be opened again, [`Index::last_commit`] reads
    /// it.
    pub fn apply(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        self.transact(|writing| writing.apply(changes))
    }

    /// Like [`Self::apply`], but not durable. Readers see it at once, and the file has it after
    /// the next durable transaction or [`Self::persist`]. A process that is killed before that
    /// leaves an older commit. The caller finds what changed since then by comparing the tree with
    /// it.
    ///
    /// A durable small change writes a few dozen pages and syncs the file twice. Consecutive
    /// changes touch the same pages, which are then written only once.
    pub fn apply_for_now(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        let turn = self.turn.lock();
        self.transact_in(&turn, Durability::Later, |writing| writing.apply(changes))
    }

    /// Makes changes durable that are older than `age`; returns whether there were any.
    pub fn persist(&self, age: Duration) -> Result<bool, ApplyError> {
        let since = *self.unlasting.lock();
        if since.is_none_or(|since| since.elapsed() < age) {
            return Ok(false);
        }
        self.transact(|_| Ok(()))?;
        Ok(true)
    }

    /// Like [`Self::apply`], for one of many batches of new contents. Segments are merged and
    /// boilerplate is counted when [`Self::finish_bulk`] ends the load, or by the next batch
    /// outside it.
    pub fn apply_in_bulk(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        self.transact(|writing| {
            writing.in_bulk = true;
            writing.apply(changes)
        })
    }

    /// Marks every content as unseen ([`crate::Look::Unseen`]), because files are now taken apart
    /// in another way. Parts stay until their containers are read again.
    pub fn forget_looks(&self) -> Result<(), ApplyError> {
        // A path to the method does not compile here: its lifetime is not general enough.
        #[allow(clippy::redundant_closure_for_method_calls)]
        self.transact(|writing| writing.forget_looks())
    }

    /// Merges segments; see [`MergeWork`]. Readers are not blocked, memory is bounded by the cache,
    /// and nothing is written if there is nothing to do.
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

    /// Ends a bulk load: one segment, exact boilerplate.
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

    /// Stores a small record under a name, replacing the previous one. Nothing is written if it is
    /// equal.
    pub fn put_record(&self, name: &str, value: &[u8]) -> Result<(), ApplyError> {
        self.put_records(&[(name, Some(value))])
    }

    /// Stores several records in one transaction; `None` deletes one.
    pub fn put_records(&self, records: &[(&str, Option<&[u8]>)]) -> Result<(), ApplyError> {
        let turn = self.turn.lock();
        self.put_in(&turn, records)
    }

    /// Changes records depending on their values. No other writer runs between the state that
    /// `change` sees and its result, which is stored as by [`Self::put_records`].
    ///
    /// Readers are not blocked. Other writers wait for `change`, which must not write itself.
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

    /// Writes the measures that were added since the last call, in one transaction that is not
    /// durable; returns whether there were any. No reader waits for it.
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

    /// Returns unused pages to the file system if they are a third of the file or more. That is
    /// usual after a first scan, because its merges need room for the old postings and the new
    /// ones. Readers wait meanwhile: half a second for an index of 100 MB. Returns whether the file
    /// was compacted, which is impossible while a [`Snapshot`] is alive.
    pub fn compact(&self) -> Result<bool, ApplyError> {
        /// With fewer unused bytes, compacting is not worth its time.
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

    /// Writes the remaining measures, makes all changes durable and closes the index. Also returns
    /// unused pages to the file system, unless the file is large, is compact already, or a
    /// [`Snapshot`] is alive.
    pub fn close(mut self) -> Result<(), ApplyError> {
        self.write_measures()?;
        self.persist(Duration::ZERO)?;
        let path = self.place.path().to_path_buf();
        let known = guarded(|| {
            let in_file = state::compact_bytes(&self.store.read()?)?;
            Ok((self.place.bytes()?, in_file))
        });
        let (bytes, in_file) = known.map_err(|fault| self.place.apply_error(fault))?;
        // The number is 0 only if closing compacted the file and no commit followed.
        if in_file == 0 {
            return Ok(());
        }
        let leave = bytes > LARGE;
        if !leave {
            // The number 0 says that the file is compact when it is next opened.
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

    /// Returns the damage of the file, if a reader or writer found any. No question can be answered
    /// then: use [`Self::set_aside`], and build another index.
    pub fn damage(&self) -> Option<ReadError> {
        let reason = self.place.health.damage()?;
        Some(Fault::damaged(reason).into_read(self.place.path()))
    }

    /// Sets a damaged file aside, as opening does, and returns its new name; `None`: the index is
    /// in memory. Processes that have it open can still read its intact parts.
    pub fn set_aside(&self) -> io::Result<Option<PathBuf>> {
        self.place.as_file().map(set_aside).transpose()
    }

    /// Calls `listener` once, when any thread finds damage, on that thread; at once if damage was
    /// found before.
    pub fn on_damage(&self, listener: impl FnOnce(&str) + Send + 'static) {
        self.place.health.listen(Box::new(listener));
    }

    /// Compares a part of the file with its checksums, to find damage that no reader has reached:
    /// [`VERIFY_BLOCKS`] blocks from number `from` on. Returns the number to continue with, or
    /// `None` at the end.
    pub fn verify_blocks(&self, from: u64) -> Result<Option<u64>, ReadError> {
        let verified = guarded(|| self.store.verify(from, VERIFY_BLOCKS));
        verified.map_err(|fault| self.place.read_error(fault))
    }

    /// Returns the least size that the file is known to need.
    fn known_compact_bytes(&self) -> u64 {
        let compact = self.compact_bytes.load(Ordering::Relaxed);
        compact.max(self.loaded_bytes.load(Ordering::Relaxed))
    }

    /// Runs `work` in a write transaction and commits.
    pub(crate) fn transact<T>(
        &self,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, Refusal>,
    ) -> Result<T, ApplyError> {
        let turn = self.turn.lock();
        self.transact_in(&turn, Durability::AtOnce, work)
    }

    /// Like [`Self::transact`], for a caller that holds the writers' lock already.
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
        // If boilerplate is out of date before or after the batch, the keys that became boilerplate
        // are not known.
        if before.inner.counters.uncounted || counters.uncounted {
            touched.everything();
        }
        let mut meta = txn.open_table(schema::META)?;
        meta.insert(schema::meta::COUNTERS, &counters.encode()[..])?;
        meta.insert(schema::meta::FILE_SUMS, &sets.file_sums.encode(new)[..])?;
        let compact = self.known_compact_bytes().to_le_bytes();
        meta.insert(schema::meta::COMPACT, &compact[..])?;
        drop(meta);
        // The view of the previous commit is dropped, so that the next commit can reuse its pages.
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
