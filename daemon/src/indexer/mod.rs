//! The thread that keeps the index in line with the tree.
//!
//! ```text
//! source ──hints──► coalescer ──jobs──► Ingest::reconcile ──► index
//!    ▲                                       │  │
//!    └──── watch, then list (Watching) ◄─────┘  └──► alerts
//! ```
//!
//! One thread owns the source of events, the table of watches, the coalescer and the writer of the
//! index. So the known state of the tree has one owner and no lock. The thread waits for a hint, a
//! command or a deadline, and then does the work that is due. These are the rules:
//!
//! 1. **Events are hints.** Each hinted path is checked (`lstat`) before it becomes a job. The job
//!    reconciles the index with the tree. The content of an event is not trusted.
//! 2. **Watch, then list.** `Ingest` announces each directory just before it lists the directory,
//!    and the watch is made then. Later changes make events, and the listing shows earlier changes.
//!    So no change is lost.
//! 3. **A barrier** (`sync`) makes a cookie: a file that the source watches. When the event of the
//!    cookie arrives, every earlier event has been read. All pending files are then read, and
//!    polled directories are checked. The reply passes through the alert thread, so alerts are
//!    raised first.
//! 4. **Lost events** (overflow): the source and the table of watches restart, and all roots are
//!    scanned. Until the scan ends, answers are from the index as it is, and are marked as not
//!    fresh. A source that cannot start is retried with growing pauses, and every directory is
//!    polled until it starts.
//! 5. **An index that cannot be written** (full disk) is closed and opened again. While it cannot
//!    be opened, questions are answered from its last commit. Writing is retried with growing
//!    pauses. Writing begins with a scan of everything, which finds the missed changes. A *damaged*
//!    index is set aside and rebuilt at once, even if a question found the damage.
//! 6. **A transient failure** (no descriptors left, an error of a disk) is not recorded as a fact
//!    about the file. The path is retried. A barrier also retries the path, and fails if that retry
//!    fails.
//! 7. **An unreachable root** keeps its content and is *unavailable*. When the root is back, it is
//!    scanned, and unchanged files are not read.
//! 8. **The slow comparison** of everything with the index ([`Options::reconcile`]) is done
//!    directory by directory, between other work.
//! 9. **Measures** that questions have computed are written by this thread, too, after other work.
//! 10. **Documents are extracted** by threads of the index writer, while this thread does other
//!     work. This thread writes finished parts. A barrier waits for the documents that were pending
//!     before it.
//! 11. **Small changes are made durable together**, a minute after the first one at the latest. A
//!     barrier, an alert or the end of the daemon makes them durable earlier. If the daemon is
//!     killed before that, the scan of the next start finds the changes again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, never, select};
use resemble_core::stop::StopFlag;
use resemble_index::Index;
use resemble_proto::message::{Failure, FailureKind};
use resemble_scan::ingest::{
    Cause, DocumentTurns, IndexUse, Ingest, IngestOptions, RootOptions, Target,
};
use resemble_scan::parts::PartReader;
use tokio::sync::oneshot;

use crate::alerts;
use crate::coalesce::{Coalescer, Kind, Timing};
use crate::config::CatalogueFolder;
use crate::root_rules::RuleSet;
use crate::state::{Reopened, Root, Shared};
use crate::watch::dirty::MOST_HINTS;
use crate::watch::{Batch, Cookie, Hint, Marks, Source};

mod broken;
mod catalogue_folders;
mod catalogues;
mod mounts;
mod observer;
mod orders;
mod passing;
pub(crate) mod roots;
mod scan;
mod unseen;
mod watches;
mod work;

use catalogue_folders::CatalogueFolders;
use watches::{Watches, look};

