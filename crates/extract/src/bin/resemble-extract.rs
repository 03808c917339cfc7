//! Takes a file apart and prints its parts. It is for tests, and shows what resemble reads of a
//! file.
//!
//! `resemble-extract FILE` prints one line for each part and for everything that was skipped. With
//! `--text` it prints the texts themselves. With the hidden argument `--worker` it runs as the
//! worker.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use resemble_core::date::DocumentDate;
use resemble_extract::{Extractor, HEAD, Limits, Part, Role, Sink, Workers};

/// The hidden argument that makes this program run as the worker.
const WORKER: &str = "--worker";

/// Prints each part that it receives.
struct Printer {
    out: std::io::Stdout,
    texts: bool,
    part: Option<Part>,
    bytes: u64,
    number: u32,
}

impl Sink for Printer {
    fn begin(&mut self, part: Part) {
        self.part = Some(part);
        self.bytes = 0;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let is_text = self
            .part
            .as_ref()
            .is_some_and(|part| part.role == Role::Text);
        if self.texts && is_text {
            // The reader of this output may have closed it, so a failure to print is ignored.
            drop(self.out.write_all(bytes));
        }
    }

    fn end(&mut self) {
        self.line("");
    }

    fn drop_part(&mut self) {
        self.line(" dropped");
    }

    fn date(&mut self, date: DocumentDate) {
        let line = format!("{}: {}\n", date.source.name(), date.seconds);
        if !self.texts {
            drop(self.out.write_all(line.as_bytes()));
        }
    }
}

impl Printer {
    fn line(&mut self, more: &str) {
        if let Some(part) = self.part.take() {
            let parent = part
                .parent
                .map_or_else(|| "-".to_owned(), |parent| parent.to_string());
            let line = format!(
                "{} {:?} of {parent}: {} bytes {:?}{more}\n",
                self.number,
                part.role,
                self.bytes,
                String::from_utf8_lossy(&part.name),
            );
            if !self.texts {
                drop(self.out.write_all(line.as_bytes()));
            }
        }
        self.number += 1;
    }
}

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == WORKER) {
        return resemble_extract::worker();
    }
    let texts = arguments.first().is_some_and(|first| first == "--text");
    if texts {
        arguments.remove(0);
    }
    let mut code = ExitCode::SUCCESS;
    for path in arguments {
        if let Err(why) = print(&path, texts) {
            let line = format!("{}: {why}\n", path.to_string_lossy());
            drop(std::io::stderr().write_all(line.as_bytes()));
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn print(path: &std::ffi::OsStr, texts: bool) -> Result<(), Box<dyn std::error::Error>> {
    let program = vec![std::env::current_exe()?, WORKER.into()];
    let extractor = Extractor::new(Workers::OfOurs(program), Limits::default(), Vec::new());
    let file = std::fs::File::open(path)?;
    let mut head = Vec::new();
    (&file).take(HEAD as u64).read_to_end(&mut head)?;
    let format = extractor
        .format(path.as_bytes(), &head)
        .ok_or("nothing to take apart")?;
    let mut printer = Printer {
        out: std::io::stdout(),
        texts,
        part: None,
        bytes: 0,
        number: 0,
    };
    for (path, why) in extractor.extract(file.as_fd(), format, &mut printer)? {
        let line = format!("skipped {:?}: {why}\n", String::from_utf8_lossy(&path));
        drop(std::io::stderr().write_all(line.as_bytes()));
    }
    Ok(())
}
