//! Spells out characters that would control the terminal, in tables and documents.
//!
//! Programs want raw names, so a pipe or a file gets every byte. On a terminal, a name must not
//! change the screen. So a control character is printed as `\u001b`, which in JSON means the same
//! character. A byte that is not valid UTF-8 is printed as `\xff`.

use std::io::{self, Write};
use std::str::Utf8Error;

use resemble_core::printable::is_printable;

/// Output for a terminal, in which control characters are to be spelled out.
pub(super) struct Spelled<'a> {
    out: &'a mut dyn Write,
    /// The first bytes of a character whose other bytes have not arrived yet: at most three.
    begun: Vec<u8>,
}

impl<'a> Spelled<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            begun: Vec::new(),
        }
    }

    /// Spells out the bytes of a last character that is incomplete.
    pub(super) fn finish(self) -> io::Result<()> {
        invalid(self.out, &self.begun)
    }
}

impl Write for Spelled<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            characters(self.out, chunk.valid())?;
            let wrong = chunk.invalid();
            let goes_on = |error: Utf8Error| error.error_len().is_none();
            if chunks.peek().is_none() && std::str::from_utf8(wrong).is_err_and(goes_on) {
                self.begun = wrong.to_vec();
            } else {
                invalid(self.out, wrong)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn characters(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        // Line feeds, tabs and NULs separate the rows, columns and names of a table, so they are
        // not spelled out.
        if is_printable(c) || matches!(c, '\n' | '\t' | '\0') {
            continue;
        }
        out.write_all(&text.as_bytes()[plain..at])?;
        plain = at + c.len_utf8();
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
    }
    out.write_all(&text.as_bytes()[plain..])
}

fn invalid(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    bytes
        .iter()
        .try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}
