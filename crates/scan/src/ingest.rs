//! Brings the index in line with the tree.
//!
//! One algorithm serves the first scan, a restart, an event and a rescan: **look, compare, read
//! what differs, apply**. Events only say where to look, `lstat` returns the present state, and the
//! index has the earlier one. Equal files cost nothing more.
//!
//! ```text
//! targets ─► visit (list, compare) ─► jobs ─► pool (threads: read, digest) ─► batch ─► index
//!              │ new name of a known inode: a link, no read                     ▲
//!              └────────────────────────────────────────────────────────────────┘
//! ```
//!
//! 1. **Watch, then list.** The observer is called before a directory is listed. A name made before
//!    the listing is in the listing; one made after it causes an event.
//! 2. **Nothing is removed early.** A missing name is removed at the end of the round, after one
//!    more look. By then its file may have been found under a new name. So a move across
//!    directories is a link and a removal in any order of the walk, and reads nothing.
//! 3. **Absent is not the same as failed.** Only `ENOENT`, `ENOTDIR` and `ELOOP` mean that a name
//!    is gone. Missing descriptors, a stale handle or a disk error keep the known state. Denied
//!    access hides contents: a file becomes *unreadable*, a directory loses everything below.
//! 4. **A root never vanishes with its files.** It is *unavailable* if it is missing or cannot be
//!    opened. So is an empty directory that is suddenly on another file system (not mounted). Then
//!    its entries stay. Nothing is removed either if a root was replaced during the reconcile.
//! 5. **Changes during a reconcile** are checked again in a few further rounds, and then returned
//!    as *unresolved*. A file that is written to while it is read is returned as *moving*.
//! 6. **Bounded.** The files under way are bounded in number and bytes, the batch in weight. Only a
//!    directory's listing and one file's digest must fit in memory as a whole.
//! 7. **A changed inode is read** even if size and modification time are unchanged, since both can
//!    be set. Only an event that reported the change itself (a rename of this very name, a link, a
//!    chmod) makes a reading unnecessary. The index must also have all names of the inode, because
//!    a write through an unknown name causes no event. Changes under unobserved names are found by
//!    comparing inodes (`sweep`).
//! 8. **A cold disk is kept busy**: separate threads prefetch queued files and directories to be
//!    entered (`ahead`).
//! 9. **Order of a batch**: links, stats, the rest, and removals when the round ends; see `batch`.
//! 10. **Documents are taken apart in parallel**, by separate threads and in the order of their
//!     turns; see `documents`.

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
    /// The mounts, followed as they change. `None` if that is not possible; then each reconcile
    /// reads them.
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

    /// Compares the present reader with the one that took the indexed contents apart. If they
    /// differ, every content counts as unseen. Must be called once before reconciling.
    pub fn know_parts(&self) -> Result<(), IngestError> {
        /// The record of the reader that took the contents of an index apart.
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

    /// Returns the index that is written.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Returns the options.
    pub const fn options(&self) -> &IngestOptions {
        &self.options
    }

    /// Sets roots and rules. Entries below a root that is no longer named stay in the index.
    pub fn set_roots(&mut self, roots: Vec<RootOptions>) {
        self.options.roots = roots;
    }

    /// Sets the excluded paths.
    pub fn set_exclude(&mut self, exclude: Vec<PathBuf>) {
        self.options.exclude = exclude;
    }

    /// Brings the index in line with the present state of the targets. Failures of single files are
    /// no errors. After an error, the index has the changes that were applied before.
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

    /// Returns the number of documents whose parts are not in the index yet.
    pub fn documents(&self) -> usize {
        self.documents.len()
    }

    /// Returns the set of contents whose documents are waiting.
    pub fn waiting_documents(&self) -> WaitingDocuments {
        self.documents.waiting()
    }

    /// Returns a mark that follows all documents so far, for [`Self::is_past`].
    pub fn documents_mark(&self) -> u64 {
        self.documents.mark()
    }

    /// Returns whether the parts of all documents up to the mark are in the index.
    pub fn is_past(&self, mark: u64) -> bool {
        self.documents.is_past(mark)
    }

    /// Returns when [`Self::reconcile`] should be called to write parts of documents, even without
    /// targets.
    pub fn documents_due(&self) -> Option<Instant> {
        self.documents.due()
    }

    /// Returns a channel that signals when [`Self::documents_due`] may have changed.
    pub fn documents_bell(&self) -> Receiver<()> {
        self.documents.bell()
    }

    /// Sets [`IngestOptions::distrust`]: if true, no event explains why an inode changed.
    pub const fn set_distrust(&mut self, distrust: bool) {
        self.options.distrust = distrust;
    }

    /// Sets [`IngestOptions::turn`]: how long a large file is read before other files are.
    pub const fn set_turn(&mut self, turn: Option<Duration>) {
        self.options.turn = turn;
    }

    /// Returns how long the last reading of a file took, given its device, inode and size. Zero if
    /// that is negligible, or if only bytes after its old end will be read.
    pub fn cost_of(&mut self, file: (u64, u64), size: impl FnOnce() -> u64) -> Duration {
        let cost = self.costs.of(file);
        if cost.is_zero() || self.pool.known_files().is_behind(file, size()) {
            return Duration::ZERO;
        }
        cost
    }

    /// Returns the number of grown files of which only the new end was read, while the rest is
    /// assumed unchanged.
    pub fn assumed(&self) -> usize {
        self.assumed.len()
    }

    /// Returns the targets whose reconcile reads all assumed parts.
    pub fn assumed_targets(&mut self) -> Result<Vec<Target>, IngestError> {
        Ok(self.assumed.targets(&self.index.snapshot()?)?)
    }

    /// Reads the assumed parts, so that the index has the true state of the files.
    pub fn verify(&mut self, observer: &mut dyn Observer) -> Result<Report, IngestError> {
        let targets = self.assumed_targets()?;
        let turn = self.options.turn.take();
        let report = self.reconcile(&targets, observer);
        self.options.turn = turn;
        report
    }

    /// Removes `path`, a root that is no longer watched, and everything below it from the index.
    pub fn forget(&mut self, path: &Path) -> Result<(), IngestError> {
        self.index.apply(vec![Change::Remove(path.to_owned())])?;
        Ok(())
    }
}
