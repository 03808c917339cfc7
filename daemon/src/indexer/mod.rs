//! The thread that keeps the index in line with the tree.
//!
//! ```text
//! source ──hints──► coalescer ──jobs──► Ingest::reconcile ──► index
//!    ▲                                       │  │
//!    └──── watch, then list (Watching) ◄─────┘  └──► alerts
//! ```
//!
//! One thread owns the source, the table of watches, the coalescer and the writer of the index, so
//! that what is known of the tree has one owner and no lock. It waits for a hint, a command or a
//! deadline, and then does what is due. Choices and subtleties:
//!
//! 1. **Events are hints.** Each hinted path is looked at (`lstat`) before it becomes a job, and
//!    the job reconciles the index with the tree. No event is taken at its word.
//! 2. **Watch, then list.** `Ingest` announces a directory before it lists it, and the watch is
//!    made at that moment. What changes later is heard, and what was there before is listed:
//!    nothing is lost in between.
//! 3. **A barrier** (`sync`) is a cookie in the source. When it comes back, every change before it
//!    is in the coalescer or beyond; all that waits is read at once, polled directories are looked
//!    at, and the answer goes through the thread of alerts, so that these are raised, too.
//! 4. **Lost events** (overflow): the source and the table of watches start anew and everything is
//!    scanned. Old answers stay meanwhile, marked not fresh. If the source cannot start, at first
//!    or anew, that is tried again with growing pauses, and every directory is polled until it
//!    succeeds.
//! 5. **An index that cannot be written** (full disk) is closed and opened again; while it cannot
//!    be opened, questions are answered from its last commit. Writing is tried again with growing
//!    pauses and begins with a scan of everything, which finds what was missed.
//!    A *damaged* index is set aside and built anew at once, whoever met the damage.
//! 6. **A failure that may be over soon** (no descriptors left, an error of a disk) is no fact: the
//!    path is tried again, and a barrier that meets one does not claim the truth.
//! 7. **A root that cannot be reached** keeps its content and is *unavailable*. When it is back, it
//!    is scanned, and files that are as they were are not read.
//! 8. **The slow comparison** of everything with the index ([`Options::reconcile`]) is done
//!    directory by directory, between other work.
//! 9. **Measures** that questions have found out are written here as well, after other work.
//! 10. **Documents are taken apart** by threads of the writer of the index, while this thread does
//!     other work. When parts are there it writes them. A barrier waits for the documents that were
//!     there before it.
//! 11. **Small changes are made durable together**, a minute after the first at the latest: before
//!     a barrier is answered, when an alert is raised, and when the daemon ends. If it is killed
//!     before, the scan of the next start finds them again.

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
use crate::state::{Reopened, Root, Shared};
use crate::watch::dirty::MOST_HINTS;
use crate::watch::{Batch, Cookie, Marks, Source};

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

/// The pause between two looks at the roots and at what is mounted in them: a mount makes no event.
const ROOTS: Duration = Duration::from_secs(10);
/// The least pause between two looks at a directory that cannot be watched.
const POLL: Duration = Duration::from_secs(10);
/// The pause is also at least this many times as long as the last looks at them took.
const POLL_SHARE: u32 = 20;
/// The pause between two reconciles for events, so that a storm of them becomes a few large
/// transactions.
const BREATH: Duration = Duration::from_millis(50);
/// How long to wait before a file is read again that went on changing while it was read …
const MOVING: Duration = Duration::from_secs(5);
/// … and so many times what that took.
const MOVING_SHARE: u32 = 10;
/// How long a large file is read before others get their turn.
const TURN: Duration = Duration::from_secs(1);
/// How long after something was done under a name that nobody saw inodes are compared, if no
/// barrier comes before.
const COMPARE: Duration = Duration::from_secs(20);
/// Files to look at again are gathered for so long, because each look is a transaction.
const GATHER: Duration = Duration::from_secs(2);
/// The most of them that are looked at between two rounds of new changes.
const RECHECKS: usize = 256;
/// The least pause between two transactions that write nothing but measures.
const MEASURES: Duration = Duration::from_secs(10);
/// The longest that a change is in the index and not in its file. A file that was written to is
/// read once more after 35 seconds: what that finds goes with it.
const PERSIST: Duration = Duration::from_secs(60);
/// The first and the longest pause before a broken index is opened again, or a source that failed
/// is started again.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// What the thread is asked to do. Answers are dropped if nobody waits for them any more.
#[derive(Debug)]
pub enum Command {
    /// Answer when every change made before is in the index and its alerts are raised.
    Sync(oneshot::Sender<Result<(), Failure>>),
    /// Watch one more root, and keep it over restarts.
    AddRoot(RootOptions, oneshot::Sender<Result<(), Failure>>),
    /// Stop watching a root and forget its content.
    RemoveRoot(PathBuf, oneshot::Sender<Result<(), Failure>>),
    /// Watch these roots from now on, by these rules, and no others.
    SetRoots(Vec<Root>, oneshot::Sender<Result<(), Failure>>),
    /// Keep a catalogue under a label.
    Import(PathBuf, String, oneshot::Sender<Result<(), Failure>>),
    /// Keep the catalogues of these folders up to date, and of no others.
    FollowCatalogues(Vec<CatalogueFolder>),
    /// Exclude these paths from now on, and no others.
    Exclude(Vec<PathBuf>, oneshot::Sender<()>),
    /// End.
    Stop,
}

