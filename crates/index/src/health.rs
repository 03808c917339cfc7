//! Records the damage of an index and reports it to the owner of the index.
//!
//! Any reader may be the first to find damage: a question on some thread, the overlay, or the
//! writer. That reader gets an error, and so does every later reader of the same bytes. But only
//! the owner of the index can rename the damaged file and build a new index. So every reader
//! records damage here, and the owner is notified.

use std::fmt;
use std::io;
use std::sync::OnceLock;

use parking_lot::Mutex;

/// The error number EIO, which is 5 on every Linux.
const FAILED: i32 = 5;

/// A function that is called once, when damage is found.
type Listener = Box<dyn FnOnce(&str) + Send>;

/// The health of one open index, shared with all its snapshots.
#[derive(Default)]
pub(crate) struct Health {
    damage: OnceLock<String>,
    listener: Mutex<Option<Listener>>,
}

impl Health {
    /// Returns the first damage that was found. Returns `None` if there was no damage.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// Records damage of the file. Calls the listener if this is the first damage.
    pub(crate) fn found(&self, reason: &str) {
        if self.damage.set(reason.to_owned()).is_ok()
            && let Some(listener) = self.listener.lock().take()
        {
            listener(reason);
        }
    }

    /// Converts the error of a failed read. Records the error if it shows damage: bytes are
    /// missing, do not match their checksum, or cannot be read from the disk.
    pub(crate) fn not_read(&self, error: io::Error) -> io::Error {
        let is_damage = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
        );
        if !is_damage && error.raw_os_error() != Some(FAILED) {
            return error;
        }
        self.found(&error.to_string());
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    /// Sets the listener. If the file is damaged already, calls the listener at once.
    pub(crate) fn listen(&self, listener: Listener) {
        *self.listener.lock() = Some(listener);
        if let Some(damage) = self.damage.get()
            && let Some(listener) = self.listener.lock().take()
        {
            listener(damage);
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("damage", &self.damage)
            .finish_non_exhaustive()
    }
}
