//! `resemble eval`: the papers' experiments on any folder.
//!
//! The folder is read and never written; all files of a report go into the folder of `-o`.

use std::fs;
use std::time::Instant;

use resemble_engine::eval::{self, Collection};

use crate::args::{EvalArgs, Experiment};
use crate::error::{CliError, CliResult, Outcome};
use crate::names;
use crate::quote::quoted;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &EvalArgs) -> CliResult {
    let folder = names::required_dir(&args.folder)?;
    let began = Instant::now();
    let clock = || began.elapsed().as_secs_f64();
    let report = {
        let _progress = ui.progress("experimenting");
        let collection = Collection::read(&folder.real, args.max_bytes)?;
        if collection.texts.is_empty() {
            return Err(CliError::Usage(format!(
                "{} has no text: nothing to make an experiment on",
                quoted(&args.folder)
            )));
        }
        match args.experiment {
            Experiment::Sif => eval::sif::report(&collection, &clock)?,
            Experiment::Forman => eval::forman::report(&collection, &clock)?,
            Experiment::Cherkasova => eval::cherkasova::report(&collection, &clock)?,
            Experiment::Kasprzak => eval::kasprzak::report(&collection, &clock)?,
            Experiment::Guide => eval::guide::report(&collection, &clock)?,
            Experiment::Anchors => eval::anchors::report(&collection)?,
        }
    };
    let failed = |path: &std::path::Path| {
        let path = path.to_owned();
        move |source| CliError::File {
            verb: "write",
            path,
            source,
        }
    };
    fs::create_dir_all(&args.output).map_err(failed(&args.output))?;
    let files = report.into_files();
    for (name, bytes) in &files {
        let path = args.output.join(name);
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    if let Some((page, _)) = files.first() {
        let path = args.output.join(page);
        ui.note(&format!(
            "{} files; the page is {}",
            files.len(),
            quoted(&path)
        ));
    }
    Ok(Outcome::Holds)
}
