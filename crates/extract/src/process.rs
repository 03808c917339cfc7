//! A running worker: receives its output and enforces its deadline.
//!
//! The worker is a child of this process, or of a [starter](crate::starter). In both cases, the
//! output of the worker arrives through pipes of this process. A descriptor becomes readable when
//! the worker has ended.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::starter::{self, WorkerEnd};
use crate::worker::Order;
use crate::{Bound, Skipped, Workers};

/// The number of bytes of standard error that are kept as the message.
const MESSAGE: usize = 4 << 10;

/// The way in which a process ended.
pub(crate) enum Outcome {
    /// The process ended by itself.
    Ended(ExitStatus),
    /// The process was killed for this reason.
    Stopped(Skipped),
}

/// Receives each piece of output. Returns how long the process may then write nothing before it is
/// killed.
type Listener<'l> = dyn FnMut(&[u8]) -> Result<Option<Duration>, Skipped> + 'l;

/// The process that is the parent of a worker.
#[derive(Debug)]
enum WorkerParent {
    /// This process is the parent. The descriptor becomes readable when the worker has ended.
    Us(Child, OwnedFd),
    /// A starter is the parent. It reports the end of the worker over this connection, and kills
    /// the worker if the connection closes.
    Starter(UnixStream),
}

/// A worker and its output. Dropping this value kills the worker and all processes that the worker
/// started.
#[derive(Debug)]
pub(crate) struct Process {
    under: WorkerParent,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    is_over: bool,
    message: Vec<u8>,
    text: String,
}

