//! The daemon `resembled`. It watches and indexes files, answers questions about them, shows them
//! in an overlay and raises alerts.
//!
//! ```text
//!             ┌───────────────── indexer (one thread) ──────────────┐
//! inotify ──► │ watch ─hints─► coalesce ─jobs─► Ingest ─► index     │ ─changes─► alerts (thread)
//!             └───────────────▲───────────────────────────┬─────────┘              │
//!                             │ commands                  │ snapshots              ▼
//!                          server (socket) ◄──────────────┼───────► overlay    log, journal
//! ```
//!
//! * [`watch`] gathers hints about changes, and [`coalesce`] turns hints and time into jobs.
//!   [`indexer`] is the thread that runs these two and writes the index.
//! * [`state`] is shared by all threads, and [`server`] answers at the socket. [`neighbours`],
//!   [`overlays`] and [`link`] make the overlay. [`alerts`] reports files that have become similar
//!   to others.
//! * [`config`] has the settings, [`journal`] writes the messages, and [`service`] notifies the
//!   service manager. [`Daemon`] starts and ends all of these in the right order.
//!
//! The library prints nothing, reads no environment variable and never exits; `main` does.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use resemble_core::stop::StopFlag;
use resemble_index::{Index, OpenError, Options as IndexOptions, ReadError};
use resemble_proto::places::{self, PlaceError};
use resemble_query::templates::Store;
use resemble_scan::ingest::DocumentTurns;
use resemble_scan::parts::{Formats, PartReader, RecentParts};
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch as signal};

pub mod acks;
pub mod alerts;
pub mod coalesce;
pub mod config;
mod doors;
mod first_config;
mod index_file;
pub mod indexer;
pub mod journal;
pub mod link;
pub mod neighbours;
pub mod overlays;
pub(crate) mod questions;
mod reload;
pub mod root_rules;
pub mod server;
pub mod service;
pub mod signals;
mod start_roots;
pub mod state;
mod state_file;
pub mod system;
pub mod watch;

pub use first_config::write as write_first_config;

use acks::AckStore;
use alerts::log::AlertLog;
use alerts::sinks::Delivery;
use config::{Config, RootError};
use index_file::{open_index, opener};
use indexer::{Command, Indexer, roots};
use overlays::{Overlays, ShowError};
use root_rules::RuleBook;
use server::{Context, socket};
use signals::{SignalEvent, signals};
use start_roots::StartRoots;
use state::Shared;
use system::Entered;
use watch::SourceError;
use watch::notify::NotifySource;

/// Name of the index file in the state folder.
pub const INDEX_FILE: &str = "index.redb";
/// Bytes of memory for pages of the index. With 40 MiB the peak memory of a first scan of a kernel
/// tree is 133 to 147 MB. With 48 MiB it is 147 to 159 MB. The speed of the scan is the same, but
/// with 40 MiB a first `find` takes 4 % more processor time.
const INDEX_CACHE: usize = 40 << 20;
/// Name of the file in the state folder that has the acknowledgements.
pub const ACKS_FILE: &str = "acks.json";
/// Name of the file in the state folder that has a copy of the list of roots. The copy is used if
/// the index is new.
pub const ROOTS_FILE: &str = "roots.json";
/// Name of the folder in the state folder in which barriers make their cookies.
const COOKIES: &str = "cookies";
/// The longest time for which an ending daemon waits for its server to end. After that, it waits
/// for the same time for the threads that still answer.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The reason why the daemon did not start. Its text is one sentence, and the exit status is 2.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is nothing to watch.
    #[error(
        "nothing to watch: name a folder on the command line, in the configuration or with \
         `resemble watch add`"
    )]
    NoRoots,
    /// `watch remove` has removed all roots of the configuration; the field is the first of these
    /// roots.
    #[error(
        "nothing to watch: `resemble watch remove` removed all that the configuration names; \
         `resembled {}`, without --config, watches it again",
        resemble_report::quote::quoted(.0)
    )]
    Removed(PathBuf),
    /// The state folder cannot be used.
    #[error(transparent)]
    State(#[from] PlaceError),
    /// Other users may write to the state folder.
    #[error(
        "{} may be written by others (mode {mode:o}); make it yours: chmod 700",
        .path.display()
    )]
    Writable {
        /// The state folder.
        path: PathBuf,
        /// The mode of the folder.
        mode: u32,
    },
    /// Another daemon uses the index.
    #[error(
        "another resembled uses the state folder {}; use that one, or give this one another \
         --state",
        .state.display()
    )]
    InUse {
        /// The state folder.
        state: PathBuf,
    },
    /// The index cannot be opened.
    #[error(transparent)]
    Index(#[from] OpenError),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// One root contains another.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The source of events cannot be set up.
    #[error(transparent)]
    Watch(#[from] SourceError),
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] socket::SocketError),
    /// The overlay cannot be mounted.
    #[error("cannot mount the overlay: {0}")]
    Show(#[from] ShowError),
    /// A thread cannot be started, or its resources cannot be set up.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The indexer ended while the daemon waited for its first scan.
    #[error(
        "the indexer ended before the first scan was done; the messages before this one say why"
    )]
    IndexerEnded,
}

