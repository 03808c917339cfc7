//! Starts programs that report when they are ready, like services of systemd.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The usual time limit of a wait in a test.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a program and waits until it sends `READY=1` to a notification socket, which this
/// function creates at `address`. Returns `Err` with the exit status if the program ends without
/// sending this. A program that takes longer than [`PATIENCE`] is killed.
pub fn start_ready(command: &mut Command, address: &Path) -> Result<Child, ExitStatus> {
    // A socket of an earlier start may be left at this path.
    drop(fs::remove_file(address));
    let notify = UnixDatagram::bind(address).expect("a notification socket");
    // A program that has ended sends nothing. So waiting for a message times out regularly, and
    // this function checks whether the program still runs.
    notify
        .set_read_timeout(Some(Duration::from_millis(50)))
        .expect("a timeout");
    let mut child = command
        .env("NOTIFY_SOCKET", address)
        .spawn()
        .expect("the program starts");
    let deadline = Instant::now() + PATIENCE;
    let mut message = [0; 4096];
    loop {
        if let Ok(length) = notify.recv(&mut message)
            && message[..length]
                .split(|&byte| byte == b'\n')
                .any(|line| line == b"READY=1")
        {
            return Ok(child);
        }
        if let Some(status) = child.try_wait().expect("the program can be asked for") {
            return Err(status);
        }
        if Instant::now() > deadline {
            child.kill().expect("the program runs");
            return Err(child.wait().expect("the program ends"));
        }
    }
}
