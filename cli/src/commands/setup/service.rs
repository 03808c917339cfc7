//! Runs the daemon as a service of the user. The service is a unit of systemd, or a background
//! process if there is no systemd.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{fs, io};

use resemble_proto::places::{self, Env};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::error::{CliError, CliResult};
use crate::new_file::NewFile;

/// A unit of the user's systemd.
pub(in crate::commands) struct Unit {
    pub(in crate::commands) name: &'static str,
    /// The text of the unit. It is written if no package has installed the unit.
    text: &'static str,
}

pub(in crate::commands) const DAEMON: Unit = Unit {
    name: "resembled.service",
    text: include_str!("../../../../systemd/resembled.service"),
};

/// The unit that shows notifications.
pub(super) const NOTIFY: Unit = Unit {
    name: "resemble-notify.service",
    text: include_str!("../../../../systemd/resemble-notify.service"),
};

/// Returns whether a systemd runs for the user and answers.
pub(in crate::commands) fn is_there() -> bool {
    works(&["show-environment"])
}

/// Writes a unit file and returns its path. Returns `None` if the unit is already installed.
pub(super) fn install(env: &Env, unit: &Unit) -> CliResult<Option<PathBuf>> {
    if works(&["cat", unit.name]) {
        return Ok(None);
    }
    let folder = places::config_dir(env)?.with_file_name("systemd");
    let folder = folder.join("user");
    fs::create_dir_all(&folder).map_err(CliError::file("make", &folder))?;
    let path = folder.join(unit.name);
    NewFile::put(&path, unit.text.as_bytes())?;
    run(&["daemon-reload"])?;
    Ok(Some(path))
}

/// Starts a unit now, and also at every login if `at_login` is set.
pub(super) fn start(unit: &Unit, at_login: bool) -> CliResult<()> {
    if at_login {
        run(&["enable", "--now", unit.name])
    } else {
        run(&["start", unit.name])
    }
}

/// Stops a unit, and disables its start at login.
pub(super) fn stop(unit: &str) -> CliResult<()> {
    run(&["disable", "--now", unit])
}

fn systemctl(args: &[&str]) -> Command {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(args).stdin(Stdio::null());
    command
}

/// Runs `systemctl --user` without output, and returns whether it succeeds.
pub(in crate::commands) fn works(args: &[&str]) -> bool {
    let output = systemctl(args).output();
    output.is_ok_and(|output| output.status.success())
}

fn run(args: &[&str]) -> CliResult<()> {
    let output = systemctl(args).output();
    let output = output.map_err(CliError::file("run", Path::new("systemctl")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it failed");
    Err(CliError::Usage(format!(
        "systemctl --user {}: {said}",
        args.join(" ")
    )))
}

/// Starts the daemon in the background, in a process group of its own.
pub(super) fn start_alone(daemon: &Path, config: &Path, log: &Path) -> CliResult<Child> {
    let failed = CliError::file("write", log);
    let file = fs::File::create(log).map_err(&failed)?;
    let errors = file.try_clone().map_err(failed)?;
    Command::new(daemon)
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        .process_group(0)
        .current_dir("/")
        .spawn()
        .map_err(CliError::file("run", daemon))
}

/// The reason why no view can be mounted, and the command that remedies it.
#[derive(Debug)]
pub(in crate::commands) struct NoView {
    pub(in crate::commands) why: String,
    pub(in crate::commands) mend: &'static str,
}

/// Returns why no view can be mounted; `None` if a view can be mounted.
pub(in crate::commands) fn no_view() -> Option<NoView> {
    let mut device = fs::OpenOptions::new();
    if let Err(error) = device.read(true).write(true).open("/dev/fuse") {
        let mend = match error.kind() {
            io::ErrorKind::PermissionDenied => "sudo chmod 666 /dev/fuse",
            _ => "sudo modprobe fuse",
        };
        let why = format!("/dev/fuse: {error}");
        return Some(NoView { why, mend });
    }
    let has_helper = ["/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin"]
        .iter()
        .any(|folder| Path::new(folder).join("fusermount3").is_file());
    (!has_helper && !geteuid().is_root()).then(|| NoView {
        why: "there is no fusermount3".to_owned(),
        mend: "sudo apt install fuse3",
    })
}

/// Asks a process to end (SIGTERM).
pub(super) fn end(process: u32) -> CliResult<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(process) = process {
        let failed = CliError::file("end", Path::new("resembled"));
        kill_process(process, Signal::TERM).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}
