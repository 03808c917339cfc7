//! `resemble help`: prints the list of the verbs, or the help of one verb.

use clap::CommandFactory;
use resemble_arguments::{Cli, HelpArgs};

use crate::error::{CliError, CliResult, Outcome};

pub(super) fn run(args: &HelpArgs) -> CliResult {
    if let Some(verb) = args.verbs.first().filter(|_| args.all) {
        let why = format!("--all lists every command: leave it out to have '{verb}' explained");
        return Err(CliError::Usage(why));
    }
    let mut root = if args.verbs.is_empty() {
        Cli::listed(args.all)
    } else {
        Cli::command()
    };
    // Gives each subcommand its global options and its full name.
    root.build();
    let mut command = &mut root;
    for verb in &args.verbs {
        command = command
            .find_subcommand_mut(verb)
            .ok_or_else(|| CliError::Usage(format!("unrecognized subcommand '{verb}'")))?;
    }
    command.print_long_help().map_err(CliError::Output)?;
    Ok(Outcome::Holds)
}
