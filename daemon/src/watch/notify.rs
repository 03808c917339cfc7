//! Takes hints from inotify through the crate notify. No other module names that crate.
//!
//! These facts about version 9.0.0-rc.7 of the crate determine the design of this module:
//!
//! 1. Recursive watches silently lose files that are made in new sub-directories. So every
//!    directory gets its own non-recursive watch *before* it is listed (`indexer::watches`).
//! 2. The event mask omits opening and read-only closing. Otherwise the daemon's own reading would
//!    fill the kernel's queue.
//! 3. The event handler runs on the one thread that reads the queue, and watches are added through
//!    that thread. So a handler that blocks loses events, and a handler that adds a watch never
//!    returns. Our handler only inserts into [`Dirty`] and sends a message to the bell. Each
//!    request for a watch wakes two threads. So where possible, hundreds of watches are requested
//!    at once.
//! 4. The crate pairs the halves of renames, but remembers only one first half at a time. Renames
//!    of two processes may interleave. So [`Dirty`] pairs them by cookie, and the event `Both` is
//!    ignored. A first half without a cookie (`MOVE_SELF`) means that a watched directory itself
//!    was moved. The watch of the parent directory reports this move, too.
//! 5. An overflow is one event *without paths* and with a flag. After it, the crate's map from
//!    watch to path may be wrong. If the event of a move was lost, the watch still has the old
//!    path. A request for that path is then answered "already done". So [`Source::reset`] makes a
//!    new instance instead of repairing the old one. Before that, the old instance is closed and
//!    has ended, because the kernel's limit of instances might not allow two.
//! 6. The crate compares each path that vanishes, moves or is unwatched with every watched path. So
//!    a path that the crate has already forgotten should not be unwatched.
//!    [`Source::retain_watched`] asks about many paths at once.
//! 7. When a watched path is moved or removed, the crate first reports this event. Then it forgets
//!    the watches of that path and of all paths below it. So after `GONE` of a directory, its path
//!    may be watched again.
//! 8. If several watched paths lead to one directory, its events are reported at the path that was
//!    watched last. The watch of the directory ends when none of these paths is watched any more.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Config, ErrorKind, Event, EventKindMask, INotifyWatcher, RecursiveMode};
use notify::{PathOp, WatchPathConfig, Watcher};
use parking_lot::Mutex;

use super::dirty::Dirty;
use super::{Batch, Cookie, Marks, Source, SourceError, WatchError};

/// The longest wait for the end of an instance. Ending an instance takes long because the watches
/// are removed one by one.
const CLOSING: Duration = Duration::from_secs(5);

/// A source of hints that uses inotify.
#[derive(Debug)]
pub struct NotifySource {
    /// The present instance; `None` before the first reset, and after a failed reset.
    instance: Option<Instance>,
    heard: Arc<Mutex<Dirty>>,
    ring: Sender<()>,
    bell: Receiver<()>,
    cookies: PathBuf,
    next: u64,
    last: Option<PathBuf>,
}

/// An inotify instance with the thread that reads it.
#[derive(Debug)]
struct Instance {
    watcher: INotifyWatcher,
    /// Becomes disconnected when the thread has closed the instance and ended.
    closed: Receiver<()>,
}

impl Instance {
    fn close(self) {
        drop(self.watcher);
        if self.closed.recv_timeout(CLOSING) == Err(RecvTimeoutError::Timeout) {
            tracing::debug!("the old watches are still being taken away");
        }
    }

    /// Makes the file of a cookie, if no earlier file can be renamed. If the directory of cookies
    /// was removed, too, makes and watches it again.
    fn cookie_anew(&mut self, cookies: &Path, file: &Path) -> io::Result<()> {
        if prepare(cookies)? {
            // The crate may still have a watch of the removed directory, and would then ignore the
            // request for a new one.
            let _forgotten = self.watcher.unwatch(cookies);
            if let Err(error) = add(&mut self.watcher, cookies) {
                // The directory is removed again. So the next attempt finds it missing and tries
                // again to watch it.
                fs::remove_dir(cookies)?;
                return Err(io::Error::other(error));
            }
        }
        fs::File::create_new(file).map(drop)
    }
}

