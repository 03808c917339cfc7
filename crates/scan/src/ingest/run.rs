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

/// The maximum number of rounds. In each round after the first, the names that changed meanwhile
/// are checked again.
const ROUNDS: u32 = 4;

/// The longest time before a batch is applied.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The shortest time between two reports of progress.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// If a reconcile adds more postings than this, segments are merged only at its end.
const BULK: u64 = 200_000;

/// If a reconcile of a daemon adds at most this number of postings, its commits are not made
/// durable at once. This number of postings belongs to about a megabyte of text, which can be
/// digested again in milliseconds. But if the machine loses power within the next minute, a large
/// file that was edited must be completely read again.
const FEW: u64 = 10_000;

/// The reason why a name is removed from the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The name does not exist. This is checked once more before the removal.
    Vanished,
    /// The name exists, but is left out, or the permission to read its directory is missing.
    LeftOut,
    /// The name exists, but was not looked at. The reason is stored in place of the entry.
    Gap(Gap),
}

/// The root of a path, with the data that are needed to compare files in the root.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) root: Arc<RootOptions>,
    pub(super) anchor: Arc<Anchor>,
    pub(super) excluded: Arc<Excluded>,
}

/// The state that an [`Ingest`](super::Ingest) keeps between reconciles.
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
    /// The index as it was at the last report to the observer.
    before: Snapshot,
    pub(super) area: Area,
    pub(super) batch: Batch,
    pub(super) report: Report,
    /// Names that will be removed at the end of the round.
    removals: BTreeMap<PathBuf, Why>,
    /// Paths that will be checked in the next round.
    again: BTreeSet<PathBuf>,
    /// Files that lost a name or whose number of links changed. Their names are checked again,
    /// because a write through one name is reported only for that name.
    pub(super) look_at_names: BTreeSet<FileId>,
    /// Files that were written to, according to events. The times of such a file are not trusted,
    /// under any of its names.
    pub(super) written_to: HashSet<FileId>,
    /// Paths that will be checked in the next round, with everything below them.
    again_below: BTreeSet<PathBuf>,
    /// Files that are themselves targets of this round. So a listing of their directory need not
    /// compare them.
    pub(super) named: HashSet<PathBuf>,
    /// Device and inode of each file that has several names and is being read.
    pub(super) being_read: HashSet<(u64, u64)>,
    /// Files with several names that could not be read. They are not tried again under their other
    /// names.
    pub(super) unreadable: HashSet<(FsId, u64)>,
    /// Files that wait because another file with the same content is currently adding the content
    /// to the index.
    pub(super) waiting: Vec<(Job, FileRead, ContentDigest)>,
    /// Directories that this reconcile has added to the index.
    new_dirs: Vec<PathBuf>,
    /// Directories that were added since the last commit. Everything below them is listed.
    pub(super) entered: HashSet<PathBuf>,
    /// Directories that are in the index only because an entry below them was added. A later
    /// listing must still enter these directories, although the index has them. Otherwise, their
    /// other entries would be missing.
    pub(super) implied: BTreeSet<PathBuf>,
    /// Directories for which the permission to list is missing. Events about names below them are
    /// ignored.
    pub(super) denied: BTreeSet<PathBuf>,
    /// The number of postings that this reconcile has added.
    postings: u64,
    pub(super) last_commit: Instant,
    pub(super) last_progress: Instant,
    /// The total size of the files that were compared.
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
            area: Area::new(options, mounts),
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
        // Snapshots and reads must end with the reconcile, even after a failure.
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
        // Single entries are compared before subtrees. So a listing of a folder above these entries
        // need not compare them again.
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

    /// Marks a name of the index for removal at the end of the round. A removed directory is
    /// reported to the observer at once, because it can be watched under a new name later.
    pub(super) fn remove(&mut self, path: &Path, why: Why) -> Result<(), IngestError> {
        let Some(known) = self.snapshot.entry(path)? else {
            return Ok(());
        };
        if matches!(known, Entry::Dir(_)) {
            self.observer.directory_gone(path);
            // The directory may have been renamed. Then it is one of the new directories. So the
            // new directories are listed once more, with new watches.
            self.again.extend(self.new_dirs.drain(..));
        }
        if let Entry::File(file) = known {
            self.look_at_names.insert(file);
        }
        self.removals.insert(path.to_owned(), why);
        Ok(())
    }

    /// Records a directory that the index does not have yet.
    pub(super) fn entered_new(&mut self, dir: PathBuf) {
        self.implied.remove(&dir);
        self.entered.insert(dir.clone());
        self.new_dirs.push(dir);
    }

    /// Schedules another check of a path for the next round.
    pub(super) fn look_again(&mut self, path: PathBuf) {
        self.again.insert(path);
    }

    /// Schedules another check of everything below a path for the next round.
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
            // After the commit, files that waited for the content of another file may be read. So
            // check again whether files are being read.
            if self.pool.under_way() == 0 {
                break;
            }
        }
        self.finish_documents()?;
        // These files waited for a content that was not added, because the other file was changing
        // or the reconcile was stopped.
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
        // The names that were found in this round are in the index only after the commit.
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
            // If the root was replaced, the name may be missing only in the new root. So it is not
            // removed.
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
        // Only the index of a daemon is kept up to date. So only a daemon can know when a content
        // was first seen.
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
