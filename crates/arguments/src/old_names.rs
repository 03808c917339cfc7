//! Old names of verbs. They still work, but no help lists them.

use std::ffi::OsString;

/// Each old name with the words that replace it.
const OLD_NAMES: [(&str, &[&str]); 5] = [
    ("ack", &["alerts", "ack"]),
    ("export", &["catalogue", "write"]),
    ("import", &["catalogue", "add"]),
    ("mount", &["view", "on"]),
    ("unmount", &["view", "off"]),
];

/// Replaces the old name of a verb by its present words. `root` defines the global options, of
/// which some take a value.
pub(super) fn renamed(
    args: impl IntoIterator<Item = OsString>,
    root: &clap::Command,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let mut at = verb_after(&args, 1, root);
    if args.get(at).is_some_and(|verb| verb == "help") {
        at = verb_after(&args, at + 1, root);
    }
    let old = args.get(at).and_then(|verb| verb.to_str());
    let found = OLD_NAMES.iter().find(|(name, _)| Some(*name) == old);
    if let Some((_, words)) = found {
        args.splice(at..=at, words.iter().map(OsString::from));
    }
    args
}

/// Returns the index of the verb: the first word from `at` on that is neither an option nor the
/// value of an option.
fn verb_after(args: &[OsString], mut at: usize, root: &clap::Command) -> usize {
    let has_value = |word: &str| {
        let long = word.strip_prefix("--");
        let option = root
            .get_arguments()
            .find(|option| option.get_long() == long);
        long.is_some() && option.is_some_and(|option| option.get_action().takes_values())
    };
    while let Some(word) = args.get(at).and_then(|arg| arg.to_str())
        && word.starts_with('-')
    {
        at += if has_value(word) { 2 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;

    #[test]
    fn only_the_verb_is_renamed() {
        let root = Cli::listed(false);
        let after = |line: &str| {
            let args = line.split(' ').map(OsString::from);
            let args = renamed(args, &root).into_iter();
            let words: Vec<_> = args.map(|arg| arg.into_string().unwrap()).collect();
            words.join(" ")
        };
        for (old, new) in [
            ("r ack a", "r alerts ack a"),
            (
                "r -q --local export . -o x",
                "r -q --local catalogue write . -o x",
            ),
            (
                "r --state import import import",
                "r --state import catalogue add import",
            ),
            ("r --socket=mount unmount", "r --socket=mount view off"),
            ("r help mount", "r help view on"),
        ] {
            assert_eq!(after(old), new);
        }
        for line in [
            "r find ack",
            "r --socket mount status",
            "r",
            "r watch add mount",
        ] {
            assert_eq!(after(line), line);
        }
    }
}
