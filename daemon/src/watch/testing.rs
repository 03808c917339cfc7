//! A source that reports only the events that a test makes. These events may be missing, late or
//! wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::dirty::Dirty;
use super::notify::NotifySource;
use super::{Batch, Cookie, Marks, Source, SourceError, WatchError};

/// The end of the source that the daemon uses.
#[derive(Debug)]
pub(crate) struct ScriptSource {
    shared: Arc<Mutex<Scene>>,
    bell: Receiver<()>,
}

/// The end of the source that the test uses.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    shared: Arc<Mutex<Scene>>,
    ring: Sender<()>,
}

#[derive(Debug)]
struct Scene {
    dirty: Dirty,
    watched: BTreeSet<PathBuf>,
    limit: usize,
    resets: usize,
    /// The number of resets that will still fail.
    refusals: usize,
    /// True after a failed reset. Until a reset succeeds, no event is reported.
    is_deaf: bool,
    /// True after the first reset. Later resets are counted as restarts.
    is_started: bool,
    cookies: u64,
    ring: Sender<()>,
    hooks: BTreeMap<PathBuf, Hook>,
}

/// A function that runs when a directory is watched.
struct Hook(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

impl Scene {
    /// Removes the watches at and below a path.
    fn forget(&mut self, path: &Path) {
        self.watched.retain(|dir| !dir.starts_with(path));
    }
}

/// Returns both ends of a source.
pub(crate) fn script() -> (ScriptSource, Script) {
    let (ring, bell) = bounded(1);
    let shared = Arc::new(Mutex::new(Scene {
        dirty: Dirty::default(),
        watched: BTreeSet::new(),
        limit: usize::MAX,
        resets: 0,
        refusals: 0,
        is_deaf: false,
        is_started: false,
        cookies: 0,
        ring: ring.clone(),
        hooks: BTreeMap::new(),
    }));
    (
        ScriptSource {
            shared: Arc::clone(&shared),
            bell,
        },
        Script { shared, ring },
    )
}

impl Script {
    /// Reports an event about a path, even if nothing has happened there.
    pub(crate) fn tell(&self, path: &Path, marks: Marks) {
        let mut shared = self.shared.lock().unwrap();
        if marks.has_any(Marks::GONE) {
            shared.forget(path);
        }
        if shared.is_deaf {
            return;
        }
        shared.dirty.mark(path, marks, Instant::now());
        self.ring.try_send(()).ok();
    }

    /// Reports a rename.
    pub(crate) fn tell_rename(&self, from: &Path, to: &Path) {
        let mut shared = self.shared.lock().unwrap();
        // The crate notify also forgets the watches of paths that are moved.
        shared.forget(from);
        shared
            .dirty
            .renamed_from(from.to_path_buf(), 1, Instant::now());
        shared.dirty.renamed_to(to, 1, Instant::now());
        self.ring.try_send(()).ok();
    }

    /// Removes the watches at and below a path without an event.
    pub(crate) fn lose(&self, path: &Path) {
        self.shared.lock().unwrap().forget(path);
    }

    /// Runs `hook` the next time when the directory is watched, and only that time.
    pub(crate) fn when_watched(&self, dir: &Path, hook: impl FnOnce() + Send + 'static) {
        let hook = Hook(Box::new(hook));
        let mut shared = self.shared.lock().unwrap();
        shared.hooks.insert(dir.to_path_buf(), hook);
    }

    /// Reports that events were lost.
    pub(crate) fn overflow(&self) {
        self.shared.lock().unwrap().dirty.overflow();
        self.ring.try_send(()).ok();
    }

    /// Limits the number of watches from now on.
    pub(crate) fn limit(&self, watches: usize) {
        self.shared.lock().unwrap().limit = watches;
    }

    /// Returns the watched directories.
    pub(crate) fn watched(&self) -> BTreeSet<PathBuf> {
        self.shared.lock().unwrap().watched.clone()
    }

    /// Makes the next `times` resets fail, as at the limit of inotify instances.
    pub(crate) fn refuse_resets(&self, times: usize) {
        self.shared.lock().unwrap().refusals = times;
    }

    /// Returns the number of successful resets after the first one.
    pub(crate) fn resets(&self) -> usize {
        self.shared.lock().unwrap().resets
    }
}

impl Source for ScriptSource {
    fn watch(&mut self, dir: &Path) -> Result<(), WatchError> {
        let mut shared = self.shared.lock().unwrap();
        if shared.is_deaf {
            return Err(WatchError::Refused {
                path: dir.to_path_buf(),
                message: "deaf".to_owned(),
            });
        }
        if !dir.is_dir() {
            return Err(WatchError::Gone {
                path: dir.to_path_buf(),
            });
        }
        if shared.watched.len() >= shared.limit && !shared.watched.contains(dir) {
            return Err(WatchError::Limit {
                path: dir.to_path_buf(),
            });
        }
        shared.watched.insert(dir.to_path_buf());
        let hook = shared.hooks.remove(dir);
        drop(shared);
        if let Some(Hook(hook)) = hook {
            hook();
        }
        Ok(())
    }

    fn unwatch(&mut self, dir: &Path) {
        self.shared.lock().unwrap().watched.remove(dir);
    }

    fn retain_watched(&mut self, dirs: &mut BTreeSet<PathBuf>) {
        let shared = self.shared.lock().unwrap();
        dirs.retain(|dir| shared.watched.contains(dir));
    }

    fn take(&mut self, now: Instant, all: bool) -> Batch {
        self.shared.lock().unwrap().dirty.take(now, all)
    }

    fn bell(&self) -> Receiver<()> {
        self.bell.clone()
    }

    fn cookie(&mut self) -> Result<Cookie, SourceError> {
        let mut shared = self.shared.lock().unwrap();
        if shared.is_deaf {
            return Err(no_instance());
        }
        shared.cookies += 1;
        let cookie = Cookie(shared.cookies);
        shared.dirty.cookie(cookie);
        shared.ring.try_send(()).ok();
        Ok(cookie)
    }

    fn reset(&mut self) -> Result<(), SourceError> {
        let mut shared = self.shared.lock().unwrap();
        if shared.is_started {
            shared.dirty = Dirty::default();
        }
        shared.watched.clear();
        shared.is_deaf = shared.refusals > 0;
        if shared.is_deaf {
            shared.refusals -= 1;
            return Err(no_instance());
        }
        shared.resets += usize::from(std::mem::replace(&mut shared.is_started, true));
        Ok(())
    }
}

/// Starts a source that uses inotify. `cookies` is the directory for its cookies.
pub(crate) fn started(cookies: &Path) -> NotifySource {
    let mut source = NotifySource::new(cookies).unwrap();
    source.reset().unwrap();
    source
}

/// Waits until all changes made so far have been reported, and returns their paths.
pub(crate) fn changed_paths(source: &mut dyn Source) -> Vec<PathBuf> {
    let cookie = source.cookie().unwrap();
    let mut seen = Vec::new();
    loop {
        source.bell().recv_timeout(Duration::from_secs(20)).unwrap();
        let batch = source.take(Instant::now(), false);
        seen.extend(batch.hints.into_keys());
        if batch.cookies.contains(&cookie) {
            return seen;
        }
    }
}

fn no_instance() -> SourceError {
    SourceError::Start {
        message: "no instance".to_owned(),
    }
}