/// The pause between two checks of the roots and of the mounts in them. Regular checks are needed
/// because a mount makes no event.
const ROOTS: Duration = Duration::from_secs(10);
/// The least pause between two checks of the directories that cannot be watched.
const POLL: Duration = Duration::from_secs(10);
/// The pause after a check of the directories that cannot be watched is at least the duration of
/// that check times this.
const POLL_SHARE: u32 = 20;
/// The least pause between two reconciles that events cause. So a storm of events causes only a few
/// large transactions.
const BREATH: Duration = Duration::from_millis(50);
/// The least pause between two readings of a file that changed while it was read.
const MOVING: Duration = Duration::from_secs(5);
/// If a file changed while it was read, the pause is at least the duration of that reading times
/// this.
const MOVING_SHARE: u32 = 10;
/// The time after which the reading of a large file pauses, so that other files are read.
const TURN: Duration = Duration::from_secs(1);
/// The time from a change under an unobserved name to the comparison of inodes. A barrier compares
/// the inodes earlier.
const COMPARE: Duration = Duration::from_secs(20);
/// The time for which due checks of `recheck` are collected. Each round of checks is a transaction,
/// so fewer rounds cost less.
const GATHER: Duration = Duration::from_secs(2);
/// The maximum number of checks of `recheck` between two rounds of new changes.
const RECHECKS: usize = 256;
/// The least pause between two transactions that write only measures.
const MEASURES: Duration = Duration::from_secs(10);
/// The longest time until a change in the index is durable. A written file is read once more after
/// 35 seconds. So one write to disk makes both readings durable.
const PERSIST: Duration = Duration::from_secs(60);
/// The first and the longest pause before a broken index is opened again or a failed source is
/// restarted.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Commands to the indexer thread. A reply is dropped if nobody waits for it.
#[derive(Debug)]
pub enum Command {
    /// Reply when every earlier change is in the index and its alerts are raised.
    Sync(oneshot::Sender<Result<(), Failure>>),
    /// Watch one more root, and keep it over restarts.
    AddRoot(PathBuf, RuleSet, oneshot::Sender<Result<(), Failure>>),
    /// Stop watching a root, and remove its files from the index.
    RemoveRoot(PathBuf, oneshot::Sender<Result<(), Failure>>),
    /// Watch exactly these roots from now on, by their rules.
    SetRoots(Vec<Root>, oneshot::Sender<Result<(), Failure>>),
    /// Import a catalogue file under a label.
    Import(PathBuf, String, oneshot::Sender<Result<(), Failure>>),
    /// Keep the catalogues of exactly these folders up to date.
    FollowCatalogues(Vec<CatalogueFolder>),
    /// Exclude exactly these paths from now on.
    Exclude(Vec<PathBuf>, oneshot::Sender<()>),
    /// End the thread.
    Stop,
}

/// Settings of the indexer thread.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings that decide when a changed file is read.
    pub timing: Timing,
    /// The time between two comparisons of the whole tree with the index; `None` for never.
    pub reconcile: Option<Duration>,
    /// Paths that are never read or listed.
    pub exclude: Vec<PathBuf>,
    /// Folder of imported catalogues.
    pub catalogues: Option<PathBuf>,
    /// Folders whose catalogues are kept up to date.
    pub catalogue_folders: Vec<CatalogueFolder>,
    /// Reads the parts of documents and archives.
    pub part_reader: Option<Arc<dyn PartReader>>,
    /// Decides when documents are taken apart, and whose documents are next.
    pub documents: DocumentTurns,
    /// A flag that ends a running scan.
    pub stop: StopFlag,
}

/// Opens the index again after a failure.
pub type Opener = Box<dyn Fn() -> Reopened + Send>;

struct PendingSync {
    cookie: Option<Cookie>,
    /// The mark of the last document that the barrier waits for. `None` until the cookie has
    /// arrived and all earlier changes are read.
    documents: Option<u64>,
    /// True after a first failure; the next failure fails the barrier. The first failure is
    /// forgiven because it may be about a document whose extraction began before the barrier.
    is_last_try: bool,
    reply: oneshot::Sender<Result<(), Failure>>,
}

impl PendingSync {
    /// Returns whether the cookie has arrived, but the changes from before the barrier are still
    /// unread.
    const fn is_reached(&self) -> bool {
        self.cookie.is_none() && self.documents.is_none()
    }
}

#[derive(Clone, Copy, Debug)]
struct Retry {
    at: Instant,
    pause: Duration,
}

impl Retry {
    /// Returns an attempt that is due at once.
    fn now() -> Self {
        Self {
            at: Instant::now(),
            pause: RETRY.0,
        }
    }

    /// Returns the attempt after one that failed. The pause doubles each time, within [`RETRY`].
    fn after(last: Option<Self>) -> Self {
        let pause = last.map_or(RETRY.0, |last| (last.pause * 2).min(RETRY.1));
        Self {
            at: Instant::now() + pause,
            pause,
        }
    }
}

