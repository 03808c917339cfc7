//! A client that blocks until the daemon answers.
//!
//! A [`Client`] is connected to the socket of a daemon that has answered. [`Client::connect`] reads
//! the hello line and checks the protocol number, so it fails if no daemon is there. Each request
//! has a connection of its own (see [`crate::message`]). The first request uses the connection on
//! which the hello line arrived.
//!
//! Three waits have a time limit: for the connection, for the hello line, and for short requests.
//! Two kinds of requests have no time limit: those that take long to compute (`pairs`), and those
//! that wait for events (`sync` without a time-out, `alerts` with `follow`). If the daemon dies,
//! its connections close, which ends these requests. A request can ask for reports of progress. A
//! daemon that does not know such reports sends only the answer.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use resemble_core::Params;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::frame::{self, FrameError, LineReader};
use crate::message::{
    AckRow, AlertRow, AlertRules, Answer, Asked, BadParams, CoverRow, DumpForm, DumpRow, Failure,
    FailureKind, Header, Hello, MountRow, MountView, Reply, Request, RootRules, SoftError,
    StatusAnswer, StepProgress, TemplateRow, WatchRow, Whole, reason,
};
use crate::path::PathText;
use crate::question::Question;
use crate::remote::{Connection, Host, is_remote};

/// The time limits of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit for connecting, and for the hello line.
    pub connect: Duration,
    /// The limit for each line of the answer to a short request.
    pub answer: Duration,
}

impl Default for Timeouts {
    /// Allows five seconds for connecting, and two minutes for each line of an answer.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(120),
        }
    }
}

/// The reason why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No daemon answers at the socket.
    #[error("no daemon answers at {}: {reason}", socket.display())]
    NoDaemon {
        /// The path of the socket.
        socket: PathBuf,
        /// The error of the connection.
        reason: String,
    },
    /// The daemon speaks another version of the protocol.
    #[error(
        "the daemon at {} speaks protocol {theirs} (version {version}), this command protocol {}; \
         use the two programs of one version",
        socket.display(), crate::PROTOCOL
    )]
    Protocol {
        /// The path of the socket.
        socket: PathBuf,
        /// The protocol number of the daemon.
        theirs: u32,
        /// The version of the daemon.
        version: String,
    },
    /// The daemon refused to answer, for this reason.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The daemon did not answer in time.
    #[error("the daemon did not answer within {0:?}")]
    Slow(Duration),
    /// The connection ended before the answer was complete.
    #[error("the daemon went away in the middle of its answer")]
    CutOff,
    /// The request is longer than the maximum length of a line.
    #[error("the question is too large for the daemon ({limit} bytes); ask with --local")]
    TooLarge {
        /// The maximum length of a line in bytes.
        limit: usize,
    },
    /// A line of the answer is malformed.
    #[error("cannot understand the daemon: {0}")]
    Frame(FrameError),
}

impl ClientError {
    /// Returns the kind of failure if the daemon refused the request.
    pub const fn failure(&self) -> Option<FailureKind> {
        match self {
            Self::Failed(failure) => Some(failure.kind),
            _ => None,
        }
    }

    fn of(error: FrameError, limit: Option<Duration>) -> Self {
        match error {
            FrameError::Truncated => Self::CutOff,
            FrameError::Io(error) => match (error.kind(), limit) {
                (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, Some(limit)) => {
                    Self::Slow(limit)
                }
                (io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe, _) => Self::CutOff,
                _ => Self::Frame(FrameError::Io(error)),
            },
            other => Self::Frame(other),
        }
    }
}

/// A function that receives the progress of the daemon's work.
pub type Hear<'a> = &'a mut dyn FnMut(StepProgress);

/// A connection to a daemon that has answered.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    timeouts: Timeouts,
    hello: Hello,
    /// The connection on which the hello line arrived, until the first request uses it.
    ready: RefCell<Option<LineReader<Connection>>>,
}

impl Client {
    /// Connects and reads the hello line. If `socket` is `ssh://HOST`, connects to the daemon of
    /// that machine: see [`crate::remote`].
    ///
    /// # Errors
    ///
    /// Fails with [`ClientError::NoDaemon`] if there is no socket, if no process listens there, or
    /// if no hello line arrives. Fails with [`ClientError::Failed`] if the daemon refuses, for
    /// example because it belongs to another user. Fails with [`ClientError::Protocol`] if the
    /// daemon has another version of the protocol.
    pub fn connect(socket: &Path, timeouts: Timeouts) -> Result<Self, ClientError> {
        let (ready, hello) = greet(socket, timeouts)?;
        Ok(Self {
            socket: socket.to_owned(),
            timeouts,
            hello,
            ready: RefCell::new(Some(ready)),
        })
    }

