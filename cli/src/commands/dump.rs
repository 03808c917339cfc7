//! `resemble dump`: prints the index, in a form that can be compared, or as a list of chunks or
//! files.
//!
//! Paths in a dump are real paths. So the dump of a daemon and that of a fresh scan
//! (`--local --no-cache`) are equal, byte for byte.

use resemble_arguments::{DumpArgs, Global};
use resemble_proto::places::Env;

use crate::error::{CliResult, Outcome};
use crate::lists;
use crate::question::QuestionPaths;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &DumpArgs) -> CliResult {
    let asked = QuestionPaths::within(&args.roots);
    if !asked.anything {
        ui.soft_errors(&asked.missing);
        return Ok(Outcome::Incomplete);
    }
    let mut backend = asked.open(ui, env, global, &args.answering)?;
    ui.redirect(args.output.as_deref());
    let dumped = backend.dump(asked.scope(), args.form(), &mut |piece| {
        ui.write(|out| out.write_all(piece))
    })?;
    ui.flush()?;
    lists::note_limits(ui, &dumped.header, None, backend.is_daemon());
    let errors = asked.errors(dumped.errors);
    ui.soft_errors(&errors);
    backend.close(ui);
    Ok(Outcome::Holds.with_errors(!errors.is_empty()))
}
