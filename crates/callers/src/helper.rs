//! The connections of a helper: a process beside the daemon that does one thing for it, at a socket
//! where nobody else may ask.
//!
//! Each connection has a thread. An error that passes (no descriptors, no memory) is waited out: a
//! helper that ended by it would be missing until the daemon is started again.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Between two attempts to take a connection, where the system has no room for it.
const PAUSE: Duration = Duration::from_millis(50);

/// Hands each connection at a listening socket to `attend`, and to `refuse` those beyond `most` at
/// once, until there is an error or `holder` is closed at its other end.
///
/// # Errors
///
/// Why it cannot go on.
pub fn serve_each(
    listener: OwnedFd,
    holder: Option<OwnedFd>,
    most: usize,
    refuse: impl Fn(UnixStream),
    attend: impl Fn(UnixStream) + Send + Sync + 'static,
) -> io::Result<()> {
    let listener = UnixListener::from(listener);
    listener.set_nonblocking(false)?;
    if let Some(holder) = holder {
        std::thread::Builder::new().spawn(move || {
            let mut holder = UnixStream::from(holder);
            // Nobody sends anything; whatever comes is the end.
            let _ended = holder.read(&mut [0]);
            std::process::exit(0);
        })?;
    }
    let attend = Arc::new(attend);
    let connections = Arc::new(AtomicUsize::new(0));
    loop {
        let connection = match listener.accept() {
            Ok((connection, _)) => connection,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if passes(&error) => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(error),
        };
        if connections.fetch_add(1, Ordering::Relaxed) >= most {
            connections.fetch_sub(1, Ordering::Relaxed);
            refuse(connection);
            continue;
        }
        let (here, attend) = (Arc::clone(&connections), Arc::clone(&attend));
        std::thread::Builder::new().spawn(move || {
            attend(connection);
            here.fetch_sub(1, Ordering::Relaxed);
        })?;
    }
}

/// Whether there may be room again later.
fn passes(error: &io::Error) -> bool {
    let scarce = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS];
    error
        .raw_os_error()
        .is_some_and(|errno| scarce.contains(&errno))
}
