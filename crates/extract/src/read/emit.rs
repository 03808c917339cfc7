//! Writes the output of the worker, and defines the reasons to stop reading.

use std::error::Error;
use std::io;
use std::os::fd::AsFd;

use resemble_core::date::DocumentDate;

use crate::budget::Budget;
use crate::protocol::{Frame, LONGEST};
use crate::{Bound, Limits, Role, Skipped};

/// The reason why reading stops.
#[derive(Debug)]
pub(crate) enum Stop {
    /// This file or member cannot be read further. Other members can still be read.
    This(Skipped),
    /// Nothing more can be read of the whole file, because it has reached one of its limits.
    All(Skipped),
    /// The parent has closed the pipe.
    Gone,
}

/// The result of a reader.
pub(crate) type Take<T = ()> = Result<T, Stop>;

impl From<Bound> for Stop {
    fn from(bound: Bound) -> Self {
        Self::This(Skipped::TooMuch(bound))
    }
}

/// Returns the reason that an I/O error carries. Readers of this crate pass their reasons through
/// libraries as I/O errors. An error of the kind `Unsupported` or `OutOfMemory` is also converted
/// to a reason. Returns `None` for any other error.
fn passed_on(error: &io::Error) -> Option<Skipped> {
    if let Some(why) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return Some(Skipped::clone(why));
    }
    match error.kind() {
        io::ErrorKind::Unsupported => Some(Skipped::Unsupported(error.to_string())),
        io::ErrorKind::OutOfMemory => Some(Skipped::TooMuch(Bound::Memory)),
        _ => None,
    }
}

/// Returns the reason why the end of a file or member is not read.
pub(crate) fn cut() -> Skipped {
    Skipped::Damaged("the last bytes are missing".to_owned())
}

/// Converts an error of a library. The library either passed on a reason of a reader of this crate,
/// or found that the file is damaged.
pub(crate) fn damaged(error: impl Error + 'static) -> Stop {
    Stop::This(reason(&error))
}

/// Returns the reason for an error of a library. See [`damaged`].
pub(crate) fn reason(error: &(dyn Error + 'static)) -> Skipped {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        let why = error.downcast_ref().cloned();
        if let Some(why) = why.or_else(|| io.and_then(passed_on)) {
            return why;
        }
        next = match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    if is_cut(error) {
        return cut();
    }
    Skipped::Damaged(error.to_string())
}

/// Returns whether an error means that the input ends too early.
pub(crate) fn is_cut(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Makes the error for a form that this crate does not read.
pub(crate) fn unsupported(form: impl Into<String>) -> Stop {
    Stop::This(Skipped::Unsupported(form.into()))
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        damaged(error)
    }
}

/// The maximum number of skipped parts that are reported by name.
const MOST_SKIPS: u32 = 1000;

/// Writes the frames of the worker's output.
#[derive(Debug)]
pub(crate) struct Out {
    budget: Budget,
    buffer: Vec<u8>,
    /// True if frames stay in the buffer, because the reader of the frames is this process itself.
    stays: bool,
    open: bool,
    skips: u32,
    /// The path and the reason of the last skipped part.
    last_skip: Option<(Vec<u8>, Skipped)>,
}

impl Out {
    pub(crate) fn new(limits: Limits, size: u64) -> Self {
        Self {
            budget: Budget::new(limits, size),
            buffer: Vec::with_capacity(2 * LONGEST),
            stays: false,
            open: false,
            skips: 0,
            last_skip: None,
        }
    }

    /// Makes an output that keeps its frames in memory.
    pub(crate) fn in_memory(limits: Limits, size: u64) -> Self {
        Self {
            stays: true,
            ..Self::new(limits, size)
        }
    }

    pub(crate) fn into_frames(self) -> Vec<u8> {
        self.buffer
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Take {
        frame.write(&mut self.buffer);
        if self.buffer.len() >= LONGEST {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Take {
        if self.stays {
            return Ok(());
        }
        let mut rest = &self.buffer[..];
        while !rest.is_empty() {
            match rustix::io::write(io::stdout().as_fd(), rest) {
                Ok(0) => return Err(Stop::Gone),
                Ok(written) => rest = &rest[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(Stop::Gone),
            }
        }
        self.buffer.clear();
        Ok(())
    }

    /// Begins a part and returns its number.
    pub(crate) fn begin(&mut self, role: Role, parent: Option<u32>, name: &[u8]) -> Take<u32> {
        let number = self
            .budget
            .begin(parent)
            .map_err(|bound| Stop::All(Skipped::TooMuch(bound)))?;
        self.open = true;
        self.frame(&Frame::Begin { role, parent, name })?;
        Ok(number)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Take {
        if let Err(bound) = self.budget.bytes(bytes.len() as u64) {
            return Err(Stop::All(Skipped::TooMuch(bound)));
        }
        for piece in bytes.chunks(LONGEST) {
            self.frame(&Frame::Bytes(piece))?;
        }
        Ok(())
    }

    pub(crate) fn end(&mut self) -> Take {
        self.open = false;
        self.frame(&Frame::End)
    }

    /// Drops the current part, if there is one.
    pub(crate) fn drop_open(&mut self) -> Take {
        if std::mem::take(&mut self.open) {
            self.frame(&Frame::Drop)?;
        }
        Ok(())
    }

    pub(crate) fn skip(&mut self, path: &[u8], why: Skipped) -> Take {
        // Two readers may report the same truncated archive.
        let skip = Some((path.to_vec(), why.clone()));
        if self.last_skip == skip {
            return Ok(());
        }
        self.last_skip = skip;
        self.skips += 1;
        if self.skips < MOST_SKIPS {
            return self.frame(&Frame::Skip { why, path });
        }
        if self.skips == MOST_SKIPS {
            let why = Skipped::Damaged("further parts were skipped".to_owned());
            return self.frame(&Frame::Skip { why, path: b"" });
        }
        Ok(())
    }

    /// Announces that a reader starts. Flushes all earlier output, in case the reader crashes. Item
    /// 0 is the reader of the file itself. It needs no flush: if it crashes, nothing of the file is
    /// kept.
    pub(crate) fn enter(&mut self, item: u32, path: &[u8]) -> Take {
        self.frame(&Frame::Enter { item, path })?;
        if item == 0 {
            return Ok(());
        }
        self.flush()
    }

    /// Reports the date of the file itself.
    pub(crate) fn date(&mut self, date: DocumentDate) -> Take {
        let DocumentDate { seconds, source } = date;
        let source = source as u8;
        self.frame(&Frame::Date { seconds, source })
    }

    pub(crate) fn leave(&mut self) -> Take {
        self.frame(&Frame::Leave)
    }

    pub(crate) fn done(&mut self) -> Take {
        self.frame(&Frame::Done)?;
        self.flush()
    }
}
