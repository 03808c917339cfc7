//! The options of `setup`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub(super) const EXAMPLES: &str = "\
Examples:
  resemble setup
      Asks, and does the rest.
  resemble setup --yes ~/Documents ~/Mail
      For a script: these folders, started now and at every login.
  resemble setup --undo
      Takes everything back that it did.";

/// `setup`
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Folders to watch; if left out, it asks, or with --yes takes your home folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dirs: Vec<PathBuf>,
    /// Ask nothing
    #[arg(short, long)]
    pub yes: bool,
    /// With --yes: do not start at login
    #[arg(long, requires = "yes")]
    pub no_login: bool,
    /// With --yes: do not notify me of new near-duplicates
    #[arg(long, requires = "yes")]
    pub no_notify: bool,
    /// Take back what an earlier setup did
    #[arg(long, conflicts_with_all = ["dirs", "yes"])]
    pub undo: bool,
}
