//! Tests the indexer on real trees. Its source of events reports only the events that a test makes.

use std::fs;
use std::ops::ControlFlow;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use resemble_core::Params;
use resemble_index::{OpenError, Snapshot};
use resemble_query::dump::dump;
use resemble_scan::ingest::{DocumentTurns, Unobserved};
use resemble_testutil::TempTree;

use resemble_proto::message::{RootState, WatchOrigin};

use super::*;
use crate::state::Root;
use crate::watch::Marks;
use crate::watch::testing::{Script, script};

mod broken;
mod catalogues;
mod measures;
mod mounts;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running indexer.
struct Running {
    shared: Arc<Shared>,
    script: Script,
    commands: Sender<Command>,
    /// The changed files that the alert thread would receive.
    news: Arc<Mutex<Vec<PathBuf>>>,
    thread: Option<JoinHandle<()>>,
}

fn text(path: &Path, words: &str) {
    fs::write(path, format!("{words}\n").repeat(300)).unwrap();
}

fn start_on(index: Arc<Index>, roots: &[&Path], limit: usize) -> Running {
    start_with(index, roots, limit, never(), None)
}

/// Returns an opener of the index that always fails.
fn never() -> Opener {
    Box::new(|| {
        let path = PathBuf::new();
        Err((OpenError::InUse { path }, None))
    })
}

fn start_with(
    index: Arc<Index>,
    roots: &[&Path],
    limit: usize,
    opener: Opener,
    catalogues: Option<PathBuf>,
) -> Running {
    let shared = Arc::new(Shared::new(index));
    let scanning = |path: &&Path| Root {
        options: RootOptions::new(path),
        origin: WatchOrigin::Start,
        state: RootState::Scanning,
    };
    shared.set_roots(roots.iter().map(scanning).collect());
    let (source, script) = script();
    script.limit(limit);
    let (commands, orders) = crossbeam_channel::unbounded();
    let (alerts, messages) = crossbeam_channel::unbounded();
    let indexer = Indexer::new(
        Arc::clone(&shared),
        Box::new(source),
        orders,
        alerts,
        opener,
        Options {
            part_reader: None,
            documents: DocumentTurns::LaterByFolder,
            catalogues,
            catalogue_folders: Vec::new(),
            timing: Timing::default(),
            reconcile: None,
            exclude: Vec::new(),
            stop: StopFlag::default(),
        },
    );
    let news = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&news);
    std::thread::spawn(move || {
        for message in messages {
            match message {
                alerts::Message::Read { paths, .. } => told.lock().extend(paths),
                alerts::Message::TakenApart => {}
                alerts::Message::Flush(replies) => {
                    for answer in replies {
                        reply(answer, Ok(()));
                    }
                }
            }
        }
    });
    let thread = Some(std::thread::spawn(move || indexer.run()));
    Running {
        shared,
        script,
        commands,
        news,
        thread,
    }
}

fn start(root: &Path) -> Running {
    start_on(
        Arc::new(Index::in_memory(&Params::default()).unwrap()),
        &[root],
        usize::MAX,
    )
}

