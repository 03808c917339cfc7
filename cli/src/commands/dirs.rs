//! `resemble dirs`: similar directories.

use std::path::{Path, PathBuf};

use resemble_core::Params;
use resemble_proto::documents::{DirsDocument, DirsParameters, SimilarDirs};
use resemble_proto::message::{DirsRequest, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::saved;
use resemble_report::text;

use crate::args::{DirsArgs, Global, ReportFormat, Selection};
use crate::backend::Backend;
use crate::commands::{After, NOTHING, base, common_parameters, picked, read_saved};
use crate::error::{CliError, CliResult, Outcome};
use crate::names::{self, Named};
use crate::print;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &DirsArgs) -> CliResult {
    args.output.check("dirs", false)?;
    if args.output.null && args.output.format == ReportFormat::Text {
        return Err(CliError::Usage(
            "-0 is for tsv here; text has lines of several".to_owned(),
        ));
    }
    let (document, base, backend) = match &args.output.from {
        None => {
            let (document, backend) = ask(ui, env, global, args)?;
            (document, base(), backend)
        }
        Some(path) => {
            let mut saved = read_saved::<SimilarDirs>(path)?;
            saved::pick_dirs(&mut saved, &picked(&args.selection))?;
            (saved.document, saved.base, None)
        }
    };
    ui.redirect(args.output.output.as_deref());
    print(ui, args, &document, base)?;
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
    args: &DirsArgs,
    document: &DirsDocument,
    base: Option<PathText>,
) -> CliResult<()> {
    if args.output.format == ReportFormat::Text {
        ui.page();
        return ui.print(|out| text::dirs::print(out, document));
    }
    let extras = Extras {
        base,
        saved: args.output.from.as_deref(),
        ..Extras::default()
    };
    let (format, end) = (args.output.format, args.output.end());
    print::print(ui, format, end, Report::Dirs(document), &extras)
}

fn ask(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &DirsArgs,
) -> CliResult<(DirsDocument, Option<Backend>)> {
    let of = args.of.as_deref().map(names::required_dir).transpose()?;
    let (roots, mut errors) = names::resolve(&args.roots);
    let mut all = roots.clone();
    // Without roots the question is about the daemon's, and --of must be in one of them.
    if !args.roots.is_empty() {
        all.extend(of.clone());
    }
    let mut answer = Whole::<SimilarDirs>::fresh();
    let mut params = Params::default();
    let mut backend = None;
    // With every root missing there is nothing to look in: not what the daemon watches.
    if args.roots.is_empty() || !roots.is_empty() {
        let chosen = backend.insert(Backend::choose(ui, env, global, &args.answering, &all)?);
        params = *chosen.params();
        chosen.refresh(ui, &names::real_paths(&all))?;
        answer = chosen.ask(ui, request(&args.selection, &roots, of.as_ref()))?;
    }
    answer.errors.append(&mut errors);
    let named = Asked {
        given: &args.roots,
        of: args.of.as_deref(),
        all: &all,
        roots: &roots,
    };
    let document = document(answer, &named, &args.selection, &params);
    Ok((document, backend))
}

/// The similar directories of the files that another question is about, already looked at.
pub(super) fn of_roots(
    ui: &Ui,
    backend: &mut Backend,
    given: &[PathBuf],
    roots: &[Named],
    selection: &Selection,
) -> CliResult<DirsDocument> {
    let answer = backend.ask(ui, request(selection, roots, None))?;
    let named = Asked {
        given,
        of: None,
        all: roots,
        roots,
    };
    Ok(document(answer, &named, selection, backend.params()))
}

/// What was named.
struct Asked<'a> {
    given: &'a [PathBuf],
    of: Option<&'a Path>,
    /// What is there of the roots and of `--of`.
    all: &'a [Named],
    roots: &'a [Named],
}

fn request(selection: &Selection, roots: &[Named], of: Option<&Named>) -> DirsRequest {
    DirsRequest {
        scope: selection.scope(names::real_paths(roots)),
        of: of.map(|of| PathText::from(of.real.as_path())),
        min: selection.min.unwrap_or_default(),
        min_shared: selection.min_shared,
        top: selection.top,
    }
}

fn document(
    mut answer: Whole<SimilarDirs>,
    asked: &Asked<'_>,
    selection: &Selection,
    params: &Params,
) -> DirsDocument {
    for row in &mut answer.body.pairs {
        row.a = names::shown_as(asked.roots, &row.a);
        row.b = names::shown_as(asked.roots, &row.b);
    }
    let parameters = DirsParameters {
        roots: names::as_given(asked.given),
        of: asked.of.map(PathText::from),
        common: common_parameters(selection, false, params),
    };
    let errors = names::tidy(answer.errors, asked.all);
    DirsDocument::new(parameters, answer.header, answer.body, errors)
}
