//! Lists directories ahead: while one directory is compared with the index, a second thread lists
//! the next directory. The thread also looks up the names that the index has in the next directory.
//!
//! After most restarts, nothing has changed. Then a walk spends half of its time on getting names
//! and `stat`s from the kernel. It spends nearly all of the other half on looking up the same names
//! in the index. The comparison itself takes little time.
//!
//! 1. **Directories are listed in the order of the walk.** The requests form a stack. When the walk
//!    visits a directory, it takes the finished listing. If the thread has not begun that listing,
//!    the walk lists the directory itself.
//! 2. **A listing may be slightly outdated.** A listing is used only if later changes in its
//!    directory are certain to be reported in another way: see [`Listing`](super::report::Listing).
//!    The names from the index are used only if nothing was committed after they were read.
//! 3. **A failure is ignored here.** The walk then lists the same directory, and reports the
//!    failure that it meets. Directories on other file systems are left to the walk.
//! 4. **Memory is bounded.** When there are [`MOST_HELD`] names in finished listings, the thread
//!    pauses until half of them are taken. To wake the thread for each directory would cost as much
//!    as to list the directory. An open directory is counted as [`OPEN`] names.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use resemble_index::{Entry, FileRow, ReadError, Snapshot};

use crate::walk::{Anchor, Found, OpenDir};

/// The number of names in finished listings above which the thread pauses.
const MOST_HELD: usize = 8_192;

/// An open directory is counted as this number of names, because descriptors are scarcer than
/// memory.
const OPEN: usize = 16;

/// A directory to list.
#[derive(Debug)]
pub(super) struct Upcoming {
    pub(super) anchor: Arc<Anchor>,
    pub(super) path: PathBuf,
    /// Names to leave out.
    pub(super) skip: Vec<OsString>,
    /// The `st_dev` of the parent directory.
    pub(super) device_above: u64,
    /// The current state of the index. `None` if the index does not have the directory.
    pub(super) snapshot: Option<Snapshot>,
}

/// An entry that the index has.
#[derive(Clone, Debug)]
pub(super) struct KnownEntry {
    pub(super) entry: Entry,
    /// The row of the file, if the entry is a file.
    pub(super) row: Option<FileRow>,
}

impl KnownEntry {
    /// Looks up the row of an entry that is a file.
    pub(super) fn of(snapshot: &Snapshot, entry: Entry) -> Result<Self, ReadError> {
        let row = match &entry {
            Entry::File(file) => snapshot.file(*file)?,
            _ => None,
        };
        Ok(Self { entry, row })
    }
}

/// The names that the index has in a directory, sorted.
pub(super) type KnownNames = Vec<(OsString, KnownEntry)>;

/// Returns the names that the index has in a directory.
pub(super) fn known_names(snapshot: &Snapshot, dir: &Path) -> Result<KnownNames, ReadError> {
    let names = snapshot.list(dir)?.into_iter();
    names
        .map(|(name, entry)| Ok((name, KnownEntry::of(snapshot, entry)?)))
        .collect()
}

/// A finished listing of a directory.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) dir: OpenDir,
    pub(super) found: Vec<Found>,
    /// The names that the index has in the directory, and the generation of the commit that has
    /// these names.
    known: Option<(u64, KnownNames)>,
}

impl Listed {
    /// Lists a directory. Returns `None` if the directory is on another file system, or if the
    /// listing fails. The walk will then meet and report the same failure.
    pub(super) fn new(wanted: &Upcoming) -> Option<Self> {
        let dir = wanted.anchor.dir(&wanted.path).ok()?;
        if dir.stat.dev != wanted.device_above {
            return None;
        }
        let skip = |name: &_| wanted.skip.iter().any(|skipped| skipped == name);
        let known = wanted.snapshot.as_ref().and_then(|snapshot| {
            let names = known_names(snapshot, &wanted.path).ok()?;
            Some((snapshot.generation(), names))
        });
        let found = dir.list(&skip).ok()?;
        Some(Self { dir, found, known })
    }

    /// Returns the size of the listing, as a number of names.
    const fn held(&self) -> usize {
        OPEN + self.found.len()
    }

    /// Returns the names that the index has in the directory, unless something was committed after
    /// they were read.
    pub(super) fn known(&mut self, snapshot: &Snapshot) -> Option<KnownNames> {
        let (generation, names) = self.known.take()?;
        (generation == snapshot.generation()).then_some(names)
    }
}

#[derive(Debug, Default)]
struct ListerState {
    /// The directories to list. The walk visits the last of them first.
    wanted: Vec<Upcoming>,
    /// The directory that is being listed now.
    current: Option<PathBuf>,
    ready: HashMap<PathBuf, Listed>,
    /// The number of names in finished listings.
    held: usize,
    /// True while the thread pauses, because there are enough names in finished listings.
    is_paused: bool,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<ListerState>,
    /// Wakes the thread when there may be a directory to list.
    more: Condvar,
    /// Wakes the walk when a listing has ended.
    ended: Condvar,
}

