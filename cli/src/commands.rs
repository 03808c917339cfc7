//! One file per verb.

mod alerts;
mod completions;
mod dump;
mod find;
mod man;
mod mount;
mod pairs;
mod status;
mod sync;
mod unmount;
mod watch;

use resemble_proto::places::Env;
use resemble_proto::report::CommonParameters;

use crate::args::{Cli, Command, Selection};
use crate::error::{CliError, CliResult};
use crate::ui::Ui;

pub use man::pages;

/// Runs the command.
pub fn run(ui: &mut Ui, env: &Env, cli: Cli) -> CliResult {
    let global = &cli.global;
    if let Some(verb) = cli.command.of_the_daemon()
        && global.local
    {
        return Err(CliError::Usage(format!(
            "`{verb}` is for the daemon; with --local there is none to ask"
        )));
    }
    match cli.command {
        Command::Find(args) => find::run(ui, env, global, &args),
        Command::Pairs(args) => pairs::run(ui, env, global, &args),
        Command::Status(args) => status::run(ui, env, global, &args),
        Command::Sync(args) => sync::run(ui, env, global, &args),
        Command::Dump(args) => dump::run(ui, env, global, &args),
        Command::Watch(args) => watch::run(ui, env, global, &args),
        Command::Mount(args) => mount::run(env, global, &args),
        Command::Unmount(args) => unmount::run(env, global, &args),
        Command::Alerts(args) => alerts::run(ui, env, global, &args),
        Command::Completions(args) => completions::run(ui, &args),
        Command::Man(args) => man::run(ui, &args),
    }
}

/// The `parameters` that find and pairs share.
fn common_parameters(selection: &Selection, params: &resemble_core::Params) -> CommonParameters {
    CommonParameters {
        min: selection.min.unwrap_or_default(),
        min_shared: selection.min_shared.unwrap_or(CommonParameters::MIN_SHARED),
        min_size: selection.min_size,
        include: selection.include.clone(),
        exclude: selection.exclude.clone(),
        top: selection.top,
        exact: selection.exact,
        params: params.to_string(),
    }
}
