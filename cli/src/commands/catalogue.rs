//! `resemble catalogue`: writes, keeps and joins catalogues.

mod add;
mod join;
pub(super) mod kept;
pub(super) mod write;

use resemble_arguments::{CatalogueAction, Global, RowOutput};
use resemble_proto::message::{Answer, WatchOrigin};
use resemble_proto::places::Env;
use resemble_proto::report::Head;

use crate::backend::is_daemon_required;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::ShownNames;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, action: &CatalogueAction) -> CliResult {
    match action {
        CatalogueAction::Write(args) => write::run(ui, env, global, args),
        CatalogueAction::Add(args) => add::run(ui, env, global, args),
        CatalogueAction::Join(args) => join::run(ui, args),
        CatalogueAction::List { output } => list(ui, env, global, output),
        CatalogueAction::Drop { label } => drop_one(env, global, label),
    }
}

/// Lists the kept catalogues in the format of `watch list`.
fn list(ui: &mut Ui, env: &Env, global: &Global, output: &RowOutput) -> CliResult {
    let mut rows = match kept::watched(env, global) {
        Err(CliError::NobodyAnswers(_)) if !is_daemon_required(env, global) => Vec::new(),
        rows => rows?,
    };
    rows.retain(|row| row.origin == WatchOrigin::Catalogue);
    for row in &mut rows {
        row.path = ShownNames::default().path(&row.path);
    }
    if rows.is_empty() {
        ui.note("no catalogue is kept; `resemble catalogue add FILE` keeps one");
    }
    let answer = Answer::fresh(rows, Vec::new());
    ui.redirect(output.output.as_deref());
    let head = Head::new("catalogue", serde_json::json!({}), answer.header);
    lists::print(ui, output, &head, "catalogues", &answer.rows, &[], false)?;
    Ok(Outcome::of(!answer.rows.is_empty()))
}

fn drop_one(env: &Env, global: &Global, label: &str) -> CliResult {
    let label = label.strip_suffix(':').unwrap_or(label);
    if !resemble_proto::catalogued::is_label(label) {
        return Err(CliError::Usage(format!(
            "{label:?} is no label; `resemble catalogue list` prints the labels"
        )));
    }
    kept::forget(env, global, label)
}
