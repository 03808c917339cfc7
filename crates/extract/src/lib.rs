//! The texts of documents and the members of archives.
//!
//! A document's bytes reveal little about its text: a docx is a zip of compressed XML. This crate
//! takes a file apart into *parts*: the text of a document, the single member of a compressed file,
//! the members of an archive; and the parts of those.
//!
//! # Processes
//!
//! The libraries that read these formats run in a process of their own, one for each file
//! ([`worker`]). The process returns only bytes. It cannot open anything, because of a mandatory
//! filter of system calls, and Landlock. Its time, memory and output are bounded. A crash, a hang
//! or a bomb ends that process; the file is then [`Skipped`] with the reason, and the others
//! continue. A caller that may not start processes asks a [`starter`] for them. Two kinds of files
//! are read by the caller itself, with code of this crate: plain texts in other encodings, unless
//! large, and pictures and web pages, for their dates. No hostile file can make this code fail or
//! take long.

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

/// The role of a part in its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The text of a document, in UTF-8: it represents the document.
    Text,
    /// The only member of a compressed file (`a.tar` of `a.tar.gz`): it represents the file.
    Unpacked,
    /// One of the files in an archive or a mail.
    Member,
}

/// The description of a part, which precedes its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its role.
    pub role: Role,
    /// The number of the part that contains it (the first part has 0); `None`: the file itself.
    pub parent: Option<u32>,
    /// Its name in the container: any bytes, `/` between folders. Empty for a text.
    pub name: Vec<u8>,
}

/// Receives the parts of a file: for each part `begin`, any number of `bytes`, `end`, one part
/// after another. A part's own parts follow after its end.
pub trait Sink {
    /// Begins a part.
    fn begin(&mut self, part: Part);
    /// Receives the next bytes of the current part.
    fn bytes(&mut self, bytes: &[u8]);
    /// Completes the current part.
    fn end(&mut self);
    /// Drops the current part, because it is incomplete or too large. It keeps its number.
    fn drop_part(&mut self);
    /// Receives the date that the file states. Called between parts; the last call counts.
    fn date(&mut self, date: DocumentDate) {
        let _ = date;
    }
}

/// The reason why a file, or something in it, was not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Skipped {
    /// The part needs a password.
    #[error("encrypted")]
    Encrypted,
    /// The file breaks the rules of its format; with the library's message.
    #[error("damaged: {0}")]
    Damaged(#[serde(serialize_with = "put_message")] String),
    /// A part of the file has text that could not be read. The rest was read.
    #[error("{place} could not be read: {reason}")]
    Unread {
        /// The part: `page 3`.
        #[serde(serialize_with = "put_message")]
        place: String,
        /// The reason, with counts.
        #[serde(serialize_with = "put_message")]
        reason: String,
    },
    /// The file is in a form that is not read; with the name of the form.
    #[error("unsupported: {0}")]
    Unsupported(#[serde(serialize_with = "put_message")] String),
    /// The part has text that is deliberately hidden and was therefore left out.
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
    /// The system has no descriptors, processes or memory for it at present. The file is not at
    /// fault.
    #[error("the reader cannot be run just now: {}", std::io::Error::from_raw_os_error(*.0))]
    NotNow(i32),
}

impl Skipped {
    /// Returns the reason why a process could not be started.
    pub(crate) fn not_started(what: &dyn fmt::Display, error: &std::io::Error) -> Self {
        const SCARCE: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN];
        match error.raw_os_error().filter(|errno| SCARCE.contains(errno)) {
            Some(errno) => Self::NotNow(errno),
            None => Self::NotRun(format!("{what}: {error}")),
        }
    }

    /// Returns whether a later attempt may succeed, without a change of the file.
    pub const fn is_of_the_moment(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::NotNow(_))
    }
}

/// The bounds of [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Archives in archives.
    Depth,
    /// Output bytes for each input byte.
    Ratio,
    /// Output bytes.
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

/// The limits for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Archives in archives: 1 is an archive of plain files.
    pub depth: u32,
    /// Output bytes for each input byte, checked from 1 MiB of output on.
    pub ratio: u64,
    /// Output bytes for one file.
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

/// The isolation of the worker from everything but the file that it reads. The limits of resources
/// and the filter of system calls are mandatory: without them nothing is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    /// The version of Landlock in use; `None` if the kernel has none.
    pub landlock: Option<u32>,
}

/// A command that converts files of formats without a library to text: `["antiword", "-"]`. No
/// shell runs it. The file is its standard input, and an argument `{}` is replaced by a path to it.
/// Its standard output is the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converter {
    /// Endings of names, without the dot, in lower case.
    pub extensions: Vec<String>,
    /// Program and arguments.
    pub command: Vec<String>,
}

