//! Starts the worker, checks its output, and passes the output on. This code runs in the trusted
//! process.
//!
//! The worker has read hostile bytes, so its output is not trusted. Its frames must be in a valid
//! order, and the parent of each part must exist. Any violation is treated as a crash. Parts and
//! bytes are counted again here.
//!
//! # Crashes within an archive
//!
//! A crash at one PDF must not cost the other members of an archive. The worker announces each
//! reader before the reader starts, so the parent knows which reader crashed. A new worker then
//! reads the file without that reader. Parts that were already passed on are not passed on again.
//! This works if the crashed reader had completed no part. That is usual for readers of documents.
//! If the reader of the archive itself crashes, the file is lost. A document from which nothing
//! arrives for a quarter of the allowed time is treated as crashed. The time limit is for all work
//! on a file, converters included.

use std::os::fd::BorrowedFd;
use std::process::ExitStatus;
use std::time::Instant;

use resemble_core::date::{DateSource, DocumentDate};

use crate::budget::Budget;
use crate::convert::{self, Converting, Kept};
use crate::format::Kind;
use crate::process::{Outcome, Process};
use crate::protocol::{self, Found, Frame};
use crate::read::{LeftOut, Out, Source, Walk};
use crate::worker::{Order, Task, cannot_because};
use crate::{Bound, Converter, Fences, Format, Limits, Part, Role, Sink, Skipped, Workers};

/// The maximum number of crashed readers of one file. After each crash, the file is read again
/// without the crashed reader.
const MOST_CRASHES: usize = 16;

/// The maximum number of bytes of a plain text that is decoded in this process.
const DECODED_HERE: u64 = 4 << 20;

/// The maximum number of bytes of the paths and reasons that are reported for skipped parts.
const MOST_TOLD: usize = 1 << 20;

/// Returns whether this process decodes the file: see [`crate::Extractor::is_decoded_here`].
pub(crate) fn is_decoded_here(kind: Kind, size: u64) -> bool {
    kind.has_only_a_date() || kind == Kind::Text && size <= DECODED_HERE
}

/// Takes a file apart: see [`crate::Extractor::extract`].
pub(crate) fn extract(
    workers: &Workers,
    limits: Limits,
    converters: &[Converter],
    file: BorrowedFd<'_>,
    format: Format,
    sink: &mut dyn Sink,
) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
    let converting = Converting {
        workers,
        limits,
        converters,
    };
    let deadline = Instant::now() + limits.time;
    let mut delivery = Delivery::new(converting, sink, deadline);
    if let Some(at) = format.as_converter() {
        delivery.convert(at, file, None)?;
        return Ok(Vec::new());
    }
    let kind = format
        .kind()
        .ok_or_else(|| Skipped::NotRun("an unknown format".to_owned()))?;
    let source = Source::file(file).map_err(|error| Skipped::Damaged(error.to_string()))?;
    let size = source.len();
    if is_decoded_here(kind, size) {
        let mut run = Run::new(limits, size);
        run.take(&decoded(source, kind, limits)?, &mut delivery)?;
        return all_skipped(run.skipped, delivery, Vec::new());
    }
    let mut crashed: Vec<(u32, Vec<u8>, Skipped)> = Vec::new();
    let skipped = loop {
        let order = Order {
            task: Task::Read(kind),
            limits,
            parent: std::process::id(),
            leave_out: crashed.iter().map(|(item, ..)| *item).collect(),
            not_these: converters
                .iter()
                .take(128)
                .flat_map(|converter| converter.extensions.iter().cloned())
                .collect(),
        };
        let stdin = file
            .try_clone_to_owned()
            .map_err(|error| Skipped::not_started(&"the file", &error))?;
        let mut process = Process::start(workers, &order, &[], Some(stdin))?;
        let mut run = Run::new(limits, size);
        let outcome = process.pump(deadline, &mut |bytes| {
            run.take(bytes, &mut delivery)?;
            // The reader of an archive may send nothing for long. The reader of a document within
            // the archive is treated as crashed if it sends nothing for this time.
            Ok((run.readers.len() > 1).then_some(limits.time / 4))
        });
        let why = match outcome {
            Outcome::Ended(status) if status.success() && run.is_done() => break run.skipped,
            Outcome::Ended(status) => of_status(status, process.message()),
            Outcome::Stopped(why) => why,
        };
        drop(process);
        let culprit = run.culprit(&mut delivery, &crashed);
        match (culprit, &why) {
            (
                Some((item, path)),
                Skipped::Crashed | Skipped::TooMuch(Bound::Memory | Bound::Time),
            ) if crashed.len() < MOST_CRASHES && Instant::now() < deadline => {
                tracing::debug!(item, ?why, "reading again without what crashed");
                crashed.push((item, path, why));
            }
            _ => return Err(why),
        }
    };
    all_skipped(skipped, delivery, crashed)
}

