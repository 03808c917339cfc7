//! A worker under way: its output is taken as it comes, and it ends in time.
//!
//! It is a child of this process, or one of a [starter](crate::starter). Either way its output
//! comes through pipes of ours, and something becomes readable when it has ended.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::starter::{self, Ended};
use crate::worker::Order;
use crate::{Bound, Skipped, Workers};

/// So much of the standard error is kept, bytes.
const MESSAGE: usize = 4 << 10;

/// How a process came to its end.
pub(crate) enum Outcome {
    /// It ended by itself.
    Ended(ExitStatus),
    /// It was killed, because of this.
    Stopped(Skipped),
}

/// Takes what a process writes; gives how long it may be silent from then on.
type Listener<'l> = dyn FnMut(&[u8]) -> Result<Option<Duration>, Skipped> + 'l;

/// Who started a worker.
#[derive(Debug)]
enum Under {
    /// This process. The descriptor is readable when it has ended.
    Us(Child, OwnedFd),
    /// A starter, which says over this connection how it ended, and ends it if we hang up.
    Starter(UnixStream),
}

/// A worker, with its output. Killed, with all it started, when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    under: Under,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    is_over: bool,
    message: Vec<u8>,
    text: String,
}

impl Process {
    /// Starts one for an order, with the command that it is to become, if it is; `file` is its
    /// standard input.
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
                    Ok(pidfd) => Under::Us(child, pidfd),
                    Err(error) => {
                        drop(child.kill());
                        drop(child.wait());
                        return Err(not_run(error.into()));
                    }
                }
            }
            Workers::Of(socket) => {
                let asked = starter::ask(socket, order, file, [out.into(), err.into()]);
                Under::Starter(
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

    /// Hands on its standard output until it ends, the deadline passes or `to` has enough.
    pub(crate) fn pump(&mut self, deadline: Instant, to: &mut Listener<'_>) -> Outcome {
        let result = self.pump_all(deadline, to);
        self.kill();
        self.text = String::from_utf8_lossy(&self.message).trim().to_owned();
        let status = match &mut self.under {
            Under::Us(child, _) => child.wait().map(Ended::With),
            // Of one that was killed nothing more is asked.
            Under::Starter(_) if result.is_err() => Ok(Ended::With(ExitStatus::default())),
            Under::Starter(connection) => starter::ended(connection),
        };
        self.is_over = true;
        match (result, status) {
            (Err(why), _) => Outcome::Stopped(why),
            (Ok(()), Ok(Ended::With(status))) => Outcome::Ended(status),
            (Ok(()), Ok(Ended::NotBegun(error))) => {
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
                // Whatever it started and left behind keeps the pipes open.
                self.kill();
            }
        }
        Ok(())
    }

    /// What is readable when it has ended.
    fn has_ended(&self) -> BorrowedFd<'_> {
        match &self.under {
            Under::Us(_, pidfd) => pidfd.as_fd(),
            Under::Starter(connection) => connection.as_fd(),
        }
    }

    /// Kills it and all it started. Before it is waited for: until then its number is its own. (A
    /// starter does so when the worker has ended, or we have hung up.)
    fn kill(&mut self) {
        if let Under::Us(child, _) = &self.under
            && !self.is_over
        {
            let _ = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
        }
    }

    /// The beginning of its standard error.
    pub(crate) fn message(&self) -> &str {
        &self.text
    }

    /// Whether the limit of processor time ended it.
    pub(crate) fn ran_out_of_time(status: ExitStatus) -> bool {
        status.signal() == Some(Signal::XCPU.as_raw())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if let Under::Us(child, _) = &mut self.under {
            // Only what is killed or over is waited for.
            drop(child.wait());
        }
    }
}
