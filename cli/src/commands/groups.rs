//! `resemble groups`: the report of a collection.

use resemble_core::Params;
use resemble_proto::documents::{DirsDocument, GroupsDocument, GroupsParameters};
use resemble_proto::message::{Groups, GroupsRequest, OrderRow, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::question::OrderRequest;
use resemble_proto::report::Head;
use resemble_report::document::{Extras, Report};
use resemble_report::evidence::{self, Evidence};
use resemble_report::saved::{self, Saved};
use resemble_report::text;

use crate::args::{Global, GroupsArgs, ReportFormat};
use crate::backend::Backend;
use crate::commands::{After, NOTHING, base, common_parameters, picked, print_plan, read_saved};
use crate::error::{CliError, CliResult, Outcome};
use crate::evidence::side_by_side;
use crate::lists;
use crate::names::{self, Named};
use crate::plans;
use crate::print;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    check(args)?;
    if let Some(list) = &args.files_from {
        return super::fold::run(ui, env, global, args, list);
    }
    if args.order {
        return order(ui, env, global, args);
    }
    let (saved, backend) = match &args.output.from {
        None => {
            let (document, mut backend) = ask(ui, env, global, args)?;
            let folders = folders(ui, args, backend.as_mut())?;
            let evidence = best_pairs(ui, args, &document, backend.as_ref());
            let saved = Saved {
                document,
                folders,
                evidence,
                base: base(),
            };
            (saved, backend)
        }
        Some(path) => {
            let mut saved = read_saved::<Groups>(path)?;
            saved::pick_groups(&mut saved, &picked(&args.selection))?;
            saved.evidence.truncate(args.output.evidence);
            (saved, None)
        }
    };
    let document = &saved.document;
    let extras = Extras {
        folders: saved.folders.as_ref(),
        evidence: saved.evidence,
        base: saved.base,
        saved: args.output.from.as_deref(),
    };
    ui.redirect(args.output.output.as_deref());
    print(ui, args, document, &extras)?;
    let after = After {
        header: &document.header,
        errors: &document.errors,
        top: args.selection.top,
        none: NOTHING,
    };
    after.say(ui, backend)?;
    Ok(Outcome::of(document.header.total > 0).with_errors(!document.errors.is_empty()))
}

fn print(
    ui: &mut Ui,
    args: &GroupsArgs,
    document: &GroupsDocument,
    extras: &Extras<'_>,
) -> CliResult<()> {
    if let Some(kind) = args.plan {
        return print_plan(ui, &plans::of_groups(document, kind));
    }
    if args.output.format == ReportFormat::Text {
        ui.page();
        return ui.print(|out| text::groups::print(out, document));
    }
    let (format, end) = (args.output.format, args.output.end());
    print::print(ui, format, end, Report::Groups(document), extras)
}

/// Whether the report is a page or a workbook.
fn is_whole(args: &GroupsArgs) -> bool {
    args.plan.is_none() && matches!(args.output.format, ReportFormat::Html | ReportFormat::Xlsx)
}

/// The similar directories of the same files, which a page shows first.
fn folders(
    ui: &mut Ui,
    args: &GroupsArgs,
    backend: Option<&mut Backend>,
) -> CliResult<Option<DirsDocument>> {
    let Some(backend) = backend.filter(|_| is_whole(args) && args.of.is_none()) else {
        return Ok(None);
    };
    let (roots, _) = names::resolve(&args.roots);
    super::dirs::of_roots(ui, backend, &args.roots, &roots, &args.selection).map(Some)
}

/// The best pairs side by side, for a page.
fn best_pairs(
    ui: &Ui,
    args: &GroupsArgs,
    document: &GroupsDocument,
    backend: Option<&Backend>,
) -> Vec<Evidence> {
    let Some(backend) = backend.filter(|_| args.output.format == ReportFormat::Html) else {
        return Vec::new();
    };
    let _progress = ui.progress("reading the best pairs");
    let base = base().unwrap_or_default();
    let count = args.output.evidence;
    let params = backend.params();
    evidence::of_groups(document, count, &|a, b| {
        side_by_side((base.as_path(), a), (base.as_path(), b), params)
    })
}

fn check(args: &GroupsArgs) -> CliResult<()> {
    args.output.check("groups", true)?;
    let lines_of_several = args.plan.is_none() && !args.order && args.files_from.is_none();
    if lines_of_several && args.output.null && args.output.format == ReportFormat::Text {
        return Err(CliError::Usage(
            "-0 is for names (--format fdupes) and tsv; text has lines of several".to_owned(),
        ));
    }
    Ok(())
}

