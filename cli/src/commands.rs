//! Has a module for each verb, and a module for each option that works like a verb.

mod alerts;
mod catalogue;
mod check;
mod compare;
mod completions;
mod conflicts;
mod covered;
mod destination;
mod digest;
mod dirs;
mod doctor;
mod dump;
mod find;
mod fold;
mod groups;
mod help;
mod holders;
mod lab;
mod man;
mod measure;
mod notify;
mod order;
mod pairs;
mod relay;
mod review;
#[cfg(all(test, feature = "schema"))]
#[path = "commands/tests/schemas.rs"]
mod schemas;
mod screen;
mod setup;
mod shell_init;
mod status;
mod sweeps;
mod sync;
mod templates;
mod text;
mod trash;
mod versions;
mod view;
mod watch;
mod why;

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use resemble_arguments::{Cli, Command, Global, GroupsArgs, Selection};
use resemble_proto::documents::SavedBody;
use resemble_proto::places::Env;
use resemble_proto::remote;
use resemble_proto::report::CommonParameters;
use resemble_report::plan::Plan;
use resemble_report::quote::quoted;
use resemble_report::saved::{Picked, Saved, SavedError};

use crate::error::{CliError, CliResult};
use crate::mcp;
use crate::ui::Ui;

pub use completions::print as print_completions;
pub use man::{pages, print as print_manual};
pub use sweeps::write_files;

/// Runs the command.
pub fn run(ui: &mut Ui, env: &Env, cli: Cli) -> CliResult {
    let global = &cli.global;
    if let Some(verb) = cli.command.of_the_daemon()
        && global.local
    {
        return Err(CliError::Usage(format!(
            "`{verb}` is for the daemon; --local disables it"
        )));
    }
    refuse_elsewhere(env, global, &cli.command)?;
    match cli.command {
        Command::Find(args) => find::run(ui, env, global, &args),
        Command::Pairs(args) => pairs::run(ui, env, global, &args),
        Command::Compare(args) => compare::run(ui, env, global, &args),
        Command::Covered(args) => covered::run(ui, env, global, &args),
        Command::Dirs(args) => dirs::run(ui, env, global, &args),
        Command::Groups(args) => groups(ui, env, global, &args),
        Command::Ui(args) => screen::run(ui, env, global, &args),
        Command::Templates(args) => templates::run(ui, env, global, &args),
        Command::Why(args) => why::run(ui, env, global, &args),
        Command::Status(args) => status::run(ui, env, global, &args),
        Command::Doctor(args) => doctor::run(ui, env, global, &args),
        Command::Sync(args) => sync::run(ui, env, global, &args),
        Command::Dump(args) => dump::run(ui, env, global, &args),
        Command::Catalogue(args) => catalogue::run(ui, env, global, &args.action),
        Command::Lost(args) => match &args.path {
            Some(path) => sweeps::lost::run(ui, env, global, &args, path),
            None => sweeps::links::run(ui, env, global, &args),
        },
        Command::History(args) => sweeps::history::run(ui, env, global, &args),
        Command::Versions(args) => versions::run(ui, env, global, &args),
        Command::Lab(args) => lab::run(global, &args),
        Command::Watch(args) => watch::run(ui, env, global, &args),
        Command::View(args) => view::run(ui, env, global, &args.action),
        Command::Alerts(args) => alerts::run(ui, env, global, &args),
        Command::Setup(args) => setup::run(ui, env, global, &args),
        Command::ShellInit(args) => shell_init::run(ui, env, global, &args),
        Command::Notify(args) => notify::run(ui, env, global, &args),
        Command::Relay => relay::run(env, global),
        Command::Measure => measure::run(),
        Command::Check(args) => check::run(ui, env, global, &args),
        Command::Mcp(args) => mcp::run(global, &args),
        Command::Text(args) => text::run(ui, &args),
        Command::Completions(args) => completions::print(ui, Cli::command(), args.shell),
        Command::Man(args) => man::print(ui, Cli::command(), args.dir.as_deref()),
        Command::Help(args) => help::run(&args),
        Command::Trash(args) => trash::run(ui, &args),
        Command::Digest(args) => digest::run(ui, &args),
    }
}

/// Runs `groups`, or the command that one of its options selects: `--files-from`, `--order`,
/// `--conflicts` or `--review`.
fn groups(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    groups::check(global, args)?;
    match &args.files_from {
        Some(list) => fold::run(ui, env, global, args, list),
        None if args.order => order::run(ui, env, global, args),
        None if args.conflicts => conflicts::run(ui, env, global, args),
        None if args.review => review::run(ui, env, global, args),
        None => groups::run(ui, env, global, args),
    }
}

/// Refuses commands that the daemon of another machine cannot answer. On that machine, the paths of
/// the command would name other files.
fn refuse_elsewhere(env: &Env, global: &Global, command: &Command) -> CliResult<()> {
    let socket = global.socket.as_deref().or(env.resemble_socket.as_deref());
    let Some(socket) = socket.filter(|socket| remote::is_remote(socket) && !global.local) else {
        return Ok(());
    };
    if command.asks_other_machines() {
        return Ok(());
    }
    let socket = socket.display();
    Err(CliError::Usage(format!(
        "{socket} answers `find`, `status`, `sync` and `watch list`; anything else is to be run \
         there: `ssh {socket} resemble ...`"
    )))
}

/// Returns the path of a program that is installed in the folder of this program.
fn installed(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(name);
    program.is_file().then_some(program)
}

/// Returns the filter for the rows of a saved report.
fn picked(selection: &Selection) -> Picked {
    Picked {
        include: selection.include.clone(),
        exclude: selection.exclude.clone(),
        min: selection.min,
        min_shared: selection.min_shared,
        min_size: Some(selection.min_size).filter(|size| *size > 0),
        top: selection.top,
        ..Picked::default()
    }
}

/// Reads a saved report of the verb whose body is `B`.
fn read_saved<B: SavedBody>(path: &Path) -> CliResult<Saved<B>> {
    let bytes = fs::read(path).map_err(CliError::file("read", path))?;
    parse_saved(path, Saved::parse(&bytes))
}

/// Returns the parsed value, or an error that names the file.
fn parse_saved<T>(path: &Path, parsed: Result<T, SavedError>) -> CliResult<T> {
    parsed.map_err(|why| CliError::Usage(format!("{} {why}", quoted(path))))
}

/// Prints a plan and the space that it would free.
fn print_plan(ui: &mut Ui, plan: &Plan) -> CliResult<()> {
    ui.write(|out| plan.write(out))?;
    ui.note(&format!(
        "a plan of {}; read it, then run it with sh",
        plan.summary()
    ));
    Ok(())
}

/// Returns the `parameters` that all questions about similar files have in common.
pub fn common_parameters(
    selection: &Selection,
    exact: bool,
    params: &resemble_core::Params,
) -> CommonParameters {
    CommonParameters {
        min: selection.min.unwrap_or_default(),
        min_shared: selection.min_shared.unwrap_or(CommonParameters::MIN_SHARED),
        min_size: selection.min_size,
        include: selection.include.clone(),
        exclude: selection.exclude.clone(),
        top: selection.top,
        exact,
        params: params.to_string(),
    }
}
