//! Starts a daemon in a private folder for each test.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Instant;

use resemble_core::Params;
use resemble_index::Index;
use resemble_proto::client::{Client, Timeouts};
use resemble_proto::message::{AlertRow, StatusAnswer};
use resemble_proto::path::PathText;
use resemble_query::dump::dump;
use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};
use resemble_testutil::prose::lines;
use resemble_testutil::{TempTree, start_ready};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) use resemble_testutil::PATIENCE;

/// A folder with `tree`, `state` and `socket`.
pub(crate) struct Place {
    tree: TempTree,
    pub(crate) root: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        // The log is outside of the tree. Otherwise each message of the daemon would cause an event
        // for the daemon.
        let tree = TempTree::with_folders(&["tree", "logs"]);
        let root = tree.path("tree");
        Self { tree, root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree.path(name)
    }

    pub(crate) fn in_tree(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a text that has nothing in common with the text of any other seed.
    pub(crate) fn write(&self, name: &str, seed: u32) {
        self.write_text(name, &text(seed));
    }

    pub(crate) fn write_text(&self, name: &str, text: &str) {
        self.tree.write(self.in_tree(name), text);
    }

    /// Returns the command for the program in an environment of its own. The messages of the
    /// program are in [`Self::log`].
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_in(&[], args)
    }

    /// Returns the command for the program with `around` in front, so that the program `around`
    /// starts it.
    fn command_in(&self, around: &[&str], args: &[&str]) -> Command {
        let program = [around, &[env!("CARGO_BIN_EXE_resembled")]].concat();
        let mut command = Command::new(program[0]);
        command.args(&program[1..]);
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path("logs/log"))
            .unwrap();
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("RESEMBLE_STATE", self.path("state"))
            .env("RESEMBLE_SOCKET", self.path("socket"))
            .current_dir(self.path("."))
            .arg("-v")
            .args(no_mount(args))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command
    }

    /// Starts the daemon on the tree and waits until it is ready.
    pub(crate) fn start(&self) -> Daemon<'_> {
        self.start_with(&["tree"])
    }

    pub(crate) fn start_with(&self, args: &[&str]) -> Daemon<'_> {
        self.start_in(&[], args)
    }

    /// Starts the daemon by another program, which replaces itself with the daemon.
    pub(crate) fn start_in(&self, around: &[&str], args: &[&str]) -> Daemon<'_> {
        let child = start_ready(&mut self.command_in(around, args), &self.path("notify"))
            .unwrap_or_else(|status| panic!("{status}\n{}", self.log()));
        Daemon {
            place: self,
            child: Some(child),
        }
    }

    /// Runs the program until it ends by itself. Returns its exit status and messages.
    pub(crate) fn fails(&self, args: &[&str]) -> (ExitStatus, String) {
        let output = self.command(args).stderr(Stdio::piped()).output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }

    pub(crate) fn connect(&self) -> Result<Client, resemble_proto::client::ClientError> {
        Client::connect(
            &self.path("socket"),
            Timeouts {
                connect: PATIENCE,
                answer: PATIENCE,
            },
        )
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("logs/log")).unwrap_or_default()
    }

    /// Returns the dump of a new index after a scan of the tree.
    pub(crate) fn fresh_dump(&self) -> String {
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let roots = vec![RootOptions::new(&self.root)];
        let options = IngestOptions {
            roots,
            ..IngestOptions::default()
        };
        let targets = [Target::subtree(&self.root)];
        Ingest::new(Arc::clone(&index), options)
            .reconcile(&targets, &mut Unobserved)
            .unwrap();
        let mut lines = String::new();
        dump(
            &index.snapshot().unwrap(),
            std::slice::from_ref(&self.root),
            &mut |line| {
                lines.push_str(&line);
                lines.push('\n');
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        lines
    }
}

/// Returns `--no-mount` unless the test is about the view. Otherwise the daemons of all tests would
/// use the same mount point.
fn no_mount(args: &[&str]) -> Option<&'static str> {
    let is_shown = ["--mount", "--link"].iter().any(|arg| args.contains(arg));
    (!is_shown).then_some("--no-mount")
}

/// Returns some kilobytes of text that have nothing in common with the text of another seed.
pub(crate) fn text(seed: u32) -> String {
    lines(seed.into(), 100)
}

/// A running daemon, which is killed when this is dropped.
pub(crate) struct Daemon<'a> {
    place: &'a Place,
    child: Option<Child>,
}

impl Daemon<'_> {
    pub(crate) fn client(&self) -> Client {
        self.place
            .connect()
            .unwrap_or_else(|error| panic!("{error}\n{}", self.place.log()))
    }

    pub(crate) fn sync(&self) {
        self.client()
            .sync(Some(PATIENCE), &mut |_| ())
            .unwrap_or_else(|e| panic!("{e}\n{}", self.place.log()));
    }

    pub(crate) fn status(&self) -> StatusAnswer {
        self.client().status().unwrap()
    }

    pub(crate) fn dump(&self) -> String {
        let rows = self.client().dump(Vec::new()).unwrap();
        rows.map(|row| row.unwrap().text).collect()
    }

    pub(crate) fn alerts(&self) -> Vec<AlertRow> {
        self.client().alerts().unwrap().rows
    }

    /// Checks that the live index, after a barrier, equals the index of a fresh scan.
    pub(crate) fn assert_converged(&self) {
        self.sync();
        let (live, fresh) = (self.dump(), self.place.fresh_dump());
        if live != fresh {
            let lines = |dump: &str| {
                dump.lines()
                    .map(str::to_owned)
                    .collect::<std::collections::BTreeSet<_>>()
            };
            let (live, fresh) = (lines(&live), lines(&fresh));
            let short = |line: &String| line.chars().take(200).collect::<String>();
            let extra: Vec<_> = live.difference(&fresh).map(short).take(10).collect();
            let lost: Vec<_> = fresh.difference(&live).map(short).take(10).collect();
            panic!(
                "only live: {extra:#?}\nonly fresh: {lost:#?}\n{}",
                self.place.log()
            );
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Ends the daemon by a signal that the daemon handles. Returns its exit status.
    pub(crate) fn terminate(mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.child.take().unwrap().wait().unwrap()
    }

    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // If a test has stopped the daemon by SIGSTOP, only SIGKILL ends it.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

pub(crate) fn wire(path: &Path) -> PathText {
    PathText::from(path)
}

/// Requests the status again and again until `is_so` accepts it.
pub(crate) fn status_when(
    daemon: &Daemon<'_>,
    is_so: impl Fn(&StatusAnswer) -> bool,
) -> StatusAnswer {
    let began = Instant::now();
    loop {
        let status = daemon.status();
        if is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "{status:?}");
    }
}
