//! `resemble dump`: the index in a form that can be compared, or chunk by chunk.
//!
//! Paths are real ones, so that the dump of the daemon and that of a fresh look at the same tree
//! (`--local --no-cache`) are equal byte for byte.

use resemble_proto::places::Env;

use crate::args::{DumpArgs, Global};
use crate::backend::Backend;
use crate::error::{CliResult, Outcome};
use crate::names;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &DumpArgs) -> CliResult {
    let (named, mut errors) = names::resolve(&args.roots);
    if named.is_empty() && !errors.is_empty() {
        ui.soft_errors(&errors);
        return Ok(Outcome::Incomplete);
    }
    let mut backend = Backend::choose(ui, env, global, &args.answering, &named)?;
    let real = names::real_paths(&named);
    backend.refresh(ui, &real)?;
    ui.redirect(args.output.as_deref());
    let found = backend.dump(real, args.form(), &mut |piece| {
        ui.write(|out| out.write_all(piece))
    })?;
    ui.flush()?;
    errors.extend(found);
    let errors = names::tidy(errors, &named);
    ui.soft_errors(&errors);
    backend.close();
    Ok(Outcome::Holds.with_errors(!errors.is_empty()))
}
