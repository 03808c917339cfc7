//! `resemble alerts ack`: marks pairs of files as seen, lists the marks, or removes marks. A marked
//! pair causes no more alerts.

use resemble_arguments::{AckArgs, Global};
use resemble_proto::message::{AckRow, Answer};
use resemble_proto::places::Env;
use resemble_proto::report::Head;
use serde::Serialize;

use crate::backend;
use crate::commands::watch::absolute;
use crate::error::{CliResult, Outcome};
use crate::lists;
use crate::ui::Ui;

/// The parameters of the question, for documents.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::commands) struct AckParameters {
    group: bool,
    undo: bool,
}

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &AckArgs) -> CliResult {
    let daemon = backend::daemon(env, global)?;
    let other = args.other.as_deref().map(absolute).transpose()?;
    let (rows, nothing): (Vec<AckRow>, &str) = match &args.file {
        None => (daemon.ack_list()?, "nothing is marked as seen"),
        Some(file) if args.undo => (
            daemon.ack_undo(absolute(file)?, other)?,
            "that was not marked as seen",
        ),
        Some(file) => (
            daemon.ack(absolute(file)?, other, args.group)?,
            "it resembles no file enough for an alert: nothing to mark",
        ),
    };
    if rows.is_empty() {
        ui.note(nothing);
    }
    ui.redirect(args.output.output.as_deref());
    let answer = Answer::fresh(rows, Vec::new());
    let parameters = AckParameters {
        group: args.group,
        undo: args.undo,
    };
    let head = Head::new("ack", parameters, answer.header);
    lists::print(ui, &args.output, &head, "acks", &answer.rows, &[], false)?;
    Ok(Outcome::of(!answer.rows.is_empty()))
}
