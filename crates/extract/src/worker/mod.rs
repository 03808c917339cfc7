//! The worker: a process that reads formats.
//!
//! A worker is started for one file, which is its standard input. The worker gives up every right,
//! takes the file apart and ends. It can reach only this file and the pipes that it writes to, and
//! it leaves nothing behind. A worker that executes a converter keeps more rights ([`limits`]).
//!
//! If a library panics, the worker catches the panic, and only the member that was being read is
//! lost. Anything worse ends the process, and the parent handles that.

mod limits;
mod order;

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, ExitStatus};

pub(crate) use order::{Order, Task};

use crate::format::Kind;
use crate::read::{LeftOut, Out, Source, Walk};

/// The exit code of a worker that could not read anything. The worker writes the reason to standard
/// error, after [`CANNOT_BECAUSE`].
const CANNOT: u8 = 3;

/// The prefix of the worker's own messages. A converter runs in the same process and may end with
/// any exit code. So the prefix distinguishes a message of the worker from a message of a
/// converter.
const CANNOT_BECAUSE: &str = "resemble-extract: ";

/// Returns the reason if a worker with this exit status and message could not read anything.
pub(crate) fn cannot_because(status: ExitStatus, message: &str) -> Option<&str> {
    let because = message.strip_prefix(CANNOT_BECAUSE)?;
    (status.code() == Some(i32::from(CANNOT))).then_some(because)
}

/// See [`crate::worker`].
pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Only the parent reads this message. A failure to write it is ignored, because there
            // is no other way to report it.
            drop(std::io::stderr().write_all(format!("{CANNOT_BECAUSE}{why}").as_bytes()));
            ExitCode::from(CANNOT)
        }
    }
}

fn run() -> Result<(), String> {
    let (order, command) = Order::from_args(std::env::args_os())?;
    limits::end_with_parent(order.parent)?;
    match order.task {
        Task::Convert => {
            limits::for_converter(&order.limits)?;
            let (program, arguments) = command.split_first().ok_or("no command")?;
            let error = Command::new(program).args(arguments).exec();
            Err(format!("{}: {error}", program.to_string_lossy()))
        }
        Task::Read(kind) => {
            let stdin = std::io::stdin();
            let source =
                Source::file(stdin.as_fd()).map_err(|error| format!("standard input: {error}"))?;
            limits::for_reader(&order.limits)?;
            std::panic::set_hook(Box::new(|_| ()));
            read(&order, kind, source);
            Ok(())
        }
        Task::Probe => {
            let fences = limits::for_reader(&order.limits)?;
            serde_json::to_writer(std::io::stdout(), &fences)
                .map_err(|error| format!("standard output: {error}"))
        }
    }
}

/// Takes the file apart. A failure is not reported here, because it occurs only if the parent has
/// closed the pipe.
fn read(order: &Order, kind: Kind, source: Source<'_>) {
    let out = Out::new(order.limits, source.len());
    let left_out = LeftOut {
        readers: order.leave_out.clone(),
        endings: order.not_these.clone(),
    };
    drop(Walk::new(out, order.limits, left_out).take_file(source, kind));
}
