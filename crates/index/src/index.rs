//! The index: applying batches, merging, records, closing. Opening is in [`crate::open`].
//!
//! One writer, any number of readers, none of which waits for the other:
//!
//! * Writers take turns at one lock. Each begins on the state of the last commit and changes a
//!   copy of it; a failed or refused batch leaves nothing behind.
//! * A reader needs a read transaction *and* the sets in memory that belong to the same commit.
//!   Instead of a lock around the commit (two fsyncs), every commit has a generation number in
//!   its counters, and the sets of the coming generation are published before it is committed:
//!   a reader begins, reads the generation, and takes the sets of that number. Should they not be
//!   there (two commits went by meanwhile, or a commit failed half-way and was made all the
//!   same), it reads them from the tables: that is slower and as right.

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
use crate::footprint::{CommitLog, Touched};
use crate::measures::{self, NewMeasures};
use crate::place::{Place, set_aside};
use crate::schema;
use crate::snapshot::Snapshot;
use crate::state::{self, Sets};
use crate::store::{Lasting, Store};

/// How an index is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of memory for cached pages, reading and writing together.
    pub cache_bytes: usize,
    /// A key that more contents than this have is boilerplate (Broder 1997, section 4.1, leaves
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

/// How much [`Index::merge`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWork {
    /// All postings into one segment, without those of dead contents; boilerplate is counted if
    /// it was not.
    All,
    /// Everything, but only if a quarter is dead or a fifth is scattered over small segments.
    IfUseful,
}

/// One index and the only writer of its file.
#[derive(Debug)]
pub struct Index {
    /// The view that was taken last, for whoever asks before the next commit. It is let go of when
    /// that is made, and stands above the store, which must be dropped later.
    pub(crate) latest: Mutex<Option<Snapshot>>,
    pub(crate) store: Store,
    pub(crate) params: Params,
    pub(crate) boilerplate_limit: u32,
    pub(crate) place: Arc<Place>,
    /// Held while writing.
    pub(crate) turn: Mutex<()>,
    /// The sets of the last commit and, while one is under way, of the coming one, each with its
    /// generation.
    pub(crate) published: Mutex<Vec<(u64, Sets)>>,
    /// When the first commit was made that is not in the file yet.
    pub(crate) unlasting: Mutex<Option<Instant>>,
    /// What was measured since measures were last written.
    pub(crate) new_measures: Arc<NewMeasures>,
    /// What the last commits have changed.
    pub(crate) commits: Arc<CommitLog>,
    /// Bytes on disk when it was last compacted.
    pub(crate) compact_bytes: AtomicU64,
    /// Bytes on disk without those of merged segments, when a bulk load ended last.
    pub(crate) loaded_bytes: AtomicU64,
}

/// Blocks of 4096 bytes that [`Index::verify_blocks`] compares: a millisecond if they are cached.
pub const VERIFY_BLOCKS: u64 = 256;

/// An index of more bytes is not compacted when it is closed, for whoever ends a daemon waits: for
/// 256 MB that takes about a second. [`Index::compact`] does it while it is open and idle.
const LARGE: u64 = 256 << 20;

impl Index {
    /// The parameters that all contents were digested with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A view of the last commit. Cheap (some 20 µs, and less if it is not the first one of that
    /// commit): take a fresh one for each question.
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
    /// Contents whose last file goes are deleted at the end of the batch, so a file that is
    /// removed and comes back elsewhere within one batch keeps its content.
    ///
    /// After a full disk or another failure of the file system the index refuses all writing
    /// ([`ApplyError::Closed`]) until it is dropped and opened again. Snapshots read only what is
    /// cached then; where the file cannot be opened again, [`Index::last_commit`] answers.
    pub fn apply(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        self.transact(|writing| writing.apply(changes))
    }

    /// The same, but not durable: everybody sees it at once, and the file has it after the next
    /// durable transaction or [`Self::persist`]. A process that is killed before leaves an older
    /// commit, and what changed since then is found by comparing the tree with that.
    ///
    /// A small change is a few dozen pages in a file that is synced twice. Changes that come one
    /// after another touch the same pages, which are written once this way.
    pub fn apply_for_now(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        let turn = self.turn.lock();
        self.transact_in(&turn, Lasting::Later, |writing| writing.apply(changes))
    }

    /// Makes everything durable that is not since longer than this; says whether there was
    /// anything.
    pub fn persist(&self, age: Duration) -> Result<bool, ApplyError> {
        let since = *self.unlasting.lock();
        if since.is_none_or(|since| since.elapsed() < age) {
            return Ok(false);
        }
        self.transact(|_| Ok(()))?;
        Ok(true)
    }

    /// The same for one of many batches that bring new contents: segments are merged and
    /// boilerplate is counted when [`Self::finish_bulk`] ends the load, or by the next batch that
    /// is none of it.
    pub fn apply_in_bulk(&self, changes: Vec<Change>) -> Result<Applied, ApplyError> {
        self.transact(|writing| {
            writing.in_bulk = true;
            writing.apply(changes)
        })
    }

    /// Makes every content unseen ([`crate::Look::Unseen`]): what takes files apart does it in
    /// another way from now on. Parts stay until their containers are read again.
    pub fn forget_looks(&self) -> Result<(), ApplyError> {
        // The method by itself is not general enough in its lifetime.
        #[allow(clippy::redundant_closure_for_method_calls)]
        self.transact(|writing| writing.forget_looks())
    }

    /// Merges segments; see [`MergeWork`]. Readers are not held up, memory is bounded by the
    /// cache, and nothing is written if there is nothing to do.
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

    /// Ends a bulk load: one segment, boilerplate exact.
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

