//! The options of `shell-init`.

use std::path::PathBuf;

use clap::Args;

use super::Shell;

pub(super) const EXAMPLES: &str = "\
Examples:
  eval \"$(resemble shell-init bash)\"
      In ~/.bashrc; then `ls report.txt/.similar` lists what resembles report.txt.
  resemble shell-init fish | source
      In ~/.config/fish/config.fish.";

/// `shell-init`
#[derive(Debug, Args)]
pub struct ShellInitArgs {
    /// Which shell
    #[arg(value_name = "SHELL", required_unless_present = "view")]
    pub shell: Option<Shell>,
    /// Print the path that PATH has in the view, where a `.similar` is; exit 1 if it has none
    // The shell functions pass on names as they are typed, and a name may begin with a dash.
    #[arg(long, value_name = "PATH", conflicts_with = "shell", hide = true)]
    #[arg(allow_hyphen_values = true)]
    pub view: Option<PathBuf>,
}