/// Starts daemons.
#[derive(Clone, Copy, Debug)]
pub struct Daemon;

/// A running daemon. [`Handle::stop`] ends it cleanly. Dropping the handle ends the daemon as well,
/// but does not wait for its end.
#[derive(Debug)]
pub struct Handle {
    /// The present settings.
    config: Config,
    shared: Arc<Shared>,
    log: Arc<Mutex<AlertLog>>,
    overlays: Arc<Overlays>,
    commands: Sender<Command>,
    stop: StopFlag,
    indexer: Option<JoinHandle<()>>,
    alerts: Option<JoinHandle<()>>,
    /// The thread that delivers alerts, and the sender that ends the thread when it is dropped.
    delivery: Option<(JoinHandle<()>, Sender<()>)>,
    ending: signal::Sender<bool>,
    runtime: Option<Runtime>,
    server: Option<tokio::task::JoinHandle<()>>,
    /// The sockets of the daemon and of the helpers that it has started.
    sockets: Vec<socket::Socket>,
    ended: signal::Receiver<bool>,
    /// Changes with every SIGHUP.
    hung_up: signal::Receiver<()>,
    indexer_gone: Option<oneshot::Receiver<()>>,
}

impl Daemon {
    /// Starts everything. When this returns a handle, the socket answers and the configured overlay
    /// is mounted. With `wait` in the configuration, this function returns only after the first
    /// scan, or when a signal ends the daemon. It fails if the indexer ends before the scan is
    /// done.
    pub fn start(config: &Config) -> Result<Handle, StartError> {
        Self::start_for(config, None)
    }

    /// Does the same as [`Self::start`]. In system mode, `entered` has the resources that were
    /// acquired before the process dropped its privileges.
    pub fn start_for(config: &Config, entered: Option<Entered>) -> Result<Handle, StartError> {
        prepare_state(&config.state)?;
        let path = config.state.join(INDEX_FILE);
        let options = IndexOptions {
            cache_bytes: INDEX_CACHE,
            boilerplate_limit: config.boilerplate,
        };
        let (index, StartRoots { roots, rules }) = open_with_roots(config, &path, &options)?;
        let source = NotifySource::new(&config.state.join(COOKIES))?;
        let runtime = runtime().map_err(StartError::Thread)?;
        // From here on a signal ends the daemon cleanly, even while it starts.
        let (ended, hung_up) = runtime
            .block_on(async { signals() })
            .map_err(StartError::Thread)?;

        let formats = match &entered {
            Some(entered) => Formats::by_starter(entered.starter.clone(), config.limits),
            None => Formats::new(config.limits, config.converters.clone()),
        };
        let part_reader: Arc<dyn PartReader> = Arc::new(formats);
        let shared = shared_state(config, index, rules, &part_reader);
        shared.set_roots(roots);
        shared.set_rebuilding(roots::rebuilding(&shared));
        let log = Arc::new(Mutex::new(AlertLog::open(&places::alerts_file(
            &config.state,
        ))));
        let (commands, orders) = crossbeam_channel::unbounded();
        let own = own_folders(config);
        let overlays = overlays_of(config, &shared, &commands, &own);
        let (news, alert_messages) = crossbeam_channel::unbounded();
        let stop = StopFlag::default();
        let documents = match &entered {
            Some(_) => DocumentTurns::LaterByUser,
            None => DocumentTurns::LaterByFolder,
        };
        let indexer = Indexer::new(
            Arc::clone(&shared),
            Box::new(source),
            orders,
            news,
            opener(path, config.params, options),
            indexer_options(config, &own, part_reader, documents, stop.clone()),
        );
        let (alive, indexer_gone) = oneshot::channel::<()>();
        let mut handle = Handle {
            config: config.clone(),
            log: Arc::clone(&log),
            shared: Arc::clone(&shared),
            overlays: Arc::clone(&overlays),
            commands: commands.clone(),
            stop,
            indexer: None,
            alerts: None,
            delivery: None,
            ending: signal::Sender::new(false),
            runtime: Some(runtime),
            server: None,
            sockets: Vec::new(),
            ended,
            hung_up,
            indexer_gone: Some(indexer_gone),
        };
        let for_alerts = (Arc::clone(&shared), Arc::clone(&log));
        // If a sink writes alerts to the journal, alerts are not logged. The log of the daemon may
        // go to the same journal, and each alert would be there twice.
        let prints = !config.has_journal();
        handle.alerts = Some(spawn("resembled-alerts", move || {
            alerts::run(&alert_messages, &for_alerts.0, &for_alerts.1, prints);
        })?);
        handle.start_delivery()?;
        handle.indexer = Some(spawn("resembled-index", move || {
            indexer.run();
            drop(alive);
        })?);
        if config.wait {
            let is_gone = || handle.indexer.as_ref().is_none_or(JoinHandle::is_finished);
            wait_for_first_scan(&shared, || *handle.ended.borrow() || is_gone());
            if is_gone() && !*handle.ended.borrow() {
                handle.stop();
                return Err(StartError::IndexerEnded);
            }
        }
        let context = Context::new(
            Arc::clone(&shared),
            commands,
            log,
            overlays,
            config.state.clone(),
        );
        let (context, device) = match entered {
            Some(entered) => {
                let sockets = entered.sockets.into_iter().map(socket::Socket::of);
                handle.sockets.extend(sockets.flatten());
                (context.for_all(Arc::new(entered.system)), entered.device)
            }
            None => (context, None),
        };
        match handle.open_doors(config, context, device) {
            Ok(()) => Ok(handle),
            Err(error) => {
                handle.stop();
                Err(error)
            }
        }
    }
}

