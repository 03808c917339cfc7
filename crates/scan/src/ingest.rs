//! Bringing the index in line with the tree.
//!
//! One algorithm serves the first scan, a restart, an event and a rescan: **look, compare, read
//! what differs, apply**. Events only say where to look; `lstat` says what is there; the index says
//! what was known; and whatever is equal costs nothing more.
//!
//! ```text
//! targets ─► visit (list, compare) ─► jobs ─► pool (threads: read, digest) ─► batch ─► index
//!              │ new name of a known inode: a link, no read                     ▲
//!              └────────────────────────────────────────────────────────────────┘
//! ```
//!
//! 1. **Watch, then list.** The observer is told of a directory before it is listed. A name made
//!    before the listing is in the listing, one made after it has an event.
//! 2. **Nothing is removed early.** A name that is not there goes at the end of the round, when the
//!    same file may have been met under a new name, and only after one more look. So a move
//!    across directories is a link and a removal in whatever order the walk meets them, and reads
//!    nothing.
//! 3. **Absent is not the same as failed.** Only `ENOENT`, `ENOTDIR` and `ELOOP` mean that a name
//!    is gone. No descriptors, a stale handle or a disk error keep what is known. What may not be
//!    read any more is not shown any more: a file becomes *unreadable*, a directory loses what is
//!    below.
//! 4. **A root never vanishes with its files.** If it is missing, may not be opened, or is
//!    suddenly an empty directory on another file system (not mounted), it is *unavailable* and its
//!    entries stay. Neither is anything removed when a root was replaced while it was looked at.
//! 5. **What changes while it is looked at** is looked at again in further rounds, a few, and then
//!    handed back as *unresolved*; a file that is written to while it is read, as *moving*.
//! 6. **Bounded.** The files under way are bounded in number and bytes, the batch in weight; a
//!    directory's listing and one file's digest are what must fit in memory as a whole.
//! 7. **A changed inode is read** even if size and modification time are those that are known: both
//!    can be put back. Only an event that told of the change itself (a rename of this very name, a
//!    link, a chmod) explains it, and only if the index has all names of the inode, since writing
//!    through another name would have been heard as well. What was done under names that nobody
//!    saw is found by comparing inodes (`sweep`).
//! 8. **A cold disk is kept busy**: files in the queue and directories to be entered are fetched
//!    into the page cache by threads that do nothing else (`ahead`).
//! 9. **Order of a batch**: links, stats, the rest, and removals when the round ends; see `batch`.
//! 10. **Documents are taken apart beside all that**, by threads of their own and in the order of
//!     their turns; see `documents`.

mod ahead;
mod apart;
mod area;
mod assumed;
mod batch;
mod costs;
mod documents;
mod files;
mod gaps;
mod lister;
mod paths;
mod pool;
mod report;
mod results;
mod rules;
mod run;
mod sweep;
mod target;
mod verdict;
mod visit;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use resemble_index::{Change, Index};
use resemble_mounts::{LiveTable, MountTable};

use self::assumed::Assumed;
use self::costs::Costs;
use self::documents::Documents;
use self::pool::Pool;
use self::run::Run;

pub use documents::WaitingDocuments;
pub use report::{
    Amount, Committed, IngestError, Listing, Observer, Progress, Report, SoftError, Unobserved,
};
pub use rules::gitignore_of;
pub use target::{Cause, DocumentTurns, IndexUse, IngestOptions, RootOptions, Scope, Target};

/// The writer of an index. One thread uses it; its reading threads start with the first file.
#[derive(Debug)]
pub struct Ingest {
    index: Arc<Index>,
    options: IngestOptions,
    pool: Pool,
    documents: Documents,
    assumed: Assumed,
    costs: Costs,
    /// What is mounted; `None`: that cannot be followed, and is read for each reconcile.
    mounts: Option<LiveTable>,
}

impl Ingest {
    /// Takes over the writing of `index`.
    pub fn new(index: Arc<Index>, options: IngestOptions) -> Self {
        let pool = Pool::new(
            *index.params(),
            options.threads,
            options.stop.child(),
            options.part_reader.clone(),
        );
        let documents = Documents::new(&index, pool.threads(), options.part_reader.clone());
        Self {
            index,
            options,
            pool,
            documents,
            costs: Costs::default(),
            assumed: Assumed::default(),
            mounts: LiveTable::new().ok(),
        }
    }

