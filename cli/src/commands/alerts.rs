//! `resemble alerts`: when a change made a file resemble another.

use resemble_proto::message::AlertRow;
use resemble_proto::places::Env;
use resemble_proto::report::Head;

use crate::args::{AlertsArgs, Global, RowFormat};
use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &AlertsArgs) -> CliResult {
    if args.follow && args.output.format == RowFormat::Json {
        return Err(CliError::Usage(
            "--follow has no end, but a JSON document has one: use --format jsonl".to_owned(),
        ));
    }
    let alerts = backend::daemon(env, global)?.alerts(args.follow)?;
    ui.redirect(args.output.output.as_deref());
    let parameters = serde_json::json!({ "follow": args.follow });
    let head = Head::new("alerts", parameters, alerts.header());
    if !args.follow {
        let answer = alerts.collect_answer()?;
        lists::print(
            ui,
            &args.output,
            &head,
            "alerts",
            &answer.rows,
            &answer.errors,
            false,
        )?;
        return Ok(Outcome::of(!answer.rows.is_empty()));
    }
    lists::print_head::<_, AlertRow>(ui, &args.output, &head)?;
    for alert in alerts {
        lists::print_one(ui, &args.output, &alert?)?;
    }
    Ok(Outcome::Holds)
}
