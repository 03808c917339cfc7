//! The result of running a program.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The exit and the output of a program.
#[derive(Debug)]
pub struct Ran {
    /// The exit code, or -1 if a signal ended the program.
    pub code: i32,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: output.stdout,
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Returns standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Parses standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_slice(&self.out) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {self:?}"),
        }
    }

    /// Checks that the answer has no rows: the exit code is 1, standard output is empty, and
    /// standard error states what was compared.
    #[track_caller]
    pub fn found_nothing(&self) {
        assert_eq!((self.code, &*self.text()), (1, ""), "{self:?}");
        let said = self.err.starts_with("resemble: nothing found: compared ");
        assert!(said && self.err.lines().count() == 1, "{self:?}");
    }

    /// Checks that the exit code, standard output and standard error have exactly these values.
    #[track_caller]
    pub fn is(&self, code: i32, out: &str, err: &str) {
        assert_eq!((self.code, &*self.text(), &*self.err), (code, out, err));
    }

    /// Returns `self`, and fails unless the exit code is 0.
    #[track_caller]
    pub fn success(self) -> Self {
        self.exits(0)
    }

    /// Returns `self`, and fails unless the exit code is `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        let (out, err) = (self.text(), &self.err);
        assert_eq!(self.code, code, "stdout: {out}\nstderr: {err}");
        self
    }
}

/// Runs a prepared command with these bytes on standard input, and waits until the command ends.
#[must_use = "compare it with something"]
pub fn finish(command: &mut Command, stdin: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let bytes = stdin.to_vec();
    // The command may end before it has read its whole input, so a failed write is no error.
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap_or_default());
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    output.into()
}
