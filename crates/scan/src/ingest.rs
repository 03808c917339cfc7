//! Brings the index in line with the files on the disk.
//!
//! The same algorithm serves the first scan, a restart, an event and a rescan: **look, compare,
//! read what differs, apply**. An event only says where to look. `lstat` returns the present state
//! of a file, and the index has an earlier state. If the states are equal, nothing more is done for
//! the file.
//!
//! ```text
//! targets ─► visit (list, compare) ─► jobs ─► pool (threads: read, digest) ─► batch ─► index
//!              │ new name of a known inode: a link, no read                     ▲
//!              └────────────────────────────────────────────────────────────────┘
//! ```
//!
//! 1. **Watch, then list.** The observer is called before a directory is listed, so that it can
//!    watch the directory. A name that is created before the listing is in the listing. A name that
//!    is created after it causes an event.
//! 2. **Nothing is removed early.** A missing name is checked once more at the end of the round
//!    before it is removed from the index. By then, its file may have been found under a new name.
//!    So a move to another directory becomes a link and a removal. No file is read, even if the old
//!    name is visited first.
//! 3. **Not every failure means that a name is gone.** Only `ENOENT`, `ENOTDIR` and `ELOOP` mean
//!    that. The index keeps its entries if this process has no descriptors left, if a handle is
//!    stale, or if the disk fails. If access is denied, a file becomes *unreadable*, and a
//!    directory loses everything below it.
//! 4. **A missing root does not empty the index.** A root that is a folder becomes *unavailable* if
//!    it is missing or cannot be opened, or if a daemon finds a file in its place. It is also
//!    unavailable if it is empty and is suddenly on another file system, because then something is
//!    not mounted. The entries of an unavailable root stay in the index. If a root was replaced
//!    during the reconcile, its entries stay, too.
//! 5. **Changes during a reconcile** are checked again in a few further rounds. A path that still
//!    changes after these rounds is returned as *unresolved*. A file that is written to while it is
//!    read is returned as *moving*.
//! 6. **Memory is bounded.** There are limits for the number and bytes of files that are being
//!    read, and for the size of the batch. Only the listing of one directory and the digest of one
//!    file must fit in memory as a whole.
//! 7. **A changed inode is read** even if size and modification time are unchanged, because
//!    programs can set both. The file is not read if an event explains the change of the inode: a
//!    rename of this name, a link, a chmod. For this, the index must also have all names of the
//!    inode, because a write through any other name causes no event. Changes under names that are
//!    not observed are found by comparing inodes (`sweep`).
//! 8. **A disk whose files are not cached is kept busy**: separate threads prefetch files that are
//!    queued and directories that will be listed (`ahead`).
//! 9. **A batch has an order**: first links, then stats, then all other changes. Removals are
//!    applied when the round ends; see `batch`.
//! 10. **Documents are taken apart in parallel** by separate threads, which users or folders share
//!     fairly; see `documents`.

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
pub use rules::{gitignore_of, match_at_or_above};
pub use target::{Cause, DocumentTurns, IndexUse, IngestOptions, RootOptions, Scope, Target};

/// The writer of an index. One thread uses the writer. Its reading threads are started when they
/// are needed.
#[derive(Debug)]
pub struct Ingest {
    index: Arc<Index>,
    options: IngestOptions,
    pool: Pool,
    documents: Documents,
    assumed: Assumed,
    costs: Costs,
    /// The table of mounts, which is updated when a mount changes. `None` if that is not possible.
    /// Then each reconcile reads the table anew.
    mounts: Option<LiveTable>,
}

impl Ingest {
    /// Makes the writer of `index`. No other thread may write the index from then on.
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

    /// Compares the present reader of documents with the reader that took the indexed contents
    /// apart. If the readers differ, marks every content as not yet searched for parts. Must be
    /// called once before the first reconcile.
    pub fn know_parts(&self) -> Result<(), IngestError> {
        /// The name of the record that has the id of the reader that took the indexed contents
        /// apart.
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

    /// Returns the index.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Returns the options.
    pub const fn options(&self) -> &IngestOptions {
        &self.options
    }

    /// Sets the roots with their rules. If a former root is not among them, its entries stay in the
    /// index.
    pub fn set_roots(&mut self, roots: Vec<RootOptions>) {
        self.options.roots = roots;
    }

    /// Sets the excluded paths.
    pub fn set_exclude(&mut self, exclude: Vec<PathBuf>) {
        self.options.exclude = exclude;
    }

    /// Brings the index in line with the present state of the targets. A failure of a single file
    /// is reported, but is not an error. After an error, the index has all changes that were
    /// applied before it.
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

    /// Returns the set of contents that wait to be taken apart.
    pub fn waiting_documents(&self) -> WaitingDocuments {
        self.documents.waiting()
    }

    /// Returns a mark for [`Self::is_past`]. All documents that were queued so far are before the
    /// mark.
    pub fn documents_mark(&self) -> u64 {
        self.documents.mark()
    }

    /// Returns whether the parts of all documents before the mark are in the index.
    pub fn is_past(&self, mark: u64) -> bool {
        self.documents.is_past(mark)
    }

    /// Returns the time at which [`Self::reconcile`] should be called to write the parts of
    /// documents, even if there are no targets.
    pub fn documents_due(&self) -> Option<Instant> {
        self.documents.due()
    }

    /// Returns a channel that receives a message when the result of [`Self::documents_due`] may
    /// have changed.
    pub fn documents_bell(&self) -> Receiver<()> {
        self.documents.bell()
    }

    /// Sets [`IngestOptions::distrust`]. If it is true, no event explains the change of an inode.
    pub const fn set_distrust(&mut self, distrust: bool) {
        self.options.distrust = distrust;
    }

    /// Sets [`IngestOptions::turn`]: how long a large file is read before other files get their
    /// turn.
    pub const fn set_turn(&mut self, turn: Option<Duration>) {
        self.options.turn = turn;
    }

    /// Returns how long it took to read a file the last time. The file is given by device and
    /// inode, and by its size. Returns zero if the time is negligible, or if only the bytes behind
    /// the file's old end will be read.
    pub fn cost_of(&mut self, file: (u64, u64), size: impl FnOnce() -> u64) -> Duration {
        let cost = self.costs.of(file);
        if cost.is_zero() || self.pool.known_files().is_behind(file, size()) {
            return Duration::ZERO;
        }
        cost
    }

    /// Returns the number of grown files of which only the new end was read. Their other bytes are
    /// assumed to be unchanged.
    pub fn assumed(&self) -> usize {
        self.assumed.len()
    }

    /// Returns the targets of a reconcile that completely reads the files counted by
    /// [`Self::assumed`].
    pub fn assumed_targets(&mut self) -> Result<Vec<Target>, IngestError> {
        Ok(self.assumed.targets(&self.index.snapshot()?)?)
    }

    /// Completely reads the files counted by [`Self::assumed`]. Afterwards, the index has the true
    /// state of these files.
    pub fn verify(&mut self, observer: &mut dyn Observer) -> Result<Report, IngestError> {
        let targets = self.assumed_targets()?;
        let turn = self.options.turn.take();
        let report = self.reconcile(&targets, observer);
        self.options.turn = turn;
        report
    }

    /// Removes from the index a root that is no longer watched, with everything below it.
    pub fn forget(&mut self, path: &Path) -> Result<(), IngestError> {
        self.index.apply(vec![Change::Remove(path.to_owned())])?;
        Ok(())
    }
}