    /// Sees to it that what has been taken apart was so by what takes files apart now: if that is
    /// another, every content counts as unseen. To be called once before reconciling.
    pub fn know_parts(&self) -> Result<(), IngestError> {
        /// The record of what took the contents of an index apart.
        const RECORD: &str = "parts.by";
        let Some(part_reader) = &self.options.part_reader else {
            return Ok(());
        };
        let id = part_reader.id();
        let by = self.index.snapshot()?.record(RECORD)?;
        if by.as_deref() != Some(id.as_bytes()) {
            if by.is_some() {
                self.index.forget_looks()?;
            }
            self.index.put_record(RECORD, id.as_bytes())?;
        }
        Ok(())
    }

    /// The index that is written.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// How it works.
    pub const fn options(&self) -> &IngestOptions {
        &self.options
    }

    /// Other roots or rules from now on; what lies under a root no longer named stays in the index.
    pub fn set_roots(&mut self, roots: Vec<RootOptions>) {
        self.options.roots = roots;
    }

    /// Other excluded paths from now on.
    pub fn set_exclude(&mut self, exclude: Vec<PathBuf>) {
        self.options.exclude = exclude;
    }

    /// Brings the index in line with what is at the targets now. Failures of single files are no
    /// errors; after an error the index has what was applied before.
    pub fn reconcile(
        &mut self,
        targets: &[Target],
        observer: &mut dyn Observer,
    ) -> Result<Report, IngestError> {
        let Self {
            index,
            options,
            pool,
            documents,
            assumed,
            costs,
            mounts,
        } = self;
        let mounts =
            (mounts.as_ref()).map_or_else(|| Arc::new(MountTable::load()), LiveTable::current);
        let state = (pool, documents, assumed, costs);
        Run::new(index, options, state, mounts, observer)?.run(targets)
    }

    /// Documents whose parts are not in the index yet.
    pub fn documents(&self) -> usize {
        self.documents.len()
    }

    /// Knows which contents these are.
    pub fn waiting_documents(&self) -> WaitingDocuments {
        self.documents.waiting()
    }

    /// A mark for [`Self::is_past`].
    pub fn documents_mark(&self) -> u64 {
        self.documents.mark()
    }

    /// Whether the parts of all documents that came before the mark are in the index.
    pub fn is_past(&self, mark: u64) -> bool {
        self.documents.is_past(mark)
    }

    /// When [`Self::reconcile`] has parts of documents to write, whatever its targets are.
    pub fn documents_due(&self) -> Option<Instant> {
        self.documents.due()
    }

    /// Rings when [`Self::documents_due`] may have changed.
    pub fn documents_bell(&self) -> Receiver<()> {
        self.documents.bell()
    }

    /// From now on no event explains why an inode changed: [`IngestOptions::distrust`].
    pub const fn set_distrust(&mut self, distrust: bool) {
        self.options.distrust = distrust;
    }

    /// How long a large file is read from now on before others get their turn:
    /// [`IngestOptions::turn`].
    pub const fn set_turn(&mut self, turn: Option<Duration>) {
        self.options.turn = turn;
    }

    /// How long it takes to read a file of this device, inode and size, going by the last time:
    /// zero if that is nothing to speak of, or only what is behind its end will be read.
    pub fn cost_of(&mut self, file: (u64, u64), size: impl FnOnce() -> u64) -> Duration {
        let cost = self.costs.of(file);
        if cost.is_zero() || self.pool.known_files().is_behind(file, size()) {
            return Duration::ZERO;
        }
        cost
    }

    /// How many files have grown, and were read from where they ended: what stands before that is
    /// assumed to be what it was.
    pub fn assumed(&self) -> usize {
        self.assumed.len()
    }

    /// What is to be reconciled so that nothing is assumed any more.
    pub fn assumed_targets(&mut self) -> Result<Vec<Target>, IngestError> {
        Ok(self.assumed.targets(&self.index.snapshot()?)?)
    }

    /// Reads what is assumed, to its end, so that the index is what the files are.
    pub fn verify(&mut self, observer: &mut dyn Observer) -> Result<Report, IngestError> {
        let targets = self.assumed_targets()?;
        let turn = self.options.turn.take();
        let report = self.reconcile(&targets, observer);
        self.options.turn = turn;
        report
    }

    /// Removes `path` and all below from the index: a root that is no longer watched.
    pub fn forget(&mut self, path: &Path) -> Result<(), IngestError> {
        self.index.apply(vec![Change::Remove(path.to_owned())])?;
        Ok(())
    }
}
