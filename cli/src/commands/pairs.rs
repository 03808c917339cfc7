//! `resemble pairs`: every pair among the files of some directories.

use resemble_core::Params;
use resemble_proto::documents::{PairsDocument, SimilarPairs};
use resemble_proto::message::{PairScore, PairsRequest, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::{Head, PairsParameters};
use resemble_report::document::Report;

use crate::args::{Global, ListAs, PairsArgs};
use crate::backend::Backend;
use crate::commands::{NOTHING, common_parameters, print_list};
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &PairsArgs) -> CliResult {
    let print_as = args.output.checked()?;
    let score = PairScore::from(args.score);
    let mut dirs = args.dirs.clone();
    if let Some(list) = &args.files_from {
        dirs.extend(names::read_list(list, args.output.null)?);
    }
    if dirs.is_empty() {
        return Err(CliError::Usage("no directories to look in".to_owned()));
    }
    let (named, mut errors) = names::resolve(&dirs);
    let mut answer = Whole::<SimilarPairs>::fresh();
    let mut params = Params::default();
    let mut backend = None;
    if !named.is_empty() {
        let chosen = backend.insert(Backend::choose(
            ui,
            env,
            global,
            &args.layer.answering(&args.answering),
            &named,
        )?);
        params = *chosen.params();
        let real = names::real_paths(&named);
        chosen.refresh(ui, &real)?;
        answer = chosen.ask(
            ui,
            PairsRequest {
                scope: args.selection.scope(real),
                score,
                min: args.selection.min.unwrap_or_default(),
                min_shared: args.selection.min_shared,
                top: args.selection.top,
                exact: args.measuring.exact,
                unit: args.measuring.unit.into(),
                text: args.layer.text,
            },
        )?;
    }
    ui.redirect(args.output.output.as_deref());
    for row in &mut answer.body.pairs {
        row.a = names::shown_as(&named, &row.a);
        row.b = names::shown_as(&named, &row.b);
    }
    errors.append(&mut answer.errors);
    let errors = names::tidy(errors, &named);
    let parameters = PairsParameters {
        dirs: dirs
            .iter()
            .map(|dir| PathText::from(dir.as_path()))
            .collect(),
        score,
        unit: args.measuring.unit.into(),
        common: common_parameters(&args.selection, args.measuring.exact, &params),
    };
    match print_as {
        ListAs::Rows(output) => {
            let head = Head::new("pairs", parameters, answer.header);
            lists::print(
                ui,
                &output,
                &head,
                "pairs",
                &answer.body.pairs,
                &errors,
                false,
            )?;
        }
        ListAs::Report(format) => {
            let document =
                PairsDocument::new(parameters, answer.header, answer.body, errors.clone());
            print_list(ui, format, Report::Pairs(&document))?;
        }
    }
    let by_daemon = backend.as_ref().is_some_and(Backend::is_daemon);
    lists::note_nothing(ui, &answer.header, NOTHING);
    lists::note_limits(ui, &answer.header, args.selection.top, by_daemon);
    ui.soft_errors(&errors);
    ui.flush()?;
    if let Some(backend) = backend {
        backend.close();
    }
    Ok(Outcome::of(answer.header.total > 0).with_errors(!errors.is_empty()))
}
