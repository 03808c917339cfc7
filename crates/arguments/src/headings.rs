//! Lists the verbs of `resemble --help` under headings.

use std::fmt::Write as _;

use super::STYLES;

/// The headings of `--help`, each with the verbs that are listed under it.
const HEADINGS: [(&str, &[&str]); 4] = [
    (
        "Ask",
        &[
            "find", "why", "pairs", "groups", "compare", "covered", "dirs", "ui",
        ],
    ),
    ("Time and places", &["history", "lost", "catalogue"]),
    (
        "Watch",
        &["setup", "watch", "status", "alerts", "view", "doctor"],
    ),
    ("For programs", &["check", "text", "mcp"]),
];

/// The heading of the verbs that only `help --all` lists.
const OTHERS: &str = "Others";

/// Returns the command. Its help lists verbs under headings: those of [`HEADINGS`], or all verbs.
pub(super) fn listed(command: clap::Command, all: bool) -> clap::Command {
    let template = template(&command, all);
    command
        // The template has its own list of verbs, so clap's list is hidden.
        .mut_subcommands(|verb| verb.hide(true))
        .override_usage("resemble [OPTIONS] <COMMAND>")
        .help_template(template)
}

fn template(command: &clap::Command, all: bool) -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let is_common = |name: &str| HEADINGS.iter().any(|(_, verbs)| verbs.contains(&name));
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    let others: Vec<&str> = verbs.filter(|name| !is_common(name)).collect();
    let mut headings: Vec<(&str, &[&str])> = HEADINGS.to_vec();
    if all {
        headings.push((OTHERS, &others));
    }
    let names = headings.iter().flat_map(|(_, verbs)| *verbs);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = "{about-section}\n{usage-heading} {usage}\n".to_owned();
    for (heading, verbs) in headings {
        // Writing to a string does not fail.
        write!(text, "\n{header}{heading}:{header:#}\n").unwrap_or_default();
        for verb in verbs
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = verb.get_about().map(ToString::to_string);
            let (name, about) = (verb.get_name(), about.unwrap_or_default());
            let line = format!("  {literal}{name:<width$}{literal:#}  {about}\n");
            text.push_str(&line);
        }
    }
    let more = "\n`resemble help VERB` explains a command";
    text.push_str(more);
    if !all {
        text.push_str(", `resemble help --all` lists the others");
    }
    text.push_str(".\n\n{all-args}{after-help}");
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    fn help(all: bool) -> String {
        let help = Cli::listed(all).term_width(80).render_help();
        help.to_string()
    }

    fn verbs(help: &str) -> Vec<String> {
        let rows = help.lines().filter_map(|line| line.strip_prefix("  "));
        let words = rows.filter_map(|row| row.split_whitespace().next());
        let verbs = words.filter(|word| !word.starts_with('-'));
        verbs.map(str::to_owned).collect()
    }

    #[test]
    fn few_verbs_are_listed_and_help_all_lists_every_one() {
        let (common, all) = (help(false), help(true));
        let listed = verbs(&common);
        assert!(listed.len() <= 20, "{listed:?}");
        let of_headings: Vec<&str> = HEADINGS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        assert_eq!(listed, of_headings);
        let mut listed = verbs(&all);
        listed.sort();
        let mut every: Vec<String> = Cli::command()
            .get_subcommands()
            .map(|verb| verb.get_name().to_owned())
            .collect();
        every.sort();
        assert_eq!(listed, every);
        for line in common.lines().chain(all.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