impl Running {
    fn order(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<(), Failure>>) -> Command,
    ) -> Result<(), Failure> {
        let (answer, done) = oneshot::channel();
        self.commands.send(command(answer)).unwrap();
        done.blocking_recv().unwrap()
    }

    fn sync(&self) {
        self.order(Command::Sync).unwrap();
    }

    fn dump(&self) -> String {
        let roots: Vec<_> = self
            .shared
            .roots()
            .into_iter()
            .map(|root| root.options)
            .collect();
        dump_of(&self.shared.snapshot().unwrap(), &roots)
    }

    /// Returns the dump of a new index after a scan of the same roots.
    fn fresh(&self) -> String {
        let roots: Vec<_> = self
            .shared
            .roots()
            .into_iter()
            .map(|root| root.options)
            .collect();
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let options = IngestOptions {
            roots: roots.clone(),
            ..IngestOptions::default()
        };
        let targets: Vec<_> = roots
            .iter()
            .map(|root| Target::subtree(&root.path))
            .collect();
        Ingest::new(Arc::clone(&index), options)
            .reconcile(&targets, &mut Unobserved)
            .unwrap();
        dump_of(&index.snapshot().unwrap(), &roots)
    }

    fn assert_converged(&self) {
        self.sync();
        assert_eq!(self.dump(), self.fresh());
    }

    fn state(&self) -> RootState {
        self.shared.roots()[0].state
    }

    fn files_read(&self) -> u64 {
        self.shared.files_read()
    }

    fn news(&self) -> Vec<PathBuf> {
        let mut news = self.news.lock().clone();
        news.sort();
        news.dedup();
        news
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.commands.send(Command::Stop).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn dump_of(snapshot: &Snapshot, roots: &[RootOptions]) -> String {
    let mut lines = String::new();
    let paths: Vec<_> = roots.iter().map(|root| root.path.clone()).collect();
    dump(snapshot, &paths, &mut |line| {
        lines.push_str(&line);
        lines.push('\n');
        ControlFlow::Continue(())
    })
    .unwrap();
    lines
}

/// Makes a root with a file and a directory with a file in it.
fn tree() -> (TempTree, PathBuf) {
    let dir = TempTree::new();
    let root = dir.path("root");
    fs::create_dir_all(root.join("d")).unwrap();
    text(&root.join("a"), "the first file");
    text(&root.join("d/b"), "the second file");
    (dir, root)
}

#[test]
fn a_barrier_during_the_first_scan_waits_for_it() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.assert_converged();
    assert!(running.shared.fresh());
    assert_eq!(running.state(), RootState::Live);
    assert_eq!(running.files_read(), 2);
    let watched = running.script.watched();
    assert!(watched.contains(&root) && watched.contains(&root.join("d")));
    assert!(
        watched.contains(root.parent().unwrap()),
        "to hear of the root itself"
    );
    assert_eq!(
        running.news(),
        Vec::<PathBuf>::new(),
        "in a first scan nothing is news"
    );
}

#[test]
fn told_changes_are_found_and_are_news() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    text(&root.join("new"), "a new file");
    running
        .script
        .tell(&root.join("new"), Marks::APPEARED.and(Marks::CLOSED));
    text(&root.join("a"), "the first file, changed");
    running.script.tell(&root.join("a"), Marks::WRITTEN);
    fs::remove_file(root.join("d/b")).unwrap();
    running.script.tell(&root.join("d/b"), Marks::GONE);
    running.assert_converged();
    assert_eq!(running.news(), [root.join("a"), root.join("new")]);
}

#[test]
fn a_change_is_read_without_a_barrier_when_it_has_settled() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    text(&root.join("new"), "a new file");
    running.script.tell(&root.join("new"), Marks::CLOSED);
    let began = Instant::now();
    while running.news().is_empty() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert!(
        began.elapsed() >= Duration::from_millis(400),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(running.dump(), running.fresh());
}

#[test]
fn a_populated_directory_needs_one_hint_for_its_top() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    fs::create_dir_all(root.join("x/y/z")).unwrap();
    text(&root.join("x/y/z/deep"), "a deep file");
    running.script.tell(&root.join("x"), Marks::APPEARED);
    running.assert_converged();
    for dir in ["x", "x/y", "x/y/z"] {
        assert!(running.script.watched().contains(&root.join(dir)), "{dir}");
    }
}

#[test]
fn a_renamed_directory_is_read_by_nobody_and_watched_by_its_new_name() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    let read = running.files_read();
    fs::rename(root.join("d"), root.join("e")).unwrap();
    running.script.tell_rename(&root.join("d"), &root.join("e"));
    running.assert_converged();
    assert_eq!(running.files_read(), read);
    let watched = running.script.watched();
    assert!(watched.contains(&root.join("e")) && !watched.contains(&root.join("d")));
    assert_eq!(running.news(), Vec::<PathBuf>::new());
}

#[test]
fn what_was_made_anew_under_an_old_name_is_watched_anew() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    fs::rename(root.join("d"), root.join("e")).unwrap();
    fs::create_dir(root.join("d")).unwrap();
    text(&root.join("d/c"), "another file");
    running.script.tell_rename(&root.join("d"), &root.join("e"));
    running.script.tell(&root.join("d"), Marks::APPEARED);
    running.assert_converged();
    let watched = running.script.watched();
    assert!(watched.contains(&root.join("e")) && watched.contains(&root.join("d")));
}