impl NotifySource {
    /// Creates a source that reports nothing before the first [`Source::reset`]. `cookies` is a
    /// directory for the files of cookies. The directory is made or emptied here, and must not be
    /// indexed.
    pub fn new(cookies: &Path) -> Result<Self, SourceError> {
        prepare(cookies).map_err(|source| SourceError::Cookies {
            path: cookies.to_path_buf(),
            source,
        })?;
        let (ring, bell) = bounded(1);
        let heard = Arc::new(Mutex::new(Dirty::default()));
        Ok(Self {
            instance: None,
            heard,
            ring,
            bell,
            cookies: cookies.to_path_buf(),
            next: 0,
            last: None,
        })
    }
}

impl Source for NotifySource {
    fn watch(&mut self, dir: &Path) -> Result<(), WatchError> {
        match &mut self.instance {
            Some(instance) => add(&mut instance.watcher, dir),
            None => Err(WatchError::Refused {
                path: dir.to_path_buf(),
                message: "nothing can be watched just now".to_owned(),
            }),
        }
    }

    fn watch_all(&mut self, dirs: &[&Path]) -> bool {
        let watch = |dir: &&Path| PathOp::Watch(dir.to_path_buf(), one_directory());
        let all: Vec<PathOp> = dirs.iter().map(watch).collect();
        let instance = self.instance.as_mut();
        all.is_empty() || instance.is_some_and(|it| it.watcher.update_paths(all).is_ok())
    }

    fn unwatch(&mut self, dir: &Path) {
        if let Some(instance) = &mut self.instance
            && let Err(error) = instance.watcher.unwatch(dir)
        {
            tracing::trace!(dir = ?dir, %error, "not watched");
        }
    }

    fn retain_watched(&mut self, dirs: &mut BTreeSet<PathBuf>) {
        let Some(instance) = &self.instance else {
            return dirs.clear();
        };
        match instance.watcher.watched_paths() {
            Ok(watched) => {
                let asked = std::mem::take(dirs);
                let watched = watched.into_iter().map(|(dir, _)| dir);
                dirs.extend(watched.filter(|dir| asked.contains(dir)));
            }
            Err(error) => tracing::debug!(%error, "the watches cannot be listed"),
        }
    }

    fn take(&mut self, now: Instant, all: bool) -> Batch {
        self.heard.lock().take(now, all)
    }

    fn bell(&self) -> Receiver<()> {
        self.bell.clone()
    }

    /// A cookie is a file that is renamed within the private directory. A rename needs no space, so
    /// it works even if the disk is full. Only the first cookie creates a file, unless the file is
    /// removed.
    fn cookie(&mut self) -> Result<Cookie, SourceError> {
        let Some(instance) = &mut self.instance else {
            return Err(SourceError::Start {
                message: "the last attempt failed".to_owned(),
            });
        };
        self.next += 1;
        let to = self.cookies.join(format!("cookie-{}", self.next));
        let moved = match &self.last {
            Some(from) => fs::rename(from, &to),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        match moved {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                instance.cookie_anew(&self.cookies, &to)
            }
            other => other,
        }
        .map_err(|source| SourceError::Cookies {
            path: to.clone(),
            source,
        })?;
        self.last = Some(to);
        Ok(Cookie(self.next))
    }

    fn reset(&mut self) -> Result<(), SourceError> {
        if let Some(old) = self.instance.take() {
            old.close();
        }
        make(&self.cookies).map_err(|source| SourceError::Cookies {
            path: self.cookies.clone(),
            source,
        })?;
        // The old instance may still write to its own set, which is not read any more.
        self.heard = Arc::new(Mutex::new(Dirty::default()));
        self.instance = Some(instance(&self.heard, &self.ring, &self.cookies)?);
        Ok(())
    }
}

