//! Sends long output on a terminal through `$PAGER`.
//!
//! 1. A pager runs only for output that does not fit the screen. The first screenful is held back,
//!    and printed directly if nothing follows. So a short answer costs no process, and no pager
//!    affects the terminal.
//! 2. A missing pager is no error. All output is kept until the pager has ended. It is printed
//!    directly if the pager never started (the shell exits with 126 or 127).
//! 3. A user may quit the pager early. Further output is dropped, and the exit code is that of the
//!    answer. So the pager is a child of this process and does not replace it. Commands such as
//!    `resemble covered DIR --by ROOT && …` depend on the exit code.
//! 4. While a pager runs, Ctrl-C is for the pager. If it ended this process, the pager and the
//!    shell would compete for the terminal.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use rustix::termios::tcgetwinsize;

use crate::interrupt;

/// The pager that is used if `$PAGER` is not set. Its options mean: quit if the text fits, keep
/// colours, and leave the text on the screen.
const DEFAULT: &str = "less -FRX";

/// The output to the terminal. It goes through a pager if it is long.
#[derive(Debug)]
pub(super) struct Pager {
    command: OsString,
    rows: usize,
    columns: usize,
    /// The number of filled lines of the screen. `column` is the column of the next character.
    filled: usize,
    column: usize,
    /// All output so far.
    held: Vec<u8>,
    child: Option<Child>,
    /// True if the pager could not be started, or no longer reads.
    closed: bool,
}

impl Pager {
    /// Returns the pager for this terminal. Returns `None` if the user wants no pager, or if the
    /// size of the terminal is not known.
    pub(super) fn of_terminal() -> Option<Self> {
        let command = match std::env::var_os("PAGER") {
            Some(pager) if pager.is_empty() || pager == "cat" => return None,
            Some(pager) => pager,
            None => DEFAULT.into(),
        };
        let size = tcgetwinsize(io::stdout()).ok()?;
        (size.ws_row > 1 && size.ws_col > 0)
            .then(|| Self::new(command, usize::from(size.ws_row), usize::from(size.ws_col)))
    }

    fn new(command: OsString, rows: usize, columns: usize) -> Self {
        Self {
            command,
            rows,
            columns,
            filled: 0,
            column: 0,
            held: Vec::new(),
            child: None,
            closed: false,
        }
    }

    /// Counts lines as the terminal shows them, with long lines wrapped. Each byte counts as a
    /// column. So the pager may be started although the text would fit, which is harmless.
    fn count(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' || self.column == self.columns {
                self.filled += 1;
                self.column = 0;
            }
            if *byte != b'\n' {
                self.column += 1;
            }
        }
    }

    /// Starts the pager and writes the output so far to it.
    fn start(&mut self) {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        // From here on, Ctrl-C only sets a flag that nothing reads. This process ends soon after
        // the pager.
        interrupt::hold();
        match command.spawn() {
            Ok(child) => {
                self.child = Some(child);
                let held = std::mem::take(&mut self.held);
                self.hand_on(&held);
                self.held = held;
            }
            // The pager did not start, so `finish` will print the held output.
            Err(_) => self.closed = true,
        }
    }

    fn hand_on(&mut self, bytes: &[u8]) {
        let stdin = self.child.as_mut().and_then(|child| child.stdin.as_mut());
        if let Some(stdin) = stdin
            && !self.closed
        {
            self.closed = stdin.write_all(bytes).is_err();
        }
    }

    /// Waits until the pager has ended. If no pager has shown the output, prints it to `out`.
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let shown = match self.child.take() {
            Some(mut child) => {
                drop(child.stdin.take());
                let status = child.wait()?;
                !matches!(status.code(), Some(126 | 127))
            }
            None => false,
        };
        let held = std::mem::take(&mut self.held);
        if shown {
            return Ok(());
        }
        out.write_all(&held)?;
        out.flush()
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.child.is_some() {
            self.hand_on(bytes);
        } else if !self.closed {
            self.count(bytes);
            // If the output needs the last line of the screen, the pager is started. That line is
            // for the prompt of the shell.
            if self.filled >= self.rows {
                self.start();
            }
        }
        Ok(bytes.len())
    }

    /// Does nothing, because [`Self::finish`] prints the held output.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pager(command: &str) -> Pager {
        Pager::new(command.into(), 5, 10)
    }

    fn paged(command: &str, text: &str) -> String {
        let mut pager = pager(command);
        pager.write_all(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        pager.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_fits_needs_no_pager() {
        assert_eq!(paged("exit 3", "1\n2\n3\n4\n"), "1\n2\n3\n4\n");
    }

    #[test]
    fn what_does_not_fit_goes_to_the_pager() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("seen");
        let command = format!("cat > '{}'", file.display());
        let text = "1\n2\n3\n4\n5\n6\n";
        assert_eq!(paged(&command, text), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        // 51 columns fill five lines of ten columns and begin a sixth.
        let long = "x".repeat(51);
        assert_eq!(paged(&command, &long), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
    }

    #[test]
    fn a_missing_pager_is_no_error() {
        let text = "1\n".repeat(100_000);
        assert_eq!(paged("no-such-pager-anywhere 2>/dev/null", &text), text);
    }

    #[test]
    fn who_quits_has_seen_enough() {
        assert_eq!(paged("exit 0", &"1\n".repeat(100_000)), "");
    }
}
