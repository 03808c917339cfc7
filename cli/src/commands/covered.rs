//! `resemble covered`: can a directory go?

use std::path::Path;

use resemble_proto::documents::{CoveredDocument, CoveredFilter, CoveredParameters};
use resemble_proto::message::{Coverage, CoveredRequest};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::quote::quoted;
use resemble_report::saved::{self, Picked, Saved};
use resemble_report::text;

use crate::args::{CoveredArgs, Global, ReportFormat};
use crate::backend::Backend;
use crate::commands::{After, base, print_plan, read_saved};
use crate::error::{CliError, CliResult, Outcome};
use crate::names::{self, Named};
use crate::plans;
use crate::print;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &CoveredArgs) -> CliResult {
    args.output.check("covered", false)?;
    if args.output.null && args.output.format == ReportFormat::Text {
        return Err(CliError::Usage(
            "-0 is for tsv here; text has lines of several".to_owned(),
        ));
    }
    if args.output.from.is_none() && picked(args) != Picked::default() {
        return Err(CliError::Usage(
            "whether DIR can go is asked of everything in it: --include, --exclude, --min-size and --top are \
             for a saved report (--from)"
                .to_owned(),
        ));
    }
    let (saved, backend) = match (&args.output.from, &args.dir) {
        (None, Some(dir)) => {
            let (document, backend) = ask(ui, env, global, args, dir)?;
            let saved = Saved {
                document,
                folders: None,
                evidence: Vec::new(),
                base: base(),
            };
            (saved, Some(backend))
        }
        (Some(path), _) => {
            let mut saved = read_saved::<Coverage>(path)?;
            saved::pick_covered(&mut saved, &picked(args))?;
            (saved, None)
        }
        // The arguments say so already.
        (None, None) => return Err(CliError::Usage("a directory is to be named".to_owned())),
    };
    ui.redirect(args.output.output.as_deref());
    let document = &saved.document;
    print(ui, args, document, saved.base.clone())?;
    let after = After {
        header: &document.header,
        errors: &document.errors,
        top: args.top,
        none: "nothing to cover",
    };
    after.say(ui, backend)?;
    Ok(Outcome::of(document.body.covered).with_errors(!document.errors.is_empty()))
}

/// What is kept of a saved report.
fn picked(args: &CoveredArgs) -> Picked {
    Picked {
        include: args.include.clone(),
        exclude: args.exclude.clone(),
        min_size: args.min_size,
        top: args.top,
        ..Picked::default()
    }
}

fn print(
    ui: &mut Ui,
    args: &CoveredArgs,
    document: &CoveredDocument,
    base: Option<PathText>,
) -> CliResult<()> {
    if let Some(kind) = args.plan {
        return print_plan(ui, &plans::of_covered(document, kind));
    }
    if args.output.format == ReportFormat::Text {
        ui.page();
        return ui.print(|out| text::covered::print(out, document, args.all));
    }
    let extras = Extras {
        base,
        saved: args.output.from.as_deref(),
        ..Extras::default()
    };
    let (format, end) = (args.output.format, args.output.end());
    print::print(ui, format, end, Report::Covered(document), &extras)
}

fn ask(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &CoveredArgs,
    dir: &Path,
) -> CliResult<(CoveredDocument, Backend)> {
    let dir = names::required_dir(dir)?;
    let by = args
        .by
        .iter()
        .map(|root| names::required(root))
        .collect::<CliResult<Vec<Named>>>()?;
    if dir.is_catalogued() {
        return Err(CliError::Usage(format!(
            "whether a directory can go is decided by its bytes, and those of {} are not here; \
             `resemble compare` tells what a catalogue has elsewhere",
            quoted(&dir.shown)
        )));
    }
    let all: Vec<Named> = std::iter::once(&dir).chain(&by).cloned().collect();
    if args.plan.is_some() {
        names::no_plan_for(&all)?;
    }
    let mut backend = Backend::choose(ui, env, global, &args.answering, &all)?;
    backend.refresh(ui, &names::real_paths(&all))?;
    let request = CoveredRequest {
        dir: PathText::from(dir.real.as_path()),
        by: names::real_paths(&by),
        by_digest: args.by_digest,
    };
    let mut answer = backend.ask(ui, request)?;
    show(&mut answer.body, &dir, &by);
    let parameters = CoveredParameters {
        dir: PathText::from(dir.shown.as_path()),
        by: names::as_given(&args.by),
        params: backend.params().to_string(),
        filter: CoveredFilter::default(),
    };
    let errors = names::tidy(answer.errors, &all);
    let document = CoveredDocument::new(parameters, answer.header, answer.body, errors);
    Ok((document, backend))
}

/// Paths as the arguments lead to them: those of DIR by DIR, the others by the roots.
fn show(body: &mut Coverage, dir: &Named, by: &[Named]) {
    let dir = std::slice::from_ref(dir);
    for row in &mut body.missing {
        row.path = names::shown_as(dir, &row.path);
    }
    for row in &mut body.near {
        row.path = names::shown_as(dir, &row.path);
        row.by = names::shown_as(by, &row.by);
    }
    let pairs = body.linked.iter_mut().chain(&mut body.copies);
    for row in pairs.chain(&mut body.recorded) {
        row.path = names::shown_as(dir, &row.path);
        row.by = names::shown_as(by, &row.by);
    }
}
