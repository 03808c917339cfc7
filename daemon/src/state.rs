//! The state that all threads of the daemon share: the index, the roots, and the current troubles.
//!
//! In most cases the indexer writes this state, and other threads read it. A lock is held only
//! while values are copied, and no thread holds two locks at a time. There is one exception: the
//! lock of the index is held while the index is opened again. So questions wait for the opened
//! index and are not refused.

pub(crate) mod fresh;
mod progress;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_index::{Index, OpenError, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::{
    AlertRules, Degraded, RootState, SinkStatus, WatchOrigin, WatchStatus,
};
use resemble_query::templates;
use resemble_scan::ingest::{Amount, RootOptions, WaitingDocuments};
use resemble_scan::parts::PartReader;

use crate::acks::AckStore;
use crate::coalesce::LongWait;
use crate::root_rules::{RuleBook, RuleSet};

/// A root and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// The path and the rules of the root.
    pub options: RootOptions,
    /// The way in which the root was requested.
    pub origin: WatchOrigin,
    /// The state of the root. It is never `Degraded` here. Whether a root is degraded depends on
    /// its troubles.
    pub state: RootState,
}

/// The subject of a trouble. Troubles are listed in the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The index cannot be written or read.
    Index,
    /// The source of events cannot be started.
    Events,
    /// Files or directories have a transient failure.
    Passing,
    /// Directories cannot be watched.
    Watches,
    /// Directories are on a network file system.
    Remote,
    /// The file of the templates cannot be used.
    Templates,
    /// A catalogue cannot be used.
    Catalogues,
    /// A folder of catalogues, or one of its files, cannot be used.
    CatalogueFolders,
    /// The new configuration is invalid or requires a restart.
    Config,
}

/// The state that all threads share.
pub struct Shared {
    /// Parameters of chunks and samples.
    pub params: Params,
    index: Mutex<Slot>,
    templates: Option<templates::Store>,
    part_reader: Option<Arc<dyn PartReader>>,
    /// The documents that wait for extraction.
    documents: Mutex<Option<WaitingDocuments>>,
    roots: Mutex<Vec<Root>>,
    rules: Mutex<RuleBook>,
    sinks: Mutex<Vec<SinkStatus>>,
    /// The roots of an index that became unusable, until they are scanned for the new index.
    rebuilding: Mutex<BTreeSet<PathBuf>>,
    acks: AckStore,
    roots_file: Option<PathBuf>,
    /// A function that is called when a root was added or removed.
    follower: OnceLock<RootsFollower>,
    /// The paths that the imported catalogues have in the index.
    catalogues: Mutex<Vec<PathBuf>>,
    troubles: Mutex<BTreeMap<(Topic, PathBuf), Degraded>>,
    excluded: Mutex<Vec<PathBuf>>,
    /// The number of changed files that wait to be read, and of documents that wait to be
    /// extracted. The files of a running scan are not among them.
    pending: AtomicU64,
    assumed: AtomicU64,
    waits: Mutex<Vec<LongWait>>,
    /// The paths of the waiting files; `None` if there are too many to list.
    waiting: Mutex<Option<Vec<PathBuf>>>,
    oldest_change: Mutex<Option<Instant>>,
    /// The time at which the daemon started.
    began: Instant,
    /// The number of files that the current scan has not read yet.
    scanning: AtomicU64,
    scan: Mutex<(u64, Option<(PathBuf, Amount)>)>,
    clock: AtomicU64,
    files_read: AtomicU64,
    bytes_read: AtomicU64,
    watch: Mutex<WatchStatus>,
    first_scan: Gate,
}

/// See [`Shared::follow_roots`].
type RootsFollower = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("index", &self.index)
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

/// The index if it is open. Otherwise its last commit, or `None` if that commit cannot be read.
#[derive(Debug)]
enum Slot {
    Open(Arc<Index>),
    Last(Option<Snapshot>),
}

/// The reopened index, or the failure to open it. The failure is returned with the last commit, if
/// that commit can be read.
pub type Reopened = Result<Arc<Index>, (OpenError, Option<Snapshot>)>;

/// A gate that opens once.
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
    seen: AtomicBool,
}

