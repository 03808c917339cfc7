//! `resemble catalogue join`: an old catalogue and what has changed since are the new one.

use std::path::Path;

use resemble_catalogue::delta::{self, Delta};
use resemble_catalogue::{self as catalogue, Totals};
use resemble_report::human::{counted, human_size};
use resemble_report::quote::quoted;

use super::new_file::{Destination, NewFile};
use crate::args::{CatalogueAction, CatalogueArgs, JoinArgs};
use crate::error::{CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &CatalogueArgs) -> CliResult {
    match &args.action {
        CatalogueAction::Join(args) => join(ui, args),
    }
}

fn join(ui: &mut Ui, args: &JoinArgs) -> CliResult {
    let to = Destination::of(&args.output)?;
    // A delta that cannot be used is told before anything is joined.
    let deltas = args.deltas.iter().map(|delta| Delta::open(delta));
    let deltas = deltas.collect::<Result<Vec<_>, _>>()?;
    let mut joined: Option<NewFile> = None;
    let mut totals = Totals::default();
    let progress = ui.progress("joining the catalogues");
    for delta in deltas {
        let mut file = to.begin()?;
        let base = joined.as_ref().map_or(args.base.as_path(), NewFile::path);
        totals = delta::join(base, delta, &mut |piece| file.take(piece))?;
        file.complete()?;
        joined = Some(file);
    }
    drop(progress);
    let Some(mut file) = joined else {
        return Ok(Outcome::Holds);
    };
    let bytes = file.complete()?;
    catalogue::open(file.path())?;
    to.put(ui, file)?;
    ui.note(&summary(to.name(), &totals, bytes));
    Ok(Outcome::Holds)
}

fn summary(path: &Path, totals: &Totals, bytes: u64) -> String {
    format!(
        "{}: {} with {}, in {}",
        quoted(path),
        counted(totals.files, "file"),
        human_size(totals.bytes),
        human_size(bytes)
    )
}
