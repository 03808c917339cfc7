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
    /// Print the path in the view that corresponds to PATH, which has a `.similar` in it; exit 1
    /// if there is no such path
    #[arg(long, value_name = "PATH", conflicts_with = "shell", hide = true)]
    pub view: Option<PathBuf>,
}
