//! Runs `resemble` and `resembled` in a private home with a tree to watch.
//!
//! No function of this module sleeps. A daemon is ready when it sends `READY=1` to its notification
//! socket. A change is indexed when `resemble sync` returns. A process is gone when `wait` returns.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal};

use crate::{Differences, Ran, TempTree, start_ready};

/// Builds the two programs and returns the folder that has them.
///
/// A test of one package does not know the paths of another package's binaries. So this function
/// builds the programs. It derives the folder where Cargo puts them from the path of the test
/// itself. `RESEMBLE_PROGRAMS=FOLDER` names a folder of programs that are already built.
pub fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        if let Some(built) = std::env::var_os("RESEMBLE_PROGRAMS") {
            return built.into();
        }
        let me = std::env::current_exe().expect("the test has a path");
        let profile = me
            .parent()
            .and_then(Path::parent)
            .expect("target/PROFILE/deps/test");
        let mut build = Command::new(env!("CARGO"));
        // `cargo test` unifies features over the development dependencies of all workspace members.
        // `cargo build` does this only if it builds a test or an example, so an example is named
        // here. With other features, Cargo would compile half of the libraries a second time.
        build.args(["build", "--quiet", "--example", "sampling"]);
        build.args(["--bin", "resemble", "--bin", "resembled"]);
        if profile.file_name() == Some(OsStr::new("release")) {
            build.arg("--release");
        }
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        build.arg("--manifest-path").arg(manifest);
        assert!(
            build.status().expect("cargo runs").success(),
            "the programs do not build"
        );
        profile.to_path_buf()
    })
}

/// A temporary folder with a private home and a tree to watch. The folder is removed when the
/// sandbox is dropped.
#[derive(Debug)]
pub struct Sandbox {
    dir: TempTree,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// Makes a sandbox with an empty `tree`.
    pub fn new() -> Self {
        let folders = ["home", "run", "state", "cache", "tree"];
        Self {
            dir: TempTree::with_folders(&folders),
        }
    }

    /// Returns a path in the sandbox.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path(name)
    }

    /// Returns the watched tree, or a path in it.
    pub fn tree(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("tree").join(name)
    }

    /// Returns the path of the overlay that [`Self::mounted`] mounts, or a path in it.
    pub fn mount(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("Similar").join(name)
    }

    /// Returns the path at which the daemon mounts the overlay by default, or a path in it.
    pub fn view(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("run/resemble/view").join(name)
    }

    /// Writes a file in the watched tree and creates the folders above it.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.dir.write(self.tree(name), bytes);
    }

    /// Returns a command that runs `resemble` or `resembled` in the sandbox's environment.
    pub fn program(&self, name: &str) -> Command {
        self.foreign(programs().join(name))
    }

    /// Returns a command that runs any program in the sandbox's environment.
    pub fn foreign(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.dir.root())
            .stdin(Stdio::null());
        command
    }

    /// Returns the value of PATH with `folder` in front.
    pub fn path_with(folder: &Path) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        std::env::join_paths(path).expect("a path")
    }

    /// Runs `resemble` with these arguments and waits until it ends.
    pub fn resemble<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        let output = self
            .program("resemble")
            .args(args)
            .output()
            .expect("resemble runs");
        output.into()
    }

    /// Starts `resembled` with these arguments and the path of the tree, and waits until it is
    /// ready.
    ///
    /// # Panics
    ///
    /// If the daemon ends before it is ready.
    pub fn daemon<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Daemon<'_> {
        let args = args.into_iter().map(|a| a.as_ref().to_owned());
        let args: Vec<OsString> = args.chain([self.path("tree").into_os_string()]).collect();
        self.start(self.program("resembled").args(args))
            .unwrap_or_else(|ran| panic!("resembled ended at once: {ran:?}"))
    }

    /// Starts a daemon like [`Self::daemon`], with the overlay mounted at [`Self::mount`].
    pub fn mounted<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Daemon<'_> {
        let mount = [OsString::from("--mount"), self.mount("").into_os_string()];
        self.daemon(
            mount
                .into_iter()
                .chain(args.into_iter().map(|a| a.as_ref().to_owned())),
        )
    }

    /// Starts a daemon with this command. If the daemon ends before it is ready, returns `Err` with
    /// its output.
    pub fn start(&self, command: &mut Command) -> Result<Daemon<'_>, Ran> {
        let log = self.path("daemon.log");
        let file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .expect("a log");
        command.stdout(Stdio::null()).stderr(file);
        let child = start_ready(command, &self.path("notify")).map_err(|status| Ran {
            code: status.code().unwrap_or(-1),
            out: Vec::new(),
            err: self.log(),
        })?;
        Ok(Daemon {
            sandbox: self,
            child,
        })
    }

    /// Returns everything that the daemons of this sandbox have written to standard error.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.path("daemon.log")).unwrap_or_default()).into_owned()
    }

    /// Scans the tree into a new index in memory and returns its canonical dump.
    pub fn fresh_dump(&self) -> Vec<u8> {
        let tree = self.path("tree");
        let args = ["dump", "--local", "--no-cache", "--canonical"].map(OsStr::new);
        self.resemble(args.into_iter().chain([tree.as_os_str()]))
            .success()
            .out
    }
}

