//! The three questions of a setup.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use resemble_report::quote::quoted;

use super::Wanted;
use crate::error::{CliError, CliResult};
use crate::ui::Ui;

/// Asks at the terminal. Folders that were named on the command line are not asked for, nor is what
/// only a systemd of the user or a desktop could do, where there is none.
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
            .ok_or_else(|| CliError::Usage("nobody answered".to_owned()))?;
        Ok(line.map_err(CliError::Output)?.trim().to_owned())
    };
    let dirs = if named.is_empty() {
        let line = ask(&format!(
            "Which folders shall be watched? Several are separated by blanks. [{}]",
            quoted(home)
        ))?;
        folders(&line, home)
    } else {
        named.to_vec()
    };
    let login = has_systemd && yes(&ask("Start at every login? [Y/n]")?)?;
    let told = !has_desktop
        || yes(&ask(
            "Show a notification when a change makes a near-duplicate? [Y/n]",
        )?)?;
    Ok(Wanted { dirs, login, told })
}

/// The folders of a line; none means the home folder. A backslash keeps a blank in a name.
fn folders(line: &str, home: &Path) -> Vec<PathBuf> {
    let mut names = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, names.last_mut()) {
            ('\\', Some(name)) => name.extend(characters.next()),
            (' ', _) => names.push(String::new()),
            (_, Some(name)) => name.push(character),
            (_, None) => {}
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

/// What an answer to a yes-or-no question means; nothing means yes.
fn yes(answer: &str) -> CliResult<bool> {
    match answer.to_lowercase().as_str() {
        "" | "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(CliError::Usage(format!(
            "{} is neither yes nor no; nothing was done",
            quoted(Path::new(answer))
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let home = Path::new("/home/me");
        let named = |line: &str| -> Vec<String> {
            let folders = folders(line, home).into_iter();
            folders
                .map(|folder| folder.to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(named(""), ["/home/me"]);
        assert_eq!(named(" ~ "), ["/home/me"]);
        assert_eq!(named("~/a /b\\ c  d~"), ["/home/me/a", "/b c", "d~"]);
        assert_eq!((yes("").unwrap(), yes("NO").unwrap()), (true, false));
        assert!(yes("maybe").is_err());
    }
}
