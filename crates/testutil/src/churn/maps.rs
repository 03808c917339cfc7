//! Writes to mapped files. Mapping a file needs unsafe code, which the tests must not have. So a
//! Python interpreter maps the file.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::Scene;

/// A Python program that reads one change from each line. For each change, it maps the file, stores
/// some bytes, and unmaps the file.
const PROGRAM: &str = "
import mmap, os, sys
for line in sys.stdin:
    path, at, text, flush = line.split()
    try:
        file = os.open(bytes.fromhex(path), os.O_RDWR | os.O_NOFOLLOW)
        try:
            held = mmap.mmap(file, 0)
        finally:
            os.close(file)
        at, text = int(at) % len(held), bytes.fromhex(text)[:len(held) - int(at) % len(held)]
        held[at:at + len(text)] = text
        if flush == 'flush':
            held.flush()
        held.close()
        print('done', flush=True)
    except (OSError, ValueError) as error:
        print(error, flush=True)
";

/// An interpreter, started on first use.
#[derive(Debug, Default)]
pub(super) struct Mapper(Mutex<Option<Running>>);

#[derive(Debug)]
struct Running {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Mapper {
    /// Asks the interpreter to store bytes in a file. They start at the offset `at` modulo the
    /// file's length.
    fn store(&self, path: &Path, at: usize, bytes: &[u8], flush: bool) -> io::Result<()> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(Running::start()?),
        };
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut hex, byte| {
                let _infallible = write!(hex, "{byte:02x}");
                hex
            })
        };
        let (path, bytes) = (hex(path.as_os_str().as_bytes()), hex(bytes));
        let how = if flush { "flush" } else { "leave" };
        writeln!(running.orders, "{path} {at} {bytes} {how}")?;
        let mut answer = String::new();
        running.answers.read_line(&mut answer)?;
        match answer.trim() {
            "done" => Ok(()),
            other => Err(io::Error::other(other)),
        }
    }
}

impl Running {
    fn start() -> io::Result<Self> {
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(orders), Some(answers)) => Ok(Self {
                child,
                orders,
                answers: BufReader::new(answers),
            }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Scene<'_> {
    pub(super) fn mapped(&mut self) -> io::Result<()> {
        let (path, at) = (self.name(), self.one_of(6_000));
        let text = self.text_of(30);
        let flush = self.one_of(2) == 0;
        self.mapper.store(&path, at, &text, flush)
    }
}