/// Starts a worker that reads nothing: see [`crate::Extractor::fences`].
pub(crate) fn probe(workers: &Workers, limits: Limits) -> Result<Fences, Skipped> {
    let order = Order {
        task: Task::Probe,
        limits,
        parent: std::process::id(),
        leave_out: Vec::new(),
        not_these: Vec::new(),
    };
    let mut process = Process::start(workers, &order, &[], None)?;
    let mut line = Vec::new();
    let outcome = process.pump(Instant::now() + limits.time, &mut |bytes| {
        line.extend_from_slice(bytes);
        Ok(None)
    });
    match outcome {
        Outcome::Ended(status) if status.success() => {
            serde_json::from_slice(&line).map_err(|_| Skipped::Crashed)
        }
        Outcome::Ended(status) => Err(of_status(status, process.message())),
        Outcome::Stopped(why) => Err(why),
    }
}

/// Produces the output of a worker in this process, because starting a worker takes one or two
/// milliseconds. The file is a plain text in another encoding, or a file of which only the date is
/// read. A hostile file cannot make this code crash.
fn decoded(source: Source<'_>, kind: Kind, limits: Limits) -> Result<Vec<u8>, Skipped> {
    let out = Out::in_memory(limits, source.len());
    let walk = Walk::new(out, limits, LeftOut::default());
    let out = walk.take_file(source, kind);
    out.map(Out::into_frames).map_err(|_| Skipped::Crashed)
}

/// Returns everything that was skipped, including the failures of converters and the crashes. Fails
/// with the reason if nothing of the file is usable.
fn all_skipped(
    skipped: Vec<(Vec<u8>, Skipped)>,
    mut delivery: Delivery<'_>,
    crashed: Vec<(u32, Vec<u8>, Skipped)>,
) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
    let mut all = skipped;
    all.append(&mut delivery.skipped);
    all.extend(crashed.into_iter().map(|(_, path, why)| (path, why)));
    let bomb = |(path, why): &(Vec<u8>, Skipped)| {
        path.is_empty() && *why == Skipped::TooMuch(Bound::Ratio)
    };
    if let Some((_, why)) = all.iter().find(|skipped| bomb(skipped)) {
        return Err(why.clone());
    }
    if delivery.complete == 0
        && let Some((_, why)) = all.iter().find(|(path, _)| path.is_empty()).or(all.first())
    {
        return Err(why.clone());
    }
    Ok(all)
}

/// Converts the exit status of a worker to the reason why the file was skipped.
fn of_status(status: ExitStatus, message: &str) -> Skipped {
    if let Some(because) = cannot_because(status, message) {
        return Skipped::NotRun(because.to_owned());
    }
    if Process::ran_out_of_time(status) {
        return Skipped::TooMuch(Bound::Time);
    }
    // Rust's allocator writes this message before it aborts.
    if message.contains("memory allocation of") {
        return Skipped::TooMuch(Bound::Memory);
    }
    Skipped::Crashed
}

/// Passes the parts of a file to the sink. The parts may be from several runs of the worker.
struct Delivery<'a> {
    converting: Converting<'a>,
    sink: &'a mut dyn Sink,
    /// The number of each part in the sink. The index is the number of the part in the worker.
    numbers: Vec<u32>,
    next: u32,
    complete: u32,
    /// The part that has begun and not ended. It is `None` if the part is not passed on.
    open: Option<Open>,
    /// The number of bytes that converters have written.
    converted: u64,
    /// The time at which all runs must have ended.
    deadline: Instant,
    /// The failures of converters, each with the path of its member.
    skipped: Vec<(Vec<u8>, Skipped)>,
}

