//! Asks the three questions of a setup.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use resemble_proto::message::reason;
use resemble_report::quote::quoted;

use super::Wanted;
use crate::error::{CliError, CliResult};
use crate::ui::Ui;

/// Asks the questions at the terminal and returns the answers. Asks for folders only if the command
/// line names none. Asks about login only if systemd runs for the user, and about notifications
/// only if there is a desktop.
pub(super) fn wanted(
    ui: &mut Ui,
    home: &Path,
    named: &[PathBuf],
    (has_systemd, has_desktop): (bool, bool),
) -> CliResult<Wanted> {
    if !io::stdin().is_terminal() || !ui.is_terminal() {
        return Err(CliError::Usage(
            "setup asks questions, and there is no terminal to answer them: add --yes".to_owned(),
        ));
    }
    let mut lines = io::stdin().lock().lines();
    let mut ask = |question: &str| -> CliResult<String> {
        ui.write(|out| {
            write!(out, "{question} ")?;
            out.flush()
        })?;
        let line = lines
            .next()
            .ok_or_else(|| CliError::Usage("there was no answer".to_owned()))?;
        Ok(line.map_err(CliError::Input)?.trim().to_owned())
    };
    let dirs = if named.is_empty() {
        let question = format!(
            "Which folders shall be watched? Several are separated by blanks. [{}]",
            quoted(home)
        );
        until_understood(&mut ask, &question, |line| folders(line, home))?
    } else {
        named.to_vec()
    };
    let mut is_yes = |question: &str| until_understood(&mut ask, question, yes);
    let login = has_systemd && is_yes("Start at every login? [Y/n]")?;
    let told =
        !has_desktop || is_yes("Show a notification when a change makes a near-duplicate? [Y/n]")?;
    Ok(Wanted { dirs, login, told })
}

/// Repeats a question until the answer is valid, and reports each error.
fn until_understood<T>(
    ask: &mut impl FnMut(&str) -> CliResult<String>,
    question: &str,
    understood: impl Fn(&str) -> Result<T, String>,
) -> CliResult<T> {
    let mut asked = question.to_owned();
    loop {
        match understood(&ask(&asked)?) {
            Ok(answer) => return Ok(answer),
            Err(why) => asked = format!("{why}.\n{question}"),
        }
    }
}

/// Returns the folders that a typed line names. All of them must exist. An empty line means the
/// home folder.
fn folders(line: &str, home: &Path) -> Result<Vec<PathBuf>, String> {
    let folders = named(line, home);
    let wrong = folders.iter().find_map(|folder| {
        let is_dir = std::fs::metadata(folder).map(|meta| meta.is_dir());
        match is_dir {
            Ok(true) => None,
            Ok(false) => Some(format!("{} is no folder", quoted(folder))),
            Err(error) => Some(format!("{}: {}", quoted(folder), reason(&error))),
        }
    });
    wrong.map_or(Ok(folders), Err)
}

/// Splits a typed line into the names of folders. A backslash or quotes keep a blank in a name, and
/// `~` is the home folder.
fn named(line: &str, home: &Path) -> Vec<PathBuf> {
    let mut names = vec![String::new()];
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let Some(name) = names.last_mut() else {
            break;
        };
        match (character, quote) {
            ('\\', None | Some('"')) => name.extend(characters.next()),
            ('"' | '\'', None) => quote = Some(character),
            (end, Some(open)) if end == open => quote = None,
            (' ' | '\t', None) => names.push(String::new()),
            _ => name.push(character),
        }
    }
    names.retain(|name| !name.is_empty());
    if names.is_empty() {
        return vec![home.to_owned()];
    }
    let real = |name: String| match (name.strip_prefix("~/"), name.as_str()) {
        (Some(below), _) => home.join(below),
        (None, "~") => home.to_owned(),
        (None, _) => PathBuf::from(name),
    };
    names.into_iter().map(real).collect()
}

/// Parses the answer to a yes-or-no question. An empty answer means yes.
fn yes(answer: &str) -> Result<bool, String> {
    match answer.to_lowercase().as_str() {
        "" | "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(format!(
            "{} is neither yes nor no",
            quoted(Path::new(answer))
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let home = Path::new("/home/me");
        let named = |line: &str| -> Vec<String> {
            let folders = named(line, home).into_iter();
            folders
                .map(|folder| folder.to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(named(""), ["/home/me"]);
        assert_eq!(named(" ~ "), ["/home/me"]);
        assert_eq!(named("~/a /b\\ c  d~"), ["/home/me/a", "/b c", "d~"]);
        assert_eq!(
            named("\"~/My Documents\" 'b c'/d"),
            ["/home/me/My Documents", "b c/d"]
        );
        assert_eq!((yes("").unwrap(), yes("NO").unwrap()), (true, false));
        assert!(yes("maybe").is_err());
        let wrong = folders("/ /no/such", home).unwrap_err();
        assert_eq!(wrong, "/no/such: No such file or directory");
        assert_eq!(folders("/", home).unwrap(), [Path::new("/")]);
    }

    #[test]
    fn a_typing_error_is_asked_about_again() {
        let mut answers = ["maybe", "N"].into_iter();
        let mut asked = Vec::new();
        let mut ask = |question: &str| {
            asked.push(question.to_owned());
            Ok(answers.next().unwrap().to_owned())
        };
        assert!(!until_understood(&mut ask, "Really? [Y/n]", yes).unwrap());
        assert_eq!(
            asked,
            [
                "Really? [Y/n]",
                "maybe is neither yes nor no.\nReally? [Y/n]"
            ]
        );
    }
}
