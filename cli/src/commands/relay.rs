//! `resemble relay`: joins standard input and output with the daemon's socket, for who asks from
//! another machine.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use resemble_proto::places::{self, Env};

use crate::args::Global;
use crate::error::{CliError, CliResult, Outcome};

pub(super) fn run(env: &Env, global: &Global) -> CliResult {
    let mut daemon = connect(env, global)?;
    let failed = |source| CliError::File {
        verb: "relay",
        path: "-".into(),
        source,
    };
    let mut asked = daemon.try_clone().map_err(failed)?;
    // Ends with the process, if not before.
    std::thread::spawn(move || {
        carry(io::stdin().lock(), &mut asked).ok();
        // Who asked has hung up, and wants no answer.
        asked.shutdown(Shutdown::Both).ok();
    });
    match carry(&mut daemon, io::stdout().lock()) {
        Ok(()) => Ok(Outcome::Holds),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Holds),
        Err(error) => Err(failed(error)),
    }
}

/// Hands on what comes as it comes, to the end. `io::copy` would have the kernel do it (`splice`),
/// which may wait at a pipe that has long been written to.
fn carry(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&piece[..count])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The socket of the user's daemon, else that of the system's.
fn connect(env: &Env, global: &Global) -> CliResult<UnixStream> {
    let is_named = global.socket.is_some() || env.resemble_socket.is_some();
    let own = places::socket_path(env, global.socket.as_deref(), global.state.as_deref());
    let why = match own {
        Ok(socket) => match UnixStream::connect(&socket) {
            Ok(stream) => return Ok(stream),
            Err(error) => CliError::NobodyAnswers(format!(
                "no daemon answers at {}: {error}",
                socket.display()
            )),
        },
        Err(nowhere) => nowhere.into(),
    };
    if is_named {
        return Err(why);
    }
    UnixStream::connect(Path::new(places::SYSTEM_SOCKET)).map_err(|_| why)
}
