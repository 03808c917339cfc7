//! `resemble-cli`: the command line.
//!
//! Other crates compute the answers. This crate turns arguments into a request, chooses the process
//! that answers, and prints the result:
//!
//! ```text
//! arguments ─► commands::VERB ─► names (real paths) ─► backend ─┬─► daemon (socket)
//!                                                               └─► local (query, cache)
//!       ui (quoting, colour, pager) ◄─┬─ lists (find, pairs …) ◄────── the same proto answer
//!                                     └─ print, plans ◄────── document ◄────┘      ▲
//!                                                          (compare, covered,     saved report
//!                                                           dirs, groups)           (--from)
//! ```
//!
//! * `resemble_arguments` has all options and their help texts; parsing touches nothing of the
//!   system.
//! * [`commands`] has one file per verb; [`question`] has the common steps of all questions.
//! * [`backend`] chooses the process that answers, and hides the choice.
//! * [`lists`] prints answers that are lists. [`mod@print`] and [`plans`] print the documents of
//!   the questions about whole collections. `resemble_report` makes these documents but opens no
//!   file: [`evidence`] and [`plans`] read the files that it needs.
//! * [`mcp`] serves programs; it asks each question by starting this program again.
//! * `blocks` finds the files that share their blocks.
//! * `interrupt` removes temporary files when a signal ends the process.
//! * [`ui`] prints results and messages. `resemble_screen` lays out two files in two columns and,
//!   behind the feature `ui`, draws the screen of `resemble ui`. [`error`] defines the exit codes.
#![forbid(unsafe_code)]

pub mod backend;
mod blocks;
pub mod commands;
pub mod error;
pub mod evidence;
mod interrupt;
pub mod links;
pub mod lists;
pub mod mcp;
pub mod names;
mod new_file;
mod owners;
pub mod plans;
pub mod print;
pub mod question;
pub mod reference;
pub mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use resemble_arguments::Cli;
use resemble_proto::places::Env;

/// Runs the program with these arguments and returns the exit code. The first argument is the name
/// of the program.
pub fn run(args: impl IntoIterator<Item = OsString>, env: &Env) -> ExitCode {
    let cli = match Cli::of(args) {
        Ok(cli) => cli,
        // clap prints help, version and errors itself. Help and version are answers (exit code 0).
        // All other errors are wrong usage (exit code 2).
        Err(error) => return ui::print_usage(&resemble_arguments::advised(error)),
    };
    let mut ui = ui::Ui::of_process(&cli.global);
    let outcome = commands::run(&mut ui, env, cli);
    ui.finish(outcome)
}
