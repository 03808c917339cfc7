//! `resemble man`: the manual pages, made from the help texts.

use std::io;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{Cli, ManArgs};
use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &ManArgs) -> CliResult {
    let pages = pages().map_err(CliError::Output)?;
    let Some(dir) = &args.dir else {
        let (_, page) = &pages[0];
        ui.write(|out| out.write_all(page))?;
        return Ok(Outcome::Holds);
    };
    let failed = |path: &std::path::Path| {
        let path = path.to_owned();
        move |source| CliError::File {
            verb: "write",
            path,
            source,
        }
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    for (name, page) in pages {
        let path = dir.join(name);
        std::fs::write(&path, page).map_err(failed(&path))?;
    }
    Ok(Outcome::Holds)
}

/// Every page with the name of its file; `resemble.1` first.
pub fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Cli::command();
    // Fills in what global options and names mean for each subcommand.
    root.build();
    let mut pages = Vec::new();
    add(&root, "resemble", &mut pages)?;
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
