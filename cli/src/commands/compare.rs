//! `resemble compare`: compares two directories or two files by content.
//!
//! `compare` requests no more rows than it prints. Two nearly equal trees of 100,000 files have
//! nearly 100,000 rows `same`, which text shows only on request.

use std::path::Path;

use resemble_arguments::{Answering, CompareArgs, Global, ReportFormat};
use resemble_core::Params;
use resemble_proto::documents::{CompareDocument, CompareParameters};
use resemble_proto::message::{
    CompareClass, CompareOptions, CompareRequest, Comparison, MeasureUnit, Whole,
};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::evidence;
use resemble_report::quote::quoted;
use resemble_report::saved::{self, Picked, Saved};
use resemble_report::text;

use crate::backend::Backend;
use crate::commands::{common_parameters, picked, print_plan, read_saved};
use crate::error::{CliError, CliResult};
use crate::evidence::side_by_side;
use crate::lists::NOTHING;
use crate::names::{self, Named};
use crate::plans;
use crate::print;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &CompareArgs) -> CliResult {
    check(args)?;
    let classes = classes(ui, args);
    if let Some(path) = &args.output.from {
        let mut report = read_saved::<Comparison>(path)?;
        let picked = Picked {
            classes: classes.clone(),
            ..picked(&args.selection)
        };
        saved::pick_compare(&mut report, &picked)?;
        if args.no_trees {
            report.document.body.trees.clear();
        }
        report.evidence.truncate(args.output.evidence);
        return question::print_again(ui, &Compare { args, classes }, report);
    }
    let asked = question(ui, args)?;
    question::run(ui, env, global, &asked, Compare { args, classes })
}

/// Asks for the comparison that `resemble ui` shows.
#[cfg(feature = "ui")]
pub(super) fn answer(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &CompareArgs,
) -> CliResult<question::Answered<Comparison>> {
    let classes = Vec::new();
    let asked = question(ui, args)?;
    question::answer(ui, env, global, &asked, &mut Compare { args, classes })
}

fn question(ui: &mut Ui, args: &CompareArgs) -> CliResult<QuestionPaths> {
    // The parser has already refused a call without A and B.
    let (Some(a), Some(b)) = (&args.a, &args.b) else {
        let text = "name two directories or two files";
        return Err(CliError::Usage(text.to_owned()));
    };
    let mut missing = args.output.format.errors();
    let mut needed = |path| names::needed(path, names::required, &mut missing);
    let named = [needed(a)?, needed(b)?];
    if missing.iter().all(Vec::is_empty) {
        agree(&named)?;
        note_nested(ui, &named);
    }
    let asked = QuestionPaths::about(named.into()).unless(missing);
    match asked.named.get(1) {
        Some(b) if args.plan.is_some() && b.is_catalogued() => Err(CliError::Usage(format!(
            "--plan rename is for files of B that are here; only a catalogue has those of {}",
            quoted(&b.shown)
        ))),
        _ => Ok(asked),
    }
}

fn check(args: &CompareArgs) -> CliResult<()> {
    args.output.check("compare", false)?;
    let names = args.new_only;
    if names && args.output.format != ReportFormat::Text {
        return Err(CliError::Usage(format!(
            "--new-only prints names; for rows take --class only-b --format {}",
            args.output.format.word()
        )));
    }
    if !names {
        args.output.check_null("names (--new-only) and tsv")?;
    }
    Ok(())
}

/// Returns the classes of the rows that will be printed; empty means all.
fn classes(ui: &Ui, args: &CompareArgs) -> Vec<CompareClass> {
    if args.new_only {
        return vec![CompareClass::OnlyB];
    }
    if !args.class.is_empty() {
        let mut classes = args.class.clone();
        classes.sort_unstable();
        classes.dedup();
        return classes;
    }
    let is_text = args.output.format == ReportFormat::Text && args.plan.is_none();
    if !is_text || (args.all && ui.is_verbose()) {
        return Vec::new();
    }
    let differs = |class: &CompareClass| *class != CompareClass::Same;
    CompareClass::ALL.into_iter().filter(differs).collect()
}

/// Refuses to compare a directory with a file.
fn agree(named: &[Named; 2]) -> CliResult<()> {
    let [a, b] = named.each_ref().map(Named::is_dir);
    if a && b {
        return Ok(());
    }
    for file in named.iter().filter(|one| !one.is_dir()) {
        if !file.real.is_file() {
            let file = quoted(&file.shown);
            let text = format!("cannot compare {file}: it is neither a file nor a directory");
            return Err(CliError::Usage(text));
        }
    }
    if a == b {
        return Ok(());
    }
    let (dir, file) = if a {
        (&named[0], &named[1])
    } else {
        (&named[1], &named[0])
    };
    Err(CliError::Usage(format!(
        "cannot compare the directory {} with the file {}; for the files similar to one: `resemble \
         find FILE --in DIR`",
        quoted(&dir.shown),
        quoted(&file.shown)
    )))
}