fn ask(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &GroupsArgs,
) -> CliResult<(GroupsDocument, Option<Backend>)> {
    let of = args.of.as_deref().map(names::required).transpose()?;
    let (roots, mut errors) = names::resolve(&args.roots);
    if args.plan.is_some() {
        names::no_plan_for(&roots)?;
    }
    let mut all = roots.clone();
    // Without roots the question is about the daemon's, and --of must be in one of them.
    if !args.roots.is_empty() {
        all.extend(of.clone());
    }
    let mut answer = Whole::<Groups>::fresh();
    let mut params = Params::default();
    let mut backend = None;
    // With every root missing there is nothing to look in: not what the daemon watches.
    if args.roots.is_empty() || !roots.is_empty() {
        let chosen = backend.insert(Backend::choose(
            ui,
            env,
            global,
            &args.layer.answering(&args.answering),
            &all,
        )?);
        params = *chosen.params();
        chosen.refresh(ui, &names::real_paths(&all))?;
        let request = request(args, &roots, of.as_ref());
        answer = chosen.ask(ui, request)?;
    }
    show(&mut answer.body, &roots);
    errors.append(&mut answer.errors);
    let parameters = parameters(args, &params);
    let errors = names::tidy(errors, &all);
    let document = GroupsDocument::new(parameters, answer.header, answer.body, errors);
    Ok((document, backend))
}

pub(super) fn request(args: &GroupsArgs, roots: &[Named], of: Option<&Named>) -> GroupsRequest {
    GroupsRequest {
        scope: args.selection.scope(names::real_paths(roots)),
        of: of.map(|of| PathText::from(of.real.as_path())),
        family: args.family,
        min: args.selection.min.unwrap_or_default(),
        min_shared: args.selection.min_shared,
        degree: args.degree.unwrap_or_default(),
        memory: args.memory,
        top: args.selection.top,
        // Names for an archiver: what compresses together is bytes.
        text: !args.layer.no_text && !args.order,
    }
}

pub(super) fn parameters(args: &GroupsArgs, params: &Params) -> GroupsParameters {
    GroupsParameters {
        roots: names::as_given(&args.roots),
        of: args.of.as_deref().map(PathText::from),
        family: args.family,
        degree: args.degree.unwrap_or_default(),
        memory: args.memory,
        common: common_parameters(&args.selection, false, params),
    }
}

/// `--order`: the names of all files, similar ones side by side.
fn order(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    let output = args.output.as_rows("--order")?;
    let (roots, mut errors) = names::resolve(&args.roots);
    let mut answer = Whole::<Vec<OrderRow>>::fresh();
    let mut params = Params::default();
    let mut backend = None;
    if args.roots.is_empty() || !roots.is_empty() {
        let chosen = backend.insert(Backend::choose(ui, env, global, &args.answering, &roots)?);
        params = *chosen.params();
        chosen.refresh(ui, &names::real_paths(&roots))?;
        answer = chosen.ask(ui, OrderRequest(request(args, &roots, None)))?;
    }
    for row in &mut answer.body {
        row.path = names::shown_as(&roots, &row.path);
    }
    errors.append(&mut answer.errors);
    let errors = names::tidy(errors, &roots);
    ui.redirect(output.output.as_deref());
    let head = Head::new("groups", parameters(args, &params), answer.header);
    lists::print(ui, &output, &head, "order", &answer.body, &errors, false)?;
    let after = After {
        header: &answer.header,
        errors: &errors,
        top: None,
        none: NOTHING,
    };
    after.say(ui, backend)?;
    Ok(Outcome::of(!answer.body.is_empty()).with_errors(!errors.is_empty()))
}

/// Paths as the arguments lead to them.
fn show(body: &mut Groups, roots: &[Named]) {
    let show = |path: &mut PathText| *path = names::shown_as(roots, path);
    for set in &mut body.identical {
        set.paths.iter_mut().for_each(show);
    }
    for cluster in &mut body.clusters {
        show(&mut cluster.center);
        for member in &mut cluster.members {
            show(&mut member.path);
        }
        for link in &mut cluster.links {
            show(&mut link.a);
            show(&mut link.b);
        }
    }
}
