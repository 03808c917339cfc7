//! Makes `docs/cli-reference.md`: the help of every command on one page.
//!
//! The page is made from the help texts, and a test compares it with the file. So a change of an
//! option also shows up as a change of that file.

use std::fmt::Write as _;

use clap::CommandFactory;
use resemble_arguments::Cli;

/// Returns the page of `resemble`.
pub fn page() -> String {
    let head = "# The command line\n\n\
                Made from `resemble help --all` and the help of each command by \
                `cargo test -p resemble-cli` with `UPDATE_REFERENCE=1`; do not edit. \
                `resemble lab` has a [page of its own](lab-reference.md).\n";
    let mut page = head.to_owned();
    add(&mut at_width(Cli::listed(true)), "resemble", &mut page);
    add_below(&mut at_width(Cli::command()), "resemble", &mut page);
    page
}

/// Returns the page of the program `name`. `root` is its command line, and `head` the text above
/// it.
pub fn page_of(root: clap::Command, name: &str, head: &str) -> String {
    let mut page = head.to_owned();
    let mut root = at_width(root);
    add(&mut root, name, &mut page);
    add_below(&mut root, name, &mut page);
    page
}

fn at_width(root: clap::Command) -> clap::Command {
    let mut root = root.term_width(100);
    root.build();
    root
}

fn add(command: &mut clap::Command, name: &str, page: &mut String) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    // Writing to a string does not fail.
    write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap_or_default();
}

fn add_below(command: &mut clap::Command, name: &str, page: &mut String) {
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        let name = format!("{name} {}", sub.get_name());
        add(sub, &name, page);
        add_below(sub, &name, page);
    }
}
