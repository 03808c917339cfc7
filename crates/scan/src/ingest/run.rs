//! One reconcile: its rounds, its commits and its end.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use resemble_core::{ContentDigest, FileId};
use resemble_index::{Change, Entry, FsId, Gap, Index, Snapshot};
use resemble_mounts::MountTable;

use super::area::Area;
use super::assumed::Assumed;
use super::batch::Batch;
use super::documents::{DocumentBatch, Documents};
use super::pool::{Job, Pool};
use super::report::{Committed, IngestError, Observer, Report};
use super::target::{Cause, IndexUse, IngestOptions, RootOptions, Target};
use crate::ingest::costs::Costs;
use crate::ingest::rules::Excluded;
use crate::read::FileRead;
use crate::walk::{Anchor, means_absent, means_denied};

/// The maximum number of rounds. Each but the first checks names again that changed meanwhile.
const ROUNDS: u32 = 4;

/// The longest delay before a batch is applied.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The shortest interval between two reports of progress.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// With more new postings than this in a reconcile, segments are merged only at its end.
const BULK: u64 = 200_000;

/// Fewer new postings than this do not justify a durable transaction. The text of these, a
/// megabyte, is digested again in milliseconds. But if the machine loses power within the minute,
/// an edited large file must be read again as a whole.
const FEW: u64 = 10_000;

/// The reason why a name is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The name does not exist. That is checked once more before the removal.
    Vanished,
    /// The name exists, but is left out or is below a directory that may not be read.
    LeftOut,
    /// The name exists, but was not checked. The reason is stored in its place.
    Gap(Gap),
}

/// The parts of a root that all its files share.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) root: Arc<RootOptions>,
    pub(super) anchor: Arc<Anchor>,
    pub(super) excluded: Arc<Excluded>,
}

/// The state that is kept between reconciles.
pub(super) type State<'a> = (
    &'a mut Pool,
    &'a mut Documents,
    &'a mut Assumed,
    &'a mut Costs,
);