/// The state of the indexer thread.
pub struct Indexer {
    shared: Arc<Shared>,
    source: Box<dyn Source>,
    commands: Receiver<Command>,
    alerts: Sender<alerts::Message>,
    opener: Opener,
    options: Options,
    ingest: Option<Ingest>,
    coalescer: Coalescer,
    watches: Watches,
    /// The roots whose first scan is done, in this run or an earlier run. Only changes in these
    /// roots raise alerts.
    complete: BTreeSet<PathBuf>,
    /// The roots that `watch remove` has removed, in this run or an earlier run.
    removed: BTreeSet<PathBuf>,
    /// The inode of each root at its last scan.
    identities: BTreeMap<PathBuf, watches::Identity>,
    /// Folders whose catalogues are kept up to date, and the files that were imported from them.
    followed: CatalogueFolders,
    /// The mounts below the roots.
    mounts: mounts::MountPoints,
    syncs: Vec<PendingSync>,
    /// Directories and files to check again, each with the time of that check. These were read too
    /// soon after a change, or while they were changing.
    recheck: BTreeMap<PathBuf, (Instant, Cause)>,
    /// Targets to check again. Most of them changed during every check so far; the others have lost
    /// a watch or a mount. All are checked at `next_unresolved`, or earlier by a barrier.
    unresolved: Vec<Target>,
    next_unresolved: Instant,
    /// The time of the first change under an unobserved name since inodes were last compared.
    unseen: Option<Instant>,
    /// Large files that are partly read. Other files are read before the remaining parts of these.
    unfinished: BTreeSet<PathBuf>,
    /// The directories that the running slow comparison has not compared yet.
    slow: VecDeque<Target>,
    /// Roots that wait for a full scan.
    scans: VecDeque<PathBuf>,
    rescan_source: bool,
    /// The next attempt to open a broken index; `None` if the index is not broken.
    retry: Option<Retry>,
    /// A channel that signals that a question found damage in the index.
    damage: (Sender<()>, Receiver<()>),
    /// Targets whose last check had a transient failure.
    passing: passing::Passing,
    /// The number of the next block of the index to be verified.
    verified: u64,
    /// The next attempt to restart the source, which reports no events until then; `None` if the
    /// source works.
    deaf: Option<Retry>,
    again: Option<Instant>,
    next_roots: Instant,
    next_poll: Instant,
    next_slow: Option<Instant>,
    next_measures: Instant,
    not_before: Instant,
    stopping: bool,
}

impl std::fmt::Debug for Indexer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Indexer")
            .field("watches", &self.watches.len())
            .finish_non_exhaustive()
    }
}

impl Indexer {
    /// Creates the indexer with everything that its thread owns. `shared` has the roots.
    pub fn new(
        shared: Arc<Shared>,
        source: Box<dyn Source>,
        commands: Receiver<Command>,
        alerts: Sender<alerts::Message>,
        opener: Opener,
        options: Options,
    ) -> Self {
        let now = Instant::now();
        shared.set_excluded(options.exclude.clone());
        let folders = options.catalogue_folders.clone();
        let followed = CatalogueFolders::new(folders, options.catalogues.as_deref());
        Self {
            coalescer: Coalescer::new(options.timing),
            next_slow: options.reconcile.map(|period| now + period),
            shared,
            source,
            commands,
            alerts,
            opener,
            options,
            ingest: None,
            watches: Watches::default(),
            complete: BTreeSet::new(),
            removed: BTreeSet::new(),
            identities: BTreeMap::new(),
            followed,
            mounts: mounts::MountPoints::default(),
            syncs: Vec::new(),
            recheck: BTreeMap::new(),
            unresolved: Vec::new(),
            next_unresolved: now,
            unseen: None,
            unfinished: BTreeSet::new(),
            slow: VecDeque::new(),
            scans: VecDeque::new(),
            rescan_source: false,
            retry: None,
            damage: crossbeam_channel::bounded(1),
            passing: passing::Passing::default(),
            verified: 0,
            deaf: None,
            again: None,
            next_roots: now + ROOTS,
            next_poll: now + POLL,
            next_measures: now + MEASURES,
            not_before: now,
            stopping: false,
        }
    }

    /// Works until the thread is stopped. Releases the index before it returns.
    pub fn run(mut self) {
        self.begin();
        while !self.stopping && !self.options.stop.is_set() {
            self.wait();
            if self.stopping {
                break;
            }
            self.listen();
            self.work();
        }
        for sync in self.syncs.drain(..) {
            reply(sync.reply, Err(ending()));
        }
    }

    fn begin(&mut self) {
        if let Some(index) = self.shared.index() {
            self.complete = roots::complete(&self.shared);
            if let Ok(snapshot) = self.shared.snapshot() {
                self.removed = roots::removed(&snapshot, self.shared.roots_file());
            }
            self.start_ingest(index);
        }
        self.forget_former_roots();
        self.attach_catalogues();
        // The mounts are read before the first scan. So a change of mounts during that scan is
        // found afterwards.
        let _all = self.mounts.changed(&self.shared.root_paths());
        self.restart_source();
        self.run_scans();
        if self.retry.is_none() {
            self.shared.open_first_scan();
            // The questions that waited for the first scan are answered now. Writing measures is
            // postponed, because it would delay the answers.
            self.next_measures = Instant::now() + MEASURES;
        }
    }