/// Starts an inotify instance that watches only the directory of cookies.
fn instance(
    heard: &Arc<Mutex<Dirty>>,
    ring: &Sender<()>,
    cookies: &Path,
) -> Result<Instance, SourceError> {
    let config = Config::default()
        .with_follow_symlinks(false)
        .with_event_kinds(EventKindMask::CORE | EventKindMask::ACCESS_CLOSE);
    let (open, closed) = bounded::<()>(0);
    let handler = {
        let (heard, ring, cookies) = (Arc::clone(heard), ring.clone(), cookies.to_path_buf());
        move |event: notify::Result<Event>| {
            // The handler owns the sending end of the channel `closed`. When the thread ends, the
            // handler is dropped, and the channel is disconnected.
            let _open = &open;
            hear(&mut heard.lock(), &cookies, event, Instant::now());
            // If the channel is full, it has a message that is not received yet. One message
            // suffices.
            let _rung = ring.try_send(());
        }
    };
    let start = |error: notify::Error| SourceError::Start {
        message: error.to_string(),
    };
    let mut watcher = INotifyWatcher::new(handler, config).map_err(start)?;
    add(&mut watcher, cookies).map_err(|error| match error {
        WatchError::Limit { .. } => SourceError::NoWatch,
        other => SourceError::Start {
            message: other.to_string(),
        },
    })?;
    Ok(Instance { watcher, closed })
}

fn one_directory() -> WatchPathConfig {
    WatchPathConfig::new(RecursiveMode::NonRecursive).with_dereference_symlinks(false)
}

fn add(watcher: &mut INotifyWatcher, dir: &Path) -> Result<(), WatchError> {
    watcher
        .watch_with(dir, one_directory())
        .map_err(|error| match error.kind {
            ErrorKind::MaxFilesWatch => WatchError::Limit {
                path: dir.to_path_buf(),
            },
            ErrorKind::PathNotFound => WatchError::Gone {
                path: dir.to_path_buf(),
            },
            _ => WatchError::Refused {
                path: dir.to_path_buf(),
                message: error.to_string(),
            },
        })
}

/// Records one event of the crate notify.
fn hear(dirty: &mut Dirty, cookies: &Path, event: notify::Result<Event>, now: Instant) {
    let event = match event {
        Ok(event) => event,
        Err(error) => {
            // The queue could not be read, so its events are lost.
            tracing::warn!(%error, "watching failed; everything is looked at again");
            dirty.overflow();
            return;
        }
    };
    // This check comes before the check of the paths, because an overflow event has no paths.
    if event.need_rescan() {
        dirty.overflow();
        return;
    }
    let tracker = event.attrs.tracker();
    let Some(path) = event.paths.first() else {
        return;
    };
    if let Some(cookie) = cookie_of(path, cookies) {
        if matches!(
            event.kind,
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_))
        ) {
            // A rename to the next cookie also reports the name of the last cookie. This does no
            // harm: no barrier waits for the last cookie any more.
            dirty.cookie(cookie);
        }
        return;
    }
    if path.starts_with(cookies) {
        return;
    }
    match event.kind {
        EventKind::Create(_) => dirty.mark(path, Marks::APPEARED, now),
        // A removal is also reported for a watched directory whose file system is unmounted.
        EventKind::Remove(_) => dirty.mark(path, Marks::GONE, now),
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) => match tracker {
            Some(tracker) => dirty.renamed_from(path.clone(), tracker, now),
            None => dirty.mark(path, Marks::GONE, now),
        },
        EventKind::Modify(ModifyKind::Name(RenameMode::To)) => match tracker {
            Some(tracker) => dirty.renamed_to(path, tracker, now),
            None => dirty.mark(path, Marks::APPEARED, now),
        },
        EventKind::Modify(ModifyKind::Data(_)) => dirty.mark(path, Marks::WRITTEN, now),
        EventKind::Modify(ModifyKind::Metadata(_)) => dirty.mark(path, Marks::ATTRIBUTES, now),
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
            dirty.mark(path, Marks::CLOSED, now);
        }
        // `Both` repeats what the two halves of a rename have reported, and reading a file changes
        // nothing.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) | EventKind::Access(_) => {}
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
            for path in &event.paths {
                dirty.mark(path, Marks::UNKNOWN, now);
            }
        }
    }
}

