//! Connects to the daemon of another machine through ssh.
//!
//! If the socket is given as `ssh://HOST`, ssh runs `resemble relay` on that host. The relay
//! connects its standard input and output to the socket of the daemon. So no service listens on the
//! network, and no further account or key is needed. The daemon treats the client as the user that
//! ssh logged in. Each connection is for one question and runs one process of ssh.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The prefix of the address of another machine.
const SCHEME: &[u8] = b"ssh://";

/// Another machine, and the path of its socket if that is not the default path of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// The address in the form that ssh accepts: `ssh://[USER@]HOST[:PORT]`.
    destination: OsString,
    /// The absolute path of the socket on that machine.
    socket: Option<OsString>,
}

/// Returns whether `socket` is an address of another machine.
pub fn is_remote(socket: &Path) -> bool {
    Host::of(socket).is_some()
}

impl Host {
    /// Parses `ssh://[USER@]HOST[:PORT][/PATH/OF/SOCKET]`. Returns `None` if `socket` is the path
    /// of a local socket.
    pub(crate) fn of(socket: &Path) -> Option<Self> {
        let bytes = socket.as_os_str().as_bytes();
        let rest = bytes.strip_prefix(SCHEME)?;
        let end = rest.iter().position(|&byte| byte == b'/');
        let (host, path) = rest.split_at(end.unwrap_or(rest.len()));
        Some(Self {
            destination: OsString::from_vec([SCHEME, host].concat()),
            socket: (path.len() > 1).then(|| OsString::from_vec(path.to_vec())),
        })
    }

    fn command(&self) -> Command {
        let mut ssh = Command::new("ssh");
        // `-T`: ssh allocates no terminal.
        ssh.arg("-T").arg("--").arg(&self.destination);
        ssh.args(["resemble", "relay"]);
        if let Some(socket) = &self.socket {
            ssh.arg("--socket").arg(for_shell(socket));
        }
        ssh
    }

    /// Starts ssh. Messages of ssh and of the other machine go to standard error.
    pub(crate) fn connect(&self) -> io::Result<Connection> {
        let (ours, theirs) = UnixStream::pair()?;
        let (input, output) = (OwnedFd::from(theirs.try_clone()?), OwnedFd::from(theirs));
        let ssh = self
            .command()
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .spawn()?;
        Ok(Connection {
            stream: ours,
            ssh: Some(ssh),
        })
    }
}

/// Quotes an argument for the shell of the other machine.
fn for_shell(argument: &OsString) -> OsString {
    let mut quoted = vec![b'\''];
    for &byte in argument.as_bytes() {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

/// A connection to a daemon. If it goes through ssh, it has the process of ssh.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: UnixStream,
    ssh: Option<Child>,
}

impl Connection {
    /// Waits until ssh has ended. Returns the reason why no hello line arrived. Returns `None`
    /// without ssh, or if waiting fails.
    pub(crate) fn end_of_ssh(&mut self) -> Option<String> {
        let mut ssh = self.ssh.take()?;
        self.stream.shutdown(Shutdown::Both).ok();
        let status = ssh.wait().ok()?;
        Some(match status.code() {
            Some(255) => "ssh cannot connect".to_owned(),
            Some(126 | 127) => "there is no `resemble` for ssh to run".to_owned(),
            _ => format!("`resemble relay` there ended with {status}"),
        })
    }
}

impl From<UnixStream> for Connection {
    fn from(stream: UnixStream) -> Self {
        Self { stream, ssh: None }
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.read(into)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(mut ssh) = self.ssh.take() {
            // The connection is not used any more, so ssh can be ended at once.
            self.stream.shutdown(Shutdown::Both).ok();
            ssh.kill().ok();
            ssh.wait().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn words(socket: &str) -> Option<Vec<String>> {
        let host = Host::of(&PathBuf::from(socket))?;
        let words = host.command();
        Some(
            words
                .get_args()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        )
    }

    #[test]
    fn what_ssh_is_asked_for() {
        let begin = |host: &str| ["-T", "--", host, "resemble", "relay"].map(str::to_owned);
        for host in ["ssh://nas", "ssh://me@nas:2222"] {
            assert_eq!(words(host).unwrap(), begin(host));
            assert_eq!(words(&format!("{host}/")).unwrap(), begin(host));
        }
        let with_socket = words("ssh://nas/srv/o'clock; rm/socket").unwrap();
        assert_eq!(with_socket[..5], begin("ssh://nas"));
        assert_eq!(
            with_socket[5..],
            ["--socket", r"'/srv/o'\''clock; rm/socket'"]
        );
        // `--` precedes the host, so that ssh does not take the host for an option.
        assert_eq!(words("ssh://-oProxyCommand=x").unwrap()[1], "--");
        for here in ["/run/resemble/socket", "ssh:/x", "socket", "./ssh://x"] {
            assert_eq!(words(here), None, "{here}");
            assert!(!is_remote(Path::new(here)));
        }
    }
}
