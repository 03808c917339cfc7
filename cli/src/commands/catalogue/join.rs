//! `resemble catalogue join`: makes a new catalogue from an old catalogue and later deltas.

use resemble_arguments::JoinArgs;
use resemble_catalogue::delta::{self, Delta};
use resemble_catalogue::{self as catalogue, Totals};
use resemble_report::human::human_size;

use super::write::contents;
use crate::commands::destination::Destination;
use crate::error::{CliResult, Outcome};
use crate::new_file::NewFile;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &JoinArgs) -> CliResult {
    let to = Destination::of(&args.output)?;
    // All deltas are opened first, so that an unusable delta is reported before anything is joined.
    let deltas = args.deltas.iter().map(|delta| Delta::open(delta));
    let deltas = deltas.collect::<Result<Vec<_>, _>>()?;
    let mut joined: Option<(NewFile, Totals, u64)> = None;
    let progress = ui.progress("joining the catalogues");
    for delta in deltas {
        let mut file = to.begin()?;
        let base = joined.as_ref().map(|(file, ..)| file.path());
        let base = base.unwrap_or(&args.base);
        let totals = delta::join(base, delta, &mut |piece| file.take(piece))?;
        let bytes = file.complete()?;
        joined = Some((file, totals, bytes));
    }
    drop(progress);
    if let Some((file, totals, bytes)) = joined {
        catalogue::open(file.path())?;
        to.put(ui, file)?;
        ui.note(&contents(to.name(), &totals, &human_size(bytes)));
    }
    Ok(Outcome::Holds)
}