#[test]
fn hints_about_nothing_do_no_harm() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    let everything = Marks::APPEARED
        .and(Marks::GONE)
        .and(Marks::WRITTEN)
        .and(Marks::UNKNOWN);
    for path in ["a", "d", "d/b", "none", "d/none/none", "a/none"] {
        running.script.tell(&root.join(path), everything);
    }
    running.script.tell(Path::new("/"), everything);
    running.script.tell(Path::new("/elsewhere"), everything);
    running
        .script
        .tell_rename(&root.join("none"), &root.join("a"));
    running
        .script
        .tell_rename(&root.join("d"), &root.join("none"));
    running.assert_converged();
    for dir in [root.clone(), root.join("d")] {
        assert!(running.script.watched().contains(&dir));
    }
}

#[test]
fn lost_events_start_the_source_anew_and_nothing_stays_lost() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    let read = running.files_read();
    // The source reports none of these changes, only that events were lost.
    text(&root.join("new"), "a new file");
    fs::rename(root.join("d"), root.join("e")).unwrap();
    fs::remove_file(root.join("a")).unwrap();
    running.script.overflow();
    running.assert_converged();
    assert_eq!(running.script.resets(), 1);
    assert_eq!(running.shared.watch_status().overflows, 1);
    let watched = running.script.watched();
    assert!(watched.contains(&root.join("e")) && !watched.contains(&root.join("d")));
    assert!(
        running.files_read() - read <= 2,
        "what is as it was is not read"
    );
    assert!(running.shared.fresh());
}

/// The source fails to restart once, as at the limit of inotify instances. After it has restarted,
/// later events must arrive.
#[test]
fn a_source_that_cannot_start_anew_is_tried_again_and_everything_polled_meanwhile() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    running.script.refuse_resets(1);
    running.script.overflow();
    text(&root.join("d/new"), "a new file");
    // There are no events. So the barrier of `assert_converged` finds the change by a scan.
    running.assert_converged();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE);
        let deaf = running.shared.troubles();
        // The source may have been reset since the troubles were read. In that case nothing is
        // checked. Until the reset, one of the troubles must be that nothing can be watched.
        if running.script.resets() > 0 {
            break;
        }
        assert!(
            deaf.iter()
                .any(|trouble| trouble.reason.contains("nothing can be watched"))
        );
        std::thread::yield_now();
    }
    running.sync();
    assert_eq!(running.shared.troubles(), []);
    assert!(running.shared.fresh());
    assert!(running.script.watched().contains(&root.join("d")));
    text(&root.join("a"), "the first file, changed");
    running.script.tell(&root.join("a"), Marks::WRITTEN);
    running.assert_converged();
}

#[test]
fn without_watches_changes_are_found_by_polling_and_status_says_so() {
    let (_dir, root) = tree();
    let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
    // The limit is two watches: one for the parent of the root and one for the root. So no other
    // directory can be watched.
    let running = start_on(index, &[&root], 2);
    running.sync();
    let troubles = running.shared.troubles();
    assert_eq!(troubles.len(), 1);
    assert!(
        troubles[0]
            .remedy
            .as_deref()
            .unwrap()
            .starts_with("sysctl fs.inotify")
    );
    text(&root.join("d/new"), "a new file");
    fs::create_dir(root.join("d/deep")).unwrap();
    text(&root.join("d/deep/new"), "a new file");
    running.assert_converged();
    running.script.limit(usize::MAX);
    running.sync();
    running.sync();
    assert_eq!(running.shared.troubles(), []);
    assert!(running.script.watched().contains(&root.join("d/deep")));
}

#[test]
fn a_root_that_went_keeps_its_content_and_is_not_read_again_when_it_comes_back() {
    let (_dir, root) = tree();
    let away = root.with_file_name("away");
    let running = start(&root);
    running.sync();
    let (read, before) = (running.files_read(), running.dump());
    fs::rename(&root, &away).unwrap();
    running.script.tell_rename(&root, &away);
    running.sync();
    assert_eq!(running.state(), RootState::Unavailable);
    assert_eq!(running.dump(), before);
    fs::rename(&away, &root).unwrap();
    running.script.tell_rename(&away, &root);
    running.assert_converged();
    assert_eq!(running.state(), RootState::Live);
    assert_eq!(running.files_read(), read);
    assert!(running.script.watched().contains(&root.join("d")));
}

