//! Starts workers for a process that must not start any itself.
//!
//! A process that may read every file must not be able to execute anything. So another process, the
//! *starter*, starts its workers. The starter has no rights, opens no path, and reads only orders.
//! Each connection to the starter starts one worker:
//!
//! ```text
//! the client                                   the starter
//!   ── order; with it: the file, two pipes ──►   starts a worker with these three
//!   ◄────────── how it ended, 5 bytes ────────   when that has ended, and all that it started
//! ```
//!
//! 1. **Nothing that is received over a connection is executed.** The starter parses an order and
//!    writes it again as an argument for its own program. It refuses converters, because they are
//!    commands of the user.
//! 2. **A worker does not outlive its client**: if the connection closes, the starter kills the
//!    worker.
//! 3. The worker writes directly to the client, not through the starter. So the starter never has a
//!    byte of a hostile file in its memory.
//! 4. The mode of the socket decides who may connect.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::worker::{Order, Task};

/// The maximum number of bytes of an order.
const MOST_BYTES: u32 = 64 << 10;

/// The time within which a client must send its order.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of descriptors that are sent with an order. They are the file, and the write ends of
/// two pipes for the worker's output.
const DESCRIPTORS: usize = 3;

/// The end of a worker, as the starter reports it.
#[derive(Debug)]
pub(crate) enum WorkerEnd {
    With(ExitStatus),
    /// The worker could not be started.
    NotBegun(io::Error),
}

/// Makes the command that runs a worker. Its arguments are the order and `more`.
pub(crate) fn command(program: &[PathBuf], order: &Order, more: &[String]) -> io::Result<Command> {
    let (program, first) = program
        .split_first()
        .ok_or_else(|| io::Error::other("no program to run"))?;
    let mut command = Command::new(program);
    command
        .args(first)
        .arg(order.to_arg())
        .args(more)
        .process_group(0);
    Ok(command)
}

// ---- the client --------------------------------------------------------------------------------

/// Asks the starter that listens at a socket to start a worker.
pub(crate) fn ask(
    socket: &Path,
    order: &Order,
    file: Option<OwnedFd>,
    output: [OwnedFd; 2],
) -> io::Result<UnixStream> {
    let mut connection = UnixStream::connect(socket)?;
    let order = order.to_arg();
    let length = u32::try_from(order.len()).map_err(io::Error::other)?;
    let file = match file {
        Some(file) => file,
        None => std::fs::File::open("/dev/null")?.into(),
    };
    // These descriptors are closed when this function returns, so that only the worker has them.
    // When the worker has ended, its pipes then end as well.
    let [out, err] = output;
    let given = [file.as_fd(), out.as_fd(), err.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&given)) {
        return Err(io::Error::other("no room for descriptors"));
    }
    let length = length.to_le_bytes();
    let flags = SendFlags::NOSIGNAL;
    rustix::net::sendmsg(&connection, &[IoSlice::new(&length)], &mut control, flags)?;
    connection.write_all(order.as_bytes())?;
    Ok(connection)
}

/// Reads the report of the starter about the end of the worker.
pub(crate) fn ended(connection: &mut UnixStream) -> io::Result<WorkerEnd> {
    let mut said = [0; 5];
    connection
        .read_exact(&mut said)
        .map_err(|_| io::Error::other("the starter closed the connection"))?;
    let [kind, number @ ..] = said;
    let number = i32::from_le_bytes(number);
    Ok(match kind {
        0 => WorkerEnd::With(ExitStatus::from_raw(number)),
        _ => WorkerEnd::NotBegun(io::Error::from_raw_os_error(number)),
    })
}

// ---- the starter -------------------------------------------------------------------------------

/// The maximum number of workers that a starter runs at one time. The daemon has at most this
/// number of threads that read documents.
pub const MOST_WORKERS: usize = 64;

/// Refuses a connection because all workers are in use. The client can try again later.
pub fn refuse(connection: UnixStream) {
    // A failure does not matter, because the client may have closed the connection.
    drop(said(connection, 1, libc::EAGAIN));
}

/// Starts the worker that a client asks for, and waits for its end. `program` is the command that
/// runs [`crate::worker`]: a program and its arguments. The calling thread must not end before the
/// worker does, because the kernel would then kill the worker.
///
/// # Errors
///
/// Fails if the order or the connection is invalid. The client then gets no report.
pub fn attend(mut connection: UnixStream, program: &[PathBuf]) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    let (order, [file, out, err]) = asked(&mut connection)?;
    let order = Order {
        parent: std::process::id(),
        ..order
    };
    let started = command(program, &order, &[])?
        .env_clear()
        .stdin(Stdio::from(file))
        .stdout(Stdio::from(out))
        .stderr(Stdio::from(err))
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return said(connection, 1, error.raw_os_error().unwrap_or(libc::EIO)),
    };
    let group = Pid::from_child(&child);
    let is_over = wait_for(group, connection.as_fd());
    // Kills the children of the worker as well. The worker has not been reaped yet, so no other
    // process can have its number.
    let _gone = rustix::process::kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    if is_over? {
        return said(connection, 0, status.into_raw());
    }
    Ok(())
}

/// Waits until a worker has ended. Returns false if the client closed the connection first.
fn wait_for(worker: Pid, asker: BorrowedFd<'_>) -> io::Result<bool> {
    let pidfd = rustix::process::pidfd_open(worker, PidfdFlags::empty())?;
    loop {
        let mut polled = [
            PollFd::new(&pidfd, PollFlags::IN),
            PollFd::from_borrowed_fd(asker, PollFlags::IN),
        ];
        match rustix::event::poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [of_worker, of_asker] = polled.map(|one| !one.revents().is_empty());
        if of_worker || of_asker {
            return Ok(of_worker);
        }
    }
}

fn said(mut connection: UnixStream, kind: u8, number: i32) -> io::Result<()> {
    let [a, b, c, d] = number.to_le_bytes();
    connection.write_all(&[kind, a, b, c, d])
}

/// Reads an order and the descriptors that were sent with it.
fn asked(connection: &mut UnixStream) -> io::Result<(Order, [OwnedFd; DESCRIPTORS])> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut data = [IoSliceMut::new(&mut length)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(&*connection, &mut data, &mut control, flags) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut given: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            given.extend(descriptors);
        }
    }
    let given =
        <[OwnedFd; DESCRIPTORS]>::try_from(given).map_err(|_| wrong("three descriptors"))?;
    connection.read_exact(&mut length[received.bytes..])?;
    let length = u32::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(wrong("an order"));
    }
    let mut order = vec![0; length as usize];
    connection.read_exact(&mut order)?;
    let order = String::from_utf8(order).map_err(|_| wrong("text"))?;
    let order = Order::from_arg(&order).ok_or_else(|| wrong("an order"))?;
    if order.task == Task::Convert {
        return Err(wrong("other commands are refused"));
    }
    Ok((order, given))
}