/// A running `resembled`. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Daemon<'a> {
    sandbox: &'a Sandbox,
    child: Child,
}

impl Daemon<'_> {
    /// Waits until every earlier change is in the index and the overlay.
    #[track_caller]
    pub fn sync(&self) {
        self.sandbox
            .resemble(["sync", "--timeout", "110"])
            .success();
    }

    /// Returns the canonical dump of the daemon's index.
    #[track_caller]
    pub fn dump(&self) -> Vec<u8> {
        let tree = self.sandbox.path("tree");
        let args = ["dump", "--canonical"].map(OsStr::new);
        self.sandbox
            .resemble(args.into_iter().chain([tree.as_os_str()]))
            .success()
            .out
    }

    /// Fails unless the daemon's index equals the index of a fresh scan.
    #[track_caller]
    pub fn assert_true(&self) {
        if let Err(differences) = self.compared() {
            panic!("{differences}");
        }
    }

    /// Waits until all earlier changes are in the index, and compares the daemon's index with the
    /// index of a fresh scan.
    #[track_caller]
    pub fn compared(&self) -> Result<(), Differences> {
        self.sync();
        self.difference()
    }

    /// Compares the two indexes like [`Self::compared`], without waiting for changes.
    #[track_caller]
    pub fn difference(&self) -> Result<(), Differences> {
        let found = Differences::between(&self.dump(), &self.sandbox.fresh_dump());
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// Limits the number of the daemon's open descriptors. If `most` is `None`, restores the
    /// daemon's first limit.
    pub fn limit_descriptors(&self, most: Option<u64>) {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        // The daemon inherited the limits of this process, so these are its first limits.
        let ours = getrlimit(Resource::Nofile);
        let limit = Rlimit {
            current: most.or(ours.current),
            ..ours
        };
        prlimit(Some(self.pid()), Resource::Nofile, limit).expect("a limit of a child");
    }

    /// Returns the number of descriptors that the daemon has open.
    pub fn descriptors(&self) -> u64 {
        let open = format!("/proc/{}/fd", self.child.id());
        fs::read_dir(open).expect("the daemon runs").count() as u64
    }

    /// Returns the output of `resemble status --format json`.
    pub fn status(&self) -> serde_json::Value {
        self.sandbox.resemble(["status", "--format", "json"]).json()
    }

    /// Returns the daemon's process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal to the daemon.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).expect("the daemon runs");
    }

    /// Ends the daemon cleanly and returns its exit code.
    pub fn stop(mut self) -> i32 {
        self.signal(Signal::TERM);
        self.child
            .wait()
            .expect("the daemon ends")
            .code()
            .unwrap_or(-1)
    }

    /// Kills the daemon, as a crash would, and leaves its overlay mounted.
    pub fn crash(mut self) {
        self.child.kill().expect("the daemon runs");
        self.child.wait().expect("the daemon ends");
        std::mem::forget(self);
    }

    /// Kills the daemon, as a crash would, and unmounts its overlay.
    pub fn kill(mut self) {
        self.child.kill().expect("the daemon runs");
        self.child.wait().expect("the daemon ends");
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            if std::thread::panicking() {
                eprintln!("--- log of resembled ---\n{}", self.sandbox.log());
            }
            drop(self.child.kill());
            drop(self.child.wait());
        }
        for point in [self.sandbox.mount(""), self.sandbox.view("")] {
            // Usually the overlay is already unmounted.
            let _gone = rustix::mount::unmount(&point, UnmountFlags::DETACH);
        }
    }
}
