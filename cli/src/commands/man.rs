//! `resemble man`: makes the manual pages from the help texts.
//!
//! In the text after the options of `--help`, the headings `Examples:` and `Exit codes:` become
//! sections of the manual page. Every page also has the exit codes, the files and the environment
//! of the whole program.

use std::io;
use std::path::Path;

use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::error::{CliError, CliResult, Outcome};
use crate::new_file::NewFile;
use crate::ui::Ui;

/// The environment section of all pages.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("RESEMBLE_SOCKET", "The daemon's socket; --socket decides."),
    ("RESEMBLE_STATE", "The state folder; --state decides."),
    (
        "NO_COLOR",
        "If it is set, no colours unless --color=always is given.",
    ),
    (
        "PAGER",
        "Shows long output on a terminal instead of less -FRX.",
    ),
    ("DIFF", "The program that resemble why --diff runs."),
    (
        "HOME, XDG_RUNTIME_DIR, XDG_STATE_HOME, XDG_CACHE_HOME, TMPDIR",
        "Where the files below are. An XDG variable counts only if it is an absolute path.",
    ),
];

/// The files section of all pages.
const FILES: [(&str, &str); 4] = [
    (
        "$XDG_RUNTIME_DIR/resemble/socket",
        "Where the daemon answers.",
    ),
    (
        "$XDG_RUNTIME_DIR/resemble/view",
        "The view, in which every file that is watched has a folder .similar.",
    ),
    (
        "~/.local/state/resemble/",
        "The daemon's index, alerts and roots, templates, and catalogues that were imported.",
    ),
    (
        "~/.cache/resemble/",
        "What commands have read, to answer sooner the next time. It may be removed at any time.",
    ),
];

/// The pages that each page refers to under SEE ALSO. A page does not refer to itself.
const SEE_ALSO: [(&str, &str); 4] = [
    ("resemble", "1"),
    ("resemble-lab", "1"),
    ("resembled.toml", "5"),
    ("resembled", "8"),
];

/// Prints the page of this command line. If `dir` is given, writes that page and the pages of all
/// subcommands to that folder.
pub fn print(ui: &mut Ui, root: clap::Command, dir: Option<&Path>) -> CliResult {
    let pages = pages(root).map_err(CliError::Output)?;
    let Some(dir) = dir else {
        let (_, page) = &pages[0];
        ui.write(|out| out.write_all(page))?;
        return Ok(Outcome::Holds);
    };
    std::fs::create_dir_all(dir).map_err(CliError::file("write", dir))?;
    for (name, page) in pages {
        NewFile::put(&dir.join(name), &page)?;
    }
    Ok(Outcome::Holds)
}

/// Returns all pages, each with the name of its file. The page of the program itself is first.
pub fn pages(mut root: clap::Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    // Gives each subcommand its global options and its full name.
    root.build();
    let program = Program {
        name: root.get_name().to_owned(),
        version: root.get_version().unwrap_or_default().to_owned(),
        exit_codes: After::of(&root).exit_codes,
    };
    let mut pages = Vec::new();
    program.add(&root, root.get_name(), &mut pages)?;
    Ok(pages)
}

/// Facts that all pages of one program have in common.
struct Program {
    name: String,
    version: String,
    exit_codes: Vec<String>,
}

impl Program {
    fn add(
        &self,
        command: &clap::Command,
        name: &str,
        pages: &mut Vec<(String, Vec<u8>)>,
    ) -> io::Result<()> {
        pages.push((format!("{name}.1"), self.page(command, name)?));
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            self.add(sub, &format!("{name}-{}", sub.get_name()), pages)?;
        }
        Ok(())
    }

    fn page(&self, command: &clap::Command, name: &str) -> io::Result<Vec<u8>> {
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").to_owned();
        // A page is made of the long help. So options that `-h` omits are made visible here.
        let whole = command.clone().mut_args(|arg| arg.hide_short_help(false));
        let man = Man::new(whole.override_usage(usage))
            // If the date were empty, the next field of the title line would be shown in its place.
            .date(" ")
            .source(format!("{} {}", self.name, self.version))
            .manual("User Commands");
        let mut page = Vec::new();
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
            man.render_subcommands_section(&mut page)?;
        }
        self.rest(command, name).to_writer(&mut page)?;
        Ok(page)
    }

    /// Returns the sections that follow the options.
    fn rest(&self, command: &clap::Command, name: &str) -> Roff {
        let mut roff = Roff::new();
        let after = After::of(command);
        if !after.notes.is_empty() {
            roff.control("SH", ["NOTES"]);
            notes(&mut roff, &after.notes);
        }
        if !after.examples.is_empty() {
            roff.control("SH", ["EXAMPLES"]);
            examples(&mut roff, &after.examples);
        }
        roff.control("SH", ["EXIT STATUS"]);
        exit_codes(&mut roff, &self.exit_codes);
        roff.control("SH", ["ENVIRONMENT"]);
        terms(&mut roff, bold, &ENVIRONMENT);
        roff.control("SH", ["FILES"]);
        terms(&mut roff, italic, &FILES);
        roff.control("SH", ["SEE ALSO"]);
        let others = SEE_ALSO.iter().filter(|(other, _)| *other != name);
        let mut line = Vec::new();
        for (other, section) in others {
            let before = if line.is_empty() { "" } else { ", " };
            line.extend([roman(before), bold(*other), roman(format!("({section})"))]);
        }
        roff.text(line);
        roff
    }
}