    fn start_ingest(&mut self, index: Arc<Index>) {
        let tell = self.damage.0.clone();
        index.on_damage(move |reason| {
            tracing::warn!(reason, "the index is damaged");
            if tell.try_send(()).is_err() {
                tracing::trace!("that is being reported already");
            }
        });
        self.verified = 0;
        let ingest = Ingest::new(
            index,
            IngestOptions {
                exclude: self.options.exclude.clone(),
                roots: self.root_options(),
                part_reader: self.options.part_reader.clone(),
                stop: self.options.stop.clone(),
                index_use: IndexUse::Stays,
                documents: self.options.documents,
                ..IngestOptions::default()
            },
        );
        if let Err(error) = ingest.know_parts() {
            // The failure is only logged here. The first scan meets the same failure of the index,
            // and handles it.
            tracing::warn!(%error, "extracted parts may be from an earlier version");
        }
        self.shared.set_documents(ingest.waiting_documents());
        self.ingest = Some(ingest);
    }

    fn root_options(&self) -> Vec<RootOptions> {
        self.shared
            .roots()
            .into_iter()
            .map(|root| root.options)
            .collect()
    }

    fn deadline(&self, now: Instant) -> Instant {
        if let Some(retry) = &self.retry {
            return retry.at;
        }
        let mut deadline = self.next_roots;
        let mut at_the_latest = |at: Option<Instant>| {
            deadline = at.map_or(deadline, |at| deadline.min(at));
        };
        at_the_latest(
            self.coalescer
                .deadline(now)
                .map(|at| at.max(self.not_before)),
        );
        at_the_latest((!self.unfinished.is_empty()).then_some(self.not_before));
        at_the_latest((!self.unresolved.is_empty()).then_some(self.next_unresolved));
        at_the_latest(self.unseen.map(|since| since + COMPARE));
        at_the_latest(self.again);
        at_the_latest(self.passing.deadline());
        at_the_latest(self.deaf.map(|deaf| deaf.at));
        at_the_latest(self.recheck.values().map(|(at, _)| *at + GATHER).min());
        at_the_latest(self.watches.polled().next().map(|_| self.next_poll));
        at_the_latest(if self.slow.is_empty() {
            self.next_slow
        } else {
            Some(now)
        });
        at_the_latest((!self.scans.is_empty() || self.rescan_source).then_some(now));
        at_the_latest(
            self.syncs
                .iter()
                .any(PendingSync::is_reached)
                .then_some(now),
        );
        let documents = self.ingest.as_ref().and_then(Ingest::documents_due);
        at_the_latest(documents.map(|at| at.max(self.not_before)));
        deadline
    }

    fn wait(&mut self) {
        let now = Instant::now();
        let timer = after(self.deadline(now).saturating_duration_since(now));
        let bell = self.source.bell();
        let commands = self.commands.clone();
        // While the index is broken, hints stay in the source. The scan after the repair finds
        // their changes.
        let bell = if self.retry.is_some() { never() } else { bell };
        let documents = (self.ingest.as_ref()).map_or_else(never, Ingest::documents_bell);
        let first = select! {
            recv(commands) -> command => Some(command.unwrap_or(Command::Stop)),
            recv(bell) -> _ => None,
            recv(self.damage.1) -> _ => None,
            recv(documents) -> _ => None,
            recv(timer) -> _ => None,
        };
        for command in first
            .into_iter()
            .chain(std::iter::from_fn(|| commands.try_recv().ok()))
        {
            self.obey(command);
        }
    }

    /// Turns the hints of the source into jobs, unless the index is broken.
    fn listen(&mut self) {
        if self.retry.is_none() {
            self.hear();
        }
    }

    fn hear(&mut self) {
        let now = Instant::now();
        let batch = self.source.take(now, false);
        self.again = batch.again;
        if batch.overflow {
            self.shared.count_overflow();
            tracing::warn!("events were lost; everything is looked at again");
            self.coalescer.overflow();
            self.rescan_source = true;
            return;
        }
        for cookie in &batch.cookies {
            for sync in &mut self.syncs {
                if sync.cookie == Some(*cookie) {
                    sync.cookie = None;
                }
            }
        }
        // Programs may exchange names by several renames, which may arrive in two batches. A check
        // between the two batches would miss a file.
        if !batch.renames.is_empty() && !self.coalescer.has_jobs() {
            self.not_before = self.not_before.max(now + BREATH);
        }
        self.digest(batch);
        if self.coalescer.waiting() > MOST_HINTS {
            tracing::warn!("more files change than can be remembered; everything is looked at");
            self.coalescer.overflow();
            self.scan_all();
        }
        self.watches.clear_suspects(self.source.as_mut());
        if self.watches.is_stale() {
            tracing::debug!("many directories came and went; the watches are made anew");
            self.rescan_source = true;
        }
        self.tell_waits();
    }

