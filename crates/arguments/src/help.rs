//! The options of `help`.

use clap::Args;

/// `help`
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// The command to explain: `find`, `watch add`; without one, the common ones are listed
    #[arg(value_name = "VERB")]
    pub verbs: Vec<String>,
    /// List every command
    #[arg(long)]
    pub all: bool,
}