    /// Returns whether the daemon runs on another machine. A path then names another file than it
    /// does here.
    pub fn is_remote(&self) -> bool {
        is_remote(&self.socket)
    }

    /// Returns the hello line of the daemon.
    pub const fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Returns the parameters of the daemon's index. Bytes that are sent to the daemon must be
    /// digested with these parameters.
    pub fn params(&self) -> Result<Params, BadParams> {
        Params::try_from(&self.hello.params)
    }

    /// Asks a question without a time limit. `hear` receives the progress of the daemon's work.
    pub fn ask<Q: Question>(
        &self,
        question: Q,
        hear: Hear<'_>,
    ) -> Result<Whole<Q::Body>, ClientError> {
        let answer = self
            .stream_heard(&question.into_request(), None, Some(hear))?
            .collect_answer()?;
        Ok(Whole::from_answer(answer))
    }

    /// Lists the templates.
    pub fn templates_list(&self) -> Result<Vec<TemplateRow>, ClientError> {
        self.short(&Request::TemplatesList)
            .map(|answer| answer.rows)
    }

    /// Unmarks the template with this id or name, and returns its row.
    pub fn templates_unmark(&self, which: String) -> Result<TemplateRow, ClientError> {
        self.one(&Request::TemplatesUnmark { which })
    }

    /// Returns the state of the daemon.
    pub fn status(&self) -> Result<StatusAnswer, ClientError> {
        self.one(&Request::Status)
    }

    /// Waits until the index has every change that was made before the call. `hear` receives the
    /// progress of the daemon's work.
    ///
    /// # Errors
    ///
    /// Fails with [`ClientError::Failed`] and [`FailureKind::Timeout`] if the wait takes longer
    /// than `timeout`.
    pub fn sync(&self, timeout: Option<Duration>, hear: Hear<'_>) -> Result<(), ClientError> {
        let timeout_ms = timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
        // The daemon enforces the time limit. The client has a longer limit, which only detects a
        // daemon that hangs.
        let limit = timeout.and_then(|t| t.checked_add(self.timeouts.connect));
        self.stream_heard::<()>(&Request::Sync { timeout_ms }, limit, Some(hear))?
            .collect_answer()
            .map(drop)
    }

    /// Returns a dump of these roots in the canonical form. An empty list means all roots.
    pub fn dump(&self, roots: Vec<PathText>) -> Result<Rows<DumpRow>, ClientError> {
        self.stream(&Request::Dump { roots }, None)
    }

    /// Returns a dump of these roots in this form. An empty list means all roots.
    pub fn dump_as(
        &self,
        roots: Vec<PathText>,
        form: DumpForm,
    ) -> Result<Rows<DumpRow>, ClientError> {
        if form == DumpForm::Canonical {
            return self.dump(roots);
        }
        self.stream(&Request::DumpAs { roots, form }, None)
    }

    /// Makes the daemon watch a folder.
    pub fn watch_add(
        &self,
        path: PathText,
        rules: RootRules,
        alerts: AlertRules,
    ) -> Result<WatchRow, ClientError> {
        self.one(&Request::WatchAdd {
            path,
            rules,
            alerts,
        })
    }

    /// Imports the catalogue in the file `path` under this label.
    pub fn import(&self, path: PathText, label: String) -> Result<WatchRow, ClientError> {
        self.one(&Request::Import { path, label })
    }

    /// Stops watching a root, or removes a catalogue. Deletes the files of this root or catalogue
    /// from the index.
    pub fn watch_remove(&self, path: PathText) -> Result<(), ClientError> {
        self.order(&Request::WatchRemove { path })
    }

    /// Lists the roots and the catalogues.
    pub fn watch_list(&self) -> Result<Vec<WatchRow>, ClientError> {
        self.short(&Request::WatchList).map(|answer| answer.rows)
    }

    /// Returns the stored alerts, oldest first.
    pub fn alerts(&self) -> Result<Answer<AlertRow>, ClientError> {
        self.short(&Request::Alerts {
            follow: false,
            after: 0,
        })
    }

    /// Returns the alerts after this number. Rows of new alerts follow until the connection closes.
    pub fn follow_alerts(&self, after: u64) -> Result<Rows<AlertRow>, ClientError> {
        let follow = true;
        self.stream(&Request::Alerts { follow, after }, None)
    }

