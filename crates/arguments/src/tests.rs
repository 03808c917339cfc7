use super::*;
use clap::CommandFactory;

/// The most important options fit on one screen; `--help` has the rest.
#[test]
fn short_help_is_one_screen() {
    fn lines(command: &mut clap::Command, name: &str, all: &mut Vec<(String, usize)>) {
        for sub in command.get_subcommands_mut() {
            let name = format!("{name} {}", sub.get_name());
            lines(sub, &name, all);
            all.push((name, sub.render_help().to_string().lines().count()));
        }
    }
    let mut root = Cli::command().term_width(80);
    root.build();
    let mut all = Vec::new();
    lines(&mut root, "", &mut all);
    assert!(all.len() > 35, "{all:?}");
    // `find` is the verb that people try first. Its help leaves two lines of the screen for the
    // command line and the next prompt.
    let most = |name: &str| if name == " find" { 22 } else { 24 };
    all.retain(|(name, lines)| *lines > most(name));
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn clap_finds_nothing_wrong() {
    Cli::command().debug_assert();
}

/// The shell functions ask for a path as the user types it, so it may look like an option.
#[test]
fn a_path_in_the_view_may_begin_with_a_dash() {
    for path in ["-x/.similar", "--quiet/.similar", ".similar"] {
        let parsed = Cli::try_parse_from(["resemble", "shell-init", "--view", path]);
        let shown = format!("{parsed:?}");
        assert!(parsed.is_ok() && shown.contains(path), "{shown}");
    }
}

/// Limits the number of options in the `--help` of four commands: a new option should replace
/// another.
#[test]
fn commands_have_few_options() {
    let mut root = Cli::command();
    root.build();
    for (verb, most) in [("find", 27), ("pairs", 26), ("groups", 38), ("dump", 15)] {
        let command = root.find_subcommand(verb).expect(verb);
        let options = command.get_opts().chain(
            command
                .get_arguments()
                .filter(|arg| !arg.is_positional() && !arg.get_action().takes_values()),
        );
        let listed: Vec<&str> = options
            .filter(|option| !option.is_hide_set())
            .filter_map(clap::Arg::get_long)
            .collect();
        assert!(
            listed.len() <= most,
            "{verb}: {} of {most}: {listed:?}",
            listed.len()
        );
    }
}

/// Every option and argument of every command has a help text. None ends in a period, as in other
/// programs.
#[test]
fn everything_has_help() {
    fn check(command: &clap::Command) {
        for arg in command.get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.is_empty(), "{} {}", command.get_name(), arg.get_id());
            assert!(
                !help.ends_with('.'),
                "{} {}: {help}",
                command.get_name(),
                arg.get_id()
            );
            assert!(
                arg.is_positional() || arg.get_long().is_some(),
                "{} has no long name",
                arg.get_id()
            );
        }
        command.get_subcommands().for_each(check);
    }
    check(&Cli::command());
}
