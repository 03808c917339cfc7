//! What documents say and archives hold.
//!
//! A document's bytes say little about its text: a docx is a zip of compressed XML. This crate
//! takes a file apart into *parts*: the text of a document, the one thing that a compressed file
//! holds, the members of an archive; and the parts of those.
//!
//! # Who runs what
//!
//! The libraries that read these formats run in a process of their own, one for each file
//! ([`worker`]): without the right to open anything (a filter of system calls without which nothing
//! is read, and Landlock), with bounds on time, memory and output. A crash, a hang or a bomb ends
//! that process; the file is then [`Skipped`] with the reason, and the rest goes on. Only bytes
//! come back. Who may start no process has a [`starter`] do it. A plain text in another encoding,
//! unless it is large, and the dates of pictures and web pages are read here, by code of this
//! crate: nothing hostile can make that fail or slow.

#![forbid(unsafe_code)]

mod budget;
mod charset;
mod convert;
mod format;
mod parent;
mod process;
mod protocol;
mod read;
pub mod starter;
mod worker;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub use format::unpacked_name;
use resemble_core::date::DocumentDate;
use serde::{Deserialize, Serialize};

use protocol::put_message;

/// What a part is to what it was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The text of a document, in UTF-8: it stands for the document.
    Text,
    /// The only thing that a compressed file holds (`a.tar` of `a.tar.gz`): it stands for the file.
    Unpacked,
    /// One of the files that an archive or a mail holds.
    Member,
}

/// What is known of a part before its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub role: Role,
    /// The part that it was found in, by its number (the first part has 0); `None`: the file
    /// itself.
    pub parent: Option<u32>,
    /// Its name there, as the archive has it: any bytes, `/` between folders. Empty for a text.
    pub name: Vec<u8>,
}

/// Takes what a file is taken apart into: for each part `begin`, any number of `bytes`, `end`, one
/// part after another; a part's own parts follow after its end.
pub trait Sink {
    /// A part begins.
    fn begin(&mut self, part: Part);
    /// The next bytes of the part under way.
    fn bytes(&mut self, bytes: &[u8]);
    /// The part under way is complete.
    fn end(&mut self);
    /// The part under way is worth nothing (it broke off, it is too large): forget it. It has had
    /// its number.
    fn drop_part(&mut self);
    /// The file states this date of itself. Between parts; what matters is the last one.
    fn date(&mut self, date: DocumentDate) {
        let _ = date;
    }
}

/// Why a file, or something in it, was not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Skipped {
    /// It needs a password.
    #[error("encrypted")]
    Encrypted,
    /// It breaks the rules of its format; with what the library says.
    #[error("damaged: {0}")]
    Damaged(#[serde(serialize_with = "put_message")] String),
    /// A part of it holds text that could not be read; the rest of it was.
    #[error("{place} could not be read: {reason}")]
    Unread {
        /// Which part: `page 3`.
        #[serde(serialize_with = "put_message")]
        place: String,
        /// Why, with counts.
        #[serde(serialize_with = "put_message")]
        reason: String,
    },
    /// It is in a form that is not read; with what form that is.
    #[error("unsupported: {0}")]
    Unsupported(#[serde(serialize_with = "put_message")] String),
    /// Text that is in it on purpose without being shown, and is left out on purpose.
    #[error("left out on purpose: {0}")]
    LeftOut(#[serde(serialize_with = "put_message")] String),
    /// A bound was reached.
    #[error("{0}")]
    TooMuch(Bound),
    /// The worker died.
    #[error("the reader crashed")]
    Crashed,
    /// The worker, or a converter, could not be run.
    #[error("the reader could not be run: {0}")]
    NotRun(#[serde(serialize_with = "put_message")] String),
    /// The system has no descriptors, processes or memory for it just now: this says nothing about
    /// the file.
    #[error("the reader cannot be run just now: {}", std::io::Error::from_raw_os_error(*.0))]
    NotNow(i32),
}

impl Skipped {
    /// Why a process could not be started.
    pub(crate) fn not_started(what: &dyn fmt::Display, error: &std::io::Error) -> Self {
        const SCARCE: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN];
        match error.raw_os_error().filter(|errno| SCARCE.contains(errno)) {
            Some(errno) => Self::NotNow(errno),
            None => Self::NotRun(format!("{what}: {error}")),
        }
    }

    /// Whether it may go better another time, without a change of the file.
    pub const fn is_of_the_moment(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::NotNow(_))
    }
}

/// The bounds of [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Archives in archives.
    Depth,
    /// Bytes that come out for each that goes in.
    Ratio,
    /// Bytes that come out.
    Bytes,
    /// Parts.
    Parts,
    /// Seconds.
    Time,
    /// Memory.
    Memory,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "nested too deeply",
            Self::Ratio => "expands too much",
            Self::Bytes => "holds too many bytes",
            Self::Parts => "holds too many files",
            Self::Time => "took too long",
            Self::Memory => "needed too much memory",
        })
    }
}

/// What a file may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Archives in archives: 1 is an archive of plain files.
    pub depth: u32,
    /// Bytes out for each byte in, looked at from 1 MiB out on.
    pub ratio: u64,
    /// Bytes out of one file.
    pub bytes: u64,
    /// Parts of one file.
    pub parts: u32,
    /// Time for one file.
    pub time: Duration,
    /// Address space of the worker, bytes.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 4,
            ratio: 200,
            bytes: 1 << 30,
            parts: 10_000,
            time: Duration::from_secs(60),
            memory: 1 << 30,
        }
    }
}

