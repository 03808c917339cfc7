//! What is open: directory snapshots, files of the tree, our own texts.

use std::collections::HashMap;
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
    open: Mutex<HashMap<u64, Arc<Handle>>>,
    next: AtomicU64,
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
        self.open.lock().insert(number, Arc::new(handle));
        number
    }

    pub(crate) fn get(&self, number: u64) -> Result<Arc<Handle>, Refusal> {
        self.open
            .lock()
            .get(&number)
            .cloned()
            .ok_or(Refusal::BadHandle)
    }

    pub(crate) fn remove(&self, number: u64) {
        let removed = self.open.lock().remove(&number);
        drop(removed); // closes the file after the lock is gone
    }

    /// Some open file of this inode number: it answers `fstat` when its path is gone.
    pub(crate) fn open_file(&self, number: u64) -> Option<Arc<Handle>> {
        let open = self.open.lock();
        let of_it = |handle: &&Arc<Handle>| match handle.as_ref() {
            Handle::File { ino, .. } => *ino == number,
            _ => false,
        };
        open.values().find(of_it).cloned()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.lock().len()
    }
}