/// How the thread works.
#[derive(Clone, Debug)]
pub struct Options {
    /// When a changed file is read.
    pub timing: Timing,
    /// The period of the full comparison; `None`: never.
    pub reconcile: Option<Duration>,
    /// Paths that are never looked at.
    pub exclude: Vec<PathBuf>,
    /// Where imported catalogues lie.
    pub catalogues: Option<PathBuf>,
    /// Folders whose catalogues are kept up to date.
    pub catalogue_folders: Vec<CatalogueFolder>,
    /// Reads the parts of documents and archives.
    pub part_reader: Option<Arc<dyn PartReader>>,
    /// Who takes turns with documents.
    pub documents: DocumentTurns,
    /// Ends a scan under way.
    pub stop: StopFlag,
}

/// Opens the index again after a failure.
pub type Opener = Box<dyn Fn() -> Reopened + Send>;

struct PendingSync {
    cookie: Option<Cookie>,
    /// Once the cookie came back and all before it is read: the documents that it waits for.
    documents: Option<u64>,
    /// What failed before it is tried once more: a document that fails while the barrier waits for
    /// it may have been begun before the barrier.
    is_last_try: bool,
    reply: oneshot::Sender<Result<(), Failure>>,
}

impl PendingSync {
    /// Whether all that was heard before it is to be read now.
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
    /// The first attempt, at once.
    fn now() -> Self {
        Self {
            at: Instant::now(),
            pause: RETRY.0,
        }
    }

    /// The next attempt after one that failed, after twice the pause.
    fn after(last: Option<Self>) -> Self {
        let pause = last.map_or(RETRY.0, |last| (last.pause * 2).min(RETRY.1));
        Self {
            at: Instant::now() + pause,
            pause,
        }
    }
}

/// The thread's state.
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
    /// Roots whose first scan is done, in this run or an earlier one: only their changes are news.
    complete: BTreeSet<PathBuf>,
    /// Paths that `watch remove` took away, in this run or an earlier one.
    removed: BTreeSet<PathBuf>,
    /// The inode of each root at its last scan.
    identities: BTreeMap<PathBuf, watches::Identity>,
    /// Folders whose catalogues are kept up to date, and what was taken of them.
    followed: CatalogueFolders,
    /// What is mounted below the roots.
    mounts: mounts::MountPoints,
    syncs: Vec<PendingSync>,
    /// Directories and files to look at again, because they were read too soon after a change or
    /// while they were changing.
    recheck: BTreeMap<PathBuf, (Instant, Cause)>,
    /// What changed whenever it was looked at, and when to look again if no barrier comes before.
    unresolved: Vec<Target>,
    next_unresolved: Instant,
    /// Since when something was done under names that nobody saw.
    unseen: Option<Instant>,
    /// Large files that are not read to their ends yet: they get their turn when others had theirs.
    unfinished: BTreeSet<PathBuf>,
    /// Directories of the slow comparison that are still to be done.
    slow: VecDeque<Target>,
    /// Roots that wait for a whole scan.
    scans: VecDeque<PathBuf>,
    rescan_source: bool,
    /// Set while the index is broken.
    retry: Option<Retry>,
    /// Tells that somebody has met damage in the index.
    damage: (Sender<()>, Receiver<()>),
    /// What could not be looked at for now.
    passing: passing::Passing,
    /// The next block of the index to be verified.
    verified: u64,
    /// Set while the source could not be started anew: nothing is heard.
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
    /// Everything the thread owns. The roots are those of `shared`.
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

    /// Works until it is told to stop. When this returns, it holds the index no longer.
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
                self.removed = roots::removed(&snapshot);
            }
            self.start_ingest(index);
        }
        self.forget_former_roots();
        self.attach_catalogues();
        // Read before the first scan: what changes meanwhile is looked at once more.
        let _all = self.mounts.changed(&self.shared.root_paths());
        self.restart_source();
        self.run_scans();
        if self.retry.is_none() {
            self.shared.open_first_scan();
            // Whoever waited for the scan asks now: compacting comes later.
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
            // The first scan meets the same trouble with the index, and deals with it.
            tracing::warn!(%error, "what was taken apart may be of an earlier version");
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
        let deadline = self.deadline(now);
        let bell = self.source.bell();
        let commands = self.commands.clone();
        let timer = match deadline.checked_duration_since(now) {
            Some(rest) if !rest.is_zero() => after(rest),
            _ => after(Duration::ZERO),
        };
        // While the index is broken, hints stay in the source: the scan that follows needs none.
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

    /// Takes what the source heard and turns it into jobs.
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
        for (path, hint) in batch.hints {
            if self.followed.hear(&path, hint.marks) {
                self.next_roots = Instant::now();
            }
            if roots.iter().any(|root| root.starts_with(&path)) {
                // A root itself or a folder above it: the roots are looked at soon.
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
                    // Found, watched and listed before its own event was heard.
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

    /// How long it will take to read the file.
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
        tracing::trace!("nobody waits for the answer");
    }
}

#[cfg(test)]
mod tests;
