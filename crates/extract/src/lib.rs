//! Extracts the texts of documents and the members of archives.
//!
//! A document's bytes reveal little about its text: a docx is a zip of compressed XML. This crate
//! takes a file apart into *parts*. A part is the text of a document, the single member of a
//! compressed file, or a member of an archive. A part can have parts of its own.
//!
//! # Processes
//!
//! The libraries that read these formats run in a separate process for each file, the *worker*
//! ([`worker`]). A worker returns only bytes. Because of Landlock and a mandatory filter of system
//! calls, a worker cannot open anything. Its time, memory and output are bounded. A crash, a hang
//! or a bomb ends only the worker. The file is then [`Skipped`] with the reason, and the other
//! files are still read. A caller that must not start processes asks a [`starter`] for workers.
//!
//! The caller itself reads two kinds of files, with code of this crate. It decodes plain texts in
//! other encodings, unless they are large. It also reads the dates of pictures and web pages. No
//! hostile file can make this code fail or take long.

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

/// The role of a part in the file that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The text of a document, in UTF-8. It represents the document.
    Text,
    /// The only member of a compressed file (`a.tar` in `a.tar.gz`). It represents the file.
    Unpacked,
    /// A file in an archive or a mail.
    Member,
}

/// The description of a part, which precedes its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The role of the part in its container.
    pub role: Role,
    /// The number of the part that contains this part. It is `None` if the file itself contains
    /// this part. The first part has the number 0.
    pub parent: Option<u32>,
    /// The name of the part in its container: any bytes, with `/` between folders. It is empty for
    /// a text.
    pub name: Vec<u8>,
}

/// Receives the parts of a file, one after another. For each part, `begin` is called once, then
/// `bytes` any number of times, then `end` or `drop_part` once. The parts within a part follow
/// after its `end`.
pub trait Sink {
    /// Begins a part.
    fn begin(&mut self, part: Part);
    /// Receives the next bytes of the current part.
    fn bytes(&mut self, bytes: &[u8]);
    /// Completes the current part.
    fn end(&mut self);
    /// Drops the current part, because it is incomplete or too large. Later parts are numbered as
    /// if it had not been dropped.
    fn drop_part(&mut self);
    /// Receives the date that the file states. This function is called between parts. If it is
    /// called several times, the last date is the valid one.
    fn date(&mut self, date: DocumentDate) {
        let _ = date;
    }
}

/// The reason why a file, or a part of it, was not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Skipped {
    /// The part needs a password.
    #[error("encrypted")]
    Encrypted,
    /// The file breaks the rules of its format. The text is the library's message.
    #[error("damaged: {0}")]
    Damaged(#[serde(serialize_with = "put_message")] String),
    /// Some text of a part could not be read. The rest of the part was read.
    #[error("{place} could not be read: {reason}")]
    Unread {
        /// The place in the file, for example `page 3`.
        #[serde(serialize_with = "put_message")]
        place: String,
        /// The reason, with the number of things that could not be read.
        #[serde(serialize_with = "put_message")]
        reason: String,
    },
    /// The file is in a form that this crate does not read. The text names the form.
    #[error("unsupported: {0}")]
    Unsupported(#[serde(serialize_with = "put_message")] String),
    /// The part has hidden text, which is left out on purpose.
    #[error("left out on purpose: {0}")]
    LeftOut(#[serde(serialize_with = "put_message")] String),
    /// The file exceeds a limit.
    #[error("{0}")]
    TooMuch(Bound),
    /// The worker crashed.
    #[error("the reader crashed")]
    Crashed,
    /// The worker, or a converter, could not be run.
    #[error("the reader could not be run: {0}")]
    NotRun(#[serde(serialize_with = "put_message")] String),
    /// The system lacked descriptors, processes or memory for the file at that moment. The file is
    /// not the cause.
    #[error("the reader cannot be run just now: {}", std::io::Error::from_raw_os_error(*.0))]
    NotNow(i32),
}

impl Skipped {
    /// Converts the error of a process that could not be started.
    pub(crate) fn not_started(what: &dyn fmt::Display, error: &std::io::Error) -> Self {
        const SCARCE: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN];
        match error.raw_os_error().filter(|errno| SCARCE.contains(errno)) {
            Some(errno) => Self::NotNow(errno),
            None => Self::NotRun(format!("{what}: {error}")),
        }
    }

    /// Returns whether a later attempt may succeed although the file is unchanged.
    pub const fn is_of_the_moment(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::NotNow(_))
    }
}

/// The bounds that [`Limits`] sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// The nesting of archives.
    Depth,
    /// The ratio of output bytes to input bytes.
    Ratio,
    /// The number of output bytes.
    Bytes,
    /// The number of parts.
    Parts,
    /// The time.
    Time,
    /// The memory.
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
    /// The maximum nesting of archives. 1 allows an archive of plain files.
    pub depth: u32,
    /// The maximum ratio of output bytes to input bytes. It is checked above 1 MiB of output.
    pub ratio: u64,
    /// The maximum number of output bytes for one file.
    pub bytes: u64,
    /// The maximum number of parts of one file.
    pub parts: u32,
    /// The maximum time for one file.
    pub time: Duration,
    /// The maximum address space of the worker, in bytes.
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

/// The isolation of the worker from everything but the file that it reads. Resource limits and a
/// filter of system calls are mandatory: without them, the worker reads nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    /// The version of Landlock that is in use, or `None` if the kernel has no Landlock.
    pub landlock: Option<u32>,
}