pub(super) struct Run<'a> {
    pub(super) index: &'a Index,
    pub(super) options: &'a IngestOptions,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) pool: &'a mut Pool,
    pub(super) documents: &'a mut Documents,
    pub(super) apart: DocumentBatch,
    pub(super) assumed: &'a mut Assumed,
    pub(super) costs: &'a mut Costs,
    pub(super) snapshot: Snapshot,
    /// The index as of the last report to the observer.
    before: Snapshot,
    pub(super) area: Area,
    pub(super) batch: Batch,
    pub(super) report: Report,
    /// Names to be removed at the end of the round.
    removals: BTreeMap<PathBuf, Why>,
    /// Paths to check in the next round.
    again: BTreeSet<PathBuf>,
    /// Files that lost a name, or whose number of names changed. Their names are checked again,
    /// because a write under one name is not reported for the others.
    pub(super) look_at_names: BTreeSet<FileId>,
    /// Files that events say were written to. Their times are not trusted, under any name.
    pub(super) written_to: HashSet<FileId>,
    /// Paths to check in the next round with everything below.
    again_below: BTreeSet<PathBuf>,
    /// Files that are targets themselves in this round; a listing need not check them again.
    pub(super) named: HashSet<PathBuf>,
    /// Device and inode of files with several names that are being read.
    pub(super) being_read: HashSet<(u64, u64)>,
    /// Files with several names that could not be read. Their other names are not tried.
    pub(super) unreadable: HashSet<(FsId, u64)>,
    /// Files whose content another file is adding to the index.
    pub(super) waiting: Vec<(Job, FileRead, ContentDigest)>,
    /// Directories that this reconcile has added to the index.
    new_dirs: Vec<PathBuf>,
    /// Directories that are new since the last commit. They are listed with everything below.
    pub(super) entered: HashSet<PathBuf>,
    /// Directories that the index has only because of an entry below them. A later listing would
    /// take them for known and not enter them, so their other entries would be missing.
    pub(super) implied: BTreeSet<PathBuf>,
    /// Directories that may not be listed. Reports about names below them are ignored.
    pub(super) denied: BTreeSet<PathBuf>,
    /// The number of new postings that were written.
    postings: u64,
    pub(super) last_commit: Instant,
    pub(super) last_progress: Instant,
    /// Total size of the files that were checked.
    pub(super) bytes_seen: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        index: &'a Index,
        options: &'a IngestOptions,
        (pool, documents, assumed, costs): State<'a>,
        mounts: Arc<MountTable>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, IngestError> {
        let snapshot = index.snapshot()?;
        pool.begin_run(snapshot.clone());
        Ok(Self {
            index,
            options,
            observer,
            pool,
            documents,
            apart: DocumentBatch::default(),
            assumed,
            costs,
            before: snapshot.clone(),
            snapshot,
            area: Area::new(options.roots.clone(), options.exclude.clone(), mounts),
            batch: Batch::default(),
            report: Report::default(),
            removals: BTreeMap::new(),
            again: BTreeSet::new(),
            look_at_names: BTreeSet::new(),
            written_to: HashSet::new(),
            again_below: BTreeSet::new(),
            named: HashSet::new(),
            being_read: HashSet::new(),
            unreadable: HashSet::new(),
            waiting: Vec::new(),
            new_dirs: Vec::new(),
            entered: HashSet::new(),
            implied: BTreeSet::new(),
            denied: BTreeSet::new(),
            postings: 0,
            last_commit: Instant::now(),
            last_progress: Instant::now(),
            bytes_seen: 0,
        })
    }

    pub(super) fn run(mut self, targets: &[Target]) -> Result<Report, IngestError> {
        let result = self.rounds(targets);
        // Even after a failure, no snapshot and no reading must outlive the reconcile.
        if result.is_err() || self.report.stopped {
            self.pool.stop();
        }
        while self.pool.under_way() > 0 {
            self.pool.take(PROGRESS_INTERVAL);
        }
        self.pool.known().set_snapshot(None);
        result?;
        let Self {
            index,
            snapshot,
            before,
            postings,
            mut report,
            observer,
            options,
            ..
        } = self;
        drop((snapshot, before));
        if postings > BULK && !report.stopped && options.index_use != IndexUse::Once {
            index.finish_bulk()?;
        }
        report.progress.pending = 0;
        report.progress.pending_dirs = 0;
        observer.progress(&report.progress);
        Ok(report)
    }

    fn rounds(&mut self, targets: &[Target]) -> Result<(), IngestError> {
        // Single entries come before subtrees, so that a listing of a folder above need not check
        // them again.
        let mut ordered: Vec<&Target> = targets.iter().collect();
        ordered.sort_by_key(|target| target.is_subtree());
        for target in targets {
            let paths = match target {
                Target::Path {
                    path,
                    cause: Cause::Modified,
                    ..
                } => [Some(path), None],
                Target::Renamed {
                    from,
                    to,
                    modified: true,
                } => [Some(from), Some(to)],
                _ => [None, None],
            };
            for path in paths.into_iter().flatten() {
                if let Some(Entry::File(file)) = self.snapshot.entry(path)? {
                    self.written_to.insert(file);
                }
            }
        }
        for target in ordered {
            if self.should_stop() {
                break;
            }
            self.target(target)?;
        }
        for round in 1.. {
            self.finish_round()?;
            if self.report.stopped || (self.again.is_empty() && self.again_below.is_empty()) {
                break;
            }
            let (again, below) = (
                std::mem::take(&mut self.again),
                std::mem::take(&mut self.again_below),
            );
            if round == ROUNDS {
                let entries = again.iter().filter(|path| !below.contains(*path));
                let entries = entries.map(|path| Target::entry(path, Cause::Unknown));
                self.report.unresolved = entries.chain(below.iter().map(Target::subtree)).collect();
                break;
            }
            for path in again.iter().filter(|path| !below.contains(*path)) {
                self.target(&Target::entry(path, Cause::Unknown))?;
            }
            for path in &below {
                self.target(&Target::subtree(path))?;
            }
        }
        let replaced = self
            .area
            .open_roots()
            .filter(|(_, anchor)| anchor.was_replaced());
        let mut replaced: Vec<PathBuf> = replaced.map(|(root, _)| root.to_owned()).collect();
        replaced.sort();
        self.report.replaced = replaced;
        Ok(())
    }

    /// Adds a change that is not the result of a job.
    pub(super) fn push(&mut self, change: Change) {
        self.batch.push(self.pool.given(), change);
    }

    /// Marks an indexed name for removal at the end of the round. A directory is reported to the
    /// observer at once: later it may already have a watch under its new name.
    pub(super) fn remove(&mut self, path: &Path, why: Why) -> Result<(), IngestError> {
        let Some(known) = self.snapshot.entry(path)? else {
            return Ok(());
        };
        if matches!(known, Entry::Dir(_)) {
            self.observer.directory_gone(path);
            // If the directory was renamed, it is one of the new ones. These are listed once more,
            // with new watches.
            self.again.extend(self.new_dirs.drain(..));
        }
        if let Entry::File(file) = known {
            self.look_at_names.insert(file);
        }
        self.removals.insert(path.to_owned(), why);
        Ok(())
    }

    /// Records a directory that is new to the index.
    pub(super) fn entered_new(&mut self, dir: PathBuf) {
        self.implied.remove(&dir);
        self.entered.insert(dir.clone());
        self.new_dirs.push(dir);
    }

    /// Checks a path once more in the next round.
    pub(super) fn look_again(&mut self, path: PathBuf) {
        self.again.insert(path);
    }

    /// Checks everything below a path once more in the next round.
    pub(super) fn look_again_below(&mut self, path: PathBuf) {
        self.again_below.insert(path);
    }

    pub(super) fn should_stop(&mut self) -> bool {
        if !self.report.stopped && (self.options.stop.is_set() || self.observer.should_stop()) {
            self.report.stopped = true;
            self.pool.stop();
        }
        self.report.stopped
    }

    fn finish_round(&mut self) -> Result<(), IngestError> {
        loop {
            self.drain()?;
            self.commit()?;
            // The commit handles files that waited for the content of another file. So look again
            // whether a file is under way.
            if self.pool.under_way() == 0 {
                break;
            }
        }
        self.finish_documents()?;
        // Nobody has added these contents: the files that should have were changing, or the
        // reconcile was stopped.
        for (job, _, _) in std::mem::take(&mut self.waiting) {
            self.again.insert(job.path);
        }
        self.pool.known().clear();
        self.named.clear();
        self.being_read.clear();
        if self.report.stopped {
            return Ok(());
        }
        self.apply_removals()?;
        self.commit()?;
        self.empty_denied()?;
        self.again_below.append(&mut self.implied);
        // Only after the commit does the index have the names that were found in this round.
        for file in std::mem::take(&mut self.look_at_names) {
            self.again.extend(self.snapshot.paths(file)?);
        }
        Ok(())
    }

    fn apply_removals(&mut self) -> Result<(), IngestError> {
        if self.removals.is_empty() {
            return Ok(());
        }
        let replaced: HashSet<PathBuf> = {
            let gone = self
                .area
                .open_roots()
                .filter(|(_, anchor)| anchor.was_replaced());
            gone.map(|(root, _)| root.to_owned()).collect()
        };
        for (path, why) in std::mem::take(&mut self.removals) {
            let Some(place) = self.place(&path)? else {
                continue;
            };
            // A replaced root says nothing about what was removed below it.
            if replaced.contains(&place.root.path) {
                continue;
            }
            let back = why == Why::Vanished
                && !self.area.left_out(&place.root.path, &path)
                && match place.anchor.stat_at(&path) {
                    Ok(_) => true,
                    Err(errno) => !means_absent(errno) && !means_denied(errno),
                };
            if back {
                self.again_below.insert(path);
                continue;
            }
            self.report.removed += 1;
            self.push(match why {
                Why::Gap(gap) => Change::Gap { path, gap },
                Why::Vanished => Change::Vanished(path),
                Why::LeftOut => Change::Remove(path),
            });
        }
        Ok(())
    }

    pub(super) fn renew_snapshot(&mut self) -> Result<(), IngestError> {
        self.snapshot = self.index.snapshot()?;
        self.entered.clear();
        self.pool.known().set_snapshot(Some(self.snapshot.clone()));
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), IngestError> {
        self.last_commit = Instant::now();
        if self.batch.is_empty() {
            return self.queue_documents();
        }
        let mut taken = self.batch.take();
        self.report.changes += taken.changes.len() as u64;
        // Only a daemon's index can say when a content was first seen.
        if self.options.index_use == IndexUse::Stays {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let time = now.unwrap_or_default().as_secs().cast_signed();
            taken.changes.insert(0, Change::Time(time));
        }
        self.postings += taken.postings;
        let applied = if self.postings > BULK {
            self.index.apply_in_bulk(taken.changes)?
        } else if self.options.index_use == IndexUse::Stays
            && self.postings <= FEW
            && !self.apart.is_dear
        {
            self.index.apply_for_now(taken.changes)?
        } else {
            self.index.apply(taken.changes)?
        };
        self.renew_snapshot()?;
        self.queue_documents()?;
        self.pool.known().landed(taken.contents.iter());
        let gone: HashSet<PathBuf> = applied.gone.into_iter().collect();
        let links = taken
            .linked
            .into_iter()
            .filter(|link| !gone.contains(&link.path));
        let files = applied.contents.into_iter().map(|file| Committed {
            path: file.path,
            file: file.file,
            content: file.content,
            was: file.was,
        });
        let committed: Vec<Committed> = links.chain(files).collect();
        self.again.extend(gone);
        if !committed.is_empty() {
            self.observer.committed(&committed, &self.before);
            self.before = self.snapshot.clone();
        }
        for (job, read, digest) in std::mem::take(&mut self.waiting) {
            match self.snapshot.content_by_digest(&digest)? {
                Some(id) => self.brought(job, read, id)?,
                None => self.waiting.push((job, read, digest)),
            }
        }
        if self.batch.is_empty() {
            self.queue_documents()
        } else {
            self.commit()
        }
    }
}
