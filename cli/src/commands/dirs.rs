//! `resemble dirs`: lists similar directories.

use std::path::{Path, PathBuf};

use resemble_arguments::{
    Answering, DirsArgs, Global, GroupsArgs, MemoryBound, ReportFormat, Selection,
};
use resemble_core::Params;
use resemble_proto::documents::{DirsDocument, DirsParameters, SimilarDirs};
use resemble_proto::message::{DirsRequest, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::saved;
use resemble_report::text;

use crate::backend::Backend;
use crate::commands::{common_parameters, picked, read_saved};
use crate::error::CliResult;
use crate::names::{self, Named, ShownNames};
use crate::print;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &DirsArgs) -> CliResult {
    args.output.check("dirs", false)?;
    args.output.check_null("tsv here")?;
    if let Some(path) = &args.output.from {
        let mut report = read_saved::<SimilarDirs>(path)?;
        saved::pick_dirs(&mut report, &picked(&args.selection))?;
        return question::print_again(ui, &Dirs { args, of: None }, report);
    }
    let mut missing = args.output.format.errors();
    let needed = |path| names::needed(path, names::required_dir, &mut missing);
    let of = args.of.as_deref().map(needed).transpose()?;
    let mut asked = QuestionPaths::within(&args.roots).unless(missing);
    asked.not_files_alone("dirs", usize::MAX)?;
    asked.also.extend(of.clone());
    question::run(ui, env, global, &asked, Dirs { args, of })
}

struct Dirs<'a> {
    args: &'a DirsArgs,
    of: Option<Named>,
}

impl Verb for Dirs<'_> {
    type Body = SimilarDirs;

    /// Documents are compared by their texts here, as in a daemon, which has extracted the texts.
    fn answering(&self) -> Answering {
        Answering {
            text: true,
            ..self.args.answering.clone()
        }
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<SimilarDirs>> {
        let Self { args, of } = self;
        let request = request(&args.selection, args.bound, asked, of.as_ref());
        backend.ask(ui, "comparing", request)
    }

    fn show(&self, body: &mut SimilarDirs, asked: &QuestionPaths) {
        show(body, asked);
    }

    fn parameters(&self, _: &QuestionPaths, params: &Params) -> DirsParameters {
        let of = self.args.of.as_deref();
        parameters(&self.args.roots, of, &self.args.selection, params)
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn from(&self) -> Option<&Path> {
        self.args.output.from.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &DirsDocument, extras: &Extras<'_>) -> CliResult<()> {
        let output = &self.args.output;
        if output.format == ReportFormat::Text {
            ui.page();
            return ui.print(|out| text::dirs::print(out, document));
        }
        let report = Report::Dirs(document);
        print::print(ui, output.format, output.end(), report, extras)
    }

    fn top(&self) -> Option<u64> {
        self.args.selection.top
    }
}

/// Returns the similar directories among the files of a `groups` question. These files are already
/// in the index.
pub(super) fn of_roots(
    ui: &Ui,
    backend: &mut Backend,
    args: &GroupsArgs,
    asked: &QuestionPaths,
) -> CliResult<DirsDocument> {
    let request = request(&args.selection, args.bound, asked, None);
    let mut answer = backend.ask(ui, "comparing", request)?;
    show(&mut answer.body, asked);
    let parameters = parameters(&args.roots, None, &args.selection, backend.params());
    let errors = names::tidy(answer.errors, &ShownNames::of(&asked.named));
    Ok(DirsDocument::new(
        parameters,
        answer.header,
        answer.body,
        errors,
    ))
}

fn request(
    selection: &Selection,
    bound: MemoryBound,
    asked: &QuestionPaths,
    of: Option<&Named>,
) -> DirsRequest {
    DirsRequest {
        scope: selection.scope(asked.scope()),
        of: of.map(|of| PathText::from(of.real.as_path())),
        min: selection.min.unwrap_or_default(),
        min_shared: selection.min_shared,
        top: selection.top,
        memory: bound.memory,
    }
}

fn show(body: &mut SimilarDirs, asked: &QuestionPaths) {
    for row in &mut body.pairs {
        row.a = asked.shown(&row.a);
        row.b = asked.shown(&row.b);
    }
}

fn parameters(
    roots: &[PathBuf],
    of: Option<&Path>,
    selection: &Selection,
    params: &Params,
) -> DirsParameters {
    DirsParameters {
        roots: names::as_given(roots),
        of: of.map(PathText::from),
        common: common_parameters(selection, false, params),
    }
}
