//! `resemble completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::Shell as Generator;

use crate::args::{Cli, CompletionsArgs, Shell};
use crate::error::{CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &CompletionsArgs) -> CliResult {
    let shell = match args.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "resemble", &mut script);
    ui.write(|out| out.write_all(&script))?;
    Ok(Outcome::Holds)
}