/// Reports which files are left out if a directory is compared with one inside it.
fn note_nested(ui: &mut Ui, named: &[Named; 2]) {
    let [a, b] = named;
    let (outer, inner, side) = match (b.real.starts_with(&a.real), a.real.starts_with(&b.real)) {
        (true, false) => (a, b, "A"),
        (false, true) => (b, a, "B"),
        _ => return,
    };
    let (outer, inner) = (quoted(&outer.shown), quoted(&inner.shown));
    ui.note(&format!(
        "{inner} lies in {outer}: {side} is {outer} without {inner}, or its files would be \
         compared with themselves"
    ));
}

/// The question of `compare`. The two named paths are A and B, and paths in rows are relative to
/// them.
struct Compare<'a> {
    args: &'a CompareArgs,
    classes: Vec<CompareClass>,
}

impl Verb for Compare<'_> {
    type Body = Comparison;

    fn answering(&self) -> Answering {
        Answering {
            whole: true,
            ..self.args.layer.answering(&self.args.answering)
        }
    }

    /// Returns false, because the daemon or the cache scans both trees while it compares them.
    fn is_refreshed(&self) -> bool {
        false
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Comparison>> {
        let (args, selection) = (self.args, &self.args.selection);
        let request = CompareRequest {
            a: PathText::from(asked.named[0].real.as_path()),
            b: PathText::from(asked.named[1].real.as_path()),
            options: CompareOptions {
                scope: selection.scope(Vec::new()),
                size_ratio: args.size_ratio.unwrap_or_default(),
                same_suffix: args.same_suffix,
                names: args.names,
                min: selection.min.unwrap_or_default(),
                min_shared: selection.min_shared,
                all: args.all,
                exact: args.exact,
                text: args.layer.is_on(),
                unit: args.layer.unit(MeasureUnit::Words),
                classes: self.classes.clone(),
                top: selection.top,
                memory: args.bound.memory,
            },
        };
        let mut answer = backend.compare(ui, request)?;
        if args.no_trees {
            answer.body.trees.clear();
        }
        Ok(answer)
    }

    fn show(&self, _: &mut Comparison, _: &QuestionPaths) {}

    fn parameters(&self, asked: &QuestionPaths, params: &Params) -> CompareParameters {
        let args = self.args;
        CompareParameters {
            a: PathText::from(asked.named[0].shown.as_path()),
            b: PathText::from(asked.named[1].shown.as_path()),
            size_ratio: args.size_ratio.unwrap_or_default(),
            same_suffix: args.same_suffix,
            names: args.names,
            classes: self.classes.clone(),
            common: common_parameters(&args.selection, args.exact, params),
        }
    }

    /// Adds the texts of the best pairs side by side, for a page.
    fn adorn(
        &self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
        report: &mut Saved<Comparison>,
    ) -> CliResult<()> {
        if self.args.output.format != ReportFormat::Html {
            return Ok(());
        }
        let _progress = ui.progress("reading the best pairs");
        let (a, b) = (&asked.named[0].shown, &asked.named[1].shown);
        let show = |left: &PathText, right: &PathText| {
            side_by_side((a, left), (b, right), backend.params())
        };
        let count = self.args.output.evidence;
        report.evidence = evidence::of_compare(&report.document, count, &show);
        Ok(())
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn from(&self) -> Option<&Path> {
        self.args.output.from.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &CompareDocument, extras: &Extras<'_>) -> CliResult<()> {
        let (args, output) = (self.args, &self.args.output);
        if args.plan.is_some() {
            return print_plan(ui, &plans::of_compare(document)?);
        }
        if args.new_only {
            return print_new(ui, args, document);
        }
        if output.format != ReportFormat::Text {
            let report = Report::Compare(document);
            return print::print(ui, output.format, output.end(), report, extras);
        }
        ui.page();
        let view = text::compare::View {
            all: args.all,
            trees: !args.no_trees,
        };
        ui.print(|out| text::compare::print(out, document, view))
    }

    fn top(&self) -> Option<u64> {
        self.args.selection.top
    }

    fn nothing(&self, body: &Comparison) -> &'static str {
        if body.summary.is_same() {
            "no difference"
        } else {
            NOTHING
        }
    }

    fn holds(&self, document: &CompareDocument) -> bool {
        document.body.summary.is_same()
    }
}

/// Prints the names of the files that are new in B, for `rsync --files-from`.
fn print_new(ui: &mut Ui, args: &CompareArgs, document: &CompareDocument) -> CliResult<()> {
    let end = args.output.end();
    let names = || {
        let rows = document.body.entries.iter();
        rows.filter(|row| row.class == CompareClass::OnlyB)
            .filter_map(|row| row.b.as_ref())
            .map(PathText::as_bytes)
    };
    ui.write(|out| {
        for name in names() {
            // rsync takes a line that begins with `#` or `;` for a comment.
            if end == b'\n' && (name.starts_with(b"#") || name.starts_with(b";")) {
                out.write_all(b"./")?;
            }
            out.write_all(name)?;
            out.write_all(&[end])?;
        }
        Ok(())
    })?;
    if end == b'\n' && names().any(|name| name.contains(&b'\n')) {
        ui.note("a name holds a newline: only -0 keeps it apart from the next");
    }
    Ok(())
}
