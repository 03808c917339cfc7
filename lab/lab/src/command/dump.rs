//! The commands `dump` and `export`, which print the signatures of files.

use std::path::Path;

use crate::question::{MethodQuestion, MethodRow, SignatureForm};
use resemble_arguments::Global;
use resemble_cli::error::{CliError, CliResult, Outcome};
use resemble_cli::names::{self, Named, ShownNames};
use resemble_cli::ui::Ui;
use resemble_methods::Method;
use resemble_proto::message::{Scope, SoftError};
use resemble_proto::places::Env;

use super::args::{CacheArgs, DumpArgs, ExportArgs};
use super::backend::Backend;
use super::chosen::{ChosenMethod, chosen};

/// Runs `dump`.
pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &DumpArgs) -> CliResult {
    let chosen = chosen(&args.method)?;
    let has_fingers = matches!(chosen.method, Method::Sif | Method::SifAnchors);
    if args.all_fingers && !has_fingers {
        return Err(CliError::Usage(format!(
            "--all-fingers is for sif and sif-anchors, whose paper has that list; --method {} is \
             dumped without it",
            chosen.method
        )));
    }
    let form = if args.all_fingers {
        SignatureForm::AllFingers
    } else {
        SignatureForm::Lines
    };
    let (named, errors) = names::resolve(&args.roots);
    let what = (form, args.output.as_deref());
    write(
        ui,
        env,
        global,
        (&chosen, args.cache),
        (named, errors),
        what,
    )
}

/// Runs `export`.
pub(super) fn export(ui: &mut Ui, env: &Env, global: &Global, args: &ExportArgs) -> CliResult {
    let chosen = chosen(&args.method)?;
    let (form, output): (_, Option<&Path>) = (SignatureForm::Export, Some(&args.output));
    let dir = vec![names::required_dir(&args.dir)?];
    write(
        ui,
        env,
        global,
        (&chosen, args.cache),
        (dir, Vec::new()),
        (form, output),
    )
}

fn write(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    (chosen, cache): (&ChosenMethod, CacheArgs),
    (named, mut errors): (Vec<Named>, Vec<SoftError>),
    (form, output): (SignatureForm, Option<&Path>),
) -> CliResult {
    if named.is_empty() {
        ui.soft_errors(&errors);
        return Ok(Outcome::Incomplete);
    }
    let mut backend = Backend::open(ui, env, global, cache, &named)?;
    let real = names::real_paths(&named);
    backend.refresh(ui, &real)?;
    let scope = Scope {
        within: real,
        ..Scope::default()
    };
    let question = chosen.request(scope, MethodQuestion::Dump(form));
    let answer = backend.ask(ui, &question, None)?;
    ui.redirect(output);
    ui.write(|out| {
        answer.rows.iter().try_for_each(|row| match row {
            MethodRow::Text(text) => out.write_all(text.as_bytes()),
            _ => Ok(()),
        })
    })?;
    ui.flush()?;
    errors.extend(answer.errors);
    let errors = names::tidy(errors, &ShownNames::of(&named));
    ui.soft_errors(&errors);
    backend.close(ui);
    Ok(Outcome::Holds.with_errors(!errors.is_empty()))
}
