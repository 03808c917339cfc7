//! `resemble completions`: prints a completion script for a shell.

use clap_complete::Shell as Generator;
use resemble_arguments::Shell;

use crate::error::{CliResult, Outcome};
use crate::ui::Ui;

/// Prints the completion script for a program whose command line is `root`.
pub fn print(ui: &mut Ui, mut root: clap::Command, shell: Shell) -> CliResult {
    let shell = match shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    let name = root.get_name().to_owned();
    clap_complete::generate(shell, &mut root, name, &mut script);
    ui.write(|out| out.write_all(&script))?;
    Ok(Outcome::Holds)
}
