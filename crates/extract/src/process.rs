//! A child process whose output is taken as it comes, and which ends in time.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::{Bound, Skipped};

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

/// A child process, with its output. Killed, with all it started, when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// Readable when it has ended.
    pidfd: OwnedFd,
    is_over: bool,
    message: Vec<u8>,
    text: String,
}

impl Process {
    pub(crate) fn start(
        program: &[PathBuf],
        arguments: &[String],
        stdin: Stdio,
    ) -> Result<Self, Skipped> {
        let (program, first) = program
            .split_first()
            .ok_or_else(|| Skipped::NotRun("no program to run".to_owned()))?;
        let not_run = |error| Skipped::not_started(&program.display(), &error);
        let mut child = Command::new(program)
            .args(first)
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(not_run)?;
        match rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self {
                child,
                pidfd,
                is_over: false,
                message: Vec::new(),
                text: String::new(),
            }),
            Err(error) => {
                drop(child.kill());
                drop(child.wait());
                Err(not_run(error.into()))
            }
        }
    }

    /// Hands on its standard output until it ends, the deadline passes or `to` has enough.
    pub(crate) fn pump(&mut self, deadline: Instant, to: &mut Listener<'_>) -> Outcome {
        let result = self.pump_all(deadline, to);
        self.kill();
        self.text = String::from_utf8_lossy(&self.message).trim().to_owned();
        let status = self.child.wait();
        self.is_over = true;
        match (result, status) {
            (Err(why), _) => Outcome::Stopped(why),
            (Ok(()), Ok(status)) => Outcome::Ended(status),
            (Ok(()), Err(error)) => Outcome::Stopped(Skipped::NotRun(error.to_string())),
        }
    }

    fn pump_all(&mut self, deadline: Instant, to: &mut Listener<'_>) -> Result<(), Skipped> {
        let late = Skipped::TooMuch(Bound::Time);
        let (mut stdout, mut stderr) = (self.child.stdout.take(), self.child.stderr.take());
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
                polled.push(PollFd::new(&self.pidfd, PollFlags::IN));
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

    /// Kills it and all it started. Before it is waited for: until then its number is its own.
    fn kill(&mut self) {
        if !self.is_over {
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
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
        // Only what is killed or over is waited for.
        drop(self.child.wait());
    }
}
