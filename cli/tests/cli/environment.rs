//! A private home, and how the binary is run in it. The tests of `resemble-lab` stand on it as
//! well.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with a home, a runtime folder and a working directory.
pub(crate) struct Environment {
    temp: tempfile::TempDir,
}

/// How a run of the command ended, and what it wrote.
#[derive(Debug)]
#[must_use = "compare it with something"]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// The JSON on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        match serde_json::from_slice(&self.out) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {self:?}"),
        }
    }

    /// Nothing found is an answer: code 1, no rows, and what was compared.
    #[track_caller]
    pub(crate) fn found_nothing(&self) {
        assert_eq!((self.code, &*self.text()), (1, ""), "{self:?}");
        let said = self.err.starts_with("resemble: nothing found: compared ");
        assert!(said && self.err.lines().count() == 1, "{self:?}");
    }

    /// Exit code, standard output and standard error, all of them.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, out: &str, err: &str) {
        assert_eq!((self.code, &*self.text(), &*self.err), (code, out, err));
    }
}

impl Environment {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["home", "run", "work"] {
            std::fs::create_dir(temp.path().join(dir)).unwrap();
        }
        Self { temp }
    }

    /// A path in the working directory, without symbolic links.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.temp
            .path()
            .canonicalize()
            .unwrap()
            .join("work")
            .join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// Where the command looks for the daemon.
    pub(crate) fn socket(&self) -> PathBuf {
        self.temp.path().join("run/resemble/socket")
    }

    /// Writes a file of the working directory.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The command, not yet run.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("XDG_RUNTIME_DIR", self.temp.path().join("run"))
            .current_dir(self.path(""));
        command
    }

    /// Runs the command with nothing on standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.feed(args, b"")
    }

    /// Runs the command with these bytes on standard input.
    pub(crate) fn feed<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> Ran {
        finish(&mut self.command(args), stdin)
    }
}

/// Runs a prepared command to its end.
pub(crate) fn finish(command: &mut Command, stdin: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    // The command may end without reading all.
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap_or_default());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Text that resembles nothing else: `paragraphs` of it, all different for different seeds.
pub(crate) fn prose(seed: u64, paragraphs: usize) -> String {
    const WORDS: [&str; 24] = [
        "river", "stone", "winter", "harbour", "letter", "machine", "garden", "silver", "market",
        "window", "copper", "forest", "island", "kettle", "ladder", "meadow", "needle", "orchard",
        "pepper", "quarry", "ribbon", "saddle", "thunder", "velvet",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..paragraphs {
        for _ in 0..40 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(WORDS[(state % 24) as usize]);
            text.push_str(&(state >> 40).to_string());
            text.push(' ');
        }
        text.push('\n');
    }
    text
}