fn cookie_of(path: &Path, cookies: &Path) -> Option<Cookie> {
    if path.parent() != Some(cookies) {
        return None;
    }
    path.file_name()?
        .to_str()?
        .strip_prefix("cookie-")?
        .parse()
        .ok()
        .map(Cookie)
}

/// Makes the directory of cookies if it is missing. Only its owner may access it. Returns whether
/// the directory was missing.
fn make(cookies: &Path) -> io::Result<bool> {
    match fs::DirBuilder::new().mode(0o700).create(cookies) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes the directory of cookies, and empties it. Returns whether it was missing.
fn prepare(cookies: &Path) -> io::Result<bool> {
    let was_missing = make(cookies)?;
    for entry in fs::read_dir(cookies)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(was_missing)
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind};

    use super::*;
    use crate::watch::testing::{changed_paths, started};

    const COOKIES: &str = "/state/cookies";

    fn heard(events: Vec<Event>) -> Batch {
        let now = Instant::now();
        let mut dirty = Dirty::default();
        for event in events {
            hear(&mut dirty, Path::new(COOKIES), Ok(event), now);
        }
        dirty.take(now, true)
    }

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(path.into())
    }

    #[test]
    fn each_kind_has_its_mark() {
        let name = |mode| EventKind::Modify(ModifyKind::Name(mode));
        for (kind, marks) in [
            (EventKind::Create(CreateKind::File), Marks::APPEARED),
            (EventKind::Remove(RemoveKind::Folder), Marks::GONE),
            (EventKind::Remove(RemoveKind::Other), Marks::GONE),
            (
                EventKind::Modify(ModifyKind::Data(DataChange::Any)),
                Marks::WRITTEN,
            ),
            (
                EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
                Marks::ATTRIBUTES,
            ),
            (
                EventKind::Access(AccessKind::Close(AccessMode::Write)),
                Marks::CLOSED,
            ),
            (name(RenameMode::From), Marks::GONE),
            (name(RenameMode::To), Marks::APPEARED),
            (EventKind::Other, Marks::UNKNOWN),
        ] {
            assert_eq!(
                heard(vec![event(kind, "/r/a")]).hints[Path::new("/r/a")].marks,
                marks
            );
        }
        assert!(heard(vec![event(EventKind::Access(AccessKind::Read), "/r/a")]).is_empty());
    }

    #[test]
    fn overflow_has_no_paths_and_is_heard_all_the_same() {
        let batch = heard(vec![Event::new(EventKind::Other).set_flag(Flag::Rescan)]);
        assert!(batch.overflow);
        assert!(batch.hints.is_empty());
    }

    #[test]
    fn a_rename_is_one_pair() {
        let name = |mode, path| event(EventKind::Modify(ModifyKind::Name(mode)), path);
        let batch = heard(vec![
            name(RenameMode::From, "/r/a").set_tracker(5),
            name(RenameMode::To, "/r/b").set_tracker(5),
            name(RenameMode::Both, "/r/a")
                .add_path("/r/b".into())
                .set_tracker(5),
        ]);
        assert_eq!(batch.renames.len(), 1);
    }

    #[test]
    fn cookies_are_no_hints() {
        let batch = heard(vec![
            event(
                EventKind::Create(CreateKind::File),
                "/state/cookies/cookie-3",
            ),
            event(
                EventKind::Modify(ModifyKind::Data(DataChange::Any)),
                "/state/cookies/cookie-3",
            ),
            event(EventKind::Create(CreateKind::File), "/state/cookies/else"),
        ]);
        assert_eq!(batch.cookies, [Cookie(3)]);
        assert!(batch.hints.is_empty());
    }

    /// On a real inotify instance, a cookie arrives after the changes that were made before it.
    #[test]
    fn a_cookie_is_heard_after_the_changes_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, cookies) = (dir.path().join("tree"), dir.path().join("cookies"));
        fs::create_dir(&tree).unwrap();
        let mut source = started(&cookies);
        for round in 0..3 {
            source.watch(&tree).unwrap();
            let name = tree.join(format!("f{round}"));
            fs::write(&name, "x").unwrap();
            let seen = changed_paths(&mut source);
            assert!(seen.contains(&name), "round {round}: {seen:?}");
            source.reset().unwrap();
        }
        assert!(matches!(
            source.watch(&dir.path().join("none")),
            Err(WatchError::Gone { .. })
        ));
    }

    /// Directories that are watched by one request report events. If one of them is missing, the
    /// others can still be watched.
    #[test]
    fn directories_watched_together_are_heard() {
        let dir = tempfile::tempdir().unwrap();
        let mut source = started(&dir.path().join("cookies"));
        let [a, b, none] = ["a", "b", "none"].map(|name| dir.path().join(name));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        assert!(source.watch_all(&[]));
        assert!(!source.watch_all(&[&a, &none, &b]));
        source.watch(&a).unwrap();
        assert!(source.watch_all(&[&b]));
        let names = [a.join("f"), b.join("f")];
        for name in &names {
            fs::write(name, "x").unwrap();
        }
        let seen = changed_paths(&mut source);
        assert!(names.iter().all(|name| seen.contains(name)), "{seen:?}");
    }

    /// The crate forgets the watches below a vanished folder. The watches of paths that only begin
    /// with the same letters stay.
    #[test]
    fn what_is_watched_still_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let mut source = started(&dir.path().join("cookies"));
        let names = ["a", "a/b", "a/b/c", "a-b", "a/b-c", "ab"];
        let all: BTreeSet<PathBuf> = names.map(|name| dir.path().join(name)).into();
        for dir in &all {
            fs::create_dir_all(dir).unwrap();
            source.watch(dir).unwrap();
        }
        source.watch(dir.path()).unwrap();
        let mut still = |asked: &BTreeSet<PathBuf>| {
            changed_paths(&mut source);
            let mut still = asked.clone();
            still.insert(dir.path().join("none"));
            source.retain_watched(&mut still);
            let names = still
                .iter()
                .filter_map(|path| path.strip_prefix(dir.path()).ok());
            names
                .map(|name| name.display().to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(still(&all), "a a/b a/b/c a/b-c a-b ab");
        fs::rename(dir.path().join("a/b"), dir.path().join("moved")).unwrap();
        fs::rename(dir.path().join("moved"), dir.path().join("a/b")).unwrap();
        assert_eq!(still(&all), "a a/b-c a-b ab");
        fs::remove_dir_all(dir.path().join("a")).unwrap();
        assert_eq!(still(&all), "a-b ab");
    }

    /// A cookie arrives even if its directory was removed before. The new directory is watched,
    /// also after a reset.
    #[test]
    fn a_cookie_is_heard_after_its_directory_was_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cookies = dir.path().join("cookies");
        let mut source = started(&cookies);
        for is_reset in [false, true, false, false] {
            if is_reset {
                source.reset().unwrap();
            }
            let cookie = source.cookie().unwrap();
            let mut heard = Vec::new();
            while !heard.contains(&cookie) {
                source.bell().recv_timeout(Duration::from_secs(20)).unwrap();
                heard.extend(source.take(Instant::now(), false).cookies);
            }
            fs::remove_dir_all(&cookies).unwrap();
        }
    }

    /// Reading a watched file makes no hint (point 2 of the module's description).
    #[test]
    fn reading_makes_no_hints() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, cookies) = (dir.path().join("tree"), dir.path().join("cookies"));
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("f"), "x").unwrap();
        let mut source = started(&cookies);
        source.watch(&tree).unwrap();
        fs::read(tree.join("f")).unwrap();
        let cookie = source.cookie().unwrap();
        loop {
            source.bell().recv_timeout(Duration::from_secs(20)).unwrap();
            let batch = source.take(Instant::now(), false);
            assert!(batch.hints.is_empty(), "{batch:?}");
            if batch.cookies.contains(&cookie) {
                break;
            }
        }
    }
}
