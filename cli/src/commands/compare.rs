//! `resemble compare`: two directories or files by content.
//!
//! The engine is asked for no more rows than are printed: two trees of 100,000 files that are nearly
//! the same are 100,000 rows `same`, which text never shows unless told to.

use std::path::Path;

use resemble_proto::documents::{CompareDocument, CompareParameters};
use resemble_proto::message::{CompareClass, CompareOptions, CompareRequest, Comparison};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::{Extras, Report};
use resemble_report::evidence::{self, Evidence};
use resemble_report::quote::quoted;
use resemble_report::saved::{self, Picked, Saved};
use resemble_report::text;

use crate::args::{CompareArgs, Global, ReportFormat};
use crate::backend::Backend;
use crate::commands::{After, NOTHING, base, common_parameters, picked, read_saved};
use crate::error::{CliError, CliResult, Outcome};
use crate::evidence::side_by_side;
use crate::names::{self, Named};
use crate::print;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &CompareArgs) -> CliResult {
    check(args)?;
    let named = args.a.as_deref().zip(args.b.as_deref());
    let (saved, backend) = match (&args.output.from, named) {
        (None, Some(named)) => {
            let (document, backend) = ask(ui, env, global, args, named)?;
            let evidence = best_pairs(ui, args, &document, &backend);
            let saved = Saved {
                document,
                folders: None,
                evidence,
                base: base(),
            };
            (saved, Some(backend))
        }
        (Some(path), _) => {
            let mut saved = read_saved::<Comparison>(path)?;
            let picked = Picked {
                classes: classes(ui, args),
                ..picked(&args.selection)
            };
            saved::pick_compare(&mut saved, &picked)?;
            if args.no_trees {
                saved.document.body.trees.clear();
            }
            saved.evidence.truncate(args.output.evidence);
            (saved, None)
        }
        // The arguments say so already.
        (None, None) => {
            return Err(CliError::Usage(
                "two directories are to be named".to_owned(),
            ));
        }
    };
    let document = &saved.document;
    let extras = Extras {
        folders: None,
        evidence: saved.evidence,
        base: saved.base,
        saved: args.output.from.as_deref(),
    };
    ui.redirect(args.output.output.as_deref());
    print(ui, args, document, &extras)?;
    let same = document.body.summary.is_same();
    let after = After {
        header: &document.header,
        errors: &document.errors,
        top: args.selection.top,
        none: if same { "no difference" } else { NOTHING },
    };
    after.say(ui, backend)?;
    Ok(Outcome::of(same).with_errors(!document.errors.is_empty()))
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
    if args.output.null && args.output.format == ReportFormat::Text && !names {
        return Err(CliError::Usage(
            "-0 is for names (--new-only) and tsv; text has lines of several".to_owned(),
        ));
    }
    Ok(())
}

/// The rows that will be printed; empty: all.
fn classes(ui: &Ui, args: &CompareArgs) -> Vec<CompareClass> {
    if args.new_only {
        return vec![CompareClass::OnlyB];
    }
    if !args.class.is_empty() {
        let mut classes: Vec<CompareClass> = args.class.iter().map(|c| (*c).into()).collect();
        classes.sort_unstable();
        classes.dedup();
        return classes;
    }
    if args.output.format != ReportFormat::Text || (args.all && ui.is_verbose()) {
        return Vec::new();
    }
    let differs = |class: &CompareClass| *class != CompareClass::Same;
    CompareClass::ALL.into_iter().filter(differs).collect()
}

fn ask(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &CompareArgs,
    (a, b): (&Path, &Path),
) -> CliResult<(CompareDocument, Backend)> {
    let named = [names::required(a)?, names::required(b)?];
    agree(&named)?;
    let mut backend = Backend::choose(ui, env, global, &args.answering, &named)?;
    let classes = classes(ui, args);
    let [a, b] = &named;
    let selection = &args.selection;
    let request = CompareRequest {
        a: PathText::from(a.real.as_path()),
        b: PathText::from(b.real.as_path()),
        options: CompareOptions {
            scope: selection.scope(Vec::new()),
            size_ratio: args.size_ratio.unwrap_or_default(),
            same_suffix: args.same_suffix,
            names: args.names,
            min: selection.min.unwrap_or_default(),
            min_shared: selection.min_shared,
            exact: args.exact,
            classes: classes.clone(),
            top: selection.top,
        },
    };
    let mut answer = backend.ask(ui, request)?;
    if args.no_trees {
        answer.body.trees.clear();
    }
    let parameters = CompareParameters {
        a: PathText::from(a.shown.as_path()),
        b: PathText::from(b.shown.as_path()),
        size_ratio: args.size_ratio.unwrap_or_default(),
        same_suffix: args.same_suffix,
        names: args.names,
        classes,
        common: common_parameters(selection, args.exact, backend.params()),
    };
    let errors = names::tidy(answer.errors, &named);
    let document = CompareDocument::new(parameters, answer.header, answer.body, errors);
    Ok((document, backend))
}

/// Two directories or two files.
fn agree(named: &[Named; 2]) -> CliResult<()> {
    let [a, b] = named.each_ref().map(Named::is_dir);
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

/// The best pairs side by side, for a page.
fn best_pairs(
    ui: &Ui,
    args: &CompareArgs,
    document: &CompareDocument,
    backend: &Backend,
) -> Vec<Evidence> {
    let parameters = &document.parameters;
    let (a, b) = (parameters.a.as_path(), parameters.b.as_path());
    if args.output.format != ReportFormat::Html {
        return Vec::new();
    }
    let _progress = ui.progress("reading the best pairs");
    let params = backend.params();
    evidence::of_compare(document, args.output.evidence, &|left, right| {
        side_by_side((a, left), (b, right), params)
    })
}

fn print(
    ui: &mut Ui,
    args: &CompareArgs,
    document: &CompareDocument,
    extras: &Extras<'_>,
) -> CliResult<()> {
    if args.new_only {
        return print_new(ui, args, document);
    }
    if args.output.format != ReportFormat::Text {
        let (format, end) = (args.output.format, args.output.end());
        return print::print(ui, format, end, Report::Compare(document), extras);
    }
    ui.page();
    let view = text::compare::View {
        all: args.all,
        trees: !args.no_trees,
    };
    ui.print(|out| text::compare::print(out, document, view))
}

/// The names of what is new in B, for `rsync --files-from`.
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
            // Lines that start so are comments to rsync.
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
