//! Writes messages to standard error. Each message is one line, even if a file name in it has line
//! breaks.
//!
//! A file name may have line breaks and escape sequences. Such a name, printed unchanged, could
//! forge a line of the journal or take over a terminal. Fields are printed in their `Debug` form,
//! which escapes them. But the texts of errors have unescaped paths. So [`OneLine`] finally writes
//! each control byte of a message as `\xNN`.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The options that decide how many messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verbosity {
    /// The number of `-v` options.
    pub verbose: u8,
    /// True if `-q` was given.
    pub quiet: bool,
}

/// The prefix of the names of all our crates.
const OWN: &str = "resemble_";

/// Sends messages to standard error from now on. `filter` (`RUST_LOG`) overrides `verbosity`. If
/// `times` is true, each line begins with the time. The journal does not need that, because it
/// records the time itself.
pub fn start(verbosity: Verbosity, filter: Option<&str>, times: bool) {
    let level = match (verbosity.quiet, verbosity.verbose) {
        (true, _) => "warn",
        (false, 0) => "info",
        (false, 1) => "debug",
        (false, _) => "trace",
    };
    let filter = match filter.map(EnvFilter::try_new) {
        Some(Ok(filter)) => filter,
        _ => own_at(level),
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(ToStderr)
        .with_ansi(false)
        .with_target(false);
    let started = if times {
        lines.try_init()
    } else {
        lines.without_time().try_init()
    };
    if let Err(error) = started {
        tracing::debug!(error, "messages go where they went before");
    }
}

/// Returns a filter that shows messages of our crates from this level on. For all other crates the
/// filter shows only warnings and errors.
fn own_at(level: &str) -> EnvFilter {
    EnvFilter::new(format!("{OWN}={level},warn"))
}

/// Returns the text as one line, with its control characters escaped.
pub fn one_line(text: &str) -> String {
    let mut line = Vec::new();
    escape(text.trim_end().as_bytes(), &mut line);
    String::from_utf8_lossy(&line).into_owned()
}

fn escape(text: &[u8], into: &mut Vec<u8>) {
    for byte in text {
        if byte.is_ascii_control() {
            into.extend(format!("\\x{byte:02x}").bytes());
        } else {
            into.push(*byte);
        }
    }
}

#[derive(Debug)]
struct ToStderr;

impl<'a> MakeWriter<'a> for ToStderr {
    type Writer = OneLine<io::StderrLock<'static>>;

    fn make_writer(&'a self) -> Self::Writer {
        OneLine(io::stderr().lock())
    }
}

/// A writer that writes each message as one line.
#[derive(Debug)]
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    /// Writes one message. The caller passes it as a whole, with the line feed at its end.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let mut line = Vec::with_capacity(message.len() + 8);
        let text = message.strip_suffix(b"\n").unwrap_or(message);
        escape(text, &mut line);
        if text.len() < message.len() {
            line.push(b'\n');
        }
        self.0.write_all(&line)?;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use resemble_core::Params;
    use resemble_index::Index;

    use super::*;
    use crate::state::{Shared, Topic};

    /// Returns the messages that this thread writes while `work` runs.
    pub(crate) fn heard(work: impl FnOnce()) -> String {
        heard_by(EnvFilter::new("info"), work)
    }

    fn heard_by(filter: EnvFilter, work: impl FnOnce()) -> String {
        use std::sync::Mutex;

        #[derive(Clone)]
        struct Lines(Arc<Mutex<Vec<u8>>>);
        impl Write for Lines {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = Lines(Arc::default());
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, work);
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    /// The filter names the common prefix of our crates. So messages of a crate that is added later
    /// are shown, too.
    #[test]
    fn every_crate_of_ours_is_heard_and_libraries_only_when_something_is_wrong() {
        let lines = heard_by(own_at("info"), || {
            tracing::info!(target: "resemble_scan::ingest", "of a crate");
            tracing::debug!(target: "resemble_scan::ingest", "of no use");
            tracing::info!(target: "notify", "of no use");
            tracing::warn!(target: "notify", "of a library");
        });
        assert!(
            lines.contains("of a crate") && lines.contains("of a library"),
            "{lines}"
        );
        assert!(!lines.contains("of no use"), "{lines}");
    }

    /// A remedy must not be shown as `Some("…")`.
    #[test]
    fn a_remedy_is_shown_as_it_is_or_not_at_all() {
        let index = Index::in_memory(&Params::default()).unwrap();
        let shared = Shared::new(Arc::new(index));
        let told = |reason: &str, remedy| {
            heard(|| shared.trouble(Topic::Index, Path::new("/r"), reason, remedy))
        };
        let with = told("the disk is full", Some("make room"));
        assert!(with.contains("remedy=\"make room\""), "{with}");
        let without = told("the disk is gone", None);
        assert!(
            without.contains("the disk is gone") && !without.contains("remedy"),
            "{without}"
        );
    }

    #[test]
    fn a_message_is_one_line_whatever_is_in_it() {
        let mut lines = OneLine(Vec::new());
        lines
            .write_all(b"cannot watch /r/a\nb\x1b[31m\x7f: no\n")
            .unwrap();
        assert_eq!(lines.0, b"cannot watch /r/a\\x0ab\\x1b[31m\\x7f: no\n");
        assert_eq!(one_line("a\nb\n"), "a\\x0ab");
    }
}
