//! `resemble relay`: connects standard input and output with the daemon's socket, for a client on
//! another machine.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use resemble_arguments::Global;
use resemble_proto::places::Env;

use crate::backend;
use crate::error::{CliError, CliResult, Outcome};

pub(super) fn run(env: &Env, global: &Global) -> CliResult {
    let (mut daemon, _) = backend::whose(env, global, connect)?;
    let failed = |source| CliError::File {
        verb: "relay",
        path: "-".into(),
        source,
    };
    let mut asked = daemon.try_clone().map_err(failed)?;
    // This thread ends at the end of standard input, or when the process ends.
    std::thread::spawn(move || {
        carry(io::stdin().lock(), &mut asked).ok();
        // The client has hung up, so it needs no more answers, and the connection is closed.
        asked.shutdown(Shutdown::Both).ok();
    });
    match carry(&mut daemon, io::stdout().lock()) {
        Ok(()) => Ok(Outcome::Holds),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Holds),
        Err(error) => Err(failed(error)),
    }
}

/// Copies bytes until the end of the input, and passes on each piece as it arrives. `io::copy`
/// would use `splice`, which may wait at a pipe that already has data.
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

fn connect(socket: &Path) -> CliResult<UnixStream> {
    UnixStream::connect(socket).map_err(|error| {
        let socket = socket.display();
        CliError::NobodyAnswers(format!("no daemon answers at {socket}: {error}"))
    })
}
