//! `resemble mount`: asks the daemon for the overlay.

use resemble_proto::places::Env;

use crate::args::{Global, MountArgs};
use crate::backend;
use crate::commands::watch::absolute;
use crate::error::{CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &MountArgs) -> CliResult {
    // Only the folder above it is resolved: the mount point need not exist, and a dead mount cannot
    // be looked at.
    let path = absolute(&args.dir)?;
    let warning = backend::daemon(env, global)?.mount(path, args.view)?;
    if let Some(warning) = warning {
        ui.note(&warning);
    }
    Ok(Outcome::Holds)
}
