//! `resemble mcp`: a server of the Model Context Protocol on standard input and output.
//!
//! Each tool is a question of the command line. To ask it, this program starts itself again with
//! `--format json`. So figures and errors are those of the verb. The process that answers is chosen
//! in the same way, too. To cancel a question, the server ends the process that asks it.
//!
//! 1. **Nothing outside the roots.** Arguments are opened beneath a root, without following a link
//!    (`places`). Questions search only the roots. So rows, counts, totals, reasons and discounts
//!    are about files in the roots. A path outside the roots gets the same answer as a missing
//!    path.
//! 2. **Bounded answers.** The caller limits the rows and the bytes of an answer. The totals are
//!    always in it (`answers`).
//! 3. **Read-only.** No tool changes anything.

mod answers;
mod asking;
mod places;
mod server;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;

use resemble_arguments::{Global, McpArgs};
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::{CliError, CliResult, Outcome};

use places::Roots;
use server::Server;

/// Serves until standard input ends.
pub fn run(global: &Global, args: &McpArgs) -> CliResult {
    let here = [PathBuf::from(".")];
    let roots = if args.roots.is_empty() {
        &here[..]
    } else {
        &args.roots
    };
    let server = Server::new(Roots::open(roots)?, passed_on(global));
    let failed = |error: &dyn std::fmt::Display| CliError::Usage(format!("mcp: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let served = runtime.block_on(async {
        let mut ended = signal(SignalKind::terminate()).map_err(|error| failed(&error))?;
        let serve = async {
            match server.serve(stdio()).await {
                Ok(running) => running.waiting().await.map(drop).map_err(|e| failed(&e)),
                Err(error) => Err(failed(&error)),
            }
        };
        // A signal ends this `select!`. Then `serve` is dropped, which ends the processes that ask
        // questions.
        tokio::select! {
            served = serve => served,
            _ = ended.recv() => Ok(()),
        }
    });
    // A read of standard input may never return, so the runtime does not wait for it.
    runtime.shutdown_background();
    served.map(|()| Outcome::Holds)
}

/// Returns the options that decide which process answers. They are passed on to the processes that
/// ask questions.
fn passed_on(global: &Global) -> Vec<OsString> {
    let mut options = Vec::new();
    for (option, value) in [("--socket", &global.socket), ("--state", &global.state)] {
        if let Some(value) = value {
            options.extend([option.into(), value.clone().into_os_string()]);
        }
    }
    if global.local {
        options.push("--local".into());
    }
    options
}