/// A part that has begun and not ended.
struct Open {
    number: u32,
    kept: Option<Kept>,
}

impl<'a> Delivery<'a> {
    fn new(converting: Converting<'a>, sink: &'a mut dyn Sink, deadline: Instant) -> Self {
        Self {
            converting,
            sink,
            numbers: Vec::new(),
            next: 0,
            complete: 0,
            open: None,
            converted: 0,
            deadline,
            skipped: Vec::new(),
        }
    }

    fn begin(&mut self, role: Role, parent: Option<u32>, name: &[u8]) {
        let number = self.next;
        self.next += 1;
        let parent = parent.and_then(|parent| self.numbers.get(parent as usize).copied());
        self.numbers.push(number);
        let converters = self.converting.converters;
        let kept = convert::for_name(converters, name)
            .filter(|_| role != Role::Text)
            .and_then(|at| Kept::new(usize::from(at), self.converting.limits.memory / 4));
        self.open = Some(Open { number, kept });
        self.sink.begin(Part {
            role,
            parent,
            name: name.to_vec(),
        });
    }

    fn bytes(&mut self, bytes: &[u8], path: &[u8]) {
        if let Some(open) = &mut self.open {
            self.sink.bytes(bytes);
            if let Some(kept) = &mut open.kept
                && !kept.write(bytes)
            {
                open.kept = None;
                let why = Skipped::TooMuch(Bound::Memory);
                self.skipped.push((path.to_vec(), why));
            }
        }
    }

    fn end(&mut self, path: &[u8]) {
        let Some(open) = self.open.take() else { return };
        self.sink.end();
        self.complete += 1;
        if let Some(mut kept) = open.kept {
            let at = kept.converter;
            if let Err(why) = self.convert(at, kept.fd(), Some(open.number)) {
                self.skipped.push((path.to_vec(), why));
            }
        }
    }

    fn drop_open(&mut self) {
        if self.open.take().is_some() {
            self.sink.drop_part();
        }
    }

    /// Converts an open file to text: the whole file, or the member with the number `parent`.
    fn convert(
        &mut self,
        at: usize,
        file: BorrowedFd<'_>,
        parent: Option<u32>,
    ) -> Result<(), Skipped> {
        let most = self.converting.limits.bytes.saturating_sub(self.converted);
        let (mut begun, mut blank) = (false, String::new());
        let (sink, next, converted) = (&mut *self.sink, &mut self.next, &mut self.converted);
        let result = self
            .converting
            .run(at, file, most, self.deadline, &mut |piece| {
                if !begun {
                    if piece.trim().is_empty() {
                        return;
                    }
                    begun = true;
                    *next += 1;
                    sink.begin(Part {
                        role: Role::Text,
                        parent,
                        name: Vec::new(),
                    });
                }
                blank.clear();
                *converted += piece.len() as u64;
                sink.bytes(piece.as_bytes());
            });
        match (begun, &result) {
            (true, Ok(())) => {
                self.sink.end();
                self.complete += 1;
            }
            (true, Err(_)) => self.sink.drop_part(),
            (false, _) => {}
        }
        result
    }
}

/// A reader of the worker that has started and not finished.
struct ActiveReader {
    item: u32,
    path: Vec<u8>,
    /// The number of parts that this reader completed.
    parts: u32,
}

/// The state of one run of the worker.
struct Run {
    budget: Budget,
    buffer: Vec<u8>,
    readers: Vec<ActiveReader>,
    /// `Some` while a part is open. The value is true if the part is passed on, and false if an
    /// earlier run has passed it on.
    open: Option<bool>,
    /// The path of the open part. It is for reports about the converter of the part.
    path: Vec<u8>,
    skipped: Vec<(Vec<u8>, Skipped)>,
    /// The number of bytes of the paths and reasons of all skipped parts. When it exceeds
    /// [`MOST_TOLD`], no further parts are reported.
    told: usize,
    done: bool,
}

