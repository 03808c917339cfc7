//! Converts files to text with a command that the user named. The command is for formats that no
//! library reads.
//!
//! The worker sets its limits and then executes the command in its own process. The command must be
//! able to open files. So the command is limited, but not isolated. Its output is taken as UTF-8,
//! and invalid bytes are replaced.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::ExitStatus;
use std::time::Instant;

use crate::process::{Outcome, Process};
use crate::worker::{Order, Task, cannot_because};
use crate::{Bound, Converter, Limits, Skipped, Workers};

/// Returns the number of the converter for files with this name.
pub(crate) fn for_name(converters: &[Converter], name: &[u8]) -> Option<u8> {
    if converters.is_empty() {
        return None;
    }
    let dot = memchr::memrchr(b'.', name)?;
    let ending = &name[dot + 1..];
    let claims = |of: &Converter| {
        let mut endings = of.extensions.iter();
        endings.any(|of| ending.eq_ignore_ascii_case(of.as_bytes()))
    };
    let at = converters.iter().take(128).position(claims)?;
    u8::try_from(at).ok()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Converting<'a> {
    pub(crate) workers: &'a Workers,
    pub(crate) limits: Limits,
    pub(crate) converters: &'a [Converter],
}

impl Converting<'_> {
    /// Runs a converter on an open file and passes its output to `to`, in pieces, up to `most`
    /// bytes.
    pub(crate) fn run(
        &self,
        at: usize,
        file: BorrowedFd<'_>,
        most: u64,
        deadline: Instant,
        to: &mut dyn FnMut(&str),
    ) -> Result<(), Skipped> {
        let not_run = |why: String| Skipped::NotRun(why);
        let command = &self
            .converters
            .get(at)
            .ok_or_else(|| not_run("no such converter".to_owned()))?
            .command;
        let name = command
            .first()
            .ok_or_else(|| not_run("a converter without command".to_owned()))?;
        // Opens the file again, so that reading by the converter does not move the offset of
        // `file`.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let file =
            File::open(path).map_err(|error| Skipped::not_started(&"opening the file", &error))?;
        let order = Order {
            task: Task::Convert,
            limits: self.limits,
            parent: std::process::id(),
            leave_out: Vec::new(),
            not_these: Vec::new(),
        };
        let command = command.iter().map(|argument| match &argument[..] {
            "{}" => "/proc/self/fd/0".to_owned(),
            _ => argument.clone(),
        });
        let command: Vec<String> = command.collect();
        let mut process = Process::start(self.workers, &order, &command, Some(file.into()))?;
        let mut decoder = encoding_rs::UTF_8.new_decoder_with_bom_removal();
        let (mut given, mut piece) = (0u64, String::new());
        let mut decode = |bytes: &[u8], last: bool| {
            let room = decoder.max_utf8_buffer_length(bytes.len());
            piece.reserve(room.unwrap_or(3 * bytes.len() + 16));
            let _ = decoder.decode_to_string(bytes, &mut piece, last);
            to(&piece.replace('\0', " "));
            piece.clear();
        };
        let outcome = process.pump(deadline, &mut |bytes| {
            given += bytes.len() as u64;
            if given > most {
                return Err(Skipped::TooMuch(Bound::Bytes));
            }
            decode(bytes, false);
            Ok(None)
        });
        decode(b"", true);
        match outcome {
            Outcome::Stopped(why) => Err(why),
            Outcome::Ended(status) => ended(name, status, process.message()),
        }
    }
}

/// Returns an error if the exit status of a converter is a failure.
fn ended(name: &str, status: ExitStatus, message: &str) -> Result<(), Skipped> {
    if status.success() {
        return Ok(());
    }
    if let Some(because) = cannot_because(status, message) {
        return Err(Skipped::NotRun(because.to_owned()));
    }
    let message = message.lines().next().unwrap_or_default();
    if Process::ran_out_of_time(status) {
        return Err(Skipped::TooMuch(Bound::Time));
    }
    let message = if message.is_empty() {
        status.to_string()
    } else {
        message.to_owned()
    };
    Err(Skipped::Damaged(format!("{name}: {message}")))
}

/// The bytes of a member that a converter reads, in a memory file without a name.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) converter: usize,
    file: File,
    room: u64,
}

impl Kept {
    /// Makes an empty memory file that accepts at most `room` bytes.
    pub(crate) fn new(converter: usize, room: u64) -> Option<Self> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create("resemble-member", flags).ok()?;
        Some(Self {
            converter,
            file: File::from(file),
            room,
        })
    }

    /// Appends bytes and returns whether they fit. If they do not fit, the member cannot be
    /// converted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        let fits = self.room >= bytes.len() as u64 && self.file.write_all(bytes).is_ok();
        self.room = self.room.saturating_sub(bytes.len() as u64);
        fits
    }

    /// Returns a descriptor from which a converter can read the whole member.
    pub(crate) fn fd(&mut self) -> BorrowedFd<'_> {
        // A failure to seek does not matter, because the converter opens the descriptor again and
        // reads from the start.
        drop(self.file.seek(SeekFrom::Start(0)));
        self.file.as_fd()
    }
}