/// Creates the state that all threads share. Its parts are from the index, the files in the state
/// folder and the configuration.
fn shared_state(
    config: &Config,
    index: Arc<Index>,
    rules: RuleBook,
    part_reader: &Arc<dyn PartReader>,
) -> Arc<Shared> {
    let shared = Shared::new(index)
        .with_rules(rules)
        .with_templates(Store::new(&config.state, &config.params))
        .with_acks(AckStore::open(&config.state.join(ACKS_FILE)))
        .with_roots_file(config.state.join(ROOTS_FILE))
        .with_part_reader(Arc::new(RecentParts::new(Arc::clone(part_reader))));
    Arc::new(shared)
}

/// Returns the options of the indexer. `own` has the folders that [`own_folders`] returns.
fn indexer_options(
    config: &Config,
    own: &[PathBuf],
    part_reader: Arc<dyn PartReader>,
    documents: DocumentTurns,
    stop: StopFlag,
) -> indexer::Options {
    let mount = config.mount.as_deref().map(overlays::resolved);
    indexer::Options {
        timing: coalesce::Timing::default(),
        reconcile: config.reconcile,
        exclude: overlays::excluded_always(own)
            .into_iter()
            .chain(mount)
            .collect(),
        catalogues: Some(places::catalogues_dir(&config.state)),
        catalogue_folders: config.catalogues.clone(),
        part_reader: Some(part_reader),
        documents,
        stop,
    }
}

/// Creates the runtime whose threads answer requests.
fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(server::THREADS)
        .thread_name("resembled-server")
        .enable_all()
        .build()
}

/// Opens the index, and returns it with the roots of this start and their rules.
fn open_with_roots(
    config: &Config,
    path: &Path,
    options: &IndexOptions,
) -> Result<(Arc<Index>, StartRoots), StartError> {
    let roots_file = config.state.join(ROOTS_FILE);
    let index = open_index(config, path, options)?;
    roots::restore(&index, &roots_file);
    let roots = StartRoots::of(config, &index);
    // Opening the index does not read the list of roots completely, so damage in the list is found
    // only now. The damaged index is set aside, and the list is read from its copy.
    let Some(damage) = index.damage() else {
        return Ok((index, roots?));
    };
    index.set_aside().map_err(|_| damage)?;
    let index = open_index(config, path, options)?;
    roots::restore(&index, &roots_file);
    let roots = StartRoots::of(config, &index)?;
    Ok((index, roots))
}

/// Returns the folders to which the daemon and the command `resemble` write. They are never
/// indexed.
fn own_folders(config: &Config) -> Vec<PathBuf> {
    let state = std::iter::once(config.state.clone());
    state.chain(config.cache.clone()).collect()
}

/// Creates the manager of the overlays. When the roots change, the manager updates each overlay.
fn overlays_of(
    config: &Config,
    shared: &Arc<Shared>,
    commands: &Sender<Command>,
    own: &[PathBuf],
) -> Arc<Overlays> {
    let overlays = Overlays::new(
        Arc::clone(shared),
        commands.clone(),
        own.to_vec(),
        config.show,
    );
    let overlays = overlays
        .with_home(config.home.as_deref())
        .with_similar_name(config.similar_name.clone())
        .with_view(config.mount.as_deref(), config.view, config.link.as_deref());
    let overlays = Arc::new(overlays);
    let showing = Arc::downgrade(&overlays);
    shared.follow_roots(Box::new(move || {
        if let Some(overlays) = showing.upgrade() {
            overlays.follow_roots();
        }
    }));
    overlays
}

