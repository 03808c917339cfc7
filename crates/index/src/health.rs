//! Records the damage of an index and reports it to the owner of the index.
//!
//! Any reader may be the first to find damage: a question on some thread, the overlay, the writer.
//! That reader gets an error, and every later one as well. But only the owner of the index can set
//! the file aside and build another. So all readers record damage here, and the owner is notified.

use std::fmt;
use std::io;
use std::sync::OnceLock;

use parking_lot::Mutex;

/// EIO, which is 5 on every Linux.
const FAILED: i32 = 5;

/// Called once, when damage is found.
type Listener = Box<dyn FnOnce(&str) + Send>;

/// The health of one open index, shared with all its snapshots.
#[derive(Default)]
pub(crate) struct Health {
    damage: OnceLock<String>,
    listener: Mutex<Option<Listener>>,
}

impl Health {
    /// Returns the damage that was found first, if any was.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// Records that the file was found to be damaged.
    pub(crate) fn found(&self, reason: &str) {
        if self.damage.set(reason.to_owned()).is_ok()
            && let Some(listener) = self.listener.lock().take()
        {
            listener(reason);
        }
    }

    /// Converts the error of a failed read. It is damage if the bytes are missing, differ from
    /// those written, or are on a failed part of the disk.
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

    /// Sets the listener; calls it at once if the file is damaged already.
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