/// A file cannot be a root of a daemon. So if a file replaces a root, the root is unavailable, as
/// if nothing were at its path.
#[test]
fn a_root_replaced_by_a_file_keeps_its_content() {
    let (_dir, root) = tree();
    let away = root.with_file_name("away");
    let running = start(&root);
    running.sync();
    let (read, before) = (running.files_read(), running.dump());
    fs::rename(&root, &away).unwrap();
    text(&root, "a file in the place of the root");
    running.sync();
    assert_eq!(running.state(), RootState::Unavailable);
    assert_eq!(running.dump(), before);
    fs::remove_file(&root).unwrap();
    running.sync();
    assert_eq!(running.state(), RootState::Unavailable);
    fs::rename(&away, &root).unwrap();
    running.assert_converged();
    assert_eq!(running.state(), RootState::Live);
    assert_eq!(running.files_read(), read);
}

#[test]
fn a_replaced_root_is_scanned() {
    let (_dir, root) = tree();
    let running = start(&root);
    running.sync();
    fs::rename(&root, root.with_file_name("away")).unwrap();
    fs::create_dir(&root).unwrap();
    text(&root.join("other"), "quite another file");
    // The source does not report the change. A check of the roots finds it.
    running.assert_converged();
    assert!(running.script.watched().contains(&root));
}

#[test]
fn roots_come_and_go() {
    let (dir, root) = tree();
    let other = dir.path("other");
    fs::create_dir(&other).unwrap();
    text(&other.join("o"), "in the other root");
    let running = start(&root);
    running
        .order(|answer| Command::AddRoot(other.clone(), RuleSet::default(), answer))
        .unwrap();
    running.assert_converged();
    assert!(running.dump().contains("/other/o\tf"));
    let nested = root.join("d");
    let refused = running
        .order(|answer| Command::AddRoot(nested, RuleSet::default(), answer))
        .unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused);
    running
        .order(|answer| Command::RemoveRoot(other.clone(), answer))
        .unwrap();
    running.assert_converged();
    let snapshot = running.shared.snapshot().unwrap();
    assert_eq!(
        snapshot.entry(&other).unwrap(),
        None,
        "its content is forgotten"
    );
    assert!(!running.script.watched().contains(&other));
    let unknown = running
        .order(|answer| Command::RemoveRoot(other.clone(), answer))
        .unwrap_err();
    assert!(unknown.message.contains("is no root"));
}

#[test]
fn excluded_paths_are_left_out_with_all_below() {
    let (_dir, root) = tree();
    let running = start(&root);
    let (answer, done) = oneshot::channel();
    running
        .commands
        .send(Command::Exclude(vec![root.join("d")], answer))
        .unwrap();
    done.blocking_recv().unwrap();
    text(&root.join("d/new"), "a new file");
    running.script.tell(&root.join("d/new"), Marks::CLOSED);
    running.sync();
    assert!(!running.dump().contains("/d/new"));
}

#[test]
fn a_restart_reads_what_changed_and_forgets_former_roots() {
    let (dir, root) = tree();
    let other = dir.path("other");
    fs::create_dir(&other).unwrap();
    text(&other.join("o"), "in the other root");
    let file = dir.path("index.redb");
    let open = || {
        let (index, aside) = Index::open(
            &file,
            &Params::default(),
            &resemble_index::Options::default(),
        )
        .unwrap();
        assert!(aside.is_none());
        Arc::new(index)
    };
    let running = start_on(open(), &[&root, &other], usize::MAX);
    running.sync();
    assert_eq!(running.files_read(), 3);
    drop(running);
    text(
        &root.join("a"),
        "the first file, changed while nobody looked",
    );
    let running = start_on(open(), &[&root], usize::MAX);
    running.assert_converged();
    // A file that is read very soon after its last change is read once more later. So there may be
    // two readings.
    assert!(running.files_read() >= 1);
    assert_eq!(
        running.news(),
        [root.join("a")],
        "a change is news, also after a restart"
    );
    assert_eq!(
        running.shared.snapshot().unwrap().entry(&other).unwrap(),
        None
    );
    drop(running);
    // The new root is inside a former root. Only the rest of the former root is removed from the
    // index.
    let inner = root.join("d");
    let running = start_on(open(), &[&inner], usize::MAX);
    running.assert_converged();
    let snapshot = running.shared.snapshot().unwrap();
    assert_eq!(snapshot.entry(&root.join("a")).unwrap(), None);
    assert!(snapshot.entry(&inner.join("b")).unwrap().is_some());
}
