//! Runs a program with input and a time limit.
//!
//! The input is an anonymous file in memory, not a pipe. So a program that does not read its input
//! does not block this process. The program leads a process group, which is killed as a whole at
//! the time limit. No shell is involved, and no argument comes from an alert.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

/// A running program. Dropping this value kills the program.
#[derive(Debug)]
pub struct Running {
    child: Child,
    until: Instant,
    limit: Duration,
}

impl Running {
    /// Starts a program with this standard input.
    pub fn start<S: AsRef<OsStr>>(
        command: &[S],
        input: &[u8],
        limit: Duration,
    ) -> io::Result<Self> {
        let [program, args @ ..] = command else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        };
        let mut stdin = File::from(memfd_create("alert", MemfdFlags::CLOEXEC)?);
        stdin.write_all(input)?;
        stdin.rewind()?;
        let child = Command::new(program)
            .args(args)
            .stdin(stdin)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                let program = Path::new(program).display();
                io::Error::new(error.kind(), format!("cannot run {program}: {error}"))
            })?;
        Ok(Self {
            child,
            until: Instant::now() + limit,
            limit,
        })
    }

    /// Returns the result of the program; `None` while it runs within the time limit.
    pub fn ended(&mut self) -> Option<Result<(), String>> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(judge(status)),
            Ok(None) if Instant::now() < self.until => None,
            Ok(None) => Some(Err(format!("it took more than {:?}", self.limit))),
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

fn judge(status: ExitStatus) -> Result<(), String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(format!("it ended with exit code {code}")),
        (None, signal) => Err(format!("signal {} ended it", signal.unwrap_or(0))),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group is killed only while the program is not reaped, because the id of the group is
        // still valid then. After the program is reaped, the id may belong to another process.
        if let Ok(None) = self.child.try_wait() {
            let _ended = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _status = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(command: &[&str], input: &[u8], limit: Duration) -> Result<(), String> {
        let mut running = Running::start(command, input, limit).map_err(|e| e.to_string())?;
        loop {
            if let Some(ended) = running.ended() {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_program_reads_all_of_its_input_or_none() {
        let minute = Duration::from_secs(60);
        let large = vec![b'x'; 1 << 20];
        assert_eq!(ends(&["true"], &large, minute), Ok(()));
        assert_eq!(ends(&["grep", "-q", "x"], &large, minute), Ok(()));
        let failed = ends(&["false"], b"", minute).unwrap_err();
        assert!(failed.contains("exit code 1"), "{failed}");
        let missing = ends(&["/no/such/program"], b"", minute).unwrap_err();
        assert!(missing.contains("cannot run /no/such/program"), "{missing}");
    }

    /// Both `sh` and its child `sleep`, for which it waits, are killed at the time limit.
    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let alive = dir.path().join("alive");
        let script = format!("sleep 987 & echo $! > {}; wait", alive.display());
        let began = Instant::now();
        let hung = ends(&["sh", "-c", &script], b"", Duration::from_millis(500)).unwrap_err();
        assert!(hung.contains("more than 500ms"), "{hung}");
        assert!(began.elapsed() < Duration::from_secs(60));
        let child: u32 = std::fs::read_to_string(&alive)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let is_running = || {
            std::fs::read_to_string(format!("/proc/{child}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        let end = Instant::now() + Duration::from_secs(30);
        while is_running() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_running());
    }
}