    /// Marks a pair of files as seen. If only one file is given, marks its pairs with all files
    /// that it resembles. Returns the new marks.
    pub fn ack(
        &self,
        a: PathText,
        b: Option<PathText>,
        group: bool,
    ) -> Result<Vec<AckRow>, ClientError> {
        self.short(&Request::Ack { a, b, group })
            .map(|answer| answer.rows)
    }

    /// Lists the marks that [`Self::ack`] made.
    pub fn ack_list(&self) -> Result<Vec<AckRow>, ClientError> {
        self.short(&Request::AckList).map(|answer| answer.rows)
    }

    /// Removes marks that [`Self::ack`] made, and returns them.
    pub fn ack_undo(&self, a: PathText, b: Option<PathText>) -> Result<Vec<AckRow>, ClientError> {
        self.short(&Request::AckUndo { a, b })
            .map(|answer| answer.rows)
    }

    /// Mounts the overlay and returns it, with a warning if the mount point may cause trouble.
    pub fn mount(
        &self,
        path: Option<PathText>,
        view: Option<MountView>,
    ) -> Result<MountRow, ClientError> {
        self.one(&Request::Mount { path, view })
    }

    /// Unmounts the overlay. Returns the state that the overlay had before.
    pub fn unmount(&self, path: Option<PathText>) -> Result<MountRow, ClientError> {
        self.one(&Request::Unmount { path })
    }

    /// Returns whether the daemon watches every one of these paths. If `whole` is true, the daemon
    /// must also watch everything below these paths.
    pub fn covers_all(&self, paths: Vec<PathText>, whole: bool) -> Result<bool, ClientError> {
        let asked = paths.len();
        let rows = self
            .short::<CoverRow>(&Request::Covers { paths, whole })?
            .rows;
        Ok(rows.len() == asked && rows.iter().all(|row| row.covered))
    }

    fn short<R: DeserializeOwned>(&self, request: &Request) -> Result<Answer<R>, ClientError> {
        self.stream(request, Some(self.timeouts.answer))?
            .collect_answer()
    }

    fn one<R: DeserializeOwned>(&self, request: &Request) -> Result<R, ClientError> {
        self.short(request)?.rows.pop().ok_or(ClientError::CutOff)
    }

    fn order(&self, request: &Request) -> Result<(), ClientError> {
        self.short::<serde::de::IgnoredAny>(request).map(drop)
    }

    /// Sends a request, reads the header of its answer, and returns the rows. `limit` is the time
    /// limit for each line.
    pub fn stream<R: DeserializeOwned>(
        &self,
        request: &Request,
        limit: Option<Duration>,
    ) -> Result<Rows<R>, ClientError> {
        self.stream_heard(request, limit, None)
    }

    /// Does the same as [`Self::stream`], but passes the progress to `hear` until the header
    /// arrives.
    fn stream_heard<R: DeserializeOwned>(
        &self,
        request: &Request,
        limit: Option<Duration>,
        hear: Option<Hear<'_>>,
    ) -> Result<Rows<R>, ClientError> {
        let asked = Asked {
            request,
            progress: hear.is_some(),
        };
        let line = match frame::encode(&asked, frame::MAX_REQUEST) {
            Ok(line) => line,
            Err(FrameError::TooLong { limit }) => return Err(ClientError::TooLarge { limit }),
            Err(error) => return Err(ClientError::Frame(error)),
        };
        // The daemon closes an idle connection after a while. In this case, a new connection is
        // made.
        let ready = self.ready.borrow_mut().take();
        let lines = match ready.filter(|lines| is_quiet(&lines.get_ref().stream)) {
            Some(lines) => lines,
            None => greet(&self.socket, self.timeouts)?.0,
        };
        let mut stream = &lines.get_ref().stream;
        let io = |error: io::Error| ClientError::of(error.into(), limit);
        stream.set_read_timeout(limit).map_err(io)?;
        match stream.write_all(&line) {
            Ok(()) => {}
            // The daemon may have refused the request before it had read all of it. Its answer
            // gives the reason.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => return Err(io(error)),
        }
        Rows::start(lines, limit, hear.unwrap_or(&mut |_| ()))
    }
}

/// The first line that the daemon sends.
#[derive(Deserialize)]
#[serde(untagged)]
enum Greeting {
    Hello(Hello),
    /// The daemon refuses every request. The line has the form of [`Reply::Failed`].
    Refused {
        failed: Failure,
    },
}

/// Returns whether the daemon is still connected, and has sent nothing since its first line.
fn is_quiet(stream: &UnixStream) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(stream, PollFlags::IN)];
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready == 0)
}

