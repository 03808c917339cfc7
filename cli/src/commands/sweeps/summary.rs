//! `resemble history --summary`: reports how all files change from sweep to sweep.

use std::fs;
use std::path::Path;

use resemble_arguments::{Global, HistoryArgs, RowFormat};
use resemble_proto::clock;
use resemble_proto::message::{CompareOptions, CompareRequest, SoftError};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::human;
use resemble_report::page::{Drawing, Page};
use resemble_report::quote::quoted;
use resemble_report::sweeps::{Summary, SweepName};

use super::Sweep;
use crate::error::{CliError, CliResult, Outcome};
use crate::new_file::NewFile;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &HistoryArgs) -> CliResult {
    if args.output.format != RowFormat::Text || args.output.null {
        return Err(CliError::Usage(
            "--summary writes a page, tables (CSV) and plots: name a folder with -o".to_owned(),
        ));
    }
    let options = &args.sweeps;
    let (asked, sweeps) = super::sweeps(env, global, options, None)?;
    if let Some(now) = sweeps.last().filter(|sweep| sweep.roots.len() > 1) {
        return Err(CliError::Usage(format!(
            "{} and {} are both directories; a summary takes one directory in addition \
             to catalogues",
            quoted(&now.roots[0].shown),
            quoted(&now.roots[1].shown)
        )));
    }
    if sweeps.len() < 2 {
        return Err(CliError::Usage(
            "a summary needs two sweeps or more: name their catalogues with --in".to_owned(),
        ));
    }
    let mut backend = asked.open(ui, env, global, &options.answering())?;
    let mut summary = Summary::new(sweeps.iter().map(name_of).collect());
    let mut errors = Vec::new();
    for pair in sweeps.windows(2) {
        let root = |sweep: &Sweep| PathText::from(sweep.roots[0].real.as_path());
        let request = CompareRequest {
            a: root(&pair[0]),
            b: root(&pair[1]),
            options: CompareOptions {
                text: options.layer.is_on(),
                ..CompareOptions::default()
            },
        };
        let answer = backend.compare(ui, request)?;
        errors.extend(answer.errors);
        summary.take(&answer.body);
    }
    let errors = asked.errors(errors);
    let report = summary.report();
    if let Some(folder) = &args.output.output {
        let (count, page) = write_files(report, folder)?;
        let page = quoted(folder.join(page));
        ui.note(&format!("{count} files; the page is {page}"));
    } else {
        let page = report.into_files().into_iter().next();
        let (_, page) = page.unwrap_or_default();
        ui.page();
        ui.write(|out| out.write_all(&page))?;
    }
    ui.soft_errors(&errors);
    ui.flush()?;
    backend.close(ui);
    Ok(Outcome::Holds.with_errors(errors.iter().any(SoftError::is_trouble)))
}

fn name_of(sweep: &Sweep) -> SweepName {
    SweepName {
        name: sweep.roots[0].shown.to_string_lossy().into_owned(),
        date: sweep.date.unwrap_or_else(|| clock::now().cast_signed()),
        shown: sweep.date.map_or_else(|| "now".to_owned(), human::day),
    }
}

/// Writes the files of a report into a folder. Returns the number of files, and the name of the
/// page.
pub fn write_files<P: Drawing>(report: Page<P>, folder: &Path) -> CliResult<(usize, String)> {
    fs::create_dir_all(folder).map_err(CliError::file("write", folder))?;
    let files = report.into_files();
    for (name, bytes) in &files {
        NewFile::put(&folder.join(name), bytes)?;
    }
    let page = files.first().map(|(name, _)| name.clone());
    Ok((files.len(), page.unwrap_or_default()))
}
