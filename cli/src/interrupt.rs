//! Handles the signals that end the process: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! By default, each of them ends the process at once. There are three exceptions:
//!
//! 1. Temporary files and folders ([`Leftover`]) are removed first.
//! 2. While progress is drawn, its line must be wiped before Ctrl-C ends the process.
//! 3. While a pager runs, Ctrl-C is meant for the pager.
//!
//! A signal handler may not remove files, so it only wakes a thread. Handlers cannot be removed.
//! They are installed when they are first needed, and serve all cases from then on.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

/// True if Ctrl-C only sets [`PRESSED`].
static HELD: AtomicBool = AtomicBool::new(false);
/// True if Ctrl-C was pressed.
static PRESSED: AtomicBool = AtomicBool::new(false);
/// What is to be removed before the process ends.
static LEFTOVERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Installs the handlers. If the system refuses, the signals still end the process at once.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A signal that is ignored stays ignored. `nohup` and `&` in a script depend on that.
            if (ignored >> (signal - 1)) & 1 == 0 {
                listen(signal).unwrap_or_default();
            }
        }
    });
}

/// Returns the signals that this process ignores, as a mask whose lowest bit is signal 1.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or_default()
}

fn listen(signal: i32) -> io::Result<()> {
    let (mut woken, wake) = UnixStream::pair()?;
    // If the handler is not installed, `wake` is dropped and the thread ends.
    thread::Builder::new().spawn(move || {
        while woken.read_exact(&mut [0]).is_ok() {
            if signal == SIGINT {
                PRESSED.store(true, Ordering::SeqCst);
                if HELD.load(Ordering::SeqCst) {
                    continue;
                }
            }
            end(signal);
        }
    })?;
    low_level::pipe::register(signal, wake).map(drop)
}

/// Removes everything temporary, and then ends the process by this signal.
fn end(signal: i32) {
    // The lock is held until the process has ended, so nothing temporary is created meanwhile.
    let leftovers = LEFTOVERS.lock();
    leftovers.iter().for_each(|path| remove(path));
    // This does not fail for a valid signal. After a failure, the process would just go on.
    low_level::emulate_default_handler(signal).unwrap_or_default();
}

/// Makes Ctrl-C only set a flag, until [`release`] is called.
pub(crate) fn hold() {
    install();
    HELD.store(true, Ordering::SeqCst);
}

/// Makes Ctrl-C end the process again. If Ctrl-C was pressed since [`hold`], the process ends now.
pub(crate) fn release() {
    HELD.store(false, Ordering::SeqCst);
    if was_pressed() {
        end(SIGINT);
    }
}

/// Returns whether Ctrl-C was pressed after [`hold`] was called.
pub(crate) fn was_pressed() -> bool {
    PRESSED.load(Ordering::SeqCst)
}

/// Does short work, such as creating a file in a temporary folder. A signal during that time ends
/// the process only afterwards, so the file is removed with its folder.
pub(crate) fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _leftovers = LEFTOVERS.lock();
    work()
}

/// A temporary file or folder. Unless it was renamed, it is removed when this value is dropped, or
/// before a signal ends the process.
#[derive(Debug)]
pub(crate) struct Leftover(PathBuf);

impl Leftover {
    /// Calls `create`, which creates the file or folder and returns its path with another value.
    pub(crate) fn created<T>(
        create: impl FnOnce() -> io::Result<(PathBuf, T)>,
    ) -> io::Result<(Self, T)> {
        install();
        let mut leftovers = LEFTOVERS.lock();
        let (path, other) = create()?;
        leftovers.push(path.clone());
        Ok((Self(path), other))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Renames the file or folder, which is then no longer temporary.
    pub(crate) fn rename(self, to: &Path) -> io::Result<()> {
        let mut leftovers = LEFTOVERS.lock();
        fs::rename(&self.0, to)?;
        leftovers.retain(|path| *path != self.0);
        Ok(())
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let mut leftovers = LEFTOVERS.lock();
        if let Some(at) = leftovers.iter().position(|path| *path == self.0) {
            remove(&leftovers.swap_remove(at));
        }
    }
}

/// Removes a file or a folder. What cannot be removed stays.
fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        fs::remove_dir_all(path).unwrap_or_default();
    }
}