impl Run {
    fn new(limits: Limits, size: u64) -> Self {
        Self {
            budget: Budget::new(limits, size),
            buffer: Vec::new(),
            readers: Vec::new(),
            open: None,
            path: Vec::new(),
            skipped: Vec::new(),
            told: 0,
            done: false,
        }
    }

    fn is_done(&self) -> bool {
        self.done && self.buffer.is_empty() && self.open.is_none()
    }

    fn take(&mut self, bytes: &[u8], to: &mut Delivery<'_>) -> Result<(), Skipped> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            match protocol::read(&buffer[at..]) {
                Found::Frame(frame, length) => {
                    self.frame(frame, to)?;
                    at += length;
                }
                Found::Incomplete => break,
                Found::Nonsense => return Err(Skipped::Crashed),
            }
        }
        buffer.drain(..at);
        self.buffer = buffer;
        Ok(())
    }

    fn frame(&mut self, frame: Frame<'_>, to: &mut Delivery<'_>) -> Result<(), Skipped> {
        if self.done {
            return Err(Skipped::Crashed);
        }
        match (frame, self.open) {
            (Frame::Begin { role, parent, name }, None) => {
                if parent.is_some_and(|parent| parent >= self.budget.parts()) {
                    return Err(Skipped::Crashed);
                }
                let number = self.budget.begin(parent).map_err(Skipped::TooMuch)?;
                let is_new = number as usize >= to.numbers.len();
                self.open = Some(is_new);
                if is_new {
                    let reader = self.readers.last().map_or(&[][..], |reader| &reader.path);
                    self.path = match (reader, role) {
                        (path, Role::Text | Role::Unpacked) => path.to_vec(),
                        ([], Role::Member) => name.to_vec(),
                        (path, Role::Member) => [path, name].join(&b'!'),
                    };
                    to.begin(role, parent, name);
                }
            }
            (Frame::Bytes(bytes), Some(is_new)) => {
                self.budget
                    .bytes(bytes.len() as u64)
                    .map_err(Skipped::TooMuch)?;
                if is_new {
                    to.bytes(bytes, &self.path);
                }
            }
            (Frame::End, Some(is_new)) => {
                self.part_is_over();
                if is_new {
                    to.end(&self.path);
                }
            }
            (Frame::Drop, Some(is_new)) => {
                self.part_is_over();
                if is_new {
                    to.drop_open();
                }
            }
            (Frame::Skip { why, path }, None) => {
                self.told += path.len() + why.to_string().len();
                if self.told <= MOST_TOLD {
                    self.skipped.push((path.to_vec(), why));
                }
            }
            (Frame::Enter { item, path }, None) => self.readers.push(ActiveReader {
                item,
                path: path.to_vec(),
                parts: 0,
            }),
            (Frame::Date { seconds, source }, None) => {
                let source = DateSource::of_number(source).ok_or(Skipped::Crashed)?;
                to.sink.date(DocumentDate { seconds, source });
            }
            (Frame::Leave, None) if self.readers.pop().is_some() => {}
            (Frame::Done, None) => self.done = true,
            _ => return Err(Skipped::Crashed),
        }
        Ok(())
    }

    fn part_is_over(&mut self) {
        self.open = None;
        if let Some(reader) = self.readers.last_mut() {
            reader.parts += 1;
        }
    }

    /// Returns the reader that crashed if the next run can succeed without that reader. Drops the
    /// open part, because no later run completes it.
    fn culprit(
        &mut self,
        to: &mut Delivery<'_>,
        before: &[(u32, Vec<u8>, Skipped)],
    ) -> Option<(u32, Vec<u8>)> {
        if self.open.take() == Some(true) {
            to.drop_open();
            to.numbers.pop();
        }
        let reader = self.readers.pop()?;
        let is_new = before.iter().all(|(item, ..)| *item != reader.item);
        // The outermost reader reads the file itself, so it cannot be left out.
        let is_within = !self.readers.is_empty();
        (is_new && is_within && reader.parts == 0).then_some((reader.item, reader.path))
    }
}
