//! The command line of the laboratory.
//!
//! ```text
//! args ─► find, pairs, groups, dump, export ─► chosen (method, parameters) ─► backend (files)
//!                    └─► rows ◄──────────────── the answer ◄──────────────────────┘
//! args ─► eval (the papers' experiments), completions, man
//! ```
//!
//! Parameters are checked before any file of the question is read. A parameter or a measure that
//! the method does not have is refused with exit code 2. The program asks no daemon: it answers
//! from a cache of its own. With `--shards` it starts further processes.

mod args;
mod backend;
mod chosen;
mod dump;
mod eval;
mod filter;
mod find;
mod groups;
mod rows;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use resemble_cli::commands::{print_completions, print_manual};
use resemble_cli::error::CliResult;
use resemble_cli::reference;
use resemble_cli::ui::{self, Ui};
use resemble_proto::places::Env;

use args::{Cli, Command};

/// Runs the program with these arguments, the first of which is its name. Returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, env: &Env) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return ui::print_usage(&error),
    };
    let mut ui = Ui::of_process(&cli.global.of_command());
    let outcome = answer(&mut ui, env, cli);
    ui.finish(outcome)
}

fn answer(ui: &mut Ui, env: &Env, cli: Cli) -> CliResult {
    let global = &cli.global.of_command();
    match cli.command {
        Command::Find(args) => find::run(ui, env, global, &args),
        Command::Pairs(args) => chosen::pairs(ui, env, global, &args),
        Command::Groups(args) => groups::run(ui, env, global, &args),
        Command::Dump(args) => dump::run(ui, env, global, &args),
        Command::Export(args) => dump::export(ui, env, global, &args),
        Command::Eval(args) => eval::run(ui, &args),
        Command::Completions(args) => print_completions(ui, Cli::command(), args.shell),
        Command::Man(args) => print_manual(ui, Cli::command(), args.dir.as_deref()),
    }
}

/// Returns the text of `docs/lab-reference.md`: the help of every command on one page.
pub fn reference_page() -> String {
    let head = "# The command line of the laboratory\n\n\
                Made from `resemble lab --help` and the help of each command by \
                `cargo test -p resemble-lab` with `UPDATE_REFERENCE=1`; do not edit. \
                What the methods are: [methods.md](methods.md).\n";
    reference::page_of(Cli::command(), "resemble lab", head)
}
