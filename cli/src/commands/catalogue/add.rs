//! `resemble catalogue add`: keeps new catalogues, and updates kept ones.
//!
//! A delta is joined with the kept catalogue that it continues. The result replaces that catalogue.
//!
//! The daemon keeps a copy of the catalogue in its state folder, and adds the catalogue to its
//! index. Without a daemon, this process puts the copy into the same folder. A daemon that starts
//! later finds the copy there. This program reads the copy when a question names its label.

use std::path::Path;

use resemble_arguments::{AddArgs, Global};
use resemble_catalogue as catalogue;
use resemble_catalogue::delta::{self, Delta};
use resemble_proto::catalogued::is_label;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::human::counted;
use resemble_report::human::human_size;
use resemble_report::quote::quoted;

use super::kept::folder;
use super::write::bad_label;
use crate::backend;
use crate::commands::destination::Destination;
use crate::error::{CliError, CliResult, Outcome};
use crate::new_file::NewFile;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &AddArgs) -> CliResult {
    if args.label.is_some() && args.files.len() > 1 {
        return Err(CliError::Usage("--label is for one FILE".to_owned()));
    }
    if let Some(label) = args.label.as_deref().filter(|label| !is_label(label)) {
        return Err(bad_label(label));
    }
    for file in &args.files {
        let joined = if delta::is_delta(file) {
            Some(joined(&folder(env, global)?, file)?)
        } else {
            None
        };
        let whole = joined.as_ref().map_or(file.as_path(), |(it, _)| it.path());
        let catalogue = catalogue::open(whole)?;
        let own = joined.as_ref().map(|(_, label)| label);
        let own = own.unwrap_or(&catalogue.head().details.label);
        let label = args.label.clone().unwrap_or_else(|| own.clone());
        let totals = catalogue.totals()?;
        keep(ui, env, global, whole, &label)?;
        ui.note(&format!(
            "{} is kept as {label}: ({} with {})",
            quoted(file),
            counted(totals.files, "file"),
            human_size(totals.bytes)
        ));
    }
    Ok(Outcome::Holds)
}

/// Joins a delta with the kept catalogue that it continues. Returns the result and its label.
fn joined(folder: &Path, file: &Path) -> CliResult<(NewFile, String)> {
    let delta = Delta::open(file)?;
    let kept = catalogue::kept(folder);
    let is_base = |label: &&String| {
        let kept = catalogue::file_of_label(folder, label);
        catalogue::claimed_checksum(&kept).as_ref() == Some(delta.base())
    };
    let label = kept.iter().find(is_base).cloned();
    let label = label.ok_or_else(|| {
        CliError::Usage(format!(
            "{} does not continue any catalogue that is kept: add the one that --since named, \
             or one with everything",
            quoted(file)
        ))
    })?;
    let mut whole = Destination::Output.begin()?;
    let base = catalogue::file_of_label(folder, &label);
    delta::join(&base, delta, &mut |piece| whole.take(piece))?;
    whole.complete()?;
    Ok((whole, label))
}

fn keep(ui: &mut Ui, env: &Env, global: &Global, file: &Path, label: &str) -> CliResult<()> {
    if !global.local {
        match backend::daemon(env, global) {
            Ok(daemon) => {
                let real = std::fs::canonicalize(file).map_err(CliError::file("read", file))?;
                let _progress = ui.progress("reading the catalogue");
                daemon.import(PathText::from(real), label.to_owned())?;
                return Ok(());
            }
            Err(error) if backend::is_daemon_required(env, global) => return Err(error),
            Err(error) => ui.detail(&error.to_string()),
        }
    }
    let (received, _) = catalogue::receive(&folder(env, global)?, file, label)?;
    Ok(received.keep()?)
}