impl Process {
    /// Starts a worker for an order. `file` becomes the standard input of the worker. `command` is
    /// the command that the worker executes. It is empty if the worker reads the file itself.
    pub(crate) fn start(
        workers: &Workers,
        order: &Order,
        command: &[String],
        file: Option<OwnedFd>,
    ) -> Result<Self, Skipped> {
        let pipes = || Ok((io::pipe()?, io::pipe()?));
        let ((stdout, out), (stderr, err)) =
            pipes().map_err(|error: io::Error| Skipped::not_started(&"a pipe", &error))?;
        let under = match workers {
            Workers::OfOurs(program) => {
                let name = program.first().map_or(Path::new(""), |name| name).display();
                let not_run = |error| Skipped::not_started(&name, &error);
                let mut child = starter::command(program, order, command)
                    .map_err(not_run)?
                    .stdin(file.map_or_else(std::process::Stdio::null, Into::into))
                    .stdout(out)
                    .stderr(err)
                    .spawn()
                    .map_err(not_run)?;
                match rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
                    Ok(pidfd) => WorkerParent::Us(child, pidfd),
                    Err(error) => {
                        drop(child.kill());
                        drop(child.wait());
                        return Err(not_run(error.into()));
                    }
                }
            }
            Workers::Of(socket) => {
                let asked = starter::ask(socket, order, file, [out.into(), err.into()]);
                WorkerParent::Starter(
                    asked.map_err(|error| Skipped::not_started(&socket.display(), &error))?,
                )
            }
        };
        Ok(Self {
            under,
            stdout: Some(stdout),
            stderr: Some(stderr),
            is_over: false,
            message: Vec::new(),
            text: String::new(),
        })
    }

    /// Passes standard output of the process to `to`, and then kills the process. Stops when the
    /// process has ended, the deadline has passed, or `to` fails. Also stops when the process
    /// writes nothing for longer than `to` allows.
    pub(crate) fn pump(&mut self, deadline: Instant, to: &mut Listener<'_>) -> Outcome {
        let result = self.pump_all(deadline, to);
        self.kill();
        self.text = String::from_utf8_lossy(&self.message).trim().to_owned();
        let status = match &mut self.under {
            WorkerParent::Us(child, _) => child.wait().map(WorkerEnd::With),
            // The process was stopped for the reason in `result`, so no exit status is needed.
            WorkerParent::Starter(_) if result.is_err() => {
                Ok(WorkerEnd::With(ExitStatus::default()))
            }
            WorkerParent::Starter(connection) => starter::ended(connection),
        };
        self.is_over = true;
        match (result, status) {
            (Err(why), _) => Outcome::Stopped(why),
            (Ok(()), Ok(WorkerEnd::With(status))) => Outcome::Ended(status),
            (Ok(()), Ok(WorkerEnd::NotBegun(error))) => {
                Outcome::Stopped(Skipped::not_started(&"the starter", &error))
            }
            (Ok(()), Err(error)) => Outcome::Stopped(Skipped::NotRun(error.to_string())),
        }
    }

    fn pump_all(&mut self, deadline: Instant, to: &mut Listener<'_>) -> Result<(), Skipped> {
        let late = Skipped::TooMuch(Bound::Time);
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        let mut buffer = vec![0; 64 << 10];
        let (mut has_ended, mut until) = (false, deadline);
        while !has_ended || stdout.is_some() || stderr.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late);
            }
            let timeout = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut polled = Vec::with_capacity(3);
            if !has_ended {
                polled.push(PollFd::from_borrowed_fd(self.has_ended(), PollFlags::IN));
            }
            let out_at = polled.len();
            polled.extend(stdout.as_ref().map(|out| PollFd::new(out, PollFlags::IN)));
            let err_at = polled.len();
            polled.extend(stderr.as_ref().map(|err| PollFd::new(err, PollFlags::IN)));
            match rustix::event::poll(&mut polled, Some(&timeout)) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(Skipped::NotRun(error.to_string())),
            }
            let ready = |at: usize, is: bool| {
                is && polled
                    .get(at)
                    .is_some_and(|polled| !polled.revents().is_empty())
            };
            let out_is_ready = ready(out_at, stdout.is_some());
            let err_is_ready = ready(err_at, stderr.is_some());
            let just_ended = !has_ended && ready(0, true);
            drop(polled);
            if out_is_ready && let Some(pipe) = &mut stdout {
                match pipe.read(&mut buffer) {
                    Ok(0) | Err(_) => stdout = None,
                    Ok(read) => {
                        let patience = to(&buffer[..read])?;
                        until = patience
                            .map_or(deadline, |patience| deadline.min(Instant::now() + patience));
                    }
                }
            }
            if err_is_ready && let Some(pipe) = &mut stderr {
                match pipe.read(&mut buffer) {
                    Ok(0) | Err(_) => stderr = None,
                    Ok(read) => {
                        let room = MESSAGE.saturating_sub(self.message.len()).min(read);
                        self.message.extend_from_slice(&buffer[..room]);
                    }
                }
            }
            if just_ended {
                has_ended = true;
                // Children that are still running would keep the pipes open, so they are killed.
                self.kill();
            }
        }
        Ok(())
    }

    /// Returns the descriptor that is readable when the worker has ended.
    fn has_ended(&self) -> BorrowedFd<'_> {
        match &self.under {
            WorkerParent::Us(_, pidfd) => pidfd.as_fd(),
            WorkerParent::Starter(connection) => connection.as_fd(),
        }
    }

    /// Kills the worker and all processes that the worker started. The caller must do this before
    /// it waits for the worker. After waiting, another process may get the number of the worker. If
    /// a starter started the worker, this function does nothing. The starter kills the processes
    /// when the worker has ended or the connection is closed.
    fn kill(&mut self) {
        if let WorkerParent::Us(child, _) = &self.under
            && !self.is_over
        {
            let _ = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
        }
    }

    /// Returns what the worker wrote to standard error, up to a limit.
    pub(crate) fn message(&self) -> &str {
        &self.text
    }

    /// Returns whether a process was ended because it used too much processor time.
    pub(crate) fn ran_out_of_time(status: ExitStatus) -> bool {
        status.signal() == Some(Signal::XCPU.as_raw())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if let WorkerParent::Us(child, _) = &mut self.under {
            // The worker was killed or has ended, so this does not block.
            drop(child.wait());
        }
    }
}