    fn digest(&mut self, batch: Batch) {
        let roots = self.shared.root_paths();
        let exclude = self.options.exclude.clone();
        let is_ours = |path: &Path| {
            roots.iter().any(|root| path.starts_with(root))
                && !exclude.iter().any(|excluded| path.starts_with(excluded))
        };
        let moved: BTreeSet<PathBuf> = batch.renames.iter().map(|it| it.from.clone()).collect();
        for rename in batch.renames {
            if self.followed.hear(&rename.to, Marks::APPEARED) {
                self.next_roots = Instant::now();
            }
            if is_ours(&rename.from) && is_ours(&rename.to) {
                tracing::trace!(from = ?rename.from, to = ?rename.to, "heard");
                self.coalescer.rename(rename);
            }
        }
        let twins = batch.hints.iter().filter_map(|(path, hint)| {
            let (dir, name) = path.parent().zip(path.file_name())?;
            let twins = self.watches.twins(dir);
            Some(twins.map(move |twin| (twin.join(name), *hint)))
        });
        let twins: Vec<(PathBuf, Hint)> = twins.flatten().collect();
        for (path, hint) in batch.hints.into_iter().chain(twins) {
            if self.followed.hear(&path, hint.marks) {
                self.next_roots = Instant::now();
            }
            if roots.iter().any(|root| root.starts_with(&path)) {
                // The path is a root or a folder above a root. The check of the roots finds out
                // what has happened.
                self.next_roots = Instant::now();
                if hint.marks.has_any(Marks::GONE) {
                    self.watches.dropped(&path);
                }
                continue;
            }
            if !is_ours(&path) {
                continue;
            }
            let there = look(&path);
            let kind = there.map_or(Kind::Absent, |(kind, _)| kind);
            if !moved.contains(&path) {
                self.find_unseen(&path, hint, there);
            }
            if hint.marks.has_any(Marks::GONE) {
                self.watches.dropped(&path);
            } else if let Some((Kind::Directory, identity)) = there
                && hint.marks.has_any(Marks::APPEARED)
                && !hint.marks.has_any(Marks::UNKNOWN)
            {
                if self.watches.has(&path, identity) {
                    // The directory is already watched: it was found and listed before the event
                    // about it arrived.
                    continue;
                }
                self.watches.dropped(&path);
            }
            tracing::trace!(path = ?path, marks = ?hint.marks, ?kind, "heard");
            let cost = self.cost_of(&path, there.map(|(_, identity)| identity));
            self.coalescer.hint(&path, hint, kind);
            self.coalescer.set_cost(&path, cost);
        }
    }

    /// Returns how long reading the file is expected to take.
    fn cost_of(&mut self, path: &Path, file: Option<watches::Identity>) -> Duration {
        let (Some(ingest), Some(file)) = (&mut self.ingest, file) else {
            return Duration::ZERO;
        };
        let size = || std::fs::symlink_metadata(path).map_or(0, |there| there.len());
        ingest.cost_of((file.dev, file.ino), size)
    }

    fn forget_former_roots(&mut self) {
        let Some(ingest) = &mut self.ingest else {
            return;
        };
        let forgotten = roots::former(&self.shared)
            .into_iter()
            .try_for_each(|path| {
                tracing::info!(root = ?path, "no root any more; its content is forgotten");
                ingest.forget(&path)
            })
            .map_err(|error| self.broken(&error));
        if forgotten.is_ok() {
            self.keep_roots();
        }
    }

    fn keep_roots(&self) {
        let roots = self.shared.roots();
        if let Err(error) = roots::keep(&self.shared, &roots, &self.complete, &self.removed) {
            tracing::warn!(%error, "the list of roots is not kept");
        }
    }
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, error.to_string())
}

fn ending() -> Failure {
    Failure::new(FailureKind::ShuttingDown, "the daemon is ending")
}

fn reply<T>(answer: oneshot::Sender<T>, value: T) {
    if answer.send(value).is_err() {
        tracing::trace!("the answer was not received");
    }
}

#[cfg(test)]
mod tests;