/// Connects and reads the hello line. Returns the connection and the line.
fn greet(
    socket: &Path,
    timeouts: Timeouts,
) -> Result<(LineReader<Connection>, Hello), ClientError> {
    let none = |reason: &dyn fmt::Display| ClientError::NoDaemon {
        socket: socket.to_owned(),
        reason: reason.to_string(),
    };
    let connection = match Host::of(socket) {
        // This connection has no time limit, because the user may have to type a password for ssh.
        Some(host) => host
            .connect()
            .map_err(|error| none(&format!("cannot run ssh: {}", reason(&error))))?,
        None => connect(socket, timeouts.connect)
            .map_err(|error| none(&reason(&error)))?
            .into(),
    };
    let mut lines = LineReader::new(connection, frame::MAX_ANSWER);
    match lines.next_value::<Greeting>() {
        Ok(Some(Greeting::Hello(hello))) if hello.resemble == crate::PROTOCOL => Ok((lines, hello)),
        Ok(Some(Greeting::Refused { failed })) => Err(failed.into()),
        Ok(Some(Greeting::Hello(hello))) => Err(ClientError::Protocol {
            socket: socket.to_owned(),
            theirs: hello.resemble,
            version: hello.version,
        }),
        Ok(None) => Err(match lines.get_mut().end_of_ssh() {
            Some(why) => none(&why),
            None => none(&"it closed the connection without a word"),
        }),
        Err(error) => Err(match ClientError::of(error, Some(timeouts.connect)) {
            ClientError::Slow(_) => none(&"it accepts connections but says nothing"),
            other => none(&other),
        }),
    }
}

/// Calls `connect(2)` with a time limit. Without the limit, a daemon that hangs and has a full
/// backlog would block the call for ever.
fn connect(socket: &Path, limit: Duration) -> io::Result<UnixStream> {
    let fd = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    for direction in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
        sockopt::set_socket_timeout(&fd, direction, Some(limit))?;
    }
    rustix::net::connect(&fd, &SocketAddrUnix::new(socket)?)?;
    Ok(UnixStream::from(fd))
}

/// The rows of an answer as they arrive.
///
/// The iterator ends after the last row. If the daemon fails or the answer is truncated, the last
/// item is an error. Soft errors are collected; [`Self::errors`] returns them.
#[derive(Debug)]
pub struct Rows<R> {
    lines: LineReader<Connection>,
    limit: Option<Duration>,
    header: Header,
    errors: Vec<SoftError>,
    received: u64,
    done: bool,
    row: PhantomData<fn() -> R>,
}

impl<R: DeserializeOwned> Rows<R> {
    fn start(
        mut lines: LineReader<Connection>,
        limit: Option<Duration>,
        hear: Hear<'_>,
    ) -> Result<Self, ClientError> {
        let header = loop {
            match lines.next_value::<Reply<R>>() {
                Ok(Some(Reply::Progress(progress))) => hear(progress),
                Ok(Some(Reply::Header(header))) => break header,
                Ok(Some(Reply::Failed(failure))) => return Err(failure.into()),
                Ok(Some(_) | None) => return Err(ClientError::CutOff),
                Err(error) => return Err(ClientError::of(error, limit)),
            }
        };
        Ok(Self {
            lines,
            limit,
            header,
            errors: Vec::new(),
            received: 0,
            done: false,
            row: PhantomData,
        })
    }

    /// Returns the header, which applies to all rows.
    pub fn header(&self) -> Header {
        self.header.clone()
    }

    /// Returns the soft errors so far. They are complete when the iterator has ended.
    pub fn errors(&self) -> &[SoftError] {
        &self.errors
    }

    /// Reads all rows, and returns them with the header and the soft errors.
    pub fn collect_answer(mut self) -> Result<Answer<R>, ClientError> {
        let rows = self.by_ref().collect::<Result<_, _>>()?;
        Ok(Answer {
            header: self.header,
            rows,
            errors: self.errors,
        })
    }

    fn advance(&mut self) -> Result<Option<R>, ClientError> {
        loop {
            let reply = self.lines.next_value::<Reply<R>>();
            match reply.map_err(|error| ClientError::of(error, self.limit))? {
                Some(Reply::Row(row)) => {
                    self.received += 1;
                    return Ok(Some(row));
                }
                Some(Reply::Error(error)) => self.errors.push(error),
                Some(Reply::End(end)) if end.rows == self.received => return Ok(None),
                Some(Reply::Failed(failure)) => return Err(failure.into()),
                Some(Reply::Progress(_) | Reply::Header(_) | Reply::End(_)) | None => {
                    return Err(ClientError::CutOff);
                }
            }
        }
    }
}

impl<R: DeserializeOwned> Iterator for Rows<R> {
    type Item = Result<R, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.advance().transpose();
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
