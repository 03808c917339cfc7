//! Whether an index can be relied on, for whoever keeps it.
//!
//! Any reader may be the first to meet damage: a question on some thread, the overlay, the writer.
//! It gets an error, and so does everybody after it; but only the keeper of the index can set the
//! file aside and build another. So the damage is noted here, below all of them, and the keeper is
//! told.

use std::fmt;
use std::io;
use std::sync::OnceLock;

use parking_lot::Mutex;

/// EIO, on every Linux.
const FAILED: i32 = 5;

/// Called once, when damage is met.
type Listener = Box<dyn FnOnce(&str) + Send>;

/// Of one open index and all its snapshots.
#[derive(Default)]
pub(crate) struct Health {
    damage: OnceLock<String>,
    listener: Mutex<Option<Listener>>,
}

impl Health {
    /// What was found first, if anything was.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// The file was found to be damaged.
    pub(crate) fn found(&self, reason: &str) {
        if self.damage.set(reason.to_owned()).is_ok()
            && let Some(listener) = self.listener.lock().take()
        {
            listener(reason);
        }
    }

    /// A part of the file could not be read. If it is not there, is not what was written, or is on
    /// a part of the disk that has failed, that is damage.
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

    /// Whom to tell: at once, if it is damaged already.
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
