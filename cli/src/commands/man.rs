//! `resemble man`: the manual pages, made from the help texts.

use std::io;
use std::path::Path;

use clap_mangen::Man;

use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

/// Prints the page of the program with this command line, or writes it and those of its commands
/// into a folder.
pub fn print(ui: &mut Ui, root: clap::Command, dir: Option<&Path>) -> CliResult {
    let pages = pages(root).map_err(CliError::Output)?;
    let Some(dir) = dir else {
        let (_, page) = &pages[0];
        ui.write(|out| out.write_all(page))?;
        return Ok(Outcome::Holds);
    };
    std::fs::create_dir_all(dir).map_err(CliError::file("write", dir))?;
    for (name, page) in pages {
        let path = dir.join(name);
        std::fs::write(&path, page).map_err(CliError::file("write", &path))?;
    }
    Ok(Outcome::Holds)
}

/// Every page with the name of its file. The page of the program comes first.
pub fn pages(mut root: clap::Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    // Gives each subcommand its global options and its full name.
    root.build();
    let mut pages = Vec::new();
    add(&root, root.get_name(), &mut pages)?;
    Ok(pages)
}

fn add(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    // `build` gave each command its full name, `resemble-find`.
    Man::new(command.clone()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        add(sub, &format!("{name}-{}", sub.get_name()), pages)?;
    }
    Ok(())
}