/// The text after the options, split at its headings.
#[derive(Default)]
struct After {
    examples: Vec<String>,
    exit_codes: Vec<String>,
    notes: Vec<String>,
}

impl After {
    /// Splits the text that follows the options. Indented lines belong to the heading before them;
    /// other lines are notes.
    fn of(command: &clap::Command) -> Self {
        let text = command.get_after_long_help().or(command.get_after_help());
        let text = text.map(ToString::to_string).unwrap_or_default();
        let mut after = Self::default();
        let mut section = &mut after.notes;
        for line in text.lines() {
            match line {
                "Examples:" => section = &mut after.examples,
                "Exit codes:" => section = &mut after.exit_codes,
                _ => {
                    let is_notes = !line.is_empty() && !line.starts_with(' ');
                    if is_notes {
                        section = &mut after.notes;
                    }
                    section.push(line.to_owned());
                }
            }
        }
        after
    }
}

/// Formats paragraphs. Columns that are aligned with blanks stay as they are.
fn notes(roff: &mut Roff, lines: &[String]) {
    for paragraph in lines.split(String::is_empty) {
        let is_set = paragraph.iter().any(|line| line.starts_with(' '));
        roff.control("PP", []);
        if is_set {
            roff.control("nf", []);
        }
        for line in paragraph {
            roff.text([roman(line)]);
        }
        if is_set {
            roff.control("fi", []);
        }
    }
}

/// Formats examples: commands indented by two columns, each with a description that is indented
/// further.
fn examples(roff: &mut Roff, lines: &[String]) {
    for line in lines.iter().filter(|line| !line.is_empty()) {
        if let Some(does) = line.strip_prefix("      ") {
            roff.control("RS", ["4"]);
            roff.text([roman(does)]);
            roff.control("RE", []);
        } else {
            roff.control("PP", []);
            roff.text([bold(line.trim_start())]);
        }
    }
}

/// Formats exit codes. A line is a number and its meaning; a continued line is indented further
/// than the number.
fn exit_codes(roff: &mut Roff, lines: &[String]) {
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let line = line.trim_start();
        match line.split_once("  ") {
            Some((code, means)) if code.parse::<u8>().is_ok() => {
                roff.control("TP", []);
                roff.text([bold(code)]);
                roff.text([roman(means)]);
            }
            _ => {
                roff.text([roman(line)]);
            }
        }
    }
}

fn terms(roff: &mut Roff, font: fn(&'static str) -> Inline, terms: &[(&'static str, &str)]) {
    for (term, means) in terms {
        roff.control("TP", []);
        roff.text([font(term)]);
        roff.text([roman(*means)]);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use resemble_arguments::Cli;

    /// Every option and argument of every page has a text.
    #[test]
    fn no_option_is_blank() {
        let pages = pages(Cli::command()).expect("pages");
        assert!(pages.len() > 30, "{}", pages.len());
        let mut seen = 0;
        for (name, page) in pages {
            let page = String::from_utf8(page).expect("text");
            for entry in page.split(".TP\n").skip(1) {
                let mut lines = entry.lines();
                let term = lines.next().unwrap_or_default();
                let text = lines.next().unwrap_or_default();
                let is_text =
                    !text.is_empty() && !text.starts_with('.') && !text.contains("Possible values");
                assert!(is_text, "{name}: {term} is followed by {text:?}");
                seen += 1;
            }
        }
        assert!(seen > 600, "{seen}");
    }
}
