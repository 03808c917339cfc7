//! Stores the open handles: snapshots of directories, files of the tree, and bytes of the overlay.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use resemble_callers::accounts::Account;

use super::attr::Refusal;
use super::held::Held;
use super::node::Node;
use super::shares::Share;

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDir {
    pub(crate) node: Arc<Node>,
    pub(crate) ino: u64,
    pub(crate) snapshot: Mutex<Snapshot>,
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The entries, encoded by [`super::listing`].
    pub(crate) entries: Held,
    /// True if entries were read from the handle. Reading from the start is then a rewind, which
    /// takes a new snapshot.
    pub(crate) read: bool,
    /// The position of the next entry: its index among the entries, and its byte offset.
    pub(crate) at: (u64, u64),
}

/// An open directory or file.
#[derive(Debug)]
pub(crate) enum Handle {
    Dir(OpenDir),
    File {
        ino: u64,
        file: File,
    },
    /// A text of the overlay, or a member of an archive. All its bytes were made when it was
    /// opened.
    Text(Held),
}

/// All open handles, by their numbers.
#[derive(Debug)]
pub(crate) struct Handles {
    open: Mutex<Open>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    all: HashMap<u64, (Arc<Handle>, [Share; 2])>,
    /// The accounts that have files of the tree open, by inode number and handle.
    files: BTreeMap<(u64, u64), Account>,
}

impl Handles {
    pub(crate) fn new() -> Self {
        Self {
            open: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// Adds a handle that an account has opened, and returns its number. `place` has the amounts
    /// that the handle takes from the limits.
    pub(crate) fn add(&self, account: Account, place: [Share; 2], handle: Handle) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        if let Handle::File { ino, .. } = handle {
            open.files.insert((ino, number), account);
        }
        open.all.insert(number, (Arc::new(handle), place));
        number
    }

    pub(crate) fn get(&self, number: u64) -> Result<Arc<Handle>, Refusal> {
        let open = self.open.lock();
        let found = open.all.get(&number);
        let handle = found.map(|(handle, _)| Arc::clone(handle));
        handle.ok_or(Refusal::BadHandle)
    }

    pub(crate) fn remove(&self, number: u64) -> Option<Arc<Handle>> {
        let mut open = self.open.lock();
        let (handle, place) = open.all.remove(&number)?;
        if let Handle::File { ino, .. } = handle.as_ref() {
            open.files.remove(&(*ino, number));
        }
        drop(open);
        drop(place);
        Some(handle) // the file is closed when the lock is gone
    }

    /// Returns an open file of this inode number, if there is one. If `account` is given, that
    /// account must have opened the file. An open file can answer `fstat` when the file's path is
    /// gone.
    pub(crate) fn open_file(&self, ino: u64, account: Option<Account>) -> Option<Arc<Handle>> {
        let open = self.open.lock();
        let mut of_it = open.files.range((ino, 0)..=(ino, u64::MAX));
        let ((_, number), _) = of_it.find(|(_, owner)| account.is_none_or(|own| own == **owner))?;
        open.all.get(number).map(|(handle, _)| Arc::clone(handle))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.lock().all.len()
    }
}