/// The way in which a file is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(format::FormatReader);

/// The source of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workers {
    /// This process starts the workers with this command, program and arguments. The command must
    /// call [`worker`].
    OfOurs(Vec<PathBuf>),
    /// The [`starter`] that listens at this socket. It runs no converters.
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
    /// Makes an extractor with these workers.
    ///
    /// Uses the first 128 of `converters`. If several claim an ending, uses the first of them.
    pub fn new(workers: Workers, limits: Limits, converters: Vec<Converter>) -> Self {
        Self {
            workers,
            limits,
            converters,
        }
    }

    /// Starts a worker that reads nothing, and returns its isolation.
    ///
    /// # Errors
    ///
    /// Fails with the reason why no file can be taken apart.
    pub fn fences(&self) -> Result<Fences, Skipped> {
        parent::probe(&self.workers, self.limits)
    }

    /// Returns the format of a file with this name and these first bytes, up to [`HEAD`]. `None` if
    /// it cannot be taken apart: plain text in UTF-8 and everything unknown. Cheap: called for
    /// every file that is read.
    ///
    /// Only the ending of the name counts, and only for converters, for mails, and to avoid
    /// needless checks. The bytes decide everything else.
    pub fn format(&self, name: &[u8], head: &[u8]) -> Option<Format> {
        let head = &head[..head.len().min(HEAD)];
        let dated = || read::dated(head).map(Format::read);
        self.with_parts(name, head).or_else(dated)
    }

    /// Returns the format of a file that has parts.
    fn with_parts(&self, name: &[u8], head: &[u8]) -> Option<Format> {
        match convert::for_name(&self.converters, name) {
            Some(at) => Some(Format::converter(at)),
            None => format::of(name, head).map(Format::read),
        }
    }

    /// Returns whether a file can be taken apart: it is of a [format](Self::format) that has parts.
    /// If only the end of a file shows that, as in a self-extracting program, the end is read. Such
    /// a file counts as one that can if `file` is `None`.
    pub fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        let head = &head[..head.len().min(HEAD)];
        self.with_parts(name, head).is_some_and(|format| {
            format.kind() != Some(format::Kind::SelfExtracting)
                || file.is_none_or(read::ends_in_zip)
        })
    }

    /// Returns whether a file that does not [apply](Self::applies) may state a date, as pictures
    /// and web pages do: see [`Sink::date`]. Such a file has no parts. Cheap: called for every file
    /// that is read.
    pub fn may_state_date(&self, head: &[u8]) -> bool {
        read::dated(&head[..head.len().min(HEAD)]).is_some()
    }

    /// Returns whether a file of this size is taken apart by this process: a plain text in another
    /// encoding, or a file with only a date. A hostile file cannot make that slow.
    pub fn is_decoded_here(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        let kind = self.format(name, head).and_then(Format::kind);
        kind.is_some_and(|kind| parent::is_decoded_here(kind, size))
    }

    /// Takes an open file apart. The descriptor is passed to the worker. The worker gives the
    /// offset with every read, so several processes may share one open file.
    ///
    /// Returns what was skipped within the file, each with its path: the names from the outside in,
    /// such as `mail.eml!report.zip!a.txt`. The path leaves out the file's own name, so it is empty
    /// for the file itself. The content of a compressed file has an empty name here, because only
    /// the caller knows the name of the file: see [`unpacked_name`].
    ///
    /// # Errors
    ///
    /// Fails if nothing of the file is usable. The sink may have received parts, which it must
    /// drop.
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

/// The number of first bytes that distinguish the formats.
pub const HEAD: usize = 4096;

/// Runs the worker: takes apart the file on standard input, and writes parts to standard output.
///
/// The program named in [`Extractor::new`] must call this first. The parent adds arguments after
/// the program's own. The worker gives up every right of its process.
pub fn worker() -> ExitCode {
    worker::main()
}

/// Returns whether a file with this name and beginning is a plain text in another encoding than
/// UTF-8.
pub fn is_encoded(name: &[u8], head: &[u8]) -> bool {
    format::of(name, &head[..head.len().min(HEAD)]) == Some(format::Kind::Text)
}

/// Returns whether a file with this name and beginning may contain other files.
pub fn may_hold_files(name: &[u8], head: &[u8]) -> bool {
    let kind = format::of(name, &head[..head.len().min(HEAD)]);
    kind.is_some_and(format::Kind::may_hold_files)
}

/// Decodes a plain text in another encoding to UTF-8; `None`: it is not a text after all. This
/// needs no process of its own: decoding cannot fail on hostile bytes.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    read::text::decoded(bytes)
}