/// What keeps the worker from everything but the file it reads. The limits of resources and the
/// filter of system calls are always there: without them nothing is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    /// The version of Landlock that stands behind them; `None` where the kernel has none.
    pub landlock: Option<u32>,
}

/// A command that turns files of formats without a library into text: `["antiword", "-"]`. No
/// shell; the file is its standard input, and where an argument is `{}` a path to it; its standard
/// output is the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converter {
    /// Endings of names, without the dot, in lower case.
    pub extensions: Vec<String>,
    /// Program and arguments.
    pub command: Vec<String>,
}

/// How a file is to be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(format::FormatReader);

/// Who starts workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workers {
    /// This process, which runs this command: one that calls [`worker`], program and arguments.
    OfOurs(Vec<PathBuf>),
    /// The [`starter`] that answers at this socket. It runs no converters.
    Of(PathBuf),
}

/// Takes files apart, in processes of their own. Can be used by several threads.
#[derive(Clone, Debug)]
pub struct Extractor {
    workers: Workers,
    limits: Limits,
    converters: Vec<Converter>,
}

impl Extractor {
    /// With these workers.
    ///
    /// Of `converters` the first 128 are used; where several claim an ending, the first.
    pub fn new(workers: Workers, limits: Limits, converters: Vec<Converter>) -> Self {
        Self {
            workers,
            limits,
            converters,
        }
    }

    /// Starts a worker that reads nothing, and asks it for its fences.
    ///
    /// # Errors
    ///
    /// Why no file can be taken apart.
    pub fn fences(&self) -> Result<Fences, Skipped> {
        parent::probe(&self.workers, self.limits)
    }

    /// Whether a file with this name and these first bytes (up to [`HEAD`]) can be taken apart, and
    /// as what. `None` for plain text in UTF-8 and everything unknown. Cheap: called for every file
    /// that is read.
    ///
    /// Of the name only its ending counts, and only for converters, for mails and to spare the work
    /// of looking closer: what a file is, its bytes say.
    pub fn format(&self, name: &[u8], head: &[u8]) -> Option<Format> {
        let head = &head[..head.len().min(HEAD)];
        let dated = || read::dated(head).map(Format::read);
        self.with_parts(name, head).or_else(dated)
    }

    /// The format of what has parts.
    fn with_parts(&self, name: &[u8], head: &[u8]) -> Option<Format> {
        match convert::for_name(&self.converters, name) {
            Some(at) => Some(Format::converter(at)),
            None => format::of(name, head).map(Format::read),
        }
    }

    /// Whether a file can be taken apart: it is of a [format](Self::format) that has parts. Where
    /// only its end shows that, as of a program that may unpack itself, the end is read; without
    /// the file it may be.
    pub fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        let head = &head[..head.len().min(HEAD)];
        self.with_parts(name, head).is_some_and(|format| {
            format.kind() != Some(format::Kind::SelfExtracting)
                || file.is_none_or(read::ends_in_zip)
        })
    }

    /// Whether a file that does not [apply](Self::applies) may state a date, as pictures and web
    /// pages do: see [`Sink::date`]. It has no parts. Cheap: called for every file that is read.
    pub fn may_state_date(&self, head: &[u8]) -> bool {
        read::dated(&head[..head.len().min(HEAD)]).is_some()
    }

    /// Whether a file of so many bytes is taken apart by this process: a plain text in another
    /// encoding, or what states a date alone. Nothing hostile makes that slow.
    pub fn is_decoded_here(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        let kind = self.format(name, head).and_then(Format::kind);
        kind.is_some_and(|kind| parent::is_decoded_here(kind, size))
    }

    /// Takes an open file apart. The descriptor is handed to the worker, which reads it from its
    /// start and never moves the offset, so several may share one description.
    ///
    /// What was skipped within it comes back with the path of names that leads there
    /// (`mail.eml!report.zip!a.txt` without the file's own name), empty for the file itself. What
    /// the compressed file itself holds has an empty name, because only the caller knows the
    /// file's: see [`unpacked_name`].
    ///
    /// # Errors
    ///
    /// Nothing of the file is of use. The sink may have seen parts, to be forgotten.
    pub fn extract(
        &self,
        file: BorrowedFd<'_>,
        format: Format,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
        parent::extract(
            &self.workers,
            self.limits,
            &self.converters,
            file,
            format,
            sink,
        )
    }
}

/// So many first bytes tell formats apart.
pub const HEAD: usize = 4096;

/// The worker's main function: takes apart what is on standard input, writes parts to standard
/// output.
///
/// For the program named in [`Extractor::new`], which calls it before it does anything else: with
/// the arguments that the parent added after the program's own. It gives up every right of the
/// process it runs in.
pub fn worker() -> ExitCode {
    worker::main()
}

/// Whether a file with this name that begins like this is a plain text in another encoding than
/// UTF-8.
pub fn is_encoded(name: &[u8], head: &[u8]) -> bool {
    format::of(name, &head[..head.len().min(HEAD)]) == Some(format::Kind::Text)
}

/// Whether a file with this name that begins like this may hold other files.
pub fn may_hold_files(name: &[u8], head: &[u8]) -> bool {
    let kind = format::of(name, &head[..head.len().min(HEAD)]);
    kind.is_some_and(format::Kind::may_hold_files)
}

/// What the bytes of such a file say, in UTF-8; `None`: it is not one after all. No process is
/// needed for that: decoding cannot fail on what is hostile.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    read::text::decoded(bytes)
}
