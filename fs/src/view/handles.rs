//! What is open: directory snapshots, files of the tree, our own texts.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::attr::{Kind, Refusal};
use super::node::Node;

/// One entry of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) ino: u64,
    pub(crate) kind: Kind,
    pub(crate) name: OsString,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDir {
    pub(crate) node: Arc<Node>,
    pub(crate) ino: u64,
    pub(crate) snapshot: Mutex<Snapshot>,
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) entries: Arc<[Listed]>,
    /// Whether anything was read from it: if so, reading from the start again is a rewind.
    pub(crate) read: bool,
}

/// One open thing.
#[derive(Debug)]
pub(crate) enum Handle {
    Dir(OpenDir),
    File {
        ino: u64,
        file: File,
    },
    /// The whole text, made when it was opened.
    Text(Vec<u8>),
}

/// All open things by number.
#[derive(Debug)]
pub(crate) struct Handles {
    open: Mutex<Open>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    all: HashMap<u64, Arc<Handle>>,
    /// The files of the tree among them: inode number and handle.
    files: BTreeSet<(u64, u64)>,
}

impl Handles {
    pub(crate) fn new() -> Self {
        Self {
            open: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    pub(crate) fn add(&self, handle: Handle) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        if let Handle::File { ino, .. } = handle {
            open.files.insert((ino, number));
        }
        open.all.insert(number, Arc::new(handle));
        number
    }

    pub(crate) fn get(&self, number: u64) -> Result<Arc<Handle>, Refusal> {
        let open = self.open.lock();
        open.all.get(&number).cloned().ok_or(Refusal::BadHandle)
    }

    pub(crate) fn remove(&self, number: u64) -> Option<Arc<Handle>> {
        let mut open = self.open.lock();
        let removed = open.all.remove(&number)?;
        if let Handle::File { ino, .. } = removed.as_ref() {
            open.files.remove(&(*ino, number));
        }
        Some(removed) // the file is closed when the lock is gone
    }

    /// Some open file of this inode number: it answers `fstat` when its path is gone.
    pub(crate) fn open_file(&self, ino: u64) -> Option<u64> {
        let open = self.open.lock();
        let mut of_it = open.files.range((ino, 0)..=(ino, u64::MAX));
        of_it.next().map(|(_, handle)| *handle)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.lock().all.len()
    }
}