    /// Stores a small record under a name, over any that it had. Nothing is written if it has that
    /// one.
    pub fn put_record(&self, name: &str, value: &[u8]) -> Result<(), ApplyError> {
        self.put_records(&[(name, Some(value))])
    }

    /// Stores or, with `None`, forgets several records in one transaction.
    pub fn put_records(&self, records: &[(&str, Option<&[u8]>)]) -> Result<(), ApplyError> {
        let turn = self.turn.lock();
        self.put_in(&turn, records)
    }

    /// Changes records by what they are: no other writer comes between the state that `change` is
    /// shown and what it returns, which is stored as by [`Self::put_records`].
    ///
    /// Readers are not held up; whoever writes waits for `change`, which must not write itself.
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
        self.transact_in(turn, Lasting::AtOnce, |writing| {
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

    /// Writes the measures that were kept since the last call, in one transaction that is not
    /// durable; says whether there were any. Nobody who asks waits for it.
    pub fn write_measures(&self) -> Result<bool, ApplyError> {
        let new = self.new_measures.sorted();
        if new.is_empty() {
            return Ok(false);
        }
        let turn = self.turn.lock();
        self.transact_in(&turn, Lasting::Later, |writing| {
            Ok(measures::write(writing.txn, &new, measures::GENERATION)?)
        })?;
        drop(turn);
        self.new_measures.remove(&new);
        Ok(true)
    }

    /// Gives unused pages back to the file system if they are a third of the file or more, as after
    /// a first scan, whose merges need room for the old postings beside the new ones. Nobody can
    /// ask meanwhile: half a second for an index of 100 MB. Says whether it was done: not while a
    /// [`Snapshot`] lives.
    pub fn compact(&self) -> Result<bool, ApplyError> {
        /// Fewer bytes are not worth it.
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
                // Later commits write it to the file.
                self.compact_bytes
                    .store(self.place.bytes()?, Ordering::Relaxed);
                self.loaded_bytes.store(0, Ordering::Relaxed);
            }
            Ok(done)
        });
        done.map_err(|fault| self.place.apply_error(fault))
    }

    /// Writes the measures that were not written yet, closes the index and gives unused pages back
    /// to the file system, unless the file is large, or nothing was written since that was done
    /// last. Everything applied was durable before. While a [`Snapshot`] lives,
    /// nothing can be given back.
    pub fn close(mut self) -> Result<(), ApplyError> {
        self.write_measures()?;
        self.persist(Duration::ZERO)?;
        let path = self.place.path().to_path_buf();
        let known = guarded(|| {
            let in_file = state::compact_bytes(&self.store.read()?)?;
            Ok((self.place.bytes()?, in_file))
        });
        let (bytes, in_file) = known.map_err(|fault| self.place.apply_error(fault))?;
        // Every commit writes another number, but for the last one before closing compacts.
        if in_file == 0 {
            return Ok(());
        }
        let leave = bytes > LARGE;
        if !leave {
            // Then the file is compact as it will be found.
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

    /// What is wrong with the file, if any reader or writer has found out that something is. Then
    /// nothing can be asked any more: [`Self::set_aside`], and build another.
    pub fn damage(&self) -> Option<ReadError> {
        let reason = self.place.health.damage()?;
        Some(Fault::damaged(reason).into_read(self.place.path()))
    }

    /// Sets a damaged file aside, as opening does, and answers its new name; `None`: the index is
    /// in memory. Whoever has it open may go on reading what can be read.
    pub fn set_aside(&self) -> io::Result<Option<PathBuf>> {
        self.place.as_file().map(set_aside).transpose()
    }

    /// Calls `listener` once, when anybody meets damage, on that thread; at once if that has
    /// happened.
    pub fn on_damage(&self, listener: impl FnOnce(&str) + Send + 'static) {
        self.place.health.listen(Box::new(listener));
    }

    /// Compares a part of the file with what was written to it, for damage where nobody has looked
    /// yet: [`VERIFY_BLOCKS`] blocks from number `from` on. Answers the number to go on with, or
    /// `None` when everything was compared.
    pub fn verify_blocks(&self, from: u64) -> Result<Option<u64>, ReadError> {
        let verified = guarded(|| self.store.verify(from, VERIFY_BLOCKS));
        verified.map_err(|fault| self.place.read_error(fault))
    }

    /// Bytes that were in use when that was last known.
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
        self.transact_in(&turn, Lasting::AtOnce, work)
    }

    /// The same by one who has the turn already.
    fn transact_in<T>(
        &self,
        _turn: &MutexGuard<'_, ()>,
        lasting: Lasting,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, Refusal>,
    ) -> Result<T, ApplyError> {
        guarded(|| Ok(self.write(lasting, work)))
            .map_err(Refusal::from)
            .flatten()
            .map_err(|refusal| refusal.into_apply(&self.place))
    }

    fn write<T>(
        &self,
        lasting: Lasting,
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
            touched: Touched::default(),
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
        // Which keys are boilerplate is not known of the one or the other.
        if before.inner.counters.uncounted || counters.uncounted {
            touched.everything();
        }
        let mut meta = txn.open_table(schema::META)?;
        meta.insert(schema::meta::COUNTERS, &counters.encode()[..])?;
        meta.insert(schema::meta::FILE_SUMS, &sets.file_sums.encode(new)[..])?;
        let compact = self.known_compact_bytes().to_le_bytes();
        meta.insert(schema::meta::COMPACT, &compact[..])?;
        drop(meta);
        // Its pages may be used again by the next commit.
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
            Lasting::AtOnce => None,
            Lasting::Later => unlasting.or_else(|| Some(Instant::now())),
        };
        drop(unlasting);
        Ok(done)
    }
}
