//! A private home, and commands that run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Ran, TempTree, finish};

/// A folder with a home, a runtime folder and a working directory, and the program that is run
/// there.
#[derive(Debug)]
pub struct Environment {
    tree: TempTree,
    program: &'static str,
}

impl Environment {
    /// Creates an empty environment for the program at this path, usually
    /// `env!("CARGO_BIN_EXE_…")`.
    pub fn of(program: &'static str) -> Self {
        let tree = TempTree::with_folders(&["home", "run", "work"]);
        Self { tree, program }
    }

    /// Returns a path in the working directory, without symbolic links.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.tree.path("work").join(name)
    }

    /// Returns the path of the home folder.
    pub fn home(&self) -> PathBuf {
        self.tree.path("home")
    }

    /// Returns the path at which the program expects the socket of the daemon.
    pub fn socket(&self) -> PathBuf {
        self.tree.path("run/resemble/socket")
    }

    /// Writes a file of the working directory.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.tree.write(self.path(name), bytes)
    }

    /// Returns the command that runs the program with these arguments.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.at_home(self.program);
        command.args(args);
        command
    }

    /// Returns a command that runs another program in this environment. The command keeps PATH, so
    /// that the other program finds the programs that it needs.
    pub fn foreign(&self, program: &str) -> Command {
        let mut command = self.at_home(program);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn at_home(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("XDG_RUNTIME_DIR", self.tree.path("run"))
            .current_dir(self.path(""));
        command
    }

    /// Runs the program with these arguments and an empty standard input.
    #[must_use = "compare it with something"]
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.feed(args, b"")
    }

    /// Runs the program with these arguments and these bytes on standard input.
    #[must_use = "compare it with something"]
    pub fn feed<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, stdin: &[u8]) -> Ran {
        finish(&mut self.command(args), stdin)
    }
}
