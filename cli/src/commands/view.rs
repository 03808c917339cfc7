//! `resemble view`: asks the daemon to mount the overlay, or to unmount it.

use std::path::Path;

use resemble_arguments::{Global, OnArgs, ViewAction};
use resemble_proto::message::MountRow;
use resemble_proto::places::Env;
use resemble_report::quote::quoted;

use crate::backend;
use crate::commands::watch::absolute;
use crate::error::{CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, action: &ViewAction) -> CliResult {
    match action {
        ViewAction::On(args) => on(ui, env, global, args),
        ViewAction::Off { dir } => off(ui, env, global, dir.as_deref()),
    }
}

fn on(ui: &mut Ui, env: &Env, global: &Global, args: &OnArgs) -> CliResult {
    // Only the parent folder of the mount point is resolved. The mount point itself need not exist,
    // and an access to a dead mount would hang.
    let path = args.dir.as_deref().map(absolute).transpose()?;
    let row = backend::daemon(env, global)?.mount(path, args.view)?;
    if let Some(warning) = &row.warning {
        ui.note(warning);
    }
    if let Some(shown) = in_words(&row) {
        ui.note(&format!("mounted {shown}"));
    }
    Ok(Outcome::Holds)
}

fn off(ui: &mut Ui, env: &Env, global: &Global, dir: Option<&Path>) -> CliResult {
    let path = dir.map(absolute).transpose()?;
    let row = backend::daemon(env, global)?.unmount(path)?;
    if let Some(gone) = in_words(&row) {
        ui.note(&format!(
            "took away {gone}; `resemble view on` brings the view of the configuration back"
        ));
    }
    Ok(Outcome::Holds)
}

/// Describes the view and the link that leads to it.
fn in_words(row: &MountRow) -> Option<String> {
    let mount = row.mount.as_ref()?;
    let view = format!("the view {}", quoted(mount.path.as_path()));
    Some(match &mount.link {
        Some(link) => format!("{view} and the link {}", quoted(link.as_path())),
        None => view,
    })
}