/// The thread that lists directories. It is started with the first request.
#[derive(Debug, Default)]
pub(super) struct Lister {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Lister {
    /// Puts directories on top of the stack. The walk will visit them in this order, before all
    /// directories that were requested earlier.
    pub(super) fn want(&mut self, dirs: impl DoubleEndedIterator<Item = Upcoming>) {
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("lister".into());
            self.thread = thread.spawn(move || shared.list_all()).ok();
        }
        // If the thread could not be started, nobody would list the directories.
        if self.thread.is_some() {
            self.shared.state.lock().wanted.extend(dirs.rev());
            self.shared.more.notify_one();
        }
    }

    /// Takes the listing of the directory that the walk visits now. Returns `None` if the thread
    /// has not begun the listing, or if it failed.
    pub(super) fn take(&self, path: &Path) -> Option<Listed> {
        self.thread.as_ref()?;
        let mut state = self.shared.state.lock();
        while state.current.as_deref() == Some(path) {
            self.shared.ended.wait(&mut state);
        }
        if state.wanted.last().is_some_and(|next| next.path == path) {
            state.wanted.pop();
        }
        let listed = state.ready.remove(path)?;
        state.held -= listed.held();
        if state.is_paused && state.held <= MOST_HELD / 2 {
            state.is_paused = false;
            self.shared.more.notify_one();
        }
        Some(listed)
    }

    /// Drops all requests and listings.
    pub(super) fn forget(&self) {
        if self.thread.is_none() {
            return;
        }
        let mut state = self.shared.state.lock();
        state.wanted.clear();
        while state.current.is_some() {
            self.shared.ended.wait(&mut state);
        }
        state.ready.clear();
        (state.held, state.is_paused) = (0, false);
    }
}

impl Drop for Lister {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.state.lock().is_over = true;
            self.shared.more.notify_one();
            thread.join().ok();
        }
    }
}

impl Shared {
    fn list_all(&self) {
        let mut state = self.state.lock();
        while !state.is_over {
            let wanted = if state.is_paused {
                None
            } else {
                state.wanted.pop()
            };
            let Some(wanted) = wanted else {
                self.more.wait(&mut state);
                continue;
            };
            state.current = Some(wanted.path.clone());
            drop(state);
            let listed = Listed::new(&wanted);
            state = self.state.lock();
            state.current = None;
            if let Some(listed) = listed {
                state.held += listed.held();
                state.is_paused = state.held >= MOST_HELD;
                state.ready.insert(wanted.path, listed);
            }
            self.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Waits until the thread has listed a directory, and takes the listing.
    fn made(lister: &Lister, path: &Path) -> Option<Listed> {
        loop {
            let state = lister.shared.state.lock();
            let is_begun = !state.wanted.iter().any(|wanted| wanted.path == path);
            drop(state);
            if is_begun {
                return lister.take(path);
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_wanted_is_listed_and_held_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let anchor = Arc::new(Anchor::open(&root).unwrap());
        let folders = ["a", "b", "c"].map(|name| root.join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
            (0..MOST_HELD).for_each(|n| fs::write(folder.join(n.to_string()), "").unwrap());
        }
        let device = anchor.stat().dev;
        let wanted = |path: &Path, device_above| Upcoming {
            anchor: Arc::clone(&anchor),
            path: path.to_owned(),
            skip: vec!["7".into()],
            device_above,
            snapshot: None,
        };
        let mut lister = Lister::default();
        assert!(lister.take(&folders[0]).is_none(), "nothing was wanted");
        lister.want(folders.iter().map(|folder| wanted(folder, device)));
        for (n, folder) in folders.iter().enumerate() {
            let listed = made(&lister, folder).unwrap();
            let names: Vec<_> = listed.found.iter().map(|found| &found.name).collect();
            assert_eq!(names.len(), MOST_HELD - 1);
            assert!(names.is_sorted() && !names.contains(&&OsString::from("7")));
            let state = lister.shared.state.lock();
            assert!(state.held < 2 * MOST_HELD + OPEN, "{n}");
        }
        assert_eq!(lister.shared.state.lock().held, 0);

        // None of these can be listed ahead: a directory on another file system, a missing
        // directory, and a file.
        let file = folders[0].join("1");
        let none = [&folders[0], &root.join("none"), &file];
        let devices = [device + 1, device, device];
        let all = none.iter().zip(devices);
        lister.want(all.map(|(path, device)| wanted(path, device)));
        assert!(none.iter().all(|path| made(&lister, path).is_none()));

        lister.want(folders.iter().map(|folder| wanted(folder, device)));
        lister.forget();
        assert!(folders.iter().all(|folder| lister.take(folder).is_none()));
    }

    #[test]
    fn what_was_not_begun_is_left_to_the_walk() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let anchor = Arc::new(Anchor::open(&root).unwrap());
        let mut lister = Lister::default();
        // The thread is paused, so it begins no listing before the walk asks for it.
        lister.shared.state.lock().is_paused = true;
        let paths = ["first", "second"].map(|name| root.join(name));
        let wanted = paths.iter().map(|path| Upcoming {
            anchor: Arc::clone(&anchor),
            path: path.clone(),
            skip: Vec::new(),
            device_above: anchor.stat().dev,
            snapshot: None,
        });
        lister.want(wanted);
        for left in [1, 0] {
            let path = &paths[1 - left];
            assert!(lister.take(path).is_none());
            assert_eq!(lister.shared.state.lock().wanted.len(), left);
        }
    }
}