impl Handle {
    /// Starts the thread that delivers alerts, if there are sinks.
    fn start_delivery(&mut self) -> Result<(), StartError> {
        self.shared.set_sinks(Vec::new());
        if self.config.sinks.is_empty() {
            return Ok(());
        }
        let (ends, end) = crossbeam_channel::bounded(0);
        let delivery = Delivery::new(&self.config.sinks, &self.log, &self.config.state);
        self.shared.set_sinks(delivery.statuses());
        let shared = Arc::clone(&self.shared);
        let thread = spawn("resembled-notify", move || delivery.run(&shared, &end))?;
        self.delivery = Some((thread, ends));
        Ok(())
    }

    /// Ends the thread that delivers alerts. Undelivered alerts stay in the log.
    fn end_delivery(&mut self) {
        if let Some((thread, ends)) = self.delivery.take() {
            drop(ends);
            if thread.join().is_err() {
                tracing::error!("a thread panicked");
            }
        }
    }

    /// Waits for a signal or for the end of the indexer thread, and returns which of these came.
    pub fn wait_for_signal(&mut self) -> SignalEvent {
        let Some(runtime) = &self.runtime else {
            return SignalEvent::End;
        };
        let gone = &mut self.indexer_gone;
        let (ended, hung_up) = (&mut self.ended, &mut self.hung_up);
        runtime.block_on(async {
            let gone = async {
                match gone {
                    Some(gone) => drop(gone.await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = ended.wait_for(|ended| *ended) => SignalEvent::End,
                () = gone => SignalEvent::Broken,
                Ok(()) = hung_up.changed() => SignalEvent::Reload,
            }
        })
    }

    /// Ends everything, in this order: the indexer and the alerts, the delivery of alerts, the
    /// overlays, the answers, the index, the socket.
    pub fn stop(mut self) {
        let began = Instant::now();
        self.stop.set();
        let _told = self.commands.send(Command::Stop);
        let _heard = self.ending.send(true);
        for thread in [self.indexer.take(), self.alerts.take()]
            .into_iter()
            .flatten()
        {
            if thread.join().is_err() {
                tracing::error!("a thread panicked");
            }
        }
        // The delivery ends only now, because until now the two threads above could raise alerts.
        self.end_delivery();
        self.overlays.unmount_all();
        if let Some(runtime) = self.runtime.take() {
            if let Some(server) = self.server.take() {
                let ended = async { tokio::time::timeout(LAST_ANSWERS, server).await };
                if runtime.block_on(ended).is_err() {
                    tracing::debug!("the last answers are cut off");
                }
            }
            runtime.shutdown_timeout(LAST_ANSWERS);
        }
        if let Some(index) = self.shared.close_index() {
            index_file::close(index);
        }
        self.sockets.clear();
        tracing::info!(seconds = began.elapsed().as_secs_f32(), "ended");
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(StartError::Thread)
}

/// Returns when the first scan is done, or when `is_over` returns true.
fn wait_for_first_scan(shared: &Shared, is_over: impl Fn() -> bool) {
    let patience = Duration::from_millis(100);
    while !shared.wait_first_scan(patience) && !is_over() {}
}

/// Makes the state folder if it is missing. The daemon's user must own it, and nobody else may
/// write to it.
fn prepare_state(state: &Path) -> Result<(), StartError> {
    places::private_dir(state, rustix::process::geteuid().as_raw())?;
    let mode = fs::metadata(state)
        .map_err(|source| PlaceError::Io {
            path: state.to_path_buf(),
            source,
        })?
        .mode()
        & 0o7777;
    if mode & 0o022 != 0 {
        return Err(StartError::Writable {
            path: state.to_path_buf(),
            mode,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use resemble_core::Params;
    use resemble_testutil::PATIENCE;

    use super::*;

    /// If the indexer has ended, nobody does the first scan. So the wait for the scan must end,
    /// too.
    #[test]
    fn waiting_for_the_first_scan_ends_with_the_indexer() {
        let index = Index::in_memory(&Params::default()).unwrap();
        let shared = Arc::new(Shared::new(Arc::new(index)));
        let indexer = spawn("ends", || ()).unwrap();
        let (done, ends) = crossbeam_channel::bounded(1);
        let waiting = Arc::clone(&shared);
        // The wait runs on a thread of its own. So if it does not end, the test fails instead of
        // hanging.
        thread::spawn(move || {
            wait_for_first_scan(&waiting, || indexer.is_finished());
            done.send(()).unwrap();
        });
        ends.recv_timeout(PATIENCE).unwrap();
        assert!(!shared.first_scan_done());
    }
}
