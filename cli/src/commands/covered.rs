//! `resemble covered`: checks whether a directory can be removed.

use std::path::Path;

use resemble_arguments::{Answering, CoveredArgs, Global, ReportFormat};
use resemble_core::Params;
use resemble_proto::documents::{CoveredDocument, CoveredFilter, CoveredParameters};
use resemble_proto::message::{Coverage, CoveredRequest, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::quote::quoted;
use resemble_report::saved::{self, Picked};
use resemble_report::text;

use crate::backend::Backend;
use crate::commands::{print_plan, read_saved};
use crate::error::{CliError, CliResult};
use crate::names::{self, ShownNames};
use crate::plans;
use crate::print;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &CoveredArgs) -> CliResult {
    args.output.check("covered", false)?;
    if args.output.from.is_none() && picked(args) != Picked::default() {
        return Err(CliError::Usage(
            "whether DIR can go is asked of everything in it: --include, --exclude, --min-size and \
             --top are for a saved report (--from)"
                .to_owned(),
        ));
    }
    if let Some(path) = &args.output.from {
        let mut report = read_saved::<Coverage>(path)?;
        saved::pick_covered(&mut report, &picked(args))?;
        return question::print_again(ui, &Covered { args }, report);
    }
    // The parser has already refused a call without DIR.
    let nameless = || CliError::Usage("name the directory that is to go".to_owned());
    let mut missing = args.output.format.errors();
    let mut needed = |path| names::needed(path, names::required_dir, &mut missing);
    let dir = needed(args.dir.as_deref().ok_or_else(nameless)?)?;
    let by = args.by.iter().map(|root| needed(root));
    let by = by.collect::<CliResult<Vec<_>>>()?;
    if dir.is_catalogued() {
        return Err(CliError::Usage(format!(
            "whether a directory can go is decided by its bytes, and those of {} are not here; \
             `resemble compare` shows which files a catalogue has elsewhere",
            quoted(&dir.shown)
        )));
    }
    // As in every verb, a symbolic link that is named is followed. A note reports that here,
    // because the user may want to remove the link afterwards.
    if dir.shown.is_symlink() {
        ui.note(&format!(
            "{} is a symbolic link: the answer is about {}, which stays when the link is removed",
            quoted(&dir.shown),
            quoted(&dir.real)
        ));
    }
    // DIR comes first: see `Covered`.
    let asked = QuestionPaths::about(std::iter::once(dir).chain(by).collect()).only_about(1);
    let asked = asked.unless(missing);
    question::run(ui, env, global, &asked, Covered { args })
}

/// Returns the path of a file below DIR, relative to DIR.
fn below<'a>(dir: &PathText, path: &'a PathText) -> &'a [u8] {
    let (dir, path) = (dir.as_bytes(), path.as_bytes());
    let below = path.strip_prefix(dir).unwrap_or(path);
    let slashes = below.iter().take_while(|&&byte| byte == b'/').count();
    &below[slashes..]
}

/// Returns the filter for the rows of a saved report.
fn picked(args: &CoveredArgs) -> Picked {
    Picked {
        include: args.include.clone(),
        exclude: args.exclude.clone(),
        min_size: args.min_size,
        top: args.top,
        ..Picked::default()
    }
}

/// The question of `covered`. The first named path is DIR, and the others are the ROOTs of --by.
struct Covered<'a> {
    args: &'a CoveredArgs,
}

impl Verb for Covered<'_> {
    type Body = Coverage;

    fn answering(&self) -> Answering {
        Answering {
            whole: true,
            // Near copies are compared by their texts, as in every other question, so the figures
            // agree.
            text: true,
            ..self.args.answering.clone()
        }
    }

    fn is_refreshed(&self) -> bool {
        false
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Coverage>> {
        let request = CoveredRequest {
            dir: PathText::from(asked.named[0].real.as_path()),
            by: names::real_paths(&asked.named[1..]),
            by_digest: self.args.by_digest,
            memory: self.args.bound.memory,
        };
        backend.covered(ui, request)
    }

    /// Paths below DIR begin as the user gave DIR. All other paths begin as the user gave the
    /// ROOTs.
    fn show(&self, body: &mut Coverage, asked: &QuestionPaths) {
        let (dir, by) = asked.named.split_at(1);
        let (dir, by) = (ShownNames::of(dir), ShownNames::of(by));
        for row in &mut body.missing {
            row.path = dir.path(&row.path);
        }
        for row in &mut body.near {
            row.path = dir.path(&row.path);
            row.by = by.path(&row.by);
        }
        let pairs = body.linked.iter_mut().chain(&mut body.copies);
        for row in pairs.chain(&mut body.recorded) {
            row.path = dir.path(&row.path);
            row.by = by.path(&row.by);
        }
    }

    fn parameters(&self, asked: &QuestionPaths, params: &Params) -> CoveredParameters {
        CoveredParameters {
            dir: PathText::from(asked.named[0].shown.as_path()),
            by: names::as_given(&self.args.by),
            params: params.to_string(),
            filter: CoveredFilter::default(),
        }
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn from(&self) -> Option<&Path> {
        self.args.output.from.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &CoveredDocument, extras: &Extras<'_>) -> CliResult<()> {
        if let Some(kind) = &self.args.plan {
            return print_plan(ui, &plans::of_covered(document, kind)?);
        }
        let output = &self.args.output;
        if output.format == ReportFormat::Text && output.null {
            return ui.write(|out| {
                for row in &document.body.missing {
                    out.write_all(below(&document.parameters.dir, &row.path))?;
                    out.write_all(b"\0")?;
                }
                Ok(())
            });
        }
        if output.format == ReportFormat::Text {
            ui.page();
            return ui.print(|out| text::covered::print(out, document, self.args.all));
        }
        let report = Report::Covered(document);
        print::print(ui, output.format, output.end(), report, extras)
    }

    fn top(&self) -> Option<u64> {
        self.args.top
    }

    fn nothing(&self, _: &Coverage) -> &'static str {
        "nothing to cover"
    }

    fn holds(&self, document: &CoveredDocument) -> bool {
        document.body.covered
    }
}