/// A command that converts files to text if no library reads their format, for example
/// `["antiword", "-"]`. It is run without a shell. Its standard input is the file. An argument `{}`
/// is replaced by a path to the file. Its standard output is the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converter {
    /// The endings of the names of files that the command converts, without the dot, in lower case.
    pub extensions: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// The format of a file, which decides how it is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(format::FormatReader);

/// The way in which workers are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workers {
    /// This process starts each worker with this command: a program and its arguments. The program
    /// must call [`worker`].
    OfOurs(Vec<PathBuf>),
    /// A [`starter`] starts each worker. It listens at this socket, and runs no converters.
    Of(PathBuf),
}

/// Takes files apart in separate processes. Several threads can share one extractor.
#[derive(Clone, Debug)]
pub struct Extractor {
    workers: Workers,
    limits: Limits,
    converters: Vec<Converter>,
}

impl Extractor {
    /// Makes an extractor that uses these workers.
    ///
    /// Only the first 128 of `converters` are used. If several of them have the same ending, the
    /// first one is used.
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

    /// Returns the format of a file that has this name and begins with `head`, its first [`HEAD`]
    /// bytes. Returns `None` if the file cannot be taken apart: plain text in UTF-8, or an unknown
    /// format. This check is cheap, because it is made for every file that is read.
    ///
    /// Of the name, only the ending is used. It is used only where the bytes are not enough: for
    /// converters, mails and a few other formats.
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

    /// Returns whether a file can be taken apart: whether its [format](Self::format) has parts. For
    /// some files, such as self-extracting programs, only the end of the file shows whether it has
    /// parts. Then the end of `file` is read. If `file` is `None`, this returns true for such
    /// files.
    pub fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        let head = &head[..head.len().min(HEAD)];
        self.with_parts(name, head).is_some_and(|format| {
            format.kind() != Some(format::Kind::SelfExtracting)
                || file.is_none_or(read::ends_in_zip)
        })
    }

    /// Returns whether a file may state a date ([`Sink::date`]) although it has no parts
    /// ([`Self::applies`]). Pictures and web pages are such files. This check is cheap, because it
    /// is made for every file that is read.
    pub fn may_state_date(&self, head: &[u8]) -> bool {
        read::dated(&head[..head.len().min(HEAD)]).is_some()
    }

    /// Returns whether this process, and not a worker, takes a file apart. It does so for files of
    /// which only the date is read, and for plain texts in other encodings, unless they are large.
    /// No hostile file of these kinds can make this slow.
    pub fn is_decoded_here(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        let kind = self.format(name, head).and_then(Format::kind);
        kind.is_some_and(|kind| parent::is_decoded_here(kind, size))
    }

    /// Takes an open file apart. The worker gets the descriptor. The worker gives an offset with
    /// every read, so several processes can share one open file.
    ///
    /// Returns the path and the reason of everything that was skipped within the file. A path has
    /// the names from the outside in, such as `mail.eml!report.zip!a.txt`. The name of the file
    /// itself is left out, so the path of the file itself is empty. The content of a compressed
    /// file has an empty name here, because only the caller knows the name of the file. See
    /// [`unpacked_name`].
    ///
    /// # Errors
    ///
    /// Fails if nothing of the file is usable. The sink may already have received parts, and must
    /// then drop them.
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

/// The number of first bytes of a file from which its format is detected.
pub const HEAD: usize = 4096;

/// Runs the worker. The worker takes apart the file on standard input, and writes the parts to
/// standard output.
///
/// The program named in [`Extractor::new`] must call this function before anything else. The parent
/// appends arguments to the arguments of the program. The worker gives up all rights of its
/// process.
pub fn worker() -> ExitCode {
    worker::main()
}

/// Returns whether a file that has this name and begins with `head` is a plain text in another
/// encoding than UTF-8.
pub fn is_encoded(name: &[u8], head: &[u8]) -> bool {
    format::of(name, &head[..head.len().min(HEAD)]) == Some(format::Kind::Text)
}

/// Returns whether a file that has this name and begins with `head` may contain other files.
pub fn may_hold_files(name: &[u8], head: &[u8]) -> bool {
    let kind = format::of(name, &head[..head.len().min(HEAD)]);
    kind.is_some_and(format::Kind::may_hold_files)
}

/// Decodes a plain text in another encoding to UTF-8. Returns `None` if the bytes are not a text
/// after all. Decoding needs no separate process, because hostile bytes cannot make it fail.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    read::text::decoded(bytes)
}
