//! `resemble-cli`: the command line.
//!
//! Everything that decides an answer is elsewhere; this crate turns arguments into a request,
//! finds somebody to answer it, and prints what comes back:
//!
//! ```text
//! args ─► commands::VERB ─► names (real paths) ─► backend ─┬─► daemon (socket)
//!                                                         └─► local (query, cache)
//!       ui (quoting, colour, pager) ◄─┬─ lists (find, pairs …) ◄── the same proto answer
//!                                     └─ print, plans ◄─────── document ◄───┘      ▲
//!                                                          (compare, covered,     saved report
//!                                                           dirs, groups)           (--from)
//! ```
//!
//! * [`args`] is every option, with the help texts; parsing touches nothing of the system.
//! * [`commands`] has one file per verb; what all verbs that ask do is in [`question`].
//! * [`backend`] knows who answers, and hides who it was.
//! * [`lists`] prints answers that are lists; [`mod@print`] and [`plans`] print the documents of
//!   the questions about whole collections. What they print is made by `resemble_report`, which
//!   opens no file: [`evidence`] and [`plans`] read for it.
//! * [`mcp`] serves programs, with questions that this program is asked once more.
//! * `blocks` knows which files share their blocks.
//! * [`local_time`] knows the reader's time zone.
//! * `screen` is `resemble ui`, behind the feature `ui`.
//! * [`ui`] is the only place that prints; [`error`] the only one that knows exit codes.
#![forbid(unsafe_code)]

pub mod args;
pub mod backend;
mod blocks;
mod columns;
pub mod commands;
pub mod error;
pub mod evidence;
pub mod links;
pub mod lists;
pub mod local_time;
pub mod mcp;
pub mod names;
mod new_file;
mod owners;
pub mod plans;
pub mod print;
pub mod question;
pub mod reference;
#[cfg(feature = "ui")]
mod screen;
pub mod ui;
pub mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use resemble_proto::places::Env;

/// Runs the program with these arguments (the first is its name) and says how it ended.
pub fn run(args: impl IntoIterator<Item = OsString>, env: &Env) -> ExitCode {
    let cli = match args::Cli::of(args) {
        Ok(cli) => cli,
        // Help and version are answers (0), all else is usage (2); clap prints both itself.
        Err(error) => return ui::print_usage(&args::advised(error)),
    };
    let mut ui = ui::Ui::of_process(&cli.global);
    let outcome = commands::run(&mut ui, env, cli);
    ui.finish(outcome)
}