/// The reason why there is no snapshot of the index now.
#[derive(Debug, thiserror::Error)]
pub enum NoSnapshot {
    /// The index is closed, and its last commit cannot be read.
    #[error("the index cannot be opened just now; `resemble status` says why")]
    Closed,
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Shared {
    /// Creates the state of a daemon that has only an index.
    pub fn new(index: Arc<Index>) -> Self {
        // The clock starts with the present time. So a clock value is not used again after a
        // restart, and equal clocks mean equal answers.
        let start = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Self {
            params: *index.params(),
            index: Mutex::new(Slot::Open(index)),
            templates: None,
            part_reader: None,
            documents: Mutex::default(),
            roots: Mutex::default(),
            rules: Mutex::default(),
            sinks: Mutex::default(),
            acks: AckStore::default(),
            rebuilding: Mutex::default(),
            roots_file: None,
            follower: OnceLock::new(),
            catalogues: Mutex::default(),
            troubles: Mutex::default(),
            excluded: Mutex::default(),
            pending: AtomicU64::new(0),
            assumed: AtomicU64::new(0),
            waits: Mutex::default(),
            waiting: Mutex::default(),
            oldest_change: Mutex::default(),
            began: Instant::now(),
            scanning: AtomicU64::new(0),
            scan: Mutex::default(),
            clock: AtomicU64::new(start.as_micros() as u64),
            files_read: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            watch: Mutex::default(),
            first_scan: Gate::default(),
        }
    }

    /// Sets the store of acknowledged contents, which raise no alerts.
    #[must_use]
    pub fn with_acks(mut self, acks: AckStore) -> Self {
        self.acks = acks;
        self
    }

    /// Sets the file that gets a copy of the list of roots, in case the index is lost.
    #[must_use]
    pub fn with_roots_file(mut self, path: PathBuf) -> Self {
        self.roots_file = Some(path);
        self
    }

    /// Returns the file that has a copy of the list of roots, if one is set.
    pub fn roots_file(&self) -> Option<&Path> {
        self.roots_file.as_deref()
    }

    /// Returns the state folder, if it is known. It is the folder of the file that has the copy of
    /// the list of roots.
    pub fn state_folder(&self) -> Option<&Path> {
        self.roots_file()?.parent()
    }

    /// Returns the store of acknowledged contents.
    pub const fn acks(&self) -> &AckStore {
        &self.acks
    }

    /// Sets the rules of the roots.
    #[must_use]
    pub fn with_rules(mut self, rules: RuleBook) -> Self {
        self.rules = Mutex::new(rules);
        self
    }

    /// Sets the store of templates, whose text is excluded from comparisons.
    #[must_use]
    pub fn with_templates(mut self, store: templates::Store) -> Self {
        self.templates = Some(store);
        self
    }

    /// Sets the reader of documents and archives.
    #[must_use]
    pub fn with_part_reader(mut self, part_reader: Arc<dyn PartReader>) -> Self {
        self.part_reader = Some(part_reader);
        self
    }

    /// Returns the reader of documents and archives, if one is set.
    pub fn part_reader(&self) -> Option<&Arc<dyn PartReader>> {
        self.part_reader.as_ref()
    }

    /// Returns the documents that wait for extraction, once the indexer has provided them.
    pub fn documents(&self) -> Option<WaitingDocuments> {
        self.documents.lock().clone()
    }

    pub(crate) fn set_documents(&self, documents: WaitingDocuments) {
        *self.documents.lock() = Some(documents);
    }

    pub(crate) const fn template_store(&self) -> Option<&templates::Store> {
        self.templates.as_ref()
    }

    /// Returns a snapshot of the last commit, even while the index cannot be opened for writing.
    /// The snapshot excludes the text of the present templates.
    pub fn snapshot(&self) -> Result<Snapshot, NoSnapshot> {
        let templates = self.templates();
        let index = match &*self.index.lock() {
            Slot::Open(index) => Ok(Arc::clone(index)),
            Slot::Last(last) => Err(last.clone()),
        };
        let snapshot = match index {
            Ok(index) => index.snapshot()?,
            Err(last) => last.ok_or(NoSnapshot::Closed)?,
        };
        Ok(snapshot.with_templates(templates))
    }

    /// Returns the present templates. If they have changed, answers may change, too, so the clock
    /// advances.
    pub(crate) fn templates(&self) -> Arc<Templates> {
        let Some(store) = &self.templates else {
            return Arc::default();
        };
        let (current, news) = store.current();
        if news {
            self.tick();
            match &current.trouble {
                Some(trouble) => self.trouble(Topic::Templates, store.path(), trouble, None),
                None => self.mended(Topic::Templates),
            }
        }
        current.templates
    }

    /// Returns the index, if it is open.
    pub(crate) fn index(&self) -> Option<Arc<Index>> {
        match &*self.index.lock() {
            Slot::Open(index) => Some(Arc::clone(index)),
            Slot::Last(_) => None,
        }
    }

    /// Removes and returns the index, if it is open, so that the caller can close it for good.
    pub(crate) fn close_index(&self) -> Option<Arc<Index>> {
        match std::mem::replace(&mut *self.index.lock(), Slot::Last(None)) {
            Slot::Open(index) => Some(index),
            Slot::Last(_) => None,
        }
    }

    /// Closes the index and opens it again. Returns whether that succeeded. If not, questions are
    /// answered from the last commit.
    pub(crate) fn swap_index(&self, open: &dyn Fn() -> Reopened) -> bool {
        let mut slot = self.index.lock();
        // If the file cannot be opened at all, questions are answered from this snapshot. For
        // example, the file is still locked while a question uses the index.
        let cached = match &*slot {
            Slot::Open(index) => index.snapshot().ok(),
            Slot::Last(_) => None,
        };
        // While the slot has the index or its last commit, the file cannot be opened for writing.
        // So the slot is emptied.
        *slot = Slot::Last(None);
        match open() {
            Ok(index) => *slot = Slot::Open(index),
            Err((error, last)) => {
                tracing::debug!(%error, "the index stays closed");
                *slot = Slot::Last(last.or(cached));
                return false;
            }
        }
        drop(slot);
        self.tick();
        true
    }

    /// Returns the roots, in the order in which they were set.
    pub fn roots(&self) -> Vec<Root> {
        self.roots.lock().clone()
    }

    /// Returns the paths of the roots, in the same order as [`Self::roots`].
    pub(crate) fn root_paths(&self) -> Vec<PathBuf> {
        let roots = self.roots.lock();
        roots.iter().map(|root| root.options.path.clone()).collect()
    }

    /// Returns the alert rules of the root at this path. A catalogue has the default ones.
    pub fn alert_rules(&self, root: &Path) -> AlertRules {
        if is_catalogued(root) {
            return AlertRules::default();
        }
        self.rules.lock().of(root).alerts
    }

    /// Returns the alert rules of all roots, by path.
    pub(crate) fn all_alert_rules(&self) -> BTreeMap<PathBuf, AlertRules> {
        let roots = self.root_paths().into_iter();
        let with_rules = roots.map(|root| {
            let rules = self.alert_rules(&root);
            (root, rules)
        });
        with_rules.collect()
    }

    /// Returns the root at this path with the rules of its scan.
    pub(crate) fn root_with_rules(&self, path: &Path) -> RootOptions {
        self.rules.lock().root(path)
    }

    /// Returns the rules that `watch add` set for this root, or the default rules if it set none.
    pub(crate) fn order_of(&self, root: &Path) -> RuleSet {
        self.rules.lock().order(root).cloned().unwrap_or_default()
    }

    pub(crate) fn set_order(&self, root: &Path, order: Option<RuleSet>) {
        self.rules.lock().set_order(root, order);
    }

    /// Replaces the configured rules. The orders of `watch add` stay.
    pub(crate) fn reconfigure(&self, rules: RuleBook) {
        self.rules.lock().reconfigure(rules);
    }

    /// Returns the status of each sink of alerts.
    pub fn sinks(&self) -> Vec<SinkStatus> {
        self.sinks.lock().clone()
    }

    pub(crate) fn set_sinks(&self, sinks: Vec<SinkStatus>) {
        *self.sinks.lock() = sinks;
    }

    pub(crate) fn set_roots(&self, roots: Vec<Root>) {
        *self.roots.lock() = roots;
    }

    /// Records roots for which the index has to be rebuilt.
    pub(crate) fn set_rebuilding(&self, roots: impl IntoIterator<Item = PathBuf>) {
        self.rebuilding.lock().extend(roots);
    }

    /// Records that a root has been scanned, so its index is rebuilt.
    pub(crate) fn rebuilt(&self, root: &Path) {
        self.rebuilding.lock().remove(root);
    }

    /// Returns whether the index of a root is being rebuilt. Answers about such a root may be
    /// incomplete.
    pub(crate) fn is_rebuilding(&self, root: &Path) -> bool {
        self.rebuilding.lock().contains(root)
    }

    /// Changes the roots while the daemon runs, and calls the function of [`Self::follow_roots`].
    pub(crate) fn change_roots(&self, roots: Vec<Root>) {
        self.set_roots(roots);
        if let Some(follower) = self.follower.get() {
            follower();
        }
    }

    /// Sets the function that is called when a root was added or removed. The indexer thread calls
    /// it. There is only one such function.
    pub(crate) fn follow_roots(&self, follower: RootsFollower) {
        let follows = self.follower.set(follower);
        debug_assert!(follows.is_ok(), "roots have one follower");
    }

    /// Returns the paths that the imported catalogues have in the index, sorted by label.
    pub fn catalogues(&self) -> Vec<PathBuf> {
        self.catalogues.lock().clone()
    }

    pub(crate) fn set_catalogues(&self, roots: Vec<PathBuf>) {
        *self.catalogues.lock() = roots;
    }

    /// Returns the catalogues in the form of roots, because questions treat them like roots.
    pub fn catalogue_roots(&self) -> Vec<Root> {
        let root = |path| Root {
            options: RootOptions {
                text: true,
                ..RootOptions::new(path)
            },
            origin: WatchOrigin::Catalogue,
            state: RootState::Catalogue,
        };
        self.catalogues().into_iter().map(root).collect()
    }

    /// Sets the state of a root and returns its previous state; `None` if the path is no root.
    pub(crate) fn set_root_state(&self, path: &Path, state: RootState) -> Option<RootState> {
        let mut roots = self.roots.lock();
        let root = roots.iter_mut().find(|root| root.options.path == path)?;
        Some(std::mem::replace(&mut root.state, state))
    }

    /// Returns the root or the catalogue that contains the path. Returns `None` if there is no such
    /// root or catalogue, or if the path is excluded.
    pub fn root_of(&self, path: &Path) -> Option<Root> {
        if is_catalogued(path) {
            let mut roots = self.catalogue_roots().into_iter();
            return roots.find(|root| path.starts_with(&root.options.path));
        }
        if self.is_excluded(path) {
            return None;
        }
        self.roots
            .lock()
            .iter()
            .find(|root| path.starts_with(&root.options.path))
            .cloned()
    }

    /// Returns whether the path is excluded or lies below an excluded one.
    pub(crate) fn is_excluded(&self, path: &Path) -> bool {
        self.excluded
            .lock()
            .iter()
            .any(|excluded| path.starts_with(excluded))
    }

    /// Returns the paths that are never read or listed: the daemon's own folders and mount points.
    pub fn excluded(&self) -> Vec<PathBuf> {
        self.excluded.lock().clone()
    }

    pub(crate) fn set_excluded(&self, paths: Vec<PathBuf>) {
        *self.excluded.lock() = paths;
    }

    /// Returns the current troubles.
    pub fn troubles(&self) -> Vec<Degraded> {
        self.troubles.lock().values().cloned().collect()
    }

    /// Records a trouble. The trouble is logged if it is new or its reason has changed.
    pub(crate) fn trouble(&self, topic: Topic, path: &Path, reason: &str, remedy: Option<&str>) {
        let trouble = Degraded {
            path: path.into(),
            reason: reason.to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let known = self
            .troubles
            .lock()
            .insert((topic, path.to_path_buf()), trouble);
        if known.is_none_or(|known| known.reason != reason) {
            tracing::warn!(path = ?path, remedy, "degraded: {reason}");
        }
    }

    /// Removes all troubles of a topic, because they have ended.
    pub(crate) fn mended(&self, topic: Topic) {
        let mut ended = Vec::new();
        self.troubles.lock().retain(|(about, path), trouble| {
            let stays = *about != topic;
            if !stays {
                ended.push((path.clone(), trouble.reason.clone()));
            }
            stays
        });
        for (path, reason) in ended {
            tracing::info!(path = ?path, "no longer degraded: {reason}");
        }
    }

    pub(crate) fn open_first_scan(&self) {
        self.first_scan.seen.store(true, Ordering::Release);
        *self.first_scan.open.lock() = true;
        self.first_scan.changed.notify_all();
    }

    /// Returns whether the first scan of all roots since the start is done.
    pub fn first_scan_done(&self) -> bool {
        self.first_scan.seen.load(Ordering::Acquire)
    }

    /// Waits until the first scan is done, at most `patience`. Returns whether it is done.
    pub fn wait_first_scan(&self, patience: Duration) -> bool {
        let mut open = self.first_scan.open.lock();
        self.first_scan
            .changed
            .wait_while_for(&mut open, |open| !*open, patience);
        *open
    }
}
