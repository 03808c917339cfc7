//! `resemble sync`: waits until every change made so far is in the daemon's index.

use resemble_arguments::{Global, SyncArgs};
use resemble_proto::message::FailureKind;
use resemble_proto::places::Env;

use crate::backend;
use crate::error::{CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &Ui, env: &Env, global: &Global, args: &SyncArgs) -> CliResult {
    let daemon = backend::daemon(env, global)?;
    let mut progress = ui.progress("waiting for the daemon to see every change");
    match daemon.sync(args.timeout, &mut |now| progress.hear(now)) {
        Ok(()) => Ok(Outcome::Holds),
        Err(error) if error.failure() == Some(FailureKind::Timeout) => Ok(Outcome::DoesNot),
        Err(error) => Err(error.into()),
    }
}
