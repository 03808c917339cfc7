//! Serves the socket of a helper: a process that does one task for the daemon. No process except
//! the daemon can reach the socket.
//!
//! Each connection has a thread. If accepting a connection fails for lack of descriptors or memory,
//! the helper tries again. If it ended instead, the daemon would have no helper until its next
//! restart.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The pause between two attempts to accept a connection while the system lacks resources.
const PAUSE: Duration = Duration::from_millis(50);

/// Passes each connection at a listening socket to `attend`. While `most` connections are open, new
/// connections are passed to `refuse`. Ends the process when the other end of `holder` is closed.
/// Otherwise this function returns only after an error that is not transient.
///
/// # Errors
///
/// Fails if no more connections can be accepted.
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
            // The other end of `holder` never sends anything, so any result of the read means that
            // it is closed.
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

/// Returns whether accepting failed only because the system lacks resources at the moment.
fn passes(error: &io::Error) -> bool {
    let scarce = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS];
    error
        .raw_os_error()
        .is_some_and(|errno| scarce.contains(&errno))
}
